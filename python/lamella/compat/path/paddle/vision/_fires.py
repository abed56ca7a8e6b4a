"""SqueezeNet: convolutions of few channels, each followed by two of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm

from ..nn import AdaptiveAvgPool2D, Conv2D, Dropout, Layer, MaxPool2D
from ._networks import maker


class _Bent(Layer):
    def __init__(self, inside: int, outside: int, size: int) -> None:
        super().__init__()
        self._conv = Conv2D(inside, outside, size, padding=size // 2)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return lm.relu(self._conv(x))


class _Fire(Layer):
    def __init__(self, inside: int, squeezed: int, outside: int) -> None:
        super().__init__()
        self._conv = _Bent(inside, squeezed, 1)
        self._conv_path1, self._conv_path2 = _Bent(squeezed, outside // 2, 1), _Bent(squeezed, outside // 2, 3)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        x = self._conv(x)
        return lm.concat([self._conv_path1(x), self._conv_path2(x)], axis=1)


#: Channels of the first convolution, its size and padding, and the numbers of the blocks behind which images shrink.
_VERSIONS = {"1.0": (96, 7, 0, (3, 7)), "1.1": (64, 3, 1, (2, 4))}


class SqueezeNet(Layer):
    """Blocks that squeeze their channels to an eighth (Iandola et al. 2016, "SqueezeNet").

    Args:
        version: "1.0", or "1.1", which shrinks images earlier.
        num_classes: number of scores; 0 ends before them.
        with_pool: True takes the mean over each image.
    """

    def __init__(self, version: str, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        if version not in _VERSIONS:
            raise ValueError(f"[SqueezeNet] version is '1.0' or '1.1', not {version!r}")
        self.version, self.num_classes, self.with_pool = version, num_classes, with_pool
        inside, size, padding, self._shrinks = _VERSIONS[version]
        self._conv = Conv2D(3, inside, size, stride=2, padding=padding)
        self._pool = MaxPool2D(3, stride=2)
        for number in range(8):
            outside = 128 * (number // 2 + 1)
            self.add_sublayer(f"_conv{number + 1}", _Fire(inside, outside // 8, outside))
            inside = outside
        self._drop = Dropout(0.5, mode="downscale_in_infer")
        self._conv9 = Conv2D(512, num_classes, 1)
        self._avg_pool = AdaptiveAvgPool2D(1)

    def forward(self, inputs: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 3, height, width)``."""
        x: lm.Tensor = self._pool(lm.relu(self._conv(inputs)))
        for number in range(1, 9):
            x = getattr(self, f"_conv{number}")(x)
            x = self._pool(x) if number in self._shrinks else x
        if self.num_classes > 0:
            x = self._conv9(self._drop(x))
        if self.with_pool:
            x = lm.squeeze(self._avg_pool(lm.relu(x)), axis=(2, 3))
        return x


def _squeezenet(version: str) -> Callable[..., Any]:
    name = f"squeezenet{version.replace('.', '_')}"
    return maker(name, lambda **options: SqueezeNet(version, **options))


squeezenet1_0, squeezenet1_1 = map(_squeezenet, _VERSIONS)
