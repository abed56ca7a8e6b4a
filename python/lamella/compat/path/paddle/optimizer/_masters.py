"""Weights in float32 behind parameters in 16 bits, which small steps would not move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import lamella as lm
from lamella.compat.elements import become

#: What Paddle appends to a parameter's name in the names of states that belong to its weights in float32.
SUFFIX = "_fp32_master_0"


def is_low(parameter: Any) -> bool:
    """True for parameters that have weights in float32 beside them."""
    return parameter.dtype in (lm.float16, lm.bfloat16)


@contextmanager
def in_float32(masters: dict[str, Any], parameters: Iterable[Any]) -> Iterator[None]:
    """Lets parameters in 16 bits, and their gradients, be in float32 within a ``with`` block, and rounds them after it.

    Args:
        masters: the weights in float32 by the parameters' names, which last from block to block; new ones are added.
        parameters: those to step, of any dtype; what has no gradient stays as it is.
    """
    lowered = [(p, p.grad) for p in parameters if p.grad is not None and is_low(p)]
    for parameter, gradient in lowered:
        master = masters.setdefault(parameter.name, parameter.detach().astype("float32"))
        parameter.grad = None
        become(parameter, master)  # the name in `masters` now stands for the elements in 16 bits
        parameter.grad = gradient.astype("float32")
    try:
        yield
    finally:
        for parameter, gradient in lowered:
            parameter.grad = None
            become(parameter, masters[parameter.name])
            with lm.no_grad():
                parameter.copy_(masters[parameter.name].astype(parameter.dtype))
            parameter.grad = gradient
