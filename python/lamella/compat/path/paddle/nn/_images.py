"""Paddle's layers for images."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.static import ParamAttr

from . import initializer
from ._base import Layer
from ._layouts import channels_last
from ._normalized import batch_norm


class _BatchNorm(Layer):
    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        channels_last("BatchNorm", data_format)
        self.data_format = data_format
        self.momentum, self.epsilon, self.use_global_stats = momentum, epsilon, use_global_stats
        ones = initializer.Constant(1.0)
        self.weight = self.bias = None
        if weight_attr is not False:
            self.weight = self.create_parameter([num_features], weight_attr, default_initializer=ones)
        if bias_attr is not False:
            self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        # As in Paddle these are parameters, which are not trained.
        zeros = initializer.Constant(0.0)
        self._mean = self.create_parameter([num_features], ParamAttr(initializer=zeros, trainable=False))
        self._variance = self.create_parameter([num_features], ParamAttr(initializer=ones, trainable=False))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Normalizes each channel by the batch, in evaluation by the running mean and variance."""
        options = self.momentum, self.epsilon, self.data_format, self.use_global_stats
        y: lm.Tensor = batch_norm(x, self._mean, self._variance, self.weight, self.bias, self.training, *options)
        return y


class BatchNorm1D(_BatchNorm):
    """Normalizes each channel over the batch."""


class BatchNorm2D(_BatchNorm):
    """Normalizes each channel of images over the batch."""


class BatchNorm3D(_BatchNorm):
    """Normalizes each channel of volumes over the batch."""


class SyncBatchNorm(_BatchNorm):
    """Normalizes each channel over the batches of all processes, of which there is one here."""

    @classmethod
    def convert_sync_batchnorm(cls, layer: Layer) -> Layer:
        """Returns the layer itself: with one process, batch norms are the same."""
        return layer
