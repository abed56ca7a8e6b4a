"""Paddle's functions on Lamella's: other argument names and defaults, the same values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.elements import become
from lamella.graph import Symbol

from ._files import of_bits
from ._matrices import matmul  # noqa: F401
from ._reaching import reached
from ._second_names import with_second_names


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function with Paddle's parameter ``name``, which is ignored."""

    @functools.wraps(function, updated=())
    def call(*args: Any, name: str | None = None, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


def _own(call: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a function the name and the text of the native one, and lets it have its own signature."""
    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


def _unary(function: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def call(x: Tensor, name: str | None = None) -> Tensor:
        return function(x)

    return _own(call, function)


def _binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    def call(x: Tensor, y: Any, name: str | None = None) -> Tensor:
        return function(x, y)

    return _own(call, function)


def _widened(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function whose operands of a kind go to the wider dtype, whether they have axes or not."""

    def call(x: Tensor, y: Any, name: str | None = None) -> Tensor:
        return function(*wider(x, y))

    return _own(call, function)


def wider(x: Any, y: Any) -> tuple[Any, Any]:
    """Returns two tensors in their common dtype, for which a tensor without axes counts as any other."""
    if not isinstance(x, Tensor) or not isinstance(y, Tensor) or x.dtype == y.dtype:
        return x, y
    dtype = lm.promote_types(x.dtype, y.dtype)
    return lm.cast(x, dtype), lm.cast(y, dtype)


def add(x: Any, y: Any, name: str | None = None, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """``x + alpha * y``."""
    return lm.add(x, y if alpha == 1 else lm.multiply(y, alpha), out=out)


def subtract(x: Any, y: Any, name: str | None = None, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """``x - alpha * y``."""
    return lm.subtract(x, y if alpha == 1 else lm.multiply(y, alpha), out=out)


def divide(
    x: Any, y: Any, name: str | None = None, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """The quotient: as it is, or rounded down ("floor") or towards 0 ("trunc").

    Raises:
        ValueError: ``rounding_mode`` is another word.
    """
    if rounding_mode is None:
        return lm.divide(x, y, out=out)
    if rounding_mode == "floor":
        return lm.floor_divide(x, y, out=out)
    if rounding_mode != "trunc":
        raise ValueError(f"[divide] rounding_mode is None, 'floor' or 'trunc', not {rounding_mode!r}")
    dtype = lm.result_type(x, y)
    made = lm.trunc(lm.divide(x, y)).astype(dtype)
    return made if out is None else out.copy_(made)


abs = _unary(lm.abs)
cos = _unary(lm.cos)
exp = _unary(lm.exp)
isfinite = _unary(lm.isfinite)
isinf = _unary(lm.isinf)
isnan = _unary(lm.isnan)
log = _unary(lm.log)
logical_not = _unary(lm.logical_not)
neg = _unary(lm.negative)
sin = _unary(lm.sin)
sqrt = _unary(lm.sqrt)
square = _unary(lm.square)
tanh = _unary(lm.tanh)

equal = _binary(lm.equal)
floor_divide = _widened(lm.floor_divide)
greater_equal = _binary(lm.greater_equal)
greater_than = _binary(lm.greater)
less_equal = _binary(lm.less_equal)
less_than = _binary(lm.less)
logical_and = _binary(lm.logical_and)
logical_or = _binary(lm.logical_or)
maximum = _widened(lm.maximum)
minimum = _widened(lm.minimum)
multiply = _binary(lm.multiply)
not_equal = _binary(lm.not_equal)
pow = _binary(lm.pow)
remainder = mod = _binary(lm.remainder)


bernoulli = _named(lm.bernoulli)


def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Tensor:
    """Returns a new tensor that holds a copy of ``data``.

    Arrays of float64 within a list become float32, as Python's floats do. Integers want no gradient whatever
    ``stop_gradient`` says. Arrays of uint16 hold the bits of bfloat16, as those that files have.
    """
    tensor = (
        of_bits(data) if dtype is None and getattr(data, "dtype", None) == "uint16" else lm.tensor(data, dtype=dtype)
    )
    if dtype is None and tensor.dtype == lm.float64 and isinstance(data, (list, tuple)) and not _holds_tensors(data):
        tensor = tensor.astype(lm.float32)
    if place is not None:
        tensor = tensor.to(device_name(place))
    if not stop_gradient and lm.isdtype(tensor.dtype, ("real floating", "complex floating")):
        tensor.stop_gradient = False
    return tensor


def _holds_tensors(data: Any) -> bool:
    return isinstance(data, Tensor) or (isinstance(data, (list, tuple)) and any(map(_holds_tensors, data)))


def device_name(place: Any) -> str:
    """Returns Lamella's name of a device that is given by a place, or by Paddle's name."""
    name = str(getattr(place, "device", place))
    return "cpu" if name == "gpu_pinned" else name.replace("gpu", "cuda")


#: Dtypes that short names stand for, as they do in numpy.
_SHORT = {"float": "float64", "int": "int64", "double": "float64", "long": "int64", "half": "float16"}


def dtype_of(value: Any) -> Any:
    """Returns the dtype that Python's ``float`` or a short name stands for, and anything else as it is."""
    return "float64" if value is float else _SHORT.get(value, value) if isinstance(value, str) else value


def placed(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function of new tensors that takes their device, and whether they want a gradient, by name."""

    @functools.wraps(function)
    def call(
        *args: Any, device: Any = None, requires_grad: bool = False, pin_memory: bool = False, **named: Any
    ) -> Tensor:
        if "dtype" in named:
            named["dtype"] = dtype_of(named["dtype"])
        made = function(*map(dtype_of, args), **named)
        if device is not None:
            made = made.to(device_name(device))
        if requires_grad:
            made.stop_gradient = False
        return made

    return call


_full_like = _named(lm.full_like)


@placed
@with_second_names
def empty_like(x: Tensor, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor in the shape of ``x`` whose elements are anything."""
    return lm.empty_like(x, dtype=dtype)


@placed
@with_second_names
def ones_like(x: Tensor, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor of ones in the shape of ``x``."""
    return lm.ones_like(x, dtype=dtype)


@placed
@with_second_names
def zeros_like(x: Tensor, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor of zeros in the shape of ``x``."""
    return lm.zeros_like(x, dtype=dtype)


@placed
@with_second_names
def full_like(x: Tensor, fill_value: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor of ``fill_value``, which may be text, in the shape of ``x``."""
    return _full_like(x, float(fill_value) if isinstance(fill_value, str) else fill_value, dtype=dtype)


@placed
def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor of zeros."""
    return lm.zeros(_shape(shape), dtype=dtype)


@placed
def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor of ones."""
    return lm.ones(_shape(shape), dtype=dtype)


@placed
def full(shape: Any, fill_value: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor of ``fill_value``; float32 by default, as in Paddle, except for bool and complex values."""
    if isinstance(fill_value, str):
        fill_value = float(fill_value)
    elif isinstance(fill_value, Tensor) and fill_value.ndim:
        fill_value = lm.reshape(fill_value, ())
    if dtype is None and isinstance(fill_value, (int, float)) and not isinstance(fill_value, bool):
        dtype = lm.float32
    elif dtype is None and isinstance(fill_value, complex):
        dtype = lm.complex128
    return lm.full(_shape(shape), fill_value, dtype=dtype)


@placed
def empty(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor whose values are not set."""
    return lm.empty(_shape(shape), dtype=dtype)


@placed
def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Values from ``start`` to before ``end``."""
    if end is None:
        start, end = 0, start
    return lm.arange(start, end, step, dtype=dtype)


@placed
def linspace(start: Any, stop: Any, num: int, dtype: Any = None, name: str | None = None) -> Tensor:
    """``num`` values from ``start`` to ``stop``, both included."""
    return lm.linspace(start, stop, num, dtype=dtype)


@placed
def eye(num_rows: int, num_columns: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones on the diagonal."""
    return lm.eye(num_rows, num_rows if num_columns is None else num_columns, dtype=dtype)


@placed
def rand(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Uniform in ``[0, 1)``."""
    return _cast(lm.rand(_shape(shape)), dtype)


@placed
def randn(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Normal with mean 0 and standard deviation 1."""
    return _cast(lm.randn(_shape(shape)), dtype)


@placed
def uniform(
    shape: Any, dtype: Any = None, min: float = -1.0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> Tensor:
    """Uniform in ``[min, max)``."""
    if seed:
        raise NotImplementedError("[uniform] Lamella's paddle front takes no seed here; call paddle.seed")
    return _cast(lm.uniform(_shape(shape), min, max), dtype)


def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Normal with means and standard deviations, which may be tensors."""
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        sizes = [tuple(each.shape) for each in (mean, std) if isinstance(each, Tensor)]
        return lm.randn(lm.broadcast_shapes(*sizes)) * std + mean
    return lm.normal(_shape(() if shape is None else shape), mean, std)


def randint(low: int = 0, high: int | None = None, shape: Any = (1,), dtype: Any = None, name: Any = None) -> Tensor:
    """Integers from ``low`` to before ``high`` (from 0 to before ``low`` where there is no ``high``)."""
    if high is None:
        low, high = 0, low
    return _cast(lm.randint(low, high, _shape(shape)), dtype)


@placed
def randperm(n: int, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns the numbers from 0 to before ``n`` in random order."""
    return _cast(lm.randperm(n), dtype)


def cast(x: Tensor, dtype: Any) -> Tensor:
    """``x`` in another dtype, or a copy where that is its own."""
    made = lm.cast(x, dtype_of(dtype))
    return made.clone() if made is x else made


def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """Returns a copy of ``x``, in ``output`` where that is given."""
    copied = x.clone() if isinstance(x, Tensor) else _as_numpy_has_it(x)
    if output is None:
        return copied
    same = tuple(copied.shape) == tuple(output.shape) and copied.dtype == output.dtype
    return output.copy_(copied) if same else become(output, copied)


def _as_numpy_has_it(x: Any) -> Tensor:
    """Returns a number as one element, and a list, in the dtypes of numpy: float64 and complex128 for Python's own."""
    import numpy as np

    array = np.asarray(x)
    return lm.tensor(array if array.ndim else array.reshape(1))


def clone(x: Tensor, name: str | None = None) -> Tensor:
    """Returns a copy through which gradients flow."""
    return x.clone()


def clip(x: Tensor, min: Any = None, max: Any = None, name: str | None = None) -> Tensor:
    """``x`` limited to ``[min, max]``."""
    return lm.clip(x, min, max)


def where(
    condition: Tensor, x: Any = None, y: Any = None, name: str | None = None, *, out: Tensor | None = None
) -> Any:
    """``x`` where ``condition`` holds, ``y`` elsewhere; alone, the places where it holds, for each axis.

    Raises:
        ValueError: only one of ``x`` and ``y`` is given.
    """
    if x is None and y is None:
        return tuple(lm.nonzero(condition))
    if x is None or y is None:
        raise ValueError("[where] takes both x and y, or neither")
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = lm.asarray(x)
    made = lm.where(condition, *wider(x, y))
    return made if out is None else out.copy_(made)


def sized(sizes: tuple[Any, ...], named: dict[str, Any], word: str) -> Any:
    """Returns sizes that are given one by one, in one list, or by name."""
    if word in named:
        return named[word]
    return sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else list(sizes)


def reshape(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """``x`` in another shape; -1 is what is left, 0 the size that ``x`` has there."""
    old = tuple(x.shape)
    asked = _shape(shape)
    new: list[int] = [old[i] if n == 0 and i < len(old) else n for i, n in enumerate(asked)]
    if 0 in old and 0 not in new and -1 not in new:
        new = list(asked)  # without elements a size of 0 may be meant as such
    return lm.reshape(x, tuple(new))


def transpose(x: Tensor, perm: Any, name: Any = None) -> Tensor:
    """``x`` with its axes in the order ``perm``, or with two axes each in the place of the other.

    An order of fewer axes is one of the first, and leaves those behind where they are.
    """
    if isinstance(perm, int):
        return lm.swapaxes(x, perm, name)
    order = tuple(perm)
    return lm.permute_dims(x, (*order, *range(len(order), x.ndim)))


def flatten(x: Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> Tensor:
    """``x`` with the axes ``start_axis`` to ``stop_axis`` joined."""
    return lm.flatten(x, start_axis, stop_axis)


@with_second_names
def squeeze(x: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """``x`` without its axes of size 1, or without those of ``axis`` that have it."""
    if isinstance(axis, Tensor):
        axis = axis.tolist()
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else [int(each) for each in axis]
    sizes = tuple(x.shape) or (0,)
    return lm.squeeze(x, tuple(a for a in axes if sizes[a] == 1))


@with_second_names
def unsqueeze(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """``x`` with axes of size 1 put in, one after the other."""
    if isinstance(axis, Tensor):
        axis = axis.tolist()
    for a in [axis] if isinstance(axis, int) else axis:
        x = lm.expand_dims(x, int(a))
    return x


def broadcast_to(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """``x`` repeated to ``shape``, on memory of its own; -1 keeps a size."""
    sizes = tuple(x.shape)
    new = _shape(shape)
    shift = len(new) - len(sizes)
    # A size that is known when the program runs is -1, too, and is no axis that stays.
    kept = tuple(sizes[i - shift] if type(n) is int and n == -1 and i >= shift else n for i, n in enumerate(new))
    return lm.broadcast_to(x, kept).clone()


expand = broadcast_to


def concat(x: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Returns the tensors one behind the other."""
    return lm.concat(list(x), axis=int(axis))


def stack(x: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Returns the tensors along a new axis."""
    return lm.stack(list(x), axis=axis)


def split(x: Tensor, num_or_sections: Any, axis: int = 0, name: str | None = None) -> list[Tensor]:
    """``x`` in equal parts, or in parts of the sizes given, of which one may be -1."""
    if isinstance(num_or_sections, (list, tuple)):
        sizes = [int(n) for n in num_or_sections]
        if sizes.count(-1) == 1:
            sizes[sizes.index(-1)] = tuple(x.shape)[axis] - (_total(sizes) + 1)
        num_or_sections = sizes
    return copies(lm.split(x, num_or_sections, axis=int(axis)))


def copies(parts: Any) -> list[Tensor]:
    """Returns views of tensors on memory of their own, as Paddle's are: what is written into them is not in it."""
    return [part.clone() if isinstance(part, Tensor) else part for part in parts]


def chunk(x: Tensor, chunks: int, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """``x`` in equal parts, of which the last one may be smaller."""
    return copies(lm.chunk(x, chunks, axis=int(axis)))


def tensor_split(x: Tensor, num_or_indices: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """``x`` in parts of sizes that differ by 1 at most, or in those between places."""
    return copies(lm.tensor_split(x, num_or_indices, axis=int(axis)))


def hsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """:func:`tensor_split` along the second axis, or the only one."""
    return copies(lm.hsplit(x, num_or_indices))


def vsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """:func:`tensor_split` along the first axis."""
    return copies(lm.vsplit(x, num_or_indices))


def dsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """:func:`tensor_split` along the third axis."""
    return copies(lm.dsplit(x, num_or_indices))


def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> list[Tensor]:
    """Returns the tensors along an axis.

    Raises:
        ValueError: ``num`` is not how many there are.
    """
    size = tuple(x.shape)[axis]
    if num is not None and num != size:
        raise ValueError(f"[unstack] axis {axis} has {size} elements, not num {num}")
    return copies(lm.unstack(x, axis=axis))


def allclose(
    x: Tensor, y: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: Any = None
) -> Tensor:
    """True, as a tensor, if all elements are close."""
    import numpy as np

    return lm.tensor(np.allclose(x.numpy(), y.numpy(), rtol, atol, equal_nan))


def numel(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the number of elements, as a tensor."""
    return lm.tensor(x.size)


def is_tensor(x: Any) -> bool:
    """True if ``x`` is a tensor."""
    return isinstance(x, Tensor)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
) -> list[Tensor | None]:
    """Returns the gradients of ``outputs`` with respect to ``inputs``, as a list.

    Nothing flows through the tensors of ``no_grad_vars``: on an input behind them the outputs do not depend. As in
    Paddle, the graph can be gone through again unless ``retain_graph`` is False.

    Raises:
        ValueError: the outputs do not depend on an input, and ``allow_unused`` is not set, which gives None for it.
    """
    if not only_inputs:
        raise NotImplementedError("[grad] Lamella's paddle front takes no only_inputs=False")
    ends = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    given = [grad_outputs] if isinstance(grad_outputs, Tensor) else grad_outputs or [None] * len(ends)
    stopped = [no_grad_vars] if isinstance(no_grad_vars, Tensor) else list(no_grad_vars or ())
    handles = [each.register_hook(lm.zeros_like) for each in stopped if not each.stop_gradient]
    begun = [(end, weight) for end, weight in zip(ends, ones_for_none(ends, given), strict=True) if _wants(end)]
    parts: list[Tensor | None] = [None] * len(wanted)
    try:
        if begun:
            from_, weights = zip(*begun, strict=True)
            parts = list(lm.grad(list(from_), wanted, list(weights), retain_graph is not False, create_graph, True))
    finally:
        for handle in handles:
            handle.remove()
    if handles and not any(isinstance(each, Symbol) for each in (*ends, *wanted)):
        there = reached(ends, wanted, stopped)
        parts = [part if found else None for part, found in zip(parts, there, strict=True)]
    for i, part in enumerate(parts):
        if part is None and not allow_unused:
            raise ValueError(f"[grad] the outputs do not depend on input {i}: allow_unused=True gives None for it")
    if create_graph:
        return parts
    kept: set[int] = {each.data_ptr() for each in given if each is not None}
    for i, part in enumerate(parts):
        # Gradients have memory of their own, as Paddle's: none changes with another that flowed the same way.
        if part is not None and not isinstance(part, Symbol):
            if part.data_ptr() in kept or not part.is_contiguous():
                parts[i] = part = part.clone()
            kept.add(part.data_ptr())
    return parts


def _wants(end: Tensor) -> bool:
    """True if gradients flow from a tensor; those that stop them are numbers beside the others, as in Paddle."""
    return isinstance(end, Symbol) or not end.stop_gradient


def ones_for_none(ends: Sequence[Tensor], weights: Sequence[Tensor | None]) -> list[Tensor]:
    """Returns the gradients to begin with: that of the sum of a tensor's elements where none is given."""
    return [lm.ones_like(end) if weight is None else weight for end, weight in zip(ends, weights, strict=True)]


def get_device() -> str:
    """Returns the device of new tensors."""
    return "cpu"


def is_compiled_with_cuda() -> bool:
    """True if a CUDA device can be used."""
    return bool(lm.cuda.is_available())


def _shape(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, int):
        return (shape,)
    if type(shape) in (list, tuple) and all(type(size) is int for size in shape):
        return tuple(shape)
    if any(hasattr(size, "known_later") for size in [shape, *([] if isinstance(shape, Tensor) else shape)]):
        # Of graphs, which have a class of their own for them.
        from lamella.graph._sizes import as_sizes

        sizes = as_sizes(shape)
        return tuple(sizes) if isinstance(sizes, list) else (sizes,)
    return tuple([size if isinstance(size, int) else int(size) for size in shape])


def _cast(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else lm.cast(x, dtype)


def _total(sizes: Sequence[int]) -> int:
    total = 0
    for size in sizes:
        total += size
    return total
