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
    """Returns a transform of several axes that takes a number for the length, or the place, of one of them."""

    @functools.wraps(function)
    def call(input: Any, s: Any = None, dim: Any = None, *args: Any, **named: Any) -> Any:
        given = {"s": s, "dim": dim, **dict(zip(("norm",), args, strict=False))}
        lists = {
            word: (value,) if isinstance(value, int) else value for word, value in given.items() if value is not None
        }
        return function(input, **lists, **named)

    return call


def __getattr__(name: str) -> Any:
    found = _served(name)
    if name.endswith(("fft2", "fftn")):
        found = globals()[name] = _of_several_axes(found)
    return found
