"""Marks of models that PyTorch can quantize: without that, as here, they compute with floats."""

from __future__ import annotations

import sys
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.nn import Module

_TORCH: Any = sys.modules["torch"]


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """Returns the values that remain of a tensor when it is stored as integers: ``(q - zero_point) * scale``.

    ``q`` is ``round(input / scale) + zero_point``, limited to the range; the gradient passes where it is within.
    Source: Jacob et al. 2018, "Quantization and training of neural networks for efficient integer-arithmetic-only
    inference".

    Args:
        input: the tensor.
        scale: the step between values, a number or a tensor.
        zero_point: the integer that stands for 0.
        quant_min: the smallest integer.
        quant_max: the largest integer.
    """
    stored = lm.round(input.detach() / scale) + zero_point
    within = (stored >= quant_min) & (stored <= quant_max)
    values = lm.astype((lm.clip(stored, quant_min, quant_max) - zero_point) * scale, input.dtype)
    if not input.requires_grad:
        return values
    passed = input * lm.astype(within, input.dtype)
    return passed + (values - passed).detach()


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """Returns :func:`fake_quantize_per_tensor_affine` with steps and zeros of their own along an axis."""
    shape = [-1 if k == axis % input.ndim else 1 for k in range(input.ndim)]
    steps, zeros = lm.reshape(scale, shape), lm.astype(lm.reshape(zero_point, shape), input.dtype)
    return fake_quantize_per_tensor_affine(input, steps, zeros, quant_min, quant_max)


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
