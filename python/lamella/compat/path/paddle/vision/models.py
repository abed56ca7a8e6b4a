"""Networks that see images; weights are drawn, as nothing is fetched from the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module

from ..nn import (
    AdaptiveAvgPool2D,
    BatchNorm2D,
    Conv2D,
    Flatten,
    Layer,
    Linear,
    MaxPool2D,
    ReLU,
    Sequential,
)
from ._dense import (  # noqa: F401
    DenseNet,
    densenet121,
    densenet161,
    densenet169,
    densenet201,
    densenet264,
)
from ._fires import SqueezeNet, squeezenet1_0, squeezenet1_1  # noqa: F401
from ._inception import GoogLeNet, InceptionV3, googlenet, inception_v3  # noqa: F401
from ._networks import (  # noqa: F401
    VGG,
    AlexNet,
    MobileNetV1,
    MobileNetV2,
    alexnet,
    maker,
    mobilenet_v1,
    mobilenet_v2,
    vgg11,
    vgg13,
    vgg16,
    vgg19,
)
from ._searched import (  # noqa: F401
    MobileNetV3Large,
    MobileNetV3Small,
    mobilenet_v3_large,
    mobilenet_v3_small,
)
from ._shuffled import (  # noqa: F401
    ShuffleNetV2,
    shufflenet_v2_swish,
    shufflenet_v2_x0_5,
    shufflenet_v2_x0_25,
    shufflenet_v2_x0_33,
    shufflenet_v2_x1_0,
    shufflenet_v2_x1_5,
    shufflenet_v2_x2_0,
)


class LeNet(Layer):
    """Two convolutions and three linear layers for images of 28x28 (LeCun et al. 1998)."""

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.features = Sequential(
            Conv2D(1, 6, 3, stride=1, padding=1),
            ReLU(),
            MaxPool2D(2, 2),
            Conv2D(6, 16, 5, stride=1, padding=0),
            ReLU(),
            MaxPool2D(2, 2),
        )
        if num_classes > 0:
            self.fc = Sequential(Linear(400, 120), Linear(120, 84), Linear(84, num_classes))

    def forward(self, inputs: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 1, 28, 28)``."""
        x: lm.Tensor = self.features(inputs)
        return self.fc(lm.flatten(x, 1)) if self.num_classes > 0 else x


class BasicBlock(Layer):
    """Two convolutions of 3x3 beside what goes around them."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: Layer | None = None,
        groups: int = 1,
        base_width: int = 64,
    ) -> None:
        super().__init__()
        if (groups, base_width) != (1, 64):
            raise ValueError(f"[BasicBlock] groups is 1 and base_width 64, not {groups} and {base_width}")
        self.conv1 = Conv2D(inplanes, planes, 3, padding=1, stride=stride, bias_attr=False)
        self.bn1 = BatchNorm2D(planes)
        self.relu = ReLU()
        self.conv2 = Conv2D(planes, planes, 3, padding=1, bias_attr=False)
        self.bn2 = BatchNorm2D(planes)
        self.downsample = downsample

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns images with ``planes`` channels."""
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class BottleneckBlock(Layer):
    """Convolutions of 1x1, 3x3 and 1x1 beside what goes around them."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: Layer | None = None,
        groups: int = 1,
        base_width: int = 64,
    ) -> None:
        super().__init__()
        width = planes * base_width // 64 * groups
        self.conv1 = Conv2D(inplanes, width, 1, bias_attr=False)
        self.bn1 = BatchNorm2D(width)
        self.conv2 = Conv2D(width, width, 3, padding=1, stride=stride, groups=groups, bias_attr=False)
        self.bn2 = BatchNorm2D(width)
        self.conv3 = Conv2D(width, planes * self.expansion, 1, bias_attr=False)
        self.bn3 = BatchNorm2D(planes * self.expansion)
        self.relu = ReLU()
        self.downsample = downsample

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns images with ``4 * planes`` channels."""
        y = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        return self.relu(self.bn3(self.conv3(y)) + (x if self.downsample is None else self.downsample(x)))


#: Numbers of blocks of the four stages, by the number of layers.
_DEPTHS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


class ResNet(Layer):
    """Residual networks (He et al. 2015, "Deep residual learning for image recognition").

    Args:
        block: :class:`BasicBlock` or :class:`BottleneckBlock`.
        depth: number of layers: 18, 34, 50, 101 or 152.
        width: channels of a group within the first blocks (Zagoruyko & Komodakis 2016, "Wide residual networks").
        num_classes: number of scores; 0 ends before them.
        with_pool: True takes the mean over each image.
        groups: number of groups of channels (Xie et al. 2016, "Aggregated residual transformations").
    """

    def __init__(
        self,
        block: Any,
        depth: int = 50,
        width: int = 64,
        num_classes: int = 1000,
        with_pool: bool = True,
        groups: int = 1,
    ) -> None:
        super().__init__()
        if depth not in _DEPTHS:
            raise ValueError(f"[ResNet] depth is one of {', '.join(map(str, _DEPTHS))}, not {depth!r}")
        self.num_classes, self.with_pool, self.inplanes = num_classes, with_pool, 64
        self.groups, self.base_width = groups, width
        self.conv1 = Conv2D(3, 64, 7, stride=2, padding=3, bias_attr=False)
        self.bn1 = BatchNorm2D(64)
        self.relu = ReLU()
        self.maxpool = MaxPool2D(3, stride=2, padding=1)
        for stage, blocks in enumerate(_DEPTHS[depth]):
            self.add_sublayer(f"layer{stage + 1}", self._stage(block, 64 << stage, blocks, 1 if stage == 0 else 2))
        if with_pool:
            self.avgpool = AdaptiveAvgPool2D((1, 1))
        if num_classes > 0:
            self.flatten, self.fc = Flatten(1), Linear(512 * block.expansion, num_classes)

    def _stage(self, block: Any, planes: int, blocks: int, stride: int) -> Layer:
        outside = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != outside:
            downsample = Sequential(
                Conv2D(self.inplanes, outside, 1, stride=stride, bias_attr=False), BatchNorm2D(outside)
            )
        inside: dict[str, int] = {"groups": self.groups, "base_width": self.base_width}
        layers = [block(self.inplanes, planes, stride, downsample, **inside)]
        self.inplanes = outside
        return Sequential(*layers, *(block(outside, planes, **inside) for _ in range(blocks - 1)))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 3, height, width)``."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
        if self.with_pool:
            x = self.avgpool(x)
        return self.fc(self.flatten(x)) if self.num_classes > 0 else x


def _resnet(name: str, depth: int, **fixed: Any) -> Callable[..., Layer]:
    block = BottleneckBlock if depth >= 50 else BasicBlock
    return maker(name, lambda **options: ResNet(block, depth, **fixed, **options))


resnet18, resnet34, resnet50, resnet101, resnet152 = (_resnet(f"resnet{depth}", depth) for depth in _DEPTHS)
wide_resnet50_2, wide_resnet101_2 = (_resnet(f"wide_resnet{depth}_2", depth, width=128) for depth in (50, 101))
resnext50_32x4d, resnext101_32x4d, resnext152_32x4d = (
    _resnet(f"resnext{depth}_32x4d", depth, width=4, groups=32) for depth in (50, 101, 152)
)
resnext50_64x4d, resnext101_64x4d, resnext152_64x4d = (
    _resnet(f"resnext{depth}_64x4d", depth, width=4, groups=64) for depth in (50, 101, 152)
)

__getattr__ = close_module(__name__)
