"""Compiled modules: modules like any other, whose calls run as graphs."""

from __future__ import annotations

import copy
import functools
from typing import Any

import lamella as lm
from lamella.nn.module import quicken

from ._compiled import Compiled


class CompiledModule:
    """Stands before a module's class among the bases of its compiled form, and shares all attributes with the module.

    So the form has the module's parameters, methods and modes, whichever of the two they are set on, and is a part of
    other modules like the module itself.
    """

    __slots__ = ("_compiled",)

    _compiled: Compiled

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # The class of the module has had its say when it was defined.
        if issubclass(cls, lm.nn.Module):
            quicken(cls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        compiled = self._compiled
        # As in Compiled, whose call would take longer than some graphs.
        for replay, _ in compiled._replays:
            result = replay.call(args, kwargs)
            if result is not NotImplemented:
                return result
        result = compiled._run(args, kwargs)
        kind = type(compiled._function)
        if kind is not type(self).__bases__[1]:  # a lazy layer has become another one
            self.__class__ = _form_of(kind)
        return result

    def __copy__(self) -> Any:
        return compile_module(copy.copy(self._compiled._function), cuda_graphs=self._compiled._cuda_graphs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        module = copy.deepcopy(self._compiled._function, memo)
        return compile_module(module, cuda_graphs=self._compiled._cuda_graphs)

    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, ...]:
        remake = functools.partial(compile_module, cuda_graphs=self._compiled._cuda_graphs)
        return remake, (self._compiled._function,)


def _form_of(kind: type) -> type:
    """Returns the class of compiled modules of a class."""
    names = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    form: type = type.__call__(type(kind), kind.__name__, (CompiledModule, kind), {"__slots__": (), **names})
    return form


def compile_module(module: lm.nn.Module, *, cuda_graphs: bool = False) -> Any:
    """Returns the compiled form of a module; `cuda_graphs` as in :func:`lamella.compile`."""
    form: Any = object.__new__(_form_of(type(module)))
    object.__setattr__(form, "__dict__", module.__dict__)
    object.__setattr__(form, "_compiled", Compiled(module, cuda_graphs=cuda_graphs))
    return form
