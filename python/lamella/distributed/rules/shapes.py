"""Rules of operators that regroup or repeat axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella as lm

from ._letters import broadcast_letters, letters
from .call import Call, Pieces
from .registry import rule
from .spec import UNKNOWN, Spec


def regrouped(before: Sequence[int], after: Sequence[int]) -> tuple[str, str, str]:
    """Returns the letters of a tensor's axes before and after a reshape, and those that need parts of one size.

    Axes are grouped where the products of their sizes agree. Of a group, the first axis of each side has the same
    letter, as a part of it is one block of the group's elements; inner axes have none.
    """
    names = iter(letters(len(before)))
    first, second = [UNKNOWN] * len(before), [UNKNOWN] * len(after)
    even = []
    i = k = 0
    while i < len(before) and k < len(after):
        start, other = i, k
        left, right = before[i], after[k]
        i, k = i + 1, k + 1
        while left != right:
            if left < right and i < len(before):
                left *= before[i]
                i += 1
            elif k < len(after):
                right *= after[k]
                k += 1
            else:
                return UNKNOWN * len(before), UNKNOWN * len(after), ""
        a = next((x for x in range(start, i) if before[x] > 1), None)
        b = next((x for x in range(other, k) if after[x] > 1), None)
        if a is not None and b is not None:
            first[a] = second[b] = name = next(names)
            if before[a] != after[b]:
                even.append(name)
    return "".join(first), "".join(second), "".join(even)


def _to_shape(call: Call, pieces: Pieces) -> Any:
    return lm.reshape(pieces.tensors[0], pieces.results[0])


@rule("reshape", "flatten", "ravel", "unflatten", "squeeze")
def reshape(call: Call) -> Spec:
    """Splits the first axis of each group of axes that are regrouped."""
    first, second, even = regrouped(call.shapes[0], call.results()[0].shape)
    return Spec((first,), (second,), even=even, linear=(frozenset([0]),), run=_to_shape)


@rule("broadcast_to")
def broadcast_to(call: Call) -> Spec:
    """Splits any axis; repeated ones are repeated less often."""
    shape = call.results()[0].shape
    labels = letters(len(shape))
    [own] = broadcast_letters(call.shapes, shape, labels)
    return Spec((own,), (labels,), linear=(frozenset([0]),), shapes={"shape": 0})


@rule("broadcast_arrays")
def broadcast_arrays(call: Call) -> Spec:
    """Splits axes that no tensor repeats."""
    shape = call.results()[0].shape
    labels = letters(len(shape))
    inputs = broadcast_letters(call.shapes, shape, labels)
    repeated = {
        label
        for own, given in zip(inputs, call.shapes, strict=True)
        for label in labels
        if label not in own[len(own) - len(given) :]
    }
    return Spec(tuple(inputs), (labels,) * len(call.results()), fixed="".join(repeated))


@rule("tile")
def tile(call: Call) -> Spec:
    """Splits axes that are not repeated."""
    shape, times = call.shapes[0], list(call.arguments["repetitions"])
    ndim = max(len(shape), len(times))
    times = [1] * (ndim - len(times)) + times
    labels = "".join(label if k == 1 else UNKNOWN for label, k in zip(letters(ndim), times, strict=True))
    own = labels[ndim - len(shape) :]
    result = UNKNOWN * (ndim - len(shape)) + own
    return Spec((own,), (result,), linear=(frozenset([0]),))
