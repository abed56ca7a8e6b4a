"""Optimizers of several processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.optim import Optimizer

from . import _collectives, _groups


class ZeroRedundancyOptimizer(Optimizer):
    """Moves each parameter on one process alone, which remembers what its optimizer does, and sends it to the others.

    Each process has the same parameters and gradients, as under ``DistributedDataParallel``.

    Args:
        params: the parameters, or groups of them.
        optimizer_class: the optimizer of each process's share.
        process_group: the processes; None is the default group.
        defaults: its options.
    """

    def __init__(self, params: Iterable[Any], optimizer_class: Any, process_group: Any = None, **defaults: Any) -> None:
        for option in ("parameters_as_bucket_view", "overlap_with_ddp"):
            defaults.pop(option, None)
        self._group = process_group
        self._class = optimizer_class
        self._options = defaults
        self._share: Any = None
        self._all_states: list[Any] = []
        super().__init__(params, dict(defaults))
        self._divide()

    def check(self, group: Any) -> None:
        """Leaves that to the optimizer of the share."""

    def add_param_group(self, param_group: Any) -> None:
        """Adds a group, which is divided, too."""
        super().add_param_group(param_group)
        if self._share is not None:
            self._divide()

    def _divide(self) -> None:
        """Gives each parameter to the process with the least elements so far."""
        count = _groups.get_world_size(self._group) if _groups.is_initialized() else 1
        rank = _groups.get_rank(self._group) if _groups.is_initialized() else 0
        taken = [0] * count
        self._owners: list[tuple[Any, int]] = []
        groups = []
        for group in self.param_groups:
            own = []
            for parameter in sorted(group["params"], key=lambda each: -each.numel()):
                owner = taken.index(min(taken))
                taken[owner] += parameter.numel()
                self._owners.append((parameter, owner))
                own += [parameter] if owner == rank else []
            groups.append({**group, "params": own})
        before = self._share
        self._share = self._class([group for group in groups if group["params"]], **self._options)
        self._shown = [group for group, own in zip(self.param_groups, groups, strict=True) if own["params"]]
        if before is not None:
            self._share.state.update(before.state)

    def step(self, closure: Any = None) -> Any:
        """Moves this process's share, and gets the others' parameters."""
        for group, shown in zip(self._share.param_groups, self._shown, strict=True):
            group.update((name, value) for name, value in shown.items() if name != "params")
        result = self._share.step() if closure is None else self._share.step(closure)
        if _groups.is_initialized():
            with lm.no_grad():
                for parameter, owner in self._owners:
                    source = owner if self._group is None else _groups.get_global_rank(self._group, owner)
                    _collectives.broadcast(parameter, source, group=self._group)
        return result

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gathers the states of all shares on one process, whose :meth:`state_dict` has them then."""
        states: list[Any] = [self._share.state_dict()]
        if _groups.is_initialized():
            own = states[0]
            states = [None] * _groups.get_world_size(self._group)
            _collectives.all_gather_object(states, own, group=self._group)
        self._all_states = states

    def state_dict(self) -> dict[str, Any]:
        """Returns the states of the shares that :meth:`consolidate_state_dict` gathered.

        Raises:
            RuntimeError: it was not called.
        """
        if not self._all_states:
            raise RuntimeError("[ZeroRedundancyOptimizer] call consolidate_state_dict() on all processes first")
        return {"shares": self._all_states}

    def load_state_dict(self, state_dict: Any) -> None:
        """Takes over this process's share of a state of as many processes."""
        rank = _groups.get_rank(self._group) if _groups.is_initialized() else 0
        self._share.load_state_dict(state_dict["shares"][rank])


__getattr__ = close_module(__name__)
