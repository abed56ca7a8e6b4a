"""Collective operations on tensors, as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from lamella._arguments import expect_tensors

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from .._C import _Work as Work
from ._groups import name_of
from ._objects import broadcast_object

__all__ = [
    "all_gather",
    "all_reduce",
    "all_reduce_",
    "all_to_all",
    "barrier",
    "broadcast",
    "broadcast_",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


@overload
def all_reduce(
    x: Tensor, op: str = "sum", group: ProcessGroup | str | None = None, *, async_op: Literal[False] = False
) -> Tensor: ...
@overload
def all_reduce(
    x: Tensor, op: str = "sum", group: ProcessGroup | str | None = None, *, async_op: Literal[True]
) -> Work: ...
def all_reduce(
    x: Tensor, op: str = "sum", group: ProcessGroup | str | None = None, *, async_op: bool = False
) -> Tensor | Work:
    """Returns the tensors of all processes joined element by element, on all of them.

    Args:
        x: A tensor of the same shape and dtype on all processes.
        op: ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"product"``. Bools take ``"max"`` and ``"min"``; numbers of
            16 bits are joined in float32.
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once, whose ``wait()`` gives the result. It has no gradient.

    The gradient of a sum is the sum of the processes' gradients, that of a mean their mean; that of an extremum goes to
    the processes that have it, in equal shares.

    Raises:
        TypeError: The operation makes no sense for the dtype.
        ValueError: There is no such operation.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if async_op:
        return start("all_reduce", x, group, op=op)
    return _C.distributed_all_reduce(x, op=op, group=name_of(group))


@overload
def all_gather(
    x: Tensor,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: Literal[False] = False,
) -> Tensor: ...
@overload
def all_gather(
    x: Tensor,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: Literal[True],
) -> Work: ...
def all_gather(
    x: Tensor,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: bool = False,
) -> Tensor | Work:
    """Returns the tensors of all processes one after the other along an axis, on all of them.

    Args:
        x: A tensor; sizes along `axis` may differ between processes, all else is the same.
        axis: The axis, which exists already.
        sizes: The size along `axis` on each process, where it is known; otherwise the processes first tell each other.
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once, whose ``wait()`` gives the result. It has no gradient.

    The gradient is :func:`reduce_scatter` with the same sizes.

    Raises:
        ValueError: `sizes` does not fit the group or this process's tensor.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if async_op:
        return start("all_gather", x, group, axis=axis, sizes=sizes)
    return _C.distributed_all_gather(x, axis=axis, sizes=sizes, group=name_of(group))


@overload
def reduce_scatter(
    x: Tensor,
    op: str = "sum",
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: Literal[False] = False,
) -> Tensor: ...
@overload
def reduce_scatter(
    x: Tensor,
    op: str = "sum",
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: Literal[True],
) -> Work: ...
def reduce_scatter(
    x: Tensor,
    op: str = "sum",
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: bool = False,
) -> Tensor | Work:
    """Returns this process's part along an axis of the tensors of all processes, joined element by element.

    Args:
        x: A tensor of the same shape and dtype on all processes.
        op: As for :func:`all_reduce`.
        axis: The axis that is cut.
        sizes: The size of each process's part; by default as ``numpy.array_split`` cuts it.
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once, whose ``wait()`` gives the result. It has no gradient.

    The gradient of a sum is :func:`all_gather`. With ``async_op=True``, op is ``"sum"`` or ``"mean"``.

    Raises:
        TypeError: The operation makes no sense for the dtype.
        ValueError: There is no such operation, or `sizes` do not add up to the size of the axis.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if async_op:
        return start("reduce_scatter", x, group, op=op, axis=axis, sizes=sizes)
    return _C.distributed_reduce_scatter(x, op=op, axis=axis, sizes=sizes, group=name_of(group))


@overload
def broadcast(
    x: Tensor, root: int = 0, group: ProcessGroup | str | None = None, *, async_op: Literal[False] = False
) -> Tensor: ...
@overload
def broadcast(
    x: Tensor, root: int = 0, group: ProcessGroup | str | None = None, *, async_op: Literal[True]
) -> Work: ...
def broadcast(
    x: Tensor, root: int = 0, group: ProcessGroup | str | None = None, *, async_op: bool = False
) -> Tensor | Work:
    """Returns the tensor of process `root`, on all of them.

    Args:
        x: The tensor; on the others, one of its shape and dtype, whose values do not count.
        root: The rank in the group.
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once, whose ``wait()`` gives the result. It has no gradient.

    The gradient is :func:`reduce` to `root`; zeros on the others.

    Raises:
        ValueError: There is no such rank.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if async_op:
        return start("broadcast", x, group, root=root)
    return _C.distributed_broadcast(x, root=root, group=name_of(group))


@overload
def reduce(
    x: Tensor,
    op: str = "sum",
    root: int = 0,
    group: ProcessGroup | str | None = None,
    *,
    async_op: Literal[False] = False,
) -> Tensor: ...
@overload
def reduce(
    x: Tensor, op: str = "sum", root: int = 0, group: ProcessGroup | str | None = None, *, async_op: Literal[True]
) -> Work: ...
def reduce(
    x: Tensor, op: str = "sum", root: int = 0, group: ProcessGroup | str | None = None, *, async_op: bool = False
) -> Tensor | Work:
    """Returns the tensors of all processes joined element by element on process `root`, and zeros on the others.

    Args:
        x: A tensor of the same shape and dtype on all processes.
        op: As for :func:`all_reduce`.
        root: The rank in the group.
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once, whose ``wait()`` gives the result. It has no gradient.

    The gradient of a sum is :func:`broadcast` from `root`.

    Raises:
        TypeError: The operation makes no sense for the dtype.
        ValueError: There is no such operation or rank.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if async_op:
        return start("reduce", x, group, op=op, root=root)
    return _C.distributed_reduce(x, op=op, root=root, group=name_of(group))


@overload
def gather(
    x: Tensor,
    root: int = 0,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: Literal[False] = False,
) -> Tensor: ...
@overload
def gather(
    x: Tensor,
    root: int = 0,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: Literal[True],
) -> Work: ...
def gather(
    x: Tensor,
    root: int = 0,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: bool = False,
) -> Tensor | Work:
    """Returns what :func:`all_gather` gives on process `root`, and zeros on the others.

    Args:
        x: A tensor; sizes along `axis` may differ between processes, all else is the same.
        root: The rank in the group.
        axis: The axis, which exists already.
        sizes: As for :func:`all_gather`.
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once, whose ``wait()`` gives the result. It has no gradient.

    The gradient is :func:`scatter` from `root`.

    Raises:
        ValueError: There is no such rank, or `sizes` does not fit.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if async_op:
        return start("gather", x, group, root=root, axis=axis, sizes=sizes)
    return _C.distributed_gather(x, root=root, axis=axis, sizes=sizes, group=name_of(group))


@overload
def all_to_all(
    x: Tensor,
    split_axis: int = 0,
    concat_axis: int = 0,
    sizes: Sequence[int] | None = None,
    received: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: Literal[False] = False,
) -> Tensor: ...
@overload
def all_to_all(
    x: Tensor,
    split_axis: int = 0,
    concat_axis: int = 0,
    sizes: Sequence[int] | None = None,
    received: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: Literal[True],
) -> Work: ...
def all_to_all(
    x: Tensor,
    split_axis: int = 0,
    concat_axis: int = 0,
    sizes: Sequence[int] | None = None,
    received: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
    *,
    async_op: bool = False,
) -> Tensor | Work:
    """Sends a part of the tensor to each process, and joins the parts that come from all.

    Args:
        x: The tensor.
        split_axis: The axis along which it is cut; part i goes to process i.
        concat_axis: The axis along which the parts that come are joined; it may be the same.
        sizes: The size of each part that goes out; by default as ``numpy.array_split`` cuts it. Where the two axes
            differ, it is the same on all processes.
        received: The size along `concat_axis` of what each process sends, where it is known; otherwise the processes
            first tell each other.
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once, whose ``wait()`` gives the result. It has no gradient.

    The gradient is the operation with the axes, and the sizes, exchanged.

    Raises:
        ValueError: `sizes` do not add up to the size of the axis.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if async_op:
        return start("all_to_all", x, group, axis=split_axis, concat_axis=concat_axis, sizes=sizes, received=received)
    return _C.distributed_all_to_all(
        x, split_axis=split_axis, concat_axis=concat_axis, sizes=sizes, received=received, group=name_of(group)
    )


def scatter(
    x: Tensor | None = None,
    root: int = 0,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    group: ProcessGroup | str | None = None,
) -> Tensor:
    """Returns this process's part along an axis of the tensor of process `root`.

    Args:
        x: The tensor on process `root`; None on the others, or one of its shape and dtype, whose values do not count
            and whose gradient is 0.
        root: The rank in the group.
        axis: The axis that is cut.
        sizes: The size of each process's part; by default as ``numpy.array_split`` cuts it.
        group: The processes, or their group's name; None is the default group.

    The gradient is :func:`gather` to `root`: where it is wanted, `x` wants one on all processes.

    Raises:
        ValueError: There is no such rank, `x` is None on process `root`, or `sizes` do not add up.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if x is not None:
        expect_tensors("scatter", x=x)
    if x is not None and x.device == "meta":
        return _C.distributed_scatter(x, root=root, axis=axis, sizes=sizes, group=name_of(group))
    here = _C._distributed_group(name_of(group)).rank
    if x is None and here == root:
        raise ValueError(f"[scatter] x is a tensor on process {root}, the root, not None")
    told = broadcast_object(
        None if x is None else {"shape": list(x.shape), "dtype": x.dtype.name, "device": x.device}, root, group
    )
    if x is None:
        x = _C.broadcast_to(_C.zeros([], dtype=told["dtype"], device=_own_device(told["device"])), told["shape"])
    return _C.distributed_scatter(x, root=root, axis=axis, sizes=sizes, group=name_of(group))


@overload
def all_reduce_(
    x: Tensor, op: str = "sum", group: ProcessGroup | str | None = None, *, async_op: Literal[False] = False
) -> Tensor: ...
@overload
def all_reduce_(
    x: Tensor, op: str = "sum", group: ProcessGroup | str | None = None, *, async_op: Literal[True]
) -> Work: ...
def all_reduce_(
    x: Tensor, op: str = "sum", group: ProcessGroup | str | None = None, *, async_op: bool = False
) -> Tensor | Work:
    """Overwrites `x` by what :func:`all_reduce` gives, and returns it.

    With ``async_op=True``, `x` is neither read nor written until the work has been waited for.

    Args:
        x: A tensor of the same shape and dtype on all processes.
        op: As for :func:`all_reduce`.
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once.

    Raises:
        TypeError: The operation makes no sense for the dtype.
        ValueError: There is no such operation.
        RuntimeError: `x` is a leaf that wants a gradient.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if async_op:
        return start("all_reduce", x, group, op=op, in_place=True)
    return _C.distributed_all_reduce_(x, op=op, group=name_of(group))


def broadcast_(x: Tensor, root: int = 0, group: ProcessGroup | str | None = None) -> Tensor:
    """Overwrites `x` by the tensor of process `root`, and returns it.

    Args:
        x: A tensor of the same shape and dtype on all processes.
        root: The rank in the group.
        group: The processes, or their group's name; None is the default group.

    Raises:
        ValueError: There is no such rank.
        RuntimeError: `x` is a leaf that wants a gradient.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    return _C.distributed_broadcast_(x, root=root, group=name_of(group))


@overload
def barrier(group: ProcessGroup | str | None = None, *, async_op: Literal[False] = False) -> None: ...
@overload
def barrier(group: ProcessGroup | str | None = None, *, async_op: Literal[True]) -> Work: ...
def barrier(group: ProcessGroup | str | None = None, *, async_op: bool = False) -> Work | None:
    """Waits until all processes of a group have come here.

    Args:
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once.

    Raises:
        DistributedError: A process has died or did not come within the group's timeout.
    """
    work = _C._distributed_barrier(name_of(group))
    if async_op:
        return work
    work.wait()
    return None


def _own_device(other: str) -> str:
    """Returns this process's device of the type of another one's: the default one, or the current one of the type."""
    kind = other.partition(":")[0]
    default = str(_C.get_default_device())
    return default if default.partition(":")[0] == kind else kind


def start(pattern: str, x: Tensor, group: ProcessGroup | str | None, **arguments: Any) -> Work:
    """Starts an operation by its name, with the arguments of its operator.

    Raises:
        ValueError: `x` wants a gradient, which the result would not have.
    """
    if _C.is_grad_enabled() and not x.stop_gradient:
        raise ValueError(
            f"[{pattern}] async_op=True gives a result without a gradient, which x wants: call it under no_grad(), or "
            f"on x.detach()"
        )
    return _C._distributed_start(pattern, x, group=name_of(group), **arguments)
