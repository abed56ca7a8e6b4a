"""Attributes that programs set on tensors: ``x.mark = 1``.

Tensors have no dict of their own. Their attributes are kept beside them, as long as the tensor lives; what looks them
up is there from the first one on, so that programs without any pay nothing.
"""

from __future__ import annotations

import weakref
from typing import Any

from lamella import Tensor

_native_set: Any = Tensor.__setattr__
_native_delete: Any = Tensor.__delattr__
#: By the identity of a tensor, what forgets its attributes when it is gone, and these.
_kept: dict[int, tuple[weakref.ref[Tensor], dict[str, Any]]] = {}


def _attributes(x: Tensor) -> dict[str, Any]:
    key = id(x)
    if key not in _kept:
        _kept[key] = weakref.ref(x, lambda _: _kept.pop(key, None)), {}
    return _kept[key][1]


def _set(self: Tensor, name: str, value: Any) -> None:
    """Implements ``x.name = value``."""
    try:
        _native_set(self, name, value)
    except AttributeError:
        if hasattr(type(self), name):  # it cannot be set
            raise
        _attributes(self)[name] = value
        if "__getattr__" not in vars(Tensor):
            setattr(Tensor, "__getattr__", _get)  # noqa: B010 (not known to the type)


def _get(self: Tensor, name: str) -> Any:
    """Returns an attribute that a program has set."""
    kept = _kept.get(id(self))
    if kept is not None and name in kept[1]:
        return kept[1][name]
    if name == "__dict__":
        return _attributes(self)
    raise AttributeError(f"'Tensor' object has no attribute '{name}'", name=name, obj=self)


def _delete(self: Tensor, name: str) -> None:
    """Implements ``del x.name``."""
    kept = _kept.get(id(self))
    if kept is None or kept[1].pop(name, _kept) is _kept:
        _native_delete(self, name)


_tensors: Any = Tensor
_tensors.__setattr__, _tensors.__delattr__ = _set, _delete
