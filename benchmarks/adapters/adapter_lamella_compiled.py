"""Lamella's compiled functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import lamella as lm
from benchmarks.adapters.adapter_lamella import LamellaAdapter


class CompiledLamellaAdapter(LamellaAdapter):
    """See benchmarks.adapters.CompiledAdapter."""

    def __init__(self) -> None:
        # A function that is not compiled after all is a failure, and no row of the table.
        warnings.simplefilter("error", lm.CompileWarning)
        warnings.filterwarnings("error", r"\[graph\]", RuntimeWarning)
        # Every program is compiled where it first runs, so that results are compared and times taken of the same code.
        lm.graph.set_native("wait")

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lm.compile(function)


ADAPTER = CompiledLamellaAdapter()
