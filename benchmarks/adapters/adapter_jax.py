"""JAX, with its `jit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.adapters import Trainer, jax_layers


def _sgd(rate: float, _: Any, values: list[jax.Array], grads: list[jax.Array]) -> tuple[Any, list[jax.Array]]:
    return (), [value - rate * grad for value, grad in zip(values, grads, strict=True)]


def _adam(rate: float, state: Any, values: list[jax.Array], grads: list[jax.Array]) -> tuple[Any, list[jax.Array]]:
    count, means, squares = state
    count = count + 1
    means = [0.9 * mean + 0.1 * grad for mean, grad in zip(means, grads, strict=True)]
    squares = [0.999 * square + 0.001 * grad * grad for square, grad in zip(squares, grads, strict=True)]
    size, root = rate / (1 - 0.9**count), jnp.sqrt(1 - 0.999**count)
    steps = zip(values, means, squares, strict=True)
    return (count, means, squares), [
        value - size * mean / (jnp.sqrt(square) / root + 1e-8) for value, mean, square in steps
    ]


def _cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def _mse_loss(y: jax.Array, target: jax.Array) -> jax.Array:
    return jnp.square(y - target).mean()


_LOSSES = {"cross_entropy": _cross_entropy, "mse_loss": _mse_loss}
_OPTIMIZERS = {"SGD": _sgd, "Adam": _adam}


class _Weights(list[jax_layers.Parameter]):
    """Parameters, each of which is shown as [in, out] where it has two axes."""

    def __getitem__(self, place: Any) -> Any:
        value = super().__getitem__(place).value
        return value.T if value.ndim == 2 else value


class _Updates:
    """An optimizer's settings and state, of which a step makes the next."""

    def __init__(self, optimizer: str, rate: float, parameters: Sequence[jax_layers.Parameter]) -> None:
        self.update = _OPTIMIZERS[optimizer]
        self.rate = rate
        zeros = [jnp.zeros_like(parameter.value) for parameter in parameters]
        self.state: Any = (jnp.zeros(()), zeros, [*map(jnp.copy, zeros)]) if optimizer == "Adam" else ()

    def step(self) -> None:
        """A step by itself is no work of JAX's: `training_step` makes it a part of a compiled function."""
        raise NotImplementedError


class JaxAdapter:
    """See benchmarks.adapters.CompiledAdapter."""

    modules: ClassVar[dict[str, Any]] = {"jax": jax, "jnp": jnp}
    relu = staticmethod(jax.nn.relu)
    tanh = staticmethod(jnp.tanh)
    exp = staticmethod(jnp.exp)
    sigmoid = staticmethod(jax.nn.sigmoid)
    cross_entropy = staticmethod(_cross_entropy)
    reshape = staticmethod(jnp.reshape)
    nn = jax_layers

    def version(self) -> str:
        return jax.__version__

    def set_threads(self, count: int) -> None:
        """JAX takes the environment's NPROC, which the driver sets."""

    def tensor(self, array: np.ndarray, wants_grad: bool = False) -> jax.Array:
        return jnp.array(array)

    def numpy(self, tensor: jax.Array) -> np.ndarray:
        return np.asarray(tensor)

    def self_attention(self, qkv: jax.Array, heads: int, causal: bool = False) -> jax.Array:
        batch, tokens, width = qkv.shape
        q, k, v = jnp.moveaxis(qkv.reshape(batch, tokens, 3, heads, width // (3 * heads)), 2, 0)
        return jax.nn.dot_product_attention(q, k, v, is_causal=causal).reshape(batch, tokens, width // 3)

    def trainer(
        self, model: jax_layers.Module, weights: Sequence[np.ndarray], loss: str, optimizer: str, rate: float
    ) -> Trainer:
        parameters = model.parameters()
        for parameter, value in zip(parameters, weights, strict=True):
            parameter.value = jnp.array(value.T if value.ndim == 2 else value)
        updates = _Updates(optimizer, rate, parameters)
        return Trainer(model, _Weights(parameters), _LOSSES[loss], lambda: None, updates.step)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        fast = jax.jit(function)
        return lambda *given: jax.block_until_ready(fast(*given))

    def with_gradient(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        def both(x: jax.Array, *others: jax.Array) -> tuple[jax.Array, jax.Array]:
            *others_, dy = others
            y, gradient = jax.vjp(lambda x: function(x, *others_), x)
            return y, gradient(dy)[0]

        return self.compiled(both)

    def training_step(self, trainer: Trainer) -> Callable[[Any, Any], Any]:
        model: Any = trainer.model
        parameters = model.parameters()
        updates: _Updates = trainer.step.__self__  # type: ignore[attr-defined]  # a bound method

        def cost_of(values: list[jax.Array], x: jax.Array, target: jax.Array) -> jax.Array:
            with jax_layers.having(parameters, values):
                return trainer.loss(model(x), target)  # type: ignore[no-any-return]

        def pure(values: list[jax.Array], state: Any, x: jax.Array, target: jax.Array) -> Any:
            cost, grads = jax.value_and_grad(cost_of)(values, x, target)
            return cost, *updates.update(updates.rate, state, values, grads)

        fast = jax.jit(pure, donate_argnums=(0, 1))

        def step(x: jax.Array, target: jax.Array) -> jax.Array:
            given = [parameter.value for parameter in parameters]
            cost, updates.state, values = jax.block_until_ready(fast(given, updates.state, x, target))
            for parameter, value in zip(parameters, values, strict=True):
                parameter.value = value
            return cost  # type: ignore[no-any-return]

        return step


ADAPTER = JaxAdapter()
