"""Messages from one process to another, as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from .._C import _Work as Work
from ._collectives import start
from ._groups import name_of


@overload
def send(
    x: Tensor, to: int, tag: int = 0, group: ProcessGroup | str | None = None, *, async_op: Literal[False] = False
) -> Tensor: ...
@overload
def send(
    x: Tensor, to: int, tag: int = 0, group: ProcessGroup | str | None = None, *, async_op: Literal[True]
) -> Work: ...
def send(
    x: Tensor, to: int, tag: int = 0, group: ProcessGroup | str | None = None, *, async_op: bool = False
) -> Tensor | Work:
    """Sends the tensor to a process, which calls :func:`recv`.

    Args:
        x: The tensor.
        to: The rank in the group.
        tag: A number, at least 0, that tells messages apart; those with one tag come in the order in which they were
            sent.
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once, whose ``wait()`` gives the result. It has no gradient.

    Returns a 0-d tensor, 0. Where `x` wants a gradient, a backward pass through this tensor receives it from the other
    process, whose :func:`recv` was given a tensor that wants one: add it to the loss.

    Raises:
        ValueError: There is no such rank, or it is this process's own.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if async_op:
        return start("send", x, group, root=to, tag=tag)
    return _C.distributed_send(x, to=to, tag=tag, group=name_of(group))


def recv(
    like: Tensor | Sequence[int],
    source: int,
    tag: int = 0,
    *,
    dtype: _C.DType | str = "float32",
    group: ProcessGroup | str | None = None,
    async_op: bool = False,
) -> Tensor | Work:
    """Returns the tensor that a process has sent.

    Args:
        like: A tensor of the shape and dtype of what comes, whose values do not count. Where it wants a gradient, a
            backward pass sends that of the result back, through the other process's :func:`send`. Or the shape alone.
        source: The rank in the group.
        tag: The number that the message was sent with.
        dtype: The dtype, where `like` is a shape.
        group: The processes, or their group's name; None is the default group.
        async_op: True to return a :class:`Work` at once, whose ``wait()`` gives the result. It has no gradient.

    Raises:
        ValueError: There is no such rank, or it is this process's own.
        DistributedError: The process has died or did not answer within the group's timeout.
    """
    if not isinstance(like, Tensor):
        like = _C.broadcast_to(_C.zeros([], dtype=dtype), like)
    if async_op:
        return start("recv", like, group, root=source, tag=tag)
    return _C.distributed_recv(like, source=source, tag=tag, group=name_of(group))
