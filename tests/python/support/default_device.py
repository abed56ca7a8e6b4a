"""Runs tests with another default device, which ``LAMELLA_TEST_DEVICE`` names.

An operator that has no kernel for CUDA raises NotImplementedError: such a test counts as expected to fail if the
operator is in ``tests/cuda/without_kernels.txt``, which ``tests/python/devices/test_emulated_cuda.py`` compares with
what the operators do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lamella as lm

DEVICE = os.environ.get("LAMELLA_TEST_DEVICE", "")
ON_CPU = DEVICE in ("", "cpu")
LIST = Path(__file__).resolve().parents[2] / "cuda" / "without_kernels.txt"
NO_KERNEL = re.compile(r"^\[([\w.]+)\][^\n]* no kernel for")


def cpu_only(reason: str) -> Any:
    """A mark for a test, or for one of its cases, that is skipped where another device is the default one."""
    return pytest.mark.skipif(not ON_CPU, reason=reason)


def without_kernels() -> set[str]:
    """Names of the list, as error messages open with them."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return {line.split("#")[0].strip() for line in lines} - {""}


def use(device: str) -> None:
    """Makes tensors on a device where a test does not ask for one, also those that lie on memory of numpy's."""
    lm.set_default_device(device)
    from_numpy, generator = lm.from_numpy, lm.Generator

    def moved(array: Any) -> lm.Tensor:
        return from_numpy(array).to(device)

    lm.from_numpy = moved  # type: ignore[assignment]
    lm.Generator = lambda device=device, seed=None: generator(device, seed)  # type: ignore[assignment, misc]


def use_own(rank: int) -> None:
    """Makes tensors on the device of a process's number, of the type that the environment names, if it does."""
    if not ON_CPU:
        use(f"{DEVICE}:{rank}")


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what it was raised from, and what was being handled then."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def missing_kernel(error: BaseException) -> str | None:
    """The operator on the list for want of whose kernel a test failed; None if it failed for another reason."""
    for cause in causes(error):
        if isinstance(cause, NotImplementedError) and (found := NO_KERNEL.match(str(cause))):
            return found[1] if found[1] in without_kernels() else None
    return None
