"""Fourier transforms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lamella.compat.tables.torch_functions import FFT as _TABLE

from . import _words

_WORDS = replace(_words.INTO, before={**_words.INTO.before, "norm": "if norm is None: norm = 'backward'"})
_served = _words.serve(_words.Names(__name__, [("lamella.fft", _TABLE, _WORDS)]))


def _of_several_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a transform of several axes that takes a number for the length, or the place, of one of them.

    A length of -1 is that of the axis, or what a whole transform back to real numbers gives.
    """
    halves = function.__name__.startswith(("irfft", "hfft"))

    def whole(input: Any, lengths: Any, axes: Any) -> Any:
        if -1 not in lengths:
            return lengths
        axes = range(-len(lengths), 0) if axes is None else axes
        sizes = [input.shape[axis] if n == -1 else n for n, axis in zip(lengths, axes, strict=True)]
        return [*sizes[:-1], 2 * (sizes[-1] - 1)] if halves and lengths[-1] == -1 else sizes

    @functools.wraps(function)
    def call(input: Any, s: Any = None, dim: Any = None, *args: Any, **named: Any) -> Any:
        given = {"s": s, "dim": dim, **dict(zip(("norm",), args, strict=False))}
        lists = {
            word: (value,) if isinstance(value, int) else value for word, value in given.items() if value is not None
        }
        if "s" in lists:
            lists["s"] = whole(input, lists["s"], lists.get("dim"))
        return function(input, **lists, **named)

    return call


def __getattr__(name: str) -> Any:
    found = _served(name)
    if name.endswith(("fft2", "fftn")):
        found = globals()[name] = _of_several_axes(found)
    return found
