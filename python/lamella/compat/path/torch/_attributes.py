"""Attributes that programs give tensors, whose type has no room for them.

They are kept beside the tensors for as long as these live. Parameters and other subclasses have room of their own.
"""

from __future__ import annotations

import copy
import functools
import sys
import weakref
from typing import Any

from lamella import Tensor

#: By the address of a tensor's object: what removes the entry when it dies, and its attributes.
_kept: dict[int, tuple[weakref.ref[Tensor], dict[str, Any]]] = {}
_native_set: Any = object.__setattr__
_native_delete: Any = object.__delattr__


class _Attribute:
    """Stands on the type for a name that a tensor was given: reads it of each tensor that has it.

    A ``__getattr__`` would slow the look-up of every attribute. Without a ``__set__``, what subclasses have in their
    dictionaries comes first.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Tensor | None, owner: type) -> Any:
        found = _kept.get(id(x))
        if found is None or self.name not in found[1]:
            raise AttributeError(f"'{owner.__name__}' object has no attribute '{self.name}'", name=self.name, obj=x)
        return found[1][self.name]


def _forget(kept: dict[int, Any], place: int, _: Any) -> None:
    """Removes an entry from the table, which comes along: at exit, this module's names go before the last tensors."""
    kept.pop(place, None)


def _set(self: Tensor, name: str, value: Any) -> None:
    try:
        _native_set(self, name, value)
    except AttributeError:
        on_type = next((vars(kind)[name] for kind in type(self).__mro__ if name in vars(kind)), None)
        if on_type is None:
            setattr(Tensor, name, _Attribute(name))
        elif not isinstance(on_type, _Attribute):  # it can only be read
            raise
        place = id(self)
        if place not in _kept:
            _kept[place] = weakref.ref(self, functools.partial(_forget, _kept, place)), {}
        _kept[place][1][name] = value


def _delete(self: Tensor, name: str) -> None:
    found = _kept.get(id(self))
    if found is not None and name in found[1]:
        del found[1][name]
    else:
        _native_delete(self, name)


def shallow(self: Tensor) -> Tensor:
    """Implements ``copy.copy(x)``: another tensor on the same memory, off the tape, with the attributes."""
    made = self.detach()
    if type(self) is not Tensor:
        made = Tensor.__new__(type(self), made)
    if hasattr(self, "__dict__"):
        made.__dict__.update(self.__dict__)
    for name, value in attributes_of(self).items():
        setattr(made, name, value)
    return made.requires_grad_() if self.requires_grad else made


_native_copy: Any = Tensor.__copy__


def _copied(self: Tensor) -> Tensor:
    """Copies as PyTorch's programs mean it, and as Lamella's own modules do, which want memory of its own."""
    caller = sys._getframe(1)
    if caller.f_globals.get("__name__") == "copy" and caller.f_back is not None:
        caller = caller.f_back
    own = caller.f_globals.get("__name__", "").startswith("lamella.")
    made: Tensor = _native_copy(self) if own else shallow(self)
    return made


_native_deepcopy: Any = Tensor.__deepcopy__


def deep(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Implements ``copy.deepcopy(x)``: copies of the elements and of the attributes."""
    made: Tensor = _native_deepcopy(self, memo)
    for name, value in attributes_of(self).items():
        setattr(made, name, copy.deepcopy(value, memo))
    return made


def attributes_of(x: Tensor) -> dict[str, Any]:
    """Returns the attributes that are kept beside a tensor."""
    found = _kept.get(id(x))
    return {} if found is None else found[1]


def exchange(a: Tensor, b: Tensor) -> None:
    """Gives each of two tensors the attributes of the other."""
    of_a, of_b = (dict(_kept[id(x)][1]) if id(x) in _kept else {} for x in (a, b))
    for x, own, others in ((a, of_a, of_b), (b, of_b, of_a)):
        for name in own:
            delattr(x, name)
        for name, value in others.items():
            setattr(x, name, value)
    if hasattr(a, "__dict__") and hasattr(b, "__dict__"):
        a.__dict__, b.__dict__ = b.__dict__, a.__dict__


_native_reduce: Any = Tensor.__reduce_ex__


def _reduced(self: Tensor, protocol: Any) -> Any:
    """Implements ``pickle.dumps(x)``, with the attributes."""
    made, kept = _native_reduce(self, protocol), attributes_of(self)
    return (*made[:2], (made[5], made[2], kept), *made[3:5], _restore) if kept else made


def _restore(tensor: Tensor, state: tuple[Any, Any, dict[str, Any]]) -> None:
    restore, own, attributes = state
    restore(tensor, own)
    for name, value in attributes.items():
        setattr(tensor, name, value)


_tensors: Any = Tensor
_tensors.__setattr__ = _set
_tensors.__delattr__ = _delete
_tensors.__deepcopy__ = deep
_tensors.__copy__ = _copied
_tensors.__reduce_ex__ = _reduced
