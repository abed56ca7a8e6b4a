"""Classes of a front that stand for Lamella's: objects which Lamella makes are instances of them, too.

An adapted class is a subclass of the native one whose constructor has the framework's signature. It has the adapted
classes of the native class's bases among its own bases, and its metaclass is the native one, so that programs may
derive from it beside classes with any metaclass. What makes an object of the native class gets one of the adapted one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

#: Attribute by which an object remembers that Lamella makes it, until it is initialized.
_MADE_NATIVELY = "_made_natively"

_finish: Callable[[Any, dict[str, Any]], None] | None = None


def finish_objects(function: Callable[[Any, dict[str, Any]], None] | None) -> None:
    """Has a function called with each object that a program makes of an adapted class, or none.

    Its arguments are the object, and what was given by name when it was made.
    """
    global _finish
    _finish = function


def finishing(adapted: Callable[..., None]) -> Callable[..., None]:
    """Returns an ``__init__`` that calls the function of :func:`finish_objects` when it is done."""

    @functools.wraps(adapted)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 (becomes the class's __init__)
        adapted(self, *args, **kwargs)
        if _finish is not None:
            _finish(self, kwargs)

    return __init__


def initializer(adapted: Callable[..., None], native: Callable[..., None]) -> Callable[..., None]:
    """Returns an ``__init__`` with the framework's signature, which is the native one to Lamella's own classes."""

    @functools.wraps(adapted)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 (becomes the class's __init__)
        if vars(self).pop(_MADE_NATIVELY, False) or _called_by_native_class():
            native(self, *args, **kwargs)
        else:
            adapted(self, *args, **kwargs)

    __init__._of_two_meanings = True  # type: ignore[attr-defined]
    return __init__


def pass_by(native: type, adapted: type) -> None:
    """Has ``super(adapted, self).__init__()`` reach the framework's base classes, past the native class between them.

    Programs that derive from a layer call it so to be modules without its parameters.
    """
    own: Any = native.__init__  # type: ignore[misc]
    last = native
    for each in native.__mro__[1:]:
        if not each.__name__.startswith("_"):
            break
        last = each  # what Lamella's classes have in common, which the framework has no class for

    @functools.wraps(own)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 (becomes the class's __init__)
        derived = type(self) is not adapted and isinstance(self, adapted)
        if args or kwargs or not derived or _called_by_native_class():
            own(self, *args, **kwargs)
        else:
            super(last, self).__init__()  # type: ignore[arg-type, misc]

    native.__init__ = __init__  # type: ignore[misc]


def _called_by_native_class() -> bool:
    """True where the ``__init__`` of one of Lamella's classes calls that of its base class."""
    caller = sys._getframe(2)
    return caller.f_code.co_name == "__init__" and caller.f_globals.get("__name__", "").startswith("lamella.")


def stand_for(native: type, adapted: Callable[[], type]) -> None:
    """Makes the objects of a native class objects of the adapted one.

    Args:
        native: the class.
        adapted: returns the class of the front, which is made when it is first asked for.
    """

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 (becomes the class's __new__)
        if cls is not native:
            return object.__new__(cls)
        kind = adapted()
        if kind.__init__ is native.__init__:  # type: ignore[misc]
            return object.__new__(kind)
        if not getattr(kind.__init__, "_of_two_meanings", False):  # type: ignore[misc]
            return object.__new__(cls)
        made: Any = object.__new__(kind)
        vars(made)[_MADE_NATIVELY] = True
        return made

    native.__new__ = __new__  # type: ignore[assignment, method-assign]


def nearest(native: type, known: Iterable[type]) -> list[type]:
    """Returns the base classes of a native class that are known, without those that another of them derives from."""
    found = [each for each in native.__mro__[1:] if each in set(known)]
    return [each for each in found if not any(other is not each and issubclass(other, each) for other in found)]
