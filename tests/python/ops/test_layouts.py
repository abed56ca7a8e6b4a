"""The results of an operator lie in memory alike on every device: whether a reshape is a view must not depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .samples import ELEMENTWISE, Operator, arguments
from .test_vmap import CASES, INDEXING, Case, draw, flat, layouts

ALL_CASES = {
    **{name: cases for name, cases in CASES.items() if name != "to_device"},
    **{f"index {name}": cases for name, cases in INDEXING.items()},
}
ALL_CASES |= {op.name: [Case(op, ())] for op in ELEMENTWISE}
DEVICE = lm.empty([0]).device
OTHERS = ["meta"] if DEVICE == "cpu" else ["meta", "cpu"]


def drawn(case: Case, rng: np.random.Generator) -> list[np.ndarray]:
    """Operands of a case."""
    op = case.function
    if isinstance(op, Operator):
        return arguments(op, [(2, 3)] * op.inputs, "float64" if "float64" in op.dtypes else "int64", rng)
    return [draw(shape, rng) for shape in case.shapes]


def laid_out(case: Case, arrays: Sequence[np.ndarray], device: Any, transposed: bool) -> list[Any]:
    """Strides, shapes and dtypes of the results."""
    tensors = [lm.asarray(np.ascontiguousarray(a.T) if transposed else a).to_device(device) for a in arrays]
    before = lm.get_default_device()
    # Cases make tensors of their own beside the operands.
    lm.set_default_device(before if device == "meta" else device)
    try:
        results = flat(case.function(*[x.T if transposed else x for x in tensors]))
    finally:
        lm.set_default_device(before)
    return [*layouts(results), *[(y.shape, y.dtype) for y in results]]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", ALL_CASES)
def test_devices_agree(name: str, other: str, rng: np.random.Generator) -> None:
    for case in ALL_CASES[name]:
        arrays = drawn(case, rng)
        for transposed in (False, True):
            if transposed and any(a.ndim != 2 for a in arrays):
                continue
            try:
                expected = laid_out(case, arrays, DEVICE, transposed)
            except NotImplementedError as error:
                assert DEVICE != "cpu"
                pytest.skip(str(error))
            try:
                found = laid_out(case, arrays, other, transposed)
            except (RuntimeError, NotImplementedError, ValueError) as error:
                if other == "cpu" and "to_device()" in str(error):
                    pytest.skip(f"the case has a constant on {DEVICE}: {error}")
                # Some results depend on elements, which a meta tensor has not.
                assert other == "meta" and "meta" in str(error), error
                continue
            assert found == expected
