"""Padding of convolutions and poolings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamella.graph import UnknownValueError


def pair(op: str, name: str, value: Any) -> tuple[int, int]:
    """Returns a number for each spatial axis.

    Raises:
        TypeError: it is neither an int nor two.
    """
    if isinstance(value, int):
        return value, value
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(each, int) for each in value):
        return int(value[0]), int(value[1])
    raise TypeError(f"[{op}] {name} is an int or two, got {value!r}")


def pads(
    op: str,
    padding: Any,
    sizes: Sequence[int],
    window: tuple[int, int],
    strides: tuple[int, int],
    dilation: tuple[int, int],
) -> list[tuple[int, int]]:
    """Returns the padding before and behind each spatial axis.

    Args:
        op: the operator, for messages.
        padding: "SAME", "SAME_LOWER", "SAME_UPPER" or "VALID", or two numbers for each of the four axes.
        sizes: of the spatial axes.
        window: sizes of the window.
        strides: steps of the window.
        dilation: distances of the window's elements.

    Raises:
        ValueError: the padding is no such.
    """
    if isinstance(padding, str):
        kind = padding.upper()
        if kind == "VALID":
            return [(0, 0), (0, 0)]
        if kind in ("SAME", "SAME_LOWER", "SAME_UPPER"):
            found = []
            for size, width, stride, distance in zip(sizes, window, strides, dilation, strict=True):
                extent = (width - 1) * distance + 1
                if stride == 1:
                    total = extent - 1
                elif size == -1:
                    raise UnknownValueError(
                        "shape", f"[{op}] 'SAME' with a stride needs sizes, which each call decides on"
                    )
                else:
                    total = max((-(-size // stride) - 1) * stride + extent - size, 0)
                low, high = total // 2, total - total // 2
                found.append((low, high) if kind == "SAME_UPPER" else (high, low))
            return found
    if isinstance(padding, (list, tuple)) and len(padding) in (2, 4):
        rows = [tuple(row) if isinstance(row, (list, tuple)) else (row, row) for row in padding]
        if all(len(row) == 2 and all(isinstance(each, int) and each >= 0 for each in row) for row in rows):
            if len(rows) == 4 and any(each for row in rows[:2] for each in row):
                raise ValueError(f"[{op}] padding: the first two axes of 'NCHW' are not padded, got {padding!r}")
            return [(row[0], row[1]) for row in rows[-2:]]
    raise ValueError(
        f"[{op}] padding is 'SAME', 'SAME_LOWER', 'SAME_UPPER', 'VALID' or four pairs such as "
        f"((0, 0), (0, 0), (1, 1), (1, 1)), got {padding!r}"
    )
