"""Calls of random operators for the tests of gradients: each draws the same numbers every time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm


def _leaf(*shape: int, low: float, high: float) -> lm.Tensor:
    return lm.tensor(np.linspace(low, high, int(np.prod(shape))).reshape(shape), stop_gradient=False)


def _drawn(name: str, *parameters: Any) -> Callable[..., lm.Tensor]:
    """A distribution with squares of the leaves as its parameters."""
    return lambda *leaves: getattr(lm, name)((2, 3), *[x * x for x in leaves], *parameters, generator=_generator())


def _dropped(name: str) -> Callable[..., lm.Tensor]:
    return lambda a: getattr(lm, name)(a * a, 0.4, generator=_generator())


def _overwritten(name: str, *parameters: Any) -> Callable[..., lm.Tensor]:
    return lambda a: getattr(a * 2, name)(*parameters, generator=_generator()) * a * a


def _generator() -> lm.Generator:
    return lm.Generator(seed=5)


_IN_PLACE: dict[str, tuple[Any, ...]] = {
    "uniform_": (),
    "normal_": (),
    "exponential_": (),
    "bernoulli_": (),
    "random_": (0, 9),
    "cauchy_": (),
    "log_normal_": (0.0, 0.5),
    "geometric_": (0.3,),
}

RANDOM_CALLS: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    "uniform": [(_drawn("uniform"), [_leaf(3, low=0.1, high=0.9), _leaf(2, 1, low=1.0, high=2.0)])],
    "normal": [
        (_drawn("normal"), [_leaf(3, low=-1.0, high=1.0), _leaf(2, 1, low=1.0, high=2.0)]),
        (lambda a: lm.normal(None, a * a, 2.0, generator=_generator()), [_leaf(3, low=-1.0, high=1.0)]),
    ],
    "exponential": [(_drawn("exponential"), [_leaf(3, low=0.5, high=2.0)])],
    "laplace": [(_drawn("laplace"), [_leaf(3, low=-1.0, high=1.0), _leaf(2, 1, low=1.0, high=2.0)])],
    "cauchy": [(_drawn("cauchy"), [_leaf(3, low=-1.0, high=1.0), _leaf(2, 1, low=1.0, high=2.0)])],
    "log_normal": [(_drawn("log_normal"), [_leaf(3, low=-1.0, high=1.0), _leaf(2, 1, low=0.2, high=0.6)])],
    "permutation": [(lambda a: lm.permutation(a * a, 1, generator=_generator()), [_leaf(2, 3, low=-1.0, high=1.0)])],
    "dropout1d": [(_dropped("dropout1d"), [_leaf(2, 3, 2, low=-1.0, high=1.0)])],
    "dropout2d": [(_dropped("dropout2d"), [_leaf(2, 3, 2, 1, low=-1.0, high=1.0)])],
    "dropout3d": [(_dropped("dropout3d"), [_leaf(1, 3, 2, 1, 2, low=-1.0, high=1.0)])],
    "alpha_dropout": [(_dropped("alpha_dropout"), [_leaf(2, 3, low=-1.0, high=1.0)])],
    "feature_alpha_dropout": [(_dropped("feature_alpha_dropout"), [_leaf(2, 3, 2, low=-1.0, high=1.0)])],
    **{name: [(_overwritten(name, *given), [_leaf(3, low=-1.0, high=1.0)])] for name, given in _IN_PLACE.items()},
}

RANDOM_WITHOUT_GRADIENT = {
    *("rand", "randn", "rand_like", "randn_like", "randint", "randperm", "bernoulli", "geometric", "truncated_normal"),
    *("gamma", "poisson", "multinomial", "randint_like"),
}
