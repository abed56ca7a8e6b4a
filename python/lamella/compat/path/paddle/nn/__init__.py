"""Paddle's layers that map directly to Lamella's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.nn import Module, Parameter
from lamella.static import ParamAttr, default_startup_program, in_dynamic_mode, unique_name
from lamella.static.program import paused

from . import functional, initializer
from .clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue  # noqa: F401


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
        fill = options.initializer or default_initializer or (initializer.Constant() if is_bias else xavier)
        with paused():
            parameter = Parameter(lm.zeros(tuple(shape), dtype=dtype), stop_gradient=not options.trainable)
            fill(parameter)
        parameter.name = options.name or unique_name.generate(f"{self.full_name()}.{'b' if is_bias else 'w'}")
        if not in_dynamic_mode():
            default_startup_program().add_module_initializer(parameter, fill)
        return parameter

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> tuple[list[str], list[str]]:
        """Loads a state; entries may be missing or unexpected and are returned."""
        return self.load_state_dict(state_dict, strict=False)

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Drops the gradients of all parameters."""
        self.zero_grad()


class Linear(Layer):
    """``x @ weight + bias`` with a weight of shape ``(in_features, out_features)``."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = None
        if bias_attr is not False:
            self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``(..., in_features)`` to ``(..., out_features)``."""
        return functional.linear(x, self.weight, self.bias)


class Sequential(Layer, lm.nn.Sequential):
    """Runs its layers one after the other."""

    def __init__(self, *layers: Any) -> None:
        Layer.__init__(self)
        for index, layer in enumerate(layers):
            name, layer = layer if isinstance(layer, (tuple, list)) else (str(index), layer)
            self.add_module(name, layer)


class LayerList(Layer, lm.nn.ModuleList):
    """A list of layers."""

    def __init__(self, sublayers: Any = None) -> None:
        Layer.__init__(self)
        for layer in sublayers or ():
            self.append(layer)


class ReLU(Layer, lm.nn.ReLU):
    """``max(x, 0)``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class Tanh(Layer, lm.nn.Tanh):
    """The hyperbolic tangent."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class Sigmoid(Layer, lm.nn.Sigmoid):
    """``1 / (1 + exp(-x))``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class Dropout(Layer):
    """Zeroes each element with probability ``p`` and divides the others by ``1 - p``, in training."""

    def __init__(
        self, p: float = 0.5, axis: Any = None, mode: str = "upscale_in_train", name: str | None = None
    ) -> None:
        super().__init__()
        self.p, self.axis, self.mode = p, axis, mode

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return functional.dropout(x, self.p, self.axis, self.training, self.mode)


class GELU(Layer):
    """The Gaussian error linear unit."""

    def __init__(self, approximate: bool = False, name: str | None = None) -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies it to each element."""
        return functional.gelu(x, self.approximate)


class Softmax(Layer):
    """The softmax along ``axis``."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return functional.softmax(x, self.axis)


class Flatten(Layer):
    """Joins the axes ``start_axis`` to ``stop_axis``."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.axes = (start_axis, stop_axis)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x`` with the axes joined."""
        return lm.flatten(x, *self.axes)


class MSELoss(Layer):
    """The squared difference of two tensors."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: lm.Tensor, label: lm.Tensor) -> lm.Tensor:
        """Returns the loss."""
        return functional.mse_loss(input, label, self.reduction)


class CrossEntropyLoss(Layer):
    """The negative log likelihood of the right class, given unnormalized scores and integer classes."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: lm.Tensor, label: lm.Tensor) -> lm.Tensor:
        """Returns the loss."""
        return functional.cross_entropy(input, label, reduction=self.reduction)


__getattr__ = close_module(__name__)
