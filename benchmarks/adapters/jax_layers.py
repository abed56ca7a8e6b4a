"""Layers for JAX, which has none of its own: those that benchmarks.networks uses, with PyTorch's names and layouts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp


class Parameter:
    """A weight, which a step replaces."""

    def __init__(self, *shape: int) -> None:
        self.value = jnp.zeros(shape)


@contextlib.contextmanager
def having(parameters: Sequence[Parameter], values: Sequence[jax.Array]) -> Iterator[None]:
    """Gives parameters other values meanwhile: those of a function that is being traced."""
    before = [parameter.value for parameter in parameters]
    try:
        for parameter, value in zip(parameters, values, strict=True):
            parameter.value = value
        yield
    finally:
        for parameter, value in zip(parameters, before, strict=True):
            parameter.value = value


class Module:
    """A layer that finds its parameters among its attributes, in their order."""

    def parameters(self) -> list[Parameter]:
        """Returns the parameters of this layer and of those in it."""
        found: list[Parameter] = []
        for value in vars(self).values():
            for one in value if isinstance(value, (list, tuple)) else [value]:
                found += [one] if isinstance(one, Parameter) else one.parameters() if isinstance(one, Module) else []
        return found

    def forward(self, x: Any) -> Any:
        """Computes the layer."""
        raise NotImplementedError

    def __call__(self, x: Any) -> Any:
        return self.forward(x)


class Sequential(Module):
    """Layers one after the other."""

    def __init__(self, *layers: Module) -> None:
        self.layers = layers

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class Linear(Module):
    """`x @ weight.T + bias`."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        self.weight = Parameter(outputs, inputs)
        self.bias = Parameter(outputs) if bias else None

    def forward(self, x: Any) -> Any:
        y = x @ self.weight.value.T
        return y if self.bias is None else y + self.bias.value


class Embedding(Module):
    """Rows of a matrix."""

    def __init__(self, rows: int, width: int) -> None:
        self.weight = Parameter(rows, width)

    def forward(self, x: Any) -> Any:
        return self.weight.value[x]


class ReLU(Module):
    """`max(x, 0)`."""

    def forward(self, x: Any) -> Any:
        return jax.nn.relu(x)


class GELU(Module):
    """By the error function."""

    def forward(self, x: Any) -> Any:
        return jax.nn.gelu(x, approximate=False)


class Flatten(Module):
    """All axes but the first in one."""

    def forward(self, x: Any) -> Any:
        return x.reshape(len(x), -1)


class LayerNorm(Module):
    """Over the last axis."""

    def __init__(self, width: int) -> None:
        self.weight, self.bias = Parameter(width), Parameter(width)

    def forward(self, x: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        scale = jax.lax.rsqrt(jnp.square(centered).mean(-1, keepdims=True) + 1e-5)
        return centered * scale * self.weight.value + self.bias.value


class Conv2d(Module):
    """A convolution with a bias: images [n, in, h, w], weights [out, in, k, k]."""

    def __init__(self, inputs: int, outputs: int, size: int, padding: int) -> None:
        self.weight, self.bias = Parameter(outputs, inputs, size, size), Parameter(outputs)
        self.padding = padding

    def forward(self, x: Any) -> Any:
        padding = [(self.padding, self.padding)] * 2
        y = jax.lax.conv_general_dilated(x, self.weight.value, (1, 1), padding)
        return y + self.bias.value[:, None, None]


class MaxPool2d(Module):
    """Maxima of squares that do not overlap."""

    def __init__(self, size: int) -> None:
        self.size = size

    def forward(self, x: Any) -> Any:
        window = (1, 1, self.size, self.size)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")


class LSTM(Module):
    """Layers of long short-term memory, from states of 0: [tokens, batch, inputs]."""

    def __init__(self, inputs: int, width: int, num_layers: int) -> None:
        self.width = width
        self.weights: list[Parameter] = []
        for layer in range(num_layers):
            self.weights += [Parameter(4 * width, width if layer else inputs), Parameter(4 * width, width)]
            self.weights += [Parameter(4 * width), Parameter(4 * width)]

    def forward(self, x: Any) -> Any:
        last = []
        for first in range(0, len(self.weights), 4):
            x, state = self._layer(x, *(weight.value for weight in self.weights[first : first + 4]))
            last.append(state)
        return x, last

    def _layer(self, x: Any, of_input: Any, of_state: Any, bias: Any, second_bias: Any) -> tuple[Any, Any]:
        def step(state: Any, gates: Any) -> tuple[Any, Any]:
            h, c = state
            i, f, g, o = jnp.split(gates + h @ of_state.T, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((x.shape[1], self.width))
        state, states = jax.lax.scan(step, (zero, zero), x @ of_input.T + bias + second_bias)
        return states, state
