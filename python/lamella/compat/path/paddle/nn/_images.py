"""Paddle's layers for images."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella.static import in_dynamic_mode

from . import initializer
from ._base import Layer


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
        if data_format not in ("NC", "NCL", "NCHW", "NCDHW"):
            raise NotImplementedError("[BatchNorm] in Lamella's paddle front channels are the second axis")
        self.momentum, self.epsilon, self.use_global_stats = momentum, epsilon, use_global_stats
        ones = initializer.Constant(1.0)
        self.weight = self.bias = None
        if weight_attr is not False:
            self.weight = self.create_parameter([num_features], weight_attr, default_initializer=ones)
        if bias_attr is not False:
            self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        self.register_buffer("_mean", lm.zeros((num_features,)))
        self.register_buffer("_variance", lm.ones((num_features,)))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Normalizes each channel by the batch, in evaluation by the running mean and variance."""
        by_batch = self.training and not self.use_global_stats
        mean, variance, momentum = self._mean, self._variance, 1.0 - self.momentum
        # A program knows no count before it runs, and keeps Lamella's estimate.
        kept = variance * self.momentum if by_batch and in_dynamic_mode() else None
        y = lm.batch_norm(x, mean, variance, self.weight, self.bias, by_batch, momentum, self.epsilon)
        if kept is not None:
            # Of a batch's variance Paddle keeps the mean of squares, PyTorch and Lamella the unbiased estimate.
            count = math.prod(x.shape) // x.shape[1]
            with lm.no_grad():
                variance.copy_(kept + (variance - kept) * ((count - 1) / count))
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


class MaxPool2D(Layer):
    """The largest element of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if return_mask or data_format != "NCHW":
            raise NotImplementedError("[MaxPool2D] Lamella's paddle front returns no mask and takes NCHW")
        self.window = (_pair(kernel_size), None if stride is None else _pair(stride), _pair(padding))
        self.ceil_mode = ceil_mode

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, channels, *size)`` to ``(n, channels, *new_size)``."""
        kernel, stride, padding = self.window
        return lm.max_pool2d(x, kernel, stride, padding, ceil_mode=self.ceil_mode)


class AvgPool2D(Layer):
    """The mean of each window; of its elements in the image where ``exclusive``."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if data_format != "NCHW":
            raise NotImplementedError("[AvgPool2D] Lamella's paddle front takes NCHW")
        self.window = (_pair(kernel_size), None if stride is None else _pair(stride), _pair(padding))
        self.options = (ceil_mode, not exclusive, divisor_override)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, channels, *size)`` to ``(n, channels, *new_size)``."""
        return lm.avg_pool2d(x, *self.window, *self.options)


def _pair(value: Any) -> tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    return int(first), int(second)
