"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from typing import ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._support import LOG_2, LOG_PI, ConstraintsByName, Parameter, Shape, adopt, drawn, expanded, open_uniform
from .distribution import Distribution

_MOST_REJECTED = 1e8  # concentrations above have angles that their cosine does not tell from 0
_ASYMPTOTIC = (1073 / 1024, 13 / 32, 25 / 128, 1 / 8, 1 / 8, 1 / 2)  # of 1 - I1(k) / I0(k), in powers of 1 / k


def _spread(k: Tensor) -> Tensor:
    """Returns ``1 - I1(k) / I0(k)``; where that cancels by its asymptotic series (Abramowitz and Stegun, 9.7.1)."""
    far = k > 1e3
    inverse = 1 / lm.where(far, k, 1e3)
    series = 0 * inverse
    for coefficient in _ASYMPTOTIC:
        series = (series + coefficient) * inverse
    near = lm.where(far, 1e3, k)
    return lm.where(far, series, 1 - lm.i1e(near) / lm.i0e(near))


class VonMises(Distribution):
    """The von Mises distribution of angles: ``exp(concentration cos(x - loc)) / (2 pi I0(concentration))``.

    Args:
        loc: The mean angle, in radians.
        concentration: How narrow it is, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Parameter, concentration: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, loc=loc, concentration=concentration), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean angle, loc."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mode, loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance ``1 - I1(concentration) / I0(concentration)``."""
        return _spread(self.concentration)

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns angles in [-pi, pi), through which no gradient flows.

        They are drawn by rejection (Best and Fisher, "Efficient simulation of the von Mises distribution", 1979); for
        concentrations above 1e8 from the normal distribution, which is then the same to 1e-8.
        """
        size = self._extended_shape(shape)
        with lm.no_grad():
            k = expanded(self.concentration.astype("float64"), size)
            tau = 1 + lm.sqrt(1 + 4 * k * k)
            rho = (tau - lm.sqrt(2 * tau)) / (2 * k)
            # For small k both terms of rho's numerator are nearly 2; 1 / k + k is the start of r's series there.
            r = lm.where(k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))
            # Uniform for 0; nothing is ever accepted for NaN and, where arguments are not checked, below 0.
            cosine = lm.where(k > 0, 0 * k, math.nan)
            if bool(lm.any(k == 0)):
                cosine = lm.where(k == 0, lm.cos(math.pi * drawn(lm.rand, k, size, generator)), cosine)
            pending = (k > 0) & (k <= _MOST_REJECTED)
            while bool(lm.any(pending)):
                z = lm.cos(math.pi * drawn(lm.rand, k, size, generator))
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                u = open_uniform(k, size, generator)
                accepted = pending & ((c * (2 - c) > u) | (lm.log(c / u) + 1 >= c))
                cosine = lm.where(accepted, f, cosine)
                pending = pending & ~accepted
            side = lm.sign(drawn(lm.rand, k, size, generator) - 0.5)
            narrow = drawn(lm.randn, k, size, generator) / lm.sqrt(k) if bool(lm.any(k > _MOST_REJECTED)) else k
            around = lm.where(k > _MOST_REJECTED, narrow, side * lm.acos(lm.clip(cosine, -1.0, 1.0)))
            angle = around + self.loc
            inside = (angle >= -math.pi) & (angle < math.pi)
            around = lm.where(inside, angle, lm.remainder(angle + math.pi, 2 * math.pi) - math.pi)
            return around.astype(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        k = self.concentration
        # k (cos - 1) and the scaled Bessel function, as I0(k) overflows.
        return -2 * k * lm.square(lm.sin(0.5 * (value - self.loc))) - (lm.log(lm.i0e(k)) + (LOG_2 + LOG_PI))

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        k = self.concentration
        return lm.log(lm.i0e(k)) + (LOG_2 + LOG_PI) + k * _spread(k)
