"""Functions of sparse tensors: activations of their values, convolutions and pooling."""

from __future__ import annotations

import lamella as lm
from lamella.compat.front import close_module

from .._tensor import SparseTensor
from ._neighbors import (  # noqa: F401
    attention,
    conv2d,
    conv3d,
    max_pool3d,
    subm_conv2d,
    subm_conv2d_igemm,
    subm_conv3d,
    subm_conv3d_igemm,
)


def relu(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The values, and 0 for negative ones."""
    return x.with_values(lm.relu(x.values()))


def relu6(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The values between 0 and 6."""
    return x.with_values(lm.clip(x.values(), 0, 6))


def leaky_relu(x: SparseTensor, negative_slope: float = 0.01, name: str | None = None) -> SparseTensor:
    """The values, and negative ones times a slope."""
    return x.with_values(lm.leaky_relu(x.values(), negative_slope))


def softmax(x: SparseTensor, axis: int = -1, name: str | None = None) -> SparseTensor:
    """The exponentials of the values along an axis, divided by their sum; zeros count as if they were not there.

    Raises:
        ValueError: the axis is another one than the last of matrices by rows, or a dense one.
    """
    axis %= x.ndim
    if x.dense_dim() or (x.is_sparse_csr() and axis != x.ndim - 1):
        raise ValueError(f"[sparse.softmax] axis is a sparse one, and -1 for matrices by rows, not {axis}")
    whole = x.coalesce()
    others = [each for each in range(x.ndim) if each != axis]
    sizes = [x.shape[each] for each in others] or [1]
    line = SparseTensor(whole._places[others], whole.values(), sizes).flat_places()[0] if others else None
    group = lm.zeros((whole.nnz(),), dtype=lm.int64) if line is None else line
    found, inverse = lm.unique(group, return_inverse=True)
    count, values = found.shape[0], whole.values()
    largest = lm.full((count,), -float("inf"), dtype=values.dtype)
    highest = lm.scatter_reduce(largest, 0, inverse, values.detach(), "amax")
    powers = lm.exp(values - lm.take(highest, inverse, axis=0))
    totals = lm.index_add(lm.zeros((count,), dtype=powers.dtype), 0, inverse, powers)
    return whole.with_values(powers / lm.take(totals, inverse, axis=0))


__getattr__ = close_module(__name__)
