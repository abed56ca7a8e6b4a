"""``torch.set_default_dtype``, and the functions that it is about."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat.default_dtype import DefaultDtype, has_dtype

from ._functions import TENSOR_TYPES

#: Functions whose numbers are of the default dtype whatever they are given.
_FLOATING = (
    "bartlett_window blackman_window empty empty_strided eye hamming_window hann_window kaiser_window linspace "
    "logspace ones rand randn zeros"
)
#: Functions whose numbers are of the default dtype where they are given Python's floats.
_GIVEN = "arange as_tensor asarray full normal range scalar_tensor tensor"


def get_default_dtype() -> Any:
    """Returns the dtype of numbers that are given none."""
    return _default.current


def set_default_dtype(dtype: Any) -> None:
    """Sets the dtype of numbers that are given none: of functions of ``torch`` that make tensors, and of layers.

    What is computed of integers, such as their quotient, stays float32.

    Raises:
        TypeError: the dtype is none of real floating-point numbers.
    """
    _default.set(dtype)


def set_default_tensor_type(t: Any) -> None:
    """Takes a type of tensors, such as ``torch.DoubleTensor``, or its name; see :func:`set_default_dtype`."""
    name = t if isinstance(t, str) else t.__name__
    set_default_dtype(TENSOR_TYPES[name.rpartition(".")[2]])


def _floating(function: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if named.get("dtype") is None and named.get("out") is None:
            named["dtype"] = dtype
        return function(*args, **named)

    return call


def _given(function: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        made = function(*args, **named)
        if made.dtype == lm.complex64 and dtype == lm.float64 and not _is_told(args, named):
            return function(*args, **{**named, "dtype": lm.complex128})
        if made.dtype != lm.float32 or _is_told(args, named):
            return made
        return function(*args, **{**named, "dtype": dtype})

    return call


def _is_told(args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """True for arguments that say a dtype, or have one."""
    return named.get("dtype") is not None or has_dtype((*args, *named.values()))


_default = DefaultDtype("torch", {_FLOATING: _floating, _GIVEN: _given})
