"""Processes with different numbers of batches."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from lamella.compat.front import close_module

from ..._stand_ins import TensorType
from .._data_parallel import DistributedDataParallel

__all__ = ["Join", "Joinable"]


class Joinable(metaclass=TensorType):
    """The type of what :class:`Join` takes: models under ``DistributedDataParallel`` are instances."""

    native = DistributedDataParallel


class Join:
    """Lets processes have different numbers of batches within a ``with`` block.

    See :meth:`lamella.distributed.DistributedDataParallel.join`, which it calls for each model.

    Args:
        joinables: models under ``DistributedDataParallel``.
        enable: False for a block that changes nothing.
        throw_on_early_termination: accepted; nothing changes.
        options: others of PyTorch's.

    Raises:
        TypeError: something else is among the models.
    """

    def __init__(
        self, joinables: list[Any], enable: bool = True, throw_on_early_termination: bool = False, **options: Any
    ) -> None:
        for each in joinables:
            if not isinstance(each, Joinable):
                raise TypeError(f"[Join] joins models under DistributedDataParallel, not {type(each).__name__}")
        self._joinables = list(joinables) if enable else []
        self._entered = ExitStack()

    def __enter__(self) -> Join:
        """Begins the block."""
        for each in self._joinables:
            self._entered.enter_context(each.join())
        return self

    def __exit__(self, *exception: Any) -> None:
        """Ends it: processes without batches take part in the others' reductions."""
        self._entered.__exit__(*exception)


__getattr__ = close_module(__name__)
