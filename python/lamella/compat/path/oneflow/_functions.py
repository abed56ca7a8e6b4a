"""Functions of tensors that are attributes of the package itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella.graph import UnknownValueError

from ._builder import operator
from ._interfaces import also_eager


@also_eager()
@operator
def reshape(x: Any, shape: Sequence[int], name: str | None = None) -> Any:
    """Returns the elements in another shape, of whose sizes one may be -1."""
    sizes = [int(size) for size in shape]
    if sizes.count(-1) > 1:
        raise UnknownValueError("shape", f"reshape to {sizes}: at most one size is left open")
    return lm.reshape(x, sizes)


@also_eager()
@operator
def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None) -> Any:
    """Returns the product of matrices, of which the last two axes may be exchanged first."""
    left = lm.matrix_transpose(a) if transpose_a else a
    return lm.matmul(left, lm.matrix_transpose(b) if transpose_b else b)


@also_eager()
@operator
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Returns the elements in another dtype."""
    return lm.astype(x, dtype)


@also_eager(lambda given: isinstance(given.get("perm"), int))
@operator
def transpose(a: Any, perm: Sequence[int] | None = None, conjugate: bool = False, name: str | None = None) -> Any:
    """Returns the axes in another order, by default the reverse one."""
    if conjugate:
        raise NotImplementedError("[transpose] conjugate: call lamella.conj()")
    axes = tuple(reversed(range(len(a.shape)))) if perm is None else tuple(perm)
    return lm.permute_dims(a, axes)


@also_eager()
@operator
def concat(inputs: Sequence[Any], axis: int = 0, max_dim_size: int | None = None, name: str | None = None) -> Any:
    """Joins tensors along an axis."""
    return lm.concat(list(inputs), axis=axis)


@also_eager()
@operator
def stack(inputs: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    """Joins tensors along a new axis."""
    return lm.stack(list(inputs), axis=axis)


@also_eager()
@operator
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1, name: str | None = None) -> Any:
    """Joins some neighboring axes to one."""
    return lm.flatten(input, start_dim, end_dim)


@operator
def expand_dims(input: Any, axis: int, name: str | None = None) -> Any:
    """Returns the tensor with a new axis of size 1."""
    return lm.expand_dims(input, axis)


@also_eager()
@operator
def squeeze(input: Any, axis: int | Sequence[int] | None = None, name: str | None = None) -> Any:
    """Returns the tensor without axes of size 1: those given, or all."""
    if axis is None:
        axis = tuple(k for k, size in enumerate(input.shape) if size == 1)
    return lm.squeeze(input, tuple(axis) if isinstance(axis, (list, tuple)) else axis)


@also_eager(lambda given: isinstance(given["indices"], int))
@operator
def gather(params: Any, indices: Any, validate_indices: Any = None, axis: int = 0, batch_dims: int = 0) -> Any:
    """Returns the parts of ``params`` along an axis that ``indices`` name."""
    if batch_dims:
        raise NotImplementedError("[gather] batch_dims is 0")
    if len(indices.shape) != 1:
        raise NotImplementedError(f"[gather] indices have one axis, not the shape {list(indices.shape)}")
    return lm.take(params, indices, axis=axis)


@operator
def identity(x: Any, name: str | None = None) -> Any:
    """Returns the same values."""
    return lm._C.clone(x)


@also_eager()
@operator
def zeros_like(like: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Returns zeros in the shape of a tensor."""
    return lm.zeros_like(like, dtype=dtype)


@also_eager()
@operator
def ones_like(like: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Returns ones in the shape of a tensor."""
    return lm.ones_like(like, dtype=dtype)


@also_eager()
@operator
def slice(x: Any, begin: Sequence[int | None], size: Sequence[int | None], name: str | None = None) -> Any:
    """Returns the part of each axis from ``begin`` on that has ``size`` elements; None, or a size of -1, for all."""
    import builtins

    key = []
    for first, count in zip(begin, size, strict=True):
        start = first or 0
        key.append(builtins.slice(start, None if count is None or count == -1 else start + count))
    return x[tuple(key)]


def constant(value: float, dtype: Any = None, shape: Sequence[int] = (1,), name: str | None = None) -> Any:
    """Returns a tensor that has one value everywhere."""
    return lm.full(list(shape), value, dtype=lm.float32 if dtype is None else dtype)


constant_scalar = constant
