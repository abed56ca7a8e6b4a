"""Pooling over windows whose places are drawn (Graham 2014, "Fractional max-pooling")."""

from __future__ import annotations

from typing import Any, ClassVar

import lamella as lm
from lamella import Tensor

from ._base import Layer


def _windows(size: int, count: int, length: int | None, u: float) -> tuple[list[int], list[int]]:
    """Returns the places at which windows along an axis begin and end: of one length, or side by side."""
    if length is not None:
        step = (size - length) / (count - 1) if count > 1 else 0.0
        starts = [int(step * (i + u)) - int(step * u) for i in range(count - 1)] + [size - length]
        return starts, [start + length for start in starts]
    step, base = size / count, size // count
    u *= min((base + 2) / step - 1, (size + 1 - base) / step - (count - 1))
    edges = [int(step * (i + u)) - int(step * u) for i in range(count)] + [size]
    return edges[:-1], edges[1:]


def _pool(axes: int) -> Any:
    name = f"fractional_max_pool{axes}d"

    def pool(
        x: Tensor,
        output_size: Any,
        kernel_size: Any = None,
        random_u: float | None = None,
        return_mask: bool = False,
        name: Any = None,
    ) -> Any:
        sizes = tuple(x.shape)[-axes:]
        counts = _each(output_size, axes)
        counts = [size if count is None else int(count) for count, size in zip(counts, sizes, strict=True)]
        lengths = _each(kernel_size, axes)
        u = float(lm.rand(()).item()) if random_u is None else random_u
        if not 0 < u < 1:
            raise ValueError(f"[{pool.__name__}] random_u lies between 0 and 1, not {u}")
        found = [_windows(*each, u) for each in zip(sizes, counts, lengths, strict=True)]
        longest = [max(e - s for s, e in zip(*each, strict=True)) for each in found]
        # The elements of all windows: those that end early see their last element again.
        places = lm.zeros(tuple([*counts, *longest]), dtype="int64")
        for axis, (starts, ends) in enumerate(found):
            rows = lm.expand_dims(lm.tensor(starts), 1) + lm.arange(longest[axis])
            rows = lm.minimum(rows, lm.expand_dims(lm.tensor(ends) - 1, 1))
            shape = [1] * (2 * axes)
            shape[axis], shape[axes + axis] = counts[axis], longest[axis]
            places = places * sizes[axis] + lm.reshape(rows, tuple(shape))
        flat = lm.reshape(places, (*counts, -1))
        seen = lm.reshape(x, (*tuple(x.shape)[:-axes], -1))[..., flat]
        best = lm.argmax(seen, axis=-1, keepdims=True)
        made = lm.squeeze(lm.take_along_axis(seen, best, axis=-1), -1)
        if not return_mask:
            return made
        mask = lm.take_along_axis(lm.broadcast_to(flat, tuple(seen.shape)), best, axis=-1)
        return made, lm.squeeze(mask, -1).astype("int32")

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = "Returns the largest element of each window, ``output_size`` of them along each axis."
    return pool


def _each(value: Any, axes: int) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * axes


fractional_max_pool2d, fractional_max_pool3d = map(_pool, (2, 3))


class _FractionalMaxPool(Layer):
    _pool: ClassVar[Any]

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any = None,
        random_u: float | None = None,
        return_mask: bool = False,
        name: Any = None,
    ) -> None:
        super().__init__()
        self.options = (output_size, kernel_size, random_u, return_mask)

    def forward(self, x: Tensor) -> Any:
        """Returns the largest element of each window."""
        return type(self)._pool(x, *self.options)


class FractionalMaxPool2D(_FractionalMaxPool):
    """The largest element of windows of images."""

    _pool = staticmethod(fractional_max_pool2d)


class FractionalMaxPool3D(_FractionalMaxPool):
    """The largest element of windows of volumes."""

    _pool = staticmethod(fractional_max_pool3d)
