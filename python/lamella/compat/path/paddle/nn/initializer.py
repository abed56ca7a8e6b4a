"""Starting values of parameters: objects that fill the parameter they are called with."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.nn import init


class Initializer:
    """The base: a subclass fills a parameter in place."""

    def __call__(self, param: lm.Tensor, block: Any = None) -> lm.Tensor:
        """Fills ``param`` and returns it."""
        self.fill(param)
        return param

    def fill(self, param: lm.Tensor) -> None:
        """Writes the values into ``param``."""
        raise NotImplementedError(f"[{type(self).__name__}] the initializer defines no values")


class Constant(Initializer):
    """One value everywhere."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def fill(self, param: lm.Tensor) -> None:
        """Writes the value."""
        init.constant_(param, self.value)


class Assign(Initializer):
    """The values of an array or a tensor."""

    def __init__(self, value: Any, name: str | None = None) -> None:
        self.value = value

    def fill(self, param: lm.Tensor) -> None:
        """Copies the values."""
        with lm.no_grad():
            param.copy_(lm.asarray(self.value, dtype=param.dtype))


class Normal(Initializer):
    """Normal with a mean and a standard deviation."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        self.mean, self.std = mean, std

    def fill(self, param: lm.Tensor) -> None:
        """Draws the values."""
        init.normal_(param, self.mean, self.std)


class TruncatedNormal(Initializer):
    """Normal, drawn anew where it is outside of ``[a, b]``, whatever mean and deviation are."""

    def __init__(
        self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, name: str | None = None
    ) -> None:
        self.mean, self.std, self.bounds = mean, std, (a, b)

    def fill(self, param: lm.Tensor) -> None:
        """Draws the values."""
        init.trunc_normal_(param, self.mean, self.std, *self.bounds)


class Orthogonal(Initializer):
    """Rows or columns at right angles, of length ``gain`` (Saxe et al. 2013)."""

    def __init__(self, gain: float = 1.0, name: str | None = None) -> None:
        self.gain = gain

    def fill(self, param: lm.Tensor) -> None:
        """Draws the values."""
        init.orthogonal_(param, self.gain)


class Dirac(Initializer):
    """Kernels of convolutions that leave their input as it is."""

    def __init__(self, groups: int = 1, name: str | None = None) -> None:
        self.groups = groups

    def fill(self, param: lm.Tensor) -> None:
        """Writes the values."""
        init.dirac_(param, self.groups)


#: Initializers of weights and biases of layers that are given none.
_defaults: dict[str, Any] = {"weight": None, "bias": None}


def set_global_initializer(weight_init: Any, bias_init: Any = None) -> None:
    """Sets the initializers of layers that are made from now on without ones of their own; None is a layer's usual."""
    _defaults.update(weight=weight_init, bias=bias_init)


def global_initializer(is_bias: bool) -> Any:
    """Returns the initializer that :func:`set_global_initializer` has set, or None."""
    return _defaults["bias" if is_bias else "weight"]


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """Returns the factor by which starting values grow for a function behind them."""
    return init.calculate_gain(nonlinearity, param)


class Uniform(Initializer):
    """Uniform in ``[low, high)``."""

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        self.low, self.high = low, high

    def fill(self, param: lm.Tensor) -> None:
        """Draws the values."""
        init.uniform_(param, self.low, self.high)


def _fans(param: lm.Tensor) -> tuple[int, int]:
    """Returns the fan-in and fan-out of a unit; Paddle's matrices are (in, out), its kernels (out, in, ...)."""
    sizes = tuple(param.shape)
    if len(sizes) < 2:
        return (sizes[0] if sizes else 1,) * 2
    if len(sizes) == 2:
        return sizes[0], sizes[1]
    field = 1
    for size in sizes[2:]:
        field *= size
    return sizes[1] * field, sizes[0] * field


class _Xavier(Initializer):
    def __init__(
        self, fan_in: float | None = None, fan_out: float | None = None, name: str | None = None, gain: float = 1.0
    ) -> None:
        self.fan_in, self.fan_out, self.gain = fan_in, fan_out, gain

    def deviation(self, param: lm.Tensor) -> float:
        """Returns the standard deviation of the values."""
        found = _fans(param)
        fan_in = found[0] if self.fan_in is None else self.fan_in
        fan_out = found[1] if self.fan_out is None else self.fan_out
        return float(self.gain * (2.0 / (fan_in + fan_out)) ** 0.5)


class XavierNormal(_Xavier):
    """Normal with the deviation of Glorot & Bengio 2010."""

    def fill(self, param: lm.Tensor) -> None:
        """Draws the values."""
        init.normal_(param, 0.0, self.deviation(param))


class XavierUniform(_Xavier):
    """Uniform with the deviation of Glorot & Bengio 2010."""

    def fill(self, param: lm.Tensor) -> None:
        """Draws the values."""
        bound = 3.0**0.5 * self.deviation(param)
        init.uniform_(param, -bound, bound)


class _Kaiming(Initializer):
    def __init__(
        self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu", mode: str = "fan_in"
    ) -> None:
        self.fan_in, self.negative_slope, self.nonlinearity, self.mode = fan_in, negative_slope, nonlinearity, mode

    def deviation(self, param: lm.Tensor) -> float:
        """Returns the standard deviation of the values."""
        fans = _fans(param)
        fan = self.fan_in if self.fan_in is not None else fans[self.mode == "fan_out"]
        return float(init.calculate_gain(self.nonlinearity, self.negative_slope) / fan**0.5)


class KaimingNormal(_Kaiming):
    """Normal with the deviation of He et al. 2015."""

    def fill(self, param: lm.Tensor) -> None:
        """Draws the values."""
        init.normal_(param, 0.0, self.deviation(param))


class KaimingUniform(_Kaiming):
    """Uniform with the deviation of He et al. 2015."""

    def fill(self, param: lm.Tensor) -> None:
        """Draws the values."""
        bound = 3.0**0.5 * self.deviation(param)
        init.uniform_(param, -bound, bound)


class Bilinear(Initializer):
    """Filters of transposed convolutions that enlarge images.

    Element i of a filter of ``size`` columns is ``(1 - |x / f - c|) * (1 - |y / f - c|)`` with ``f = ceil(size / 2)``,
    ``c = (2 f - 1 - f % 2) / (2 f)``, x its column and y, as in Paddle, ``i / size`` with its fraction.
    """

    def fill(self, param: lm.Tensor) -> None:
        """Writes the values into filters of four axes, of which the last two are equal.

        Raises:
            ValueError: they are not.
        """
        if param.ndim != 4 or param.shape[2] != param.shape[3]:
            raise ValueError(f"[Bilinear] takes square filters of images, not the shape {list(param.shape)}")
        size = param.shape[3]
        half = math.ceil(size / 2)
        center = (2 * half - 1 - half % 2) / (2 * half)
        places = lm.arange(param.size, dtype="float64")
        x, y = places % size, (places / size) % size
        values = (1 - lm.abs(x / half - center)) * (1 - lm.abs(y / half - center))
        with lm.no_grad():
            param.copy_(lm.reshape(values, tuple(param.shape)).astype(param.dtype))


__getattr__ = close_module(__name__)
