"""Exponential families, whose entropies and divergences follow from the log normalizer."""

from __future__ import annotations

import lamella as lm

from .._C import Tensor
from ._support import sum_rightmost
from .distribution import Distribution


class ExponentialFamily(Distribution):
    """A distribution with the density ``exp(<t(x), theta> - F(theta) + k(x))``.

    A subclass gives `_natural_params`, theta, and `_log_normalizer`, F, from which :meth:`entropy` and the divergence
    of two members follow (Nielsen and Nock, "Entropies and cross-entropies of exponential families", 2010).
    """

    #: The mean of the logarithm of the carrier measure k.
    _mean_carrier_measure: float = 0.0

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise self._has_no("_natural_params")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise self._has_no("_log_normalizer")

    def entropy(self) -> Tensor:
        """Returns F(theta) - <theta, dF(theta)> - E[k(x)], of shape ``batch_shape``."""
        with lm.enable_grad():
            # Views are no leaves: a gradient by them leaves gradients by what they are made of to the caller.
            params = [_wanting_gradient(parameter) for parameter in self._natural_params]
            normalizer = self._log_normalizer(*params)
            gradients = lm.grad([lm.sum(normalizer)], params, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        count = len(self._event_shape)
        for parameter, gradient in zip(params, gradients, strict=True):
            result = result - sum_rightmost(parameter * gradient, count)
        return result


def _wanting_gradient(x: Tensor) -> Tensor:
    if not x.stop_gradient:
        return x
    x = x.detach()
    x.stop_gradient = False
    return x
