"""Sizes of windows: one number stands for all axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Returns a function that makes tuples: of what can be iterated, or of one value ``n`` times."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(itertools.repeat(x, n))

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (
    _ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1)
)


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """Returns the elements backwards, each ``n`` times: the order of :func:`torch.nn.functional.pad`."""
    return tuple(x for x in reversed(tuple(t)) for _ in range(n))
