"""What the emulation of CUDA counts: docs/cuda.md."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lamella as lm

# In the order of tests/cuda/emulation/runtime/streams.h.
COUNTERS = ("launches", "to device", "to host", "on device", "fills", "waits", "allocations", "bytes")
#: Those that depend on nothing but the calls: memory is allocated once and used again.
COMPARED = ("launches", "to device", "to host", "on device", "fills", "waits")


def library() -> ctypes.CDLL | None:
    """The runtime of the emulation, which this process uses already; None in other builds."""
    path = Path(lm.__file__).parent / "libemulated_cudart.so"
    return ctypes.CDLL(str(path)) if path.exists() else None


def counters() -> dict[str, int]:
    """What was asked of the runtime so far."""
    values = (ctypes.c_uint64 * len(COUNTERS))()
    runtime = library()
    assert runtime is not None
    runtime.lamella_emulation_counters(values, len(COUNTERS))
    return dict(zip(COUNTERS, values, strict=True))


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Fills the dict, at the end of the block, with what was asked of the runtime within it, zeros left out."""
    result: dict[str, int] = {}
    before = counters()
    yield result
    after = counters()
    result.update({name: after[name] - before[name] for name in COMPARED if after[name] != before[name]})


@contextmanager
def reversed_order() -> Iterator[None]:
    """Runs blocks and threads from the last to the first."""
    runtime = library()
    assert runtime is not None
    runtime.lamella_emulation_reverse(True)
    try:
        yield
    finally:
        runtime.lamella_emulation_reverse(False)


@contextmanager
def without(what: str) -> Iterator[None]:
    """Has cuBLASLt ("lt") or cuDNN ("cudnn") find no algorithm for what it has not computed before."""
    runtime = library()
    assert runtime is not None
    refuse = getattr(runtime, f"lamella_emulation_refuse_{what}")
    refuse(True)
    try:
        yield
    finally:
        refuse(False)
