"""Schemas from Python's annotations."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from .._C import DType, Generator, Tensor

_BASES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "Scalar",
    DType: "dtype",
    Generator: "Generator",
}
_LISTS = frozenset(["Tensor", "int", "float", "bool", "str", "Tensor?"])
_NUMBERS = frozenset([int, float, bool, complex])


def _type_text(annotation: Any, where: str) -> str:
    """Returns a type as schemas write it; ValueError where there is none for it."""
    if annotation in _BASES:
        return _BASES[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        others = [part for part in parts if part is not type(None)]
        optional = "?" if len(others) < len(parts) else ""
        if len(others) == 1:
            return _type_text(others[0], where) + optional
        if _NUMBERS.issuperset(others):
            return "Scalar" + optional
    elif origin in (list, collections.abc.Sequence) and len(parts) == 1:
        element = _type_text(parts[0], where)
        if element in _LISTS:
            return element + "[]"
    shown = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", None)
    shown = shown if origin is None and shown else str(annotation)
    raise ValueError(
        f"[infer_schema] {where} has the annotation {shown}, for which there is no type in schemas; use Tensor, int, "
        "float, bool, str, complex, DType, Optional or Sequence of these, or give the schema as text"
    )


def _default_text(value: Any, where: str) -> str:
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, DType):
        return value.name
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_default_text(item, where) for item in value) + "]"
    raise ValueError(f"[infer_schema] {where} has the default {value!r}, which a schema cannot hold")


def _result_text(annotation: Any) -> str:
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        parts = typing.get_args(annotation)
        if Ellipsis in parts:
            raise ValueError(
                "[infer_schema] the result is a tuple of any length, which no schema describes; use list[Tensor], or "
                "name each part, as in tuple[Tensor, Tensor]"
            )
        return "(" + ", ".join(_type_text(part, "the result") for part in parts) + ")"
    return _type_text(annotation, "the result")


def infer_schema(function: Callable[..., Any], /, *, mutates_args: str | Iterable[str] = ()) -> str:
    """Returns the schema of a function by its annotations: "(Tensor x, float factor=2.0) -> Tensor".

    Annotations: Tensor, int, float, bool, str, complex (or a union of numbers: any number), DType, Generator; Optional
    and Sequence (list) of these; a tuple of fixed length as the result, None for none.

    Args:
        function: With annotations for all parameters and the result.
        mutates_args: The names of the tensors that it writes into; "unknown" stands for all.

    Raises:
        ValueError: An annotation is missing, or is nothing that schemas know, or there is no argument of such a name.
    """
    name = getattr(function, "__name__", repr(function))
    hints = typing.get_type_hints(function)
    parameters = inspect.signature(function).parameters
    unknown = mutates_args == "unknown"
    written = set() if unknown else {mutates_args} if isinstance(mutates_args, str) else set(mutates_args)
    if strangers := written - set(parameters):
        raise ValueError(f"[infer_schema] mutates_args names {sorted(strangers)}, which {name} has no arguments for")
    texts: list[str] = []
    keyword_only = False
    for key, parameter in parameters.items():
        where = f"the argument '{key}' of {name}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(f"[infer_schema] {name} takes {parameter}; an operator has a fixed number of arguments")
        if key not in hints:
            raise ValueError(f"[infer_schema] {where} has no annotation; write one, such as {key}: Tensor")
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            texts.append("*")
        type_text = _type_text(hints[key], where)
        if (unknown and type_text.startswith("Tensor")) or key in written:
            if not type_text.startswith("Tensor"):
                raise ValueError(f"[infer_schema] mutates_args names '{key}', which is no tensor but {type_text}")
            letter = chr(ord("a") + sum("!" in text for text in texts))
            type_text = f"Tensor({letter}!){type_text.removeprefix('Tensor')}"
        default = "" if parameter.default is parameter.empty else "=" + _default_text(parameter.default, where)
        texts.append(f"{type_text} {key}{default}")
    if "return" not in hints:
        raise ValueError(f"[infer_schema] {name} has no annotation of its result; write one, such as -> Tensor")
    return f"({', '.join(texts)}) -> {_result_text(hints['return'])}"
