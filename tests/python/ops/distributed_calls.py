"""Calls of collective operators on the group of this process alone, for the tests of gradients and of vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm


def _leaf(*shape: int) -> lm.Tensor:
    return lm.tensor(np.linspace(-1.0, 2.0, int(np.prod(shape))).reshape(shape), stop_gradient=False)


def _on_self(name: str, **arguments: Any) -> Callable[[lm.Tensor], lm.Tensor]:
    return lambda a: getattr(lm, name)(a * a, group="self", **arguments)


def _there_and_back(a: lm.Tensor) -> lm.Tensor:
    """Sends a message to this process itself; the place of the message on the tape leads from its receipt to it."""
    sent = lm.distributed_send(a * a, to=0, tag=7, group="self")
    return lm.distributed_recv(lm.zeros_like(a) + sent, source=0, tag=7, group="self")


_REDUCED = [*(_on_self("distributed_all_reduce", op=op) for op in ("sum", "mean", "max", "min", "product"))]
_ALL = {
    "distributed_all_reduce": _REDUCED,
    "distributed_all_gather": [_on_self("distributed_all_gather", axis=-1)],
    "distributed_reduce_scatter": [
        *(_on_self("distributed_reduce_scatter", op=op, axis=1) for op in ("sum", "mean", "max", "product"))
    ],
    "distributed_broadcast": [_on_self("distributed_broadcast")],
    "distributed_reduce": [_on_self("distributed_reduce", op="sum"), _on_self("distributed_reduce", op="min")],
    "distributed_gather": [_on_self("distributed_gather", axis=1)],
    "distributed_scatter": [_on_self("distributed_scatter", axis=1)],
    "distributed_all_to_all": [_on_self("distributed_all_to_all", split_axis=0, concat_axis=1)],
    "distributed_send": [_there_and_back],
    "distributed_recv": [_there_and_back],
}

DISTRIBUTED_CALLS: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    name: [(call, [_leaf(2, 3)]) for call in calls] for name, calls in _ALL.items()
}

#: The same with the shapes of one example, for vmap.
DISTRIBUTED_CASES: dict[str, list[tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]]] = {
    name: [(call, ((2, 3),)) for call in calls] for name, calls in _ALL.items()
}
