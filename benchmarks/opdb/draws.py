"""Calls of PyTorch's random functions: only shapes and dtypes of their results are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm

Call = Callable[..., Any]


def _filled(name: str) -> Call:
    """A method that fills a tensor, of a copy."""
    return lambda x, *numbers, **_: getattr(lm.clone(x.detach()), name)(*numbers)


def _normal(mean: Any, std: Any = 1.0, shape: Any = None, *, dtype: Any = None, **_: Any) -> Any:
    """The mean, the standard deviation, or both may be tensors."""
    if shape is None and not any(isinstance(value, lm.Tensor) for value in (mean, std)):
        return lm.normal(std, mean, dtype=dtype)  # two arguments, of which the other is the shape
    return lm.normal(shape, mean, std, dtype=dtype)


def _integers(*given: Any, dtype: Any = "int64", **_: Any) -> Any:
    """[low,] high, shape; also of floats."""
    *bounds, shape = given
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    return lm.astype(lm.randint(low, high, shape), dtype)


def _integers_like(x: Any, *bounds: Any, dtype: Any = None, **_: Any) -> Any:
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    return lm.astype(lm.randint(low, high, x.shape), dtype or x.dtype)


DRAWS: dict[str, Call] = {
    **{name: _filled(name + "_") for name in ("cauchy", "exponential", "geometric", "log_normal", "uniform")},
    "normal in_place": _filled("normal_"),
    "normal": _normal,
    "normal number_mean": _normal,
    "randint": _integers,
    "randint_like": _integers_like,
}
