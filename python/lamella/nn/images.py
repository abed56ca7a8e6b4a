"""Layers without parameters that move, repeat or mix the elements of images."""

from __future__ import annotations

from collections.abc import Sequence

import lamella as lm

from .module import Module

Sizes = int | Sequence[int]


class Unfold(Module):
    """:func:`lamella.unfold`: the windows of an image as columns."""

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, channels, height, width)`` to ``(n, channels * window, places)``."""
        return lm.unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """:func:`lamella.fold`: the transpose of :class:`Unfold`."""

    def __init__(
        self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, channels * window, places)`` to ``(n, channels, height, width)``."""
        return lm.fold(x, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class PixelShuffle(Module):
    """:func:`lamella.pixel_shuffle`: channels become places."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns images that are ``upscale_factor`` times as high and wide."""
        return lm.pixel_shuffle(x, self.upscale_factor)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """:func:`lamella.pixel_unshuffle`: places become channels."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns images of a ``downscale_factor``-th of the height and width."""
        return lm.pixel_unshuffle(x, self.downscale_factor)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"downscale_factor={self.downscale_factor}"


class Upsample(Module):
    """:func:`lamella.interpolate`, with settings that are given once."""

    def __init__(
        self,
        size: Sizes | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x``, of shape ``(n, channels, ...)``, with other sizes of its last axes."""
        size, factor = self.size, self.scale_factor
        return lm.interpolate(x, size, factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        given = f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """:class:`Upsample` of images by their nearest elements."""

    def __init__(self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """:class:`Upsample` of images by linear interpolation, with the centers of the outer elements in their places."""

    def __init__(self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class ChannelShuffle(Module):
    """:func:`lamella.channel_shuffle`: channels of several groups are dealt out one by one.

    Source: Zhang et al. 2017, "ShuffleNet".
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        if not isinstance(groups, int) or groups < 1:
            raise ValueError(f"[ChannelShuffle] groups is an int of at least 1, not {groups!r}")
        self.groups = groups

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x``, of shape ``(n, channels, ...)``, with its channels in another order."""
        return lm.channel_shuffle(x, self.groups)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"groups={self.groups}"
