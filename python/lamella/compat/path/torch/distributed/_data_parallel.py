"""Data parallel training in several processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lamella.distributed as native
from lamella.nn import Module


class DistributedDataParallel(native.DistributedDataParallel):
    """A model whose gradients are the mean over all processes'.

    See :class:`lamella.distributed.DistributedDataParallel`. Without a process group it calls ``module``. All options
    that have no line here are accepted: they choose how a result is computed.

    Args:
        module: the model.
        device_ids: accepted; nothing changes.
        output_device: accepted; nothing changes.
        dim: accepted; nothing changes.
        broadcast_buffers: begins each forward pass with the buffers of rank 0.
        init_sync: accepted; the processes begin with the parameters of rank 0.
        process_group: the processes; None is the default group.
        bucket_cap_mb: the most megabytes of gradients that travel together.
        find_unused_parameters: True where some parameters have no part in some losses.
        options: others of PyTorch's.

    Raises:
        RuntimeError: no parameter wants a gradient.
        ValueError: the models of the processes differ.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        **options: Any,
    ) -> None:
        if all(p.stop_gradient for p in module.parameters()):
            raise RuntimeError(
                "[DistributedDataParallel] no parameter of the module requires a gradient: use it as it is"
            )
        super().__init__(
            module,
            group=process_group if process_group is not None or native.is_initialized() else "self",
            bucket_mb=25.0 if bucket_cap_mb is None else bucket_cap_mb,
            find_unused_parameters=find_unused_parameters,
            broadcast_buffers=broadcast_buffers,
        )
        self.device_ids = list(device_ids or [])
        self.dim = dim

    @property
    def require_backward_grad_sync(self) -> bool:
        """False within :meth:`no_sync`."""
        return self._reducer.syncs

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, value: bool) -> None:
        self._reducer.syncs = bool(value)

    @property
    def process_group(self) -> Any:
        """The processes."""
        return self.group

    @contextmanager
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:
        """Lets processes have different numbers of batches; the mean is over those that still have one."""
        if not enable:
            yield
            return
        with super().join():
            yield
