"""From one signature to another by the cheapest collectives: a table for one axis of a mesh, a search for several."""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import lamella as lm
from lamella import autograd
from lamella import sbp as sbps
from lamella.sbp import Sbp

from . import _carrier
from ._costs import COLLECTIVES, Link, time_of
from .mesh import part, placement, sizes_of

__all__ = ["Row", "Step", "Table", "redistribute", "redistribution_table", "route"]

Signature = tuple[Sbp, ...]


class Row(NamedTuple):
    """One way to change a signature along an axis of a mesh."""

    source: str
    target: str
    #: The collective, or what happens without one.
    collective: str
    #: Bytes that each of n processes sends for a tensor of b bytes.
    sent: str
    #: What its gradient does.
    gradient: str


#: One row for each pair of kinds that has a direct way; others go through broadcast. A gradient has the adjoint
#: signature: that of a split tensor is split alike, that of a broadcast one is partial, and the other way round.
_ROWS = {
    ("S(i)", "S(j)"): ("all_to_all", "all_to_all"),
    ("S(i)", "B"): ("all_gather", "reduce_scatter"),
    ("S(i)", "P"): ("pad", "slice"),
    ("B", "S(i)"): ("slice", "pad"),
    ("B", "P"): ("keep", "keep"),
    ("B", "P(max)"): ("none", "none"),
    ("B", "P(min)"): ("none", "none"),
    ("P", "B"): ("all_reduce", "all_reduce"),
    ("P", "S(i)"): ("reduce_scatter", "all_gather"),
    ("P(max)", "B"): ("all_reduce", "all_reduce"),
    ("P(max)", "S(i)"): ("reduce_scatter", "all_gather"),
    ("P(min)", "B"): ("all_reduce", "all_reduce"),
    ("P(min)", "S(i)"): ("reduce_scatter", "all_gather"),
}


class Table(tuple[Row, ...]):
    """The rows of the table; prints as one."""

    def __repr__(self) -> str:
        head = Row("from", "to", "collective", "bytes sent", "gradient")
        widths = [max(map(len, column)) for column in zip(head, *self, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *self)]
        return "\n".join(line.rstrip() for line in [lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def redistribution_table() -> Table:
    """Returns how a signature becomes another along one axis of a mesh.

    ``b`` is the tensor's size in bytes, ``n`` the number of processes along the axis. ``"slice"`` cuts the process's
    own part, ``"pad"`` puts zeros around it, ``"keep"`` leaves the values to the first process and zeros to the others;
    pairs that are not there go through B.
    """
    return Table(Row(*pair, name, COLLECTIVES[name].formula, gradient) for pair, (name, gradient) in _ROWS.items())


def _kind(one: Sbp, other: Sbp | None = None) -> str:
    if not one.is_split:
        return one.short
    return "S(j)" if other is not None and other.is_split else "S(i)"


def direct(source: Sbp, target: Sbp) -> str | None:
    """Returns the collective that leads from one signature to another in one step, ``"none"`` if they are the same."""
    if source is target:
        return "none"
    found = _ROWS.get((_kind(source), _kind(target, source)))
    return None if found is None else found[0]


class Step(NamedTuple):
    """A change of the signature along one axis of the mesh."""

    axis: int
    source: Sbp
    target: Sbp
    collective: str
    #: Bytes of the tensor that the group along the axis holds.
    whole: float


def _whole(nbytes: float, mesh: Sequence[int], signature: Sequence[Sbp], axis: int) -> float:
    """Returns the bytes of the tensor that a group along ``axis`` holds, which other axes of the mesh have cut."""
    cut = [n for k, (n, one) in enumerate(zip(mesh, signature, strict=True)) if one.is_split and k != axis]
    return nbytes / math.prod(cut)


def _is_legal(signature: Signature, axis: int, source: Sbp, target: Sbp) -> bool:
    """True if the signature along ``axis`` can change while those of the inner axes of the mesh stay.

    An inner axis cuts what the outer one has left: where both cut the same axis of the tensor, the outer cut cannot
    move beneath the inner one. Sums and maxima cannot change places, either.
    """
    inner = signature[axis + 1 :]
    cut = {one.axis for one in (source, target) if one.is_split}
    if any(one.is_split and one.axis in cut for one in inner):
        return False
    ops = {one.op for one in (source, target) if one.is_partial}
    return not any(one.is_partial and ops and one.op not in ops for one in inner)


def _moves(signature: Signature, kinds: Sequence[Sbp], mesh: Sequence[int], nbytes: float) -> Iterator[Step]:
    for axis, source in enumerate(signature):
        for target in kinds:
            name = None if target is source else direct(source, target)
            if name is not None and _is_legal(signature, axis, source, target):
                yield Step(axis, source, target, name, _whole(nbytes, mesh, signature, axis))


@functools.lru_cache(maxsize=65536)
def route(
    nbytes: int, ndim: int, mesh: tuple[int, ...], source: Signature, target: Signature, links: tuple[Link, ...]
) -> tuple[float, tuple[Step, ...]]:
    """Returns the seconds and the steps of the cheapest way between two signatures.

    Args:
        nbytes: the tensor's size.
        ndim: its number of axes.
        mesh: the mesh's shape.
        source: the signatures before, one for each axis of the mesh.
        target: those after.
        links: what joins the processes along each axis of the mesh.

    The way is found by E. Dijkstra's search ("A note on two problems in connexion with graphs", 1959) over signatures.
    """
    used = {*source, *target, sbps.broadcast}
    kinds = sorted(
        used | {sbps.split(axis) for axis in range(ndim)} if len(mesh) > 1 else used, key=lambda one: one.short
    )
    queue: list[tuple[float, int, Signature, tuple[Step, ...]]] = [(0.0, 0, source, ())]
    done: set[Signature] = set()
    count = 0
    while queue:
        cost, _, at, steps = heapq.heappop(queue)
        if at == target:
            return cost, steps
        if at in done:
            continue
        done.add(at)
        for step in _moves(at, kinds, mesh, nbytes):
            after = (*at[: step.axis], step.target, *at[step.axis + 1 :])
            if after not in done:
                count += 1
                price = time_of(step.collective, step.whole, mesh[step.axis], links[step.axis])
                # Each step costs a little, so that of two ways at the same price the shorter is taken.
                heapq.heappush(queue, (cost + price + 1e-9, count, after, (*steps, step)))
    raise RuntimeError(f"[redistribute] no way leads from {source} to {target}")


class _Keep(autograd.PyLayer):
    """Identity on the first process of a group and zeros on the others; its gradient is the same."""

    @staticmethod
    def forward(ctx: autograd.PyLayerContext, x: lm.Tensor, first: bool) -> lm.Tensor:
        ctx.first = first
        return x.clone() if first else lm.zeros_like(x)

    @staticmethod
    def backward(ctx: autograd.PyLayerContext, dy: lm.Tensor) -> lm.Tensor:
        return _Keep.apply(dy, ctx.first)


class _Extreme(autograd.PyLayer):
    """Maximum or minimum of all processes' tensors, whole or the process's part along an axis.

    Its gradient goes to the processes whose element it is, to each alike where there are several.
    """

    @staticmethod
    def forward(ctx: autograd.PyLayerContext, x: lm.Tensor, op: str, axis: int | None, group: object) -> lm.Tensor:
        collectives = _carrier.current()
        y = collectives.all_reduce(x, op, group) if axis is None else collectives.reduce_scatter(x, op, axis, group)
        ctx.save_for_backward(x, y)
        ctx.rest = axis, group
        return y

    @staticmethod
    def backward(ctx: autograd.PyLayerContext, dy: lm.Tensor) -> lm.Tensor:
        x, y = ctx.saved_tensor()
        axis, group = ctx.rest
        collectives = _carrier.current()
        if axis is None:
            dy = collectives.all_reduce(dy, "sum", group)
        else:
            dy, y = (collectives.all_gather(one, axis, sizes_of(x.shape[axis], group.size), group) for one in (dy, y))
        chosen = lm.equal(x, y).astype(dy.dtype)
        return dy * chosen / collectives.all_reduce(chosen, "sum", group)


def _outer_size(shape: Sequence[int], mesh: placement, at: Sequence[int], signature: Signature, step: Step) -> int:
    """Returns the size, along the axis that the step's source cuts, of what the group along the step's axis holds."""
    axis = step.source.axis
    size = shape[axis]
    for k in range(step.axis):
        if signature[k].is_split and signature[k].axis == axis:
            start, stop = part(size, mesh.shape[k], at[k])
            size = stop - start
    return size


def _take(local: lm.Tensor, shape: Sequence[int], mesh: placement, signature: Signature, step: Step) -> lm.Tensor:
    """Makes one step."""
    at, n = mesh.coordinate(), mesh.shape[step.axis]
    i = at[step.axis]
    if step.collective == "none" or n == 1:
        return local
    if step.collective == "slice":
        start, stop = part(local.shape[step.target.axis], n, i)
        return lm.narrow(local, step.target.axis, start, stop - start)
    if step.collective == "keep":
        return _Keep.apply(local, i == 0)
    if step.collective == "pad":
        axis = step.source.axis
        size = _outer_size(shape, mesh, at, signature, step)
        start, stop = part(size, n, i)
        sides = [lm.zeros([*local.shape[:axis], k, *local.shape[axis + 1 :]], dtype=local.dtype, device=local.device)
                 for k in (start, size - stop)]  # fmt: skip
        return lm.concat([sides[0], local, sides[1]], axis=axis)
    collectives, group = _carrier.current(), mesh.group(step.axis)
    if step.source.is_partial and step.source.op != "sum":
        return _Extreme.apply(local, step.source.op, step.target.axis if step.target.is_split else None, group)
    if step.collective == "all_reduce":
        return collectives.all_reduce(local, step.source.op, group)
    sizes = sizes_of(_outer_size(shape, mesh, at, signature, step), n) if step.source.is_split else []
    if step.collective == "all_gather":
        return collectives.all_gather(local, step.source.axis, sizes, group)
    if step.collective == "reduce_scatter":
        return collectives.reduce_scatter(local, step.source.op, step.target.axis, group)
    return collectives.all_to_all(local, step.target.axis, step.source.axis, sizes, group)


def redistribute(
    local: lm.Tensor, shape: Sequence[int], mesh: placement, source: Signature, target: Signature
) -> lm.Tensor:
    """Returns this process's part of a tensor under other signatures; all processes of the mesh call it together.

    Args:
        local: the part under the signatures ``source``.
        shape: the whole tensor's shape.
        mesh: the processes.
        source: the signatures before, one for each axis of the mesh.
        target: those after.

    The gradient goes back by the adjoint steps.
    """
    if source == target:
        return local
    nbytes = math.prod(shape) * local.itemsize
    _, steps = route(nbytes, len(shape), mesh.shape, source, target, links_of(mesh))
    signature = source
    for step in steps:
        local = _take(local, shape, mesh, signature, step)
        signature = (*signature[: step.axis], step.target, *signature[step.axis + 1 :])
    return local


def cost(shape: Sequence[int], itemsize: int, mesh: placement, source: Signature, target: Signature) -> float:
    """Returns the seconds of the cheapest way between two signatures."""
    if source == target:
        return 0.0
    return route(math.prod(shape) * itemsize, len(shape), mesh.shape, source, target, links_of(mesh))[0]


_links: dict[placement, tuple[Link, ...]] = {}


def links_of(mesh: placement) -> tuple[Link, ...]:
    """Returns what joins the processes along each axis of a mesh, by which signatures are chosen."""
    found = _links.get(mesh)
    return (Link(),) * mesh.ndim if found is None else found


def set_links(mesh: placement, links: Sequence[Link]) -> None:
    """Says what joins the processes along each axis of a mesh; a choice of signatures weighs them.

    Every process of the mesh says the same.

    Raises:
        ValueError: there is not one for each axis.
    """
    if len(links) != mesh.ndim:
        raise ValueError(f"[set_links] there are {len(links)} links for a mesh of {mesh.ndim} axes")
    _links[mesh] = tuple(Link(*link) for link in links)


def local_shape(shape: Sequence[int], mesh: placement, signature: Signature, at: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape of the part that the process at a place in the mesh holds."""
    return tuple(stop - start for start, stop in local_range(shape, mesh, signature, at))


def local_range(
    shape: Sequence[int], mesh: placement, signature: Signature, at: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Returns where the part that the process at a place in the mesh holds begins and ends along each axis."""
    ranges = [(0, size) for size in shape]
    for one, n, i in zip(signature, mesh.shape, at, strict=True):
        if one.is_split:
            start, stop = ranges[one.axis]
            first, last = part(stop - start, n, i)
            ranges[one.axis] = (start + first, start + last)
    return tuple(ranges)
