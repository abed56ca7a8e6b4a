"""Modules that run programs which were read from files, or whose parameters are constants."""

from __future__ import annotations

from typing import Any

import lamella as lm

from .fx.graph_module import _assign_attr
from .jit import ScriptModule


class LoadedModule(ScriptModule):
    """A module that runs a recorded program; its parameters and buffers go by the names that they were recorded with.

    Args:
        program: the program.
        frozen: True keeps its tensors out of the module's state.
    """

    def __init__(self, program: Any, frozen: bool = False) -> None:
        super().__init__()
        self.__dict__["_recorded"] = program
        if not frozen:
            for name, tensor in {**program.named, **program.constants}.items():
                _assign_attr(tensor, self, name)
                if name not in program.state_dict and not isinstance(tensor, lm.nn.Parameter):
                    path, _, own = name.rpartition(".")
                    self.get_submodule(path).register_buffer(own, tensor, persistent=False)
        self.training = False

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program."""
        return self._recorded(*args, **kwargs)

    @property
    def original_name(self) -> str:
        """The name of the class, or of the function, that was recorded."""
        return str(self._recorded.graph.name)

    @property
    def graph(self) -> Any:
        """The steps, as a graph of ``torch.fx``."""
        return self._recorded.steps.graph

    @property
    def code(self) -> str:
        """The steps, as Python code."""
        return str(self._recorded.steps.code)

    def _get_name(self) -> str:
        return f"RecursiveScriptModule[{self.original_name}]"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Returns what a copy or a file is made of: the program as plain data."""
        return _again, (self._recorded.plain(), not list(self._buffers) and not list(self.parameters()))


def _again(data: dict[str, Any], frozen: bool) -> LoadedModule:
    from ._programs import Program

    return LoadedModule(Program.from_plain(data), frozen)
