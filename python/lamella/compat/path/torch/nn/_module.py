"""Modules and parameters with PyTorch's methods and arguments.

Layers are Lamella's own, or subclasses of these: as with tensors, the type of all modules learns the dialect.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import lamella as lm
from lamella.nn import Module

from .._asking import Asking, disabled
from .._stand_ins import TensorType
from .._taking_over import DOUBLE
from .._tensor_types import AnyTensor
from ._conversions import METHODS as _CONVERSIONS
from ._hooks_of_one import ATTRIBUTES as _HOOKS
from ._printing import text_of
from ._states import METHODS as _STATES

_native_to: Any = Module.to
_native_zero_grad: Any = Module.zero_grad
_native_named_parameters: Any = Module.named_parameters
_native_named_buffers: Any = Module.named_buffers


class _ParameterType(TensorType, AnyTensor):
    """Type of parameters, which is one of tensors, too."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 (a metaclass)
        """Makes a parameter; of an object of a subclass of tensors one that is of this class, too."""
        data = args[0] if args else kwargs.get("data")
        if cls is Parameter and isinstance(data, Asking) and not isinstance(data, lm.nn.Parameter):
            return _parameter_of(*args, **kwargs)
        return super().__call__(*args, **kwargs)


class Parameter(lm.nn.Parameter, metaclass=_ParameterType):
    """A leaf that a module registers; the parameters of Lamella's own layers are instances, too."""

    native = lm.nn.Parameter
    __torch_function__ = staticmethod(disabled)

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:  # type: ignore[misc]
        """Makes a parameter on the memory of ``data``."""
        if (part := getattr(data, "_as_parameter", None)) is not None:  # of a tensor over many processes
            return part(not requires_grad)
        values = lm.zeros((0,)) if data is None else data.detach()
        return lm.Tensor.__new__(cls, values, stop_gradient=not requires_grad)


def _parameter_of(data: Any, requires_grad: bool = True) -> Any:
    """Returns a parameter on the memory of an object of a subclass of tensors, with its attributes.

    Raises:
        RuntimeError: what the object is off the tape is of another class.
    """
    held = data.detach()
    if type(held) is not type(data):
        raise RuntimeError(
            f"[Parameter] detach() of a {type(data).__name__} is to return one, for a parameter to be made of it, not "
            f"a {type(held).__name__}"
        )
    kind: Any = type(data)
    made = _new_tensor(_parameters_of(kind), held, stop_gradient=not requires_grad)
    vars(made).update(vars(held))
    return made


@functools.cache
def _parameters_of(kind: Any) -> Any:
    """Returns the class of parameters that are objects of a subclass of tensors, to what they ask as well."""
    namespace = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "asks_as": kind}
    return type(kind)(kind.__name__, (kind, Parameter), namespace)


_new_tensor: Any = lm.Tensor.__new__
_new_parameter: Any = lm.nn.Parameter.__new__


def _new(cls: Any, data: Any = None, dtype: Any = None, *, requires_grad: bool | None = None, **named: Any) -> Any:
    """Makes a parameter of a class as Lamella does, or where ``requires_grad`` is given as :class:`Parameter` does."""
    if requires_grad is None and not isinstance(dtype, bool):
        return _new_parameter(cls, data, dtype, **named)
    wanted = dtype if requires_grad is None else requires_grad
    return _new_tensor(cls, data.detach(), stop_gradient=not wanted)


_native_deepcopy: Any = lm.nn.Parameter.__deepcopy__


def _deepcopy(self: lm.nn.Parameter, memo: dict[int, Any]) -> lm.nn.Parameter:
    """Returns a parameter of its own with a copy of the values, without a gradient."""
    copied: lm.nn.Parameter = _native_deepcopy(self, memo)
    copied.grad = None
    return copied


_parameters: Any = lm.nn.Parameter
_parameters.__new__ = _new
_parameters.__deepcopy__ = _deepcopy


class UninitializedTensorMixin:
    """Class of tensors whose shape the first input tells: they have no elements until they are materialized."""

    #: The class of what it becomes.
    _becomes: type

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Makes it a tensor of a shape, whose elements are not set."""
        this: Any = self
        device = str(this.device) if device is None else device
        self._become(lm.empty(tuple(shape), dtype=this.dtype if dtype is None else dtype, device=device))

    def _become(self, values: lm.Tensor) -> None:
        """Makes it a tensor with the elements of another, in whose memory they are."""
        this: Any = self
        this.data = values.detach()
        this.__class__ = self._becomes

    def numel(self) -> int:
        """Raises: the shape is not known."""
        raise ValueError(f"[{type(self).__name__}] has no shape before the first call of its layer: call that first")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape the first input tells."""

    _becomes = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:  # type: ignore[misc]
        """Makes a parameter without elements."""
        values = lm.empty((0,), dtype=lm.float32 if dtype is None else dtype, device=device)
        return lm.Tensor.__new__(cls, values, stop_gradient=not requires_grad)


class _BufferType(TensorType, AnyTensor):
    """Type of buffers, which is one of tensors, too."""


class UninitializedBuffer(UninitializedTensorMixin, lm.nn.Buffer, metaclass=_BufferType):
    """A buffer whose shape the first input tells."""

    native = lm.nn.Buffer
    _becomes = lm.nn.Buffer

    def __new__(  # type: ignore[misc]
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        """Makes a buffer without elements."""
        values = lm.empty((0,), dtype=lm.float32 if dtype is None else dtype, device=device)
        made: Any = lm.Tensor.__new__(cls, values, stop_gradient=not requires_grad)
        made.persistent = persistent
        return made


def is_lazy(param: Any) -> bool:
    """True for a parameter whose shape is not known yet."""
    return isinstance(param, UninitializedTensorMixin)


class InPlace:
    """Layers that write over their input where ``inplace`` is set."""

    inplace = False

    def forward(self, input: lm.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Returns the function of ``input``; where ``inplace`` is set, in the memory of ``input``."""
        native: Any = self._native  # type: ignore[attr-defined]
        if not self.inplace:
            return native.forward(self, input, *args, **kwargs)
        if isinstance(self, lm.nn.ReLU):
            return lm.relu_(input)
        return input.copy_(native.forward(self, input.clone()))


def _to(self: Module, *args: Any, **kwargs: Any) -> Module:
    """Implements Module.to(): a device, a dtype, both, or those of a tensor."""
    kwargs.pop("non_blocking", None)
    kwargs.pop("memory_format", None)
    for target in [*args, kwargs.get("device"), kwargs.get("dtype"), kwargs.get("tensor")]:
        if isinstance(target, lm.Tensor):
            _native_to(_native_to(self, str(target.device)), target.dtype)
        elif target is not None and not isinstance(target, bool):
            _native_to(self, f"cuda:{target}" if isinstance(target, int) else DOUBLE.get(target, target))
    return self


def _zero_grad(self: Module, set_to_none: bool = True) -> None:
    """Drops the gradients of all parameters, or makes them zeros."""
    if set_to_none:
        _native_zero_grad(self)
        return
    with lm.no_grad():
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad.zero_()


def _all_names(native: Callable[..., Any], place: str) -> Callable[..., Any]:
    """Returns named_parameters() or named_buffers(), which may name a shared tensor several times."""

    def method(
        self: Module, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        if remove_duplicate:
            yield from native(self, prefix, recurse)
            return
        for path, module in _modules(self, prefix) if recurse else [(prefix, self)]:
            for name, tensor in getattr(module, place).items():
                if tensor is not None:
                    yield (f"{path}.{name}" if path else name), tensor

    return method


def _modules(module: Module, prefix: str) -> Iterator[tuple[str, Module]]:
    """Yields a module and all below it, as often as they stand there."""
    yield prefix, module
    for name, child in module._modules.items():
        if child is not None:
            yield from _modules(child, f"{prefix}.{name}" if prefix else name)


def _cast(dtype: Any) -> Callable[[Module], Module]:
    return lambda self: _native_to(self, dtype)


def _type(self: Module, dst_type: Any) -> Module:
    """Implements Module.type(): floating tensors in another dtype."""
    return _to(self, dst_type)


def _registering(name: str, place: str) -> Callable[..., None]:
    """Returns a method that registers something under a name, but for one that an attribute of another kind has."""
    native: Any = getattr(Module, name)

    @functools.wraps(native)
    def method(self: Module, name_of: Any, *args: Any, **kwargs: Any) -> None:
        others = {"_parameters", "_buffers", "_modules"} - {place}
        if any(name_of in getattr(self, each) for each in others):
            raise KeyError(f"[{name}] '{name_of}' is already an attribute of {type(self).__name__} of another kind")
        native(self, name_of, *args, **kwargs)

    return method


_native_setattr: Any = Module.__setattr__
_NO_PARAMETERS = Module, lm.nn.Buffer


def _setattr(self: Module, name: str, value: Any) -> None:
    """Sets an attribute, but for a module or a buffer in the place of a parameter.

    Raises:
        TypeError: the name is a parameter's.
    """
    if name in self.__dict__.get("_parameters", ()) and isinstance(value, _NO_PARAMETERS):
        raise TypeError(
            f"[{type(self).__name__}] '{name}' is a parameter: it takes a Parameter or None, not {type(value).__name__}"
        )
    _native_setattr(self, name, value)


def _submodule(self: Module, target: str) -> Module:
    """Returns the module that a dotted path names."""
    found: Any = self
    for name in target.split(".") if target else []:
        found = getattr(found, name)
        if not isinstance(found, Module):
            raise AttributeError(f"[get_submodule] '{name}' of '{target}' is no module")
    return found


def _tensor_of(self: Module, target: str) -> Any:
    """Returns the parameter or buffer that a dotted path names."""
    path, _, name = target.rpartition(".")
    return getattr(_submodule(self, path), name)


def _share_memory(self: Module) -> Module:
    """Puts the parameters and buffers into memory that processes share; see :mod:`torch.multiprocessing`."""
    from ..multiprocessing import share_module

    return share_module(self)


def _compile(self: Module, *args: Any, **kwargs: Any) -> None:
    """Makes calls of the module run as graphs."""
    self.__dict__["forward"] = lm.compile(self.forward)


def _keys_text(self: Any) -> str:
    """Returns the text of what did not fit when a state was loaded."""
    if not self.missing_keys and not self.unexpected_keys:
        return "<All keys matched successfully>"
    return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


_incompatible: Any = lm.nn.IncompatibleKeys
_incompatible.__repr__ = _keys_text


_native_member: Any = lm.nn.Sequential.__getitem__


def _members(self: lm.nn.Sequential, index: int | slice) -> Any:
    """Returns a layer, or a sequence of several, in which they keep their names."""
    if not isinstance(index, slice):
        return _native_member(self, index)
    made: Any = _native_member(self, slice(0, 0))
    made._modules.update(list(self._modules.items())[index])
    return made


def _repeated(self: lm.nn.Sequential, times: int) -> Any:
    """Returns a sequence of the layers, the same objects, several times one after the other.

    Raises:
        TypeError: ``times`` is no whole number.
        ValueError: it is below 1.
    """
    if not isinstance(times, int):
        raise TypeError(f"[Sequential] a sequence is repeated a whole number of times, not {times!r}")
    if times < 1:
        raise ValueError(f"[Sequential] a sequence is repeated at least once, not {times} times")
    made: Any = _native_member(self, slice(0, 0))
    return made.extend([layer for _ in range(times) for layer in self])


def _repeat(self: lm.nn.Sequential, times: int) -> Any:
    layers = list(_repeated(self, times))
    return self.extend(layers[len(self) :])


_sequences: Any = lm.nn.Sequential
_sequences.__getitem__ = _members
_sequences.__mul__ = _sequences.__rmul__ = _repeated
_sequences.__imul__ = _repeat


def _put(name: str, method: Any) -> None:
    setattr(Module, name, method)


def _put_missing(name: str, method: Any) -> None:
    if not hasattr(Module, name):
        _put(name, method)


for _name, _method in {**_STATES, **_CONVERSIONS, **_HOOKS}.items():
    _put(_name, _method)
_put("to", _to)
_put("zero_grad", _zero_grad)
_put("named_parameters", _all_names(_native_named_parameters, "_parameters"))
_put("named_buffers", _all_names(_native_named_buffers, "_buffers"))
_put("type", _type)
_put("__setattr__", _setattr)
for _name, _place in {
    "register_parameter": "_parameters",
    "register_buffer": "_buffers",
    "add_module": "_modules",
}.items():
    _put(_name, _registering(_name, _place))
_put("register_module", Module.add_module)
_put("share_memory", _share_memory)
_put("compile", _compile)
_put("_get_name", lambda self: type(self).__name__)
_put("_call_impl", lambda self, *args, **kwargs: self(*args, **kwargs))
_put("__repr__", text_of)
_put("xpu", lambda self, device=None: self.to("xpu" if device is None else device))
_put("register_backward_hook", Module.register_full_backward_hook)
_put_missing("get_submodule", _submodule)
_put_missing("get_parameter", _tensor_of)
_put_missing("get_buffer", _tensor_of)
_put_missing("cuda", lambda self, device=None: self.to("cuda" if device is None else device))
_put_missing("cpu", lambda self: self.to("cpu"))
for _name, _dtype in {"float": lm.float32, "double": lm.float64, "half": lm.float16, "bfloat16": lm.bfloat16}.items():
    _put_missing(_name, _cast(_dtype))
# Memory of recurrent layers is one piece from the start.
_put_missing("flatten_parameters", lambda self: None)
