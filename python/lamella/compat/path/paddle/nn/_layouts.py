"""Layouts of images, and paddings in the forms that Paddle takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor

#: Layouts by which channels are the second axis, and those by which they are the last.
SECOND = frozenset({"NC", "NCL", "NCW", "NCHW", "NCDHW"})
LAST = frozenset({"NLC", "NWC", "NHWC", "NDHWC"})


def channels_last(name: str, data_format: str | None) -> bool:
    """True if channels are the last axis.

    Raises:
        ValueError: the layout is unknown.
    """
    if data_format in LAST:
        return True
    if data_format is None or data_format in SECOND:
        return False
    raise ValueError(f"[{name}] data_format is one of {', '.join(sorted(SECOND | LAST))}, not {data_format!r}")


def of_any_layout(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of channels as the second axis that takes and gives them last where ``data_format`` says so.

    What it returns besides floating-point tensors, places of maxima, goes the same way.
    """
    where = list(inspect.signature(function).parameters).index("data_format")

    @functools.wraps(function)
    def call(x: Tensor, *args: Any, **named: Any) -> Any:
        layout = named.get("data_format", args[where - 1] if len(args) >= where else None)
        if not channels_last(function.__name__, layout):
            return function(x, *args, **named)
        made = function(lm.moveaxis(x, -1, 1), *args, **named)
        if isinstance(made, tuple):
            return tuple(lm.moveaxis(each, 1, -1) for each in made)
        return lm.moveaxis(made, 1, -1)

    return call


def sizes(value: Any, axes: int) -> tuple[int, ...]:
    """Returns one number for each axis."""
    if isinstance(value, Tensor):
        value = value.tolist()
    listed = [value] * axes if not isinstance(value, (list, tuple)) else list(value)
    listed = listed * axes if len(listed) == 1 else listed
    return tuple(int(each) for each in listed)


def pairs(
    name: str, padding: Any, axes: int, data_format: str | None, window: Any, stride: Any, spatial: Any
) -> list[tuple[int, int]]:
    """Returns the padding before and behind each axis.

    Args:
        name: the function's name, for errors.
        padding: "SAME" or "VALID", a number, one for each axis, two for each, or pairs for all axes of the layout.
        axes: number of spatial axes.
        data_format: the layout.
        window: size of a window along each axis.
        stride: its step.
        spatial: the sizes of the axes.

    Raises:
        ValueError: the padding is none of these.
    """
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return [(0, 0)] * axes
        if padding.upper() != "SAME":
            raise ValueError(f"[{name}] padding is 'SAME', 'VALID' or numbers, not {padding!r}")
        whole = [max((-(-n // step) - 1) * step + k - n, 0) for n, k, step in zip(spatial, window, stride, strict=True)]
        return [(each // 2, each - each // 2) for each in whole]
    listed = padding.tolist() if isinstance(padding, Tensor) else padding
    if not isinstance(listed, (list, tuple)):
        return [(int(listed), int(listed))] * axes
    if len(listed) == axes + 2 and all(isinstance(each, (list, tuple)) for each in listed):
        inner = listed[1:-1] if data_format in LAST else listed[2:]
        return [(int(first), int(last)) for first, last in inner]
    if len(listed) == 2 * axes:
        return [(int(listed[2 * i]), int(listed[2 * i + 1])) for i in range(axes)]
    if len(listed) in (1, axes):
        return [(each, each) for each in sizes(listed, axes)]
    raise ValueError(f"[{name}] padding is a number, one or two for each of {axes} axes, or pairs, not {padding}")


def split(x: Tensor, given: list[tuple[int, int]], value: float = 0.0) -> tuple[Tensor, tuple[int, ...]]:
    """Returns the tensor and the paddings that are the same at both ends, or a padded tensor and none."""
    if all(first == last for first, last in given):
        return x, tuple(first for first, _ in given)
    return lm.pad(x, [each for pair in reversed(given) for each in pair], "constant", value), (0,) * len(given)
