"""Products of matrices, and what is made of them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import lamella as lm

from .._builder import (
    Value,
    axis_of,
    cast,
    constant,
    op,
    range_value,
    reduce,
    reshape,
    size,
    sizes,
    swap,
    transpose,
    unsqueeze,
)
from .._registry import builtin


def _cast_all(meta: Any, *values: Value) -> list[Value]:
    return [cast(x, meta.dtype) for x in values]


@builtin("matmul", "mm", "mv", "bmm", "dot")
def matmul(x1: Value, x2: Value, meta_outputs: Any = None) -> Value:
    """The product of matrices."""
    return op("MatMul", *_cast_all(meta_outputs, x1, x2))


@builtin("linear")
def linear(x: Value, weight: Value, bias: Value | None = None, meta_outputs: Any = None) -> Value:
    """``x weight^T + bias``."""
    x, weight = _cast_all(meta_outputs, x, weight)
    if weight.ndim == 2 and x.ndim == 2 and bias is not None:
        return op("Gemm", x, weight, cast(bias, meta_outputs.dtype), transB=1)
    y = op("MatMul", x, swap(weight, -1, -2) if weight.ndim > 1 else weight)
    return y if bias is None else y + cast(bias, meta_outputs.dtype)


@builtin("inner")
def inner(x1: Value, x2: Value, meta_outputs: Any = None) -> Value:
    """Products summed over the last axes."""
    a, b = _cast_all(meta_outputs, x1, x2)
    if not a.ndim or not b.ndim:
        return a * b
    rows = op("MatMul", reshape(a, [-1, size(a, -1)]), swap(reshape(b, [-1, size(b, -1)]), 0, 1))
    return reshape(rows, [*sizes(a)[:-1], *sizes(b)[:-1]])


def _added(meta: Any, input: Value, product: Value, beta: Any, alpha: Any) -> Value:
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    base = cast(input, meta.dtype)
    return (base if beta == 1 else base * beta) + product


@builtin("addmm", "addmv", "baddbmm")
def addmm(input: Value, a: Value, b: Value, *, beta: Any = 1, alpha: Any = 1, meta_outputs: Any = None) -> Value:
    """``beta input + alpha a b``."""
    return _added(meta_outputs, input, op("MatMul", *_cast_all(meta_outputs, a, b)), beta, alpha)


@builtin("addbmm")
def addbmm(input: Value, a: Value, b: Value, *, beta: Any = 1, alpha: Any = 1, meta_outputs: Any = None) -> Value:
    """``beta input`` and ``alpha`` times the sum of products."""
    product = reduce("ReduceSum", op("MatMul", *_cast_all(meta_outputs, a, b)), [0])
    return _added(meta_outputs, input, product, beta, alpha)


def outer_of(a: Value, b: Value) -> Value:
    """Returns all products of the elements of two vectors."""
    return unsqueeze(a, 1) * unsqueeze(b, 0)


@builtin("outer")
def outer(x1: Value, x2: Value, meta_outputs: Any = None) -> Value:
    """All products of elements."""
    return outer_of(*_cast_all(meta_outputs, x1, x2))


@builtin("addr")
def addr(input: Value, a: Value, b: Value, *, beta: Any = 1, alpha: Any = 1, meta_outputs: Any = None) -> Value:
    """``beta input`` and ``alpha`` times all products."""
    return _added(meta_outputs, input, outer_of(*_cast_all(meta_outputs, a, b)), beta, alpha)


@builtin("vecdot")
def vecdot(x1: Value, x2: Value, *, axis: int = -1, meta_outputs: Any = None) -> Value:
    """Products summed over an axis."""
    product = op("Mul", *_cast_all(meta_outputs, x1, x2))
    return reduce("ReduceSum", product, [axis_of(axis, product.ndim)])


@builtin("einsum")
def einsum(subscripts: str, operands: list[Value], meta_outputs: Any = None) -> Value:
    """Sums of products, by subscripts."""
    return op("Einsum", *_cast_all(meta_outputs, *operands), equation=subscripts)


@builtin("tensordot")
def tensordot(x1: Value, x2: Value, axes1: Any, axes2: Any, meta_outputs: Any = None) -> Value:
    """Products summed over pairs of axes."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    first = list(letters[: x1.ndim])
    second = list(letters[x1.ndim : x1.ndim + x2.ndim])
    summed = set()
    for a, b in zip(axes1, axes2, strict=True):
        second[axis_of(b, x2.ndim)] = first[axis_of(a, x1.ndim)]
        summed.add(first[axis_of(a, x1.ndim)])
    left = "".join(c for c in first + second if c not in summed)
    equation = f"{''.join(first)},{''.join(second)}->{left}"
    return op("Einsum", *_cast_all(meta_outputs, x1, x2), equation=equation)


@builtin("kron")
def kron(x1: Value, x2: Value, meta_outputs: Any = None) -> Value:
    """The second value, times each element of the first."""
    a, b = _cast_all(meta_outputs, x1, x2)
    a = unsqueeze(a, *range(b.ndim - a.ndim))
    b = unsqueeze(b, *range(a.ndim - b.ndim))
    product = unsqueeze(a, *range(1, 2 * a.ndim, 2)) * unsqueeze(b, *range(0, 2 * b.ndim, 2))
    shape: list[Any] = []
    for m, n in zip(sizes(a), sizes(b), strict=True):
        shape.append(m * n if isinstance(m, int) and isinstance(n, int) else op("Mul", m, n))
    return reshape(product, shape)


@builtin("cross")
def cross(x1: Value, x2: Value, *, axis: int = -1, meta_outputs: Any = None) -> Value:
    """The vector product."""
    a, b = _cast_all(meta_outputs, x1, x2)

    def turned(x: Value, order: list[int]) -> Value:
        return op("Gather", x, constant(np.array(order)), axis=axis)

    return turned(a, [1, 2, 0]) * turned(b, [2, 0, 1]) - turned(a, [2, 0, 1]) * turned(b, [1, 2, 0])


@builtin("linalg_matrix_power")
def matrix_power(x: Value, n: int) -> Value:
    """The product of a matrix with itself."""
    if n < 0:
        raise NotImplementedError("[matrix_power] ONNX has no inverse")
    if n == 0:
        rows = x.shape[-1]
        if rows < 0:
            raise NotImplementedError("[matrix_power] an exported model needs the size of the matrix")
        return op("Expand", constant(np.eye(rows), x.dtype), op("Shape", x))
    return functools.reduce(lambda y, _: op("MatMul", y, x), range(n - 1), x)


@builtin("linalg_det")
def det(x: Value) -> Value:
    """The determinant."""
    return op("Det", x)


@builtin("linalg_slogdet")
def slogdet(x: Value) -> list[Value]:
    """The sign of the determinant, and the logarithm of its absolute value."""
    value = op("Det", x)
    return [op("Sign", value), op("Log", abs(value))]


def diagonal_of(x: Value, offset: int, axis1: int, axis2: int) -> Value:
    """Returns a diagonal as a last axis."""
    a, b = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    moved = transpose(x, [i for i in range(x.ndim) if i not in (a, b)] + [a, b])
    *outside, rows, columns = sizes(moved)
    flat = reshape(moved, [*outside, rows * columns])
    if isinstance(rows, int) and isinstance(columns, int):
        first, second = np.nonzero(np.eye(rows, columns, offset, dtype=bool))
        return op("Gather", flat, constant(first.astype("int64") * columns + second), axis=-1)
    below, beside = max(-offset, 0), max(offset, 0)
    length = op("Max", op("Min", *(reshape(cast(n, lm.int64), [1]) for n in (rows - below, columns - beside))), 0)
    return op("Gather", flat, range_value(length) * (columns + 1) + (columns * below + beside), axis=-1)


@builtin("diagonal")
def diagonal(x: Value, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Value:
    """A diagonal, as a last axis."""
    return diagonal_of(x, offset, axis1, axis2)


@builtin("trace")
def trace(x: Value, *, offset: int = 0, meta_outputs: Any = None) -> Value:
    """The sum of a diagonal."""
    line = cast(diagonal_of(x, offset, -2, -1), meta_outputs.dtype)
    return reduce("ReduceSum", line, [line.ndim - 1])


def embedded(x: Value, offset: int) -> Value:
    """Returns matrices that have the last axis as a diagonal, and 0 elsewhere."""
    n = x.shape[-1]
    if n < 0:
        raise NotImplementedError("[diag] an exported model needs the length of the diagonal")
    on = np.eye(n + abs(offset), k=offset, dtype=bool)
    numbers = np.where(on, np.cumsum(on).reshape(on.shape) - 1, 0).astype("int64")
    spread = op("Gather", x, constant(numbers), axis=-1)
    return op("Where", constant(on), spread, cast(0, x.dtype))


@builtin("diag")
def diag(x: Value, *, k: int = 0) -> Value:
    """A matrix with a diagonal, or the diagonal of a matrix."""
    return embedded(x, k) if x.ndim == 1 else diagonal_of(x, k, -2, -1)


@builtin("diagflat")
def diagflat(x: Value, *, k: int = 0) -> Value:
    """A matrix with all elements as its diagonal."""
    return embedded(reshape(x, [-1]), k)


@builtin("diag_embed")
def diag_embed(x: Value, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Value:
    """Matrices with a diagonal."""
    y = embedded(x, offset)
    a, b = axis_of(axis1, y.ndim), axis_of(axis2, y.ndim)
    order: list[int] = list(range(y.ndim - 2))
    for place, axis in sorted([(a, y.ndim - 2), (b, y.ndim - 1)]):
        order.insert(place, axis)
    return transpose(y, order)


@builtin("bilinear")
def bilinear(x1: Value, x2: Value, weight: Value, bias: Value | None = None, meta_outputs: Any = None) -> Value:
    """``x1 W x2`` for each matrix W."""
    a, b, w = _cast_all(meta_outputs, x1, x2, weight)
    y = op("Einsum", a, w, b, equation="...i,oij,...j->...o")
    return y if bias is None else y + cast(bias, meta_outputs.dtype)


def distances(a: Value, b: Value, p: float) -> Value:
    """Returns the p-norms of differences along the last axis."""
    from .reductions import powered_norm

    difference = a - b
    return powered_norm(difference, p, [difference.ndim - 1], False)


@builtin("cdist")
def cdist(x1: Value, x2: Value, p: float = 2.0, meta_outputs: Any = None) -> Value:
    """The distances of all pairs of rows."""
    a, b = _cast_all(meta_outputs, x1, x2)
    return distances(unsqueeze(a, a.ndim - 1), unsqueeze(b, b.ndim - 2), p)


@builtin("pdist")
def pdist(x: Value, p: float = 2.0) -> Value:
    """The distances of pairs of different rows."""
    rows = x.shape[0]
    if rows < 0:
        raise NotImplementedError("[pdist] an exported model needs the number of rows")
    first, second = np.triu_indices(rows, 1)
    return distances(op("Gather", x, constant(first)), op("Gather", x, constant(second)), p)


@builtin("dist")
def dist(x1: Value, x2: Value, p: float = 2.0, meta_outputs: Any = None) -> Value:
    """The norm of a difference."""
    from .reductions import powered_norm

    a, b = _cast_all(meta_outputs, x1, x2)
    return powered_norm(a - b, p, None, False)
