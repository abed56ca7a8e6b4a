"""Places of leaves in trees of containers: the keys that lead to each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MappingKey:
    """A key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, container: Any) -> Any:
        """Returns the child of the key."""
        return container[self.key]


@dataclass(frozen=True)
class SequenceKey:
    """A place in a list, a tuple or a deque."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, container: Any) -> Any:
        """Returns the child at the place."""
        return container[self.idx]


@dataclass(frozen=True)
class GetAttrKey:
    """A name of a named tuple, or an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, container: Any) -> Any:
        """Returns the attribute."""
        return getattr(container, self.name)


def keystr(kp: Iterable[Any]) -> str:
    """Returns the text of the keys that lead to a leaf, such as ``['a'][0]``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """Returns what keys lead to."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Returns the values of a dict, and its keys."""
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: list[Any]) -> dict[Any, Any]:
    """Makes a dict of values and keys."""
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    """Returns pairs of keys and values of a dict, and its keys."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def keys_of(container: Any, count: int, with_keys: Callable[[Any], Any] | None) -> list[Any]:
    """Returns the keys of a container's children.

    Args:
        container: the container.
        count: number of its children.
        with_keys: returns pairs of keys and children, and what makes the container again; None where none is known.
    """
    if with_keys is not None:
        return [key for key, _ in with_keys(container)[0]]
    if isinstance(container, dict):
        return [MappingKey(key) for key in container]
    if isinstance(container, tuple) and hasattr(container, "_fields"):
        return [GetAttrKey(name) for name in container._fields]
    return [SequenceKey(i) for i in range(count)]
