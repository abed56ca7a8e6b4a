"""Paddle's functions that mean something else than Lamella's of the name, beside those that programs record."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import Tensor

from ._functions import copies


def nonzero(x: Tensor, as_tuple: bool = False) -> Any:
    """The places of elements that are not 0: a matrix with a row for each, or a vector of them for each axis."""
    return tuple(lm.nonzero(x)) if as_tuple else lm.argwhere(x)


def gather(x: Tensor, index: Tensor, axis: Any = None, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The slices of ``x`` along an axis (the first) that ``index`` names; one alone without the axis."""
    place = 0 if axis is None else int(axis)
    made = lm.index_select(x, place, lm.ravel(index))
    made = made if index.ndim else lm.squeeze(made, place)
    return made if out is None else out.copy_(made)


def gather_nd(x: Tensor, index: Tensor, name: str | None = None) -> Tensor:
    """The slices of ``x`` at the places that stand in the last axis of ``index``."""
    return x[tuple(lm.unstack(index, axis=-1))]


def index_sample(x: Tensor, index: Tensor) -> Tensor:
    """In each row of a matrix, the elements that the row of ``index`` names."""
    return lm.take_along_axis(x, index, axis=1)


def scatter(x: Tensor, index: Tensor, updates: Tensor, overwrite: bool = True, name: str | None = None) -> Tensor:
    """A copy of ``x`` with rows of ``updates`` at the places of ``index``; added up unless ``overwrite``."""
    places = lm.ravel(index)
    if overwrite:
        return lm.index_copy(x, 0, places, updates)
    return lm.index_add(lm.index_fill(x, 0, places, 0.0), 0, places, updates)


def searchsorted(
    sorted_sequence: Tensor,
    values: Any,
    out_int32: bool = False,
    right: bool = False,
    name: str | None = None,
    *,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The places at which values would be inserted to keep a sequence in order, which ``sorter`` may put in order."""
    if sorter is not None:
        sorted_sequence = lm.take_along_axis(sorted_sequence, sorter, axis=-1)
    given = values if isinstance(values, Tensor) else lm.asarray(values, dtype=sorted_sequence.dtype)
    found = lm.searchsorted(sorted_sequence, given, side=side or ("right" if right else "left"))
    found = found.astype(lm.int32) if out_int32 else found
    return found if out is None else out.copy_(found)


def bucketize(
    x: Tensor,
    sorted_sequence: Tensor,
    out_int32: bool = False,
    right: bool = False,
    name: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """The places at which elements would be inserted into a sequence in order, see :func:`searchsorted`."""
    return searchsorted(sorted_sequence, x, out_int32, right, out=out)


def equal_all(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """True, as a tensor, if two tensors have the same shape and elements."""
    return lm.tensor(list(x.shape) == list(y.shape) and bool(lm.all(lm.equal(x, y))))


def expand_as(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """``x`` repeated to the shape of ``y``."""
    return lm.broadcast_to(x, tuple(y.shape)).clone()


def unbind(input: Tensor, axis: int = 0) -> list[Tensor]:
    """Returns the tensors along an axis."""
    return list(lm.unstack(input, axis=axis))


def meshgrid(*args: Any, name: str | None = None) -> list[Tensor]:
    """Returns grids of coordinates; the tensors may come in one list."""
    given = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return copies(lm.meshgrid(*given, indexing="ij"))


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Sums of products by Einstein's notation, on memory of their own."""
    made = lm.einsum(equation, *operands)
    return made.clone() if len(operands) == 1 else made  # that of one tensor may be a view of it


def diag(x: Tensor, offset: int = 0, padding_value: float = 0, name: str | None = None) -> Tensor:
    """The matrix with a vector on a diagonal, or the diagonal of a matrix."""
    made = lm.diag(x, k=offset)
    if x.ndim == 1 and padding_value:
        made = lm.where(lm.diag(lm.ones_like(x), k=offset) == 1, made, lm.full_like(made, padding_value))
    return made if x.ndim == 1 else lm.clone(made)


def unique(
    x: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    dtype: Any = "int64",
    name: str | None = None,
    *,
    sorted: bool = True,
) -> Any:
    """The distinct elements, or slices along an axis, in order, and what else is asked for.

    That is the first place of each, then for each element the number of the distinct one that it is, in one row, then
    how often each occurs.
    """
    # Paddle compares slices whose first axis has changed places with theirs.
    turned = x if axis is None else lm.swapaxes(x, 0, axis)
    values, inverse, counts = lm.unique(
        turned, return_inverse=True, return_counts=True, axis=None if axis is None else 0
    )
    values = values if axis is None else lm.swapaxes(values, 0, axis)
    flat = lm.reshape(inverse, (-1,))
    found = [values]
    if return_index:
        # Of several places the smallest: the first of a stable order.
        order = lm.argsort(flat, stable=True)
        found.append(order[lm.cumsum(counts, 0) - counts].astype(dtype))
    if return_inverse:
        found.append(flat.astype(dtype))
    if return_counts:
        found.append(counts.astype(dtype))
    return tuple(found) if len(found) > 1 else values


def increment(x: Tensor, value: float = 1.0, name: str | None = None) -> Tensor:
    """Adds a number to ``x``, in place."""
    return x.add_(value if lm.isdtype(x.dtype, ("real floating", "complex floating")) else int(value))


def scale(
    x: Tensor, scale: Any = 1.0, bias: Any = 0.0, bias_after_scale: bool = True, act: Any = None, name: Any = None
) -> Tensor:
    """``scale * x + bias``, or ``scale * (x + bias)``, in the dtype of ``x``; ``act`` names a function of it."""
    if not lm.isdtype(x.dtype, ("real floating", "complex floating")):  # numbers are taken in the dtype of x, too
        scale, bias = (each if isinstance(each, Tensor) else int(each) for each in (scale, bias))
    made = x * scale + bias if bias_after_scale else (x + bias) * scale
    made = lm.cast(made, x.dtype)
    return made if act is None else getattr(lm.nn.functional, act)(made)


def standard_normal(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Normal numbers with mean 0 and variance 1."""
    return lm.randn(tuple(int(size) for size in shape), dtype=dtype)


def shape(input: Tensor) -> Tensor:
    """The sizes of the axes, as a tensor."""
    return lm.tensor(list(input.shape), dtype=lm.int64)


def rank(input: Tensor) -> Tensor:
    """The number of axes, as a tensor."""
    return lm.tensor(input.ndim, dtype=lm.int32)


def is_floating_point(x: Tensor) -> bool:
    """True for real floating-point numbers."""
    return lm.isdtype(x.dtype, "real floating")


def set_device(device: str) -> str:
    """Takes "cpu", where tensors are made unless they are moved.

    Raises:
        NotImplementedError: for another device: move tensors and layers by ``to``.
    """
    if not device.startswith("cpu"):
        raise NotImplementedError(f"[set_device] tensors are made on the CPU: move them and layers by .to('{device}')")
    return device


def masked_fill(x: Tensor, mask: Tensor, value: Any, name: str | None = None) -> Tensor:
    """A copy of ``x`` with a number, taken in the dtype of ``x``, where the mask is True."""
    if isinstance(value, Tensor):
        value = lm.reshape(value, ()) if math.prod(value.shape) == 1 else value
    elif lm.isdtype(x.dtype, "bool"):
        value = bool(value)
    elif lm.isdtype(x.dtype, "integral"):
        value = int(value)
    return lm.masked_fill(x, mask, value)
