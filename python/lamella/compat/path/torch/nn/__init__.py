"""Layers, losses and their starting values."""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from __future__ import annotations

from typing import Any

import lamella as _lm
from lamella.compat.front import close_module
from lamella.nn import (
    CELU,
    ELU,
    GELU,
    GRU,
    LSTM,
    RNN,
    SELU,
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AlphaDropout,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    BCELoss,
    BCEWithLogitsLoss,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    CTCLoss,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    Embedding,
    EmbeddingBag,
    FeatureAlphaDropout,
    Fold,
    FractionalMaxPool2d,
    FractionalMaxPool3d,
    GaussianNLLLoss,
    GroupNorm,
    GRUCell,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    HingeEmbeddingLoss,
    HuberLoss,
    Identity,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    KLDivLoss,
    L1Loss,
    LayerNorm,
    LeakyReLU,
    Linear,
    LocalResponseNorm,
    LogSigmoid,
    LPPool1d,
    LPPool2d,
    LPPool3d,
    LSTMCell,
    MarginRankingLoss,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    Mish,
    Module,
    ModuleList,
    MSELoss,
    MultiheadAttention,
    MultiMarginLoss,
    NLLLoss,
    PixelShuffle,
    PixelUnshuffle,
    PoissonNLLLoss,
    PReLU,
    ReLU,
    ReLU6,
    RMSNorm,
    RNNCell,
    RReLU,
    Sequential,
    Sigmoid,
    SiLU,
    SmoothL1Loss,
    SoftMarginLoss,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
    Unfold,
    Upsample,
    init,
)

from . import functional


class _ParameterType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _lm.nn.Parameter)


class Parameter(_lm.nn.Parameter, metaclass=_ParameterType):
    """A leaf that a module registers; the parameters of Lamella's own layers are instances, too."""

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:  # type: ignore[misc]
        """Makes a parameter with the values of ``data``."""
        return super().__new__(cls, _lm.zeros((0,)) if data is None else data, stop_gradient=not requires_grad)


class Flatten(_lm.nn.Flatten):
    """Joins the axes ``start_dim`` to ``end_dim``."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__(start_dim, end_dim)


class GLU(_lm.nn.GLU):
    """One half along ``dim`` times the sigmoid of the other."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim)


class LogSoftmax(_lm.nn.LogSoftmax):
    """The logarithm of the softmax along ``dim``."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim)


class Softmax(_lm.nn.Softmax):
    """The softmax along ``dim``."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim)


class Softmin(_lm.nn.Softmin):
    """The softmax of the negative along ``dim``."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim)


__getattr__ = close_module(__name__)
