"""Paddle's paddings, instance norms, and activations with a parameter."""

from __future__ import annotations

from typing import Any, ClassVar

import lamella as lm

from . import functional, initializer
from ._base import Layer
from ._layouts import channels_last


class _Pad(Layer):
    _axes: ClassVar[int]

    def __init__(
        self, padding: Any, mode: str = "constant", value: float = 0.0, data_format: str = "NCHW", name: Any = None
    ) -> None:
        super().__init__()
        channels_last(type(self).__name__, data_format)
        listed = isinstance(padding, (list, tuple, lm.Tensor))
        self.padding = list(padding) if listed else [padding] * (2 * self._axes)
        self.mode, self.value = mode, value
        self.data_format = data_format

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x``, ``(n, channels, *size)``, with more elements at both ends of its last axes, the last first."""
        return functional.pad(x, self.padding, self.mode, self.value, self.data_format)


class Pad1D(_Pad):
    """Adds elements to both ends of series: numbers, or those at the ends ("reflect", "replicate", "circular")."""

    _axes = 1


class Pad2D(_Pad):
    """Adds elements to the sides of images, see :class:`Pad1D`: left, right, top, bottom."""

    _axes = 2


class Pad3D(_Pad):
    """Adds elements to the sides of volumes, see :class:`Pad1D`: left, right, top, bottom, front, back."""

    _axes = 3


class ZeroPad2D(Pad2D):
    """Adds zeros to the sides of images."""

    def __init__(self, padding: Any, data_format: str = "NCHW", name: Any = None) -> None:
        super().__init__(padding, data_format=data_format)


class ZeroPad1D(Pad1D):
    """Adds zeros to both ends of series."""

    def __init__(self, padding: Any, data_format: str = "NCL", name: Any = None) -> None:
        super().__init__(padding, data_format=data_format)


class ZeroPad3D(Pad3D):
    """Adds zeros to the sides of volumes."""

    def __init__(self, padding: Any, data_format: str = "NCDHW", name: Any = None) -> None:
        super().__init__(padding, data_format=data_format)


class _InstanceNorm(Layer):
    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: Any = None,
    ) -> None:
        super().__init__()
        channels_last(type(self).__name__, data_format)
        self.epsilon, self.data_format = epsilon, data_format
        self.scale = self.bias = None
        if weight_attr is not False and bias_attr is not False:
            ones = initializer.Constant(1.0)
            self.scale = self.create_parameter([num_features], weight_attr, default_initializer=ones)
            self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x``, ``(n, num_features, *size)``, with each channel of each example normalized."""
        options: Any = {"eps": self.epsilon, "data_format": self.data_format}
        return functional.instance_norm(x, weight=self.scale, bias=self.bias, **options)


class InstanceNorm1D(_InstanceNorm):
    """Normalizes each channel of each series."""


class InstanceNorm2D(_InstanceNorm):
    """Normalizes each channel of each image."""


class InstanceNorm3D(_InstanceNorm):
    """Normalizes each channel of each volume."""


class PReLU(Layer):
    """``x``, and ``weight * x`` below 0: one weight for all, or one for each channel."""

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: Any = None,
    ) -> None:
        super().__init__()
        self.data_format = data_format
        first = initializer.Constant(init)
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=first)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return functional.prelu(x, self._weight, self.data_format)
