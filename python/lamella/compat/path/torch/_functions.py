"""PyTorch's functions that mean something else than Lamella's of the name, or have more than one form.

All others are lines of :mod:`lamella.compat.tables.torch_functions`.
"""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.nn.parameter import is_buffer

from ._memory import TypedStorage, UntypedStorage
from ._plain import names_nothing
from ._size import Size
from ._warnings import warn
from ._words import with_numpy_words
from ._writing import written


def _sizes(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one, or as one list or tuple."""
    if len(sizes) == 1 and isinstance(sizes[0], Iterable) and not isinstance(sizes[0], Tensor):
        (sizes,) = sizes
    # Sizes of graphs that are known only later are numbers of a class of their own.
    return tuple([size if isinstance(size, int) or hasattr(size, "known_later") else int(size) for size in sizes])


def _check(condition: Any, message: Any = None) -> None:
    """RuntimeError where the condition does not hold; the message is made by a function where that is given."""
    if not condition:
        raise RuntimeError("Expected cond to be True, but got False" if message is None else str(message()))


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], Any]) -> None:
    """Raises an error of a class, with the text that ``message`` makes, where the condition does not hold."""
    if not cond:
        raise error_type(str(message()))


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Any = None) -> None:
    """Raises an error of a class unless a condition holds for all elements."""
    _check_with(error_type, cond.all(), message or (lambda: "Expected cond to be True for all elements"))


def _check_tensor_all(cond: Tensor, message: Any = None) -> None:
    """RuntimeError unless a condition holds for all elements."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_is_size(i: int, message: Any = None, *, max: int | None = None) -> None:
    """RuntimeError where a number is no size: negative, or larger than ``max``."""
    _check(i >= 0 and (max is None or i <= max), message)


# ---- tensors from data


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """Returns a tensor with a copy of the data: numbers, arrays, tensors, or sequences of these."""
    if isinstance(data, Tensor):
        warn("[tensor] the data are a tensor: its copy off the tape is x.detach().clone()")
    values, dtype = _plain(data, dtype)
    try:
        return lm.tensor(values, dtype=dtype, device=device, stop_gradient=not requires_grad)
    except ValueError:
        if dtype not in UNSIGNED:
            raise
        made = lm.tensor(values, dtype=lm.int64, device=device)
        if made.size and (int(made.max()) > lm.iinfo(dtype).max or int(made.min()) < -lm.iinfo(dtype).max):
            raise
        return made.astype(dtype)  # negative numbers count from the end of the range


#: Small dtypes of numbers that are not negative.
UNSIGNED = frozenset({lm.uint8, lm.uint16, lm.uint32})


#: Dtypes of Python's numbers.
_OF_NUMBERS: dict[Any, Any] = {bool: lm.bool, int: lm.int64, float: lm.float32, complex: lm.complex64}


def _plain(data: Any, dtype: Any = None) -> tuple[Any, Any]:
    """Returns data as :func:`lamella.tensor` takes it, and its dtype.

    Tensors of one element in sequences are numbers. The dtype is that given; where there is none and a sequence holds
    tensors or what numpy has computed, it is that to which theirs, and those of Python's numbers, are promoted.
    """
    if isinstance(data, TypedStorage):
        if dtype not in (None, data.dtype):
            raise RuntimeError(f"[tensor] memory of dtype {data.dtype.name} has no elements of {dtype.name}")
        return data._elements(), data.dtype
    if isinstance(data, UntypedStorage):
        return TypedStorage(wrap_storage=data, dtype=lm.uint8 if dtype is None else dtype)._elements(), dtype
    if isinstance(data, (bytearray, memoryview)):
        import numpy as np

        return np.asarray(memoryview(data)), dtype
    if isinstance(data, Tensor) or hasattr(data, "dtype") or isinstance(data, str) or not hasattr(data, "__iter__"):
        return data, dtype
    found: set[Any] = set()
    made = _numbers(data, found)
    if dtype is None and found - _OF_NUMBERS.keys():
        try:
            dtypes = [_OF_NUMBERS.get(each) or lm.DType(each.name) for each in found]
            dtype = functools.reduce(lm.promote_types, dtypes)
        except (TypeError, ValueError):  # no dtype of tensors; what takes the data says so
            dtype = None
    return made, dtype


def _numbers(data: Any, found: set[Any]) -> list[Any]:
    """Returns the numbers of a sequence, and adds their types and dtypes to those found."""
    made: list[Any] = []
    for each in data:
        if (kind := type(each)) in _OF_NUMBERS:
            found.add(kind)
        elif hasattr(each, "dtype"):
            found.add(each.dtype)
            each = each.item() if isinstance(each, Tensor) and each.size == 1 else each
        elif hasattr(each, "__iter__") and not isinstance(each, str):
            each = _numbers(each, found)
        made.append(each)
    return made


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns a tensor of the data, which shares the memory of a tensor or an array where that is possible."""
    values, dtype = _plain(data, dtype)
    return lm.asarray(values, dtype=dtype, device=device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """Returns a tensor of ``obj``, in memory of its own where ``copy`` is set.

    It is off the tape unless it is to want a gradient.
    """
    values, dtype = _plain(lm.from_dlpack(obj) if type(obj).__name__ == "PyCapsule" else obj, dtype)
    made = lm.asarray(values, dtype=dtype, device=device, copy=copy)
    if requires_grad:
        return made if made.requires_grad else made.requires_grad_()
    return made.detach() if made.requires_grad else made


def scalar_tensor(value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Returns a tensor of one number, without axes."""
    return tensor(value, dtype=lm.float32 if dtype is None else dtype, device=device, requires_grad=requires_grad)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Returns a tensor on the memory of a buffer, with one axis."""
    import numpy as np

    made = lm.from_numpy(np.frombuffer(buffer, dtype=lm.DType(dtype).name, count=count, offset=offset))
    return made.requires_grad_() if requires_grad else made


def empty_strided(size: Any, stride: Any, **options: Any) -> Tensor:
    """Returns a tensor of ``size`` with elements that are not set, ``stride`` elements apart along each axis.

    Raises:
        RuntimeError: there is not a stride for each axis, or one is negative.
    """
    options.pop("layout", None), options.pop("pin_memory", None)
    requires_grad = options.pop("requires_grad", False)
    sizes, strides = tuple(map(int, size)), tuple(map(int, stride))
    if len(sizes) != len(strides) or min(strides, default=0) < 0:
        raise RuntimeError(f"[empty_strided] needs a stride of at least 0 for each axis of {sizes}, got {strides}")
    last = sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    memory = lm.empty((0 if 0 in sizes else last + 1,), **options)
    made = lm._C._tensor_in_memory(lm._C._memory_as_bytes(memory), memory.dtype, sizes, strides, 0).detach()
    return made.requires_grad_() if requires_grad else made


# ---- the engine


def manual_seed(seed: int) -> lm.Generator:
    """Seeds the generators of all devices, and returns the CPU's."""
    lm.seed(seed)
    return lm.random.default_generator()


def seed() -> int:
    """Seeds the generators of all devices by chance, and returns the seed."""
    import secrets

    chosen = secrets.randbits(63)
    lm.seed(chosen)
    return chosen


def is_tensor(obj: Any) -> bool:
    """True if an object is a tensor, or a sparse one."""
    return is_buffer(obj)


@functools.cache
def is_inexact(dtype: Any) -> bool:
    """True for dtypes of real and of complex floating-point numbers."""
    return lm.isdtype(dtype, ("real floating", "complex floating"))


@functools.cache
def _is_real(dtype: Any) -> bool:
    return lm.isdtype(dtype, "real floating")


@functools.cache
def _is_complex(dtype: Any) -> bool:
    return lm.isdtype(dtype, "complex floating")


def is_floating_point(input: Tensor) -> bool:
    """True for real floating-point numbers."""
    return _is_real(input.dtype)


def is_complex(input: Tensor) -> bool:
    """True for complex numbers."""
    return _is_complex(input.dtype)


def is_nonzero(input: Tensor) -> bool:
    """True if a tensor of one element is not 0."""
    return bool(input)


def broadcast_shapes(*shapes: Any) -> Size:
    """Returns the shape to which shapes are broadcast together."""
    return Size(lm.broadcast_shapes(*shapes))


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """True if two tensors have the same shape."""
    return tuple(input.shape) == tuple(other.shape)


def typename(obj: Any) -> str:
    """Returns the name of an object's type."""
    return _type_of(obj) if isinstance(obj, Tensor) else f"{type(obj).__module__}.{type(obj).__qualname__}"


#: Names of types of tensors by dtype, as older programs have them.
TENSOR_TYPES = {
    "FloatTensor": lm.float32,
    "DoubleTensor": lm.float64,
    "HalfTensor": lm.float16,
    "BFloat16Tensor": lm.bfloat16,
    "ByteTensor": lm.uint8,
    "CharTensor": lm.int8,
    "ShortTensor": lm.int16,
    "IntTensor": lm.int32,
    "LongTensor": lm.int64,
    "BoolTensor": lm.bool,
}


def _type_of(x: Tensor) -> str:
    name = next((name for name, dtype in TENSOR_TYPES.items() if dtype == x.dtype), f"{x.dtype.name}Tensor")
    return f"torch.cuda.{name}" if x.device.startswith("cuda") else f"torch.{name}"


def set_default_device(device: Any) -> None:
    """Sets the device on which this thread makes tensors unless one is given; None is the CPU.

    Raises:
        RuntimeError: there is no such device.
    """
    lm.set_default_device("cpu" if device is None else str(device))


def set_float32_matmul_precision(precision: str) -> None:
    """Sets how float32 matrices are multiplied on CUDA: "highest", float32, or "high" and "medium", TF32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"[set_float32_matmul_precision] expected 'highest', 'high' or 'medium', not {precision!r}")
    lm.set_float32_matmul_precision(precision)


# ---- arithmetic


def _times(x: Any, alpha: Any, beside: Any) -> Any:
    if type(alpha) is int and alpha == 1:
        return x
    if isinstance(alpha, int) and all(isinstance(each, Tensor) and each.dtype == lm.bool for each in (x, beside)):
        return lm.logical_and(x, bool(alpha))  # the sum of bools is one of bools, whatever they are weighted by
    return x * alpha


def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other``."""
    return lm.add(input, _times(other, alpha, input), out=out)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``."""
    return lm.subtract(input, _times(other, alpha, input), out=out)


subtract = sub


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``."""
    return lm.subtract(other, input * alpha)


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """The quotient: as it is, or rounded down ("floor") or towards 0 ("trunc")."""
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = lm.asarray(input)
    if rounding_mode is None:
        return lm.divide(input, other, out=out)
    if rounding_mode == "floor":
        return lm.floor_divide(input, other, out=out)
    if rounding_mode != "trunc":
        raise RuntimeError(f"[div] rounding_mode is None, 'floor' or 'trunc', not {rounding_mode!r}")
    if not lm.isdtype(lm.result_type(input, other), "integral"):
        return written(lm.trunc(lm.divide(input, other)), out)
    # Whole numbers are divided as such: quotients of large ones have no exact floating form.
    uneven = lm.remainder(input, other) != 0
    return written(lm.floor_divide(input, other) + (uneven & ((input < 0) != (other < 0))), out)


divide = div


def equal(input: Tensor, other: Tensor) -> bool:
    """True if two tensors have the same shape and elements."""
    return tuple(input.shape) == tuple(other.shape) and bool(lm.all(lm.equal(input, other)))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """True if all elements of two tensors are close."""
    return bool(lm.allclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan))


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of ``input`` where the condition holds, else of ``other``; alone, the places where it holds."""
    if input is None and other is None:
        return tuple(lm.nonzero(condition))
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input, other = lm.asarray(input), lm.asarray(other)
    if condition.dtype == lm.uint8:  # masks of older programs
        condition = condition.astype(lm.bool)
    return lm.where(condition, input, other)


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums of products by Einstein's notation; the operands may come in one list."""
    if isinstance(equation, Tensor):
        equation, operands = _equation(equation, *operands)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return lm.einsum(equation, *operands)


def _equation(*given: Any) -> tuple[str, tuple[Tensor, ...]]:
    """Returns einsum's equation and operands, where each operand has a list of numbers of its axes behind it."""
    letters = string.ascii_uppercase + string.ascii_lowercase

    def written_out(axes: Any) -> str:
        return "".join("..." if each is ... else letters[each] for each in axes)

    operands, result = given[: len(given) // 2 * 2], given[len(given) // 2 * 2 :]
    equation = ",".join(map(written_out, operands[1::2]))
    return equation + "".join(f"->{written_out(axes)}" for axes in result), operands[::2]


# ---- shapes


def viewed(made: Tensor, input: Tensor) -> Tensor:
    """Returns a view where the result is the argument itself, so that its shape and its tape are its own."""
    return lm.permute_dims(made, tuple(range(made.ndim))) if made is input else made


def numel(input: Tensor) -> int:
    """Returns the number of elements."""
    return math.prod(input.shape)


@with_numpy_words
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Returns the tensor without axes of size 1; an axis of another size stays."""
    if dim is None:
        return lm.squeeze(input)
    given, ndim = (dim,) if isinstance(dim, int) else tuple(dim), max(input.ndim, 1)
    if not all(-ndim <= each < ndim for each in given):
        raise IndexError(f"[squeeze] dim {dim} is no axis of the shape {list(input.shape)}")
    named = [each % ndim for each in given]
    axes = tuple(each for each in named if input.ndim and input.shape[each] == 1)
    return viewed(lm.squeeze(input, axes) if axes else input, input)


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Returns a view of the tensor in a larger shape."""
    return viewed(lm.broadcast_to(input, tuple(size)), input)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Returns views of tensors in the shape of them all; they may come in one list."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return tuple(map(viewed, lm.broadcast_arrays(*given), given))


@with_numpy_words
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The elements at indices along a dimension, or of all elements in one row where none is given."""
    if dim is None:
        input, indices, dim = input.reshape(-1), indices.reshape(-1), 0
    return written(lm.take_along_axis(input, indices, axis=dim), out)


def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Tensor | None = None
) -> Tensor:
    """The numbers of the buckets between boundaries that the elements lie in."""
    found = lm.bucketize(lm.asarray(input), boundaries, right=right)
    return written(found.astype(lm.int32) if out_int32 else found, out)


def _of_all(name: str) -> Any:
    """Returns a function of one tensor that takes several, too, and returns as many."""
    native = getattr(lm, name)

    @functools.wraps(native)
    def call(*tensors: Any) -> Any:
        given = tensors[0] if len(tensors) == 1 else tensors
        return tuple(map(native, given)) if isinstance(given, (tuple, list)) else native(given)

    call.__module__ = __name__
    return call


atleast_1d, atleast_2d, atleast_3d = map(_of_all, ("atleast_1d", "atleast_2d", "atleast_3d"))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along an axis, at most so many; of an axis without elements, as many."""
    if chunks > 0 and input.ndim and input.shape[dim] == 0:
        return tuple(lm.narrow(input, dim, 0, 0) for _ in range(chunks))
    return tuple(lm.chunk(input, chunks, dim))


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along an axis: each of one size but the last, or of the sizes in a list."""
    whole = tensor.shape[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 0 or (size == 0 and whole):
            raise RuntimeError(f"[split] parts have a size of 1 or more, not {size}, for an axis of {whole}")
        if whole == 0:
            return (lm.narrow(tensor, dim, 0, 0),)
        sizes = [size] * (whole // size) + ([whole % size] if whole % size else [])
    else:
        sizes = list(split_size_or_sections)
    return tuple(lm.split(tensor, sizes, dim))


@with_numpy_words
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns the tensors along an axis."""
    return tuple(lm.unstack(input, axis=dim))


def tile(input: Tensor, *_dims: Any, dims: Any = None) -> Tensor:
    """Returns the tensor several times over along each axis."""
    return lm.tile(input, _sizes(_dims) if dims is None else _sizes((dims,)))


def t(input: Tensor) -> Tensor:
    """Returns a matrix transposed, and tensors of fewer axes as they are."""
    if input.ndim > 2:
        raise RuntimeError(f"[t] takes at most two axes, not the shape {list(input.shape)}: transpose(0, 1) takes more")
    return viewed(input if input.ndim < 2 else lm.swapaxes(input, 0, 1), input)


def adjoint(input: Tensor) -> Tensor:
    """Returns matrices transposed, of conjugate numbers."""
    return input.mH


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Returns grids of coordinates; the tensors may come in one list."""
    if indexing is None:
        warn("[meshgrid] indexing is not given, and is 'ij' here: name it")
        indexing = "ij"
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    return tuple(lm.meshgrid(*tensors, indexing=indexing))


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Returns a copy, which is on the tape where the tensor is."""
    return lm.clone(input)


@with_numpy_words
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None
) -> Tensor:
    """A copy with elements of ``src``, or a number, at the places that ``index`` names along an axis."""
    source = value if src is None else src
    if names_nothing(input, index):
        return lm.clone(input)
    if reduce is None:
        return lm.scatter(input, dim, index, source)
    if not isinstance(source, Tensor):
        source = lm.full(tuple(index.shape), source, dtype=input.dtype, device=input.device)
    return lm.scatter_reduce(input, dim, index, source, {"add": "sum", "multiply": "prod"}[reduce])


def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Returns the derivatives of samples along axes."""
    found = lm.gradient(input, spacing=spacing, axis=dim, edge_order=edge_order)
    return (found,) if isinstance(found, Tensor) else tuple(found)


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along an axis of the sizes in a list."""
    return split(input, split_sizes, dim)
