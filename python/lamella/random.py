"""Random numbers, from one generator that a seed starts."""

from __future__ import annotations

from ._C import (
    bernoulli,
    get_rng_state,
    normal,
    rand,
    randint,
    randn,
    randperm,
    seed,
    set_rng_state,
    uniform,
)

__all__ = [
    "bernoulli",
    "get_rng_state",
    "normal",
    "rand",
    "randint",
    "randn",
    "randperm",
    "seed",
    "set_rng_state",
    "uniform",
]
