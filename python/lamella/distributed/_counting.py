"""Collectives that send nothing and count: what a plan runs a training step on."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import lamella as lm
from lamella import autograd
from lamella._C import Tensor

from ._costs import COLLECTIVES, Link
from .mesh import part, placement, sizes_of
from .rules.flops import flops_of


class Traffic:
    """Cost of one collective along one axis of the mesh, for a process in one phase of a step.

    Attributes:
        count: the number of calls.
        sent: bytes that the process sends.
        time: seconds of the α-β model.
    """

    def __init__(self) -> None:
        self.count, self.sent, self.time = 0, 0.0, 0.0


class Work:
    """Cost of operators, for a process in one phase of a step.

    Attributes:
        flops: floating-point operations of products.
        nbytes: bytes that operators read and write.
        time: seconds, by the larger of the two for each operator.
    """

    def __init__(self) -> None:
        self.flops, self.nbytes, self.time = 0.0, 0.0, 0.0


class _Counted(autograd.PyLayer):
    """A collective on meta: a tensor of the shape that it gives."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, own: CountingCollectives, name: str, axes: Any, group: Any) -> Tensor:
        ctx.rest = own, name, axes, group, tuple(x.shape)
        return own.count(x, name, axes, group)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        own, name, axes, group, shape = ctx.rest
        if name == "all_to_all":
            return own.count(dy, name, (axes[1], axes[0], sizes_of(shape[axes[0]], group.size)), group)
        if name == "reduce_scatter":
            return own.count(dy, "all_gather", (axes[0], sizes_of(shape[axes[0]], group.size)), group)
        return own.count(dy, "reduce_scatter" if name == "all_gather" else name, axes[:1], group)


class CountingCollectives:
    """The collectives of one process of a mesh, on tensors on meta.

    Args:
        rank: the process that is looked at.
        mesh: all processes.
        links: what joins them along each axis.
        flops: floating-point operations a second of the process's device.
        bandwidth: bytes a second of its memory.
    """

    def __init__(self, rank: int, mesh: placement, links: Sequence[Link], flops: float, bandwidth: float) -> None:
        self._rank, self._mesh, self._links = rank, mesh, links
        self._flops, self._bandwidth = flops, bandwidth
        #: "forward", "backward" or "update".
        self.phase = "forward"
        #: By phase, collective and axis of the mesh.
        self.traffic: dict[tuple[str, str, int], Traffic] = {}
        #: By phase.
        self.work: dict[str, Work] = {}

    def rank(self) -> int:
        """Returns the rank that is looked at."""
        return self._rank

    def world_size(self) -> int:
        """Returns the number of processes."""
        return self._mesh.size

    def group_of(self, mesh: placement, axis: int) -> Any:
        """Returns what is known of the group along an axis."""
        return SimpleNamespace(axis=axis, size=mesh.shape[axis], rank=mesh.coordinate(self._rank)[axis])

    def connect(self, mesh: placement) -> None:
        """Does nothing: there are no groups."""

    def adopt(self, mesh: placement, axis: int, group: Any) -> None:
        """Does nothing: there are no groups."""

    def count(self, x: Tensor, name: str, axes: Any, group: Any) -> Tensor:
        """Counts a collective and returns a tensor of the shape that it gives this process."""
        n, shape = group.size, list(x.shape)
        if name == "all_gather":
            shape[axes[0]] = sum(axes[1])
        elif name == "reduce_scatter":
            start, stop = part(shape[axes[0]], n, group.rank)
            shape[axes[0]] = stop - start
        elif name == "all_to_all":
            start, stop = part(shape[axes[0]], n, group.rank)
            shape[axes[0]], shape[axes[1]] = stop - start, sum(axes[2])
        result = lm.empty(shape, dtype=x.dtype, device="meta")
        whole = {"all_gather": result.nbytes, "all_to_all": x.nbytes * n}.get(name, x.nbytes)
        collective = COLLECTIVES[name]
        found = self.traffic.setdefault((self.phase, name, group.axis), Traffic())
        found.count += 1
        found.sent += collective.sent(whole, n)
        found.time += self._links[group.axis].time(collective.messages(n), collective.sent(whole, n))
        return result

    def computed(self, name: str, tensors: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """Counts an operator on this process's parts; its gradient, where there is one, as twice as much."""
        flops = flops_of(name, tensors, results[0]) if results else 0.0
        nbytes = float(sum(x.nbytes for x in (*tensors, *results)))
        times = {self.phase: 1}
        if self.phase == "forward" and any(not x.stop_gradient for x in results):
            times["backward"] = 2
        for phase, factor in times.items():
            work = self.work.setdefault(phase, Work())
            work.flops += factor * flops
            work.nbytes += factor * nbytes
            work.time += factor * max(flops / self._flops, nbytes / self._bandwidth)

    def all_reduce(self, x: Tensor, op: str, group: Any) -> Tensor:
        """Counts an all_reduce."""
        return _Counted.apply(x, self, "all_reduce", (), group)

    def all_gather(self, x: Tensor, axis: int, sizes: Sequence[int], group: Any) -> Tensor:
        """Counts an all_gather."""
        return _Counted.apply(x, self, "all_gather", (axis, sizes), group)

    def reduce_scatter(self, x: Tensor, op: str, axis: int, group: Any) -> Tensor:
        """Counts a reduce_scatter."""
        return _Counted.apply(x, self, "reduce_scatter", (axis,), group)

    def all_to_all(self, x: Tensor, split_axis: int, concat_axis: int, sizes: Sequence[int], group: Any) -> Tensor:
        """Counts an all_to_all."""
        return _Counted.apply(x, self, "all_to_all", (split_axis, concat_axis, sizes), group)

    def broadcast(self, x: Tensor, group: Any) -> Tensor:
        """Returns the tensor itself: a step broadcasts nothing."""
        return x
