"""Python's :mod:`multiprocessing`, with tensors whose memory the processes share."""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403
from multiprocessing import shared_memory as _shared_memory
from typing import Any

import lamella as lm
from lamella import Tensor

#: Memory that this process made or opened, by name: it lives as long as the process.
_blocks: dict[str, _shared_memory.SharedMemory] = {}


def _on_block(name: str, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """Returns the tensor in a block of shared memory."""
    import numpy as np

    values = lm.from_numpy(np.frombuffer(_blocks[name].buf, dtype=np.uint8))
    strides, step = [], 1
    for length in reversed(shape):
        strides.insert(0, step)
        step *= length
    made = lm._C._tensor_in_memory(values, dtype, shape, tuple(strides), 0)
    return made


class _Shared:
    """How a tensor in shared memory is pickled: by the name of its block."""

    def __init__(self, kind: type, name: str, shape: tuple[int, ...], dtype: str, requires_grad: bool) -> None:
        self.state = kind, name, shape, dtype, requires_grad

    def open(self) -> Tensor:
        """Returns the tensor, on the block of the process that made it."""
        kind, name, shape, dtype, requires_grad = self.state
        if name not in _blocks:
            _blocks[name] = _shared_memory.SharedMemory(name)
        return _made(kind, name, shape, lm.DType(dtype), requires_grad)


def _opened(shared: _Shared) -> Tensor:
    return shared.open()


def _made(kind: type, name: str, shape: tuple[int, ...], dtype: Any, requires_grad: bool) -> Tensor:
    plain = _on_block(name, shape, dtype)
    tensor: Any = plain if kind is Tensor else Tensor.__new__(kind, plain)
    tensor.stop_gradient = not requires_grad
    _names[tensor.data_ptr()] = name
    return tensor


#: Names of blocks by the address of their tensors.
_names: dict[int, str] = {}
_native_reduce: Any = Tensor.__reduce_ex__


def _reduce(self: Tensor, protocol: Any = None) -> Any:
    name = _names.get(self.data_ptr()) if _names and self.is_leaf else None
    if name is None or _python.process.current_process() is None:
        return _native_reduce(self, protocol)
    shared = _Shared(type(self), name, tuple(self.shape), self.dtype.name, self.requires_grad)
    return _opened, (shared,)


def share(tensor: Tensor) -> Tensor:
    """Returns a tensor with the values of one on the CPU, in memory that processes share; it is the same one if it is.

    Raises:
        RuntimeError: the tensor is on another device.
    """
    if tensor.data_ptr() in _names:
        return tensor
    if str(tensor.device) != "cpu":
        raise RuntimeError(f"[share_memory_] only tensors on the CPU can be shared, not on {tensor.device}")
    size = max(tensor.numel() * tensor.dtype.itemsize, 1)
    block = _shared_memory.SharedMemory(create=True, size=size)
    _blocks[block.name] = block
    _owned.append(block)
    made = _made(type(tensor), block.name, tuple(tensor.shape), tensor.dtype, tensor.requires_grad)
    with lm.no_grad():
        made.detach().copy_(tensor.detach())
    type_of: Any = Tensor
    type_of.__reduce_ex__ = _reduce
    return made


_owned: list[_shared_memory.SharedMemory] = []


def _remove() -> None:
    """Takes the blocks that this process made away from the system; their memory goes with the last process."""
    for block in _owned:
        block.unlink()


def share_module(module: Any) -> Any:
    """Puts the parameters and buffers of a module into memory that processes share."""
    moved: dict[int, Tensor] = {}
    for each in module.modules():
        for place in (each._parameters, each._buffers):
            for name, tensor in place.items():
                if tensor is not None:
                    place[name] = moved.setdefault(id(tensor), share(tensor))
    return module


def spawn(
    fn: Any,
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Calls ``fn(i, *args)`` in ``nprocs`` processes.

    Returns:
        None after all have ended; with ``join=False`` the list of processes.

    Raises:
        RuntimeError: one of them failed.
    """
    context = _python.get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    failed = [i for i, process in enumerate(processes) if process.exitcode]
    if failed:
        raise RuntimeError(f"[spawn] processes {failed} failed")
    return None


def get_all_sharing_strategies() -> set[str]:
    """Returns the one way in which memory is shared."""
    return {"file_system"}


def get_sharing_strategy() -> str:
    """Returns "file_system"."""
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Takes any: memory is shared in one way."""


import atexit as _atexit  # noqa: E402

_atexit.register(_remove)
