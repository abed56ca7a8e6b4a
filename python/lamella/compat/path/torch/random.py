"""Seeds and states of random numbers."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.compat.methods import of_two_meanings
from lamella.random import fork_rng

from ._device import device
from ._functions import manual_seed, seed

#: The generator of the CPU's numbers.
default_generator = lm.random.default_generator()


def initial_seed() -> int:
    """Returns the seed that the CPU's numbers began with."""
    return int(default_generator.initial_seed())


def _as_tensor(state: tuple[int, ...]) -> lm.Tensor:
    """Returns the numbers of a generator's state as bytes."""
    return lm.tensor([byte for number in state for byte in number.to_bytes(8, "little")], dtype=lm.uint8)


def _as_numbers(state: Any) -> Any:
    """Returns the numbers of a generator's state, as Lamella takes them.

    Raises:
        RuntimeError: the tensor is no state of one of Lamella's generators.
    """
    if not isinstance(state, lm.Tensor):
        return tuple(state)
    if state.dtype != lm.uint8 or state.shape != (24,):
        raise RuntimeError(
            f"[set_state] expected a state that get_state() gave, 24 bytes, not {state.dtype.name} of the shape "
            f"{list(state.shape)}"
        )
    memory = bytes(state.tolist())
    return tuple(int.from_bytes(memory[at : at + 8], "little") for at in range(0, len(memory), 8))


def get_rng_state() -> lm.Tensor:
    """Returns the state of the CPU's generator."""
    return _as_tensor(lm.get_rng_state())


def set_rng_state(new_state: Any) -> None:
    """Puts the CPU's generator into a state that :func:`get_rng_state` returned."""
    lm.set_rng_state(_as_numbers(new_state))


def _get_state(self: lm.Generator) -> lm.Tensor:
    """Returns where the generator stands, as a tensor of bytes."""
    return _as_tensor(_native_get(self))


def _set_state(self: lm.Generator, new_state: Any) -> lm.Generator:
    """Goes on from where a generator stood."""
    _native_set(self, _as_numbers(new_state))
    return self


_generators: Any = lm.Generator
_native_get: Any = lm.Generator.get_state
_native_set: Any = lm.Generator.set_state
_native_device: Any = lm.Generator.device
_generators.device = property(
    lambda self: device(_native_device.__get__(self)), doc="The device whose numbers these are."
)
_generators.get_state = of_two_meanings("get_state", _get_state, _native_get)
_generators.set_state = of_two_meanings("set_state", _set_state, _native_set)


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
