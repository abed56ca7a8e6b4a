"""Paddle's convolutions of series, images and volumes, and what undoes their sizes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import lamella as lm

from . import functional, initializer
from ._base import Layer
from ._layouts import channels_last, pairs, sizes

#: Layouts by their number of spatial axes.
SECOND_OF = {1: "NCL", 2: "NCHW", 3: "NCDHW"}
LAST_OF = {1: "NLC", 2: "NHWC", 3: "NDHWC"}


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
        *,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        bias_attr = bias_attr if bias else False
        name = type(self).__name__
        data_format = (LAST_OF if channels_last(name, data_format) else SECOND_OF)[self._axes]
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(f"[{name}] padding_mode is 'zeros', 'reflect', 'replicate' or 'circular'")
        self._make((in_channels, out_channels), kernel_size, groups, (weight_attr, bias_attr))
        self._around = None
        if padding_mode != "zeros":
            window = sizes(kernel_size, self._axes)
            given = pairs(name, padding, self._axes, data_format, window, sizes(stride, self._axes), (0,) * self._axes)
            self._around = [each for pair in reversed(given) for each in pair], padding_mode
            padding = 0
        self.settings = stride, padding, dilation, groups, data_format
        for place in (device, dtype):
            if place is not None:
                self.to(place)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, in_channels, *size)`` to ``(n, out_channels, *new_size)``."""
        if self._around is not None:
            counts, mode = self._around
            x = functional.pad(x, counts, mode, data_format=self.settings[-1])
        y: lm.Tensor = getattr(functional, f"conv{self._axes}d")(x, self.weight, self.bias, *self.settings)
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


Conv1d, Conv2d, Conv3d = Conv1D, Conv2D, Conv3D


class _Transposed(_Conv):
    _transposed = True

    def _set(
        self, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any, data_format: str
    ) -> None:
        last = channels_last(type(self).__name__, data_format)
        layout = (LAST_OF if last else SECOND_OF)[self._axes]
        options = {"stride": stride, "padding": padding, "output_padding": output_padding}
        self.settings = {**options, "dilation": dilation, "groups": groups, "data_format": layout}

    def forward(self, x: lm.Tensor, output_size: Any = None) -> lm.Tensor:
        """Maps ``(n, in_channels, *size)`` to ``(n, out_channels, *new_size)``."""
        function = getattr(functional, f"conv{self._axes}d_transpose")
        settings = self.settings if output_size is None else {**self.settings, "output_padding": 0}
        y: lm.Tensor = function(x, self.weight, self.bias, output_size=output_size, **settings)
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
        self._make((in_channels, out_channels), kernel_size, groups, (weight_attr, bias_attr))
        self._set(stride, padding, output_padding, groups, dilation, data_format)


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
        self._make((in_channels, out_channels), kernel_size, groups, (weight_attr, bias_attr))
        self._set(stride, padding, output_padding, groups, dilation, data_format)


class Conv2DTranspose(_TransposedMore):
    """The transpose of :class:`Conv2D`; filters have the shape ``(in_channels, out_channels / groups, *kernel)``."""

    _axes = 2


class Conv3DTranspose(_TransposedMore):
    """The transpose of :class:`Conv3D`; filters have the shape ``(in_channels, out_channels / groups, *kernel)``."""

    _axes = 3
