"""Python's :mod:`multiprocessing`, with tensors whose memory the processes share."""

from __future__ import annotations

import atexit as _atexit
import math as _math
import mmap as _mmap
import multiprocessing as _python
import os as _os
import tempfile as _tempfile
from multiprocessing import *  # noqa: F403
from typing import Any

import lamella as lm
from lamella import Tensor

from ._storages import strides_of as _strides_of

#: Files in memory, where the system has a folder for them.
_FOLDER = next((folder for folder in ("/dev/shm",) if _os.access(folder, _os.W_OK)), None)

#: Memory that this process made or opened, by the path of its file.
_blocks: dict[str, _mmap.mmap] = {}
#: Paths of the files that this process made.
_owned: list[tuple[int, str]] = []
#: Paths by the address of the tensors in them.
_paths: dict[int, str] = {}
_native_reduce: Any = Tensor.__reduce_ex__


def _open(path: str, size: int | None = None) -> None:
    with open(path, "r+b") as file:
        if size is not None:
            file.truncate(size)
        _blocks[path] = _mmap.mmap(file.fileno(), 0)


def _opened(kind: type, path: str, shape: tuple[int, ...], dtype: str, requires_grad: bool) -> Tensor:
    """Returns the tensor in a file that a process made."""
    import numpy as np

    if path not in _blocks:
        _open(path)
    values = lm.from_numpy(np.frombuffer(_blocks[path], dtype=np.uint8))
    plain = lm._C._tensor_in_memory(values, lm.DType(dtype), shape, _strides_of(shape), 0)
    tensor: Any = plain if kind is Tensor else Tensor.__new__(kind, plain)
    tensor.stop_gradient = not requires_grad
    if not _paths:
        # Others write into what backward will read: it gets a copy. The hooks stay for the rest of the process.
        lm.autograd.saved_tensors_hooks(_kept, _as_it_is).__enter__()
    _paths[tensor.data_ptr()] = path
    return tensor


def _kept(x: Tensor) -> Tensor:
    return x.clone() if x.data_ptr() in _paths else x


def _as_it_is(x: Tensor) -> Tensor:
    return x


def _reduce(self: Tensor, protocol: Any = None) -> Any:
    """Pickles a tensor in shared memory by the path of its file, any other one with its elements."""
    path = _paths.get(self.data_ptr()) if self.is_leaf else None
    if path is None:
        return _native_reduce(self, protocol)
    return _opened, (type(self), path, tuple(self.shape), self.dtype.name, self.requires_grad)


def share(tensor: Tensor) -> Tensor:
    """Returns a tensor with the values of one on the CPU, in memory that processes share; it is the same one if it is.

    Raises:
        RuntimeError: the tensor is on another device.
    """
    if tensor.data_ptr() in _paths:
        return tensor
    if str(tensor.device) != "cpu":
        raise RuntimeError(f"[share_memory_] only tensors on the CPU can be shared, not on {tensor.device}")
    number, path = _tempfile.mkstemp(prefix="lamella-", dir=_FOLDER)
    _os.close(number)
    _owned.append((_os.getpid(), path))
    _open(path, max(_math.prod(tensor.shape) * tensor.dtype.itemsize, 1))
    made = _opened(type(tensor), path, tuple(tensor.shape), tensor.dtype.name, tensor.requires_grad)
    with lm.no_grad():
        made.detach().copy_(tensor.detach())
    kind: Any = Tensor
    kind.__reduce_ex__ = _reduce
    return made


def is_shared(tensor: Tensor) -> bool:
    """True if other processes can open the tensor's memory."""
    return tensor.data_ptr() in _paths


@_atexit.register
def _remove() -> None:
    """Takes the files of this process away; their memory goes with the last process that opened them."""
    for pid, path in _owned:
        if pid == _os.getpid():
            _os.unlink(path)


def share_module(module: Any) -> Any:
    """Puts the parameters and buffers of a module into memory that processes share."""
    moved: dict[int, Tensor] = {}
    for each in module.modules():
        for place in (each._parameters, each._buffers):
            for name, tensor in place.items():
                if tensor is not None:
                    place[name] = moved.setdefault(id(tensor), share(tensor))
    return module


def start_processes(
    fn: Any,
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Calls ``fn(i, *args)`` in ``nprocs`` processes; see :func:`spawn`."""
    return spawn(fn, args, nprocs, join, daemon, start_method)


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
    context: Any = _python.get_context(start_method)
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
