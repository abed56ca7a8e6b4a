"""Methods of PyTorch's tensors that Lamella's lack, or that mean something else there.

Every function gives Lamella's own Tensor, so the type itself learns the dialect: in this process, once the front has
been imported. Lamella's own code keeps its methods, see :mod:`lamella.compat.methods`.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella._attributes import replace
from lamella.compat.dtype_texts import show_dtypes
from lamella.compat.methods import of_two_meanings

from . import _copies as C  # noqa: N812
from . import _drawing as D  # noqa: N812
from . import _elements as E  # noqa: N812
from . import _functions as F  # noqa: N812
from . import _matrices as M  # noqa: N812
from . import _plain as P  # noqa: N812
from . import _reductions as R  # noqa: N812
from . import _writing
from ._device import device
from ._dtypes import ABSENT
from ._indexing import indexed
from ._memory import TypedStorage, UntypedStorage
from ._plain import IN_FORWARD, layout_of
from ._printing import text_of
from ._reshaped import METHODS as _RESHAPED
from ._reshaped import set_data
from ._size import Size, shape_of
from ._storages import rebuild_from_type as _rebuild_from_type_v2  # noqa: F401 (PyTorch's name in files)
from ._taking_over import DOUBLE, opened
from ._warnings import is_called_by_program, warn

_native_size: Any = Tensor.__dict__["size"]
_native_to: Any = Tensor.to
_native_pin: Any = Tensor.pin_memory
_native_is_pinned: Any = Tensor.is_pinned
_native_device: Any = Tensor.__dict__["device"]
_native_is_contiguous: Any = Tensor.is_contiguous
_native_contiguous: Any = Tensor.contiguous
_native_numpy: Any = Tensor.numpy
#: Subclasses of tensors may have a method of the name, as in numpy.
_native_astype: Any = Tensor.astype


#: Returns the device of a name.
_device_of = functools.cache(device)
_native_shape: Any = Tensor.__dict__["shape"].__get__


def _size_of(x: Tensor, dim: int) -> Any:
    return _native_shape(x)[dim] if type(x) is Tensor else x.shape[dim]


class _Size:
    """``x.size()`` and ``x.size(dim)``; to Lamella, which counts elements by this name, a number as before."""

    __name__ = "size"

    def __call__(self, x: Tensor, dim: int | None = None) -> Any:
        return x.shape if dim is None else _size_of(x, dim)

    def __get__(self, x: Tensor | None, owner: type) -> Any:
        return self if x is None else self.of(x, _count(x))

    def of(self, x: Tensor, count: int) -> Any:
        """Returns what a tensor of `count` elements has."""
        made = _new_int(_SizeOf, -1 if hasattr(count, "known_later") else count)
        made.tensor = x
        return made


_new_int = int.__new__
_count = _native_size.__get__


class _SizeOf(int):
    tensor: Tensor

    def __call__(self, dim: int | None = None) -> Any:
        return self.tensor.shape if dim is None else _size_of(self.tensor, dim)


def _moved(x: Tensor, *args: Any, **named: Any) -> Tensor:
    """Returns a tensor in another dtype or on another device; a value of a graph has a method for it."""
    own = getattr(x, "_moved", None) if type(x) is not Tensor else None
    result: Tensor = _native_to(x, *args, **named) if own is None else own(*args, **named)
    return result


def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Implements Tensor.to(): a dtype, a device, both, or those of another tensor."""
    non_blocking = bool(kwargs.pop("non_blocking", False)) or args[1:] == (True,)
    copy = kwargs.pop("copy", False)
    kwargs.pop("memory_format", None)
    if "other" in kwargs:
        args = (*args, kwargs.pop("other"))
    result = self
    for target in args:
        if isinstance(target, Tensor):
            result = _moved(result, dtype=target.dtype, device=target.device, non_blocking=non_blocking)
        elif target is None or isinstance(target, bool):
            continue  # no target; non_blocking
        else:
            target = device(target) if isinstance(target, int) else DOUBLE.get(target, target)
            result = _moved(result, target, non_blocking=non_blocking)
    kwargs = {name: DOUBLE.get(value, value) for name, value in kwargs.items() if value is not None}
    result = _moved(result, **kwargs, non_blocking=non_blocking) if kwargs else result
    return result.clone() if copy and result is self else result


_to.takes_values = True  # type: ignore[attr-defined]


def _view(self: Tensor, *shape: Any, **named: Any) -> Tensor:
    """Implements Tensor.view() and reshape(): sizes one by one or together. A dtype reads the memory anew."""
    if shape and type(shape[0]) is int:
        return lm.reshape(self, shape)
    given = shape or tuple(named.values())
    if len(given) == 1 and isinstance(given[0], lm.DType):
        return _as_dtype(self, given[0])
    return lm.reshape(self, F._sizes(given))


def _as_dtype(self: Tensor, dtype: Any) -> Tensor:
    """Returns the memory of a tensor read as elements of another dtype, more or fewer of them along the last axis."""
    if hasattr(self, "known_later"):
        raise RuntimeError("[view] a program has no operator that reads the memory of a value as another dtype")
    before, after = self.dtype.itemsize, dtype.itemsize
    shape, strides = list(self.shape), list(self.strides)
    if before != after:
        if not shape or strides[-1] != 1 or shape[-1] * before % after or any(n * before % after for n in strides[:-1]):
            raise RuntimeError(
                f"[view] elements of {before} bytes in the shape {shape} and the strides {strides} are none of {after}"
            )
        shape[-1] = shape[-1] * before // after
        strides[:-1] = [n * before // after for n in strides[:-1]]
    memory, place = _place_of(self)
    if memory is None:
        return _as_dtype(lm.clone(self.detach()), dtype)
    return lm._C._tensor_in_memory(memory, dtype, shape, strides, place)


def _place_of(self: Tensor) -> tuple[Tensor | None, int]:
    """Returns the memory that a tensor lies in, as bytes, and where it begins there; None for that of another owner."""
    memory = lm._C._memory_as_bytes(self)  # shares the memory, so that there is a place in it
    place = lm._C._shared_memory(self)
    return (None, 0) if place is None else (memory, place[1])


def _format(self: Tensor, spec: str) -> str:
    """Implements Tensor.__format__(): a number without axes as that number, others as they are printed."""
    return format(self.item() if self.ndim == 0 and self.device != "meta" else str(self), spec)


def _expand(self: Tensor, *shape: Any) -> Tensor:
    dims = F._sizes(shape)
    if -1 in dims:
        own = self.shape
        added = len(dims) - len(own)
        # A size of a graph that is known later is -1, too, and no axis that stays.
        dims = tuple(own[i - added] if n == -1 and type(n) is int else n for i, n in enumerate(dims))
    return F.broadcast_to(self, dims)


def _repeat(self: Tensor, *repeats: Any) -> Tensor:
    """Implements Tensor.repeat(): the tensor several times over along each axis, new ones in front.

    Raises:
        RuntimeError: there are fewer numbers than axes.
    """
    counts = F._sizes(repeats)
    if len(counts) < self.ndim:
        raise RuntimeError(f"[repeat] takes a number for each of the {self.ndim} axes at least, not {list(counts)}")
    return lm.tile(self, counts)


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Implements Tensor.type(): the name of the type, or a cast to a dtype or to the dtype of a type."""
    if dtype is None:
        return F._type_of(self)
    if isinstance(dtype, str) and dtype.startswith("torch."):
        dtype = F.TENSOR_TYPES[dtype.rpartition(".")[2]]
    elif isinstance(dtype, type) and dtype.__dict__.get("_stands_for_all"):  # torch.Tensor
        dtype = sys.modules["torch"].get_default_dtype()
    return _native_astype(self, getattr(dtype, "dtype", DOUBLE.get(dtype, dtype)), copy=False)


def _cast(dtype: Any) -> Any:
    return lambda self, memory_format=None: _native_astype(self, dtype, copy=False)


def _as_of(self: Tensor, options: dict[str, Any]) -> dict[str, Any]:
    """Returns options of a new tensor, with a tensor's dtype and device where none is given."""
    given = {word: value for word, value in options.items() if value is not None}
    return {"dtype": self.dtype, "device": self.device, **given}


def _new(name: str) -> Any:
    def method(self: Tensor, *size: Any, **kwargs: Any) -> Tensor:
        kwargs = _as_of(self, kwargs)
        made: Tensor = getattr(sys.modules["torch"], name)(*size, **kwargs)
        # Under vmap the tensor may get what differs from example to example: it has one part for each, as its maker.
        if lm._C._hidden_axes(self) and self.size:
            one = lm.zeros_like(lm.reshape(self.detach(), (-1,))[0], dtype=made.dtype)
            with lm.no_grad():
                return (lm.broadcast_to(one, made.shape) + made).requires_grad_(made.requires_grad)
        return made

    return method


#: Names of the methods and properties of this module.
METHODS: set[str] = set()


def _put(name: str, value: Any) -> None:
    METHODS.add(name)
    setattr(Tensor, name, value)


def _replace(name: str, value: Any) -> None:
    """Sets a method or property that recorders look at."""
    METHODS.add(name)
    replace(name, value)


def _scaled_in_place(native: Any) -> Any:
    def method(self: Tensor, other: Any, *scaled: Any, alpha: Any = 1) -> Tensor:
        if scaled:  # older programs give the factor first
            alpha, (other,) = other, scaled
        return native(self, F._times(other, alpha, self))

    return method


def _div_in_place(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    return _writing.over_itself(F.div(self.clone(), other, rounding_mode=rounding_mode), self)


def _with_value(native: Any) -> Any:
    """Returns scatter_() that takes a number by the name of ``value``, and adds or multiplies where asked to."""

    def method(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None) -> Any:
        if P.names_nothing(self, index):
            return self
        if reduce is not None:
            return self.copy_(F.scatter(self.clone(), dim, index, src, value=value, reduce=reduce))
        return native(self, dim, index, value if src is None else src)

    return method


def _data(self: Tensor) -> Tensor:
    """Returns the tensor's memory off the tape.

    What is written there goes unnoticed in the forward of a layer, and for tensors that are computed from others.
    """
    if self.device != "cpu" or (self.is_leaf and getattr(IN_FORWARD, "depth", 0) == 0):
        return self.detach()
    if type(self) is not Tensor and isinstance(self, lm.graph.Symbol):
        return self.detach()
    return lm.from_dlpack(self.detach())


_native_backward: Any = Tensor.backward


def _backward(self: Tensor, *args: Any, **named: Any) -> None:
    """Implements Tensor.backward(), whose gradient goes by that name."""
    if "gradient" in named:
        named["grad"] = named.pop("gradient")
    if not args and named.get("grad") is None and self.dtype in (lm.complex64, lm.complex128):
        raise RuntimeError("[backward] a complex number has no gradient to begin with: give one, or take a real part")
    if named.get("create_graph") and is_called_by_program():
        warn("[backward] create_graph=True: parameters and gradients keep each other alive, take torch.autograd.grad")
    _native_backward(self, *args, **named)


_native_grad: Any = Tensor.__dict__["grad"]


def _grad(self: Tensor) -> Tensor | None:
    """The gradient that backward() has added up; a warning where a program asks a tensor that gets none."""
    found: Tensor | None = _native_grad.__get__(self)
    if found is None and not (self.is_leaf or self.retains_grad) and is_called_by_program():
        warn(
            "[grad] this tensor is computed from others and gets no gradient: call its retain_grad() before backward()"
        )
    return found


def _split(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Implements Tensor.split(): parts of one size, or of the sizes in a list."""
    return F.split(self, split_size, dim)


def _is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Implements Tensor.is_contiguous(): in the order of axes that a memory format names."""
    orders = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}
    order = orders.get(memory_format)
    if order is None:
        return bool(_native_is_contiguous(self))
    return self.ndim == len(order) and bool(_native_is_contiguous(lm.permute_dims(self, order)))


def _new_of(self: Tensor, *data: Any, size: Any = None, device: Any = None) -> Tensor:
    """Implements Tensor.new(), of older programs: sizes one by one, or data."""
    if size is not None:
        data = (Size(size),)
    sizes = all(isinstance(each, int) for each in data)
    if len(data) == 1 and isinstance(data[0], Size):
        data, sizes = tuple(data[0]), True
    if sizes:
        return lm.empty(tuple(data) or (0,), dtype=self.dtype, device=self.device)
    return lm.tensor(data[0], dtype=self.dtype, device=self.device)


_native_index: Any = Tensor.__index__


def _index(self: Tensor) -> int:
    """Implements Tensor.__index__(): the number of a tensor of one integer, with axes or without."""
    return _native_index(lm.reshape(self, ()) if self.ndim and math.prod(self.shape) == 1 else self)


def _contains(self: Tensor, element: Any) -> bool:
    """Implements ``element in x``: True if an element equals it.

    Raises:
        RuntimeError: it is neither a number nor a tensor.
    """
    if not isinstance(element, (int, float, complex, Tensor)):
        raise RuntimeError(f"[in] elements of a tensor are numbers or tensors, not {type(element).__name__}")
    return bool(lm.any(lm.equal(self, element)))


def _to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None) -> Any:
    """Implements Tensor.to_sparse(): see :mod:`torch.sparse`."""
    from .sparse import dense_to_sparse

    found = dense_to_sparse(self, sparse_dim)
    return found if layout is None else found.to_sparse(layout=layout)


def _to_sparse_layout(name: str) -> Callable[..., Any]:
    def method(self: Tensor, dense_dim: int | None = None) -> Any:
        return _to_sparse(self, layout=layout_of(name))

    method.__doc__ = f"The matrix in the layout {name}, see :mod:`torch.sparse`."
    return method


def _sparse_mask(self: Tensor, mask: Any) -> Any:
    """Implements Tensor.sparse_mask(): see :mod:`torch.sparse`."""
    from .sparse import masked

    return masked(self, mask)


def _share_memory(self: Tensor) -> Tensor:
    """Implements Tensor.share_memory_(): see :mod:`torch.multiprocessing`."""
    from .multiprocessing import share

    return share(self)


def _is_shared(self: Tensor) -> bool:
    """True if other processes can open the tensor's memory."""
    from .multiprocessing import is_shared

    return is_shared(self)


_put("__getitem__", indexed(Tensor.__getitem__))
_put("__setitem__", indexed(Tensor.__setitem__))
_replace("shape", shape_of(Tensor.__dict__["shape"]))
_put("size", _Size())
_put("device", property(lambda self: _device_of(_native_device.__get__(self)), doc="Where the tensor is."))
_put("to", _to)
_put("view", _view)
_put("reshape", of_two_meanings("reshape", _view))
_put("expand", _expand)
_put("expand_as", lambda self, other: F.broadcast_to(self, other.shape))
_put("reshape_as", lambda self, other: lm.reshape(self, other.shape))
_put("view_as", lambda self, other: lm.reshape(self, other.shape))
_put("permute", lambda self, *args, dims=(): lm.permute_dims(self, F._sizes(args or dims)))
_put("repeat", of_two_meanings("repeat", _repeat))
_put("unfold", lambda self, dimension, size, step: lm.sliding_window(self, dimension, size, step))
_put("dim", lambda self: self.ndim)
_put("ndimension", lambda self: self.ndim)
_put("nelement", lambda self: math.prod(self.shape))
_put("storage_offset", lambda self: _place_of(self)[1] // self.dtype.itemsize)
_put("element_size", lambda self: self.dtype.itemsize)
_put("stride", lambda self, dim=None: tuple(self.strides) if dim is None else self.strides[dim])
_put("type", _type)
_put("_grad", property(lambda self: self.grad, lambda self, value: setattr(self, "grad", value), doc="See ``grad``."))
_put("type_as", lambda self, other: _native_astype(self, other.dtype, copy=False))
_put("is_cuda", property(lambda self: self.device.startswith("cuda"), doc="True if the tensor is on a GPU."))
_put("is_cpu", property(lambda self: self.device == "cpu", doc="True if the tensor is on the CPU."))
_put("is_meta", property(lambda self: self.device == "meta", doc="True if the tensor has a shape only."))
for _name in ["xpu", "xla", "ipu", "mtia", "vulkan", "mps", "sparse", "quantized", "nested", "mkldnn"]:
    _put(f"is_{_name}", property(lambda self: False, doc="False: there are no such tensors here."))
_put("layout", property(lambda self: P.STRIDED, doc="All tensors are strided."))
_put("data", property(_data, set_data, doc="A tensor on the same memory, off the tape."))
for _name, _method in _RESHAPED.items():
    _put(_name, _method)
_put(
    "new_empty_strided",
    lambda self, size, stride, dtype=None, device=None, **options: F.empty_strided(
        size, stride, dtype=dtype or self.dtype, device=device or self.device, **options
    ),
)
_put("__contains__", _contains)
_put("__index__", _index)
_put("__format__", _format)
_put("__repr__", text_of)
_put("__str__", lambda self: repr(self))
_put("get_device", lambda self: -1 if self.device == "cpu" else self.device.index or 0)
_put("fill_diagonal_", E.fill_diagonal)
_put("map_", E.mapped)
_put("map2_", E.mapped)
_put("dim_order", E.dim_order)
_put("is_set_to", E.is_set_to)
_put("__reversed__", E.flipped)
_put("index_put_", E.put_by_index(Tensor.index_put_))
_put("index_put", E.put_by_index(Tensor.index_put))
_replace("is_contiguous", _is_contiguous)
_put("contiguous", lambda self, memory_format=None: _native_contiguous(self))
_put("bernoulli", D.bernoulli)
_put("random_", of_two_meanings("random_", D.random_))
_put("uniform_", D.uniform_)
_put("new", _new_of)
_put("to_sparse", _to_sparse)
_put("sparse_mask", _sparse_mask)
for _name in ("coo", "csr", "csc"):
    _put(f"to_sparse_{_name}", _to_sparse_layout(f"torch.sparse_{_name}"))
_put("is_neg", lambda self: False)
_put("to_dense", lambda self, dtype=None, *, masked_grad=True: self if dtype is None else _native_astype(self, dtype))
_put("unsafe_chunk", lambda self, chunks, dim=0: F.chunk(self, chunks, dim))
_put("unsafe_split", lambda self, split_size, dim=0: F.split(self, split_size, dim))
_put("is_signed", P.is_signed)
_put("put", P.put)
_put("put_", lambda self, index, source, accumulate=False: self.copy_(P.put(self.clone(), index, source, accumulate)))
_put("sum_to_size", lambda self, *size: lm.sum_to(self, F._sizes(size)))
_put("where", lambda self, condition, other: F.where(condition, self, other))
_put("pin_memory", lambda self, device=None: _native_pin(self) if lm.cuda.is_available() else self)
_put("is_pinned", lambda self, device=None: _native_is_pinned(self))
_put("record_stream", lambda self, stream: None)
_put("is_shared", _is_shared)
_put("share_memory_", _share_memory)
_put("untyped_storage", lambda self: UntypedStorage.of(self))
_put("_is_view", lambda self: self._base is not None)
_put("storage", lambda self: TypedStorage(wrap_storage=UntypedStorage.of(self), dtype=self.dtype))
_put("apply_", lambda self, function: self.copy_(lm.tensor(_mapped(function, self.tolist()), dtype=self.dtype)))
_put("numpy", lambda self, *, force=False: _native_numpy(self.detach().cpu() if force else self))
_put("new_tensor", lambda self, data, **options: opened(F.tensor)(data, **_as_of(self, options)))
_put("add_", _scaled_in_place(Tensor.add_))
_put("sub_", _scaled_in_place(Tensor.sub_))
_put("subtract_", _scaled_in_place(Tensor.subtract_))
_put("div_", of_two_meanings("div_", _div_in_place))
_put("scatter_", _with_value(Tensor.scatter_))
_replace("backward", _backward)
_replace("grad", property(_grad, _native_grad.__set__, _native_grad.__delete__, _native_grad.__doc__))
_put("split", of_two_meanings("split", _split))
_put("copy_", _writing.by_words(Tensor.copy_, "src", dropped="non_blocking"))
for _name, _words in {
    "addcdiv_": "tensor1 tensor2",
    "addcmul_": "tensor1 tensor2",
    "cauchy_": "median sigma",
    "exponential_": "lambd",
    "lerp_": "end weight",
    "pow_": "exponent",
}.items():
    _put(_name, _writing.by_words(getattr(Tensor, _name), *_words.split()))
for _name in ("addcdiv_", "addcmul_"):
    _put(_name, _writing.factor_first(getattr(Tensor, _name)))
for _name in _writing.OPERATORS:
    _put(_name, _writing.off_the_tape(getattr(Tensor, _name)))
_put("masked_fill_", P.masked_fill_)
_put("index_fill_", P.index_fill_)
_native_tril: Any = Tensor.tril_
_native_triu: Any = Tensor.triu_
_put("tril_", lambda self, diagonal=0: _native_tril(self, k=diagonal))
_put("triu_", lambda self, diagonal=0: _native_triu(self, k=diagonal))
_put("clamp_", lambda self, min=None, max=None: self.clip_(min, max))


def _mapped(function: Callable[[Any], Any], values: Any) -> Any:
    return [_mapped(function, each) for each in values] if isinstance(values, list) else function(values)


for _name, _dtype in (
    *(("float", lm.float32), ("double", lm.float64), ("half", lm.float16), ("bfloat16", lm.bfloat16)),
    *(("long", lm.int64), ("int", lm.int32), ("short", lm.int16), ("char", lm.int8), ("byte", lm.uint8)),
    *(("bool", lm.bool), ("cfloat", lm.complex64), ("cdouble", lm.complex128)),
):
    _put(_name, _cast(_dtype))
for _name in ("zeros", "ones", "empty", "full"):
    _put(f"new_{_name}", _new(_name))
for _name in ("index_add_", "index_copy_", "scatter_add_", "scatter_reduce_", "softmax_"):
    if hasattr(Tensor, _name):
        _put(_name, _writing.by_dim(getattr(Tensor, _name)))


def _in_kind(*kinds: str) -> property:
    of_kind = functools.cache(lambda dtype: lm.isdtype(dtype, kinds))
    return property(lambda self: of_kind(self), doc=f"True for numbers of the kind {' or '.join(kinds)}.")


def _to_real(self: Any) -> Any:
    """Returns the dtype of the parts of a complex dtype; a real one is its own."""
    return {lm.complex64: lm.float32, lm.complex128: lm.float64}.get(self, self)


def _to_complex(self: Any) -> Any:
    """Returns the dtype of complex numbers with parts of a dtype; a complex one is its own.

    Raises:
        RuntimeError: the parts would be no floating-point numbers.
    """
    if self.is_complex:
        return self
    found = {lm.float16: ABSENT["complex32"], lm.bfloat16: lm.complex64, lm.float32: lm.complex64}
    if self not in (*found, lm.float64):
        raise RuntimeError(f"[to_complex] complex numbers have floating-point parts, not {self.name}")
    return found.get(self, lm.complex128)


_dtypes: Any = lm.DType
_dtypes.is_floating_point = _in_kind("real floating")
_dtypes.is_complex = _in_kind("complex floating")
_dtypes.to_real = _to_real
_dtypes.to_complex = _to_complex
_dtypes.is_signed = _in_kind("real floating", "complex floating", "signed integer")


show_dtypes("torch")

_native_transposed: Any = Tensor.__dict__["T"]


def _transposed(self: Tensor) -> Any:
    """The tensor with its axes in the opposite order, which is meant for matrices."""
    if self.ndim != 2 and is_called_by_program():
        warn(f"[T] is for matrices, not for {self.ndim} axes: write x.mT, or x.permute(...)")
    return _native_transposed.__get__(self)


_put("T", property(_transposed))

#: Functions written out that are methods of tensors, too.
_WRITTEN = {
    C: "diag flip fliplr flipud rot90 as_strided_scatter",
    F: "add adjoint allclose broadcast_to "
    "chunk div divide equal gradient is_complex is_floating_point is_nonzero is_same_size numel "
    "scatter split_with_sizes squeeze sub subtract t tile unbind clone",
    M: "as_strided cholesky cross inverse is_conj lu narrow_copy qr resolve_conj resolve_neg svd trace "
    "triangular_solve vdot",
    P: "index_fill masked_fill matmul mm repeat_interleave scatter_add scatter_reduce spmm stft",
    R: "amax amin count_nonzero logsumexp max mean median min mode msort nanmean nanmedian nonzero norm sort std sum "
    "unique var histogram",
}
for _module, _names in _WRITTEN.items():
    for _name in _names.split():
        _function = getattr(_module, _name)
        if "dtype" in inspect.unwrap(_function).__code__.co_varnames:
            _function = opened(_function)
        _put(_name, of_two_meanings(_name, _function))
