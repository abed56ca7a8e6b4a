"""Functions of Paddle that ask about tensors, or put them together, in forms of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import Tensor

from ._files import bits_of, of_bits
from ._functions import _named, copies, normal, placed
from ._second_names import with_second_names


def in_place(name: str) -> Callable[..., Tensor] | None:
    """Returns ``paddle.exp_`` and its kin: the function of the method of a tensor that writes over it, or None."""
    if name.startswith("_") or not name.endswith("_") or not hasattr(Tensor, name):
        return None

    def function(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        made: Tensor = getattr(x, name)(*args, **kwargs)
        return made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``x.{name}(...)``."
    return function


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of several tensors of one shape."""
    listed = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    total: Tensor = listed[0]
    for each in listed[1:]:
        total = total + each
    return total.clone() if total is listed[0] else total


def broadcast_shape(x_shape: Sequence[int], y_shape: Sequence[int]) -> list[int]:
    """Returns the shape of what two tensors of these shapes make together."""
    return list(lm.broadcast_shapes(tuple(x_shape), tuple(y_shape)))


def broadcast_tensors(input: Sequence[Tensor], name: str | None = None) -> list[Tensor]:
    """Returns tensors in the shape that they make together."""
    return copies(lm.broadcast_arrays(*input))


def is_complex(x: Tensor) -> bool:
    """True for complex numbers."""
    return lm.isdtype(x.dtype, "complex floating")


def is_integer(x: Tensor) -> bool:
    """True for integers."""
    return lm.isdtype(x.dtype, "integral")


def is_empty(x: Tensor, name: str | None = None) -> Tensor:
    """True, as a tensor, if there are no elements."""
    return lm.tensor(x.size == 0)


def log_normal(mean: Any = 1.0, std: Any = 2.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Numbers whose logarithms are normal with this mean and deviation, which may be tensors."""
    return lm.exp(normal(mean, std, shape))


rand_like, randn_like = placed(_named(lm.rand_like)), placed(_named(lm.randn_like))


_FLOATS = ("real floating", "complex floating")


def atan2(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The angle of the point (y, x); float64 for integers."""
    if not lm.isdtype(x.dtype, _FLOATS) and not (isinstance(y, Tensor) and lm.isdtype(y.dtype, _FLOATS)):
        x = x.astype("float64")
    return lm.atan2(x, y)


def conj(x: Tensor, name: str | None = None) -> Tensor:
    """The complex conjugate; a copy of numbers that are not complex."""
    return lm.conj(x) if is_complex(x) else x.clone()


def copysign(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """``x`` with the signs of ``y``; integers stay integers."""
    made = lm.copysign(x, y)
    return made if lm.isdtype(x.dtype, _FLOATS) else made.astype(x.dtype)


def frexp(x: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The digits, in [0.5, 1), and the exponents of 2, both as floats."""
    digits, exponents = lm.frexp(x)
    return digits, exponents.astype(digits.dtype)


def bitwise_left_shift(
    x: Tensor, y: Tensor, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """The bits of ``x`` moved ``y`` places up; both ways to do so are one here."""
    made = lm.bitwise_left_shift(x, y)
    return made if out is None else out.copy_(made)


def bitwise_right_shift(
    x: Tensor, y: Tensor, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """The bits of ``x`` moved ``y`` places down; in the place of the first come its sign, or zeros."""
    if is_arithmetic or not lm.isdtype(x.dtype, "signed integer"):
        made = lm.bitwise_right_shift(x, y)
    else:
        unsigned = f"u{x.dtype.name}"
        made = lm.bitwise_right_shift(x.astype(unsigned), y.astype(unsigned)).astype(x.dtype)
    return made if out is None else out.copy_(made)


def isin(
    x: Tensor, test_x: Tensor, assume_unique: bool = False, invert: bool = False, name: str | None = None
) -> Tensor:
    """True for the elements that are among those of ``test_x``, or that are not; however often these occur."""
    return lm.isin(x, test_x, invert=invert)


def randint_like(x: Tensor, low: int = 0, high: int | None = None, dtype: Any = None, name: Any = None) -> Tensor:
    """Integers in [low, high), or [0, low), in the shape and the dtype of a tensor."""
    low, high = (0, low) if high is None else (low, high)
    return lm.randint(low, high, tuple(x.shape)).astype(x.dtype if dtype is None else dtype)


def select_scatter(x: Tensor, values: Tensor, axis: int, index: int, name: str | None = None) -> Tensor:
    """A copy with ``values`` at one place along an axis."""
    return lm.select_scatter(x, values, axis, index)


def t(input: Tensor, name: str | None = None) -> Tensor:
    """A matrix transposed, and tensors of fewer axes as they are."""
    return input if input.ndim < 2 else lm.swapaxes(input, 0, 1)


def take(x: Tensor, index: Tensor, mode: str = "raise", name: str | None = None) -> Tensor:
    """Elements by their numbers in the order of memory; beyond the end "wrap" counts on, and "clip" stays at it."""
    flat, numbers = lm.reshape(x, (-1,)), lm.reshape(index, (-1,))
    if mode == "wrap":
        numbers = numbers % flat.shape[0]
    elif mode == "clip":
        numbers = lm.clip(numbers, 0, flat.shape[0] - 1)
    return lm.reshape(lm.take(flat, numbers, axis=0), tuple(index.shape))


def index_add(
    x: Tensor, index: Tensor, axis: int, value: Tensor, name: str | None = None, *, alpha: Any = 1, out: Any = None
) -> Tensor:
    """A copy with ``alpha * value`` added at the places of an axis that ``index`` names."""
    made = lm.index_add(x, axis, index, value if alpha == 1 else value * alpha)
    return made if out is None else out.copy_(made)


def take_along_axis(
    arr: Tensor, indices: Tensor, axis: int, broadcast: bool = True, *, out: Tensor | None = None
) -> Tensor:
    """The elements that ``indices`` name along an axis; without ``broadcast`` of the first places of the other axes."""
    if not broadcast:
        arr = _part(arr, indices, axis)
    made = lm.take_along_axis(arr, indices, axis=axis)
    return made if out is None else out.copy_(made)


def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Tensor:
    """A copy with ``values`` at the places that ``indices`` name along an axis, or joined with what is there."""
    given = values if isinstance(values, Tensor) else lm.full((1,) * arr.ndim, values, dtype=arr.dtype)
    if broadcast:
        sizes = list(arr.shape)
        sizes[axis] = tuple(indices.shape)[axis]
        indices = lm.broadcast_to(indices, lm.broadcast_shapes(tuple(indices.shape), tuple(sizes)))
    given = lm.broadcast_to(given, tuple(indices.shape))
    if reduce == "assign":
        return lm.scatter(arr, axis, indices, given)
    words = {"add": "sum", "mul": "prod", "multiply": "prod"}
    return lm.scatter_reduce(arr, axis, indices, given, words.get(reduce, reduce), include_self=include_self)


def _part(x: Tensor, other: Tensor, axis: int) -> Tensor:
    """Returns the first elements of ``x`` along all axes but one, as many as ``other`` has."""
    axis %= x.ndim
    return x[tuple(slice(None) if a == axis else slice(0, n) for a, n in enumerate(tuple(other.shape)))]


def _atleast(axes: int) -> Callable[..., Any]:
    native = getattr(lm, f"atleast_{axes}d")

    def function(*inputs: Any, name: str | None = None) -> Any:
        made = [native(each if isinstance(each, Tensor) else lm.asarray(each)) for each in inputs]
        return made[0] if len(made) == 1 else made

    function.__name__ = f"atleast_{axes}d"
    function.__doc__ = f"Returns tensors with at least {axes} axes: one, or a list of several."
    return function


atleast_1d, atleast_2d, atleast_3d = map(_atleast, (1, 2, 3))


def tril_indices(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """The places on and below a diagonal of a matrix, in two rows."""
    return lm.tril_indices(row, row if col is None else col, k=offset).astype(dtype)


def triu_indices(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """The places on and above a diagonal of a matrix, in two rows."""
    return lm.triu_indices(row, row if col is None else col, k=offset).astype(dtype)


def repeat_interleave(
    x: Tensor, repeats: Any, axis: int | None = None, name: str | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element, or each slice along an axis, several times one behind the other."""
    return lm.repeat(x, repeats, axis=axis)


@with_second_names
def topk(
    x: Tensor, k: Any, axis: int | None = None, largest: bool = True, sorted: bool = True, name: Any = None
) -> tuple[Tensor, Tensor]:
    """The ``k`` largest or smallest elements along an axis (the last) and their places."""
    values, places = lm.topk(x, int(k), axis=-1 if axis is None else axis, largest=largest, sorted=sorted)
    return values, places


@with_second_names
def kthvalue(
    x: Tensor, k: int, axis: int | None = None, keepdim: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The ``k``-th smallest elements along an axis (the last), and their places."""
    values, places = lm.kthvalue(x, k, axis=-1 if axis is None else axis, keepdims=keepdim)
    return values, places


def frac(x: Tensor, name: str | None = None) -> Tensor:
    """The part behind the point, in the dtype of ``x``."""
    return lm.cast(lm.frac(x), x.dtype)


def tolist(x: Tensor) -> Any:
    """Returns the elements as lists."""
    return x.tolist()


def unique_consecutive(
    x: Tensor, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None, dtype: Any = "int64"
) -> Any:
    """The elements without those that equal the one before them."""
    made: Any = lm.unique_consecutive(x, return_inverse=return_inverse, return_counts=return_counts, axis=axis)
    if not return_inverse:
        return made
    # Numbers of elements are in one row, as those of unique are.
    return (made[0], lm.reshape(made[1], (-1,)), *made[2:])


def view(x: Tensor, shape_or_dtype: Any, name: str | None = None) -> Tensor:
    """The tensor in other sizes, or its memory read as elements of another dtype."""
    if isinstance(shape_or_dtype, (str, lm.DType)):
        return of_bits(bits_of(x).view(lm.empty((0,), dtype=shape_or_dtype).dtype.name))
    return lm.reshape(x, (shape_or_dtype,) if isinstance(shape_or_dtype, int) else tuple(shape_or_dtype))


def view_as(x: Tensor, other: Tensor, name: str | None = None) -> Tensor:
    """The tensor in the sizes of another one."""
    return lm.reshape(x, tuple(other.shape))
