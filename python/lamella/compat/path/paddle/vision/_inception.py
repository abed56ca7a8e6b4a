"""Networks whose blocks look through windows of several sizes at once: GoogLeNet and Inception v3."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm

from .._attributes import ParamAttr
from ..nn import AdaptiveAvgPool2D, AvgPool2D, Conv2D, Dropout, Layer, LayerList, Linear, MaxPool2D
from ..nn.initializer import Uniform
from ._networks import ConvNormActivation, maker


def _drawn(inside: int, count: int = 1) -> ParamAttr:
    """Returns how weights of ``inside`` channels are drawn: uniformly, narrower the more of them are added."""
    bound = math.sqrt((3.0 if count > 1 else 1.0) / (inside * count))
    return ParamAttr(initializer=Uniform(-bound, bound))


class ConvLayer(Layer):
    """A convolution without a bias that keeps the size of images where its steps are 1."""

    def __init__(self, inside: int, outside: int, size: int, stride: int = 1) -> None:
        super().__init__()
        weight = _drawn(inside, size * size)
        self._conv = Conv2D(
            inside, outside, size, stride=stride, padding=(size - 1) // 2, weight_attr=weight, bias_attr=False
        )

    def forward(self, inputs: lm.Tensor) -> lm.Tensor:
        """Returns images with ``outside`` channels."""
        made: lm.Tensor = self._conv(inputs)
        return made


class Inception(Layer):
    """Windows of 1x1, 3x3 and 5x5, the latter two of fewer channels, and a pool, one beside the other."""

    def __init__(self, inside: int, one: int, few3: int, three: int, few5: int, five: int, pooled: int) -> None:
        super().__init__()
        self._conv1 = ConvLayer(inside, one, 1)
        self._conv3r, self._conv3 = ConvLayer(inside, few3, 1), ConvLayer(few3, three, 3)
        self._conv5r, self._conv5 = ConvLayer(inside, few5, 1), ConvLayer(few5, five, 5)
        self._pool = MaxPool2D(kernel_size=3, stride=1, padding=1)
        self._convprj = ConvLayer(inside, pooled, 1)

    def forward(self, inputs: lm.Tensor) -> lm.Tensor:
        """Returns images with the channels of all four."""
        parts = [
            self._conv1(inputs),
            self._conv3(self._conv3r(inputs)),
            self._conv5(self._conv5r(inputs)),
            self._convprj(self._pool(inputs)),
        ]
        return lm.relu(lm.concat(parts, axis=1))


#: Channels of the blocks of GoogLeNet by their names: of the images, then those that :class:`Inception` takes.
_BLOCKS = {
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


class GoogLeNet(Layer):
    """Nine blocks of windows of several sizes (Szegedy et al. 2014, "Going deeper with convolutions").

    Args:
        num_classes: number of scores; 0 ends before them.
        with_pool: True takes means over images.
    """

    def __init__(self, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.num_classes, self.with_pool = num_classes, with_pool
        self._conv = ConvLayer(3, 64, 7, 2)
        self._pool = MaxPool2D(kernel_size=3, stride=2)
        self._conv_1, self._conv_2 = ConvLayer(64, 64, 1), ConvLayer(64, 192, 3)
        for name, channels in _BLOCKS.items():
            self.add_sublayer(f"_ince{name}", Inception(*channels))
        if with_pool:
            self._pool_5 = AdaptiveAvgPool2D(1)
            self._pool_o1, self._pool_o2 = (AvgPool2D(kernel_size=5, stride=3) for _ in range(2))
        if num_classes > 0:
            self._drop = Dropout(p=0.4, mode="downscale_in_infer")
            self._fc_out = Linear(1024, num_classes, weight_attr=_drawn(1024))
            for number, inside in ((1, 512), (2, 528)):
                self.add_sublayer(f"_conv_o{number}", ConvLayer(inside, 128, 1))
                self.add_sublayer(f"_fc_o{number}", Linear(1152, 1024, weight_attr=_drawn(2048)))
                self.add_sublayer(f"_drop_o{number}", Dropout(p=0.7, mode="downscale_in_infer"))
                self.add_sublayer(f"_out{number}", Linear(1024, num_classes, weight_attr=_drawn(1024)))

    def _side(self, number: int, x: lm.Tensor) -> lm.Tensor:
        """Returns the scores of a block in the middle; only the first of both bends what its linear layer gives."""
        x = getattr(self, f"_fc_o{number}")(lm.flatten(getattr(self, f"_conv_o{number}")(x), 1))
        x = getattr(self, f"_drop_o{number}")(lm.relu(x) if number == 1 else x)
        made: lm.Tensor = getattr(self, f"_out{number}")(x)
        return made

    def forward(self, inputs: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor, lm.Tensor]:
        """Returns scores of images ``(n, 3, 224, 224)``: of the last block, and of two in the middle, for training."""
        x = self._pool(self._conv_2(self._conv_1(self._pool(self._conv(inputs)))))
        found = {}
        for name in _BLOCKS:
            x = found[name] = getattr(self, f"_ince{name}")(x)
            if name in ("3b", "4e"):
                x = self._pool(x)
        sides = [found["4a"], found["4d"]]
        if self.with_pool:
            x, sides = self._pool_5(x), [self._pool_o1(sides[0]), self._pool_o2(sides[1])]
        if self.num_classes > 0:
            x = self._fc_out(lm.flatten(self._drop(x), 1))
            sides = [self._side(number, side) for number, side in enumerate(sides, 1)]
        return x, sides[0], sides[1]


class _Branches(Layer):
    """Chains of convolutions beside each other, and a pool.

    Args:
        inside: number of channels of the images.
        chains: lists of steps; a step is one convolution, or several beside each other: their names, windows,
            channels, and with 2 behind these, steps of 2 without padding.
        pooled: number of channels that a convolution makes of what the pool gives; 0 leaves it as it is.
    """

    pool: Any = staticmethod(lambda: AvgPool2D(kernel_size=3, stride=1, padding=1, exclusive=False))

    def __init__(self, inside: int, chains: list[list[Any]], pooled: int = 0) -> None:
        super().__init__()
        self._chains = []
        for chain in chains:
            channels, names = inside, []
            for step in chain:
                together = step if isinstance(step, list) else [step]
                for name, window, outside, *stride in together:
                    self.add_sublayer(name, _convolution(channels, outside, window, *stride))
                names.append([name for name, *_ in together])
                channels = sum(outside for _, _, outside, *_ in together)
            self._chains.append(names)
        self.branch_pool = self.pool()
        self.branch_pool_conv = _convolution(inside, pooled, 1) if pooled else None

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns images with the channels of all chains, and those of the pool."""
        parts = []
        for chain in self._chains:
            y = x
            for names in chain:
                made = [getattr(self, name)(y) for name in names]
                y = made[0] if len(made) == 1 else lm.concat(made, axis=1)
            parts.append(y)
        pooled = self.branch_pool(x)
        parts.append(pooled if self.branch_pool_conv is None else self.branch_pool_conv(pooled))
        return lm.concat(parts, axis=1)


def _convolution(inside: int, outside: int, window: Any, stride: int = 1) -> Layer:
    padding: Any = 0
    if stride == 1:
        padding = tuple(each // 2 for each in window) if isinstance(window, tuple) else window // 2
    return ConvNormActivation(inside, outside, window, stride, padding)


def _largest() -> Layer:
    return MaxPool2D(kernel_size=3, stride=2)


class InceptionStem(Layer):
    """The first convolutions and pools of Inception v3."""

    def __init__(self) -> None:
        super().__init__()
        self.conv_1a_3x3 = ConvNormActivation(3, 32, 3, 2, 0)
        self.conv_2a_3x3 = ConvNormActivation(32, 32, 3, 1, 0)
        self.conv_2b_3x3 = ConvNormActivation(32, 64, 3, 1, 1)
        self.max_pool = _largest()
        self.conv_3b_1x1 = ConvNormActivation(64, 80, 1, 1, 0)
        self.conv_4a_3x3 = ConvNormActivation(80, 192, 3, 1, 0)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns images with 192 channels."""
        x = self.max_pool(self.conv_2b_3x3(self.conv_2a_3x3(self.conv_1a_3x3(x))))
        return self.max_pool(self.conv_4a_3x3(self.conv_3b_1x1(x)))


class InceptionA(_Branches):
    """Windows of 1x1, 5x5, and twice 3x3."""

    def __init__(self, inside: int, pooled: int) -> None:
        five = [("branch5x5_1", 1, 48), ("branch5x5_2", 5, 64)]
        three = [("branch3x3dbl_1", 1, 64), ("branch3x3dbl_2", 3, 96), ("branch3x3dbl_3", 3, 96)]
        super().__init__(inside, [[("branch1x1", 1, 64)], five, three], pooled)


class InceptionB(_Branches):
    """Windows of 3x3 that halve the images."""

    pool = staticmethod(_largest)

    def __init__(self, inside: int) -> None:
        three = [("branch3x3dbl_1", 1, 64), ("branch3x3dbl_2", 3, 96), ("branch3x3dbl_3", 3, 96, 2)]
        super().__init__(inside, [[("branch3x3", 3, 384, 2)], three])


class InceptionC(_Branches):
    """Windows of one row or one column of 7."""

    def __init__(self, inside: int, few: int) -> None:
        row, column = (1, 7), (7, 1)
        seven = [("branch7x7_1", 1, few), ("branch7x7_2", row, few), ("branch7x7_3", column, 192)]
        names = [f"branch7x7dbl_{number}" for number in range(1, 6)]
        windows, channels = (1, column, row, column, row), (few, few, few, few, 192)
        twice = list(zip(names, windows, channels, strict=True))
        super().__init__(inside, [[("branch1x1", 1, 192)], seven, twice], 192)


class InceptionD(_Branches):
    """Windows of one row or one column of 7, and of 3x3 that halve the images."""

    pool = staticmethod(_largest)

    def __init__(self, inside: int) -> None:
        seven = [("branch7x7x3_1", 1, 192), ("branch7x7x3_2", (1, 7), 192), ("branch7x7x3_3", (7, 1), 192)]
        three = [("branch3x3_1", 1, 192), ("branch3x3_2", 3, 320, 2)]
        super().__init__(inside, [three, [*seven, ("branch7x7x3_4", 3, 192, 2)]])


class InceptionE(_Branches):
    """Windows of one row beside those of one column of 3."""

    def __init__(self, inside: int) -> None:
        def ends(name: str) -> list[Any]:
            return [(f"{name}a", (1, 3), 384), (f"{name}b", (3, 1), 384)]

        three: list[Any] = [("branch3x3_1", 1, 384), ends("branch3x3_2")]
        twice: list[Any] = [("branch3x3dbl_1", 1, 448), ("branch3x3dbl_2", 3, 384), ends("branch3x3dbl_3")]
        super().__init__(inside, [[("branch1x1", 1, 320)], three, twice], 192)


class InceptionV3(Layer):
    """Windows taken apart into smaller ones (Szegedy et al. 2015, "Rethinking the Inception architecture").

    Args:
        num_classes: number of scores; 0 ends before them.
        with_pool: True takes the mean over each image.
    """

    def __init__(self, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.num_classes, self.with_pool = num_classes, with_pool
        self.inception_stem = InceptionStem()
        first = [InceptionA(192, 32), InceptionA(256, 64), InceptionA(288, 64), InceptionB(288)]
        middle = [*(InceptionC(768, few) for few in (128, 160, 160, 192)), InceptionD(768)]
        self.inception_block_list = LayerList([*first, *middle, InceptionE(1280), InceptionE(2048)])
        if with_pool:
            self.avg_pool = AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.dropout = Dropout(p=0.2, mode="downscale_in_infer")
            self.fc = Linear(2048, num_classes, weight_attr=_drawn(2048))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 3, 299, 299)``."""
        x = self.inception_stem(x)
        for block in self.inception_block_list:
            x = block(x)
        x = self.avg_pool(x) if self.with_pool else x
        return self.fc(self.dropout(lm.reshape(x, (-1, 2048)))) if self.num_classes > 0 else x


googlenet, inception_v3 = maker("googlenet", GoogLeNet), maker("inception_v3", InceptionV3)
