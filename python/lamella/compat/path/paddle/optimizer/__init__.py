"""Paddle's optimizers that map directly to Lamella's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm
from lamella import static
from lamella.compat.front import close_module

from . import lr  # noqa: F401
from .lr import LRScheduler


class Optimizer(lm.optim.Optimizer):
    """The methods that Paddle's optimizers have and Lamella's call otherwise."""

    _schedule: LRScheduler | None = None
    _grad_clip: Any = None

    def _set(self, learning_rate: Any, grad_clip: Any) -> None:
        """Keeps the schedule of the learning rate, and the clipping of gradients."""
        self._schedule = learning_rate if isinstance(learning_rate, LRScheduler) else None
        if grad_clip is not None and not callable(grad_clip):
            raise TypeError(f"[{type(self).__name__}] grad_clip is a ClipGradBy..., not {type(grad_clip).__name__}")
        self._grad_clip = grad_clip

    def step(self, closure: Any = None) -> Any:
        """Makes one step, with the learning rate of now and with clipped gradients."""
        if self._schedule is not None:
            for group in self.param_groups:
                group["lr"] = self._schedule.last_lr
        if self._grad_clip is None:
            return super().step(closure)
        clipped = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        gradients = [p.grad for p in clipped]
        with lm.no_grad():
            found = self._grad_clip([gradient for gradient in gradients if gradient is not None])
        try:
            for parameter, gradient in zip(clipped, found, strict=True):
                parameter.grad = gradient
            return super().step(closure)
        finally:
            for parameter, gradient in zip(clipped, gradients, strict=True):
                parameter.grad = gradient

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Drops the gradients."""
        self.zero_grad()

    def get_lr(self) -> float:
        """Returns the learning rate."""
        return float(self._schedule.last_lr if self._schedule is not None else self.param_groups[0]["lr"])

    def set_lr(self, value: float) -> None:
        """Sets the learning rate.

        Raises:
            RuntimeError: a schedule sets it.
        """
        if self._schedule is not None:
            raise RuntimeError(f"[{type(self).__name__}] the learning rate is that of a schedule: set_lr_scheduler()")
        for group in self.param_groups:
            group["lr"] = value

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Lets a schedule set the learning rate."""
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(f"[{type(self).__name__}] expected an LRScheduler, not {type(scheduler).__name__}")
        self._schedule = scheduler

    def minimize(
        self, loss: lm.Tensor, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> Any:
        """Adds gradients and a step to the program of ``loss``.

        Outside of a program it makes one step along the gradients that ``loss.backward()`` has left.
        """
        if isinstance(loss, static.Variable):
            return static.minimize(self, loss, startup_program, parameters, no_grad_set)
        self.step()
        return None

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Any:
        """Adds the gradients of ``loss`` to its program and returns each parameter with its gradient."""
        return static.append_backward(loss, parameters, no_grad_set, callbacks)

    def apply_gradients(self, params_grads: Any) -> list[Any]:
        """Adds a step along gradients that :meth:`backward` has added to their program."""
        static.apply_gradients(self, params_grads)
        return []

    def set_state_dict(self, state_dict: Any) -> None:
        """Takes over a saved state."""
        self.load_state_dict(state_dict)


class SGD(Optimizer, lm.optim.SGD):
    """Gradient descent without momentum."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(_given("SGD", parameters), _rate(learning_rate), weight_decay=_decay(weight_decay))
        self._set(learning_rate, grad_clip)


class Momentum(Optimizer, lm.optim.SGD):
    """Gradient descent with momentum."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Any] | None = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        if rescale_grad != 1.0:
            raise NotImplementedError("[Momentum] Lamella's paddle front takes no rescale_grad: scale the loss")
        super().__init__(
            _given("Momentum", parameters),
            _rate(learning_rate),
            momentum,
            nesterov=use_nesterov,
            weight_decay=_decay(weight_decay),
        )
        self._set(learning_rate, grad_clip)


class Adam(Optimizer, lm.optim.Adam):
    """Adam."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(
            _given("Adam", parameters), _rate(learning_rate), (beta1, beta2), epsilon, weight_decay=_decay(weight_decay)
        )
        self._set(learning_rate, grad_clip)


class AdamW(Optimizer, lm.optim.Adam):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = 0.01,
        lr_ratio: Any = None,
        apply_decay_param_fun: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        if lr_ratio is not None or apply_decay_param_fun is not None:
            raise NotImplementedError("[AdamW] Lamella's paddle front takes no lr_ratio and no apply_decay_param_fun")
        super().__init__(
            _given("AdamW", parameters),
            _rate(learning_rate),
            (beta1, beta2),
            epsilon,
            _decay(weight_decay),
            decoupled=True,
        )
        self._set(learning_rate, grad_clip)


def _given(name: str, parameters: Iterable[Any] | None) -> Iterable[Any]:
    """Returns the parameters; in a program there may be none, as ``minimize`` takes all that the program trains."""
    if parameters is not None:
        return parameters
    if static.in_dynamic_mode():
        raise ValueError(f"[{name}] parameters are needed where graphs are dynamic")
    return [{"params": []}]


def _rate(learning_rate: Any) -> float:
    return float(learning_rate.last_lr) if isinstance(learning_rate, LRScheduler) else learning_rate


def _decay(weight_decay: Any) -> float:
    """Returns the factor of a number, of an ``L2Decay`` or of None."""
    return getattr(weight_decay, "coeff", weight_decay) or 0.0


__getattr__ = close_module(__name__)
