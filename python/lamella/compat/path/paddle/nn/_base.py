"""The base of Paddle's layers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import lamella as lm
from lamella.nn import Module, Parameter
from lamella.static import ParamAttr, default_startup_program, in_dynamic_mode, unique_name
from lamella.static.program import paused

from .._attributes import ParamAttr as PaddleAttr
from . import initializer


class Layer(Module):
    """The base of layers and networks, with Paddle's method names."""

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        self.__dict__["_name_scope"] = name_scope

    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:  # type: ignore[override]
        """Returns the parameters as a list."""
        return list(super().parameters(recurse=include_sublayers))

    def sublayers(self, include_self: bool = False) -> list[Module]:
        """Returns all layers below this one."""
        return [module for module in self.modules() if include_self or module is not self]

    def named_sublayers(self, prefix: str = "", include_self: bool = False) -> Iterator[tuple[str, Module]]:
        """Returns all layers below this one with their names."""
        return ((n, m) for n, m in self.named_modules(prefix) if include_self or m is not self)

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
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()
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
            parameter = Parameter(lm.zeros(tuple(shape), dtype=dtype), stop_gradient=not options.trainable)
            fill(parameter)
        if isinstance(options, PaddleAttr):
            options.mark(parameter)
        parameter.name = options.name or unique_name.generate(f"{self.full_name()}.{'b' if is_bias else 'w'}")
        if not in_dynamic_mode():
            default_startup_program().add_module_initializer(parameter, fill)
        return parameter

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> tuple[list[str], list[str]]:
        """Loads a state; entries may be missing or unexpected and are returned."""
        return self.load_state_dict(state_dict, strict=False)

    set_dict = load_dict = set_state_dict

    def astype(self, dtype: Any = None) -> Layer:
        """Gives parameters and buffers of floating-point numbers a dtype, and returns the layer."""
        self.to(dtype)
        return self

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
        """Drops the gradients of all parameters."""
        self.zero_grad()
