"""Data parallel training in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import lamella.distributed as native
from lamella import Tensor
from lamella.distributed import hooks
from lamella.nn import Module

from ..futures import Future


class GradBucket:
    """Gradients that travel together, as a hook gets them."""

    def __init__(self, bucket: hooks.GradientBucket) -> None:
        self._bucket = bucket

    def index(self) -> int:
        """Returns the bucket's place in the order in which buckets go."""
        return self._bucket.index

    def buffer(self) -> Tensor:
        """Returns this process's gradients, one after the other."""
        return self._bucket.tensor

    def set_buffer(self, buffer: Tensor) -> None:
        """Puts other values in the place of the gradients."""
        self._bucket = replace(self._bucket, tensor=buffer)

    def gradients(self) -> list[Tensor]:
        """Returns the gradient of each parameter: views of :meth:`buffer`."""
        return self._bucket.gradients()

    def parameters(self) -> list[Tensor]:
        """Returns the parameters."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """True for the last bucket of a pass."""
        return self._bucket.is_last

    def native_of(self, group: Any) -> hooks.GradientBucket:
        """Returns the bucket as :mod:`lamella.distributed.hooks` take it, for a group; None is the model's."""
        return self._bucket if group is None else replace(self._bucket, group=group)


#: Called with its state and a bucket.
Hook = Callable[[Any, GradBucket], Any]


def as_future(answer: Any) -> Future[Tensor]:
    """Returns the future of what a hook of Lamella's gives: a tensor, or what is waited for."""
    if isinstance(answer, Tensor):
        made: Future[Tensor] = Future()
        made.set_result(answer)
        return made
    return Future.of(answer.wait, getattr(answer, "is_completed", lambda: False))


def native_hook(hook: Hook, state: Any) -> hooks.CommHook:
    """Returns a hook as Lamella's models call it; of a list of one tensor, as ``get_future`` gives, it takes that."""

    def run(bucket: hooks.GradientBucket) -> Any:
        answer = hook(state, GradBucket(bucket))
        return _First(answer) if isinstance(answer, Future) else answer

    return run


class _First:
    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def wait(self) -> Any:
        """Returns the tensor, which may be the only one of a list."""
        value = self._future.wait()
        return value[0] if isinstance(value, list) and len(value) == 1 else value


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
        check_reduction: accepted; nothing changes.
        gradient_as_bucket_view: accepted: after a pass gradients are views of what was sent, always.
        bucket_cap_mb: the most megabytes of gradients that travel together.
        find_unused_parameters: True where some parameters have no part in some losses.
        static_graph: True where all passes use the parameters that the first one uses.
        device_mesh: the processes, along one axis, in the place of ``process_group``.
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
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        device_mesh: Any = None,
        **options: Any,
    ) -> None:
        if all(p.stop_gradient for p in module.parameters()):
            raise RuntimeError(
                "[DistributedDataParallel] no parameter of the module requires a gradient: use it as it is"
            )
        if device_mesh is not None and process_group is not None:
            raise RuntimeError("[DistributedDataParallel] give process_group or device_mesh, not both")
        if device_mesh is not None:
            process_group = device_mesh.get_group()
        super().__init__(
            module,
            group=process_group if process_group is not None or native.is_initialized() else "self",
            bucket_mb=25.0 if bucket_cap_mb is None else bucket_cap_mb,
            find_unused_parameters=find_unused_parameters,
            broadcast_buffers=broadcast_buffers,
            static_graph=static_graph,
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

    def register_comm_hook(self, state: Any, hook: Hook) -> None:  # type: ignore[override]
        """Has a function take the mean of each bucket of gradients over the processes.

        Args:
            state: given to the hook.
            hook: called with the state and a :class:`GradBucket`; returns a future of a tensor.

        Raises:
            TypeError: the hook is no function.
            RuntimeError: there is one already.
        """
        if not callable(hook):
            raise TypeError(f"[register_comm_hook] hook is a function of a state and a bucket, not {hook!r}")
        super().register_comm_hook(native_hook(hook, state))

    def _set_static_graph(self) -> None:
        """Says that all passes use the parameters that the first one uses."""
        self.static_graph = self._reducer.is_static = True

    @property
    def process_group(self) -> Any:
        """The processes."""
        return self.group

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        options: dict[str, Any] = {
            "process_group": self.group.name,
            "bucket_cap_mb": self.bucket_mb,
            "find_unused_parameters": self.find_unused_parameters,
            "broadcast_buffers": self.broadcast_buffers,
            "static_graph": self.static_graph,
        }
        return partial(type(self), **options), (self.module,)

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
