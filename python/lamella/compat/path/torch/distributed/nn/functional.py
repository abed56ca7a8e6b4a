"""Collective operations that return tensors with gradients: the transposed operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella as lm
import lamella.distributed as native
from lamella import Tensor
from lamella.compat.front import close_module

from .._collectives import ReduceOp, checked, root_of


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns the tensors of all processes, joined element by element."""
    return native.all_reduce(tensor, checked(op, "all_reduce"), group)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns the tensors of all processes joined, on process ``dst``; others get their own back."""
    found = native.reduce(tensor, checked(op, "reduce"), root_of(group, dst, None), group)
    if native.get_rank(group) == root_of(group, dst, None):
        return found
    return found + (tensor - found).detach()  # on the tape, as all processes take part in the gradient


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Returns the tensor of process ``src``."""
    return native.broadcast(tensor, root_of(group, src, None), group)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Returns the tensors of all processes, which have one shape."""
    size = native.get_world_size(group)
    found = native.all_gather(tensor.reshape((1, *tensor.shape)), sizes=[1] * size, group=group)
    return tuple(found[i] for i in range(size))


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Returns the tensors of all processes on process ``dst``, zeros on others."""
    found = all_gather(tensor, group)
    is_root = native.get_rank(group) == root_of(group, dst, None)
    return found if is_root else tuple(x * 0 for x in found)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Returns, of the tensors of process ``src``, the one for this process."""
    return native.broadcast(lm.stack(list(tensors)), root_of(group, src, None), group)[native.get_rank(group)]


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns this process's tensor of the lists of all processes, joined element by element."""
    name, size = checked(op, "reduce_scatter"), native.get_world_size(group)
    found = native.reduce_scatter(lm.stack(list(input_list)), name, sizes=[1] * size, group=group)
    return found.reshape(input_list[0].shape)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Returns the tensors that all processes have for this one, which have the shapes of ``output_tensor_list``."""
    rows = [x.reshape([-1]) for x in input_tensor_list]
    received = [x.detach().reshape([-1]).shape[0] for x in output_tensor_list]
    found = native.all_to_all(lm.concat(rows), sizes=[x.shape[0] for x in rows], received=received, group=group)
    return tuple(part.reshape(x.shape) for part, x in zip(found.split(received), output_tensor_list, strict=True))


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """Returns the parts along axis 0 that all processes have for this one, one after the other."""
    size = native.get_world_size(group)
    return native.all_to_all(
        input,
        sizes=input_split_sizes or [len(input) // size] * size,
        received=output_split_sizes or [len(output) // size] * size,
        group=group,
    )


__getattr__ = close_module(__name__)
