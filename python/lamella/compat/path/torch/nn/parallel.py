"""Modules on several devices: here on the one that the module is on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


class DistributedDataParallel(DataParallel):
    """Calls ``module``; there is one process, whose gradients are those of all."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, **options: Any) -> None:
        super().__init__(module, device_ids, output_device)
        self.require_backward_grad_sync = True

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Leaves gradients as they are, which they are in any case."""
        yield


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


__getattr__ = close_module(__name__)
