"""Messages from one process to another: several at once, and objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import Tensor

from ._collectives import Work, irecv, isend, pickled, recv, send, unpickled


class P2POp:
    """A message that :func:`batch_isend_irecv` starts.

    Args:
        op: :func:`isend` or :func:`irecv`.
        tensor: what is sent, or overwritten.
        peer: the rank of the other process.
        group: the processes; None is the default group.
        tag: tells messages apart.
        group_peer: the other's rank in the group.
    """

    def __init__(
        self,
        op: Callable[..., Work],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(f"[P2POp] op is isend or irecv, not {op!r}")
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group
        self.tag = tag
        self.group_peer = group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Starts messages."""
    return [one.op(one.tensor, one.peer, one.group, one.tag, one.group_peer) for one in p2p_op_list]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
) -> None:
    """Sends the objects of a list to a process, pickled."""
    data = pickled(list(object_list))
    send(lm.asarray([len(data)], dtype="int64", device="cpu"), dst, group, group_dst=group_dst)
    send(lm.asarray(list(data), dtype="uint8", device="cpu"), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> int:
    """Overwrites the objects of a list by those that a process has sent. Returns that process's rank."""
    size = lm.zeros([1], dtype="int64", device="cpu")
    recv(size, src, group, group_src=group_src)
    data = lm.zeros([int(size.tolist()[0])], dtype="uint8", device="cpu")
    sender = recv(data, src, group, group_src=group_src)
    object_list[:] = unpickled(bytes(data.tolist()))
    return sender
