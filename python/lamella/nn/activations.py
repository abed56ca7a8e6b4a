"""Activations as layers. Each stands for the function of :mod:`lamella` it names, where sources and details are."""

from __future__ import annotations

from typing import Any

import lamella as lm

from .module import Module
from .parameter import Parameter


class _Activation(Module):
    """Base of activations whose settings are the attributes that `_settings` names."""

    _settings: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._settings)


class ReLU6(_Activation):
    """:func:`lamella.relu6`: ``x`` limited to [0, 6]."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.relu6(x)


class LeakyReLU(_Activation):
    """:func:`lamella.leaky_relu`: ``x`` above 0, ``negative_slope * x`` elsewhere."""

    _settings = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.leaky_relu(x, self.negative_slope)


class PReLU(_Activation):
    """:func:`lamella.prelu`, with slopes that are trained.

    Args:
        num_parameters: 1, or the number of channels (the size of axis 1) for a slope for each.
        init: what the slopes start as.
        dtype: of the slopes.

    Attributes:
        weight: the slopes, of shape ``(num_parameters,)``.
    """

    _settings = ("num_parameters",)
    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(lm.full((num_parameters,), init, dtype=dtype))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return lm.prelu(x, self.weight)


class RReLU(_Activation):
    """:func:`lamella.rrelu`: slopes below 0 are drawn from [lower, upper) in training, and their mean otherwise."""

    _settings = ("lower", "upper")

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.rrelu(x, self.lower, self.upper, self.training)


class ELU(_Activation):
    """:func:`lamella.elu`: ``x`` above 0, ``alpha * (exp(x) - 1)`` elsewhere."""

    _settings = ("alpha",)

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.elu(x, self.alpha)


class SELU(_Activation):
    """:func:`lamella.selu`."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.selu(x)


class CELU(_Activation):
    """:func:`lamella.celu`: ``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    Raises:
        ValueError: ``alpha`` is 0.
    """

    _settings = ("alpha",)

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        if alpha == 0:
            raise ValueError("[CELU] alpha cannot be 0")
        self.alpha = alpha

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.celu(x, self.alpha)


class SiLU(_Activation):
    """:func:`lamella.silu`: ``x * sigmoid(x)``."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.silu(x)


class Mish(_Activation):
    """:func:`lamella.mish`: ``x * tanh(log(1 + exp(x)))``."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.mish(x)


class Softplus(_Activation):
    """:func:`lamella.softplus`: ``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x > threshold``."""

    _settings = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.softplus(x, self.beta, self.threshold)


class Softsign(_Activation):
    """:func:`lamella.softsign`: ``x / (1 + |x|)``."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.softsign(x)


class LogSigmoid(_Activation):
    """:func:`lamella.log_sigmoid`."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.log_sigmoid(x)


class Hardswish(_Activation):
    """:func:`lamella.hardswish`."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.hardswish(x)


class Hardsigmoid(_Activation):
    """:func:`lamella.hardsigmoid`."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.hardsigmoid(x)


class Hardtanh(_Activation):
    """:func:`lamella.hardtanh`: ``x`` limited to ``[min_val, max_val]``.

    Raises:
        ValueError: ``max_val`` is not above ``min_val``.
    """

    _settings = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        if not max_val > min_val:
            raise ValueError(f"[Hardtanh] max_val must be above min_val, got {max_val} and {min_val}")
        self.min_val = min_val
        self.max_val = max_val

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.hardtanh(x, self.min_val, self.max_val)


class Tanhshrink(_Activation):
    """:func:`lamella.tanhshrink`: ``x - tanh(x)``."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.tanhshrink(x)


class Hardshrink(_Activation):
    """:func:`lamella.hardshrink`: 0 where ``|x| <= lambd``, ``x`` elsewhere."""

    _settings = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.hardshrink(x, self.lambd)


class Softshrink(_Activation):
    """:func:`lamella.softshrink`: ``x`` moved towards 0 by ``lambd``.

    Raises:
        ValueError: ``lambd`` is negative.
    """

    _settings = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        if not lambd >= 0:
            raise ValueError(f"[Softshrink] lambd cannot be negative, got {lambd}")
        self.lambd = lambd

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.softshrink(x, self.lambd)


class Threshold(_Activation):
    """:func:`lamella.threshold`: ``x`` above ``threshold``, ``value`` elsewhere."""

    _settings = ("threshold", "value")

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.threshold(x, self.threshold, self.value)


class GLU(_Activation):
    """:func:`lamella.glu`: one half of ``x`` times the sigmoid of the other."""

    _settings = ("axis",)

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor with half the size along ``axis``."""
        return lm.glu(x, axis=self.axis)


class Softmin(_Activation):
    """:func:`lamella.softmin`: the softmax of ``-x`` along ``axis``."""

    _settings = ("axis",)

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return lm.softmin(x, axis=self.axis)
