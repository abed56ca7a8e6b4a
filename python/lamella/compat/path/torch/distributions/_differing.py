"""Numbers of PyTorch's distributions where Lamella's are others, and attributes that distributions have in PyTorch."""

from __future__ import annotations

import functools
import importlib
import math
import warnings
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella import distributions as native
from lamella.compat.errors import as_runtime_error
from lamella.distributions import constraints, transforms
from lamella.distributions._support import ProbsOrLogits, lazy_property

from .._size import Size
from .utils import probs_to_logits

_categorical: Any = importlib.import_module("lamella.distributions.categorical")
_classes: Any = _categorical._Classes

# PyTorch computes densities of the logits of probabilities, which it keeps off 0 and 1 by eps of their dtype.


def _put(kind: Any, **values: Any) -> None:
    """Sets attributes of a class, and tells them their names."""
    for name, value in values.items():
        setattr(kind, name, value)
        if hasattr(value, "__set_name__"):
            value.__set_name__(kind, name)


def _with_logits(in_double: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns the method that gives a distribution in float64; its logits are those in the dtype of the parameters."""

    def _in_double(self: Any) -> Any:
        new = in_double(self)
        if self._given == "probs":
            new.logits = self.logits.astype(lm.float64)
        return new

    return _in_double


_put(
    ProbsOrLogits,
    _form="logits",
    logits=lazy_property(lambda self: probs_to_logits(self.probs, is_binary=True)),
    _in_double=_with_logits(native.Distribution._in_double),
)
_put(
    _classes,
    _form="logits",
    logits=lazy_property(lambda self: probs_to_logits(self.probs)),
    _in_double=_with_logits(native.Distribution._in_double),
)


def _entropy_of_two(self: Any) -> Tensor:
    """Returns the entropy of two outcomes, from the probability of one and its logit."""
    p, x = self.probs, self.logits
    return -(p * lm.log_sigmoid(x) + (1 - p) * lm.log_sigmoid(-x))


def _log_prob_of_largest(self: Any, value: Tensor) -> Tensor:
    """Returns the logarithm of the probability of the class whose element is the largest."""
    return self._categorical.log_prob(lm.argmax(self._checked(value), axis=-1))  # type: ignore[no-any-return]


def _log_prob_below_high(self: Any, value: Tensor) -> Tensor:
    """Returns the logarithm of the density from low on and below high."""
    value = self._checked(value)
    inside = (value >= self.low) & (value < self.high)
    return lm.where(inside, -lm.log(self.high - self.low), -math.inf)


def _undefined(mode: Any, where: Callable[[Any], Tensor]) -> Any:
    """Returns a property that is NaN in some places: a density without a maximum has no mode there."""
    return property(lambda self: lm.where(where(self), math.nan, mode.fget(self)), doc=mode.__doc__)


def _as_categorical(self: Any) -> Any:
    return native.Categorical(**{self._given: self._param}, validate_args=False)


_put(native.Bernoulli, entropy=_entropy_of_two)
_put(native.Geometric, entropy=lambda self: _entropy_of_two(self) / self.probs)
_put(native.OneHotCategorical, log_prob=_log_prob_of_largest)
_put(native.Uniform, log_prob=_log_prob_below_high)
_put(native.Cauchy, variance=property(lambda self: lm.full_like(self.loc, math.inf), doc="Infinity."))
_put(native.Weibull, mode=_undefined(native.Weibull.mode, lambda self: self.concentration < 1))
_put(native.FisherSnedecor, mode=_undefined(native.FisherSnedecor.mode, lambda self: self.df1 < 2))
_put(
    native.Wishart,
    mode=_undefined(native.Wishart.mode, lambda self: (self.df <= self._event_shape[0] + 1)[..., None, None]),
)
for _kind in (native.OneHotCategorical, native.Multinomial):
    _put(_kind, _categorical=property(_as_categorical, doc="The distribution of one draw, as the number of a class."))


class _Counts(type(constraints.multinomial(0))):  # type: ignore[misc]
    """Vectors of at least 0 with a sum up to an upper bound, which need not be integers."""

    def check(self, value: Tensor) -> Tensor:
        return lm.all(value >= 0, axis=-1) & (lm.sum(value, axis=-1) <= self.upper_bound)


_Counts.__name__ = "_Multinomial"
_any: Any = constraints
_any.multinomial = _Counts

# Distributions that are transformed ones in PyTorch, each with its base distribution and its transforms.


def _uniform_of_gumbel(self: Any) -> Any:
    limits = lm.finfo(self.loc.dtype)
    low = lm.full_like(self.loc, limits.smallest_normal)
    return native.Uniform(low, lm.full_like(self.loc, 1 - limits.eps), validate_args=False)


def _standard(kind: Any) -> Callable[[Any], Any]:
    return lambda self: kind(lm.zeros_like(self.scale), self.scale, validate_args=False)


_Parts = tuple[Callable[[Any], Any], Callable[[Any], list[Any]]]
_TRANSFORMED: dict[Any, _Parts] = {
    native.Gumbel: (
        _uniform_of_gumbel,
        lambda self: [
            transforms.ExpTransform().inv,
            transforms.AffineTransform(0, -lm.ones_like(self.scale)),
            transforms.ExpTransform().inv,
            transforms.AffineTransform(self.loc, -self.scale),
        ],
    ),
    native.HalfCauchy: (_standard(native.Cauchy), lambda self: [transforms.AbsTransform()]),
    native.HalfNormal: (_standard(native.Normal), lambda self: [transforms.AbsTransform()]),
    native.InverseGamma: (
        lambda self: native.Gamma(self.concentration, self.rate, validate_args=False),
        lambda self: [transforms.PowerTransform(-lm.ones_like(self.rate))],
    ),
    native.Kumaraswamy: (
        lambda self: native.Uniform(
            lm.zeros_like(self.concentration0), lm.ones_like(self.concentration0), validate_args=False
        ),
        lambda self: [
            transforms.PowerTransform(1 / self.concentration0),
            transforms.AffineTransform(1.0, -1.0),
            transforms.PowerTransform(1 / self.concentration1),
        ],
    ),
    native.Pareto: (
        lambda self: native.Exponential(self.alpha, validate_args=False),
        lambda self: [transforms.ExpTransform(), transforms.AffineTransform(0, self.scale)],
    ),
    native.Weibull: (
        lambda self: native.Exponential(lm.ones_like(self.scale), validate_args=False),
        lambda self: [transforms.PowerTransform(1 / self.concentration), transforms.AffineTransform(0, self.scale)],
    ),
}
for _kind, (_base, _list) in _TRANSFORMED.items():
    _put(
        _kind,
        base_dist=property(_base, doc="The distribution of x in t(x)."),
        transforms=property(_list, doc="The transforms of which t is made."),
    )

# Methods of all distributions.


def sample_n(self: Any, n: int) -> Any:
    """Returns n draws."""
    warnings.warn("`sample_n(n)` is deprecated: call `sample((n,))`", FutureWarning, stacklevel=2)
    return self.sample((n,))


def _as_parameter(self: Any, value: Any) -> Tensor:
    """Returns a number or a tensor in the dtype and on the device of the parameters."""
    like = native.distribution.parameter_of(self)
    if isinstance(value, Tensor):
        return value.astype(like.dtype)
    return lm.tensor(value, dtype=like.dtype, device=str(like.device))


def _of_parameters(method: Callable[[Any, Tensor], Tensor]) -> Callable[[Any, Any], Tensor]:
    """Returns a method of values, numbers too, that computes in the dtype of the parameters."""
    return functools.wraps(method)(lambda self, value: method(self, _as_parameter(self, value)))


def _takes_numbers(checked: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    """Returns a check of values that makes tensors of numbers where PyTorch does."""

    def _checked(self: Any, value: Any) -> Tensor:
        if isinstance(value, Tensor):
            return checked(self, value)
        if self._validate_args and not isinstance(self, tuple(_TRANSFORMED)):
            raise ValueError(f"[{type(self).__name__}] value: expected a Tensor, got {type(value).__name__}")
        return checked(self, _as_parameter(self, value))

    return _checked


for _each in (native.Gamma, native.HalfCauchy):
    _put(_each, log_prob=_of_parameters(_each.log_prob))


def _told(self: Any) -> str:
    """Returns the class's name with the parameters: numbers, and shapes of others."""
    parts = (
        f"{name}: {value.item() if value.ndim == 0 else value if value.size == 1 else Size(value.shape)}"
        for name, value in self._given_parameters().items()
    )
    return f"{type(self).__name__}({', '.join(parts)})"


def _raising_runtime_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a check of shapes, the errors of which are runtime errors, too."""

    @functools.wraps(function)
    def check(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            raise as_runtime_error(error) from None

    return check


_support: Any = importlib.import_module("lamella.distributions._support")
_support.common_shape = _raising_runtime_errors(_support.common_shape)
_base_kind: Any = native.Distribution
_put(
    native.Distribution,
    _check_expand=_raising_runtime_errors(_base_kind._check_expand),
    sample_n=sample_n,
    __repr__=_told,
    _checked=_takes_numbers(_base_kind._checked),
    _check_probability=lambda self, value: None,
)
