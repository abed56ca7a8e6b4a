"""Modules on several devices, which here is the one that the module is on, and in several processes."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.nn import Module


class DataParallel(Module):
    """Calls ``module`` with its arguments, on the device that it is on, whatever devices are named."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids = list(device_ids or [])
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Returns what the module makes of the arguments."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Calls a module with one input or a tuple of them."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """Returns the inputs, in a list of their parts, one for each device: the one part is the whole."""
    return [inputs]


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Returns tensors of several devices as one."""
    return lm.concat(list(outputs), axis=dim)


def replicate(network: Module, devices: Any, detach: bool = False) -> list[Module]:
    """Returns a module once for each device: on the one that it is on, it is the module itself."""
    return [network for _ in devices]


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
    """Calls modules in turn, each with its inputs, which may be one or a tuple, and its arguments by names."""
    named = kwargs_tup or [{}] * len(modules)
    return [
        module(*(given if isinstance(given, (list, tuple)) else (given,)), **options)
        for module, given, options in zip(modules, inputs, named, strict=True)
    ]


_missing = close_module(__name__)


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":  # what it is made of is imported by programs that use it
        from ..distributed._data_parallel import DistributedDataParallel

        globals()[name] = DistributedDataParallel
        return DistributedDataParallel
    return _missing(name)
