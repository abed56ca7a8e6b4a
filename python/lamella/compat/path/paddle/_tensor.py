"""Differences of Paddle's tensors from Lamella's: a list for a shape, ``keepdim``, other names.

Every function gives Lamella's own Tensor, so the type itself learns the dialect: in this process, once the front has
been imported.
"""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor, static
from lamella.compat.dtype_texts import show_dtypes
from lamella.compat.elements import become
from lamella.compat.front import variables_are_new
from lamella.compat.methods import of_two_meanings
from lamella.graph import Symbol
from lamella.nn import Parameter
from lamella.static import unique_name

from . import _functions as F  # noqa: N812
from . import _like_torch as L  # noqa: N812
from . import _matrices, _methods, _overwriting, _printing
from . import _more as M  # noqa: N812
from . import _parts as P  # noqa: N812
from . import _plain as Q  # noqa: N812
from . import _reductions as R  # noqa: N812
from ._generators import Size

_native_shape: Any = Tensor.__dict__["shape"]
_native_symbol_shape: Any = Symbol.__dict__["shape"]
_native_backward: Any = Tensor.backward
_native_numpy: Any = Tensor.numpy
_native_item: Any = Tensor.item
_native_getitem: Any = Tensor.__getitem__
_native_setitem: Any = Tensor.__setitem__
_native_bool_of: Any = Tensor.__bool__
_native_deepcopy: Any = Tensor.__deepcopy__
_native_array: Any = Tensor.__array__
_native_stop_gradient: Any = Tensor.__dict__["stop_gradient"]


def _shape(self: Tensor) -> Any:
    """Implements Tensor.shape: a list; to Lamella's own modules, which take it for a tuple, a tuple."""
    sizes: tuple[int, ...] = _native_shape.__get__(self)
    return sizes if sys._getframe(1).f_globals.get("__name__", "").startswith("lamella.") else Size(sizes)


def _set_stop_gradient(self: Tensor, value: bool) -> None:
    """Implements the assignment to Tensor.stop_gradient; a result that gets True leaves the tape, with its memory."""
    if value and not self.is_leaf:
        become(self, self.detach())
    else:
        _native_stop_gradient.__set__(self, value)


def _set_trainable(self: Tensor, value: bool) -> None:
    self.stop_gradient = not value


def _symbol_shape(self: Symbol) -> list[int]:
    return Size(_native_symbol_shape.__get__(self))


def _backward(self: Tensor, grad_tensor: Tensor | None = None, retain_graph: bool = False) -> None:
    """Computes the gradients of all leaves, of the sum of elements where no ``grad_tensor`` weighs them.

    Where nothing wants one there is nothing to do, and no error.
    """
    if not self.stop_gradient:
        _native_backward(self, lm.ones_like(self) if grad_tensor is None else grad_tensor, retain_graph)


def _copied(array: Any, caller: str) -> Any:
    """Returns a copy of a numpy array to programs, and itself to Lamella's own modules."""
    return array if caller.startswith("lamella.") else array.copy()


def _numpy(self: Tensor) -> Any:
    """Returns a copy of the elements as a numpy array, also of a tensor on the tape: later steps do not change it."""
    with lm.no_grad():
        return _copied(_native_numpy(self), sys._getframe(1).f_globals.get("__name__", ""))


def _array(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    with lm.no_grad():
        return _copied(_native_array(self, *args, **kwargs), sys._getframe(1).f_globals.get("__name__", ""))


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Returns a copy without a gradient; that of a parameter has its own name, by which optimizers know it."""
    made: Tensor = _native_deepcopy(self, memo)
    made.grad = None
    if isinstance(self, Parameter):
        made.name = self.name + unique_name.generate("_deepcopy")  # type: ignore[attr-defined]
    return made


def _in_two_steps(key: Any) -> tuple[Any, Any] | None:
    """Returns an index of numbers and slices, and one of tensors and lists for what it gives, or None if one does.

    Paddle takes numbers as it takes slices, where Lamella, as numpy, counts them among the tensors beside them.
    """
    if type(key) is not tuple or not any(type(each) is int for each in key):
        return None
    given = [isinstance(each, (Tensor, list)) for each in key]
    if not any(given) or any(isinstance(each, Tensor) and each.dtype == lm.bool and each.ndim != 1 for each in key):
        return None
    first = tuple(slice(None) if tensor else each for each, tensor in zip(key, given, strict=True))
    second = tuple(
        each if tensor or each is Ellipsis else slice(None)
        for each, tensor in zip(key, given, strict=True)
        if type(each) is not int
    )
    return first, second


def _bound(value: Any) -> Any:
    return int(value.item()) if isinstance(value, Tensor) and value.ndim and value.size == 1 else value


def _bounds(key: Any) -> Any:
    """Returns an index whose slices have numbers in the place of tensors of one element."""
    if isinstance(key, slice):
        return slice(_bound(key.start), _bound(key.stop), _bound(key.step))
    if type(key) is tuple and any(isinstance(each, slice) for each in key):
        return tuple(_bounds(each) if isinstance(each, slice) else each for each in key)
    return key


def _getitem(self: Tensor, key: Any) -> Tensor:
    key = _bounds(key)
    steps = _in_two_steps(key)
    return _native_getitem(self, key) if steps is None else _native_getitem(_native_getitem(self, steps[0]), steps[1])


def _setitem(self: Tensor, key: Any, value: Any) -> None:
    key = _bounds(key)
    if isinstance(value, Tensor) and value.ndim >= self.ndim > 0 and value.shape[0] == 1:
        # Axes of size 1 in front may be more than the place has: they say nothing.
        sizes = list(value.shape)
        value = lm.reshape(value, sizes[next((i for i, size in enumerate(sizes) if size != 1), len(sizes)) :])
    steps = _in_two_steps(key)
    if steps is None:
        _native_setitem(self, key, value)
    else:
        _native_setitem(_native_getitem(self, steps[0]), steps[1], value)


def _item_of(self: Tensor, *args: int) -> Any:
    """Returns the number that the tensor holds, or that at a place in the order of elements, or at places of axes."""
    if not args:
        return _native_item(self)
    return _native_item(lm.reshape(self, (-1,))[args[0]] if len(args) == 1 else self[tuple(args)])


def _truth(self: Tensor) -> bool:
    """True if the number that the tensor holds is above 0, which Paddle takes for true."""
    return bool(_native_bool_of(self) and _native_item(self) > 0)


def _gradient(self: Tensor) -> Any:
    """Returns the gradient as a numpy array, or None."""
    return None if self.grad is None else self.grad.numpy()


def _clear_gradient(self: Tensor, set_to_zero: bool = True) -> None:
    if set_to_zero and self.grad is not None:
        self.grad = lm.zeros_like(self.grad)
    else:
        self.grad = None


def _set_value(self: Tensor, value: Any) -> None:
    """Writes the elements of a tensor or an array of the same shape; ValueError where the shape is another."""
    given = value if isinstance(value, Tensor) else lm.asarray(value)
    if list(given.shape) != list(self.shape):
        raise ValueError(f"[set_value] takes the shape {list(self.shape)} of the tensor, not {list(given.shape)}")
    with lm.no_grad():
        self.copy_(given.astype(self.dtype))


def _persistable(self: Symbol) -> bool:
    return self.name in static.program.program_of("persistable", self).held or _is_parameter(self)


def _is_parameter(self: Symbol) -> bool:
    return any(self is each for each in static.program.program_of("is_parameter", self).all_parameters())


#: Names of the methods and properties of this module.
METHODS: set[str] = set()


def _item(name: str, value: Any) -> None:
    METHODS.add(name)
    setattr(Tensor, name, value)


def _operator(name: str, value: Any) -> None:
    """Sets a method that computes, of tensors and of the variables of programs."""
    _item(name, value)
    setattr(Symbol, name, value)


def add(name: str, function: Callable[..., Any]) -> None:
    """Gives tensors a method, where Lamella's own modules keep theirs of the name."""
    _item(name, of_two_meanings(name, function))


def _to_sparse_coo(self: Tensor, sparse_dim: int) -> Any:
    """Returns the elements that are not 0 with their places, which the first axes have."""
    from .sparse._tensor import of_dense

    return of_dense(self, sparse_dim)


def _to_sparse_csr(self: Tensor) -> Any:
    """Returns a matrix, or several, by rows: the elements that are not 0."""
    from .sparse._tensor import of_dense

    return of_dense(self, self.ndim).to_sparse_csr()


add("to_sparse_coo", _to_sparse_coo)
add("to_sparse_csr", _to_sparse_csr)
_printing.install(_item)
show_dtypes("paddle")
_item("set_value", _set_value)
_item("shape", property(_shape, doc="The sizes of the axes, as a list."))
_symbol: Any = Symbol
_symbol.shape = property(_symbol_shape, doc="The sizes of the axes, as a list; -1 for one known later.")
for _name in (
    "clip",
    "concat",
    "flatten",
    "neg",
    "numel",
    "reshape",
    "split",
    "squeeze",
    "transpose",
    "unsqueeze",
):
    _operator(_name, getattr(F, _name))
for _name in ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum"):
    _operator(_name, of_two_meanings(_name, getattr(R, _name)))
_operator("reshape", lambda self, *shape, name=None, **named: F.reshape(self, F.sized(shape, named, "shape")))
_operator("tile", lambda self, *times, name=None, **named: lm.tile(self, F.sized(times, named, "repeat_times")))
_item("backward", _backward)
_item("numpy", _numpy)
_item("__array__", _array)
_item("__deepcopy__", _deepcopy)
_item("gradient", _gradient)
_item("clear_gradient", _clear_gradient)
_item("clear_grad", of_two_meanings("clear_grad", _clear_gradient))
_item(
    "stop_gradient",
    property(_native_stop_gradient.__get__, _set_stop_gradient, doc="False if gradients are computed for the tensor."),
)
_item("trainable", property(lambda self: not self.stop_gradient, _set_trainable, doc="True if it wants a gradient."))
_item("item", _item_of)
_item("__getitem__", _getitem)
_item("__setitem__", _setitem)
_item("dim", lambda self: self.ndim)
_item("place", property(_printing.place_of, doc="The place of the tensor."))
_operator("t", lambda self, name=None: self.T if self.ndim > 1 else self)

for _module, _names in {
    F: (
        "add allclose broadcast_to cast chunk divide dsplit equal expand floor_divide greater_equal greater_than "
        "hsplit is_tensor less_equal less_than logical_and logical_not logical_or maximum minimum mod multiply "
        "not_equal pow stack remainder subtract tensor_split unstack vsplit where"
    ),
    L: (
        "as_strided div histogram_bin_edges msort permute reduce_as repeat slice_scatter softmax sub swapaxes swapdims "
        "to_dlpack"
    ),
    Q: (
        "add_n atan2 atleast_1d atleast_2d atleast_3d bitwise_left_shift bitwise_right_shift broadcast_shape "
        "broadcast_tensors conj copysign frac frexp index_add is_complex is_empty is_integer isin kthvalue "
        "put_along_axis rand_like randint_like randn_like repeat_interleave select_scatter take "
        "take_along_axis topk unique_consecutive view view_as"
    ),
    P: (
        "as_complex as_real cross dot multiplex norm outer scatter_nd scatter_nd_add shard_index slice stanh "
        "strided_slice"
    ),
    M: (
        "bucketize diag equal_all expand_as gather gather_nd increment index_sample is_floating_point masked_fill "
        "nonzero rank scale scatter unbind unique"
    ),
    R: (
        "amax amin count_nonzero cummax cummin cumprod cumsum histogram logcumsumexp logsumexp median mode nanmean "
        "nanmedian nanquantile nansum quantile std trace var"
    ),
    _matrices: "flip histogramdd reverse rot90 matmul tensordot vander lstsq lu lu_solve lu_unpack "
    "pca_lowrank pinv qr slogdet svd_lowrank",
}.items():
    for _name in _names.split():
        add(_name, getattr(_module, _name))
add("astype", lambda self, dtype: lm.cast(self, F.dtype_of(dtype)))
add("take_along_dim", Q.take_along_axis)
for _name, _value in _methods.METHODS.items():
    _item(_name, of_two_meanings(_name, _value) if callable(_value) else _value)
for _name, _value in list(_overwriting.methods(METHODS)):
    _item(_name, _value)

_item("__bool__", of_two_meanings("__bool__", _truth))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    # As in Paddle, `x += y` is `x = x + y`: other names of the tensor keep its elements, and dtypes and shapes widen.
    setattr(Tensor, f"__i{_name}__", of_two_meanings(f"__i{_name}__", getattr(operator, f"__{_name}__")))

_symbol.persistable = property(_persistable, doc="True if the variable keeps its value from run to run.")
_symbol.is_parameter = property(_is_parameter, doc="True for a parameter.")
_symbol.trainable = property(lambda self: not self.stop_gradient, doc="True for a parameter that is trained.")
_symbol.block = property(
    lambda self: static.program.program_of("block", self).global_block(), doc="The block of the variable's program."
)

_native_equal: Any = Symbol.__eq__
_native_bool: Any = Symbol.__bool__


def _equal(self: Symbol, other: Any) -> Any:
    result = _native_equal(self, other)
    if isinstance(other, Symbol):
        result._compares = True
    return result


def _bool(self: Symbol) -> bool:
    if not getattr(self, "_compares", False):
        return bool(_native_bool(self))
    warnings.warn(
        "a comparison of two variables of a program is taken for True, as in Paddle: their values are known when the "
        "program runs",
        UserWarning,
        stacklevel=2,
    )
    return True


# Paddle's variables are true, and its tests assert that two are equal: only there an answer is given.
_symbol.__eq__ = _equal
_symbol.__bool__ = _bool

# In a program, `x += y` makes a new variable, as in Paddle.
variables_are_new()
