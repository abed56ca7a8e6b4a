"""Paddle's optimizers with steps of adaptive size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm
from lamella.optim.elementwise import Elementwise
from lamella.optim.optimizer import check_numbers

from ._base import Optimizer, apart, decay, given, number, rate

Parameters = Iterable[Any] | None


class Adagrad(Optimizer, lm.optim.Adagrad):
    """Steps divided by the root of the sum of squared gradients."""

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1e-6,
        parameters: Parameters = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        options = 0.0, decay(weight_decay), initial_accumulator_value, epsilon
        super().__init__(given("Adagrad", parameters), rate(learning_rate), *options)
        self._set(learning_rate, grad_clip, weight_decay)


class Adadelta(Optimizer, lm.optim.Adadelta):
    """Steps in proportion to the root of the mean of the squares of those before."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameters: Parameters = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(given("Adadelta", parameters), rate(learning_rate), rho, epsilon, decay(weight_decay))
        self._set(learning_rate, grad_clip, weight_decay)


class Adamax(Optimizer, lm.optim.Adamax):
    """Adam with the largest gradient in the place of the mean of squares."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Parameters = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        betas = number(beta1), number(beta2)
        super().__init__(given("Adamax", parameters), rate(learning_rate), betas, epsilon, decay(weight_decay))
        self._set(learning_rate, grad_clip, weight_decay)

    def move(self, parameters: Any, gradients: Any, states: Any, numbers: Any, group: Any) -> None:
        """Moves tensors; epsilon counts with what is remembered of the largest gradient, not with the gradient."""
        for parameter, state in zip(parameters, states, strict=True):
            largest = state.setdefault("exp_inf", lm.zeros_like(parameter.detach()))
            largest.mul_(group["betas"][1]).add_(group["eps"])
        super().move(parameters, gradients, states, (*numbers[:3], 1.0, 0.0), group)


class NAdam(Optimizer, lm.optim.NAdam):
    """Adam with Nesterov momentum."""

    def __init__(
        self,
        learning_rate: Any = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        momentum_decay: float = 0.004,
        parameters: Parameters = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        options = (number(beta1), number(beta2)), epsilon, decay(weight_decay), momentum_decay
        super().__init__(given("NAdam", parameters), rate(learning_rate), *options)
        self._set(learning_rate, grad_clip, weight_decay)


class RAdam(Optimizer, lm.optim.RAdam):
    """Adam that divides once the mean of squares is known well enough."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Parameters = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        betas = number(beta1), number(beta2)
        super().__init__(given("RAdam", parameters), rate(learning_rate), betas, epsilon, decay(weight_decay))
        self._set(learning_rate, grad_clip, weight_decay)


class Rprop(Optimizer, lm.optim.Rprop):
    """Steps by the gradient's sign, of sizes that grow while it stays and shrink where it turns.

    Rates of groups and parameters do not count, as each element has a step of its own, nor do those set later: the
    first steps have the size that the optimizer was made with.
    """

    def _spread(self) -> None:
        for group in self.param_groups:
            group["lr"] = self._first_size

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_range: tuple[float, float] = (1e-5, 50.0),
        parameters: Parameters = None,
        etas: tuple[float, float] = (0.5, 1.2),
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        self._first_size = rate(learning_rate)
        super().__init__(given("Rprop", parameters), self._first_size, etas, learning_rate_range)
        self._set(learning_rate, grad_clip, multi_precision=multi_precision)


class Lamb(Optimizer, lm.optim.LAMB):
    """Adam whose steps have a length in proportion to the norm of each tensor."""

    _decays_apart = True

    def __init__(
        self,
        learning_rate: Any = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        parameters: Parameters = None,
        grad_clip: Any = None,
        exclude_from_weight_decay_fn: Any = None,
        multi_precision: bool = False,
        always_adapt: bool = False,
        name: str | None = None,
    ) -> None:
        self._excluded = exclude_from_weight_decay_fn
        super().__init__(
            self._grouped(parameters), rate(learning_rate), (number(beta1), number(beta2)), epsilon, lamb_weight_decay
        )
        self._always_adapt = always_adapt
        self._set(learning_rate, grad_clip, multi_precision=multi_precision)

    def _grouped(self, parameters: Any) -> Iterable[Any]:
        listed = given("Lamb", parameters)
        if self._excluded is None:
            return listed
        return apart(listed, lambda parameter: {"weight_decay": 0.0} if self._excluded(parameter) else {})

    def move(self, parameters: Any, gradients: Any, states: Any, numbers: Any, group: Any) -> None:
        """Moves tensors; those without a decay as Adam does, unless ``always_adapt``."""
        if group["weight_decay"] or self._always_adapt:
            super().move(parameters, gradients, states, numbers, group)
            return
        scaled = (numbers[0] * group["lr"], *numbers[1:])
        Elementwise.move(self, parameters, gradients, states, scaled, group)


class RMSProp(Optimizer):
    """Steps divided by the root of the mean of squared gradients, to which ``epsilon`` is added first."""

    def __init__(
        self,
        learning_rate: Any,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Parameters = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        options = {"rho": rho, "epsilon": epsilon, "momentum": momentum, "centered": centered}
        defaults = {"lr": rate(learning_rate), "weight_decay": decay(weight_decay), **options}
        super().__init__(given("RMSProp", parameters), defaults)
        self._set(learning_rate, grad_clip, weight_decay)

    def check(self, group: Any) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("RMSProp", group, "lr", "rho", "epsilon", "momentum", "weight_decay")

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: Any) -> None:
        """Moves one tensor."""
        if not state:
            state |= {name: lm.zeros_like(parameter) for name in ("square", "mean", "velocity")}
        g, rho = gradient + parameter * group["weight_decay"], group["rho"]
        square = state["square"].mul_(rho).add_(g * g * (1 - rho))
        if group["centered"]:
            mean = state["mean"].mul_(rho).add_(g * (1 - rho))
            square = square - mean * mean
        step = g / lm.sqrt(square + group["epsilon"]) * group["lr"]
        parameter.sub_(state["velocity"].mul_(group["momentum"]).add_(step))


class ASGD(Optimizer):
    """Steps along the mean of the last gradients of ``batch_num`` batches (Schmidt et al. 2013, "SAG").

    ``d += g - y_i``, then ``y_i = g``, and ``x -= lr * (d / min(steps, batch_num) + weight_decay * x)``.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        batch_num: int = 1,
        parameters: Parameters = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        if batch_num < 1:
            raise ValueError(f"[ASGD] batch_num is at least 1, not {batch_num}")
        defaults = {"lr": rate(learning_rate), "weight_decay": decay(weight_decay), "batch_num": batch_num}
        super().__init__(given("ASGD", parameters), defaults)
        self._set(learning_rate, grad_clip, weight_decay, multi_precision)

    def check(self, group: Any) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("ASGD", group, "lr", "batch_num", "weight_decay")

    def state_shape(self, key: str, parameter: lm.Tensor) -> tuple[int, ...] | None:
        """Returns the shape of what is remembered: the gradients of all batches, or their sum."""
        return None if key == "seen" else tuple(parameter.shape)

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: Any) -> None:
        """Moves one tensor."""
        count = group["batch_num"]
        if not state:
            state |= {"total": lm.zeros_like(parameter), "step": 0}
            state["seen"] = lm.zeros((count, *tuple(parameter.shape)), dtype=parameter.dtype)
        g = gradient + parameter * group["weight_decay"]
        place = state["step"] % count
        state["total"].add_(g - state["seen"][place])
        state["seen"][place] = g
        state["step"] += 1
        parameter.sub_(state["total"] * (group["lr"] / min(state["step"], count)))
