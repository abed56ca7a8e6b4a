"""Convolutions, and what undoes their sizes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import lamella as lm

from . import init
from ._sizes import as_int, is_int
from .module import Module
from .parameter import Parameter

Size = int | Sequence[int]
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def per_axis(layer: str, name: str, value: Size, axes: int) -> tuple[int, ...]:
    """Reads one number for each of ``axes`` axes; TypeError or ValueError naming the layer and the argument."""
    numbers: Any = tuple(value) if isinstance(value, Iterable) and not is_int(value) else (value,) * axes
    if not all(map(is_int, numbers)):
        raise TypeError(f"[{layer}] {name} is an int or {axes} of them, not {value!r}")
    if len(numbers) == 1:
        numbers *= axes
    if len(numbers) != axes:
        raise ValueError(f"[{layer}] {name} takes one number or {axes}, not {len(numbers)}")
    return tuple(map(operator.index, numbers))


def check_strides(layer: str, padding: Size | str, stride: Size) -> None:
    """Refuses padding 'same' of strides above 1: ValueError naming the layer."""
    strides: Any = (stride,) if is_int(stride) else stride
    if padding == "same" and max(strides) > 1:
        raise ValueError(f"[{layer}] padding 'same' is for strides of 1, got stride={stride}: give numbers")


class _Conv(Module):
    _axes: ClassVar[int]
    _transposed: ClassVar[bool] = False

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size,
        padding: Size | str,
        dilation: Size,
        groups: int,
        bias: bool,
        device: str | None,
        dtype: Any,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        for argument, value in (("in_channels", in_channels), ("out_channels", out_channels), ("groups", groups)):
            if as_int(name, argument, value) < 1:
                raise ValueError(f"[{name}] {argument} is at least 1, not {value}")
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"[{name}] groups divides both channels: {groups} does not divide {in_channels} and {out_channels}"
            )
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"[{name}] padding is a number for each axis, 'same' or 'valid', not {padding!r}")
        self.in_channels, self.out_channels, self.groups = map(operator.index, (in_channels, out_channels, groups))
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, self._axes)
        self.stride = per_axis(name, "stride", stride, self._axes)
        self.padding = padding if isinstance(padding, str) else per_axis(name, "padding", padding, self._axes)
        self.dilation = per_axis(name, "dilation", dilation, self._axes)
        first, second = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(lm.zeros(shape, dtype=dtype, device=device))
        self.bias = Parameter(lm.zeros((out_channels,), dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new starting values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5.0))
        if self.bias is not None:
            bound = 1.0 / math.sqrt(max(init.fans(self.weight)[0], 1))
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        ones = (1,) * self._axes
        for name, usual in (("padding", (0,) * self._axes), ("dilation", ones), ("groups", 1)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)!r}"
        return text if self.bias is not None else f"{text}, bias=False"


class _ForwardConv(_Conv):
    _function: ClassVar[Callable[..., lm.Tensor]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        name = type(self).__name__
        if padding_mode not in _PADDING_MODES:
            allowed = ", ".join(map(repr, _PADDING_MODES))
            raise ValueError(f"[{name}] padding_mode is one of {allowed}, not {padding_mode!r}")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype)
        check_strides(name, padding, self.stride)
        self.padding_mode = padding_mode

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``x`` of shape ``(n, in_channels, *size)``, or of one example, to ``(n, out_channels, *new_size)``."""
        return self._conv_forward(x, self.weight, self.bias)

    def _conv_forward(self, x: lm.Tensor, weight: lm.Tensor, bias: lm.Tensor | None) -> lm.Tensor:
        """Convolves with a weight; subclasses replace this to change it first, and call it with theirs."""
        padding: Size | str = self.padding
        if self.padding_mode != "zeros":
            x, padding = lm.pad(x, self._sides(), self.padding_mode), 0
        return type(self)._function(x, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _sides(self) -> list[int]:
        """Returns how much is added before and after each axis, the last axis first, as :func:`lamella.pad` does."""
        if isinstance(self.padding, str):
            if self.padding == "valid":
                return [0] * 2 * self._axes
            added = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [side for n in reversed(added) for side in (n // 2, n - n // 2)]
        return [n for n in reversed(self.padding) for _ in range(2)]

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        mode = "" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode!r}"
        return super().extra_repr() + mode


class _TransposedConv(_Conv):
    _transposed = True
    _function: ClassVar[Callable[..., lm.Tensor]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        name = type(self).__name__
        if isinstance(padding, str):
            raise TypeError(f"[{name}] padding is an int or {self._axes} of them, not {padding!r}")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype)
        self.output_padding = per_axis(name, "output_padding", output_padding, self._axes)

    def forward(self, x: lm.Tensor, output_size: Sequence[int] | None = None) -> lm.Tensor:
        """Maps ``x`` of shape ``(n, in_channels, *size)``, or of one example, to ``(n, out_channels, *new_size)``.

        Args:
            x: the input.
            output_size: the size wanted along each spatial axis, or the whole shape, in place of ``output_padding``.

        Raises:
            ValueError: no convolution with these settings maps ``output_size`` to the size of ``x``.
        """
        extra = self.output_padding if output_size is None else self._extra(x, output_size)
        return type(self)._function(
            x, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _pads(self) -> tuple[int, ...]:
        if isinstance(self.padding, str):
            raise TypeError(f"[{type(self).__name__}] padding is {self._axes} numbers, not {self.padding!r}")
        return self.padding

    def _extra(self, x: lm.Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        name = type(self).__name__
        if isinstance(output_size, Sequence) and len(output_size) == x.ndim > self._axes:
            output_size = output_size[-self._axes :]
        wanted = per_axis(name, "output_size", output_size, self._axes)
        least = tuple(
            (size - 1) * s - 2 * p + d * (k - 1) + 1
            for size, s, p, d, k in zip(
                x.shape[-self._axes :], self.stride, self._pads(), self.dilation, self.kernel_size, strict=True
            )
        )
        extra = tuple(a - b for a, b in zip(wanted, least, strict=True))
        if any(not 0 <= e < s for e, s in zip(extra, self.stride, strict=True)):
            most = tuple(size + s - 1 for size, s in zip(least, self.stride, strict=True))
            raise ValueError(f"[{name}] output_size lies between {least} and {most} here, not {wanted}")
        return extra

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        extra = f", output_padding={self.output_padding}" if any(self.output_padding) else ""
        return super().extra_repr() + extra


class Conv1d(_ForwardConv):
    """Convolution of sequences, see :func:`lamella.conv1d`.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: length of the kernel.
        stride: distance of neighboring windows.
        padding: zeros added at both ends, 'same' or 'valid'.
        dilation: distance of neighboring elements of a window.
        groups: parts into which the channels are split, each convolved for itself.
        bias: False leaves the bias out.
        padding_mode: the elements that are added: "zeros", or as modes of :func:`lamella.pad` "reflect", "replicate" or
            "circular".
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        weight: shape ``(out_channels, in_channels // groups, *kernel_size)``.
        bias: shape ``(out_channels,)``, or None.

    Both start uniform in ``±1 / sqrt(n)``, where n elements of the input make one of the output.
    """

    _axes = 1
    _function = staticmethod(lm.conv1d)


class Conv2d(_ForwardConv):
    """Convolution of images, see :func:`lamella.conv2d`. Arguments as for :class:`Conv1d`, or one for each axis."""

    _axes = 2
    _function = staticmethod(lm.conv2d)


class Conv3d(_ForwardConv):
    """Convolution of volumes, see :func:`lamella.conv3d`. Arguments as for :class:`Conv1d`, or one for each axis."""

    _axes = 3
    _function = staticmethod(lm.conv3d)


class ConvTranspose1d(_TransposedConv):
    """Transposed convolution of sequences, see :func:`lamella.conv_transpose1d`.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: length of the kernel.
        stride: distance of what neighboring elements add to.
        padding: how much is taken off at both ends.
        output_padding: how much longer the output is than the shortest one possible.
        groups: parts into which the channels are split, each for itself.
        bias: False leaves the bias out.
        dilation: distance of neighboring elements of the kernel.
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        weight: shape ``(in_channels, out_channels // groups, *kernel_size)``.
        bias: shape ``(out_channels,)``, or None.
    """

    _axes = 1
    _function = staticmethod(lm.conv_transpose1d)


class ConvTranspose2d(_TransposedConv):
    """Transposed convolution of images. Arguments as for :class:`ConvTranspose1d`, or one for each axis."""

    _axes = 2
    _function = staticmethod(lm.conv_transpose2d)


class ConvTranspose3d(_TransposedConv):
    """Transposed convolution of volumes. Arguments as for :class:`ConvTranspose1d`, or one for each axis."""

    _axes = 3
    _function = staticmethod(lm.conv_transpose3d)
