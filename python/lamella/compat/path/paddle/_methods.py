"""Methods of Paddle's tensors that are no functions of its module."""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.elements import become, strided
from lamella.static import unique_name

from ._functions import device_name

_native_to: Any = Tensor.to
#: Dtypes by the methods that return a tensor in them.
CASTS = {
    **dict.fromkeys(("bool",), lm.bool),
    **{each.name: each for each in (lm.uint8, lm.int8, lm.int16, lm.int32, lm.int64)},
    **{each.name: each for each in (lm.bfloat16, lm.float16, lm.float32, lm.float64, lm.complex64, lm.complex128)},
    "byte": lm.uint8,
    "char": lm.int8,
    "short": lm.int16,
    "int": lm.int32,
    "long": lm.int64,
    "half": lm.float16,
    "float": lm.float32,
    "double": lm.float64,
    "cfloat": lm.complex64,
    "cdouble": lm.complex128,
}


def _cast(dtype: Any) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return lm.cast(self, dtype)

    method.__doc__ = f"Returns the tensor in {dtype.name}."
    return method


def _new(fill: Any) -> Callable[..., Tensor]:
    def method(
        self: Tensor,
        size: Any,
        *more: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        fill_value: Any = None,
    ) -> Tensor:
        value = fill
        if fill is None:
            value, more = (more[0], more[1:]) if fill_value is None else (fill_value, more)
        sizes = (size, *more) if isinstance(size, int) else tuple(int(each) for each in size)
        made = lm.full(sizes, value, dtype=dtype or self.dtype, device=str(device or self.device))
        made.stop_gradient = not requires_grad
        return made

    method.__doc__ = "Returns a tensor of these sizes in the dtype and on the device of this one."
    return method


def over(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns the method that writes what a function makes over its tensor, whose shape and dtype may change."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if lm.is_grad_enabled() and self.is_leaf and not self.stop_gradient:
            raise ValueError(f"[{name}] a leaf tensor that wants a gradient cannot be changed in place")
        made = function(self.clone(), *args, **kwargs)
        if tuple(made.shape) == tuple(self.shape) and made.dtype == self.dtype:
            return self.copy_(made)
        return become(self, made)

    method.__name__ = name
    method.__doc__ = f"{name[:-1]}(), written over the tensor."
    return method


def to(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """Returns the tensor on a device, in a dtype, or in both as another tensor has them.

    Args:
        self: the tensor.
        args: a place or its name, a dtype or its name, or a tensor; bools, which mean nothing here, may stand behind.
        named: ``device``, ``dtype``, ``other``, ``blocking`` and ``non_blocking``.

    Raises:
        TypeError: something else is given.
    """
    if unknown := set(named) - {"device", "dtype", "other", "blocking", "non_blocking", "copy_tensor"}:
        raise TypeError(f"[to] takes device, dtype, other and blocking, not {', '.join(sorted(unknown))}")
    made = self
    for each in (*args, *(named.get(word) for word in ("other", "device", "dtype"))):
        if each is None or isinstance(each, bool):
            continue
        if isinstance(each, Tensor):
            made = _native_to(made, each.device).astype(each.dtype)
        elif isinstance(each, lm.DType) or each in CASTS:
            same, made = made, made.astype(CASTS.get(each, each))
            made = made.clone() if made is same else made  # a dtype asks for a copy, a place does not
        else:
            made = _native_to(made, device_name(each))
    return made


def apply(self: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """Returns ``func`` of the tensor, which must not want a gradient."""
    if not self.stop_gradient:
        raise RuntimeError("[apply] takes a tensor with stop_gradient=True: call the function itself")
    return func(self)


def split_with_sizes(self: Tensor, split_sizes: Any, dim: int = 0) -> list[Tensor]:
    """Returns parts of these sizes along an axis."""
    return list(lm.split(self, [int(size) for size in split_sizes], axis=dim))


def fill_diagonal_(x: Tensor, value: Any, offset: int = 0, wrap: bool = False, name: str | None = None) -> Tensor:
    """Writes a number to the elements whose indices are equal, the last one but for ``offset``.

    In a matrix with more rows than columns, the diagonal begins anew behind a row without it where ``wrap``.
    """
    rows, columns = x.shape[0], x.shape[-1]
    if x.ndim > 2:
        grid = lm.meshgrid(*[lm.arange(n) for n in tuple(x.shape)], indexing="ij")
        mask: Any = grid[0] + offset == grid[-1]
        for each in grid[1:-1]:
            mask = lm.logical_and(mask, each == grid[0])
    else:
        places = lm.expand_dims(lm.arange(rows), 1)
        places = places % (columns + 1) if wrap else places
        mask = places + offset == lm.expand_dims(lm.arange(columns), 0)
    return x.copy_(lm.where(mask, lm.full_like(x, value), x))


def fill_diagonal_tensor(
    x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Tensor:
    """A copy with the elements of ``y`` on the diagonal of two axes."""
    return lm.diagonal_scatter(x, y, offset=offset, axis1=dim1, axis2=dim2)


def resize_(x: Tensor, shape: Any, fill_zero: bool = False, name: str | None = None) -> Tensor:
    """Gives the tensor another shape: its first elements, and zeros behind them.

    Raises:
        ValueError: there are more elements than before, without ``fill_zero``.
    """
    count, old = math.prod(shape), lm.reshape(x.detach(), (-1,))
    if count > old.shape[0]:
        if not fill_zero:
            raise ValueError(f"[resize_] {count} elements from {old.shape[0]}: give fill_zero=True")
        old = lm.concat([old, lm.zeros((count - old.shape[0],), dtype=old.dtype)])
    return become(x, lm.reshape(old[:count], tuple(shape)).clone())


def set_(
    x: Tensor, source: Tensor | None = None, shape: Any = None, stride: Any = None, offset: int = 0, name: Any = None
) -> Tensor:
    """Makes the tensor stand for another one, or for elements of it; for no elements without one."""
    if source is None:
        return become(x, lm.empty((0,), dtype=x.dtype))
    if shape is None and stride is None and not offset:
        return become(x, source.detach())
    sizes = list(source.shape) if shape is None else list(shape)
    steps = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))] if stride is None else list(stride)
    # The offset of Paddle counts bytes.
    return become(x, strided(source.detach(), sizes, steps, offset // source.itemsize))


def where_(condition: Tensor, x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Writes ``y`` to the elements of ``x`` where the condition does not hold."""
    return x.copy_(lm.where(condition, x, y))


def stride(self: Tensor, dim: int | None = None) -> Any:
    """Returns the numbers of elements from one index of an axis to the next, of all axes or of one."""
    return list(self.strides) if dim is None else self.strides[dim]


def top_p_sampling(
    x: Tensor,
    ps: Tensor,
    threshold: Tensor | None = None,
    topp_seed: Tensor | None = None,
    seed: int = -1,
    k: int = 0,
    mode: str = "truncated",
    return_top: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Draws from each row of probabilities, of the most likely ones that together have the probability ``ps``.

    Holtzman et al. 2020, "The curious case of neural text degeneration".

    Returns:
        The values drawn and their places, ``(rows, 1)`` each.

    Raises:
        NotImplementedError: a threshold, a seed, ``k`` or ``return_top`` is given.
    """
    if threshold is not None or topp_seed is not None or k or return_top:
        raise NotImplementedError("[top_p_sampling] Lamella's paddle front takes the probabilities and ps alone")
    values, order = lm.topk(x, tuple(x.shape)[-1], axis=-1)
    before = lm.cumsum(values, axis=-1) - values
    kept = lm.where(before < lm.reshape(ps, (-1, 1)), values, lm.zeros_like(values))
    chosen = lm.multinomial(kept, 1)
    return lm.take_along_axis(values, chosen, axis=-1), lm.take_along_axis(order, chosen, axis=-1)


class _Kept:
    """Attribute of tensors with a value of its own for each: in the object where that has room, else beside it.

    Args:
        name: the attribute's name.
        make: makes the value of a tensor for which none has been set.
    """

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name, self.make = name, make
        self.beside: dict[int, tuple[Any, Any]] = {}

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            return self
        if hasattr(x, "__dict__"):
            return x.__dict__.setdefault(self.name, self.make())
        if id(x) not in self.beside:
            self.__set__(x, self.make())
        return self.beside[id(x)][1]

    def __set__(self, x: Any, value: Any) -> None:
        if hasattr(x, "__dict__"):
            x.__dict__[self.name] = value
        else:
            key, beside = id(x), self.beside
            beside[key] = weakref.ref(x, lambda _: beside.pop(key, None)), value


_native_register_hook: Any = Tensor.register_hook


class _HookHandle:
    """Takes a hook of a tensor away again."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def remove(self) -> bool:
        """Takes the hook away; False where that was done already."""
        handle, self._handle = self._handle, None
        if handle is None:
            return False
        handle.remove()
        return True


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> _HookHandle:
    """Has ``hook`` read the gradient, or replace it by what it returns."""
    return _HookHandle(_native_register_hook(self, hook))


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"[data] x.data takes a tensor, not {type(value).__name__}")
    with lm.no_grad():
        become(self, value.detach())


def _retain_grads(self: Tensor) -> None:
    """Keeps the gradient of a tensor that is computed from others."""
    if self.stop_gradient:
        warnings.warn("[retain_grads] the tensor wants no gradient", UserWarning, stacklevel=2)
        return
    self.retain_grad()


#: The methods and properties by their names.
METHODS: dict[str, Any] = {
    **{name: _cast(dtype) for name, dtype in CASTS.items()},
    "to": to,
    "type_as": lambda self, other: lm.cast(self, other.dtype),
    "new_empty": _new(0),
    "new_zeros": _new(0),
    "new_ones": _new(1),
    "new_full": _new(None),
    "apply": apply,
    "apply_": lambda self, func: self.copy_(apply(self, func)),
    "data": property(lambda self: self.detach(), _set_data, doc="The same elements, apart from the tape."),
    "element_size": lambda self: self.itemsize,
    "register_hook": register_hook,
    "fill_diagonal_": fill_diagonal_,
    "fill_diagonal_tensor": fill_diagonal_tensor,
    "fill_diagonal_tensor_": lambda x, *args, **named: x.copy_(fill_diagonal_tensor(x, *args, **named)),
    "get_device": lambda self: -1 if str(self.device) == "cpu" else int(str(self.device).partition(":")[2] or 0),
    "get_strides": lambda self: list(self.strides),
    "grad_": property(lambda self: self.grad, doc="The gradient."),
    "is_cuda": property(lambda self: str(self.device).startswith("cuda"), doc="True on a GPU."),
    **{name: lambda self: False for name in ("is_dist", "is_selected_rows", "is_sparse", "is_sparse_coo")},
    "is_sparse_csr": lambda self: False,
    "is_dense": lambda self: True,
    "is_same_shape": lambda self, y: list(self.shape) == list(y.shape),
    "layout": property(lambda self: "NCHW", doc="The order of axes that images have."),
    "name": _Kept("name", lambda: unique_name.generate("generated_tensor")),
    "ndimension": lambda self: self.ndim,
    "offset": property(lambda self: 0, doc="The place of the first element: memory begins with it."),
    "persistable": _Kept("persistable", lambda: False),
    "reconstruct_from_": lambda self, other: become(self, other.detach()),
    "resize_": resize_,
    "retain_grads": _retain_grads,
    "set_": set_,
    "split_with_sizes": split_with_sizes,
    "stride": stride,
    "to_dense": lambda self: self,
    "top_p_sampling": top_p_sampling,
    "type": property(lambda self: "VarType.DENSE_TENSOR", doc="The kind of variable."),
    "value": lambda self: self,
    "where_": where_,
}
