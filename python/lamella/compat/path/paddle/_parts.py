"""Parts of tensors by positions, and functions of Paddle that no other library has under a like name."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella import Tensor

from ._reductions import axes_of


def _numbers(values: Any) -> list[int]:
    """Returns a list of ints from a tensor, or from a sequence of ints and tensors of one."""
    listed = values.tolist() if isinstance(values, Tensor) else values
    return [int(each) for each in (listed if isinstance(listed, (list, tuple)) else [listed])]


def slice(input: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor:
    """Elements from each of ``starts`` up to each of ``ends`` along ``axes``; bounds past the end are the end."""
    return strided_slice(input, axes, starts, ends, [1] * len(axes))


def strided_slice(x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None) -> Tensor:
    """Every so-manieth element from each of ``starts`` up to each of ``ends`` along ``axes``.

    Raises:
        ValueError: the lists differ in length.
    """
    given = [_numbers(each) for each in (axes, starts, ends, strides)]
    if len({len(each) for each in given}) > 1:
        raise ValueError(f"[strided_slice] axes, starts, ends and strides differ in length: {given}")
    places = [builtins.slice(None)] * x.ndim
    for axis, start, end, step in zip(*given, strict=True):
        size = x.shape[axis]
        first = start + size if start < 0 else start
        last: int | None = end + size if end < 0 else end
        if step < 0 and last is not None and last < 0:
            last = None
        places[axis] = builtins.slice(first, last, step)
    if all(step > 0 for step in given[3]):
        return x[tuple(places)]
    for axis, place in enumerate(places):  # backwards, which slices of tensors do not go
        if place.step is not None:
            numbers = list(range(x.shape[axis]))[place]
            x = lm.take(x, lm.tensor(numbers, dtype="int64"), axis=axis)
    return x


def crop(x: Tensor, shape: Any = None, offsets: Any = None, name: str | None = None) -> Tensor:
    """The part of ``x`` of a shape that begins at ``offsets``; -1 in the shape is all behind that."""
    starts = [0] * x.ndim if offsets is None else _numbers(offsets)
    sizes = list(x.shape) if shape is None else _numbers(shape)
    ends = [
        whole if size == -1 else start + size for start, size, whole in zip(starts, sizes, list(x.shape), strict=True)
    ]
    return x[tuple(builtins.slice(start, end) for start, end in zip(starts, ends, strict=True))].clone()


def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor, name: str | None = None) -> Tensor:
    """A copy with ``updates`` added at the places that the last axis of ``index`` names."""
    return lm.index_put(x, tuple(lm.unstack(index, axis=-1)), updates, accumulate=True)


def scatter_nd(index: Tensor, updates: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Zeros with ``updates`` added at the places that the last axis of ``index`` names."""
    return scatter_nd_add(lm.zeros(tuple(_numbers(shape)), dtype=updates.dtype), index, updates)


def multiplex(inputs: Sequence[Tensor], index: Tensor, name: str | None = None) -> Tensor:
    """Row ``i`` of the tensor that element ``i`` of ``index`` names."""
    chosen = lm.reshape(index, (-1,)).astype("int64")
    return lm.stack(list(inputs))[chosen, lm.arange(chosen.shape[0])]


def stanh(x: Tensor, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Tensor:
    """``scale_b * tanh(scale_a * x)``."""
    return scale_b * lm.tanh(scale_a * x)


def cross(x: Tensor, y: Tensor, axis: int = 9, name: str | None = None) -> Tensor:
    """The cross products of vectors of three elements; along the first axis of that size where none is given."""
    if axis == 9:
        axis = next((place for place, size in enumerate(x.shape) if size == 3), -1)
    return lm.linalg.cross(x, y, axis=axis)


def as_real(x: Tensor, name: str | None = None) -> Tensor:
    """Complex numbers as pairs along a last axis."""
    return lm.view_as_real(x)


def as_complex(x: Tensor, name: str | None = None) -> Tensor:
    """Pairs along the last axis as complex numbers."""
    return lm.view_as_complex(x)


def dot(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The scalar product of vectors, or of the rows of matrices."""
    products = x * y
    return lm.cast(lm.sum(products, axis=-1), products.dtype)


def outer(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The products of the elements of ``x`` with those of ``y``, in their order: a row for each of the first."""
    return lm.outer(lm.reshape(x, (-1,)), lm.reshape(y, (-1,)))


def norm(
    x: Tensor,
    p: Any = None,
    axis: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """The norm of all elements or along an axis, the Euclidean one by default; along two axes that of matrices.

    "fro" is the root of the sum of squares, "nuc" the sum of singular values.
    """
    x = x if dtype is None else x.astype(dtype)
    axes = axes_of(axis)
    if isinstance(axes, tuple) and len(axes) == 1:
        axes = axes[0]
    if p == "nuc" or (isinstance(axes, tuple) and len(axes) == 2 and p != "fro"):
        given: Any = (-2, -1) if axes is None else axes
        made = lm.linalg.matrix_norm(lm.moveaxis(x, given, (-2, -1)), ord=2 if p is None else p, keepdims=keepdim)
        made = lm.moveaxis(made, (-2, -1), given) if keepdim else made
    else:
        made = lm.linalg.vector_norm(x, axis=axes, keepdims=keepdim, ord=2 if p in (None, "fro") else p)
    return made if out is None else out.copy_(made)


def shard_index(input: Tensor, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Tensor:
    """Numbers within part ``shard_id`` of ``nshards`` equal ones, ``ignore_value`` for numbers in other parts."""
    if not 0 <= shard_id < nshards:
        raise ValueError(f"[shard_index] shard_id is at least 0 and below nshards {nshards}, not {shard_id}")
    size = (index_num + nshards - 1) // nshards
    return lm.where(input // size == shard_id, input % size, lm.full_like(input, ignore_value))


def get_rng_state(device: Any = None) -> list[Any]:
    """Returns the states of the CPU's generator, as a list of one."""
    return [lm.get_rng_state()]


def set_rng_state(state_list: Sequence[Any], device: Any = None) -> None:
    """Puts the CPU's generator into the state that :func:`get_rng_state` returned."""
    lm.set_rng_state(state_list[0])


def get_cuda_rng_state() -> list[Any]:
    """Returns no states: no generator of a GPU has one here."""
    return []


def set_cuda_rng_state(state_list: Sequence[Any]) -> None:
    """Takes what :func:`get_cuda_rng_state` returned."""


def create_array(dtype: Any, initialized_list: Sequence[Tensor] | None = None) -> list[Tensor]:
    """Returns a list of tensors, which grows as it is written to."""
    return list(initialized_list or ())


def array_write(x: Tensor, i: Any, array: list[Tensor] | None = None) -> list[Tensor]:
    """Puts a tensor at a place of a list, or behind its last one, and returns the list.

    Raises:
        IndexError: the place is beyond that.
    """
    place, made = int(i), [] if array is None else array
    if not 0 <= place <= len(made):
        raise IndexError(f"[array_write] place {place} is beyond the end of {len(made)} tensors")
    made[place : place + 1] = [x]
    return made


def array_read(array: Sequence[Tensor], i: Any) -> Tensor:
    """Returns the tensor at a place of a list."""
    return array[int(i)]


def array_length(array: Sequence[Tensor]) -> int:
    """Returns the number of tensors in a list."""
    return len(array)


_flags: dict[str, Any] = {}


def set_flags(flags: dict[str, Any]) -> None:
    """Keeps settings of Paddle's kernels, which change nothing here."""
    _flags.update(flags)


def get_flags(flags: Any) -> dict[str, Any]:
    """Returns settings that :func:`set_flags` has kept, None for others."""
    names = [flags] if isinstance(flags, str) else list(flags)
    return {name: _flags.get(name) for name in names}
