"""Optimizers of which each process keeps a part of the state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import lamella.distributed as native
from lamella.compat.front import add_paths, close_module
from lamella.distributed._models import broadcast_tensors
from lamella.optim import Optimizer

from .._collectives import all_gather_object


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer of a model that all processes have whole, each of which moves some of the parameters.

    After a step each process gets the parameters that the others have moved. (Rajbhandari et al., "ZeRO: Memory
    Optimizations Toward Training Trillion Parameter Models", 2020, stage 1.)

    Args:
        params: parameters, or groups of them.
        optimizer_class: the class of the optimizer.
        process_group: the processes; None is the default group.
        parameters_as_bucket_view: accepted; nothing changes.
        overlap_with_ddp: False.
        defaults: options of the optimizer.

    Raises:
        NotImplementedError: ``overlap_with_ddp`` is True.
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: Callable[..., Any],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("[ZeroRedundancyOptimizer] overlap_with_ddp: give False")
        self._processes = native.get_group("" if native.is_initialized() else "self")
        if process_group is not None:
            self._processes = process_group
        self.optim = optimizer_class(params, **defaults)
        # What it is asked for, schedules write to: the optimizer's own.
        self.defaults, self.param_groups, self.state = self.optim.defaults, self.optim.param_groups, self.optim.state
        self._every: list[dict[str, Any]] | None = None

    def add_param_group(self, group: Any) -> None:
        """Adds a group of parameters."""
        self.optim.add_param_group(group)

    def _parts(self) -> list[list[Any]]:
        """Returns the parameters that each process moves: the largest first, to the one that has least."""
        held = [0] * self._processes.size
        parts: list[list[Any]] = [[] for _ in held]
        every = [p for group in self.param_groups for p in group["params"]]
        for p in sorted(every, key=lambda p: -len(p.detach().reshape([-1]))):
            owner = held.index(min(held))
            held[owner] += max(1, len(p.detach().reshape([-1])))
            parts[owner].append(p)
        return parts

    def step(self, closure: Callable[[], Any] | None = None, **options: Any) -> Any:
        """Moves this process's parameters, and gets those of the others."""
        loss = None if closure is None else closure()
        parts = self._parts()
        others = [p for rank, part in enumerate(parts) if rank != self._processes.rank for p in part]
        gradients = [p.grad for p in others]
        for p in others:
            p.grad = None
        try:
            self.optim.step(**options)
        finally:
            for p, gradient in zip(others, gradients, strict=True):
                p.grad = gradient
        for rank, part in enumerate(parts):
            if self._processes.size > 1 and part:
                broadcast_tensors(part, rank, self._processes)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients, or fills them with zeros."""
        self.optim.zero_grad(set_to_none)

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Brings the parts of the state together, for :meth:`state_dict` on process ``to``; all call it together."""
        told: list[Any] = [None] * self._processes.size
        if self._processes.size > 1:
            all_gather_object(told, self.optim.state_dict()["state"], self._processes)
        else:
            told = [self.optim.state_dict()["state"]]
        self._every = told if native.get_rank() == to or self._processes.size == 1 else None

    def state_dict(self) -> dict[str, Any]:
        """Returns the whole state.

        Raises:
            RuntimeError: it was not brought together on this process.
        """
        if self._every is None:
            raise RuntimeError("[state_dict] call consolidate_state_dict() on all processes first")
        state = {number: values for part in self._every for number, values in part.items()}
        return {**self.optim.state_dict(), "state": dict(sorted(state.items()))}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over a whole state, of which this process keeps its part."""
        self.optim.load_state_dict(state_dict)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state
        own = {id(p) for p in self._parts()[self._processes.rank]}
        for key in [key for key in self.state if key not in own]:
            del self.state[key]


__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}.zero_redundancy_optimizer": {__name__: "ZeroRedundancyOptimizer"}})
