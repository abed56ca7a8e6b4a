"""Methods that draw numbers into a tensor, with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

from lamella import Tensor

_native_random: Any = Tensor.random_
_native_uniform: Any = Tensor.uniform_


def _random(self: Tensor, *bounds: Any, generator: Any = None, **named: Any) -> Tensor:
    """Implements Tensor.random_(): whole numbers from the first bound to below the second, from 0 for a single one.

    Raises:
        TypeError: the bounds have other names than ``from`` and ``to``, or there are more than two.
    """
    if len(bounds) + len(named) > 2 or not set(named) <= {"from", "to"} or (bounds and "from" in named):
        raise TypeError(f"[random_] takes the bounds from and to, got {len(bounds)} by position and {sorted(named)}")
    by_place = dict(zip(("to",) if len(bounds) == 1 and not named else ("from", "to"), bounds, strict=False))
    given = {"from": 0, "to": None, **by_place, **named}
    low, high = given["from"], given["to"]
    if self.dtype.name == "bool":
        drawn = _native_random(self.to("uint8"), low, 2 if high is None else high, generator=generator)
        return self.copy_(drawn)
    made: Tensor = _native_random(self, low, high, generator=generator)
    return made


def _uniform(self: Tensor, *bounds: Any, generator: Any = None, **named: Any) -> Tensor:
    """Implements Tensor.uniform_(): numbers between two bounds, which are also named ``from`` and ``to``."""
    for word, native in (("from", "low"), ("to", "high")):
        if word in named:
            named[native] = named.pop(word)
    made: Tensor = _native_uniform(self, *bounds, generator=generator, **named)
    return made


#: The methods by their names.
METHODS: dict[str, Any] = {"random_": _random, "uniform_": _uniform}
