"""Training of one model on several processes, each of which has its own part of every batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ..nn import Module
from ._buckets import CommHook, make_buckets
from ._groups import group_of
from ._models import broadcast_tensors, check_equal, check_module, in_pass, own_part

__all__ = ["DistributedDataParallel"]

#: Names that an error lists.
_LISTED = 5


class DistributedDataParallel(Module):
    """A model whose gradients are the mean over all processes' after each backward pass.

    The processes begin with the parameters and buffers of rank 0. Each calls the model on its own samples; while the
    backward pass runs, gradients that are complete are summed over the processes in buckets, and at its end each
    parameter has the mean. Where the processes' losses are means over equally many samples, it is the gradient of the
    mean over all of them, and optimizers, clipping and :class:`lamella.amp.GradScaler` do the same on all processes.
    (Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", 2020.)

    Where parameters are global tensors (:func:`parallelize`), the group is of the processes that have the same parts of
    them. A group of one process costs nothing.

    Args:
        module: The model. It is the attribute ``module``, and its names in ``state_dict`` begin with ``module.``.
        group: The processes, or their group's name; None is the default group.
        bucket_mb: The most megabytes of gradients that travel together.
        find_unused_parameters: True where some parameters have no part in some losses. They count as 0 in the mean if
            another process uses them; the gradients of those that none uses are left alone. False makes it an error
            that a parameter has no gradient at the end of a backward pass.
        broadcast_buffers: True to begin each forward pass with the buffers of rank 0, such as running statistics.
        static_graph: True where all passes use the parameters that the first one has used: the processes then ask each
            other once which these are, and wait for no others.

    Raises:
        TypeError: `module` is no module.
        ValueError: No parameter wants a gradient, or the models of the processes differ.
        RuntimeError: There is no process group.
    """

    def __init__(
        self,
        module: Module,
        *,
        group: ProcessGroup | str | None = None,
        bucket_mb: float = 25.0,
        find_unused_parameters: bool = False,
        broadcast_buffers: bool = True,
        static_graph: bool = False,
    ) -> None:
        super().__init__()
        check_module(module, "DistributedDataParallel")
        if not isinstance(bucket_mb, int | float) or not bucket_mb > 0:
            raise ValueError(f"[DistributedDataParallel] bucket_mb is a number of more than 0, not {bucket_mb!r}")
        self.module = module
        self.group = group_of(group)
        self.bucket_mb = bucket_mb
        self.find_unused_parameters = find_unused_parameters
        self.broadcast_buffers = broadcast_buffers
        self.static_graph = static_graph
        named = [(name, own_part(p)) for name, p in module.named_parameters() if not p.stop_gradient]
        if not named:
            raise ValueError("[DistributedDataParallel] no parameter of the model wants a gradient: use it as it is")
        self._names = [name for name, _ in named]
        self._reducer = _Reducer([p for _, p in named], self._names, self.group, bucket_mb)
        self._reducer.finds_unused, self._reducer.is_static = find_unused_parameters, static_graph
        self._joining = False
        if self.group.size > 1:
            check_equal(module, self.group, "DistributedDataParallel")
            broadcast_tensors([*module.parameters(), *module.buffers()], 0, self.group)
            self._reducer.attach()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what the model gives for the arguments."""
        if self._reducer.is_attached and self._reducer.syncs and _C.is_grad_enabled():
            root = 0
            self._reducer.forget_failed_pass()
            if self._joining:
                active = _tell_active(True, self.group)
                root = active.index(True)
                self._reducer.divisor = sum(active)
            if self.broadcast_buffers and self.training:
                broadcast_tensors(list(self.module.buffers()), root, self.group)
        return self.module(*args, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Adds gradients up without communication: in backward passes within this context, each process by itself.

        The next pass outside of it takes the mean of all that was added up::

            for x, y in batches[:-1]:
                with model.no_sync():
                    loss(model(x), y).backward()
            loss(model(batches[-1][0]), batches[-1][1]).backward()
        """
        before, self._reducer.syncs = self._reducer.syncs, False
        try:
            yield
        finally:
            self._reducer.syncs = before

    def register_comm_hook(self, hook: CommHook) -> None:
        """Has a function take the mean of each bucket of gradients over the processes, such as one that sends less.

        :mod:`lamella.distributed.hooks` has some. A hook is called while the backward pass runs, with one bucket after
        the other, in the same order on all processes, also on one process alone. It is no part of copies and pickles.

        Args:
            hook: Called with a :class:`lamella.distributed.hooks.GradientBucket`; returns the mean, a tensor of as many
                elements, or an object whose ``wait()`` returns it, such as a :class:`Work`.

        Raises:
            TypeError: The hook is no function.
            RuntimeError: There is one already.
        """
        if not callable(hook):
            raise TypeError(f"[register_comm_hook] hook is a function of a bucket, not {hook!r}")
        if self._reducer.hook is not None:
            raise RuntimeError("[register_comm_hook] there is a hook already: a model has one")
        self._reducer.hook = hook
        if not self._reducer.is_attached:
            self._reducer.attach()

    @contextmanager
    def join(self) -> Iterator[None]:
        """Lets processes have different numbers of batches: all train within this context, until each has left it.

        A process that has come to its end takes part in the sums of the others with zeros, and the mean is over those
        that still have batches. Within, each forward pass is followed by one backward pass; at the end, the models are
        those of the process that trained longest.
        """
        if self.group.size == 1:
            yield
            return
        self._joining = True
        try:
            yield
            self._shadow()
        finally:
            self._joining = False
            self._reducer.divisor = self.group.size

    def _shadow(self) -> None:
        """Takes part in the operations of processes that still have batches."""
        last = self.group.rank
        while any(active := _tell_active(False, self.group)):
            last = active.index(True)
            if self.broadcast_buffers and self.training:
                broadcast_tensors(list(self.module.buffers()), last, self.group)
            self._reducer.shadow()
        final = _C.distributed_all_reduce(_C.asarray(last, device="cpu"), op="max", group=self.group.name).item()
        broadcast_tensors([*self.module.parameters(), *self.module.buffers()], final, self.group)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        names = "bucket_mb", "find_unused_parameters", "broadcast_buffers", "static_graph"
        return _rebuilt, (self.module, self.group.name, {name: getattr(self, name) for name in names})


class _Reducer:
    """Sums the gradients of parameters over processes while backward passes run."""

    def __init__(
        self, parameters: Sequence[Tensor], names: Sequence[str], group: ProcessGroup, bucket_mb: float
    ) -> None:
        self.names = names
        self.group = group
        self.syncs = True
        self.divisor = group.size
        self.finds_unused = self.is_static = self.is_attached = False
        self.hook: CommHook | None = None
        #: In a static graph, once known: numbers of parameters that no process uses, and that this one does not.
        self._never: frozenset[int] | None = None
        self._never_here: frozenset[int] | None = None
        self.buckets = make_buckets(parameters, int(bucket_mb * 2**20))
        self._is_open = False
        self._next = 0
        self._ready: set[int] = set()

    def attach(self) -> None:
        self.is_attached = True
        for bucket in self.buckets:
            for number, parameter in zip(bucket.numbers, bucket.parameters, strict=True):
                parameter.register_post_accumulate_grad_hook(self._hook(bucket, number))

    def _hook(self, bucket: Any, number: int) -> Callable[[Tensor], None]:
        def ready(_: Tensor) -> None:
            if not self.syncs:
                return
            if not self._is_open:
                self._begin()
                _C.queue_callback(self._finish)
            if self._never_here is not None and number in self._never_here:
                raise RuntimeError(
                    f"[DistributedDataParallel] '{self.names[number]}' got a gradient, and got none in the first pass: "
                    "the graph is not static"
                )
            self._ready.add(number)
            bucket.missing -= 1
            self._start_complete()

        return ready

    def forget_failed_pass(self) -> None:
        """Makes the next pass begin anew where one has ended with an error, and has not come to its end."""
        if self._is_open and not in_pass():
            self._is_open = False

    def _begin(self) -> None:
        self._is_open = True
        self._next = 0
        self._ready.clear()
        for bucket in self.buckets:
            bucket.reset(self._never_here or frozenset())

    def _start_complete(self) -> None:
        """Starts the buckets that are complete, in their order, which is the same on all processes."""
        while self._next < len(self.buckets) and self.buckets[self._next].missing == 0:
            self._start_next()

    def _start_next(self) -> None:
        self.buckets[self._next].start(self.group, self.hook, self._next == len(self.buckets) - 1)
        self._next += 1

    def _finish(self) -> None:
        """Ends a pass: starts what is left, waits, and hands out the means."""
        self._is_open = False
        unused = self._unused()
        while self._next < len(self.buckets):
            self._start_next()
        for bucket in self.buckets:
            bucket.finish(self.divisor, unused)

    def _unused(self) -> frozenset[int]:
        """Returns the numbers of the parameters that no process has used in this pass."""
        missing = [number for number in range(len(self.names)) if number not in self._ready]
        if self.is_static and self._never_here is None:
            self._never_here = frozenset(missing)
        elif self.is_static or not self.finds_unused:
            if lacking := [self.names[number] for number in missing if number not in (self._never_here or ())]:
                listed = ", ".join(lacking[:_LISTED]) + (", ..." if len(lacking) > _LISTED else "")
                raise RuntimeError(
                    f"[DistributedDataParallel] {len(lacking)} parameters got no gradient in this backward pass: "
                    f"{listed}. Where a loss does not use all of them, give find_unused_parameters=True"
                )
            if not self.is_static:
                return frozenset()
        return self._agree_on_unused()

    def _agree_on_unused(self) -> frozenset[int]:
        if self._never is not None:
            return self._never
        used = _C.asarray([number in self._ready for number in range(len(self.names))], device="cpu")
        by_any = _C.distributed_all_reduce(used, op="max", group=self.group.name).tolist()
        unused = frozenset(number for number, is_used in enumerate(by_any) if not is_used)
        if self.is_static:
            self._never = unused
        return unused

    def shadow(self) -> None:
        """Takes part with zeros in the sums of a pass of other processes, and takes their results."""
        for bucket in self.buckets:
            for parameter in bucket.parameters:
                parameter.grad = None
        self._begin()
        self._is_open = False
        if self.finds_unused or self.is_static:
            self._agree_on_unused()
        while self._next < len(self.buckets):
            self._start_next()
        for bucket in self.buckets:
            bucket.finish(1, frozenset(range(len(self.names))))


def _rebuilt(module: Module, group: str, settings: dict[str, Any]) -> DistributedDataParallel:
    return DistributedDataParallel(module, group=group, **settings)


def _tell_active(active: bool, group: ProcessGroup) -> list[bool]:
    """Returns which processes have a batch."""
    return _C.distributed_all_gather(
        _C.asarray([active], device="cpu"), sizes=[1] * group.size, group=group.name
    ).tolist()
