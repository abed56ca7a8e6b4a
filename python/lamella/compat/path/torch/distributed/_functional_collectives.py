"""Collective operations that return what they make, with gradients: Lamella's own, with PyTorch's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella.distributed as native
from lamella import Tensor
from lamella.compat.front import close_module

from .._stand_ins import Uninhabited
from ._collectives import checked, root_of


class AsyncCollectiveTensor(metaclass=Uninhabited):
    """A result that is still on its way; results are there when they are returned, so none is one."""


def wait_tensor(tensor: Tensor) -> Tensor:
    """Returns the tensor, which is there."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:  # noqa: N803 (PyTorch's name)
    """Returns the tensors of all processes joined element by element."""
    return native.all_reduce(self, _named(reduceOp, "all_reduce"), _group(group))


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """Returns the tensors of all processes one after the other along an axis."""
    return native.all_gather(self, gather_dim, None, _group(group))


def reduce_scatter_tensor(
    self: Tensor,
    reduceOp: str,  # noqa: N803 (PyTorch's name)
    scatter_dim: int,
    group: Any,
    tag: str = "",
) -> Tensor:
    """Returns this process's part, along an axis, of the tensors of all processes joined element by element."""
    return native.reduce_scatter(self, _named(reduceOp, "reduce_scatter_tensor"), scatter_dim, None, _group(group))


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """Returns the rows that all processes have for this one, in parts of equal or of the given sizes."""
    return native.all_to_all(self, 0, 0, input_split_sizes, output_split_sizes, _group(group))


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """Returns the tensor of process ``src``."""
    return native.broadcast(self, root_of(_group(group), src, None), _group(group))


all_gather_tensor_autograd = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single


def _named(op: Any, caller: str) -> str:
    return checked({"avg": "mean"}.get(str(op).lower(), str(op).lower()), caller)


def _group(group: Any) -> Any:
    """Returns the group of the processes of a mesh with one axis, of an axis of a mesh, or a group itself."""
    mesh, axis = group if isinstance(group, tuple) else (group, None)
    return mesh.get_group(axis) if hasattr(mesh, "get_group") else group


__getattr__ = close_module(__name__)
