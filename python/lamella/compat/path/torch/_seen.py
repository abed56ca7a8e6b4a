"""Methods, operators and attributes of tensors that modes see, while there are modes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import _C

from ._asking import as_method, methods

_Tensor: Any = lm.Tensor
#: The folder of the package, whose own calls no mode sees.
_FOLDER = lm.__file__.rpartition("/")[0] + "/"
#: Code by which tensors take any attribute.
_SETTING: Any = getattr(_Tensor.__setattr__, "__code__", None)
#: Takes a function, the arguments and what was given by name; None where this thread has no mode.
_Hand = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
_NUMBERS = (lm.Tensor, bool, int, float, complex)


class Within:
    """A method as a mode among others gets it: it equals the method, and its call goes to the mode around."""

    def __init__(self, method: Any, call: Callable[..., Any]) -> None:
        self._method, self._call = method, call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self._method, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def __eq__(self, other: object) -> bool:
        return bool(self._method == other)

    def __hash__(self) -> int:
        return hash(self._method)


class _Attribute:
    """Base of what stands in the place of an attribute: to the class itself it is that attribute."""

    def __init__(self, name: str, native: Any, hand: Callable[[], _Hand | None]) -> None:
        self._name, self._native, self._hand = name, native, hand

    def _taker(self, frame: Any) -> _Hand | None:
        if frame.f_code is _SETTING and frame.f_back is not None:
            frame = frame.f_back
        return None if frame.f_code.co_filename.startswith(_FOLDER) else self._hand()


class _Method(_Attribute):
    """A method, or an operator, that a mode sees."""

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            return self._native.__get__(None, owner)
        hand = self._taker(sys._getframe(1))
        bound = self._native.__get__(x, owner)
        return bound if hand is None else functools.partial(self._call, hand, bound, x)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._native(*args, **kwargs)

    def _call(self, hand: _Hand, bound: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        operator = self._name.startswith("__") and len(args) == 1 and self._name != "__getitem__"
        if operator and not isinstance(args[0], _NUMBERS):
            return bound(*args)  # which may leave it to the other operand
        return hand(*as_method(self._name, x, args), kwargs)


class _Iteration(_Method):
    """Iteration, which a mode sees as ``x.unbind(0)``."""

    def _call(self, hand: _Hand, bound: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        return iter(hand(_Tensor.unbind, (x, 0), {}))


class _Property(_Attribute):
    """An attribute that a mode sees when it is read or set."""

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            return self._native
        hand = self._taker(sys._getframe(1))
        read = self._native.__get__
        return read(x, owner) if hand is None else hand(read, (x,), {})

    def __set__(self, x: Any, value: Any) -> None:
        hand = self._taker(sys._getframe(1))
        write = self._native.__set__
        if hand is None:
            write(x, value)
        else:
            hand(write, (x, value), {})


#: Attributes that modes see, and objects of subclasses are not asked for.
_FURTHER = ("__float__", "__int__", "__complex__")
_replaced: dict[str, tuple[Any, Any]] = {}


def begin(hand: Callable[[], _Hand | None]) -> None:
    """Has what is done with tensors go to what ``hand`` returns, which is None for threads without a mode."""
    for name, native in [*methods(), *((name, vars(_Tensor)[name]) for name in _FURTHER)]:
        kind: Any = _Property if hasattr(type(native), "__set__") else _Iteration if name == "__iter__" else _Method
        if kind is _Property or hasattr(type(native), "__get__"):
            seen = kind(name, native, hand)
            _replaced[name] = native, seen
            setattr(_Tensor, name, seen)


def end() -> None:
    """Gives tensors their own attributes back."""
    for name, (native, seen) in _replaced.items():
        if vars(_Tensor)[name] is seen:
            setattr(_Tensor, name, native)
    _replaced.clear()
    kinds: list[type] = [_Tensor]
    for kind in kinds:
        _C._mend_slots(kind)
        kinds += type.__subclasses__(kind)
