"""Letters for axes."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence

from .spec import UNKNOWN

_LETTERS = string.ascii_lowercase + string.ascii_uppercase


def letters(count: int, beside: str = "") -> str:
    """Returns different letters, none of them among those ``beside``."""
    return "".join(letter for letter in _LETTERS if letter not in beside)[:count]


def broadcast_letters(shapes: Sequence[Sequence[int]], result: Sequence[int], labels: str) -> list[str]:
    """Returns the letters of tensors that are broadcast to a result: those of its axes, unknown where repeated."""
    found = []
    for shape in shapes:
        own = labels[len(labels) - len(shape) :]
        sizes = result[len(result) - len(shape) :]
        found.append(
            "".join(letter if size == whole else UNKNOWN for letter, size, whole in zip(own, shape, sizes, strict=True))
        )
    return found


def axes_of(axis: int | Iterable[int] | None, ndim: int) -> set[int]:
    """Returns the axes that an argument names, from 0; None names all."""
    if axis is None:
        return set(range(ndim))
    listed = [axis] if isinstance(axis, int) else list(axis)
    return {one % ndim for one in listed} if ndim else set()
