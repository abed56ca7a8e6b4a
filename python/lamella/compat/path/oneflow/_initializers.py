"""Starting values of variables: each function returns one that overwrites a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.nn import init


class Initializer:
    """Overwrites a tensor with starting values."""

    def __init__(self, name: str, fill: Callable[[lm.Tensor, Any], Any]) -> None:
        self._name = name
        self._fill = fill

    def __call__(self, tensor: lm.Tensor, seed: int | None = None) -> None:
        """Overwrites ``tensor``; with a seed, with the same numbers every time."""
        generator = None if seed is None else lm.Generator(tensor.device).manual_seed(seed)
        self._fill(tensor, generator)

    def __repr__(self) -> str:
        return self._name


def constant_initializer(value: float = 0, dtype: Any = None) -> Initializer:
    """Every element is ``value``. ``dtype`` is not used: the variable has one."""
    return Initializer("constant_initializer", lambda x, _: init.constant_(x, value))


def zeros_initializer(dtype: Any = None) -> Initializer:
    """Every element is 0."""
    return constant_initializer(0)


def ones_initializer(dtype: Any = None) -> Initializer:
    """Every element is 1."""
    return constant_initializer(1)


def random_uniform_initializer(minval: float = 0, maxval: float = 1, dtype: Any = None) -> Initializer:
    """Uniform in ``[minval, maxval)``; ValueError where the bounds are the wrong way round."""
    if minval > maxval:
        raise ValueError(f"[random_uniform_initializer] minval is at most maxval, got {minval} and {maxval}")
    return Initializer("random_uniform_initializer", lambda x, g: init.uniform_(x, minval, maxval, generator=g))


def random_normal_initializer(
    mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = None
) -> Initializer:
    """Normal. ``seed`` has to be None: ``get_variable(random_seed=...)`` takes one."""
    if seed is not None:
        raise ValueError("[random_normal_initializer] seed has to be None: get_variable() takes a random_seed")
    return Initializer("random_normal_initializer", lambda x, g: init.normal_(x, mean, stddev, generator=g))


def truncated_normal_initializer(mean: float = 0.0, stddev: float = 1.0) -> Initializer:
    """Normal, within two standard deviations of the mean."""

    def fill(x: lm.Tensor, generator: Any) -> None:
        low, high = mean - 2 * stddev, mean + 2 * stddev
        x.copy_(
            lm.truncated_normal(
                tuple(x.shape), mean, stddev, low, high, dtype=x.dtype, device=x.device, generator=generator
            )
        )

    return Initializer("truncated_normal_initializer", fill)


def truncated_normal(stddev: float = 1.0) -> Initializer:
    """Normal around 0, within two standard deviations."""
    return truncated_normal_initializer(0.0, stddev)


def xavier_uniform_initializer(data_format: str = "") -> Initializer:
    """Uniform in ``±sqrt(6 / (inputs + outputs))`` of a weight ``(outputs, inputs, ...)``."""
    return variance_scaling_initializer(1.0, "fan_avg", "random_uniform", data_format)


def xavier_normal_initializer(data_format: str = "") -> Initializer:
    """Normal with the variance ``2 / (inputs + outputs)`` of a weight ``(outputs, inputs, ...)``."""
    return variance_scaling_initializer(1.0, "fan_avg", "random_normal", data_format)


glorot_uniform_initializer = xavier_uniform_initializer
glorot_normal_initializer = xavier_normal_initializer


def variance_scaling_initializer(
    scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", data_format: str = ""
) -> Initializer:
    """Numbers with the variance ``scale / n``, where ``n`` is the number of inputs or outputs, or their mean.

    Args:
        scale: the factor.
        mode: "fan_in", "fan_out" or "fan_avg".
        distribution: "truncated_normal", "random_normal" or "random_uniform".
        data_format: "" or one with the channels in front: weights are ``(outputs, inputs, ...)``.

    Raises:
        ValueError: the mode or the distribution is no such.
        NotImplementedError: the channels are last.
    """
    name = "variance_scaling_initializer"
    if mode not in ("fan_in", "fan_out", "fan_avg"):
        raise ValueError(f"[{name}] mode is 'fan_in', 'fan_out' or 'fan_avg', got {mode!r}")
    if distribution not in ("truncated_normal", "random_normal", "random_uniform"):
        raise ValueError(
            f"[{name}] distribution is 'truncated_normal', 'random_normal' or 'random_uniform', got {distribution!r}"
        )
    if data_format not in ("", "NCW", "NCHW", "NCDHW"):
        raise NotImplementedError(f"[{name}] the channels are in front, as in 'NCHW', got {data_format!r}")

    def fill(x: lm.Tensor, generator: Any) -> None:
        inputs, outputs = init.fans(x)
        count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[mode]
        variance = scale / max(count, 1)
        if distribution == "random_uniform":
            bound = math.sqrt(3 * variance)
            init.uniform_(x, -bound, bound, generator=generator)
        elif distribution == "random_normal":
            init.normal_(x, 0.0, math.sqrt(variance), generator=generator)
        else:
            # Cut off at two standard deviations, a normal distribution of deviation 1 has this one.
            deviation = math.sqrt(variance) / 0.87962566103423978
            x.copy_(
                lm.truncated_normal(
                    tuple(x.shape),
                    0.0,
                    deviation,
                    -2 * deviation,
                    2 * deviation,
                    dtype=x.dtype,
                    device=x.device,
                    generator=generator,
                )
            )

    return Initializer(name, fill)


def kaiming_initializer(
    shape: Any,
    distribution: str = "random_normal",
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    negative_slope: float = 0.0,
    data_format: str = "NCHW",
) -> Initializer:
    """Numbers with the variance ``gain**2 / n``, where ``gain`` is that of the function that follows (He et al., 2015).

    Args:
        shape: not used: that of the variable counts.
        distribution: "random_normal" or "random_uniform".
        mode: "fan_in", "fan_out" or "fan_avg".
        nonlinearity: "leaky_relu", "relu", "tanh", "sigmoid" or "linear".
        negative_slope: of the leaky ReLU.
        data_format: one with the channels in front.
    """
    gain = init.calculate_gain(nonlinearity, negative_slope)
    return variance_scaling_initializer(gain * gain, mode, distribution, data_format)
