"""Paddle's convolutions of series, images and volumes, and what undoes their sizes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import lamella as lm

from . import initializer
from ._base import Layer


def sizes(value: Any, axes: int) -> tuple[int, ...]:
    """Returns one number for each axis."""
    return (int(value),) * axes if isinstance(value, int) else tuple(int(each) for each in value)


class _Conv(Layer):
    _axes: ClassVar[int]
    _transposed: ClassVar[bool] = False

    def _make(self, channels: tuple[int, int], kernel: Any, groups: int, attributes: tuple[Any, Any]) -> None:
        """Makes filters and biases, with Paddle's starting values: normal of a variance of 2 / fan-in, and zeros."""
        inside, outside = channels
        window = sizes(kernel, self._axes)
        first, second = (inside, outside) if self._transposed else (outside, inside)
        normal = None
        if not self._transposed:
            normal = initializer.Normal(0.0, math.sqrt(2.0 / (math.prod(window) * inside)))
        shape = [first, second // groups, *window]
        self.weight = self.create_parameter(shape, attributes[0], default_initializer=normal)
        self.bias = None
        if attributes[1] is not False:
            self.bias = self.create_parameter([outside], attributes[1], is_bias=True)

    def _check(self, data_format: str) -> None:
        if not data_format.startswith("NC"):
            raise NotImplementedError(f"[{type(self).__name__}] in Lamella's paddle front channels are the second axis")

    def _padding(self, padding: Any) -> Any:
        return padding.lower() if isinstance(padding, str) else sizes(padding, self._axes)


class _Forward(_Conv):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        self._check(data_format)
        if padding_mode != "zeros":
            raise NotImplementedError(f"[{type(self).__name__}] Lamella's paddle front pads with zeros")
        self._make((in_channels, out_channels), kernel_size, groups, (weight_attr, bias_attr))
        stride, dilation = sizes(stride, self._axes), sizes(dilation, self._axes)
        self.settings = stride, self._padding(padding), dilation, groups

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, in_channels, *size)`` to ``(n, out_channels, *new_size)``."""
        y: lm.Tensor = getattr(lm, f"conv{self._axes}d")(x, self.weight, self.bias, *self.settings)
        return y


class Conv1D(_Forward):
    """Convolves series with filters of shape ``(out_channels, in_channels / groups, kernel_size)``."""

    _axes = 1


class Conv2D(_Forward):
    """Convolves images with filters of shape ``(out_channels, in_channels / groups, *kernel_size)``."""

    _axes = 2


class Conv3D(_Forward):
    """Convolves volumes with filters of shape ``(out_channels, in_channels / groups, *kernel_size)``."""

    _axes = 3


class _WithBias(_Forward):
    """A convolution with the arguments of PyTorch's beside Paddle's."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        options = padding_mode, weight_attr, bias_attr if bias else False, data_format
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, *options)
        if device is not None:
            self.to(str(device))
        if dtype is not None:
            self.to(dtype)


class Conv1d(_WithBias):
    """:class:`Conv1D` with ``bias``."""

    _axes = 1


class Conv2d(_WithBias):
    """:class:`Conv2D` with ``bias``."""

    _axes = 2


class Conv3d(_WithBias):
    """:class:`Conv3D` with ``bias``."""

    _axes = 3


class _Transposed(_Conv):
    _transposed = True

    def _set(self, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any) -> None:
        axes = self._axes
        pads = self._padding(padding), sizes(output_padding, axes)
        self.settings = sizes(stride, axes), *pads, groups, sizes(dilation, axes)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, in_channels, *size)`` to ``(n, out_channels, *new_size)``."""
        y: lm.Tensor = getattr(lm, f"conv_transpose{self._axes}d")(x, self.weight, self.bias, *self.settings)
        return y


class Conv1DTranspose(_Transposed):
    """The transpose of :class:`Conv1D`, with filters of shape ``(in_channels, out_channels / groups, kernel_size)``."""

    _axes = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        super().__init__()
        self._check(data_format)
        self._make((in_channels, out_channels), kernel_size, groups, (weight_attr, bias_attr))
        self._set(stride, padding, output_padding, groups, dilation)


class _TransposedMore(_Transposed):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        self._check(data_format)
        self._make((in_channels, out_channels), kernel_size, groups, (weight_attr, bias_attr))
        self._set(stride, padding, output_padding, groups, dilation)


class Conv2DTranspose(_TransposedMore):
    """The transpose of :class:`Conv2D`; filters have the shape ``(in_channels, out_channels / groups, *kernel)``."""

    _axes = 2


class Conv3DTranspose(_TransposedMore):
    """The transpose of :class:`Conv3D`; filters have the shape ``(in_channels, out_channels / groups, *kernel)``."""

    _axes = 3
