"""Converters by the operator that they write as ONNX."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Converter(NamedTuple):
    """A function that writes an operator as nodes of ONNX."""

    function: Callable[..., Any]
    #: True if it takes `meta_outputs`.
    takes_outputs: bool
    #: Keyword arguments that it takes; None for all.
    keywords: frozenset[str] | None


#: By full name, such as "lamella::add"; those of custom layers by their class.
converters: dict[Any, Converter] = {}


def register_converter(target: Any) -> Callable[[F], F]:
    """Registers the decorated function as the converter of an operator or a custom layer.

    The function is called while :func:`lamella.onnx.export` runs, with the operator's arguments, as they stand in its
    schema: tensors as :class:`Value`, others as they were given. It adds nodes by :func:`lamella.onnx.op`, and returns
    a value for each of the operator's results: alone, as a list or as a tuple. If it has a parameter ``meta_outputs``,
    it is given the results' dtypes and shapes there: objects with ``dtype`` and ``shape`` (-1 for sizes that are not
    known), one alone or a list.

    Args:
        target: "myops::my_op" (also ``lm.ops.myops.my_op``), or a subclass of ``lm.PyLayer``. A later converter takes
            the place of an earlier one.
    """
    key = target if isinstance(target, (str, type)) else _name(target)
    if isinstance(key, str) and "::" not in key:
        raise ValueError(f"[register_converter] the operator's name is 'namespace::operator', not {key!r}")

    def register(function: F) -> F:
        parameters = inspect.signature(function).parameters.values()
        names = [p.name for p in parameters]
        every = any(p.kind is p.VAR_KEYWORD for p in parameters)
        converters[key] = Converter(function, "meta_outputs" in names, None if every else frozenset(names))
        return function

    return register


def _name(target: Any) -> str:
    name = getattr(target, "name", None)
    if not isinstance(name, str):
        raise TypeError(f"[register_converter] takes an operator, its name or a PyLayer, not {target!r}")
    overload = getattr(target, "overload", "")
    return f"{name}.{overload}" if overload and overload != "default" else name


def builtin(*names: str) -> Callable[[F], F]:
    """Registers the converter of Lamella's own operators."""

    def register(function: F) -> F:
        for name in names:
            if f"lamella::{name}" not in converters:  # a user's own comes first
                register_converter(f"lamella::{name}")(function)
        return function

    return register
