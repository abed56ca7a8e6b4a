"""ShuffleNet v2: half of the channels pass each block as they are, and all are shuffled behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm

from ..nn import AdaptiveAvgPool2D, Layer, Linear, MaxPool2D, ReLU, Swish
from ..nn.functional import channel_shuffle
from ._networks import ConvNormActivation, maker

#: Channels of the first convolution, of the three stages and of the last convolution, by the width.
_CHANNELS = {
    0.25: (24, 24, 48, 96, 512),
    0.33: (24, 32, 64, 128, 512),
    0.5: (24, 48, 96, 192, 1024),
    1.0: (24, 116, 232, 464, 1024),
    1.5: (24, 176, 352, 704, 1024),
    2.0: (24, 224, 488, 976, 2048),
}
#: Numbers of blocks of the stages.
_BLOCKS = (4, 8, 4)
_ACTIVATIONS = {"relu": ReLU, "swish": Swish, None: None}


class InvertedResidual(Layer):
    """Convolutions of one half of the channels."""

    def __init__(self, channels: int, bends: Any) -> None:
        super().__init__()
        half = channels // 2
        self._conv_pw = ConvNormActivation(half, half, 1, 1, 0, activation_layer=bends)
        self._conv_dw = ConvNormActivation(half, half, 3, 1, 1, half, activation_layer=None)
        self._conv_linear = ConvNormActivation(half, half, 1, 1, 0, activation_layer=bends)

    def forward(self, inputs: lm.Tensor) -> lm.Tensor:
        """Returns images of the shape of ``inputs``."""
        first, second = lm.split(inputs, 2, axis=1)
        second = self._conv_linear(self._conv_dw(self._conv_pw(second)))
        made: lm.Tensor = channel_shuffle(lm.concat([first, second], axis=1), 2)
        return made


class InvertedResidualDS(Layer):
    """Two chains of convolutions of all channels, each of which halves the images."""

    def __init__(self, inside: int, outside: int, bends: Any) -> None:
        super().__init__()
        half = outside // 2
        self._conv_dw_1 = ConvNormActivation(inside, inside, 3, 2, 1, inside, activation_layer=None)
        self._conv_linear_1 = ConvNormActivation(inside, half, 1, 1, 0, activation_layer=bends)
        self._conv_pw_2 = ConvNormActivation(inside, half, 1, 1, 0, activation_layer=bends)
        self._conv_dw_2 = ConvNormActivation(half, half, 3, 2, 1, half, activation_layer=None)
        self._conv_linear_2 = ConvNormActivation(half, half, 1, 1, 0, activation_layer=bends)

    def forward(self, inputs: lm.Tensor) -> lm.Tensor:
        """Returns images of half the size."""
        first = self._conv_linear_1(self._conv_dw_1(inputs))
        second = self._conv_linear_2(self._conv_dw_2(self._conv_pw_2(inputs)))
        made: lm.Tensor = channel_shuffle(lm.concat([first, second], axis=1), 2)
        return made


class ShuffleNetV2(Layer):
    """Blocks that need little memory traffic (Ma et al. 2018, "ShuffleNet V2").

    Args:
        scale: the width: 0.25, 0.33, 0.5, 1, 1.5 or 2.
        act: "relu", "swish" or None.
        num_classes: number of scores; 0 ends before them.
        with_pool: True takes the mean over each image.

    Raises:
        NotImplementedError: there is no network of the width.
        RuntimeError: ``act`` is another word.
    """

    def __init__(
        self, scale: float = 1.0, act: str | None = "relu", num_classes: int = 1000, with_pool: bool = True
    ) -> None:
        super().__init__()
        if scale not in _CHANNELS:
            raise NotImplementedError(f"[ShuffleNetV2] scale is one of {', '.join(map(str, _CHANNELS))}, not {scale}")
        if act not in _ACTIVATIONS:
            raise RuntimeError(f"[ShuffleNetV2] act is 'relu', 'swish' or None, not {act!r}")
        self.scale, self.num_classes, self.with_pool = scale, num_classes, with_pool
        bends: Any = _ACTIVATIONS[act]
        first, *stages, last = _CHANNELS[scale]
        self._conv1 = ConvNormActivation(3, first, 3, 2, 1, activation_layer=bends)
        self._max_pool = MaxPool2D(kernel_size=3, stride=2, padding=1)
        self._names = []
        inside = first
        for stage, (outside, blocks) in enumerate(zip(stages, _BLOCKS, strict=True), 2):
            for number in range(1, blocks + 1):
                halves = number == 1
                block: Any = InvertedResidualDS(inside, outside, bends) if halves else InvertedResidual(outside, bends)
                self._names.append(f"{stage}_{number}")
                self.add_sublayer(self._names[-1], block)
            inside = outside
        self._last_conv = ConvNormActivation(inside, last, 1, 1, 0, activation_layer=bends)
        if with_pool:
            self._pool2d_avg = AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self._fc = Linear(last, num_classes)

    def forward(self, inputs: lm.Tensor) -> lm.Tensor:
        """Returns scores ``(n, num_classes)`` of images ``(n, 3, height, width)``."""
        x: lm.Tensor = self._max_pool(self._conv1(inputs))
        for name in self._names:
            x = self._modules[name](x)  # type: ignore[misc]
        x = self._last_conv(x)
        x = self._pool2d_avg(x) if self.with_pool else x
        return self._fc(lm.flatten(x, 1)) if self.num_classes > 0 else x


def _of_width(name: str, scale: float, act: str = "relu") -> Callable[..., Layer]:
    return maker(name, lambda **options: ShuffleNetV2(scale, act, **options))


shufflenet_v2_x0_25 = _of_width("shufflenet_v2_x0_25", 0.25)
shufflenet_v2_x0_33 = _of_width("shufflenet_v2_x0_33", 0.33)
shufflenet_v2_x0_5 = _of_width("shufflenet_v2_x0_5", 0.5)
shufflenet_v2_x1_0 = _of_width("shufflenet_v2_x1_0", 1.0)
shufflenet_v2_x1_5 = _of_width("shufflenet_v2_x1_5", 1.5)
shufflenet_v2_x2_0 = _of_width("shufflenet_v2_x2_0", 2.0)
shufflenet_v2_swish = _of_width("shufflenet_v2_swish", 1.0, "swish")
