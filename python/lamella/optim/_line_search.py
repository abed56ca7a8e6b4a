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
    equation 3.59.

    Args:
        evaluate: returns the point at a place.
        start: the point at 0, where the slope is below 0.
        at: the place that is tried first.
        narrow: the length of an interval that is not searched further.
        most: how often ``evaluate`` may be called, at least once.
    """

    def is_high(point: Point, beside: Point) -> bool:
        limit = start.value + _DECREASE * point.at * start.slope
        return not point.value <= limit or point.value >= beside.value

    def is_flat(point: Point) -> bool:
        return abs(point.slope) <= -_CURVATURE * start.slope

    before = start
    low, high = start, start
    while most > 0:
        most -= 1
        point = evaluate(at)
        if is_high(point, before):
            low, high = before, point
            break
        if is_flat(point):
            return point
        if point.slope >= 0:
            low, high = point, before
            break
        step = point.at - before.at
        at = min(max(_lowest(before, point, point.at + 4 * step), point.at + step), point.at + 9 * step)
        before = low = high = point
    while most > 0 and abs(high.at - low.at) > narrow:
        most -= 1
        edge = 0.1 * abs(high.at - low.at)
        left, right = sorted((low.at, high.at))
        point = evaluate(min(max(_lowest(low, high, (left + right) / 2), left + edge), right - edge))
        if is_high(point, low):
            high = point
            continue
        if is_flat(point):
            return point
        if point.slope * (high.at - low.at) >= 0:
            high = low
        low = point
    return low


def _lowest(a: Point, b: Point, otherwise: float) -> float:
    """Returns where the cubic through two points with their slopes is lowest; ``otherwise`` if that is nowhere."""
    values = (a.value, a.slope, b.value, b.slope)
    if a.at == b.at or not all(map(math.isfinite, values)):
        return otherwise
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.at - b.at)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return otherwise
    d2 = math.copysign(math.sqrt(square), b.at - a.at)
    divisor = b.slope - a.slope + 2 * d2
    return otherwise if divisor == 0 else b.at - (b.at - a.at) * (b.slope + d2 - d1) / divisor
