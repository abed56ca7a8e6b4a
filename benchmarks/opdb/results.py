"""Results of a call: flattened, as numpy arrays, and compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Relative to the value, and to the largest value of its tensor: each library rounds and sums in its own order.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-4, "complex64": 3e-4, "float64": 1e-7, "complex128": 1e-7}


@dataclass(frozen=True)
class Result:
    """One tensor (or number) of a result."""

    dtype: str
    values: np.ndarray


def flat(value: Any) -> Iterator[Any]:
    """Returns the tensors and numbers of a result, in order; what is neither is left out."""
    if isinstance(value, tuple | list):
        for part in value:
            yield from flat(part)
    elif isinstance(value, bool | int | float | complex) or hasattr(value, "shape"):
        yield value


def difference(ours: list[Result], theirs: list[Result], times: float = 1.0, absolute: float = 0.0) -> str | None:
    """Returns the kind of the first difference, in words; None where they agree to so many times the tolerance."""
    if len(ours) != len(theirs):
        return f"{len(ours)} results for {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        if a.values.shape != b.values.shape:
            return f"shape {a.values.shape} for {b.values.shape}"
        if a.dtype != b.dtype:
            return f"dtype {a.dtype} for {b.dtype}"
        if (found := _values(a, b, times, absolute)) is not None:
            return found
    return None


def _values(a: Result, b: Result, times: float, absolute: float) -> str | None:
    """Returns the largest difference of two tensors of one shape and dtype, if it is more than rounding."""
    x, y = a.values, b.values
    if x.size == 0:
        return None
    if a.dtype not in TOLERANCE:
        wrong = x != y
        worst = int(np.argmax(wrong))
    else:
        with np.errstate(all="ignore"):
            same = (x == y) | (np.isnan(x) & np.isnan(y))
            finite = np.abs(y[np.isfinite(y)])
            largest = finite.max() if finite.size else 0.0
            error = np.abs(np.where(same, 0, x - y))
            error = np.where(np.isnan(error), np.inf, error)
            wrong = error > times * TOLERANCE[a.dtype] * (np.abs(y) + largest) + absolute
            wrong |= np.isinf(error)
        worst = int(np.argmax(error))
    if not wrong.any():
        return None
    return f"values: {np.ravel(x)[worst]:.6g} for {np.ravel(y)[worst]:.6g} at {worst} of {x.size}"
