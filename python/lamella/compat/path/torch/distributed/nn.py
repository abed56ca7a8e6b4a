"""Collective operations that return new tensors and have gradients: those of :mod:`lamella.distributed`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella as lm
import lamella.distributed as native
from lamella import Tensor
from lamella.compat.front import add_paths, close_module

from ._collectives import ReduceOp, _checked, _root


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns the tensors of all processes joined element by element, on all of them."""
    return native.all_reduce(tensor, _checked(op, "all_reduce"), group)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Returns the tensors of all processes, of the same shape, on all of them."""
    count = native.get_world_size(group)
    gathered = native.all_gather(lm.expand_dims(tensor, 0), sizes=[1] * count, group=group)
    return tuple(gathered[k] for k in range(count))


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Returns the tensor of one process, on all of them."""
    return native.broadcast(tensor, _root(group, src, None), group)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns the tensors of all processes joined element by element, on one of them; zeros on the others."""
    return native.reduce(tensor, _checked(op, "reduce"), _root(group, dst, None), group)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """Returns this process's tensor of the lists of all, joined element by element; ``output`` has its shape."""
    parts = lm.stack(list(input_list), axis=0)
    sizes = [1] * len(input_list)
    return native.reduce_scatter(parts, _checked(op, "reduce_scatter"), sizes=sizes, group=group).reshape(output.shape)


__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}.functional": {__name__: "all_gather all_reduce broadcast reduce reduce_scatter"}})
