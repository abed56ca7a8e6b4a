"""Activations as layers. Each stands for the function of :mod:`lamella` it names, where sources and details are."""

from __future__ import annotations

from typing import Any

import lamella as lm

from ._compositions import maxout
from .init import constant_
from .module import Module
from .parameter import Parameter


class _Activation(Module):
    """Base of activations whose settings are the attributes that `_settings` names."""

    _settings: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._settings)


def refuse_inplace(layer: str, inplace: bool) -> None:
    """Raises ValueError for a layer that is to overwrite its input."""
    if inplace:
        raise ValueError(
            f"[{layer}] inplace=True is not taken: a layer's result is a new tensor, and functions such as lm.relu_ "
            "overwrite theirs"
        )


class _Plain(_Activation):
    """Base of activations without settings."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        refuse_inplace(type(self).__name__, inplace)


class ReLU6(_Plain):
    """:func:`lamella.relu6`: ``x`` limited to [0, 6]."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.relu6(x)


class LeakyReLU(_Activation):
    """:func:`lamella.leaky_relu`: ``x`` above 0, ``negative_slope * x`` elsewhere."""

    _settings = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        refuse_inplace(type(self).__name__, inplace)
        self.negative_slope = negative_slope

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.leaky_relu(x, self.negative_slope)


class PReLU(_Activation):
    """:func:`lamella.prelu`, with slopes that are trained.

    Args:
        num_parameters: 1, or the number of channels (the size of axis 1) for a slope for each.
        init: what the slopes start as.
        device: of the slopes.
        dtype: of the slopes.

    Attributes:
        weight: the slopes, of shape ``(num_parameters,)``.
    """

    _settings = ("num_parameters",)
    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(lm.zeros((num_parameters,), dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the slopes to what they start as."""
        constant_(self.weight, self.init)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return lm.prelu(x, self.weight)


class RReLU(_Activation):
    """:func:`lamella.rrelu`: slopes below 0 are drawn from [lower, upper) in training, and their mean otherwise."""

    _settings = ("lower", "upper")

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        refuse_inplace(type(self).__name__, inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.rrelu(x, self.lower, self.upper, self.training)


class ELU(_Activation):
    """:func:`lamella.elu`: ``x`` above 0, ``alpha * (exp(x) - 1)`` elsewhere."""

    _settings = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        refuse_inplace(type(self).__name__, inplace)
        self.alpha = alpha

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.elu(x, self.alpha)


class SELU(_Plain):
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

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        refuse_inplace(type(self).__name__, inplace)
        if alpha == 0:
            raise ValueError("[CELU] alpha cannot be 0")
        self.alpha = alpha

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.celu(x, self.alpha)


class SiLU(_Plain):
    """:func:`lamella.silu`: ``x * sigmoid(x)``."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.silu(x)


class Mish(_Plain):
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


class Hardswish(_Plain):
    """:func:`lamella.hardswish`."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.hardswish(x)


class Hardsigmoid(_Plain):
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

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        refuse_inplace(type(self).__name__, inplace)
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

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        refuse_inplace(type(self).__name__, inplace)
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


class Softmax2d(_Activation):
    """The softmax over the channels at each place of an image."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``, ``(n, channels, height, width)``, or of one image."""
        if x.ndim not in (3, 4):
            raise ValueError(f"[Softmax2d] x has 3 or 4 axes, not the shape {x.shape}")
        return lm.softmax(x, axis=-3)


class Swish(SiLU):
    """:class:`SiLU`, under the name of Ramachandran et al. 2017, "Searching for activation functions"."""


class ThresholdedReLU(_Activation):
    """``x`` above ``threshold``, ``value`` elsewhere: :class:`Threshold` with settings of its own.

    Source: Konda et al. 2015, "Zero-bias autoencoders and the benefits of co-adapting features".
    """

    _settings = ("threshold", "value")

    def __init__(self, threshold: float = 1.0, value: float = 0.0) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Applies the function to each element of ``x``."""
        return lm.threshold(x, self.threshold, self.value)


class Maxout(_Activation):
    """:func:`lamella.nn.functional.maxout`: the largest of each ``groups`` neighbors along an axis.

    Args:
        groups: the number of neighbors, which divides the size of the axis.
        axis: the axis.

    Raises:
        ValueError: ``groups`` is not above 1.
    """

    _settings = ("groups", "axis")

    def __init__(self, groups: int, axis: int = 1) -> None:
        super().__init__()
        if not isinstance(groups, int) or groups < 2:
            raise ValueError(f"[Maxout] groups is an int above 1, not {groups!r}")
        self.groups = groups
        self.axis = axis

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor with a ``groups``-th of the size along the axis."""
        return maxout(x, self.groups, self.axis)
