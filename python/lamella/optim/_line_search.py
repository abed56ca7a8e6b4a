"""Search along a line for a point that satisfies the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

#: Factors of the slope: how much the value must fall, and how flat the line must be at the point found.
_DECREASE, _CURVATURE = 1e-4, 0.9


class Point(NamedTuple):
    """A point of the line: where it is, the value, the slope along the line, and the gradient."""

    at: float
    value: float
    slope: float
    gradient: Any


def strong_wolfe(evaluate: Callable[[float], Point], start: Point, at: float, narrow: float, most: int) -> Point:
    """Returns a point at which the value has fallen enough and the line is flat enough, or the lowest that was met.

    Source: Nocedal & Wright 2006, "Numerical optimization", algorithms 3.5 and 3.6, with the cubic interpolation of
    equation 3.59; the places that are tried are those of Schmidt 2005, "minFunc", as in PyTorch.

    Args:
        evaluate: returns the point at a place.
        start: the point at 0, where the slope is below 0.
        at: the place that is tried first.
        narrow: the length of an interval that is not searched further.
        most: how often ``evaluate`` may be called after the first time.
    """

    def falls(point: Point) -> bool:
        return point.value <= start.value + _DECREASE * point.at * start.slope

    def is_flat(point: Point) -> bool:
        return abs(point.slope) <= -_CURVATURE * start.slope

    before, point = start, evaluate(at)
    for tried in range(most):
        # The second place is only compared with the start.
        rises = not falls(point) or (tried > 1 and point.value >= before.value)
        if not rises and is_flat(point):
            return point
        if rises or point.slope >= 0:
            return _zoom(evaluate, (before, point), falls, is_flat, narrow, most - tried)
        step = point.at - before.at
        at = _lowest(before, point, point.at + 0.01 * step, point.at * 10)
        before, point = point, evaluate(at)
    return min(start, point, key=_value)


def _zoom(
    evaluate: Callable[[float], Point],
    ends: tuple[Point, Point],
    falls: Callable[[Point], bool],
    is_flat: Callable[[Point], bool],
    narrow: float,
    most: int,
) -> Point:
    """Returns a point that falls and is flat from an interval that has one, or its lowest end."""
    low, high = sorted(ends, key=_value)
    stuck = False
    for _ in range(most):
        left, right = sorted((low.at, high.at))
        if right - left < narrow:
            break
        at = _lowest(low, high, left, right)
        edge = 0.1 * (right - left)
        near = min(right - at, at - left) < edge
        if near and (stuck or not left < at < right):
            at = right - edge if abs(at - right) < abs(at - left) else left + edge
            near = False
        stuck = near
        point = evaluate(at)
        if not falls(point) or not point.value < low.value:
            low, high = sorted((low, point), key=_value)
            continue
        if is_flat(point):
            return point
        if point.slope * (high.at - low.at) >= 0:
            high = low
        low = point
    return low


def _value(point: Point) -> float:
    """The value, as numbers are sorted: what is none comes last."""
    return math.inf if math.isnan(point.value) else point.value


def _lowest(a: Point, b: Point, left: float, right: float) -> float:
    """Returns where the cubic through two points with their slopes is lowest, from ``left`` to ``right``.

    That is their middle if the cubic is lowest nowhere.
    """
    values = (a.value, a.slope, b.value, b.slope)
    if a.at > b.at:
        a, b = b, a
    if a.at < b.at and all(map(math.isfinite, values)):
        d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.at - b.at)
        square = d1 * d1 - a.slope * b.slope
        if square >= 0:
            d2 = math.sqrt(square)
            divisor = b.slope - a.slope + 2 * d2
            if divisor != 0:
                return min(max(b.at - (b.at - a.at) * (b.slope + d2 - d1) / divisor, left), right)
    return (left + right) / 2
