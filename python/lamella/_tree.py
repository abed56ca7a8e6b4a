"""Tensors in nested lists, tuples, dicts and dataclasses, taken out and put back."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ._C import Tensor

Spec = Callable[[Iterator[Tensor]], Any]


def flatten(value: Any) -> tuple[list[Tensor], Spec]:
    """The tensors in ``value``, in order, and what :func:`rebuild` makes the rest of it from.

    The latter holds no tensor that the former has. RecursionError for containers that hold themselves.
    """
    tensors: list[Tensor] = []
    return tensors, _describe(value, tensors)


def rebuild(spec: Spec, tensors: Sequence[Tensor]) -> Any:
    """A value like the one that was flattened, with other tensors, in new containers where they hold any."""
    return spec(iter(tensors))


def _next(tensors: Iterator[Tensor]) -> Any:
    return next(tensors)


class _Same:
    """Something without tensors."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, tensors: Iterator[Tensor]) -> Any:
        return self.value


class _Tuple:
    __slots__ = ("parts", "type")

    def __init__(self, value: tuple[Any, ...], parts: list[Spec]) -> None:
        self.type = type(value)
        self.parts = parts

    def __call__(self, tensors: Iterator[Tensor]) -> Any:
        return tuple.__new__(self.type, [part(tensors) for part in self.parts])


class _List:
    __slots__ = ("empty", "parts")

    def __init__(self, value: list[Any], parts: list[Spec]) -> None:
        self.empty = copy.copy(value)
        self.empty.clear()
        self.parts = parts

    def __call__(self, tensors: Iterator[Tensor]) -> Any:
        value = copy.copy(self.empty)
        value.extend(part(tensors) for part in self.parts)
        return value


class _Dict:
    __slots__ = ("empty", "keys", "parts")

    def __init__(self, value: dict[Any, Any], parts: list[Spec]) -> None:
        self.empty = copy.copy(value)
        self.empty.clear()
        self.keys = list(value)
        self.parts = parts

    def __call__(self, tensors: Iterator[Tensor]) -> Any:
        value = copy.copy(self.empty)
        for key, part in zip(self.keys, self.parts, strict=True):
            value[key] = part(tensors)
        return value


class _Record:
    """A dataclass, whose ``__init__`` is not called again."""

    __slots__ = ("names", "parts", "shell")

    def __init__(self, value: Any, names: list[str], parts: list[Spec]) -> None:
        self.shell = copy.copy(value)
        for name in names:
            object.__setattr__(self.shell, name, None)
        self.names = names
        self.parts = parts

    def __call__(self, tensors: Iterator[Tensor]) -> Any:
        value = copy.copy(self.shell)
        for name, part in zip(self.names, self.parts, strict=True):
            object.__setattr__(value, name, part(tensors))
        return value


def _describe(value: Any, tensors: list[Tensor]) -> Spec:
    if isinstance(value, Tensor):
        tensors.append(value)
        return _next
    found = len(tensors)
    spec: Spec
    if isinstance(value, tuple):
        spec = _Tuple(value, [_describe(part, tensors) for part in value])
    elif isinstance(value, list):
        parts = [_describe(part, tensors) for part in value]
        if len(tensors) == found:
            return _Same(value)
        spec = _List(value, parts)
    elif isinstance(value, dict):
        parts = [_describe(part, tensors) for part in value.values()]
        if len(tensors) == found:
            return _Same(value)
        spec = _Dict(value, parts)
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        import dataclasses  # slow to import, and seldom needed

        names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
        parts = [_describe(getattr(value, name), tensors) for name in names]
        if len(tensors) == found:
            return _Same(value)
        spec = _Record(value, names, parts)
    else:
        return _Same(value)
    return spec if len(tensors) != found else _Same(value)
