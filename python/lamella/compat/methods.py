"""Methods of tensors that a front's tables make, beside Lamella's own.

The type of all tensors learns a front's dialect, but Lamella's own code keeps its methods: one that has two meanings
asks which module calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from lamella import Tensor
from lamella._names import Elsewhere

from .names import Names

#: Modules whose calls are those of their callers: methods of a graph's values, and methods that recorders look at.
_PASSING = frozenset(["lamella.graph._symbol", "lamella._attributes"])


def own(name: str) -> Any:
    """Returns what Lamella's tensors have under a name, or None."""
    found = Tensor.__dict__.get(name)
    return None if isinstance(found, Elsewhere) else found


def of_two_meanings(name: str, method: Callable[..., Any], native: Any = None) -> Any:
    """Returns a method that is the framework's to programs, and Lamella's own to the modules of Lamella.

    Args:
        name: the method's name.
        method: the framework's.
        native: Lamella's; by default what tensors have now.
    """
    kept = own(name) if native is None else native
    if kept is None:
        return _binding(method)

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        while (caller := frame.f_globals.get("__name__", "")) in _PASSING and frame.f_back is not None:
            frame = frame.f_back
        return (kept if caller.startswith("lamella.") else method)(self, *args, **kwargs)

    call.__name__ = name
    call.__doc__ = method.__doc__
    return call


def _binding(method: Callable[..., Any]) -> Any:
    """Returns a function that binds to tensors, which those of the compiled part do not do by themselves."""
    return method if isinstance(method, FunctionType) else lambda self, *args, **kw: method(self, *args, **kw)


class Later:
    """A method that is made when it is first asked for."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self.make = make

    def __get__(self, x: Any, owner: type) -> Any:
        method = self.make()
        setattr(Tensor, self.name, method)
        return method.__get__(x, owner) if x is not None else method


def install(
    names: Names,
    get: Callable[[str], Any],
    written: Iterable[str],
    *,
    in_place: Callable[[Tensor, Tensor], Any] | None = None,
) -> None:
    """Gives tensors the functions of a table, each when it is first asked for.

    Args:
        names: the names of the table.
        get: returns the function of a name.
        written: names of methods that are there already and stay.
        in_place: gives them the forms that write over their tensor, too, which end in an underscore: writes a result
            over the tensor that is its second argument.
    """

    def later(name: str, native: Any) -> Callable[[], Any]:
        def make() -> Any:
            if native is None:
                return _binding(get(name))
            if not names.words_differ(name):
                return native
            return of_two_meanings(name, get(name), native)

        return make

    def over(name: str, write: Callable[[Tensor, Tensor], Any]) -> Callable[[], Any]:
        def make() -> Any:
            function = get(name)

            def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
                made = function(self.clone(), *args, **kwargs)
                if tuple(made.shape) != tuple(self.shape):
                    raise RuntimeError(
                        f"[{name}_] a tensor keeps its shape, {list(self.shape)} is not {list(made.shape)}: write "
                        f"x = x.{name}(...)"
                    )
                return write(made, self)

            return method

        return make

    kept = set(written)
    for name in [*names, *kept]:
        if name not in kept:
            setattr(Tensor, name, Later(name, later(name, own(name))))
        if in_place is not None and not hasattr(Tensor, f"{name}_"):
            setattr(Tensor, f"{name}_", Later(f"{name}_", over(name, in_place)))
