"""Messages between the processes of a program, which write over the tensors that they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch  # type: ignore[import-not-found]

from lamella import Tensor, distributed
from lamella.compat.front import close_module


def _function(name: str) -> Callable[..., Any]:
    """Returns the function of the torch front's processes, which are started here as OneFlow's are by its import."""
    if not distributed.is_initialized():
        distributed.init_process_group()
    function: Callable[..., Any] = getattr(torch.distributed, name)
    return function


def all_reduce(tensor: Tensor) -> None:
    """Makes the tensor the sum of those of all processes."""
    _function("all_reduce")(tensor)


def all_gather(tensor_list: list[Tensor], tensor: Tensor) -> None:
    """Writes the tensors of all processes over those of a list, in the order of the processes."""
    _function("all_gather")(tensor_list, tensor)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor) -> None:
    """Writes the tensors of all processes over one, one after the other along its first axis."""
    _function("all_gather_into_tensor")(output_tensor, input_tensor)


def broadcast(tensor: Tensor, src: int = 0) -> None:
    """Makes the tensor that of the process ``src``."""
    _function("broadcast")(tensor, src)


def scatter(tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int = 0) -> None:
    """Makes the tensor one of the list of the process ``src``, that of this process's number."""
    _function("scatter")(tensor, scatter_list, src)


def reduce(tensor: Tensor, dst: int = 0) -> None:
    """Makes the tensor of the process ``dst`` the sum of those of all processes."""
    _function("reduce")(tensor, dst)


def gather(tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int = 0) -> None:
    """Writes the tensors of all processes over those of a list of the process ``dst``."""
    _function("gather")(tensor, gather_list, dst)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: Sequence[Tensor]) -> None:
    """Writes the tensors that each process has for this one over those of a list."""
    _function("all_to_all")(output_tensor_list, list(input_tensor_list))


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor]) -> None:
    """Makes a tensor the sum of those of all processes' lists that have this process's number."""
    _function("reduce_scatter")(output, list(input_list))


def reduce_scatter_tensor(output_tensor: Tensor, input_tensor: Tensor) -> None:
    """Makes a tensor this process's part, along the first axis, of the sum of those of all processes."""
    _function("reduce_scatter_tensor")(output_tensor, input_tensor)


def send(input: Tensor, dst: int, send_meta: bool = True) -> None:
    """Sends a tensor to the process ``dst``, before it its shape and dtype where ``send_meta``."""
    send_tensor = _function("send")
    if send_meta:
        sizes = torch.tensor([input.ndim, *tuple(input.shape)] + [0] * (_MOST_AXES - input.ndim), dtype=torch.int64)
        names = torch.tensor(list(str(input.dtype).encode().ljust(_NAME)), dtype=torch.uint8)
        send_tensor(sizes, dst)
        send_tensor(names, dst)
    send_tensor(input, dst)


def recv(
    src: int, shape: Sequence[int] | None = None, dtype: Any = None, device: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """Returns the tensor that the process ``src`` sends.

    Without a shape and a dtype, those are what the other process tells before (``send_meta``).

    Args:
        src: the number of the process.
        shape: of the tensor.
        dtype: of the tensor.
        device: of the result.
        out: a tensor that the result is written over.

    Raises:
        ValueError: only one of shape and dtype is given.
    """
    if (shape is None) != (dtype is None):
        raise ValueError("[comm.recv] takes both shape and dtype, or neither where the sender tells them")
    take = _function("recv")
    if shape is None:
        sizes = torch.zeros(_MOST_AXES + 1, dtype=torch.int64)
        names = torch.zeros(_NAME, dtype=torch.uint8)
        take(sizes, src)
        take(names, src)
        count, *each = sizes.tolist()
        shape = each[:count]
        dtype = getattr(torch, bytes(names.tolist()).decode().strip().rpartition(".")[2])
    made: Tensor = torch.empty(tuple(shape), dtype=dtype, device=device) if out is None else out
    take(made, src)
    return made


def barrier() -> None:
    """Waits for all processes."""
    _function("barrier")()


#: The most axes of a tensor whose shape is told, and the room for the name of its dtype.
_MOST_AXES, _NAME = 16, 32

__getattr__ = close_module(__name__)
