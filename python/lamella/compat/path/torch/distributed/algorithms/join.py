"""Training where processes have different numbers of batches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from lamella.compat.front import close_module

from ..._stand_ins import TensorType
from .._data_parallel import DistributedDataParallel


class Joinable(metaclass=TensorType):
    """The type of what :class:`Join` takes: models of ``DistributedDataParallel`` are instances."""

    native = DistributedDataParallel


class Join:
    """A block within which models let processes have different numbers of batches.

    Args:
        joinables: models of ``DistributedDataParallel``.
        enable: False does nothing.
        throw_on_early_termination: False.
        options: accepted; nothing changes.

    Raises:
        NotImplementedError: something else is to take part, or ``throw_on_early_termination`` is True.
    """

    def __init__(
        self,
        joinables: Sequence[Any],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **options: Any,
    ) -> None:
        if throw_on_early_termination:
            raise NotImplementedError("[Join] throw_on_early_termination: give False")
        for one in joinables:
            if not hasattr(one, "join"):
                raise NotImplementedError(
                    f"[Join] models of DistributedDataParallel take part, not {type(one).__name__}"
                )
        self._joinables = list(joinables) if enable else []
        self._stack = ExitStack()

    def __enter__(self) -> Join:
        for one in self._joinables:
            self._stack.enter_context(one.join())
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


__getattr__ = close_module(__name__)
