"""Functions of the module ``torch`` that older programs call, or that write over their argument."""

from __future__ import annotations

import copyreg
import functools
import math
import threading
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor

from ._writing import can_cast, written  # noqa: F401


class layout(str):  # noqa: N801 (PyTorch's name)
    """Layout of a tensor in memory."""

    def __repr__(self) -> str:
        return "torch." + str.__str__(self)

    __str__ = __repr__

    def __index__(self) -> int:  # the number by which operators in C++ know it
        return ("strided", "sparse_coo").index(str.__str__(self))


@functools.cache
def layout_of(name: str) -> layout:
    """Returns the layout that files name: always the same object."""
    return layout(name.removeprefix("torch."))


layout_of.__module__, layout_of.__qualname__ = "torch.serialization", "_get_layout"
copyreg.pickle(layout, lambda kind: (layout_of, (repr(kind),)))
#: The layout of all tensors but sparse ones.
STRIDED = layout_of("torch.strided")
SPARSE_COO = layout_of("torch.sparse_coo")


class memory_format(layout):  # noqa: N801 (PyTorch's name)
    """The order of a tensor's axes in memory."""

    def __index__(self) -> int:
        return ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d").index(str.__str__(self))


#: How many layers' forward the thread is in, as ``depth``.
IN_FORWARD = threading.local()


def in_place(name: str) -> Callable[..., Tensor] | None:
    """Returns ``torch.exp_`` and its kin: the function of the method of a tensor that writes over it, or None."""
    if name.startswith("_") or not name.endswith("_") or not hasattr(Tensor, name):
        return None

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        made: Tensor = getattr(input, name)(*args, **kwargs)
        return made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``input.{name}(...)``."
    return function


#: Methods that return views, of which there are functions that copy.
_VIEWS = frozenset(
    (
        *("as_strided", "detach", "diagonal", "expand", "narrow", "permute", "select", "split", "split_with_sizes"),
        *("squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view", "view_as_complex", "view_as_real"),
    )
)


def copied(name: str) -> Callable[..., Any] | None:
    """Returns ``torch.permute_copy`` and its kin: what a method that returns views returns, in new memory, or None."""
    view = name.removesuffix("_copy")
    if view == name or view not in _VIEWS:
        return None

    def function(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        made = getattr(input, view)(*args, **kwargs)
        if out is not None:
            return written(made, out)
        return tuple(map(lm.clone, made)) if isinstance(made, (tuple, list)) else lm.clone(made)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``input.{view}(...)``, in new memory."
    return function


def _assert(condition: Any, message: str) -> None:
    """AssertionError where the condition does not hold.

    Raises:
        AssertionError: with the message.
    """
    if not condition:
        raise AssertionError(message)


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """True: ``input.data = from_`` takes tensors of every kind."""
    return isinstance(input, Tensor) and isinstance(from_, Tensor)


def _assert_async(condition: Any, message: str = "Expected a true value") -> None:
    """RuntimeError where the condition, a tensor of one element, does not hold."""
    if not condition:
        raise RuntimeError(message)


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes of a tensor's axes, as integers."""
    return lm.tensor(list(input.shape), dtype=lm.int64)


shape_as_tensor = _shape_as_tensor


def binomial(count: Tensor, prob: Tensor, *, generator: Any = None) -> Tensor:
    """Numbers of successes in ``count`` trials, each with probability ``prob``."""
    trials = lm.broadcast_to(count, lm.broadcast_shapes(count.shape, prob.shape))
    most = int(trials.max().item()) if trials.size else 0
    drawn = lm.rand((most, *trials.shape), dtype=prob.dtype, generator=generator) < prob
    runs = lm.arange(most).reshape((most,) + (1,) * trials.ndim) < trials
    return lm.sum((drawn & runs).astype(count.dtype), axis=0)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """The tensor with elements of one value around it: pairs of numbers of them, from the last axis on."""
    return lm.nn.functional.pad(input, pad, "constant", value)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of :func:`torch.softmax`, whose output is y: ``y * (dy - sum(y * dy))``, in a dtype."""
    weighted = grad_output * output
    return (weighted - output * lm.sum(weighted, axis=dim, keepdims=True)).astype(input_dtype)


def cat(tensors: Any, dim: int = 0, *, out: Tensor | None = None, axis: int | None = None) -> Tensor:
    """Tensors one after the other along an axis; those of the shape ``(0,)`` fit to tensors of any number of axes."""
    if axis is not None:
        dim = axis
    try:
        return lm.concat(tensors, axis=dim, out=out)
    except (IndexError, ValueError):
        kept = [x for x in tensors if x.shape != (0,)]
        if len(kept) == len(tensors):
            raise
        if not kept:
            return lm.concat(tensors, axis=0, out=out)
        dtype = lm.result_type(*tensors)
        return lm.concat([x.astype(dtype, copy=False) for x in kept], axis=dim, out=out)


concat = concatenate = cat


def threshold(input: Tensor, threshold: Any, value: Any) -> Tensor:
    """Elements above a threshold, and ``value`` for the others; of integers, both are cut to integers."""
    if lm.isdtype(input.dtype, "integral"):
        threshold, value = int(threshold), int(value)
    return lm.threshold(input, threshold, value)


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Elements where a mask holds replaced by a number, which is cast to the tensor's dtype."""
    try:
        return lm.masked_fill(input, mask, value)
    except TypeError:
        return lm.masked_fill(input, mask, _cast_number("masked_fill", value, input.dtype))


_native_masked_fill: Any = Tensor.masked_fill_


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Overwrites elements where a mask holds by a number, which is cast to the tensor's dtype."""
    try:
        filled: Tensor = _native_masked_fill(self, mask, value)
    except TypeError:
        filled = _native_masked_fill(self, mask, _cast_number("masked_fill_", value, self.dtype))
    return filled


def _cast_number(op: str, value: Any, dtype: Any) -> Tensor:
    """Returns a number in a dtype of integers or bools.

    Raises:
        RuntimeError: it is no number, or none of the dtype's.
    """
    number = value.item() if isinstance(value, Tensor) and value.ndim == 0 else value
    if not isinstance(number, (int, float)) or not math.isfinite(number) or lm.isdtype(dtype, "complex floating"):
        raise RuntimeError(f"[{op}] {value!r} cannot be written into a tensor of dtype {dtype.name}")
    return lm.tensor(bool(number) if dtype == lm.bool else int(number), dtype=dtype)


def detach(input: Tensor) -> Tensor:
    """The tensor off the tape, on the same memory."""
    return input.detach()


def detach_(input: Tensor) -> Tensor:
    """Takes the tensor itself off the tape."""
    return input.detach_()


def embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, *args: Any) -> Tensor:
    """The rows of ``weight`` that ``indices`` name, which is the order of arguments of this function alone."""
    return lm.embedding(indices, weight, None if padding_idx < 0 else padding_idx)


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype to which two tensors or numbers are promoted."""
    if not isinstance(tensor1, Tensor) and not isinstance(tensor2, Tensor):
        tensor1, tensor2 = lm.asarray(tensor1), lm.asarray(tensor2)
    return lm.result_type(tensor1, tensor2)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with a number at places along an axis, which may be counted from its end."""
    return lm.index_fill(input, dim, _from_the_front(input, dim, index), value)


_native_index_fill: Any = Tensor.index_fill_


def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Implements Tensor.index_fill_(): overwrites elements at places along an axis by a number."""
    filled: Tensor = _native_index_fill(self, dim, _from_the_front(self, dim, index), value)
    return filled


def _from_the_front(x: Tensor, dim: int, index: Tensor) -> Tensor:
    count = x.shape[dim] if x.ndim else 1
    return lm.where(index < 0, index + count, index)


def stft(input: Tensor, *args: Any, return_complex: bool | None = None, **named: Any) -> Tensor:
    """The spectra of windows of a signal; ``return_complex=False`` gives real and imaginary parts along a last axis."""
    made = lm.stft(input, *args, **named)
    return lm.view_as_real(made) if return_complex is False else made


def names_nothing(x: Tensor, index: Tensor) -> bool:
    """True for places that are none at all, which may have other axes than the tensor."""
    return index.ndim != x.ndim and index.size == 0


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with elements of ``src`` added at the places that ``index`` names along an axis."""
    return lm.clone(input) if names_nothing(input, index) else lm.scatter_add(input, dim, index, src)


def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy with elements at places along an axis reduced with those of ``src``."""
    if names_nothing(input, index):
        return lm.clone(input)
    return lm.scatter_reduce(input, dim, index, src, reduce, include_self=include_self)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with elements of ``source`` at places among all elements, added to those there with ``accumulate``."""
    return lm.put(input, index, source, accumulate)


def is_signed(input: Tensor) -> bool:
    """True for numbers that may be negative."""
    return not lm.isdtype(input.dtype, ("bool", "unsigned integer"))


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like ``input`` whose elements are ``value``, a number or a tensor of one."""
    return lm.zeros_like(input) + (value.astype(input.dtype) if isinstance(value, Tensor) else value)


def get_device(input: Tensor) -> int:
    """Returns the index of the GPU with the tensor, -1 for the CPU."""
    return -1 if str(input.device) == "cpu" else int(str(input.device).partition(":")[2] or 0)


def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeats each element, along an axis or of all; ``repeat_interleave(repeats)`` repeats their numbers."""
    if repeats is None:
        return lm.repeat(lm.arange(input.shape[0], device=input.device), input, axis=0)
    return lm.repeat(input, repeats, axis=dim)


def mm(input: Any, mat2: Any, *, out: Tensor | None = None) -> Any:
    """The product of two matrices, of which the first may be sparse: see :mod:`torch.sparse`."""
    made = lm.mm(input, mat2) if isinstance(input, Tensor) else input.mm(mat2)
    return made if out is None else out.copy_(made)


spmm = mm


def smm(input: Any, mat2: Tensor) -> Any:
    """The product of a sparse and a dense matrix, as a sparse one."""
    return input.smm(mat2)


def hspmm(mat1: Any, mat2: Tensor) -> Any:
    """The product of a sparse and a dense matrix as a sparse column of dense rows."""
    return mat1._rows_of_product("hspmm", mat2)


def matmul(input: Any, other: Any, *, out: Tensor | None = None) -> Any:
    """The product of matrices, stacks of them, or vectors; a sparse matrix comes first."""
    return lm.matmul(input, other, out=out) if isinstance(input, Tensor) else input.mm(other)


def sspaddmm(input: Any, mat1: Any, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    """Returns ``beta * input + alpha * (mat1 @ mat2)`` of a sparse matrix, one that is sparse, too, and a dense one."""
    return input.sspaddmm(mat1, mat2, beta=beta, alpha=alpha)
