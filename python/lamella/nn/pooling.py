"""Layers that take windows of their input together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import lamella as lm

from .module import Module

Size = int | Sequence[int]
#: Output size of an adaptive pool; an axis of None keeps the input's size.
OutputSize = int | Sequence[int | None]


class _MaxPool(Module):
    _function: ClassVar[Callable[..., lm.Tensor]]
    _with_indices: ClassVar[Callable[..., tuple[lm.Tensor, ...]]]

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, x: lm.Tensor) -> lm.Tensor | tuple[lm.Tensor, ...]:
        """Returns the largest elements and, with ``return_indices``, where they were found."""
        function = type(self)._with_indices if self.return_indices else type(self)._function
        return function(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window, see :func:`lamella.max_pool1d`.

    Args:
        kernel_size: length of a window.
        stride: distance of neighboring windows; ``kernel_size`` where it is None.
        padding: how far before the first element the first window begins.
        dilation: distance of neighboring elements of a window.
        return_indices: also return where the elements were found.
        ceil_mode: count a last window that is not full.
    """

    _function = staticmethod(lm.max_pool1d)
    _with_indices = staticmethod(lm.max_pool1d_with_indices)


class MaxPool2d(_MaxPool):
    """The largest element of each window of an image. Arguments as for :class:`MaxPool1d`, or one for each axis."""

    _function = staticmethod(lm.max_pool2d)
    _with_indices = staticmethod(lm.max_pool2d_with_indices)


class MaxPool3d(_MaxPool):
    """The largest element of each window of a volume. Arguments as for :class:`MaxPool1d`, or one for each axis."""

    _function = staticmethod(lm.max_pool3d)
    _with_indices = staticmethod(lm.max_pool3d_with_indices)


class _AvgPool(Module):
    _function: ClassVar[Callable[..., lm.Tensor]]

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns the means."""
        return type(self)._function(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """The mean of each window, see :func:`lamella.avg_pool1d`.

    Args:
        kernel_size: length of a window.
        stride: distance of neighboring windows; ``kernel_size`` where it is None.
        padding: zeros before the first and behind the last element.
        ceil_mode: count a last window that is not full.
        count_include_pad: the padding counts as elements.
        divisor_override: what the sums are divided by, in place of the number of elements.
    """

    _function = staticmethod(lm.avg_pool1d)


class AvgPool2d(_AvgPool):
    """The mean of each window of an image. Arguments as for :class:`AvgPool1d`, or one for each axis."""

    _function = staticmethod(lm.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of each window of a volume. Arguments as for :class:`AvgPool1d`, or one for each axis."""

    _function = staticmethod(lm.avg_pool3d)


class _LpPool(Module):
    _function: ClassVar[Callable[..., lm.Tensor]]

    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns the norms."""
        return type(self)._function(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}"


class LPPool1d(_LpPool):
    """The norm of each window, ``sum(x ** norm_type) ** (1 / norm_type)``, see :func:`lamella.lp_pool1d`."""

    _function = staticmethod(lm.lp_pool1d)


class LPPool2d(_LpPool):
    """The norm of each window of an image, see :class:`LPPool1d`."""

    _function = staticmethod(lm.lp_pool2d)


class LPPool3d(_LpPool):
    """The norm of each window of a volume, see :class:`LPPool1d`."""

    _function = staticmethod(lm.lp_pool3d)


class _AdaptivePool(Module):
    def __init__(self, output_size: OutputSize) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"output_size={self.output_size}"


class _AdaptiveAvgPool(_AdaptivePool):
    _function: ClassVar[Callable[..., lm.Tensor]]

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns the means."""
        return type(self)._function(x, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The means of ``output_size`` windows that cover the input, see :func:`lamella.adaptive_avg_pool1d`."""

    _function = staticmethod(lm.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The means of windows that cover an image; ``output_size`` is one number, or one (or None) for each axis."""

    _function = staticmethod(lm.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The means of windows that cover a volume; ``output_size`` is one number, or one (or None) for each axis."""

    _function = staticmethod(lm.adaptive_avg_pool3d)


class _AdaptiveMaxPool(_AdaptivePool):
    _function: ClassVar[Callable[..., lm.Tensor]]
    _with_indices: ClassVar[Callable[..., tuple[lm.Tensor, ...]]]

    def __init__(self, output_size: OutputSize, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, x: lm.Tensor) -> lm.Tensor | tuple[lm.Tensor, ...]:
        """Returns the largest elements and, with ``return_indices``, where they were found."""
        function = type(self)._with_indices if self.return_indices else type(self)._function
        return function(x, self.output_size)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest elements of ``output_size`` windows that cover the input, see :class:`AdaptiveAvgPool1d`."""

    _function = staticmethod(lm.adaptive_max_pool1d)
    _with_indices = staticmethod(lm.adaptive_max_pool1d_with_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest elements of windows that cover an image, see :class:`AdaptiveAvgPool2d`."""

    _function = staticmethod(lm.adaptive_max_pool2d)
    _with_indices = staticmethod(lm.adaptive_max_pool2d_with_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest elements of windows that cover a volume, see :class:`AdaptiveAvgPool3d`."""

    _function = staticmethod(lm.adaptive_max_pool3d)
    _with_indices = staticmethod(lm.adaptive_max_pool3d_with_indices)


class _FractionalMaxPool(Module):
    _axes: ClassVar[int]

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
    ) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"[{type(self).__name__}] give one of output_size and output_ratio")
        self.kernel_size = kernel_size
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices

    def forward(self, x: lm.Tensor, random_samples: lm.Tensor | None = None) -> lm.Tensor | tuple[lm.Tensor, lm.Tensor]:
        """Returns the largest elements and, with ``return_indices``, where they were found."""
        name = f"fractional_max_pool{self._axes}d"
        function = getattr(lm, name + "_with_indices" if self.return_indices else name)
        pooled: lm.Tensor | tuple[lm.Tensor, lm.Tensor] = function(
            x, self.kernel_size, self.output_size, self.output_ratio, random_samples=random_samples
        )
        return pooled

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"kernel_size={self.kernel_size}, output_size={self.output_size}, output_ratio={self.output_ratio}"


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest elements of windows that stand at random, see :func:`lamella.fractional_max_pool2d`.

    Args:
        kernel_size: height and width of a window.
        output_size: height and width of the result.
        output_ratio: the same as shares of the image's, where output_size is not given.
        return_indices: also return where the elements were found.
    """

    _axes = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """:class:`FractionalMaxPool2d` over depth, height and width. See :func:`lamella.fractional_max_pool3d`."""

    _axes = 3


class _MaxUnpool(Module):
    _axes: ClassVar[int]
    _function: ClassVar[Callable[..., lm.Tensor]]

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding

    def forward(self, x: lm.Tensor, indices: lm.Tensor, output_size: Sequence[int] | None = None) -> lm.Tensor:
        """Puts the elements of ``x`` back in their places.

        Args:
            x: ``(n, channels, *size)``, or of one example.
            indices: their places, as a pool with ``return_indices`` gives them, of the shape of ``x``.
            output_size: the sizes of the result, or its whole shape; by default the smallest that give as many windows.
        """
        sizes = None if output_size is None else list(output_size)[-self._axes :]
        return type(self)._function(x, indices, self.kernel_size, self.stride, self.padding, sizes)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Puts what :class:`MaxPool1d` found back in its place, with 0 elsewhere, see :func:`lamella.max_unpool1d`.

    Source: Zeiler and Fergus 2014, "Visualizing and understanding convolutional networks".

    Args:
        kernel_size: length of the pool's windows.
        stride: distance of its windows; ``kernel_size`` where it is None.
        padding: how far before the first element its first window began.
    """

    _axes = 1
    _function = staticmethod(lm.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Puts what :class:`MaxPool2d` found back in its place.

    Arguments as for :class:`MaxUnpool1d`, or one for each axis.
    """

    _axes = 2
    _function = staticmethod(lm.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Puts what :class:`MaxPool3d` found back in its place.

    Arguments as for :class:`MaxUnpool1d`, or one for each axis.
    """

    _axes = 3
    _function = staticmethod(lm.max_unpool3d)
