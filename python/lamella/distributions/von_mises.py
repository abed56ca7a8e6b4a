"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from typing import ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._support import LOG_2, LOG_PI, ConstraintsByName, Parameter, Shape, adopt, drawn, expanded, open_uniform
from .distribution import Distribution


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
        return 1 - lm.i1e(self.concentration) / lm.i0e(self.concentration)

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns angles in [-pi, pi), through which no gradient flows.

        They are drawn by rejection (Best and Fisher, "Efficient simulation of the von Mises distribution", 1979).
        """
        size = self._extended_shape(shape)
        with lm.no_grad():
            k = expanded(self.concentration.astype("float64"), size)
            tau = 1 + lm.sqrt(1 + 4 * k * k)
            rho = (tau - lm.sqrt(2 * tau)) / (2 * k)
            # For small k both terms of rho's numerator are nearly 2; 1 / k + k is the start of r's series there.
            r = lm.where(k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))
            cosine = 0 * k  # NaN remains NaN, for which nothing is ever accepted
            pending = lm.isfinite(k)
            while bool(lm.any(pending)):
                z = lm.cos(math.pi * drawn(lm.rand, k, size, generator))
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                u = open_uniform(k, size, generator)
                accepted = pending & ((c * (2 - c) > u) | (lm.log(c / u) + 1 >= c))
                cosine = lm.where(accepted, f, cosine)
                pending = pending & ~accepted
            side = lm.sign(drawn(lm.rand, k, size, generator) - 0.5)
            angle = side * lm.acos(lm.clip(cosine, -1.0, 1.0)) + self.loc
            return (lm.remainder(angle + math.pi, 2 * math.pi) - math.pi).astype(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        k = self.concentration
        # k (cos - 1) and the scaled Bessel function, as I0(k) overflows.
        return -2 * k * lm.square(lm.sin(0.5 * (value - self.loc))) - (lm.log(lm.i0e(k)) + (LOG_2 + LOG_PI))

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        k = self.concentration
        scaled = lm.i0e(k)
        return lm.log(scaled) + (LOG_2 + LOG_PI) + k * (1 - lm.i1e(k) / scaled)
