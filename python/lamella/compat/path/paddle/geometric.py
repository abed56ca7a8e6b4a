"""Sums and messages over graphs: rows of tensors that edges, or numbers of segments, bring together."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module

#: Words for what rows that meet become, as :func:`lamella.scatter_reduce` has them.
_REDUCTIONS = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin"}
#: What an edge's message is of two numbers.
_MESSAGES = {"add": lm.add, "sub": lm.subtract, "mul": lm.multiply, "div": lm.divide}


def _chosen(name: str, argument: str, table: dict[str, Any], word: str) -> Any:
    if word not in table:
        raise ValueError(f"[{name}] {argument} is one of {', '.join(table)}, not {word!r}")
    return table[word]


def _gathered(rows: Tensor, places: Tensor, count: int, reduction: str) -> Tensor:
    """Returns for each of ``count`` places the sum, or another reduction, of its rows; 0 where there are none."""
    blank = lm.zeros((count, *tuple(rows.shape)[1:]), dtype=rows.dtype)
    index = lm.reshape(places.astype("int64"), (-1,) + (1,) * (rows.ndim - 1))
    index = lm.broadcast_to(index, tuple(rows.shape))
    return lm.scatter_reduce(blank, 0, index, rows, reduction, include_self=False)


def _segment(name: str, reduction: str, words: str) -> Any:
    def function(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
        count = int(lm.max(segment_ids)) + 1 if segment_ids.size else 0
        return _gathered(data, segment_ids, count, reduction)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Returns the {words} of the rows of each segment, whose numbers are in order; 0 for none."
    return function


segment_sum = _segment("segment_sum", "sum", "sum")
segment_mean = _segment("segment_mean", "mean", "mean")
segment_min = _segment("segment_min", "amin", "least elements")
segment_max = _segment("segment_max", "amax", "largest elements")


def _places(out_size: Any, x: Tensor) -> int:
    size = None if out_size is None else int(out_size)
    return int(x.shape[0]) if size is None or size <= 0 else size


def send_u_recv(
    x: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    reduce_op: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns for each node what the rows of ``x`` of the nodes at the beginnings of its edges make together.

    Args:
        x: a row for each node.
        src_index: the node at which each edge begins.
        dst_index: the node at which it ends.
        reduce_op: "sum", "mean", "max" or "min"; a node without edges gets 0.
        out_size: number of rows of the result; as many as ``x`` has by default.
        name: not used.

    Raises:
        ValueError: ``reduce_op`` is another word.
    """
    reduction = _chosen("send_u_recv", "reduce_op", _REDUCTIONS, reduce_op)
    return _gathered(lm.index_select(x, 0, src_index), dst_index, _places(out_size, x), reduction)


def send_ue_recv(
    x: Tensor,
    y: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    message_op: str = "add",
    reduce_op: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns for each node what the messages of its edges make together, see :func:`send_u_recv`.

    Args:
        x: a row for each node.
        y: a row for each edge.
        src_index: the node at which each edge begins.
        dst_index: the node at which it ends.
        message_op: "add", "sub", "mul" or "div", of the row at an edge's beginning and that of the edge.
        reduce_op: "sum", "mean", "max" or "min".
        out_size: number of rows of the result.
        name: not used.

    Raises:
        ValueError: one of the words is another.
    """
    message = _chosen("send_ue_recv", "message_op", _MESSAGES, message_op)
    reduction = _chosen("send_ue_recv", "reduce_op", _REDUCTIONS, reduce_op)
    rows = lm.index_select(x, 0, src_index)
    axes = max(rows.ndim, y.ndim)
    rows, edges = (lm.reshape(each, tuple(each.shape) + (1,) * (axes - each.ndim)) for each in (rows, y))
    return _gathered(message(rows, edges), dst_index, _places(out_size, x), reduction)


def send_uv(
    x: Tensor, y: Tensor, src_index: Tensor, dst_index: Tensor, message_op: str = "add", name: str | None = None
) -> Tensor:
    """Returns each edge's message of the row of ``x`` at its beginning and that of ``y`` at its end.

    Raises:
        ValueError: ``message_op`` is none of "add", "sub", "mul" and "div".
    """
    message: Any = _chosen("send_uv", "message_op", _MESSAGES, message_op)
    made: Tensor = message(lm.index_select(x, 0, src_index), lm.index_select(y, 0, dst_index))
    return made


__getattr__ = close_module(__name__)
