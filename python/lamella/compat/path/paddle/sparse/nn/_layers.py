"""Layers of sparse images and volumes: convolutions, pooling and batch norms."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ... import nn
from ...nn._layouts import sizes
from .._tensor import SparseTensor
from . import _neighbors


class _Conv(nn.Layer):
    _axes: ClassVar[int]
    _layout: ClassVar[str]
    _at_values: ClassVar[bool]

    def _make(
        self,
        channels: tuple[int, int],
        kernel_size: Any,
        options: tuple[Any, Any, Any],
        groups: int,
        padding_mode: str,
        attributes: tuple[Any, Any],
        data_format: str,
    ) -> None:
        name = type(self).__name__
        if groups != 1:
            raise AssertionError(f"[{name}] groups is 1, not {groups}")
        if padding_mode != "zeros":
            raise AssertionError(f"[{name}] padding_mode is 'zeros', not {padding_mode!r}")
        if data_format != self._layout:
            raise ValueError(f"[{name}] data_format is {self._layout!r}, not {data_format!r}")
        self._channels, self._data_format = channels, data_format
        self._kernel_size = list(sizes(kernel_size, self._axes))
        self._stride, self._padding, self._dilation = options
        normal = nn.initializer.Normal(0.0, math.sqrt(2.0 / (math.prod(self._kernel_size) * channels[0])))
        shape = [*self._kernel_size, *channels]
        self.weight = self.create_parameter(shape, attributes[0], default_initializer=normal)
        self.bias = None
        if attributes[1] is not False:
            self.bias = self.create_parameter([channels[1]], attributes[1], is_bias=True)

    def forward(self, x: SparseTensor) -> SparseTensor:
        """Returns the convolution."""
        options = self._stride, self._padding, self._dilation
        name = type(self).__name__
        return _neighbors._convolved(
            name, x, self.weight, self.bias, options, 1, self._data_format, type(self)._at_values
        )

    def extra_repr(self) -> str:
        """Returns the options that differ from the defaults."""
        text = f"{self._channels[0]}, {self._channels[1]}, kernel_size={self._kernel_size}"
        stride, dilation = (list(sizes(each, self._axes)) for each in (self._stride, self._dilation))
        text += f", stride={stride}" if stride != [1] * self._axes else ""
        text += f", padding={self._padding}" if self._padding != 0 else ""
        text += f", dilation={dilation}" if dilation != [1] * self._axes else ""
        return f"{text}, data_format={self._data_format}"


class _Everywhere(_Conv):
    _at_values = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
    ) -> None:
        super().__init__()
        options, attributes = (stride, padding, dilation), (weight_attr, bias_attr)
        layout = data_format or self._layout
        self._make((in_channels, out_channels), kernel_size, options, groups, padding_mode, attributes, layout)


class _AtValues(_Conv):
    _at_values = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        key: str | None = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
        backend: str | None = None,
    ) -> None:
        super().__init__()
        options, attributes = (stride, padding, dilation), (weight_attr, bias_attr)
        layout = data_format or self._layout
        self._make((in_channels, out_channels), kernel_size, options, groups, padding_mode, attributes, layout)


class Conv2D(_Everywhere):
    """See :func:`paddle.sparse.nn.functional.conv2d`."""

    _axes, _layout = 2, "NHWC"


class Conv3D(_Everywhere):
    """See :func:`paddle.sparse.nn.functional.conv3d`."""

    _axes, _layout = 3, "NDHWC"


class SubmConv2D(_AtValues):
    """See :func:`paddle.sparse.nn.functional.subm_conv2d`."""

    _axes, _layout = 2, "NHWC"


class SubmConv3D(_AtValues):
    """See :func:`paddle.sparse.nn.functional.subm_conv3d`."""

    _axes, _layout = 3, "NDHWC"


class MaxPool3D(nn.Layer):
    """See :func:`paddle.sparse.nn.functional.max_pool3d`."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NDHWC",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if return_mask:
            raise NotImplementedError("[MaxPool3D] Lamella's paddle front returns no mask of sparse tensors")
        self.ksize, self.stride, self.padding = kernel_size, stride, padding
        self._ceil_mode, self._data_format = ceil_mode, data_format

    def forward(self, x: SparseTensor) -> SparseTensor:
        """Returns the largest values."""
        return _neighbors.max_pool3d(x, self.ksize, self.stride, self.padding, self._ceil_mode, self._data_format)

    def extra_repr(self) -> str:
        """Returns the options."""
        return f"kernel_size={self.ksize}, stride={self.stride}, padding={self.padding}"


class BatchNorm(nn.BatchNorm1D):
    """Normalizes each channel of the values, in evaluation by the running mean and variance."""

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NDHWC",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, "NC", use_global_stats)
        if data_format not in ("NDHWC", "NHWC"):
            raise ValueError(f"[BatchNorm] data_format is 'NDHWC' or 'NHWC', not {data_format!r}")
        self._num_features, self._layout = num_features, data_format

    def forward(self, x: SparseTensor) -> SparseTensor:  # type: ignore[override]
        """Returns the tensor with other values."""
        return x.with_values(super().forward(x.values()))

    def extra_repr(self) -> str:
        """Returns the options."""
        options = f"momentum={self.momentum}, epsilon={self.epsilon}, data_format={self._layout}"
        return f"num_features={self._num_features}, {options}"


class SyncBatchNorm(BatchNorm):
    """Normalizes each channel of the values of all processes, of which there is one here."""

    @classmethod
    def convert_sync_batchnorm(cls, layer: nn.Layer) -> nn.Layer:
        """Returns the layer itself: with one process, batch norms are the same."""
        return layer
