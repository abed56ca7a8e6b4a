"""Collective operations with gradients, which return what they make; also ``torch.distributed.nn.functional``."""

from __future__ import annotations

from typing import Any

import lamella as lm
import lamella.distributed as native
from lamella import Tensor
from lamella.compat.front import add_paths, close_module

from ._collectives import ReduceOp, _checked, _root

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "reduce", "reduce_scatter"]


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns the tensors of all processes joined element by element."""
    return native.all_reduce(tensor, _checked(op, "all_reduce"), group)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Returns the tensors of all processes, which have the same shape."""
    return tuple(lm.unstack(native.all_gather(lm.expand_dims(tensor, axis=0), 0, None, group), axis=0))


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Returns the tensor of process ``src``."""
    return native.broadcast(tensor, _root(group, src, None), group)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns, on process ``dst``, the tensors of all processes joined element by element."""
    return native.reduce(tensor, _checked(op, "reduce"), _root(group, dst, None), group)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns this process's tensor of a list, joined element by element with the others' of its place."""
    whole = native.reduce_scatter(lm.stack(input_list), _checked(op, "reduce_scatter"), 0, None, group)
    return lm.squeeze(whole, 0)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None) -> Any:
    """Returns the tensors that all processes have for this one, in the sizes of ``output_tensor_list``."""
    given, wanted = ([len(x) for x in tensors] for tensors in (input_tensor_list, output_tensor_list))
    return tuple(lm.split(native.all_to_all(lm.concat(input_tensor_list), 0, 0, given, wanted, group), wanted))


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Tensor:
    """Returns the rows that all processes have for this one, in parts of equal or of the given sizes."""
    return native.all_to_all(input, 0, 0, input_split_sizes, output_split_sizes, group)


__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}.functional": {__name__: " ".join(__all__)}})
