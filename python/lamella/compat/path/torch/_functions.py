"""PyTorch's functions on Lamella's: other argument names and defaults, the same values."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import Tensor


class device(str):  # noqa: N801 (PyTorch's name)
    """A device: its name as Lamella takes it, with ``type`` and ``index``.

    ``device("cuda:1")``, ``device("cuda", 1)``, ``device(1)``: the devices of tensors are such objects, and equal their
    names.

    Raises:
        RuntimeError: The name is none of a device.
    """

    def __new__(cls, type: Any, index: int | None = None) -> device:
        """Returns a device by its name, by the kind and which one, or by the number of a GPU."""
        name = f"cuda:{type}" if isinstance(type, int) else str(type)
        if index is not None:
            if ":" in name:
                raise RuntimeError(f"[device] type {name!r} has an index already, and index={index} is given")
            name = f"{name}:{index}"
        if not re.fullmatch(r"[A-Za-z_]\w*(:\d+)?", name):
            raise RuntimeError(f"[device] {name!r} is no device: expected a kind such as 'cpu', or 'cuda:0'")
        return super().__new__(cls, name)

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + ("" if self.index is None else f", index={self.index}") + ")"

    @property
    def type(self) -> str:
        """The kind of device, "cpu" or "cuda"."""
        return str(self).partition(":")[0]

    @property
    def index(self) -> Any:  # type: ignore[override]
        """Index of the device among those of its kind; None if it was not given."""
        number = str(self).partition(":")[2]
        return int(number) if number else None


def _dims(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one, or as one list or tuple."""
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        return tuple(sizes[0])
    return sizes


def _marked(x: Tensor, requires_grad: bool) -> Tensor:
    return x.requires_grad_() if requires_grad else x


def _factory(native: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(native, updated=())
    def call(
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
        generator: Any = None,
        **kwargs: Any,
    ) -> Tensor:
        if generator is not None:
            kwargs["generator"] = generator
        if "size" in kwargs:
            size = (kwargs.pop("size"),)
        return _marked(native(_dims(size), dtype=dtype, device=device, **kwargs), requires_grad)

    return call


def _like(native: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(native, updated=())
    def call(
        input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
    ) -> Tensor:
        return _marked(native(input, dtype=dtype, device=device), requires_grad)

    return call


zeros = _factory(lm.zeros)
ones = _factory(lm.ones)
empty = _factory(lm.empty)
rand = _factory(lm.rand)
randn = _factory(lm.randn)
zeros_like = _like(lm.zeros_like)
ones_like = _like(lm.ones_like)
empty_like = _like(lm.empty_like)
rand_like = _like(lm.rand_like)
randn_like = _like(lm.randn_like)


def _check(condition: Any, message: Any = None) -> None:
    """RuntimeError where the condition does not hold; the message is made by a function where that is given."""
    if not condition:
        raise RuntimeError("Expected cond to be True, but got False" if message is None else str(message()))


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Returns a tensor filled with one value."""
    return _marked(lm.full(tuple(size), fill_value, dtype=dtype, device=device), requires_grad)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns a tensor like another, filled with one value."""
    return lm.full_like(input, fill_value, dtype=dtype, device=device)


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Returns a tensor with a copy of the data."""
    return lm.tensor(data, dtype=dtype, device=device, stop_gradient=not requires_grad)


def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers from start (0 where only one is given) up to end."""
    return _marked(lm.arange(start, end, step, dtype=dtype, device=device), requires_grad)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Numbers at even distances."""
    return lm.linspace(start, end, steps, dtype=dtype, device=device)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones on the diagonal."""
    return lm.eye(n, m, dtype=dtype, device=device)


def randint(low: int, high: Any, size: Any = None, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Integers in [low, high); ``randint(high, size)`` starts at 0."""
    if size is None:
        low, high, size = 0, low, high
    return lm.randint(low, high, tuple(size), dtype=dtype, device=device)


def randperm(n: int, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns the integers below n in random order."""
    return lm.randperm(n, dtype=dtype, device=device)


def manual_seed(seed: int) -> None:
    """Seeds the generators of all devices."""
    lm.seed(seed)


def is_tensor(obj: Any) -> bool:
    """True if an object is a tensor."""
    return isinstance(obj, Tensor)


def get_default_dtype() -> Any:
    """float32."""
    return lm.float32


def _axes(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, list) else dim


def _reduction(native: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(native, updated=())
    def call(input: Tensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Tensor:
        return native(input, axis=_axes(dim), keepdims=keepdim, **kwargs)

    return call


sum = _reduction(lm.sum)
mean = _reduction(lm.mean)
prod = _reduction(lm.prod)
all = _reduction(lm.all)
any = _reduction(lm.any)
argmax = _reduction(lm.argmax)
argmin = _reduction(lm.argmin)


def _extremum(
    native: Callable[..., Tensor], place: Callable[..., Tensor], pairwise: Callable[..., Tensor]
) -> Callable[..., Any]:
    def call(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return native(input)
        if isinstance(dim, Tensor):
            return pairwise(input, dim)
        return native(input, axis=dim, keepdims=keepdim), place(input, axis=dim, keepdims=keepdim)

    return call


max = _extremum(lm.max, lm.argmax, lm.maximum)
min = _extremum(lm.min, lm.argmin, lm.minimum)


def _scaled(native: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(native, updated=())
    def call(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
        return native(input, other if alpha == 1 else other * alpha)

    return call


add = _scaled(lm.add)
sub = _scaled(lm.subtract)
mul = lm.multiply
div = lm.divide
neg = lm.negative
eq = lm.equal
ne = lm.not_equal
lt = lm.less
le = lm.less_equal
gt = lm.greater
ge = lm.greater_equal
mm = bmm = mv = lm.matmul
dot = lm.dot
flatten = lm.flatten
permute = lm.permute_dims
transpose = lm.swapaxes
clamp = lm.clip


def equal(input: Tensor, other: Tensor) -> bool:
    """True if two tensors have the same shape and elements."""
    return input.shape == other.shape and bool(lm.all(lm.equal(input, other)))


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``."""
    return beta * input + alpha * (mat1 @ mat2)


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """exp(x) divided by its sum along an axis."""
    return lm.softmax(input if dtype is None else input.astype(dtype), dim)


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Joins tensors along an axis that they have."""
    return lm.concat(list(tensors), dim)


concat = cat


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Joins tensors along a new axis."""
    return lm.stack(list(tensors), axis=dim)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """Parts along an axis, at most so many."""
    return lm.chunk(input, chunks, dim)


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Parts along an axis: each of one size but the last, or of the sizes in a list."""
    whole = tensor.shape[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        sizes = [size] * (whole // size) + ([whole % size] if whole % size else [])
    else:
        sizes = list(split_size_or_sections)
    parts, start = [], 0
    for size in sizes:
        parts.append(lm.narrow(tensor, dim, start, size))
        start += size
    return tuple(parts)


def unbind(input: Tensor, dim: int = 0) -> Any:
    """Returns the tensors along an axis."""
    return tuple(lm.unstack(input, axis=dim))


def squeeze(input: Tensor, dim: int | None = None) -> Tensor:
    """Returns the tensor without axes of size 1; an axis of another size stays."""
    if dim is not None and input.shape[dim] != 1:
        return input
    return lm.squeeze(input) if dim is None else lm.squeeze(input, dim)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Returns the tensor with a new axis of size 1."""
    return lm.expand_dims(input, dim)


def numel(input: Tensor) -> int:
    """Returns the number of elements."""
    return input.size
