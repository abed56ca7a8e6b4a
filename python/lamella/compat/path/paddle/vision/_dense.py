"""DenseNet: each layer sees the channels of all before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm

from .._attributes import ParamAttr
from ..nn import AdaptiveAvgPool2D, AvgPool2D, BatchNorm2D, Conv2D, Dropout, Layer, Linear, MaxPool2D
from ..nn.initializer import Uniform
from ._networks import maker


class _Before(Layer):
    """A convolution of normalized, bent images."""

    def __init__(self, inside: int, outside: int, size: int) -> None:
        super().__init__()
        self._batch_norm = BatchNorm2D(inside)
        self._conv = Conv2D(inside, outside, size, padding=size // 2, bias_attr=False)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        made: lm.Tensor = self._conv(lm.relu(self._batch_norm(x)))
        return made


class _First(Layer):
    def __init__(self, outside: int) -> None:
        super().__init__()
        self._conv = Conv2D(3, outside, 7, stride=2, padding=3, bias_attr=False)
        self._batch_norm = BatchNorm2D(outside)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return lm.relu(self._batch_norm(self._conv(x)))


class _Grown(Layer):
    def __init__(self, inside: int, growth: int, wide: int, dropout: float) -> None:
        super().__init__()
        self.bn_ac_func1, self.bn_ac_func2 = _Before(inside, wide, 1), _Before(wide, growth, 3)
        self.dropout_func = Dropout(dropout, mode="downscale_in_infer") if dropout else None

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        made = self.bn_ac_func2(self.bn_ac_func1(x))
        return lm.concat([x, made if self.dropout_func is None else self.dropout_func(made)], axis=1)


class _Stage(Layer):
    def __init__(self, number: int, layers: list[Layer]) -> None:
        super().__init__()
        for count, layer in enumerate(layers):
            self.add_sublayer(f"conv{number}_{count + 1}", layer)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        for layer in self.children():
            x = layer(x)
        return x


class _Halved(Layer):
    def __init__(self, inside: int) -> None:
        super().__init__()
        self.conv_ac_func, self.pool2d_avg = _Before(inside, inside // 2, 1), AvgPool2D(2, 2)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        made: lm.Tensor = self.pool2d_avg(self.conv_ac_func(x))
        return made


#: Channels of the first convolution, those that each layer adds, and numbers of layers, by the number of all layers.
_DEPTHS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
    264: (64, 32, (6, 12, 64, 48)),
}


class DenseNet(Layer):
    """Layers that add channels to those they are given (Huang et al. 2016, "Densely connected ...").

    Args:
        layers: number of layers: 121, 161, 169, 201 or 264.
        bn_size: channels inside of a layer for each that it adds.
        dropout: share of the added channels that is left out in training.
        num_classes: number of scores; 0 ends before them.
        with_pool: True takes the mean over each image.
    """

    def __init__(
        self, layers: int = 121, bn_size: int = 4, dropout: float = 0.0, num_classes: int = 1000, with_pool: bool = True
    ) -> None:
        super().__init__()
        if layers not in _DEPTHS:
            raise ValueError(f"[DenseNet] layers is one of {', '.join(map(str, _DEPTHS))}, not {layers!r}")
        self.num_classes, self.with_pool = num_classes, with_pool
        inside, growth, counts = _DEPTHS[layers]
        self.conv1_func, self.pool2d_max = _First(inside), MaxPool2D(3, stride=2, padding=1)
        self._stages: list[str] = []
        for number, count in enumerate(counts, 2):
            grown: list[Layer] = [_Grown(inside + k * growth, growth, bn_size * growth, dropout) for k in range(count)]
            inside += count * growth
            self._stages.append(f"db_conv_{number}")
            self.add_sublayer(self._stages[-1], _Stage(number, grown))
            if number <= len(counts):
                self._stages.append(f"tr_conv{number}_blk")
                self.add_sublayer(self._stages[-1], _Halved(inside))
                inside //= 2
        self.batch_norm = BatchNorm2D(inside)
        if with_pool:
            self.pool2d_avg = AdaptiveAvgPool2D(1)
        if num_classes > 0:
            bound = inside**-0.5
            self.out = Linear(inside, num_classes, weight_attr=ParamAttr(initializer=Uniform(-bound, bound)))

    def forward(self, input: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 3, height, width)``."""
        x: lm.Tensor = self.pool2d_max(self.conv1_func(input))
        for name in self._stages:
            x = getattr(self, name)(x)
        x = lm.relu(self.batch_norm(x))
        x = self.pool2d_avg(x) if self.with_pool else x
        return self.out(lm.flatten(x, 1)) if self.num_classes > 0 else x


def _densenet(depth: int) -> Callable[..., Any]:
    return maker(f"densenet{depth}", lambda **options: DenseNet(depth, **options))


densenet121, densenet161, densenet169, densenet201, densenet264 = map(_densenet, _DEPTHS)
