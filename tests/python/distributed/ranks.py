"""Runs one function on several ranks, as threads of this process that meet at each collective."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import lamella as lm
from lamella import autograd
from lamella.distributed import _carrier
from lamella.distributed.mesh import part


class _Meeting:
    """Exchanges objects between the ranks of a group."""

    def __init__(self, ranks: Sequence[int]) -> None:
        self.ranks = list(ranks)
        self._barrier = threading.Barrier(len(ranks))
        self._given: dict[int, Any] = {}

    def exchange(self, rank: int, value: Any) -> list[Any]:
        self._given[rank] = value
        self._barrier.wait(30)
        found = [self._given[other] for other in self.ranks]
        self._barrier.wait(30)
        return found

    def abort(self) -> None:
        self._barrier.abort()


def _joined(op: str, parts: list[Any]) -> Any:
    return {"sum": np.sum, "max": np.max, "min": np.min}[op](np.stack(parts), axis=0)


class _Reduce(autograd.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, own: ThreadCollectives, op: str, group: Any) -> lm.Tensor:
        parts = own.exchange(x, group)
        y = lm.asarray(_joined(op, parts).astype(parts[0].dtype))
        ctx.save_for_backward(x, y)
        ctx.rest = own, op, group
        return y

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        own, op, group = ctx.rest
        total = _Reduce.apply(dy, own, "sum", group)
        if op == "sum":
            return total
        x, y = ctx.saved_tensor()
        return total * lm.equal(x, y).astype(dy.dtype)


class _Gather(autograd.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, own: ThreadCollectives, axis: int, group: Any) -> lm.Tensor:
        ctx.rest = own, axis, group
        return lm.asarray(np.concatenate(own.exchange(x, group), axis=axis))

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        own, axis, group = ctx.rest
        return _Scatter.apply(dy, own, "sum", axis, group)


class _Scatter(autograd.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, own: ThreadCollectives, op: str, axis: int, group: Any) -> lm.Tensor:
        ctx.rest = own, axis, group
        whole = _joined(op, own.exchange(x, group))
        start, stop = part(whole.shape[axis], group.size, group.rank)
        return lm.asarray(np.take(whole, range(start, stop), axis=axis).astype(x.numpy().dtype))

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        own, axis, group = ctx.rest
        return _Gather.apply(dy, own, axis, group)


class _Exchange(autograd.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, own: ThreadCollectives, split: int, concat: int, group: Any) -> lm.Tensor:
        ctx.rest = own, split, concat, group
        parts = own.exchange(x, group)
        return lm.asarray(
            np.concatenate([np.array_split(one, group.size, axis=split)[group.rank] for one in parts], axis=concat)
        )

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        own, split, concat, group = ctx.rest
        return _Exchange.apply(dy, own, concat, split, group)


class ThreadCollectives:
    """The collectives of one rank."""

    def __init__(self, rank: int, world: World) -> None:
        self._rank, self._world = rank, world
        self.log: list[tuple[str, tuple[int, ...]]] = []

    def rank(self) -> int:
        return self._rank

    def world_size(self) -> int:
        return self._world.size

    def group_of(self, mesh: Any, axis: int) -> Any:
        [ranks] = [ranks for ranks in mesh.fibers(axis) if self._rank in ranks]
        return SimpleNamespace(ranks=ranks, size=len(ranks), rank=ranks.index(self._rank))

    def connect(self, mesh: Any) -> None:
        pass

    def exchange(self, x: lm.Tensor, group: Any) -> list[Any]:
        return self._world.meeting(group.ranks).exchange(self._rank, x.detach().numpy().copy())

    def all_reduce(self, x: lm.Tensor, op: str, group: Any) -> lm.Tensor:
        self.log.append(("all_reduce", tuple(x.shape)))
        return _Reduce.apply(x, self, op, group)

    def all_gather(self, x: lm.Tensor, axis: int, sizes: Sequence[int], group: Any) -> lm.Tensor:
        assert x.shape[axis] == sizes[group.rank]
        self.log.append(("all_gather", tuple(x.shape)))
        return _Gather.apply(x, self, axis, group)

    def reduce_scatter(self, x: lm.Tensor, op: str, axis: int, group: Any) -> lm.Tensor:
        self.log.append(("reduce_scatter", tuple(x.shape)))
        return _Scatter.apply(x, self, op, axis, group)

    def all_to_all(
        self, x: lm.Tensor, split_axis: int, concat_axis: int, sizes: Sequence[int], group: Any
    ) -> lm.Tensor:
        assert x.shape[concat_axis] == sizes[group.rank]
        self.log.append(("all_to_all", tuple(x.shape)))
        return _Exchange.apply(x, self, split_axis, concat_axis, group)

    def broadcast(self, x: lm.Tensor, group: Any) -> lm.Tensor:
        return lm.asarray(self.exchange(x, group)[0])


class World:
    """The ranks of one run."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._meetings: dict[tuple[int, ...], _Meeting] = {}
        self._lock = threading.Lock()

    def meeting(self, ranks: Sequence[int]) -> _Meeting:
        with self._lock:
            return self._meetings.setdefault(tuple(ranks), _Meeting(ranks))

    def abort(self) -> None:
        with self._lock:
            for meeting in self._meetings.values():
                meeting.abort()


def run(size: int, function: Callable[[int], Any]) -> list[Any]:
    """Returns what the function returns for each rank; raises what the first rank that fails raises."""
    world = World(size)
    results: list[Any] = [None] * size
    errors: list[BaseException] = []

    def work(rank: int) -> None:
        try:
            with _carrier.using(ThreadCollectives(rank, world)):
                results[rank] = function(rank)
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            errors.append(error)
            world.abort()

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
