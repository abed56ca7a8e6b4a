"""Whole models on several processes: compared, and overwritten by one process's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ..nn import Module
from ._objects import all_gather_object
from .global_tensor import GlobalTensor


def check_module(module: Module, caller: str) -> None:
    """TypeError where what is to be a model is none."""
    if not isinstance(module, Module):
        raise TypeError(f"[{caller}] module is an nn.Module, not {type(module).__name__}")


def check_equal(module: Module, group: ProcessGroup, caller: str) -> None:
    """ValueError where the models of the processes differ in a parameter or a buffer."""
    own = [
        [name, x.dtype.name, list(x.shape), bool(x.stop_gradient)]
        for named in (module.named_parameters(), module.named_buffers())
        for name, x in named
    ]
    for rank, other in enumerate(all_gather_object(own, group)):
        if other == own:
            continue
        mine, theirs = next(
            ((a, b) for a, b in zip([*own, None], [*other, None], strict=False) if a != b), (own[-1], other[-1])
        )
        raise ValueError(
            f"[{caller}] the models of rank {group.rank} and rank {rank} differ: (name, dtype, shape, "
            f"stop_gradient) are {mine} and {theirs}"
        )


def own_part(x: Tensor) -> Tensor:
    """Returns this process's part of a global tensor, and any other tensor as it is."""
    return x._local if isinstance(x, GlobalTensor) else x


def place_of(x: Tensor) -> tuple[tuple[int, ...], Any, Any] | None:
    """Returns the shape of a global tensor, its processes and its signatures; None for any other tensor."""
    return (tuple(x.shape), x.placement, x.sbp) if isinstance(x, GlobalTensor) else None


def broadcast_tensors(tensors: Sequence[Tensor], root: int, group: ProcessGroup) -> None:
    """Overwrites tensors, or the parts of global ones, by those of process `root`: all of one dtype in one message."""
    kinds: dict[tuple[str, str], list[Tensor]] = {}
    for x in map(own_part, tensors):
        kinds.setdefault((x.dtype.name, x.device), []).append(x)
    with _C.no_grad():
        for members in kinds.values():
            flat = _C.concat([x.detach().reshape([-1]) for x in members])
            flat = _C.distributed_broadcast(flat, root=root, group=group.name)
            if group.rank == root:
                continue
            for x, part in zip(members, flat.split([x.size for x in members]), strict=True):
                x.copy_(part.reshape(x.shape))


def in_pass() -> bool:
    """True while a backward pass runs on this thread."""
    try:
        _C.queue_callback(lambda: None)
    except RuntimeError:
        return False
    return True
