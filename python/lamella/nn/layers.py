"""Layers with and without parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import lamella as lm

from . import init
from ._sizes import as_int, is_int
from .activations import _Plain, refuse_inplace
from .module import Module
from .parameter import Parameter


def _sizes(layer: str, **sizes: int) -> tuple[int, ...]:
    """Returns the sizes, all at least 0, as ints."""
    ints = tuple(as_int(layer, name, size) for name, size in sizes.items())
    for name, size in zip(sizes, ints, strict=True):
        if size < 0:
            raise ValueError(f"[{layer}] {name} is negative: {size}")
    return ints


class Linear(Module):
    """``y = x @ weight.T + bias``.

    Args:
        in_features: size of the last axis of ``x``.
        out_features: size of the last axis of ``y``.
        bias: False leaves the bias out.
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        weight: shape ``(out_features, in_features)``.
        bias: shape ``(out_features,)``, or None.

    Both start uniform in ``±1 / sqrt(in_features)`` (for the weight this is Kaiming-uniform with ``a = sqrt(5)``).
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = _sizes("Linear", in_features=in_features, out_features=out_features)
        self.weight = Parameter(lm.zeros((self.out_features, self.in_features), dtype=dtype, device=device))
        self.bias = Parameter(lm.zeros((self.out_features,), dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new starting values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5.0))
        if self.bias is not None:
            bound = 1.0 / math.sqrt(max(self.in_features, 1))
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps ``x`` of shape ``(..., in_features)`` to ``(..., out_features)``."""
        return lm.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """``y[o] = x1 @ weight[o] @ x2 + bias[o]``, see :func:`lamella.bilinear`.

    Args:
        in1_features: size of the last axis of ``x1``.
        in2_features: size of the last axis of ``x2``.
        out_features: size of the last axis of ``y``.
        bias: False leaves the bias out.
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        weight: shape ``(out_features, in1_features, in2_features)``.
        bias: shape ``(out_features,)``, or None.

    Both start uniform in ``±1 / sqrt(in1_features)``.
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = _sizes("Bilinear", out_features=out_features, in1_features=in1_features, in2_features=in2_features)
        self.out_features, self.in1_features, self.in2_features = shape
        self.weight = Parameter(lm.zeros(shape, dtype=dtype, device=device))
        self.bias = Parameter(lm.zeros(shape[:1], dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new starting values."""
        bound = 1.0 / math.sqrt(max(self.in1_features, 1))
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, x1: lm.Tensor, x2: lm.Tensor) -> lm.Tensor:
        """Maps ``(..., in1_features)`` and ``(..., in2_features)`` to ``(..., out_features)``."""
        return lm.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Identity(Module):
    """Gives back what it gets; arguments of its making are ignored, so that it can stand in any layer's place."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        """Returns ``x`` itself, whatever it is."""
        return x


class Flatten(Module):
    """Joins the axes ``start_axis`` to ``stop_axis`` into one; the first, the batch, stays by default."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis = start_axis
        self.stop_axis = stop_axis

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x`` with the axes joined, as a view where possible."""
        return lm.flatten(x, self.start_axis, self.stop_axis)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"start_axis={self.start_axis}, stop_axis={self.stop_axis}"


class Unflatten(Module):
    """Splits one axis into several, see :func:`lamella.unflatten`: the inverse of :class:`Flatten`.

    Args:
        axis: the axis.
        sizes: the sizes of the new axes, one of which may be -1.
    """

    def __init__(self, axis: int, sizes: Sequence[int]) -> None:
        super().__init__()
        if not is_int(axis) or not all(map(is_int, sizes)):
            raise TypeError(f"[Unflatten] takes an axis and the sizes that it is split in, not {axis!r} and {sizes!r}")
        self.axis = axis
        self.sizes = tuple(sizes)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x`` with the axis split."""
        return lm.unflatten(x, self.axis, self.sizes)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"axis={self.axis}, sizes={self.sizes}"


class _Dropout(Module):
    _function: ClassVar[Callable[..., lm.Tensor]]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        refuse_inplace(type(self).__name__, inplace)
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"[{type(self).__name__}] p is a probability, not {p}")
        self.p = p

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x`` with elements dropped, or in evaluation mode ``x`` itself."""
        return type(self)._function(x, self.p, self.training)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"p={self.p}"


class Dropout(_Dropout):
    """Zeroes each element with probability ``p`` and scales the others by ``1 / (1 - p)``, in training only.

    Source: Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting" (scaled while
    training, so that evaluation is the identity).
    """

    _function = staticmethod(lm.dropout)


class Dropout1d(_Dropout):
    """:class:`Dropout` of whole channels of a series, see :func:`lamella.dropout1d`."""

    _function = staticmethod(lm.dropout1d)


class Dropout2d(_Dropout):
    """:class:`Dropout` of whole channels of an image, see :func:`lamella.dropout2d`."""

    _function = staticmethod(lm.dropout2d)


class Dropout3d(_Dropout):
    """:class:`Dropout` of whole channels of a volume, see :func:`lamella.dropout3d`."""

    _function = staticmethod(lm.dropout3d)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean 0 and variance 1, for networks with :class:`SELU`; see :func:`lamella.alpha_dropout`."""

    _function = staticmethod(lm.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """:class:`AlphaDropout` of whole channels, see :func:`lamella.feature_alpha_dropout`."""

    _function = staticmethod(lm.feature_alpha_dropout)


class ReLU(_Plain):
    """``max(x, 0)``."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.relu(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.tanh(x)


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.sigmoid(x)


class GELU(Module):
    """``x`` times the normal distribution's cumulative function at ``x``.

    Source: Hendrycks & Gimpel 2016, "Gaussian error linear units".

    Args:
        approximate: "none", or "tanh" for the paper's approximation.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f"[GELU] approximate is 'none' or 'tanh', not {approximate!r}")
        self.approximate = approximate

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.gelu(x, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"approximate={self.approximate!r}"


class Softmax(Module):
    """``exp(x) / sum(exp(x))`` along ``axis``."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return lm.softmax(x, axis=self.axis)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"axis={self.axis}"


class LogSoftmax(Module):
    """The logarithm of the softmax along ``axis``, computed without overflow."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return lm.log_softmax(x, axis=self.axis)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"axis={self.axis}"
