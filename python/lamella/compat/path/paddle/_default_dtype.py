"""``paddle.set_default_dtype``, and the functions that it is about."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat.default_dtype import DefaultDtype, has_dtype

#: Types of arguments that say a dtype.
_NAMES = (lm.DType, str)
#: Functions whose numbers are of the default dtype whatever they are given.
_FLOATING = "empty eye full linspace logspace ones rand randn standard_normal uniform zeros"
#: Functions whose numbers are of the default dtype where they are given Python's floats.
_GIVEN = "arange normal to_tensor"


def get_default_dtype() -> str:
    """Returns the name of the dtype of floating-point numbers that are given none."""
    return _default.current.name


def set_default_dtype(d: Any) -> None:
    """Sets the dtype of floating-point numbers that are given none: of tensors that are made, and of parameters.

    Raises:
        TypeError: the dtype is none of real floating-point numbers.
    """
    _default.set(d)


def _floating(function: Callable[..., Any], dtype: lm.DType) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        made = function(*args, **named)
        if made.dtype != lm.float32 or named.get("dtype") is not None or any(isinstance(each, _NAMES) for each in args):
            return made
        # Made anew, as digits beyond float32 are lost.
        return function(*args, **{**named, "dtype": dtype})

    return call


def _given(function: Callable[..., Any], dtype: lm.DType) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        made = function(*args, **named)
        values = (*args, *named.values())
        wide = {lm.float32: dtype, lm.complex64: lm.complex128 if dtype == lm.float64 else lm.complex64}.get(made.dtype)
        if wide in (None, made.dtype) or named.get("dtype") is not None or has_dtype(values, _NAMES):
            return made
        if function.__name__ == "normal":
            return made.astype(wide)
        return function(*args, **{**named, "dtype": wide})

    return call


_default = DefaultDtype("paddle", {_FLOATING: _floating, _GIVEN: _given})
