"""Rules of operators that choose elements by their numbers: embeddings, and subscripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella._C import Tensor

from ._letters import broadcast_letters, letters
from .axes import along_axis
from .call import Call, Pieces
from .registry import rule
from .spec import UNKNOWN, Spec


def _of_part(
    source: Tensor, index: Tensor, start: int, stop: int, choose: Callable[[Tensor], Tensor], trailing: int
) -> Tensor:
    """Returns what ``choose`` finds in a part for the numbers that lie in it, and zeros for the others."""
    inside = lm.logical_and(lm.greater_equal(index, start), lm.less(index, stop))
    found = choose(lm.where(inside, index - start, lm.zeros_like(index)))
    mask = lm.reshape(inside, [*inside.shape, *[1] * trailing])
    return lm.where(mask, found, lm.zeros_like(found))


def _vocabulary(call: Call, pieces: Pieces) -> Any:
    """Looks numbers up in this process's rows; those of other processes give zeros."""
    if not pieces.is_cut(1, 0):
        return call.run(pieces.tensors)
    index, weight = pieces.tensors
    start, stop = pieces.ranges[1][0]
    padding = call.arguments.get("padding_idx")
    if padding is not None:
        padding = padding % pieces.shapes[1][0] - start
        padding = padding if 0 <= padding < stop - start else None
    return _of_part(
        weight, index, start, stop, lambda own: call.run([own, weight], padding_idx=padding), 1
    )  # fmt: skip


@rule("embedding")
def embedding(call: Call) -> Spec:
    """Splits the numbers, the features, and the vocabulary into partial sums.

    A split vocabulary is that of Megatron-LM (M. Shoeybi et al., arXiv:1909.08053, section 3): each process looks up
    the numbers of its own rows.
    """
    labels = letters(call.tensors[0].ndim, beside="ve")
    return Spec((labels, "ve"), (labels + "e",), partial={"v": "sum"}, linear=(frozenset([1]),), run=_vocabulary)


def _chosen_of_part(call: Call, pieces: Pieces) -> Any:
    axis = call.arguments.get("axis", -1) % pieces.tensors[0].ndim
    if not pieces.is_cut(0, axis):
        return call.run(pieces.tensors)
    x, index = pieces.tensors
    start, stop = pieces.ranges[0][axis]
    size = pieces.shapes[0][axis]
    index = lm.where(lm.less(index, 0), index + size, index)
    return _of_part(x, index, start, stop, lambda own: call.run([x, own]), 0)


@rule("take_along_axis", "gather")
def take_along_axis(call: Call) -> Spec | None:
    """Splits the other axes, and the one that is chosen along into partial sums."""
    spec = along_axis(call)
    x, index = call.tensors
    if spec is None or x.ndim != index.ndim:
        return spec
    axis = call.arguments.get("axis", -1) % x.ndim
    letter = letters(1, beside="".join(spec.inputs))
    first = spec.inputs[0][:axis] + letter + spec.inputs[0][axis + 1 :]
    return Spec(
        (first, spec.inputs[1]),
        spec.outputs,
        partial={letter: "sum"},
        linear=(frozenset([0]),) if lm.isdtype(x.dtype, ("real floating", "complex floating")) else (),
        run=_chosen_of_part,
    )


@rule("one_hot")
def one_hot(call: Call) -> Spec | None:
    """Splits the numbers."""
    if call.arguments.get("num_classes", -1) < 0:
        return None
    labels = letters(call.tensors[0].ndim)
    return Spec((labels,), (labels + UNKNOWN,))


@rule("getitem")
def getitem(call: Call) -> Spec:
    """Splits the axes that are taken whole."""
    key, ndim = call.arguments["key"], call.tensors[0].ndim
    items = list(key) if isinstance(key, tuple) else [key]
    consumed = sum(
        (item.ndim if isinstance(item, Tensor) and item.dtype == lm.bool else 1)
        for item in items
        if item is not None and item is not Ellipsis
    )
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    labels, names, axis = [UNKNOWN] * ndim, letters(ndim), 0
    for item in items:
        if item is None:
            continue
        if item is Ellipsis:
            for k in range(axis, axis + ndim - consumed):
                labels[k] = names[k]
            axis += ndim - consumed
            continue
        if isinstance(item, slice) and item == slice(None):
            labels[axis] = names[axis]
        axis += item.ndim if isinstance(item, Tensor) and item.dtype == lm.bool else 1
    result = [UNKNOWN] * call.results()[0].ndim
    for k, label in enumerate(labels):
        found = None if label == UNKNOWN or call.tensors[0].shape[k] < 2 else call.follows(0, k)
        if not found or found[0] is None:
            labels[k] = UNKNOWN
        else:
            result[found[0]] = label
    others = tuple(UNKNOWN * x.ndim for x in call.tensors[1:])
    return Spec(("".join(labels), *others), ("".join(result),), linear=(frozenset([0]),))


@rule("setitem")
def setitem(call: Call) -> Spec | None:
    """Splits the axes that are taken whole, of what is written, too."""
    value = call.arguments["value"]
    x = call.tensors[0]
    reading = Call("getitem", {"x": x, "key": call.arguments["key"]}, lambda own: own["x"][own["key"]])
    spec = getitem(reading)
    labels = spec.inputs[0]
    if not isinstance(value, Tensor):
        return Spec((labels, *spec.inputs[1:]), (labels,))
    [own] = broadcast_letters([value.shape], reading.results()[0].shape, spec.outputs[0])
    return Spec((labels, *spec.inputs[1:], own), (labels,))
