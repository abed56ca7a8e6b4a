"""Paddle's sparse tensors: their values have gradients, and their places do not change."""

from __future__ import annotations

from builtins import slice as _range
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module

from .._functions import to_tensor
from .._second_names import checked_axes
from ._tensor import SparseTensor, of_dense, unflat


def _values(values: Any, dtype: Any, place: Any, stop_gradient: bool) -> Tensor:
    entries: Tensor = to_tensor(values, dtype=dtype, place=place)
    if isinstance(values, Tensor) and not values.stop_gradient:
        return values if dtype is None else values.astype(dtype)
    entries.stop_gradient = stop_gradient
    return entries


def sparse_coo_tensor(
    indices: Any, values: Any, shape: Any = None, dtype: Any = None, place: Any = None, stop_gradient: bool = True
) -> SparseTensor:
    """Returns values at places, ``(axes, count)``; without a shape, as large as these ask for.

    Raises:
        ValueError: the places do not fit the values or the shape.
    """
    places = to_tensor(indices).detach()
    places = places if places.dtype in (lm.int32, lm.int64) else places.astype(lm.int64)
    entries = _values(values, dtype, place, stop_gradient)
    if places.ndim != 2 or entries.ndim < 1 or places.shape[1] != entries.shape[0]:
        raise ValueError(
            f"[sparse_coo_tensor] indices are (axes, count), and values (count, ...); got {list(places.shape)} and "
            f"{list(entries.shape)}"
        )
    highest = [int(lm.max(each)) + 1 for each in places] if places.shape[1] else [0] * places.shape[0]
    least = [*highest, *tuple(entries.shape)[1:]]
    sizes = least if shape is None else [int(each) for each in shape]
    if len(sizes) != len(least) or any(size < needed for size, needed in zip(sizes, least, strict=True)):
        raise ValueError(f"[sparse_coo_tensor] the shape is at least {least} here, not {sizes}")
    if places.size and int(lm.min(places)) < 0:
        raise ValueError(f"[sparse_coo_tensor] indices count from 0, got {int(lm.min(places))}")
    return SparseTensor(places, entries, sizes)


def sparse_csr_tensor(
    crows: Any, cols: Any, values: Any, shape: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True
) -> SparseTensor:
    """Returns matrices, ``[rows, columns]`` or ``[matrices, rows, columns]``, whose values are listed by rows.

    Raises:
        ValueError: the arguments do not fit each other.
    """
    ends, columns = (to_tensor(each).detach().astype(lm.int64) for each in (crows, cols))
    entries, sizes = _values(values, dtype, place, stop_gradient), [int(each) for each in shape]
    if len(sizes) not in (2, 3):
        raise ValueError(f"[sparse_csr_tensor] the shape has 2 or 3 axes, not {sizes}")
    rows, matrices = sizes[-2], sizes[0] if len(sizes) == 3 else 1
    if tuple(ends.shape) != (matrices * (rows + 1),) or tuple(columns.shape) != tuple(entries.shape):
        raise ValueError(
            f"[sparse_csr_tensor] of the shape {sizes} crows has {matrices * (rows + 1)} elements, and cols as many as "
            f"values; got {list(ends.shape)}, {list(columns.shape)} and {list(entries.shape)}"
        )
    bounds = lm.reshape(ends, (matrices, rows + 1))
    counts = lm.reshape(bounds[:, 1:] - bounds[:, :-1], (-1,))
    if int(lm.sum(counts)) != entries.shape[0]:
        raise ValueError(f"[sparse_csr_tensor] crows count {int(lm.sum(counts))} values, not {entries.shape[0]}")
    row = lm.repeat(lm.arange(matrices * rows), counts)
    places = [row // rows, row % rows, columns] if len(sizes) == 3 else [row, columns]
    return SparseTensor(lm.stack(places), entries, sizes, by_rows=True)


def _sparse(operator: str, x: Any) -> SparseTensor:
    if not isinstance(x, SparseTensor):
        raise TypeError(f"[sparse.{operator}] expected a sparse tensor, got {type(x).__name__}")
    return x


def _unary(name: str, native: Callable[[Tensor], Tensor]) -> Callable[..., SparseTensor]:
    def function(x: SparseTensor, name: str | None = None) -> SparseTensor:
        return _sparse(function.__name__, x).with_values(native(x.values()))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name}`` of the values: zeros stay zeros."
    return function


#: Functions of the values, which leave zeros as they are.
_UNARY = ("abs", "asin", "asinh", "atan", "atanh", "deg2rad", "expm1", "isnan", "log1p")
_UNARY_TOO = ("rad2deg", "sin", "sinh", "sqrt", "square", "tan", "tanh")
abs, asin, asinh, atan, atanh, deg2rad, expm1, isnan, log1p = (_unary(name, getattr(lm, name)) for name in _UNARY)
rad2deg, sin, sinh, sqrt, square, tan, tanh = (_unary(name, getattr(lm, name)) for name in _UNARY_TOO)
neg = _unary("neg", lm.negative)


def pow(x: SparseTensor, factor: Any, name: str | None = None) -> SparseTensor:
    """The values to a power."""
    return _sparse("pow", x).with_values(x.values() ** factor)


def cast(x: SparseTensor, index_dtype: Any = None, value_dtype: Any = None, name: str | None = None) -> SparseTensor:
    """The tensor with places and values of other dtypes."""
    places, values = _sparse("cast", x)._places, x.values()
    places = places if index_dtype is None else places.astype(index_dtype)
    values = values if value_dtype is None else values.astype(value_dtype)
    return SparseTensor(places, values, x.shape, by_rows=x.is_sparse_csr(), coalesced=x.is_coalesced())


def coalesce(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The tensor with its places in order, and the values at one place added."""
    return _sparse("coalesce", x).coalesce()


def is_same_shape(x: Any, y: Any) -> bool:
    """True if two tensors, sparse or dense, have the same sizes."""
    return list(x.shape) == list(y.shape)


def _together(operator: str, x: Any, y: Any) -> tuple[SparseTensor, Tensor, Tensor]:
    """Returns the places that either tensor has, with zeros, and the values of both there."""
    first, second = _sparse(operator, x), _sparse(operator, y)
    if list(first.shape) != list(second.shape) or first.is_sparse_csr() != second.is_sparse_csr():
        raise ValueError(
            f"[sparse.{operator}] expected two tensors of one shape and form, got {list(first.shape)} and "
            f"{list(second.shape)}"
        )
    first, second = first.coalesce(), second.coalesce()
    one, other = first.flat_places()[0], second.flat_places()[0]
    both = lm.unique(lm.concat([one, other]))
    values: list[Tensor] = []
    for each, flat in ((first, one), (second, other)):
        entries = each.values()
        zeros = lm.zeros((both.shape[0], *tuple(entries.shape)[1:]), dtype=entries.dtype)
        values.append(lm.index_add(zeros, 0, lm.searchsorted(both, flat), entries))
    places = unflat(both, first.shape[: first.sparse_dim()])
    whole = SparseTensor(places, values[0], first.shape, by_rows=first.is_sparse_csr(), coalesced=True)
    return whole, values[0], values[1]


def add(x: Any, y: Any, name: str | None = None) -> SparseTensor:
    """The sum of two sparse tensors of one shape."""
    whole, one, other = _together("add", x, y)
    return whole.with_values(one + other)


def subtract(x: Any, y: Any, name: str | None = None) -> SparseTensor:
    """The difference of two sparse tensors of one shape."""
    whole, one, other = _together("subtract", x, y)
    return whole.with_values(one - other)


def multiply(x: Any, y: Any, name: str | None = None) -> SparseTensor:
    """The product, element by element, with a sparse tensor or a number."""
    if isinstance(y, (int, float)):
        return _sparse("multiply", x).with_values(x.values() * y)
    whole, one, other = _together("multiply", x, y)
    return whole.with_values(one * other)


def divide(x: Any, y: Any, name: str | None = None) -> SparseTensor:
    """The quotient, element by element; of two sparse tensors it has all elements, as 0 / 0 is not 0."""
    if isinstance(y, (int, float)):
        return _sparse("divide", x).with_values(x.values() / y)
    whole, _, _ = _together("divide", x, y)
    everywhere = lm.arange(whole.flat_places()[1])
    sizes = whole.shape[: whole.sparse_dim()]
    one, other = (lm.reshape(each.to_dense(), (-1, *whole.shape[len(sizes) :])) for each in (x, y))
    return SparseTensor(
        unflat(everywhere, sizes), one / other, whole.shape, by_rows=whole.is_sparse_csr(), coalesced=True
    )


def matmul(x: Any, y: Any, name: str | None = None) -> Any:
    """The product of a sparse matrix and a dense one, which is dense, or of two sparse ones, which is sparse.

    Raises:
        ValueError: the sizes do not fit.
    """
    first = _sparse("matmul", x)
    if first.ndim < 2 or len(y.shape) < 2 or first.shape[-1] != y.shape[-2] or first.dense_dim():
        raise ValueError(f"[sparse.matmul] the shapes {list(x.shape)} and {list(y.shape)} do not fit")
    if isinstance(y, SparseTensor):
        made = of_dense(matmul(x, y.to_dense()), first.ndim)
        return made.in_form_of(first)
    if first.ndim > 2:
        return lm.matmul(first.to_dense(), y)
    rows, columns = first._places[0], first._places[1]
    terms = lm.expand_dims(first.values(), 1) * lm.take(y, columns, axis=0)
    return lm.index_add(lm.zeros((first.shape[0], y.shape[1]), dtype=terms.dtype), 0, rows, terms)


def mv(x: SparseTensor, vec: Tensor, name: str | None = None) -> Tensor:
    """The product of a sparse matrix and a vector."""
    made: Tensor = matmul(x, lm.expand_dims(vec, 1))
    return lm.squeeze(made, 1)


def addmm(
    input: Any, x: SparseTensor, y: Any, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Tensor:
    """``beta * input + alpha * (x @ y)``, where ``x`` is sparse."""
    made: Tensor = beta * input + alpha * matmul(x, y)
    return made


def mask_as(x: Tensor, mask: SparseTensor, name: str | None = None) -> SparseTensor:
    """The elements of a dense tensor at the places of a sparse one."""
    return _sparse("mask_as", mask).with_values(x[tuple(mask._places)])


def masked_matmul(x: Tensor, y: Tensor, mask: SparseTensor, name: str | None = None) -> SparseTensor:
    """The elements of the product of two dense matrices at the places of a sparse one."""
    if mask.ndim > 2:
        return mask_as(lm.matmul(x, y), mask)
    rows, columns = mask._places[0], mask._places[1]
    return mask.with_values(lm.sum(lm.take(x, rows, axis=0) * lm.take(y.mT, columns, axis=0), axis=1))


def transpose(x: SparseTensor, perm: Any, name: str | None = None) -> SparseTensor:
    """The tensor with its axes in another order."""
    order = checked_axes("sparse.transpose", perm, _sparse("transpose", x).ndim)
    if sorted(order) != list(range(x.ndim)) or x.dense_dim():
        raise ValueError(f"[sparse.transpose] perm names all {x.ndim} axes, which are sparse, not {list(perm)}")
    made = SparseTensor(x._places[order], x.values(), [x.shape[axis] for axis in order])
    return made.in_form_of(x)


def reshape(x: SparseTensor, shape: Any, name: str | None = None) -> SparseTensor:
    """The tensor in other sizes, of which one may be -1, and others 0 for the size there is."""
    if _sparse("reshape", x).dense_dim():
        raise ValueError(f"[sparse.reshape] all axes are sparse ones, not the last {x.dense_dim()}")
    sizes = [x.shape[axis] if size == 0 else int(size) for axis, size in enumerate(shape)]
    sizes = list(lm.reshape(lm.broadcast_to(lm.zeros(()), tuple(x.shape)), tuple(sizes)).shape)
    made = SparseTensor(unflat(x.flat_places()[0], sizes), x.values(), sizes, coalesced=x.is_coalesced())
    return made.in_form_of(x)


def sum(
    x: SparseTensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None
) -> SparseTensor:
    """The sums along axes, or of all elements; matrices by rows keep the axis."""
    made = lm.sum(_sparse("sum", x).to_dense(), axis=_axes(axis), keepdims=keepdim or x.is_sparse_csr())
    made = made if dtype is None else made.astype(dtype)
    return of_dense(lm.reshape(made, (1,)) if not made.ndim else made, max(made.ndim, 1)).in_form_of(x)


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def slice(x: SparseTensor, axes: Any, starts: Any, ends: Any, name: str | None = None) -> SparseTensor:
    """The part from the starts to before the ends along axes."""
    places, sizes = _sparse("slice", x)._places, list(x.shape)
    inside, firsts = lm.ones((x.nnz(),), dtype="bool"), [0] * x.sparse_dim()
    for axis, start, end in zip(axes, starts, ends, strict=True):
        axis = int(axis) % x.sparse_dim()
        first, last, _ = _range(int(start), int(end)).indices(sizes[axis])
        inside = lm.logical_and(inside, lm.logical_and(places[axis] >= first, places[axis] < last))
        firsts[axis], sizes[axis] = first, max(last - first, 0)
    moved = places - lm.reshape(lm.tensor(firsts, dtype=places.dtype), (-1, 1))
    made = SparseTensor(moved[:, inside], x.values()[inside], sizes, coalesced=x.is_coalesced())
    return made.in_form_of(x)


from . import nn  # noqa: E402, F401 (its layers need the functions above)

__getattr__ = close_module(__name__)
