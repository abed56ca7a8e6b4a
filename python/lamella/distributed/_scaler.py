"""Scaling of losses where each process has a part of the gradients."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._C import _ProcessGroup as ProcessGroup
from ..amp import GradScaler
from ..optim import Optimizer
from ._groups import get_group, group_of


class ShardedGradScaler(GradScaler):
    """A :class:`lamella.amp.GradScaler` for gradients that are cut over processes, or differ between them.

    Where the gradients of one process are infinite or NaN, all processes leave the step out.

    Args:
        group: The processes, or their group's name; None is the default group.
        options: Those of :class:`lamella.amp.GradScaler`.

    Raises:
        ValueError: For a number out of its range.
        RuntimeError: There is no process group.
    """

    _asks_all = True

    def __init__(self, *, group: ProcessGroup | str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._group = group_of(group).name

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides the gradients by the factor, and asks all processes whether theirs are finite."""
        super().unscale_(optimizer)
        if self._enabled and get_group(self._group).size > 1:
            notes = self._notes[optimizer]
            found = _C.distributed_all_reduce(_C.asarray(notes.found_inf, device="cpu"), op="max", group=self._group)
            notes.found_inf = bool(found.item())
