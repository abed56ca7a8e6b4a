"""Compares the results of the frameworks before anything is timed, to see that they did the same work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

#: Tolerance of single values, relative to the largest of them or to the mean of all, and of sums, relative to the sum
#: of absolute values. Each framework sums in an order of its own and has its own tanh.
TOLERANCE = 1e-4

Results = Sequence[Mapping[str, Any]]


def difference(ours: Results, theirs: Results, tolerance: float = TOLERANCE) -> str | None:
    """Returns the first difference between the results of two frameworks, in words; None where they agree."""
    if len(ours) != len(theirs):
        return f"{len(ours)} results against {len(theirs)}"
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        for key in ("shape", "dtype", "not_finite"):
            if a[key] != b[key]:
                return f"result {number}: {key.replace('_', ' ')} {a[key]} against {b[key]}"
        scale = max(a["absolute_sum"], b["absolute_sum"])
        for key in ("sum", "absolute_sum"):
            if not abs(a[key] - b[key]) <= tolerance * scale:
                return f"result {number}: {key.replace('_', ' ')} {a[key]:.9g} against {b[key]:.9g}"
        # If the first values happen to be tiny, their rounding is as large as that of the others.
        mean = scale / max(1, math.prod(a["shape"]))
        largest = max((mean, *(abs(x) for x in (*a["first"], *b["first"]))))
        for place, (x, y) in enumerate(zip(a["first"], b["first"], strict=True)):
            if not abs(x - y) <= tolerance * largest:
                return f"result {number}: value {place} is {x:.9g} against {y:.9g}"
    return None
