"""The base of Paddle's layers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Self

import lamella as lm
from lamella.compat.elements import become
from lamella.nn import Module, Parameter
from lamella.static import ParamAttr, default_startup_program, in_dynamic_mode, unique_name
from lamella.static.program import paused

from .._attributes import ParamAttr as PaddleAttr
from .._default_dtype import get_default_dtype
from .._functions import device_name
from .._methods import CASTS
from . import initializer


def _snake(kind: str) -> str:
    """Returns the words of a class's name as Paddle writes them: ``batch_norm2d``, ``gru_cell``."""
    apart = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", kind)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", apart).lower()


class Layer(Module):
    """The base of layers and networks, with Paddle's method names."""

    #: Dtype of parameters that are made without one.
    _dtype = property(lambda self: self.__dict__.get("_own_dtype") or get_default_dtype())

    def __init__(self, name_scope: str | None = None, dtype: Any = None) -> None:
        super().__init__()
        self.__dict__.update(_name_scope=name_scope, _own_dtype=dtype)
        self.full_name()  # layers are counted in the order in which they are made

    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:  # type: ignore[override]
        """Returns the parameters as a list."""
        return list(super().parameters(recurse=include_sublayers))

    def named_parameters(  # type: ignore[override]
        self,
        prefix: str = "",
        include_sublayers: bool = True,
        remove_duplicate: bool = True,
        *,
        recurse: bool | None = None,
    ) -> Iterator[tuple[str, Parameter]]:
        """Yields the parameters with their names, and a path before each."""
        return super().named_parameters(prefix, include_sublayers if recurse is None else recurse, remove_duplicate)

    def named_buffers(  # type: ignore[override]
        self,
        prefix: str = "",
        include_sublayers: bool = True,
        remove_duplicate: bool = True,
        *,
        recurse: bool | None = None,
    ) -> Iterator[tuple[str, lm.Tensor]]:
        """Yields the buffers with their names, see :meth:`named_parameters`."""
        return super().named_buffers(prefix, include_sublayers if recurse is None else recurse, remove_duplicate)

    def state_dict(  # type: ignore[override]
        self,
        destination: dict[str, Any] | None = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
        *,
        prefix: str = "",
    ) -> dict[str, Any]:
        """Returns the parameters and persistable buffers themselves by their names.

        Args:
            destination: a dict to put them into.
            include_sublayers: False leaves those of sublayers out.
            structured_name_prefix: stands before each name as it is.
            use_hook: not used.
            keep_vars: False gives tensors on the same memory that want no gradient.
            prefix: a path that stands, with a dot, before each name.
        """
        found = super().state_dict(prefix, keep_vars=keep_vars)
        if not include_sublayers:
            own = {f"{prefix}.{name}" if prefix else name for name in (*self._parameters, *self._buffers)}
            found = {name: value for name, value in found.items() if name in own}
        if structured_name_prefix:
            found = {structured_name_prefix + name: value for name, value in found.items()}
        if destination is None:
            return found
        destination.update(found)
        return destination

    def sublayers(self, include_self: bool = False) -> list[Module]:
        """Returns all layers below this one."""
        return [module for module in self.modules() if include_self or module is not self]

    def named_sublayers(
        self,
        prefix: str = "",
        include_self: bool = False,
        layers_set: set[Any] | None = None,
        *,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Module]]:
        """Returns all layers below this one with their names, but for those of ``layers_set``."""
        passed = layers_set or ()
        named = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        return ((n, m) for n, m in named if (include_self or m is not self) and m not in passed)

    def register_buffer(  # type: ignore[override]
        self, name: str, tensor: lm.Tensor | None, persistable: bool = True, *, persistent: bool | None = None
    ) -> None:
        """Keeps a tensor that is no parameter; in the state where it is ``persistable``."""
        super().register_buffer(name, tensor, persistable if persistent is None else persistent)

    def buffers(self, include_sublayers: bool = True) -> list[lm.Tensor]:  # type: ignore[override]
        """Returns the buffers as a list."""
        return list(super().buffers(recurse=include_sublayers))

    def __setattr__(self, name: str, value: Any) -> None:
        # As in Paddle a tensor that is no parameter belongs to the layer, as a buffer that is not saved.
        if type(value) is lm.Tensor and self._is_new(name):
            self.__dict__.pop(name, None)
            self.register_buffer(name, value, persistable=False)
        else:
            super().__setattr__(name, value)

    def _is_new(self, name: str) -> bool:
        own = self.__dict__
        if "_buffers" not in own or own.get(name) is not None or hasattr(type(self), name):
            return False
        return not any(name in own[table] for table in ("_buffers", "_parameters", "_modules"))

    def add_sublayer(self, name: str, sublayer: Module) -> Module:
        """Registers a sublayer."""
        self.add_module(name, sublayer)
        return sublayer

    def add_parameter(self, name: str, parameter: Parameter) -> Parameter:
        """Registers a parameter."""
        self.register_parameter(name, parameter)
        return parameter

    def full_name(self) -> str:
        """Returns the layer's name, which those of its parameters begin with: ``linear_0``."""
        if "_full_name" not in self.__dict__:
            words = _snake(type(self).__name__)
            self.__dict__["_full_name"] = unique_name.generate(self.__dict__.get("_name_scope") or words)
        return str(self.__dict__["_full_name"])

    def create_parameter(
        self, shape: Any, attr: Any = None, dtype: Any = None, is_bias: bool = False, default_initializer: Any = None
    ) -> Parameter:
        """Returns a new parameter: zeros for a bias, else Xavier-uniform, as Paddle draws it.

        While a program is recorded, its start-up program draws the values anew whenever it runs.
        """
        options = ParamAttr.of("create_parameter", attr)
        xavier = initializer.XavierUniform()
        usual = initializer.global_initializer(is_bias) or default_initializer
        fill = options.initializer or usual or (initializer.Constant() if is_bias else xavier)
        with paused():
            zeros = lm.zeros(tuple(shape), dtype=dtype or self._dtype)
            parameter = Parameter(zeros, stop_gradient=not options.trainable)
            fill(parameter)
        if isinstance(options, PaddleAttr):
            options.mark(parameter)
        parameter.name = options.name or unique_name.generate(f"{self.full_name()}.{'b' if is_bias else 'w'}")
        if not in_dynamic_mode():
            default_startup_program().add_module_initializer(parameter, fill)
        return parameter

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> tuple[list[str], list[str]]:
        """Loads a state.

        Entries that are missing or have another shape leave a parameter as it is, with a warning.

        Args:
            state_dict: tensors or arrays by names.
            use_structured_name: True for names of attributes, ``fc.weight``; False for the parameters' own names.

        Returns:
            The names of those that are missing or do not fit, and the names in the state that were not used.
        """
        chosen: dict[str, Any] = {}
        missing, used = [], set()
        for key, own in self.state_dict().items():
            name = key if use_structured_name else str(own.name)
            given = state_dict.get(name)
            sizes = None if given is None else list(given.shape if hasattr(given, "shape") else lm.asarray(given).shape)
            if sizes == list(own.shape):
                chosen[key] = given
                used.add(name)
                continue
            missing.append(name)
            found = "the state has no such entry" if sizes is None else f"its shape is {list(own.shape)}, not {sizes}"
            warnings.warn(f"[set_state_dict] '{name}' is not loaded: {found}", stacklevel=2)
        self.load_state_dict(chosen, strict=False)
        return missing, [name for name in state_dict if name not in used]

    set_dict = load_dict = set_state_dict

    def to(  # type: ignore[override]
        self, *targets: Any, device: Any = None, dtype: Any = None, blocking: bool | None = None
    ) -> Self:
        """Moves the layer to a device, or turns its floating-point tensors to a dtype, or both; None leaves either."""
        place, kind = None, None
        for each in (*targets, device, dtype):
            if isinstance(each, lm.Tensor):
                place, kind = each.device, each.dtype
            elif isinstance(each, lm.DType) or each in CASTS:
                kind = CASTS.get(each, each)
            elif each is not None and not isinstance(each, bool):
                place = device_name(each)
        if kind is not None:
            for layer in self.modules():
                layer.__dict__["_own_dtype"] = kind.name
        return self if place is None and kind is None else super().to(device=place, dtype=kind)

    def astype(self, dtype: Any = None) -> Layer:
        """Gives parameters and buffers of floating-point numbers a dtype, and returns the layer."""
        self.to(dtype)
        return self

    def _convert(self, convert: Callable[[lm.Tensor], lm.Tensor]) -> Self:
        """Converts each tensor, and its gradient, in its place: optimizers, names and attributes stay with it."""
        tensors = {
            id(x): x
            for module in self.modules()
            for table in (module._parameters, module._buffers)
            for x in table.values()
            if x is not None
        }
        for tensor in tensors.values():
            gradient, tensor.grad = tensor.grad, None
            with lm.no_grad():
                become(tensor, convert(tensor.detach()))
                tensor.grad = None if gradient is None else convert(gradient)
        return self

    def float16(self) -> Layer:
        """Gives parameters and buffers of floating-point numbers the dtype float16, and returns the layer."""
        return self.astype("float16")

    def bfloat16(self) -> Layer:
        """Gives parameters and buffers of floating-point numbers the dtype bfloat16, and returns the layer."""
        return self.astype("bfloat16")

    def get_sublayer(self, target: str) -> Module:
        """Returns the layer at a dotted path, itself for ""."""
        found: Module = self
        for part in target.split(".") if target else ():
            found = getattr(found, part)
        return found

    def set_sublayer(self, target: str, layer: Module) -> None:
        """Puts a layer at a dotted path."""
        above, _, name = target.rpartition(".")
        setattr(self.get_sublayer(above), name, layer)

    def create_tensor(self, name: str | None = None, persistable: bool | None = None, dtype: Any = None) -> lm.Tensor:
        """Returns a tensor without elements, for a layer to write to."""
        return lm.empty((0,), dtype=dtype)

    create_variable = create_tensor

    def register_forward_post_hook(self, hook: Any) -> Any:
        """Has ``hook(layer, inputs, output)`` called after each forward; returns a handle that takes it away."""
        return self.register_forward_hook(hook)

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Makes the gradients of all parameters zeros, or drops them."""
        for parameter in self.parameters():
            parameter.clear_gradient(set_to_zero)  # type: ignore[attr-defined]
