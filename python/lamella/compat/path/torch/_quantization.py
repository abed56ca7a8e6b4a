"""Marks of models that PyTorch can quantize: without that, as here, they compute with floats."""

from __future__ import annotations

import sys
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.nn import Module

_TORCH: Any = sys.modules["torch"]


class ObserverBase(Module):
    """Layers that note the range of values in PyTorch; none is one."""


class FakeQuantizeBase(Module):
    """Layers that round values as quantized ones in PyTorch; none is one."""


class QuantStub(Module):
    """Stands where a model's input is quantized: returns it as it is.

    Args:
        qconfig: not used.
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """Returns ``x``."""
        return x


class DeQuantStub(QuantStub):
    """Stands where a model's output is made of floats: returns it as it is."""


class QuantWrapper(Module):
    """Calls a module.

    Args:
        module: the module.
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module

    def forward(self, x: Tensor) -> Any:
        """Returns what the module makes of ``x``."""
        return self.dequant(self.module(self.quant(x)))


class FloatFunctional(Module):
    """Operators as methods of a layer."""

    def forward(self, x: Any) -> Any:
        """Says what to call.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("[FloatFunctional] call one of its methods: add, mul, cat, ...")

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns ``x + y``."""
        made: Tensor = _TORCH.add(x, y)
        return made

    add_scalar = add

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns ``x * y``."""
        made: Tensor = _TORCH.mul(x, y)
        return made

    mul_scalar = mul

    def cat(self, x: Any, dim: int = 0) -> Tensor:
        """Returns tensors one behind the other."""
        made: Tensor = _TORCH.cat(x, dim=dim)
        return made

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns the positive part of ``x + y``."""
        return lm.relu(self.add(x, y))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns ``x @ y``."""
        made: Tensor = _TORCH.matmul(x, y)
        return made
