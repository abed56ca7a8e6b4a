"""Starting values. Each function overwrites its tensor, records nothing, and returns the tensor.

Sources: Glorot & Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks"
(Xavier); He et al. 2015, "Delving deep into rectifiers" (Kaiming).

Numbers are drawn on the tensor's device, from ``generator``, or from the device's default one where that is ``None``.
A generator of another device is a ValueError.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import lamella as lm


def constant_(tensor: lm.Tensor, value: float) -> lm.Tensor:
    """Sets every element to ``value``."""
    with _at_once():
        tensor.fill_(value)
    return tensor


def zeros_(tensor: lm.Tensor) -> lm.Tensor:
    """Sets every element to 0."""
    return constant_(tensor, 0)


def ones_(tensor: lm.Tensor) -> lm.Tensor:
    """Sets every element to 1."""
    return constant_(tensor, 1)


def uniform_(
    tensor: lm.Tensor, low: float = 0.0, high: float = 1.0, *, generator: lm.Generator | None = None
) -> lm.Tensor:
    """Uniform in ``[low, high)``."""
    with _at_once():
        values = lm.uniform(
            tuple(tensor.shape), low, high, dtype=_drawn_dtype(tensor), device=tensor.device, generator=generator
        )
        tensor.copy_(values)
    return tensor


def normal_(
    tensor: lm.Tensor, mean: float = 0.0, std: float = 1.0, *, generator: lm.Generator | None = None
) -> lm.Tensor:
    """Normal with the given mean and standard deviation."""
    with _at_once():
        values = lm.normal(
            tuple(tensor.shape), mean, std, dtype=_drawn_dtype(tensor), device=tensor.device, generator=generator
        )
        tensor.copy_(values)
    return tensor


def xavier_uniform_(tensor: lm.Tensor, gain: float = 1.0, *, generator: lm.Generator | None = None) -> lm.Tensor:
    """Uniform in ``±gain * sqrt(6 / (fan_in + fan_out))``."""
    bound = gain * math.sqrt(6.0 / _fan_sum(tensor))
    return uniform_(tensor, -bound, bound, generator=generator)


def xavier_normal_(tensor: lm.Tensor, gain: float = 1.0, *, generator: lm.Generator | None = None) -> lm.Tensor:
    """Normal with standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / _fan_sum(tensor)), generator=generator)


def kaiming_uniform_(
    tensor: lm.Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    generator: lm.Generator | None = None,
) -> lm.Tensor:
    """Uniform in ``±gain * sqrt(3 / fan)``.

    Args:
        tensor: shape ``(out, in, ...)``.
        a: the negative slope of the leaky ReLU that follows.
        mode: "fan_in" keeps the variance of the forward pass, "fan_out" that of the backward pass.
        nonlinearity: what follows, see :func:`calculate_gain`.
        generator: where the numbers come from, see the module.
    """
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator=generator)


def kaiming_normal_(
    tensor: lm.Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    generator: lm.Generator | None = None,
) -> lm.Tensor:
    """Normal with standard deviation ``gain / sqrt(fan)``; arguments as in :func:`kaiming_uniform_`."""
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator=generator)


def calculate_gain(nonlinearity: str, a: float = 0.0) -> float:
    """Returns the factor that keeps the variance through ``nonlinearity`` (``a``: a leaky ReLU's negative slope)."""
    match nonlinearity:
        case "linear" | "sigmoid" | "identity":
            return 1.0
        case "tanh":
            return 5.0 / 3.0
        case "relu":
            return math.sqrt(2.0)
        case "leaky_relu":
            return math.sqrt(2.0 / (1.0 + a * a))
    raise ValueError(f"[calculate_gain] no gain is known for {nonlinearity!r}")


def fans(tensor: lm.Tensor) -> tuple[int, int]:
    """Returns the inputs and outputs of one unit of a weight of shape ``(out, in, ...)``.

    Raises:
        ValueError: the weight has fewer than two axes.
    """
    shape = tuple(tensor.shape)
    if len(shape) < 2:
        raise ValueError(f"[init] fan-in and fan-out need at least two axes, the tensor has shape {list(shape)}")
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _fan_sum(tensor: lm.Tensor) -> int:
    """Returns the sum of both fans; 1 for a tensor without elements, of which nothing is drawn."""
    return max(sum(fans(tensor)), 1)


def _kaiming_std(tensor: lm.Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"[init] mode is 'fan_in' or 'fan_out', not {mode!r}")
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def _drawn_dtype(tensor: lm.Tensor) -> Any:
    """Draws in the tensor's own precision where the generator has it, in float32 elsewhere."""
    return lm.float64 if tensor.dtype == lm.float64 else lm.float32


@contextlib.contextmanager
def _at_once() -> Iterator[None]:
    """Computes with recording off, of gradients and of graphs: a parameter has values while a graph is built."""
    recorder = lm._C._set_recorder(None)
    try:
        with lm.no_grad():
            yield
    finally:
        lm._C._set_recorder(recorder)
