"""The dtype of floating-point numbers that are given none.

Functions that make tensors are exchanged in the module ``paddle`` while it is another than float32, so that nothing is
slower while it is float32. Layers ask for it when they make parameters.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat import classes

#: Functions whose numbers are of the default dtype whatever they are given.
_FLOATING = "empty eye full linspace logspace ones rand randn standard_normal uniform zeros"
#: Functions whose numbers are of the default dtype where they are given Python's floats.
_GIVEN = "arange normal to_tensor"

_current = lm.float32
#: The functions that were exchanged, by name.
_kept: dict[str, Callable[..., Any]] = {}


def get_default_dtype() -> str:
    """Returns the name of the dtype of floating-point numbers that are given none."""
    return _current.name


def set_default_dtype(d: Any) -> None:
    """Sets the dtype of floating-point numbers that are given none: of tensors that are made, and of parameters.

    Raises:
        TypeError: the dtype is none of real floating-point numbers.
    """
    global _current
    chosen = lm.DType(d)
    if not lm.isdtype(chosen, "real floating"):
        raise TypeError(f"[set_default_dtype] takes a dtype of real floating-point numbers, not {chosen.name}")
    paddle: Any = sys.modules["paddle"]
    for name, function in _kept.items():
        setattr(paddle, name, function)
    _kept.clear()
    _current = chosen
    classes.finish_objects(None if chosen == lm.float32 else _cast)
    if chosen != lm.float32:
        for names, make in ((_FLOATING, _floating), (_GIVEN, _given)):
            for name in names.split():
                _kept[name] = getattr(paddle, name)
                setattr(paddle, name, make(_kept[name], chosen))


def _floating(function: Callable[..., Any], dtype: lm.DType) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        made = function(*args, **named)
        if made.dtype != lm.float32 or named.get("dtype") is not None or any(map(_is_dtype, args)):
            return made
        # Made anew, as digits beyond float32 are lost.
        return function(*args, **{**named, "dtype": dtype})

    return call


def _given(function: Callable[..., Any], dtype: lm.DType) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        made = function(*args, **named)
        values = (*args, *named.values())
        if made.dtype != lm.float32 or named.get("dtype") is not None or any(map(_has_dtype, values)):
            return made
        if function.__name__ == "normal":
            return made.astype(dtype)
        return function(*args, **{**named, "dtype": dtype})

    return call


def _is_dtype(given: Any) -> bool:
    return isinstance(given, (lm.DType, str))


def _has_dtype(given: Any) -> bool:
    """True for what has a dtype of its own, or is one, or is a sequence of such."""
    if isinstance(given, (list, tuple)):
        return any(map(_has_dtype, given))
    return hasattr(given, "dtype") or _is_dtype(given)


def _cast(layer: Any, named: dict[str, Any]) -> None:
    if isinstance(layer, lm.nn.Module) and named.get("dtype") is None:
        layer.to(_current)
