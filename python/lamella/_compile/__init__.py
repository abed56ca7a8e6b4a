"""Compilation of functions: they run as graphs of the operators that they were seen to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._compiled import Compiled, CompileWarning
from ._explanation import Explanation

__all__ = ["CompileWarning", "Compiled", "Explanation", "compile"]


class _Compile:
    """Makes functions run as graphs; called as ``lm.compile``."""

    def __call__(self, function: Callable[..., Any]) -> Compiled:
        if isinstance(function, Compiled):
            return function
        if not callable(function):
            raise TypeError(
                f"[compile] expected a function, a Module or another callable, got {type(function).__name__}"
            )
        return Compiled(function)

    def explain(self, compiled: Any) -> Explanation:
        """Says what became of the calls of a compiled function.

        Raises:
            TypeError: ``compiled`` is not compiled.
        """
        compiled = getattr(compiled, "__func__", compiled)
        if not isinstance(compiled, Compiled):
            raise TypeError(f"[compile.explain] expected a compiled function, got {type(compiled).__name__}")
        return Explanation(compiled)

    def __repr__(self) -> str:
        return "<function lamella.compile>"


compile = _Compile()
