"""Compilation of functions: they run as graphs of the operators that they were seen to run."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar, overload

import lamella as lm

from ._compiled import Compiled, CompileWarning
from ._explanation import Explanation
from ._module import CompiledModule, compile_module

__all__ = ["CompileWarning", "Compiled", "Explanation", "compile"]

_M = TypeVar("_M", bound=lm.nn.Module)
_D = TypeVar("_D", bound="staticmethod[..., Any] | classmethod[Any, ..., Any]")


class _Compile:
    """Makes functions run as graphs; called as ``lm.compile``."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: _M, *, cuda_graphs: bool = ...
    ) -> _M: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: _D, *, cuda_graphs: bool = ...
    ) -> _D: ...

    @overload
    def __call__(self, function: Callable[..., Any], *, cuda_graphs: bool = ...) -> Compiled: ...

    @overload
    def __call__(self, function: None = ..., *, cuda_graphs: bool = ...) -> Callable[[Any], Any]: ...

    def __call__(self, function: Any = None, *, cuda_graphs: bool = False) -> Any:
        """Returns a function that runs as a graph of the operators that it is seen to call.

        The first two calls of each kind (shapes and dtypes of the tensors, values of the other arguments) run as they
        are, and are observed; later ones run the graph, whose elementwise operators are joined, as long as all that
        the function reads is what it was. Where that cannot be, calls run as they would without compilation, and a
        :class:`CompileWarning` says why. As a decorator it is written ``@lm.compile``, or
        ``@lm.compile(cuda_graphs=True)``. See docs/compile.md.

        Args:
            function: a function, a method, or a :class:`lamella.nn.Module`, which stays of its class.
            cuda_graphs: True to capture what a replay does on a CUDA device into graphs of CUDA, which are launched at
                once. They hold memory of their own, and copy their inputs and results.

        Returns:
            The compiled function, or a module with the parameters of the one that was given; without a function, a
            decorator.

        Raises:
            TypeError: ``function`` cannot be called.
        """
        if function is None:
            return functools.partial(self, cuda_graphs=cuda_graphs)
        if isinstance(function, (Compiled, CompiledModule)):
            compiled = function._compiled if isinstance(function, CompiledModule) else function
            if compiled._cuda_graphs or not cuda_graphs:
                return function
            function = compiled._function
        if isinstance(function, lm.nn.Module):
            return compile_module(function, cuda_graphs=cuda_graphs)
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(self(function.__func__, cuda_graphs=cuda_graphs))
        if not callable(function):
            raise TypeError(
                f"[compile] expected a function, a Module or another callable, got {type(function).__name__}"
            )
        return Compiled(function, cuda_graphs=cuda_graphs)

    def explain(self, compiled: Any) -> Explanation:
        """Says what became of the calls of a compiled function.

        Args:
            compiled: what ``lm.compile`` returned.

        Raises:
            TypeError: ``compiled`` is not compiled.
        """
        if isinstance(compiled, types.MethodType):
            compiled = compiled.__func__
        if isinstance(compiled, CompiledModule):
            compiled = compiled._compiled
        if not isinstance(compiled, Compiled):
            raise TypeError(f"[compile.explain] expected a compiled function, got {type(compiled).__name__}")
        return Explanation(compiled)

    def __repr__(self) -> str:
        return "<function lamella.compile>"


compile = _Compile()
