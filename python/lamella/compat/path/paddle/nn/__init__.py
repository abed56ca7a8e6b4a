"""Paddle's layers that map directly to Lamella's."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat.names import Names, serve
from lamella.compat.tables.paddle_nn import LAYERS as _TABLE

from .. import _words
from . import functional, initializer, utils  # noqa: F401
from ._base import Layer
from ._classes import HSigmoidLoss, RNNTLoss  # noqa: F401
from ._convolutions import (  # noqa: F401
    Conv1D,
    Conv1d,
    Conv1DTranspose,
    Conv2D,
    Conv2d,
    Conv2DTranspose,
    Conv3D,
    Conv3d,
    Conv3DTranspose,
)
from ._decoding import BeamSearchDecoder, dynamic_decode  # noqa: F401
from ._dropout import AlphaDropout, Dropout, FeatureAlphaDropout  # noqa: F401
from ._fractional import FractionalMaxPool2D, FractionalMaxPool3D  # noqa: F401
from ._images import BatchNorm1D, BatchNorm2D, BatchNorm3D, SyncBatchNorm  # noqa: F401
from ._lists import LayerList, Sequential  # noqa: F401
from ._more import (  # noqa: F401
    InstanceNorm1D,
    InstanceNorm2D,
    InstanceNorm3D,
    Pad1D,
    Pad2D,
    Pad3D,
    PReLU,
    ZeroPad1D,
    ZeroPad2D,
    ZeroPad3D,
)
from ._of_functions import (  # noqa: F401
    SELU,
    AdaptiveAvgPool1D,
    AdaptiveAvgPool2D,
    AdaptiveAvgPool3D,
    AdaptiveMaxPool1D,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2D,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3D,
    AdaptiveMaxPool3d,
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    BCELoss,
    BCEWithLogitsLoss,
    Bilinear,
    ChannelShuffle,
    CosineSimilarity,
    CrossEntropyLoss,
    CTCLoss,
    GroupNorm,
    Hardshrink,
    Hardsigmoid,
    HingeEmbeddingLoss,
    Identity,
    KLDivLoss,
    L1Loss,
    LeakyReLU,
    LocalResponseNorm,
    LPPool1D,
    LPPool1d,
    LPPool2D,
    LPPool2d,
    MarginRankingLoss,
    Maxout,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    MaxUnPool1D,
    MaxUnPool2D,
    MaxUnPool3D,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    NLLLoss,
    PixelShuffle,
    PixelUnshuffle,
    RReLU,
    SiLU,
    Silu,
    SmoothL1Loss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
    Unfold,
    Upsample,
    UpsamplingBilinear2D,
    UpsamplingNearest2D,
)
from ._sequences import (  # noqa: F401
    GRU,
    LSTM,
    GRUCell,
    LSTMCell,
    MultiHeadAttention,
    RNNCellBase,
    SimpleRNN,
    SimpleRNNCell,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from ._sets import (  # noqa: F401
    RNN,
    BatchNorm,
    BiRNN,
    LayerDict,
    ParameterDict,
    ParameterList,
    SpectralNorm,
    Transformer,
)
from ._tables import Embedding, LayerNorm  # noqa: F401
from ._texts import dress
from .clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue  # noqa: F401


class Linear(Layer):
    """``x @ weight + bias`` with a weight of shape ``(in_features, out_features)``."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = None
        if bias_attr is not False:
            self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``(..., in_features)`` to ``(..., out_features)``."""
        return functional.linear(x, self.weight, self.bias)


Module, ModuleDict, ModuleList, Parameter = Layer, LayerDict, LayerList, lm.nn.Parameter


class ReLU(Layer, lm.nn.ReLU):
    """``max(x, 0)``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class Tanh(Layer, lm.nn.Tanh):
    """The hyperbolic tangent."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class Sigmoid(Layer, lm.nn.Sigmoid):
    """``1 / (1 + exp(-x))``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class GELU(Layer):
    """The Gaussian error linear unit."""

    def __init__(self, approximate: bool | str = False, name: str | None = None) -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies it to each element."""
        return functional.gelu(x, self.approximate)


class Softmax(Layer):
    """The softmax along ``axis``."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return functional.softmax(x, self.axis)


class Flatten(Layer):
    """Joins the axes ``start_axis`` to ``stop_axis``."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.axes = (start_axis, stop_axis)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x`` with the axes joined."""
        return lm.flatten(x, *self.axes)


class MSELoss(Layer):
    """The squared difference of two tensors."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: lm.Tensor, label: lm.Tensor) -> lm.Tensor:
        """Returns the loss."""
        return functional.mse_loss(input, label, self.reduction)


_served = serve(Names(__name__, [("lamella.nn", _TABLE, _words.LAYERS)]))


def __getattr__(name: str) -> Any:
    """Returns a layer of the table, which is made when it is first asked for."""
    made = _served(name)
    return dress(name, made) if isinstance(made, type) else made


for _name, _each in list(globals().items()):
    if isinstance(_each, type) and issubclass(_each, Layer):
        dress(_name, _each)
