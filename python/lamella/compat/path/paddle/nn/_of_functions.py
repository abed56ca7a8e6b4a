"""Layers without parameters, each of a function of its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import lamella as lm

from . import functional as F  # noqa: N812
from ._base import Layer


def layer_of(name: str, function: Callable[..., Any], inputs: int = 1, **fixed: Any) -> Any:
    """Returns a layer that is made with a function's settings and calls it.

    Args:
        name: the layer's name.
        function: a function of tensors, then of settings.
        inputs: number of the tensors.
        fixed: settings that are not the layer's.
    """
    parameters = list(inspect.signature(function).parameters.values())
    words = [each for each in parameters[inputs:] if each.name not in fixed and each.name != "out"]
    own = [each.name for each in words if each.name != "name"]
    called = [each.name for each in parameters[:inputs]]
    signature = inspect.Signature(words)

    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807
        Layer.__init__(self)
        given = signature.bind(*args, **named)
        given.apply_defaults()
        for word in own:
            # Tensors become buffers, which move with the layer and are no part of its state.
            setattr(self, word, given.arguments[word])

    def forward(self: Any, *tensors: Any, **named: Any) -> Any:
        if unknown := set(named) - set(called):
            raise TypeError(f"[{name}] takes {', '.join(called)}, not {', '.join(sorted(unknown))}")
        return function(*tensors, **named, **{word: getattr(self, word) for word in own}, **fixed)

    def extra_repr(self: Any) -> str:
        return ", ".join(f"{word}={getattr(self, word)}" for word in own)

    forward.__doc__ = function.__doc__
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *words]
    )
    members = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__module__": "paddle.nn"}
    return type(name, (Layer,), members | {"__doc__": f":func:`{function.__name__}` as a layer."})


AvgPool1D, AvgPool2D, AvgPool3D = (layer_of(f"AvgPool{n}D", getattr(F, f"avg_pool{n}d")) for n in (1, 2, 3))
_MAX = (F.max_pool1d, F.max_pool2d, F.max_pool3d)
MaxPool1D, MaxPool2D, MaxPool3D = (layer_of(f"MaxPool{n}D", pool) for n, pool in zip((1, 2, 3), _MAX, strict=True))
AdaptiveAvgPool1D, AdaptiveAvgPool2D, AdaptiveAvgPool3D = (
    layer_of(f"AdaptiveAvgPool{n}D", getattr(F, f"adaptive_avg_pool{n}d")) for n in (1, 2, 3)
)
AdaptiveMaxPool1D, AdaptiveMaxPool2D, AdaptiveMaxPool3D = (
    layer_of(f"AdaptiveMaxPool{n}D", getattr(F, f"adaptive_max_pool{n}d")) for n in (1, 2, 3)
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = AdaptiveMaxPool1D, AdaptiveMaxPool2D, AdaptiveMaxPool3D
LPPool1D, LPPool2D = layer_of("LPPool1D", F.lp_pool1d), layer_of("LPPool2D", F.lp_pool2d)
LPPool1d, LPPool2d = LPPool1D, LPPool2D
MaxUnPool1D, MaxUnPool2D, MaxUnPool3D = (
    layer_of(f"MaxUnPool{n}D", getattr(F, f"max_unpool{n}d"), 2) for n in (1, 2, 3)
)
SELU = layer_of("SELU", F.selu)
LeakyReLU = layer_of("LeakyReLU", F.leaky_relu)
Hardshrink = layer_of("Hardshrink", F.hardshrink)
Hardsigmoid = layer_of("Hardsigmoid", F.hardsigmoid)
Maxout = layer_of("Maxout", F.maxout)
CosineSimilarity = layer_of("CosineSimilarity", F.cosine_similarity, 2)
HingeEmbeddingLoss = layer_of("HingeEmbeddingLoss", F.hinge_embedding_loss, 2)
MarginRankingLoss = layer_of("MarginRankingLoss", F.margin_ranking_loss, 3)
PixelShuffle = layer_of("PixelShuffle", F.pixel_shuffle)
PixelUnshuffle = layer_of("PixelUnshuffle", F.pixel_unshuffle)
ChannelShuffle = layer_of("ChannelShuffle", F.channel_shuffle)
LocalResponseNorm = layer_of("LocalResponseNorm", F.local_response_norm)
BCELoss = layer_of("BCELoss", F.binary_cross_entropy, 2)
BCEWithLogitsLoss = layer_of("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, 2)
CrossEntropyLoss = layer_of("CrossEntropyLoss", F.cross_entropy, 2)
KLDivLoss = layer_of("KLDivLoss", F.kl_div, 2)
L1Loss = layer_of("L1Loss", F.l1_loss, 2)
MultiLabelSoftMarginLoss = layer_of("MultiLabelSoftMarginLoss", F.multi_label_soft_margin_loss, 2)
MultiMarginLoss = layer_of("MultiMarginLoss", F.multi_margin_loss, 2)
NLLLoss = layer_of("NLLLoss", F.nll_loss, 2)
SiLU = Silu = layer_of("Silu", F.silu)
SmoothL1Loss = layer_of("SmoothL1Loss", F.smooth_l1_loss, 2)
TripletMarginLoss = layer_of("TripletMarginLoss", F.triplet_margin_loss, 3)
TripletMarginWithDistanceLoss = layer_of("TripletMarginWithDistanceLoss", F.triplet_margin_with_distance_loss, 3)
Upsample = layer_of("Upsample", F.interpolate, 1, antialias=False)
UpsamplingNearest2D = layer_of(
    "UpsamplingNearest2D",
    F.upsample,
    1,
    mode="nearest",
    align_corners=False,
    align_mode=0,
)
UpsamplingBilinear2D = layer_of(
    "UpsamplingBilinear2D",
    F.upsample,
    1,
    mode="bilinear",
    align_corners=True,
    align_mode=0,
)


class Identity(Layer):
    """Returns what it is given, whatever it is made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: lm.Tensor) -> lm.Tensor:
        """Returns ``input``."""
        return input


class RReLU(Layer):
    """:func:`rrelu` as a layer, which draws slopes while it trains."""

    def __init__(self, lower: float = 0.125, upper: float = 0.3333333333333333, name: str | None = None) -> None:
        super().__init__()
        self._lower, self._upper = lower, upper

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return F.rrelu(x, self._lower, self._upper, self.training)


class Unfold(Layer):
    """The windows of images in columns, see :func:`unfold`."""

    def __init__(
        self, kernel_sizes: Any, dilations: Any = 1, paddings: Any = 0, strides: Any = 1, name: str | None = None
    ) -> None:
        super().__init__()
        self.settings = kernel_sizes, strides, paddings, dilations

    def forward(self, input: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, channels, height, width)`` to ``(n, channels * window, windows)``."""
        return F.unfold(input, *self.settings)


class CTCLoss(Layer):
    """The cost of all ways to say labels while time goes on, see :func:`ctc_loss`."""

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(
        self,
        log_probs: lm.Tensor,
        labels: lm.Tensor,
        input_lengths: lm.Tensor,
        label_lengths: lm.Tensor,
        norm_by_times: bool = False,
    ) -> lm.Tensor:
        """Returns the loss of scores ``(times, n, classes)``."""
        options = self.blank, self.reduction, norm_by_times, self.zero_infinity
        return F.ctc_loss(log_probs, labels, input_lengths, label_lengths, *options)


class GroupNorm(Layer):
    """Normalizes groups of channels of each example."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
        *,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        from . import initializer

        self.num_groups, self.epsilon, self.data_format = num_groups, epsilon, data_format
        self.weight = self.bias = None
        if weight_attr is not False and affine:
            ones = initializer.Constant(1.0)
            self.weight = self.create_parameter([num_channels], weight_attr, dtype, default_initializer=ones)
        if bias_attr is not False and affine:
            self.bias = self.create_parameter([num_channels], bias_attr, dtype, is_bias=True)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return F.group_norm(x, self.num_groups, self.epsilon, self.weight, self.bias, self.data_format)


class Bilinear(Layer):
    """Products of two vectors with matrices between them: ``x1 @ weight[i] @ x2 + bias[i]``."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.weight = self.create_parameter([out_features, in1_features, in2_features], weight_attr)
        self.bias = None if bias_attr is False else self.create_parameter([1, out_features], bias_attr, is_bias=True)

    def forward(self, x1: lm.Tensor, x2: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, in1_features)`` and ``(n, in2_features)`` to ``(n, out_features)``."""
        return F.bilinear(x1, x2, self.weight, self.bias)
