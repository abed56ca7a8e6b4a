"""Functions of PyTorch's that Paddle has under the same names, where no table makes them."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.elements import strided

from ._functions import device_name, to_tensor, transpose
from ._functions import divide as div  # noqa: F401
from ._functions import subtract as sub  # noqa: F401


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """Returns a new tensor that holds a copy of ``data``."""
    return to_tensor(data, dtype, device, not requires_grad)


def as_tensor(
    data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """Returns ``data`` itself where it is a tensor of the dtype and the device, else a new tensor."""
    if not isinstance(data, Tensor):
        return to_tensor(data, dtype, device, not requires_grad)
    made = data if dtype is None or data.dtype == lm.DType(dtype) else data.astype(dtype)
    return made if device is None else made.to(device_name(device))


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """Returns ``obj`` as a tensor, on memory of its own where ``copy``."""
    made = as_tensor(obj, dtype, device, requires_grad)
    return made.clone() if copy and made is obj else made


def from_numpy(ndarray: Any) -> Tensor:
    """Returns a tensor of the elements of an array."""
    return to_tensor(ndarray)


def to_dlpack(x: Tensor) -> Any:
    """Returns a capsule, through which another library shares the tensor's memory."""
    return x.__dlpack__()


def range(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Values from ``start`` to ``end``, which is one of them where a step ends there: float32 by default."""
    if end is None:
        start, end = 0, start
    count = int((float(end) - float(start)) / float(step)) + 1
    made = (lm.arange(count, dtype="float64") * step + start).astype(dtype or "float32")
    made = made if device is None else made.to(device_name(device))
    made.stop_gradient = not requires_grad
    return made if out is None else out.copy_(made)


def permute(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """The tensor with its axes in another order; the axes may come in one list."""
    listed = named["dims"] if "dims" in named else dims[0] if isinstance(dims[0], (list, tuple)) else dims
    return transpose(input, listed)


def swapaxes(x: Tensor, perm: Any, axis1: int | None = None, name: str | None = None) -> Tensor:
    """The axes in the order ``perm``, or of two axes each in the place of the other."""
    return transpose(x, perm) if axis1 is None else lm.swapaxes(x, perm, axis1)


swapdims = swapaxes


def repeat(x: Tensor, *repeats: Any) -> Tensor:
    """The tensor several times along its axes; the numbers of times may come in one list."""
    listed = repeats[0] if len(repeats) == 1 and isinstance(repeats[0], (list, tuple)) else repeats
    return lm.tile(x, tuple(int(each) for each in listed))


def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in order along the first axis."""
    made = lm.sort(input, axis=0)
    return made if out is None else out.copy_(made)


def as_strided(x: Tensor, shape: Any, stride: Any, offset: int = 0, name: str | None = None) -> Tensor:
    """Elements of the tensor's memory at steps of ``stride`` elements: a copy, where Paddle gives a view.

    Raises:
        RuntimeError: the elements are others than those of ``x``, which has to be contiguous.
    """
    return strided(x, list(shape), list(stride), offset)


def slice_scatter(
    x: Tensor, value: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None
) -> Tensor:
    """A copy with ``value`` at the places that slices along ``axes`` name."""
    made = x.clone()
    places = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, strides, strict=True):
        places[axis] = slice(start, end, step)
    made[tuple(places)] = value
    return made


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The softmax along an axis: where none is named the first of tensors of 0, 1 or 3 axes, the second of others."""
    if dim is None:
        dim = 0 if input.ndim in (0, 1, 3) else 1
    made = lm.softmax(input if dtype is None else input.astype(dtype), axis=dim)
    return made if out is None else out.copy_(made)


def histogram_bin_edges(
    input: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0, name: str | None = None
) -> Tensor:
    """The ends of bins of one size from ``min`` to ``max``: those of the elements where both are 0."""
    low, high = (min, max) if min or max else (float(lm.min(input)), float(lm.max(input)))
    if low == high:
        low, high = low - 0.5, high + 0.5
    return lm.linspace(low, high, bins + 1)


def reduce_as(x: Tensor, target: Tensor, name: str | None = None) -> Tensor:
    """The sums that have the shape of ``target``, which could be broadcast to that of ``x``."""
    shift = x.ndim - target.ndim
    sizes = tuple(target.shape)
    axes = tuple(a for a, n in enumerate(tuple(x.shape)) if a < shift or (sizes[a - shift] == 1 and n != 1))
    return lm.reshape(lm.sum(x, axis=axes), sizes) if axes else x.clone()


def binomial(count: Tensor, prob: Tensor, name: str | None = None) -> Tensor:
    """Numbers of successes among ``count`` tries of probability ``prob``, as int64."""
    from lamella.distributions import Binomial

    return Binomial(count.astype(prob.dtype), prob).sample().astype(lm.int64)


def standard_gamma(x: Tensor, name: str | None = None) -> Tensor:
    """Numbers of gamma distributions of the shapes ``x`` and of scale 1."""
    from lamella.distributions import Gamma

    return Gamma(x, lm.ones_like(x)).sample()
