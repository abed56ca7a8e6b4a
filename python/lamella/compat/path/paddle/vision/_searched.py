"""MobileNetV3: inverted blocks whose sizes a search has found, some of which weigh their channels."""

from __future__ import annotations

from typing import Any

import lamella as lm

from ..nn import (
    AdaptiveAvgPool2D,
    BatchNorm2D,
    Conv2D,
    Dropout,
    Hardsigmoid,
    Hardswish,
    Layer,
    Linear,
    ReLU,
    Sequential,
)
from ._networks import _whole, maker


def _normed(inside: int, outside: int, size: int, stride: int, groups: int, act: type[Layer] | None) -> Layer:
    conv = Conv2D(inside, outside, size, stride=stride, padding=size // 2, groups=groups, bias_attr=False)
    norm = BatchNorm2D(outside, epsilon=0.001, momentum=0.99)
    return Sequential(conv, norm, *([] if act is None else [act()]))


class _Weighed(Layer):
    """Multiplies channels by weights that the means of all of them give (Hu et al. 2018, "Squeeze-and-excitation")."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        squeezed = _whole(channels // 4)
        self.avgpool = AdaptiveAvgPool2D(1)
        self.fc1, self.fc2 = Conv2D(channels, squeezed, 1), Conv2D(squeezed, channels, 1)
        self.scale = Hardsigmoid()

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        weights: lm.Tensor = self.scale(self.fc2(lm.relu(self.fc1(self.avgpool(x)))))
        return x * weights


class _Block(Layer):
    def __init__(
        self, inside: int, size: int, wide: int, outside: int, weighed: bool, act: type[Layer], stride: int
    ) -> None:
        super().__init__()
        self.adds, self.widens, self.weighed = stride == 1 and inside == outside, inside != wide, weighed
        if self.widens:
            self.expand_conv = _normed(inside, wide, 1, 1, 1, act)
        self.bottleneck_conv = _normed(wide, wide, size, stride, wide, act)
        if weighed:
            self.mid_se = _Weighed(wide)
        self.linear_conv = _normed(wide, outside, 1, 1, 1, None)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        made: lm.Tensor = self.bottleneck_conv(self.expand_conv(x) if self.widens else x)
        made = self.linear_conv(self.mid_se(made) if self.weighed else made)
        return x + made if self.adds else made


#: Size of kernels, channels inside of blocks and behind them, and the step; "w" where channels are weighed, "h" where
#: hardswish bends them, and relu else.
_SMALL = (
    (3, 16, 16, 2, "w"),
    (3, 72, 24, 2, ""),
    (3, 88, 24, 1, ""),
    (5, 96, 40, 2, "wh"),
    *((5, 240, 40, 1, "wh"),) * 2,
    (5, 120, 48, 1, "wh"),
    (5, 144, 48, 1, "wh"),
    (5, 288, 96, 2, "wh"),
    *((5, 576, 96, 1, "wh"),) * 2,
)
_LARGE = (
    (3, 16, 16, 1, ""),
    (3, 64, 24, 2, ""),
    (3, 72, 24, 1, ""),
    (5, 72, 40, 2, "w"),
    *((5, 120, 40, 1, "w"),) * 2,
    (3, 240, 80, 2, "h"),
    (3, 200, 80, 1, "h"),
    *((3, 184, 80, 1, "h"),) * 2,
    (3, 480, 112, 1, "wh"),
    (3, 672, 112, 1, "wh"),
    (5, 672, 160, 2, "wh"),
    *((5, 960, 160, 1, "wh"),) * 2,
)


class _MobileNetV3(Layer):
    _blocks: Any
    _last: int

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.scale, self.num_classes, self.with_pool = scale, num_classes, with_pool
        inside = _whole(16 * scale)
        self.conv = _normed(3, inside, 3, 2, 1, Hardswish)
        blocks = []
        for size, wide, outside, stride, marks in self._blocks:
            sizes = size, _whole(wide * scale), _whole(outside * scale)
            blocks.append(_Block(inside, *sizes, "w" in marks, Hardswish if "h" in marks else ReLU, stride))
            inside = sizes[-1]
        self.blocks = Sequential(*blocks)
        self.lastconv = _normed(inside, 6 * inside, 1, 1, 1, Hardswish)
        if with_pool:
            self.avgpool = AdaptiveAvgPool2D(1)
        if num_classes > 0:
            last = _whole(self._last * scale)
            self.classifier = Sequential(Linear(6 * inside, last), Hardswish(), Dropout(0.2), Linear(last, num_classes))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 3, height, width)``."""
        x = self.lastconv(self.blocks(self.conv(x)))
        x = self.avgpool(x) if self.with_pool else x
        return self.classifier(lm.flatten(x, 1)) if self.num_classes > 0 else x


class MobileNetV3Small(_MobileNetV3):
    """Eleven blocks (Howard et al. 2019, "Searching for MobileNetV3").

    Args:
        scale: multiplies all numbers of channels.
        num_classes: number of scores; 0 ends before them.
        with_pool: True takes the mean over each image.
    """

    _blocks, _last = _SMALL, 1024


class MobileNetV3Large(_MobileNetV3):
    """Fifteen blocks, with the arguments of :class:`MobileNetV3Small`."""

    _blocks, _last = _LARGE, 1280


def mobilenet_v3_small(pretrained: bool = False, scale: float = 1.0, **options: Any) -> Layer:
    """Returns a :class:`MobileNetV3Small`."""
    return maker("mobilenet_v3_small", MobileNetV3Small)(pretrained, scale=scale, **options)


def mobilenet_v3_large(pretrained: bool = False, scale: float = 1.0, **options: Any) -> Layer:
    """Returns a :class:`MobileNetV3Large`."""
    return maker("mobilenet_v3_large", MobileNetV3Large)(pretrained, scale=scale, **options)
