"""The base of Paddle's optimizers, and what their arguments mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import lamella as lm
from lamella import static

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
        penalties = [
            (parameter, group)
            for group in self.param_groups
            for parameter in group["params"]
            if getattr(parameter, "regularizer", None) is not None and parameter.grad is not None
        ]
        if self._grad_clip is None and not penalties:
            return super().step(closure)
        changed = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        gradients = [p.grad for p in changed]
        try:
            with lm.no_grad():
                if self._grad_clip is not None:
                    for parameter, gradient in zip(changed, self._grad_clip(list(gradients)), strict=True):
                        parameter.grad = gradient
                for parameter, group in penalties:
                    # In the place of the optimizer's own, which is added by its step.
                    others = 0.0 if group.get("decoupled") else group.get("weight_decay", 0.0)
                    parameter.grad = parameter.grad + parameter.regularizer(parameter) - others * parameter
            return super().step(closure)
        finally:
            for parameter, gradient in zip(changed, gradients, strict=True):
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


def given(name: str, parameters: Iterable[Any] | None) -> Iterable[Any]:
    """Returns the parameters; in a program there may be none, as ``minimize`` takes all that the program trains."""
    if parameters is not None:
        return parameters
    if static.in_dynamic_mode():
        raise ValueError(f"[{name}] parameters are needed where graphs are dynamic")
    return [{"params": []}]


def apart(parameters: Iterable[Any], decays: Callable[[str], bool] | None) -> Iterable[Any]:
    """Returns parameters in two groups, of which the second, those whose names ``decays`` denies, has no decay.

    Raises:
        ValueError: the parameters are in groups already.
    """
    if decays is None:
        return parameters
    listed = list(parameters)
    if any(isinstance(each, dict) for each in listed):
        raise ValueError("[AdamW] apply_decay_param_fun: with groups, give each its own weight_decay")
    chosen = [bool(decays(parameter.name)) for parameter in listed]
    groups: list[dict[str, Any]] = [
        {"params": [p for p, taken in zip(listed, chosen, strict=True) if taken]},
        {"params": [p for p, taken in zip(listed, chosen, strict=True) if not taken], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def rate(learning_rate: Any) -> float:
    return float(learning_rate.last_lr) if isinstance(learning_rate, LRScheduler) else learning_rate


def decay(weight_decay: Any) -> float:
    """Returns the factor of a number, of an ``L2Decay`` or of None."""
    return getattr(weight_decay, "coeff", weight_decay) or 0.0
