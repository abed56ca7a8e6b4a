"""What is alive, and what it takes."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

import lamella as lm


class Marker:
    """Something that can be watched by a weak reference."""


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """What is freed inside of it is freed by counts alone, unless the block calls the collector itself."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def allocated_after_collection() -> int:
    gc.collect()
    return lm.memory.memory_allocated()
