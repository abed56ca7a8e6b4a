"""Graphs of eager programs: a class with a method ``build``, which is run with each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch  # type: ignore[import-not-found]
from torch import nn  # type: ignore[import-not-found]

from ..optim import Clipping

#: Beginnings of the names of options that choose how a graph is compiled or where it is computed.
_CHOICES = ("enable_", "allow_", "set_")


class _Config:
    """Accepts options that do not change what is computed."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @property
    def training(self) -> bool:
        """True if the graph has an optimizer."""
        return bool(self._graph._optimizers)

    def set_gradient_accumulation_steps(self, value: int) -> None:
        """Accepts 1.

        Raises:
            NotImplementedError: another number is given.
        """
        if value != 1:
            raise NotImplementedError(
                f"[Graph] set_gradient_accumulation_steps({value}): each call makes a step; add up gradients of an "
                "eager program"
            )

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith(_CHOICES):
            raise AttributeError(f"[Graph] config has no option '{name}'")
        return lambda *args, **kwargs: None


class Graph:
    """Base of graphs: a subclass defines ``build``, which a call of the graph runs.

    With an optimizer, ``build`` calls ``backward()`` of its loss, and each call ends with a step of the optimizer and
    of its schedule, before which the gradients of groups that want it are clipped. Without one no gradients are
    recorded.
    """

    def __init__(self, *, debug: bool = False, enable_get_runtime_state_dict: bool = False) -> None:
        self._optimizers: list[tuple[Any, Any]] = []
        self._scaler: Any = None
        self.config = _Config(self)

    @property
    def name(self) -> str:
        """Name of the class."""
        return type(self).__name__

    @property
    def training(self) -> bool:
        """True if the graph has an optimizer."""
        return self.config.training

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Computes; a subclass defines it."""
        raise NotImplementedError(f"[{self.name}] a graph defines build()")

    def add_optimizer(self, optim: Any, *, lr_sch: Any = None, is_sparse: bool = False) -> None:
        """Makes each call end with a step of the optimizer, and of the schedule.

        Raises:
            TypeError: it is no optimizer.
        """
        if not isinstance(optim, torch.optim.Optimizer):
            raise TypeError(f"[{self.name}] add_optimizer() expected an Optimizer, not {type(optim).__name__}")
        self._optimizers.append((optim, lr_sch))

    def set_grad_scaler(self, grad_scaler: Any = None) -> None:
        """Makes steps those of a scaler."""
        self._scaler = grad_scaler

    @staticmethod
    def trace(function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function: it is run as it is, without recording gradients."""
        return torch.no_grad()(function)

    def debug(self, v_level: int = -1, **kwargs: Any) -> None:
        """Accepted: there is nothing to report."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs ``build`` and, with an optimizer, makes a step."""
        if not self._optimizers:
            with torch.no_grad():
                return self.build(*args, **kwargs)
        for optimizer, _ in self._optimizers:
            optimizer.zero_grad()
        results = self.build(*args, **kwargs)
        for optimizer, schedule in self._optimizers:
            if self._scaler is not None:
                self._scaler.unscale_(optimizer)
            if isinstance(optimizer, Clipping):
                optimizer.clip_grad()
            if self._scaler is None:
                optimizer.step()
            else:
                self._scaler.step(optimizer)
            if schedule is not None:
                schedule.step()
        if self._scaler is not None:
            self._scaler.update()
        return results

    def _modules(self) -> dict[str, nn.Module]:
        return {name: value for name, value in vars(self).items() if isinstance(value, nn.Module)}

    def state_dict(self) -> dict[str, Any]:
        """Returns the states of the graph's modules by their names in the graph."""
        return {name: module.state_dict() for name, module in self._modules().items()}

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Reads the states of the graph's modules.

        Raises:
            KeyError: ``strict``, and the state of a module is missing.
        """
        for name, module in self._modules().items():
            if name in state_dict:
                module.load_state_dict(state_dict[name], strict)
            elif strict:
                raise KeyError(f"[{self.name}] the state has no '{name}', only {sorted(state_dict)}")
