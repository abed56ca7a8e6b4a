"""Errors of functions for tables of numbers: slopes, positions, runs, histograms, quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamella as lm

NAN = float("nan")


MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: lm.gradient(lm.ones([3]), edge_order=3), ValueError, r"\[gradient\] edge_order"),
    (lambda: lm.gradient(lm.ones([2]), edge_order=2), ValueError, r"\[gradient\] edge_order 2 needs"),
    (lambda: lm.gradient(lm.ones([3]), axis=1), IndexError, r"\[gradient\]"),
    (lambda: lm.gradient(lm.ones([3, 3]), axis=(0, 0)), ValueError, r"\[gradient\]"),
    (lambda: lm.gradient(lm.ones([3, 3]), spacing=[1.0, 2.0, 3.0]), ValueError, r"\[gradient\] spacing"),
    (lambda: lm.gradient(lm.ones([3]), spacing=lm.ones([2])), ValueError, r"\[gradient\] the places"),
    (lambda: lm.frexp(lm.asarray([1])), TypeError, r"\[frexp\]"),
    (lambda: lm.unravel_index(lm.asarray([6]), (2, 3)), IndexError, r"\[unravel_index\] indices"),
    (lambda: lm.unravel_index(lm.asarray([-1]), (2, 3)), IndexError, r"\[unravel_index\] indices"),
    (lambda: lm.unravel_index(lm.asarray([1.0]), (2, 3)), TypeError, r"\[unravel_index\]"),
    (lambda: lm.unravel_index(lm.asarray([0]), (2, -3)), ValueError, r"\[unravel_index\] shape"),
    (lambda: lm.unravel_index(lm.asarray([0]), (2**40, 2**40)), ValueError, r"\[unravel_index\]"),
    (lambda: lm.ravel_multi_index([lm.asarray([0])], (2, 3)), ValueError, r"\[ravel_multi_index\]"),
    (lambda: lm.ravel_multi_index([lm.asarray([2])], (2,)), IndexError, r"\[ravel_multi_index\]"),
    (lambda: lm.histc(lm.ones([2]), 0), ValueError, r"\[histc\] bins"),
    (lambda: lm.histc(lm.ones([2]), 3, 1.0, 0.0), ValueError, r"\[histc\] min"),
    (lambda: lm.histc(lm.asarray([NAN])), ValueError, r"\[histc\] the ends"),
    (lambda: lm.histogramdd(lm.ones([3])), ValueError, r"\[histogramdd\] x"),
    (lambda: lm.histogramdd(lm.ones([3, 2]), [1, 2, 3]), ValueError, r"\[histogramdd\] bins"),
    (lambda: lm.histogramdd(lm.ones([3, 2]), 2, range=[0.0, 1.0]), ValueError, r"\[histogramdd\] range"),
    (lambda: lm.histogramdd(lm.ones([3, 2]), 2, weights=lm.ones([2])), ValueError, r"\[histogramdd\] weights"),
    (lambda: lm.histogramdd(lm.ones([3, 4]), 2**16), ValueError, r"\[histogramdd\]"),
    (lambda: lm.nanquantile(lm.ones([3]), 1.5), ValueError, r"\[nanquantile\] q"),
    (lambda: lm.percentile(lm.ones([3]), 101), ValueError, r"\[percentile\] q"),
    (lambda: lm.nanpercentile(lm.ones([3]), 5, interpolation="cubic"), ValueError, r"\[nanpercentile\] interpolation"),
    (lambda: lm.take(lm.ones([2, 2]), lm.asarray([4])), IndexError, r"\[take\]"),
]


@pytest.mark.parametrize(("call", "error", "message"), MISTAKES)
def test_mistakes(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
