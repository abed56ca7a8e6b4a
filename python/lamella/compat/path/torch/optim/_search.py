"""Line searches that programs call by PyTorch's private names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lamella.optim._line_search import Point, strong_wolfe


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> Any:
    """Returns where the cubic through two points with their slopes is lowest, within bounds.

    Source: Nocedal & Wright 2006, "Numerical optimization", equation 3.59; the middle where it has no minimum.
    """
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    if x1 > x2:
        x1, f1, g1, x2, f2, g2 = x2, f2, g2, x1, f1, g1
    mean = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = mean**2 - g1 * g2
    if square < 0:
        return (low + high) / 2
    root = math.sqrt(square)
    return min(max(x2 - (x2 - x1) * (g2 + root - mean) / (g2 - g1 + 2 * root), low), high)


def _strong_wolfe(
    obj_func: Callable[..., tuple[Any, Any]],
    x: Any,
    t: Any,
    d: Any,
    f: Any,
    g: Any,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Any, Any, Any, int]:
    """Returns value, gradient and place of a point that satisfies the strong Wolfe conditions, and how many were tried.

    ``obj_func(x, t, d)`` returns the value and the gradient at ``x + t * d``.
    """
    tried = 0
    values: dict[float, Any] = {}

    def evaluate(at: float) -> Point:
        nonlocal tried
        tried += 1
        value, gradient = obj_func(x, at, d)
        gradient = gradient.clone()
        values[at] = value
        return Point(at, float(value), float(gradient.dot(d)), gradient)

    start = Point(0.0, float(f), float(gtd), g)
    largest = float(abs(d).max())
    narrow = tolerance_change / largest if largest else math.inf
    found = strong_wolfe(evaluate, start, float(t), narrow, max_ls)
    return values.get(found.at, f), found.gradient, found.at, tried
