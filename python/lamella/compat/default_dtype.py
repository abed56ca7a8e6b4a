"""The dtype of floating-point numbers that are given none, which programs of both fronts may set."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import lamella as lm

from . import classes

#: Makes a function that has another default dtype of one.
Exchange = Callable[[Callable[..., Any], lm.DType], Callable[..., Any]]


class DefaultDtype:
    """A front's default dtype.

    Functions that make tensors are exchanged in the front's module while it is another than float32, and layers are
    cast once they are made, so that nothing is slower while it is float32.

    Args:
        module: the name of the front's module.
        exchanges: how functions are exchanged, by their names with spaces between.
    """

    def __init__(self, module: str, exchanges: Mapping[str, Exchange]) -> None:
        self.current = lm.float32
        self._module = module
        self._exchanges = {name: make for names, make in exchanges.items() for name in names.split()}
        #: The functions that were exchanged, by name.
        self._kept: dict[str, Callable[..., Any]] = {}

    def set(self, given: Any) -> None:
        """Exchanges the default dtype.

        Raises:
            TypeError: the dtype is none of real floating-point numbers.
        """
        chosen = lm.DType(given)
        if not lm.isdtype(chosen, "real floating"):
            raise TypeError(f"[set_default_dtype] takes a dtype of real floating-point numbers, not {chosen.name}")
        module = sys.modules[self._module]
        for name, function in self._kept.items():
            setattr(module, name, function)
        self._kept.clear()
        self.current = chosen
        classes.finish_objects(None if chosen == lm.float32 else self._cast)
        for name, make in self._exchanges.items() if chosen != lm.float32 else ():
            self._kept[name] = getattr(module, name)
            setattr(module, name, make(self._kept[name], chosen))

    def _cast(self, layer: Any, named: dict[str, Any]) -> None:
        if isinstance(layer, lm.nn.Module) and named.get("dtype") is None:
            layer.to(self.current)


def has_dtype(given: Any, kinds: tuple[type, ...] = (lm.DType,)) -> bool:
    """True for what has a dtype of its own, or is one of the kinds that name one, or is a sequence of such."""
    if isinstance(given, (list, tuple)):
        return any(has_dtype(each, kinds) for each in given)
    return hasattr(given, "dtype") or isinstance(given, kinds)
