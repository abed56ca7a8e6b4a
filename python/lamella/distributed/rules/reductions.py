"""Rules of operators that reduce axes: those with the parameters ``axis`` and ``keepdims``."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm

from ._letters import axes_of, letters
from .call import Call, Pieces
from .registry import composition
from .spec import UNKNOWN, Spec

#: What joins the partial results of a reduction over a split axis.
_PARTIAL = {"sum": "sum", "nansum": "sum", "count_nonzero": "sum", "mean": "sum", "max": "max", "min": "min"}
_LINEAR = frozenset({"sum", "mean"})


def _share_of_mean(call: Call, pieces: Pieces) -> Any:
    """Returns the mean of this process's elements, times their share of all those that are reduced."""
    x = call.tensors[0]
    axes = axes_of(call.arguments.get("axis"), x.ndim)
    share = math.prod((pieces.ranges[0][k][1] - pieces.ranges[0][k][0]) / (x.shape[k] or 1) for k in axes)
    mean = call.run(pieces.tensors)
    return mean if share == 1 else mean * share


def reduction(call: Call) -> Spec | None:
    """Splits axes that stay, and where the results of parts can be joined those that are reduced."""
    if not call.tensors or call.places(next(iter(call.arguments))) != [0]:
        return None
    x = call.tensors[0]
    labels = letters(x.ndim)
    reduced = axes_of(call.arguments.get("axis"), x.ndim)
    kept = (UNKNOWN if k in reduced else label for k, label in enumerate(labels))
    result = "".join(kept) if call.arguments.get("keepdims") else "".join(
        label for k, label in enumerate(labels) if k not in reduced
    )  # fmt: skip
    kind = _PARTIAL.get(call.name)
    if kind in ("max", "min") and x.dtype == lm.bool:
        kind = None
    # Quantiles are told by a second tensor, whose axes stand before those that stay.
    others = tuple(UNKNOWN * other.ndim for other in call.tensors[1:])
    return Spec(
        (labels, *others),
        ("".join(others) + result,) * len(call.results()),
        partial={labels[k]: kind for k in reduced} if kind else {},
        linear=(frozenset([0]),) if call.name in _LINEAR else (),
        run=_share_of_mean if call.name == "mean" else None,
    )


@composition("linalg_vector_norm")
def vector_norm(x: lm.Tensor, axis: Any, keepdims: bool, ord: float) -> Any:
    """Computes a norm by a sum, whose parts add up: ``sum(abs(x) ** ord) ** (1 / ord)``."""
    size = lm.abs(x)
    if ord == math.inf:
        return lm.max(size, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return lm.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return lm.astype(lm.count_nonzero(x, axis=axis, keepdims=keepdims), size.dtype)
    if ord == 2:
        return lm.sqrt(lm.sum(lm.square(size), axis=axis, keepdims=keepdims))
    return lm.pow(lm.sum(lm.pow(size, ord), axis=axis, keepdims=keepdims), 1 / ord)
