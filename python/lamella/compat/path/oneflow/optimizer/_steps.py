"""The steps of optimizers: each is an optimizer of Lamella's with a schedule, and with OneFlow's formulas."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import lamella as lm

from ._schedules import LrScheduler

_Group = dict[str, Any]


class Step(lm.optim.Optimizer):
    """An optimizer whose rate is that of a schedule, and which counts its steps.

    Attributes:
        train_step: the number of steps that were made, a tensor of one element.
    """

    #: What is remembered of a parameter: the key in the state, and what a variable's name has behind it.
    slots: Sequence[tuple[str, str]] = ()
    train_step: lm.Tensor
    _schedule: LrScheduler

    def scheduled(self, schedule: LrScheduler) -> Step:
        """Takes a schedule; returns the optimizer itself."""
        self._schedule = schedule
        self.train_step = lm.zeros([1], dtype=lm.int64)
        return self

    def step(self, closure: Any = None) -> Any:
        """Makes a step with the rate of now."""
        made = int(self.train_step)
        for group in self.param_groups:
            group["lr"] = self._schedule.rate(made)
        result = super().step(closure)
        with lm.no_grad():
            self.train_step.add_(1)
        return result

    def state_of(self, parameter: lm.Tensor) -> dict[str, Any]:
        """Returns what is remembered of a parameter, zeros at first."""
        state = self.state.setdefault(id(parameter), {})
        for key, _ in self.slots:
            if key not in state:
                state[key] = lm.zeros_like(parameter.detach())
        return state

    def remembered(self, job: str, names: Sequence[Sequence[Any]]) -> Iterator[tuple[str, lm.Tensor]]:
        """Yields the tensors that the optimizer remembers, by the names that OneFlow gives them.

        Args:
            job: name of the job.
            names: for each group, the variables' names.
        """
        for group, variables in zip(self.param_groups, names, strict=True):
            for parameter, variable in zip(group["params"], variables, strict=True):
                state = self.state_of(parameter)
                for key, suffix in self.slots:
                    yield f"{variable}-{suffix}", state[key]
        yield f"System-Train-TrainStep-{job}", self.train_step


class SGD(Step):
    """``v = momentum * v - lr * g``, ``p = p + v - lr * weight_decay * p``; without a momentum ``v = -lr * g``."""

    def __init__(self, params: Any, momentum: float, weight_decay: float) -> None:
        lm.optim.optimizer.check_number("SGD", "momentum", momentum)
        super().__init__(params, {"lr": 0.0, "momentum": momentum, "weight_decay": weight_decay})
        if momentum:
            self.slots = (("momentum", "momentum"),)

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: _Group) -> None:
        """Moves one tensor by the formula above."""
        rate, momentum = group["lr"], group["momentum"]
        change = gradient * -rate
        if momentum:
            change = self.state_of(parameter)["momentum"].mul_(momentum).add_(change)
        if group["weight_decay"]:
            change = change - parameter * (rate * group["weight_decay"])
        parameter.add_(change)


class Adam(Step, lm.optim.Adam):
    """Adam, or AdamW where it is decoupled, with or without the correction of the running means' bias."""

    slots = (("exp_avg", "m"), ("exp_avg_sq", "v"))

    def __init__(
        self, params: Any, betas: tuple[float, float], epsilon: float, weight_decay: float, correct_bias: bool
    ) -> None:
        lm.optim.Adam.__init__(self, params, 0.0, betas, epsilon, weight_decay, decoupled=True)
        self._correct_bias = correct_bias

    def state_of(self, parameter: lm.Tensor) -> dict[str, Any]:
        """Returns what is remembered of a parameter."""
        state = super().state_of(parameter)
        state["step"] = int(self.train_step)
        return state

    def update_group(
        self, parameters: list[lm.Tensor], gradients: list[lm.Tensor], states: list[dict[str, Any]], group: _Group
    ) -> None:
        """Moves the tensors."""
        states = [self.state_of(parameter) for parameter in parameters]
        if not self._correct_bias and group["lr"]:
            # Lamella's formula corrects the bias; these options take the correction back.
            (beta1, beta2), made = group["betas"], int(self.train_step) + 1
            root = math.sqrt(1 - beta2**made)
            rate = group["lr"] * (1 - beta1**made) / root
            decay = group["weight_decay"] * group["lr"] / rate
            group = {**group, "lr": rate, "eps": group["eps"] / root, "weight_decay": decay}
        super().update_group(parameters, gradients, states, group)


class RMSProp(Step):
    """``s = decay_rate * s + (1 - decay_rate) * g * g``, ``p = p - lr * g / sqrt(s + epsilon)``.

    Centered, the square of the gradient's own running mean is subtracted from ``s``.
    """

    def __init__(self, params: Any, decay_rate: float, epsilon: float, centered: bool) -> None:
        lm.optim.optimizer.check_number("RMSProp", "decay_rate", decay_rate, below=1.0)
        super().__init__(params, {"lr": 0.0, "decay_rate": decay_rate, "epsilon": epsilon, "centered": centered})
        means = (("mean_gradient", "mean_gradient"),) if centered else ()
        self.slots = (("mean_square", "mean_square"), *means)

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: _Group) -> None:
        """Moves one tensor by the formula above."""
        state, decay = self.state_of(parameter), group["decay_rate"]
        square = state["mean_square"].mul_(decay).add_(gradient * gradient * (1 - decay))
        if group["centered"]:
            mean = state["mean_gradient"].mul_(decay).add_(gradient * (1 - decay))
            square = square - mean * mean
        parameter.sub_(gradient * group["lr"] / lm.sqrt(square + group["epsilon"]))
