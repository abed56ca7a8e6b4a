"""Networks that see images, beside the residual ones: VGG, AlexNet and those that are made for small machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm

from ..nn import AdaptiveAvgPool2D, BatchNorm2D, Conv2D, Dropout, Layer, Linear, MaxPool2D, ReLU, ReLU6, Sequential


def maker(name: str, make: Callable[..., Layer]) -> Callable[..., Layer]:
    """Returns the function of a name that makes a network, whose weights are drawn."""

    def function(pretrained: bool = False, **options: Any) -> Layer:
        if pretrained:
            raise NotImplementedError(f"[{name}] nothing is fetched from the network: load a file of weights")
        return make(**options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Returns the network {name}; options are those of its class."
    return function


#: Channels of the convolutions of VGG by its number of layers; 0 for a pool.
_VGG = {
    11: (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0),
    13: (64, 64, 0, 128, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0),
    16: (64, 64, 0, 128, 128, 0, *(256,) * 3, 0, *(512,) * 3, 0, *(512,) * 3, 0),
    19: (64, 64, 0, 128, 128, 0, *(256,) * 4, 0, *(512,) * 4, 0, *(512,) * 4, 0),
}


class VGG(Layer):
    """Convolutions of 3x3 and pools, then three linear layers (Simonyan & Zisserman 2014, "Very deep ...").

    Args:
        features: the convolutions.
        num_classes: number of scores; 0 ends before the linear layers.
        with_pool: True brings each image to 7x7 before these.
    """

    def __init__(self, features: Layer, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.features, self.num_classes, self.with_pool = features, num_classes, with_pool
        if with_pool:
            self.avgpool = AdaptiveAvgPool2D((7, 7))
        if num_classes > 0:
            wide = 4096
            self.classifier = Sequential(
                Linear(512 * 7 * 7, wide),
                ReLU(),
                Dropout(),
                Linear(wide, wide),
                ReLU(),
                Dropout(),
                Linear(wide, num_classes),
            )

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 3, height, width)``."""
        x = self.features(x)
        x = self.avgpool(x) if self.with_pool else x
        return self.classifier(lm.flatten(x, 1)) if self.num_classes > 0 else x


def _vgg(depth: int) -> Callable[..., Layer]:
    def make(batch_norm: bool = False, **options: Any) -> VGG:
        layers: list[Layer] = []
        inside = 3
        for channels in _VGG[depth]:
            if not channels:
                layers.append(MaxPool2D(2, 2))
                continue
            layers.append(Conv2D(inside, channels, 3, padding=1))
            layers += [BatchNorm2D(channels), ReLU()] if batch_norm else [ReLU()]
            inside = channels
        return VGG(Sequential(*layers), **options)

    function = maker(f"vgg{depth}", make)

    def vgg(pretrained: bool = False, batch_norm: bool = False, **options: Any) -> Layer:
        return function(pretrained, batch_norm=batch_norm, **options)

    vgg.__name__ = vgg.__qualname__ = function.__name__
    vgg.__doc__ = function.__doc__
    return vgg


vgg11, vgg13, vgg16, vgg19 = map(_vgg, (11, 13, 16, 19))


class ConvPoolLayer(Layer):
    """A convolution, what bends its results, and a pool."""

    def __init__(self, inside: int, outside: int, size: int, stride: int, padding: int) -> None:
        super().__init__()
        self.relu = ReLU()
        self._conv = Conv2D(inside, outside, size, stride=stride, padding=padding)
        self._pool = MaxPool2D(3, 2)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns smaller images with ``outside`` channels."""
        return self._pool(self.relu(self._conv(x)))


class AlexNet(Layer):
    """Five convolutions and three linear layers for images of 224x224.

    Krizhevsky, Sutskever & Hinton 2012, "ImageNet classification with deep convolutional neural networks".
    """

    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        self.num_classes = num_classes
        self._conv1 = ConvPoolLayer(3, 64, 11, 4, 2)
        self._conv2 = ConvPoolLayer(64, 192, 5, 1, 2)
        self._conv3 = Conv2D(192, 384, 3, padding=1)
        self._conv4 = Conv2D(384, 256, 3, padding=1)
        self._conv5 = ConvPoolLayer(256, 256, 3, 1, 1)
        if num_classes > 0:
            self._drop1, self._drop2 = (Dropout(0.5, mode="downscale_in_infer") for _ in range(2))
            self._fc6 = Linear(256 * 6 * 6, 4096)
            self._fc7 = Linear(4096, 4096)
            self._fc8 = Linear(4096, num_classes)

    def forward(self, inputs: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 3, 224, 224)``."""
        x = self._conv2(self._conv1(inputs))
        x = self._conv5(lm.relu(self._conv4(lm.relu(self._conv3(x)))))
        if self.num_classes <= 0:
            return x
        x = lm.relu(self._fc6(self._drop1(lm.flatten(x, 1))))
        scores: lm.Tensor = self._fc8(lm.relu(self._fc7(self._drop2(x))))
        return scores


alexnet = maker("alexnet", AlexNet)


class ConvNormActivation(Sequential):
    """A convolution, its normalization, and what bends its results, where there is something of each.

    Args:
        in_channels: number of channels of the images.
        out_channels: number of channels of the results.
        kernel_size: the window.
        stride: its steps.
        padding: rows and columns of zeros; as many as keep the size at steps of 1 where None is given.
        groups: number of groups of channels.
        norm_layer: makes the normalization, of a number of channels; None for none.
        activation_layer: makes what bends; None for nothing.
        dilation: distance between a window's elements.
        bias: True for a bias of the convolution; by default where nothing normalizes.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Any = BatchNorm2D,
        activation_layer: Any = ReLU,
        dilation: Any = 1,
        bias: bool | None = None,
    ) -> None:
        if padding is None:
            padding = (kernel_size - 1) // 2 * dilation
        if bias is None:
            bias = norm_layer is None
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        bias_attr = None if bias else False
        layers: list[Layer] = [Conv2D(in_channels, out_channels, kernel_size, bias_attr=bias_attr, **options)]
        layers += [] if norm_layer is None else [norm_layer(out_channels)]
        super().__init__(*layers, *([] if activation_layer is None else [activation_layer()]))


def _unit(inside: int, outside: int, size: int, stride: int = 1, groups: int = 1, act: type = ReLU) -> Layer:
    return ConvNormActivation(inside, outside, size, stride, None, groups, activation_layer=act)


class DepthwiseSeparable(Layer):
    """A convolution of single channels, and one of 1x1 that mixes them."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self._depthwise_conv = _unit(inside, inside, 3, stride, inside)
        self._pointwise_conv = _unit(inside, outside, 1)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns images with ``outside`` channels."""
        return self._pointwise_conv(self._depthwise_conv(x))


#: Channels of a block of MobileNet, and the step of its convolution, by its name.
_SEPARABLE = {
    "conv2_1": (64, 1),
    "conv2_2": (128, 2),
    "conv3_1": (128, 1),
    "conv3_2": (256, 2),
    "conv4_1": (256, 1),
    "conv4_2": (512, 2),
    **{f"conv5_{number}": (512, 1) for number in range(1, 6)},
    "conv5_6": (1024, 2),
    "conv6": (1024, 1),
}


class MobileNetV1(Layer):
    """Convolutions of single channels, each followed by one of 1x1 (Howard et al. 2017, "MobileNets").

    Args:
        scale: multiplies all numbers of channels.
        num_classes: number of scores; 0 ends before them.
        with_pool: True takes the mean over each image.
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.scale, self.num_classes, self.with_pool = scale, num_classes, with_pool
        inside = int(32 * scale)
        self.conv1 = _unit(3, inside, 3, 2)
        for name, (channels, stride) in _SEPARABLE.items():
            self.add_sublayer(name, DepthwiseSeparable(inside, int(channels * scale), stride))
            inside = int(channels * scale)
        if with_pool:
            self.pool2d_avg = AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.fc = Linear(inside, num_classes)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 3, height, width)``."""
        x = self.conv1(x)
        for name in _SEPARABLE:
            x = getattr(self, name)(x)
        x = self.pool2d_avg(x) if self.with_pool else x
        return self.fc(lm.flatten(x, 1)) if self.num_classes > 0 else x


class InvertedResidual(Layer):
    """Convolutions that are wide inside, added to what goes around them where the shapes are the same."""

    def __init__(self, inside: int, outside: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inside * expansion
        layers = [_unit(inside, wide, 1, act=ReLU6)] if expansion != 1 else []
        layers += [_unit(wide, wide, 3, stride, wide, ReLU6), Conv2D(wide, outside, 1, bias_attr=False)]
        self.conv = Sequential(*layers, BatchNorm2D(outside))
        self.adds = stride == 1 and inside == outside

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns images with ``outside`` channels."""
        made: lm.Tensor = self.conv(x)
        return x + made if self.adds else made


#: Expansion, channels, number and first step of the blocks of MobileNetV2.
_INVERTED = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def _whole(channels: float) -> int:
    """Returns a multiple of 8 near to a number of channels, and not much below it."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near


class MobileNetV2(Layer):
    """Blocks that are wide inside and narrow at their ends (Sandler et al. 2018, "MobileNetV2").

    Args:
        scale: multiplies all numbers of channels.
        num_classes: number of scores; 0 ends before them.
        with_pool: True takes the mean over each image.
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.num_classes, self.with_pool = num_classes, with_pool
        inside, last = _whole(32 * scale), _whole(1280 * max(1.0, scale))
        features = [_unit(3, inside, 3, 2, act=ReLU6)]
        for expansion, channels, count, first in _INVERTED:
            for number in range(count):
                outside = _whole(channels * scale)
                features.append(InvertedResidual(inside, outside, first if number == 0 else 1, expansion))
                inside = outside
        self.features = Sequential(*features, _unit(inside, last, 1, act=ReLU6))
        if with_pool:
            self.pool2d_avg = AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.classifier = Sequential(Dropout(0.2), Linear(last, num_classes))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 3, height, width)``."""
        x = self.features(x)
        x = self.pool2d_avg(x) if self.with_pool else x
        return self.classifier(lm.flatten(x, 1)) if self.num_classes > 0 else x


def mobilenet_v1(pretrained: bool = False, scale: float = 1.0, **options: Any) -> Layer:
    """Returns a :class:`MobileNetV1`."""
    return maker("mobilenet_v1", MobileNetV1)(pretrained, scale=scale, **options)


def mobilenet_v2(pretrained: bool = False, scale: float = 1.0, **options: Any) -> Layer:
    """Returns a :class:`MobileNetV2`."""
    return maker("mobilenet_v2", MobileNetV2)(pretrained, scale=scale, **options)
