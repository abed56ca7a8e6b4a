"""Layers that take sparse tensors: activations of their values, convolutions, pooling and batch norms."""

from __future__ import annotations

from lamella.compat.front import close_module

from ... import nn
from .._tensor import SparseTensor
from . import functional
from ._layers import BatchNorm, Conv2D, Conv3D, MaxPool3D, SubmConv2D, SubmConv3D, SyncBatchNorm  # noqa: F401


class ReLU(nn.Layer):
    """See :func:`paddle.sparse.nn.functional.relu`."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: SparseTensor) -> SparseTensor:
        """Returns the tensor with other values."""
        return functional.relu(x)


class ReLU6(nn.Layer):
    """See :func:`paddle.sparse.nn.functional.relu6`."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: SparseTensor) -> SparseTensor:
        """Returns the tensor with other values."""
        return functional.relu6(x)


class LeakyReLU(nn.Layer):
    """See :func:`paddle.sparse.nn.functional.leaky_relu`."""

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__()
        self._negative_slope = negative_slope

    def forward(self, x: SparseTensor) -> SparseTensor:
        """Returns the tensor with other values."""
        return functional.leaky_relu(x, self._negative_slope)


class Softmax(nn.Layer):
    """See :func:`paddle.sparse.nn.functional.softmax`."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self._axis = axis

    def forward(self, x: SparseTensor) -> SparseTensor:
        """Returns the tensor with other values."""
        return functional.softmax(x, self._axis)


__getattr__ = close_module(__name__)
