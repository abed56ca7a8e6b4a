"""Seeds and states of random numbers."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.random import default_generator, fork_rng

from ._functions import manual_seed, seed


def initial_seed() -> int:
    """Returns the seed that the CPU's numbers began with."""
    return int(lm.random.default_generator().initial_seed())


def get_rng_state() -> Any:
    """Returns the state of the CPU's generator."""
    return lm.get_rng_state()


def set_rng_state(new_state: Any) -> None:
    """Puts the CPU's generator into a state that :func:`get_rng_state` returned."""
    lm.set_rng_state(new_state)


__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]
__getattr__ = close_module(__name__)
