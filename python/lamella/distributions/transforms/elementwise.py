"""Transforms of single numbers."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm

from ..._C import Tensor
from .. import constraints
from .._support import Parameter, Shape, sum_rightmost
from .transform import Transform


class _WithoutParameters(Transform):
    """A map without parameters, equal to all others of its class."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class ExpTransform(_WithoutParameters):
    """``y = exp(x)``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return lm.exp(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return lm.log(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns ``x``."""
        return x


class SigmoidTransform(_WithoutParameters):
    """``y = 1 / (1 + exp(-x))``; the inverse is finite at 0 and 1 as well."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        limits = lm.finfo(x.dtype)
        return lm.clip(lm.sigmoid(x), limits.smallest_normal, 1 - limits.eps / 2)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = lm.finfo(y.dtype)
        return lm.logit(lm.clip(y, limits.smallest_normal, 1 - limits.eps / 2))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns ``log(y (1 - y))``, computed from x."""
        return lm.log_sigmoid(x) + lm.log_sigmoid(-x)


class SoftplusTransform(_WithoutParameters):
    """``y = log(1 + exp(x))``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return lm.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return y + lm.log(-lm.expm1(-y))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns ``log(sigmoid(x))``."""
        return lm.log_sigmoid(x)


class TanhTransform(_WithoutParameters):
    """``y = tanh(x)``; the inverse is infinite at 1 and -1, which a cache avoids."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return lm.tanh(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return lm.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns ``log(1 - y ** 2)``, accurate far from 0: ``2 (log 2 - x - softplus(-2 x))``."""
        return 2.0 * (math.log(2.0) - x + lm.log_sigmoid(2.0 * x))


class AbsTransform(_WithoutParameters):
    """``y = abs(x)``, whose inverse gives the argument that is not negative."""

    domain = constraints.real
    codomain = constraints.nonnegative

    def _call(self, x: Tensor) -> Tensor:
        return lm.abs(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """``y = x ** exponent`` for positive x.

    Args:
        exponent: A number or a tensor, not 0.
        cache_size: See :class:`Transform`.
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Parameter, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> int | Tensor:
        """The sign of the exponent."""
        return _sign(self.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return lm.pow(x, self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return lm.pow(y, 1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns ``log(|exponent y / x|)``, computed from the logarithm of ``|x|``."""
        size: Any = abs(self.exponent)
        log_size = lm.log(size) if isinstance(size, Tensor) else math.log(size)
        return log_size + (self.exponent - 1) * lm.log(lm.abs(x))

    def forward_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape with that of the exponent broadcast to it."""
        return lm.broadcast_shapes(shape, _shape_of(self.exponent))

    inverse_shape = forward_shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    def __hash__(self) -> int:
        return hash(PowerTransform)

    def __repr__(self) -> str:
        return f"PowerTransform(exponent={self.exponent})"


class AffineTransform(Transform):
    """``y = loc + scale x``.

    Args:
        loc: A number or a tensor.
        scale: A number or a tensor, not 0.
        event_dim: Number of rightmost axes that make an event, over which the determinant is summed.
        cache_size: See :class:`Transform`.
    """

    bijective = True

    def __init__(self, loc: Parameter, scale: Parameter, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        """Number of axes of an event."""
        return self._event_dim

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """All real numbers."""
        return constraints.real if self._event_dim == 0 else constraints.independent(constraints.real, self._event_dim)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        """All real numbers."""
        return self.domain

    @property
    def sign(self) -> int | Tensor:
        """The sign of the scale."""
        return _sign(self.scale)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns ``log(|scale|)``, summed over an event."""
        shape = lm.broadcast_shapes(x.shape, _shape_of(self.scale))
        size: Any = abs(self.scale)
        if isinstance(size, Tensor):
            result = lm.broadcast_to(lm.log(size), shape)
        else:
            result = lm.full(shape, math.log(size), dtype=x.dtype, device=str(x.device))
        return sum_rightmost(result, self._event_dim)

    def forward_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape with those of the parameters broadcast to it."""
        return lm.broadcast_shapes(shape, _shape_of(self.loc), _shape_of(self.scale))

    inverse_shape = forward_shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    def __hash__(self) -> int:
        return hash(AffineTransform)

    def __repr__(self) -> str:
        return f"AffineTransform(loc={self.loc}, scale={self.scale})"


def _shape_of(value: Parameter) -> tuple[int, ...]:
    return value.shape if isinstance(value, Tensor) else ()


def _sign(value: Parameter) -> int | Tensor:
    return lm.sign(value) if isinstance(value, Tensor) else (value > 0) - (value < 0)


def _same(a: Parameter, b: Parameter) -> bool:
    """Returns True for equal numbers, and for tensors with equal elements."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return a is b or (_shape_of(a) == _shape_of(b) and bool(lm.all(a == b)))  # type: ignore[arg-type]
    return a == b
