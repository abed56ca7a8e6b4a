"""Kullback and Leibler's divergence of two distributions, looked up by their classes."""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import lamella as lm

from .._C import Tensor
from ._support import sum_rightmost
from .distribution import Distribution, parameter_of
from .exp_family import ExponentialFamily, _wanting_gradient
from .independent import Independent
from .transformed import TransformedDistribution

__all__ = ["kl_divergence", "register_kl"]

Divergence: TypeAlias = Callable[..., Tensor]
_F = TypeVar("_F", bound=Divergence)

#: By the classes of p and q, what computes the divergence.
_REGISTERED: dict[tuple[type, type], Divergence] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[_F], _F]:
    """Registers a function of p and q for two classes of distributions and their subclasses; a decorator.

    Of several that serve a pair, the one of the most specific classes is called.

    Raises:
        TypeError: for what is no class of distributions.
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type) or not issubclass(kind, Distribution):
            raise TypeError(f"[register_kl] expected a class of distributions, got {kind!r}")

    def register(function: _F) -> _F:
        _REGISTERED[type_p, type_q] = function
        _found.cache_clear()
        return function

    return register


@functools.cache
def _found(type_p: type, type_q: type) -> Divergence | None:
    """Returns the function of the most specific classes, None where none serves.

    Classes are compared as the method resolution order has them. Where the best for p is not the best for q, that for p
    is taken, with a warning.
    """
    pairs = [(p, q) for p, q in _REGISTERED if issubclass(type_p, p) and issubclass(type_q, q)]
    if not pairs:
        return None
    order_p, order_q = type_p.__mro__, type_q.__mro__
    by_p = min(pairs, key=lambda pair: (order_p.index(pair[0]), order_q.index(pair[1])))
    by_q = min(pairs, key=lambda pair: (order_q.index(pair[1]), order_p.index(pair[0])))
    if by_p != by_q and _REGISTERED[by_p] is not _REGISTERED[by_q]:
        names = [f"({p.__name__}, {q.__name__})" for p, q in (by_p, by_q)]
        warnings.warn(
            f"[kl_divergence] ({type_p.__name__}, {type_q.__name__}) is ambiguous: {names[0]} and {names[1]} serve it, "
            "and the first is taken; register the pair itself",
            RuntimeWarning,
            stacklevel=3,
        )
    return _REGISTERED[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Returns the mean of ``log p(x) - log q(x)`` over draws x of p, for each distribution of the batch.

    Raises:
        NotImplementedError: where no formula is registered, see :func:`register_kl`.
    """
    function = _found(type(p), type(q))  # type: ignore[arg-type]
    if function is None:
        raise NotImplementedError(
            f"[kl_divergence] no formula is registered for ({type(p).__name__}, {type(q).__name__}): see register_kl"
        )
    return function(p, q)


def both_in_double(function: Divergence) -> Divergence:
    """Makes a function of two distributions compute in float64, as `in_double` does of methods."""

    @functools.wraps(function)
    def call(p: Distribution, q: Distribution) -> Tensor:
        dtype = lm.result_type(parameter_of(p), parameter_of(q))
        return function(p._in_double(), q._in_double()).astype(dtype)

    return call


def infinite(p: Distribution, q: Distribution) -> Tensor:
    """Returns infinity, where p has events that q has not."""
    shape = lm.broadcast_shapes(p.batch_shape, q.batch_shape)
    like = parameter_of(p)
    return lm.full(shape, math.inf, dtype=like.dtype, device=str(like.device))


@register_kl(ExponentialFamily, ExponentialFamily)
def _of_one_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """Bregman's divergence of the log normalizer (Nielsen and Nock, 2010)."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"[kl_divergence] no formula is registered for ({type(p).__name__}, {type(q).__name__}): see register_kl"
        )
    with lm.enable_grad():
        p_params = [_wanting_gradient(parameter) for parameter in p._natural_params]
        p_normalizer = p._log_normalizer(*p_params)
        gradients = lm.grad([lm.sum(p_normalizer)], p_params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - p_normalizer
    count = len(q.event_shape)
    for p_param, q_param, gradient in zip(p_params, q._natural_params, gradients, strict=True):
        result = result - sum_rightmost((q_param - p_param) * gradient, count)
    return result


@register_kl(Independent, Independent)
def _of_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("[kl_divergence] two Independent with events of different numbers of axes")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _of_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """A map that is one to one leaves the divergence as it is."""
    same = p.transforms == q.transforms and p.event_shape == q.event_shape
    if not same or not functools.reduce(operator.and_, (part.bijective for part in p.transforms), True):
        raise NotImplementedError("[kl_divergence] two TransformedDistribution with different transforms")
    return kl_divergence(p.base_dist, q.base_dist)
