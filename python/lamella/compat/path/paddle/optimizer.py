"""Paddle's optimizers that map directly to Lamella's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module


class Optimizer(lm.optim.Optimizer):
    """The methods that Paddle's optimizers have and Lamella's call otherwise."""

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Drops the gradients."""
        self.zero_grad()

    def get_lr(self) -> float:
        """Returns the learning rate."""
        return float(self.param_groups[0]["lr"])

    def set_lr(self, value: float) -> None:
        """Sets the learning rate."""
        for group in self.param_groups:
            group["lr"] = value

    def minimize(self, loss: lm.Tensor) -> None:
        """Makes one step along the gradients that ``loss.backward()`` has left."""
        self.step()

    def set_state_dict(self, state_dict: Any) -> None:
        """Takes over a saved state."""
        self.load_state_dict(state_dict)


class SGD(Optimizer, lm.optim.SGD):
    """Gradient descent without momentum."""

    def __init__(
        self, learning_rate: float = 0.001, parameters: Iterable[Any] | None = None, weight_decay: float | None = None
    ) -> None:
        super().__init__(_given("SGD", parameters), learning_rate, weight_decay=weight_decay or 0.0)


class Momentum(Optimizer, lm.optim.SGD):
    """Gradient descent with momentum."""

    def __init__(
        self,
        learning_rate: float = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Any] | None = None,
        use_nesterov: bool = False,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(
            _given("Momentum", parameters),
            learning_rate,
            momentum,
            nesterov=use_nesterov,
            weight_decay=weight_decay or 0.0,
        )


class Adam(Optimizer, lm.optim.Adam):
    """Adam."""

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Iterable[Any] | None = None,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(
            _given("Adam", parameters), learning_rate, (beta1, beta2), epsilon, weight_decay=weight_decay or 0.0
        )


class AdamW(Optimizer, lm.optim.Adam):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Iterable[Any] | None = None,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(
            _given("AdamW", parameters), learning_rate, (beta1, beta2), epsilon, weight_decay, decoupled=True
        )


def _given(name: str, parameters: Iterable[Any] | None) -> Iterable[Any]:
    if parameters is None:
        raise ValueError(f"[{name}] parameters are needed where graphs are dynamic")
    return parameters


__getattr__ = close_module(__name__)
