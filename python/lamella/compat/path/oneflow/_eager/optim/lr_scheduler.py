"""Schedules with OneFlow's parameters: a subclass of :class:`LRScheduler` defines ``get_lr(base_lr, step)``."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from typing import Any

from lamella.optim import Optimizer


class LRScheduler:
    """Base of schedules, whose rates depend on the step and on the first rate only.

    Args:
        optimizer: its groups get the rates.
        last_step: the last step that was made, by which a schedule goes on.
        verbose: True prints rates.

    Attributes:
        last_step: number of steps that were made.
        base_lrs: the rates that the groups began with.

    Raises:
        TypeError: ``optimizer`` is none.
    """

    def __init__(self, optimizer: Optimizer, last_step: int = -1, verbose: bool = False) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"[{type(self).__name__}] expected an Optimizer, not {type(optimizer).__name__}")
        self.optimizer = optimizer
        self.last_step = last_step
        self.verbose = verbose
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._last_lr: list[float] = []
        self.step()

    def get_lr(self, base_lr: float, step: int) -> float:
        """Returns the rate of a step for groups that began with ``base_lr``."""
        raise NotImplementedError(f"[{type(self).__name__}] a schedule defines get_lr(base_lr, step)")

    def step(self) -> None:
        """Begins the next step."""
        self.last_step += 1
        self._last_lr = [self.get_lr(base, self.last_step) for base in self.base_lrs]
        for number, (group, rate) in enumerate(zip(self.optimizer.param_groups, self._last_lr, strict=False)):
            group["lr"] = rate
            if self.verbose:
                print(f"step {self.last_step}: the rate of group {number} is {rate:.5f}")

    def get_last_lr(self) -> list[float]:
        """Returns the rates of this step."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Returns all that the schedule remembers, without optimizer and schedules."""
        return {key: value for key, value in vars(self).items() if key not in ("optimizer", "schedulers")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where a saved schedule was."""
        vars(self).update(state_dict)


_LRScheduler = LRScheduler


def _schedule(
    name: str, required: Sequence[str], optional: dict[str, Any], rate: Callable[..., float], doc: str
) -> Any:
    """Returns the class of a schedule whose rate is a formula of the first rate, the step and the schedule."""
    words = [*required, *optional]

    def __init__(  # noqa: N807 (becomes the class's __init__)
        self: Any, optimizer: Optimizer, *args: Any, last_step: int = -1, verbose: bool = False, **kwargs: Any
    ) -> None:
        if len(args) > len(words):
            last_step, verbose = (*args[len(words) :], verbose)[:2]
        given = dict(zip(words, args, strict=False))
        if wrong := [word for word in kwargs if word not in words or word in given]:
            raise TypeError(f"[{name}] got an unexpected argument '{wrong[0]}'; it takes {', '.join(words)}")
        given = {**optional, **given, **kwargs}
        if missing := [word for word in required if word not in given]:
            raise TypeError(f"[{name}] missing the argument '{missing[0]}'")
        vars(self).update(given)
        LRScheduler.__init__(self, optimizer, last_step, verbose)

    def get_lr(self: Any, base_lr: float, step: int) -> float:
        return float(rate(self, base_lr, step))

    members = {"__init__": __init__, "get_lr": get_lr, "__doc__": doc, "__module__": __name__}
    return type(name, (LRScheduler,), members)


def _half_cosine(part: float) -> float:
    return 0.5 * (1.0 + math.cos(math.pi * part))


def _linear(s: Any, base: float, step: int) -> float:
    part = min(step / s.total_iters, 1.0)
    return float(base * (s.start_factor + (s.end_factor - s.start_factor) * part))


def _polynomial(s: Any, base: float, step: int) -> float:
    total = s.decay_batch * max(math.ceil(step / s.decay_batch), 1) if s.cycle else s.decay_batch
    at = max(step, 1) if s.cycle else min(step, total)
    return float((base - s.end_learning_rate) * (1.0 - at / total) ** s.power + s.end_learning_rate)


def _restarts(s: Any, base: float, step: int) -> float:
    number, length, at = 0, s.T_0, step
    if s.T_mult == 1:
        number, at = divmod(step, length)
    else:
        while at >= length:
            number, at, length = number + 1, at - length, length * s.T_mult
    if 0 < s.restart_limit <= number:
        return float(s.eta_min)
    return float(s.eta_min + (base * s.decay_rate**number - s.eta_min) * _half_cosine(at / length))


StepLR = _schedule(
    "StepLR",
    ["step_size"],
    {"gamma": 0.1},
    lambda s, base, step: base * s.gamma ** (step // s.step_size),
    "Multiplies the rate by ``gamma`` every ``step_size`` steps.",
)
MultiStepLR = _schedule(
    "MultiStepLR",
    ["milestones"],
    {"gamma": 0.1},
    lambda s, base, step: base * s.gamma ** bisect.bisect_right(s.milestones, step),
    "Multiplies the rate by ``gamma`` at each milestone.",
)
ExponentialLR = _schedule(
    "ExponentialLR",
    ["gamma"],
    {},
    lambda s, base, step: base * s.gamma**step,
    "Multiplies the rate by ``gamma`` in each step.",
)
ConstantLR = _schedule(
    "ConstantLR",
    [],
    {"factor": 1.0 / 3.0, "total_iters": 5},
    lambda s, base, step: base * (s.factor if step < s.total_iters else 1.0),
    "Multiplies the rates of the first ``total_iters`` steps by ``factor``.",
)
LinearLR = _schedule(
    "LinearLR",
    [],
    {"start_factor": 1.0 / 3.0, "end_factor": 1.0, "total_iters": 5},
    _linear,
    "Multiplies the rate by a factor that goes from ``start_factor`` to ``end_factor``.",
)
CosineAnnealingLR = _schedule(
    "CosineAnnealingLR",
    ["T_max"],
    {"eta_min": 0.0},
    lambda s, base, step: s.eta_min + (base - s.eta_min) * _half_cosine(step / s.T_max),
    "Lets the rate fall along half a cosine in ``T_max`` steps, and rise again in the next ones.",
)
CosineDecayLR = _schedule(
    "CosineDecayLR",
    ["decay_steps"],
    {"alpha": 0.0},
    lambda s, base, step: base * ((1.0 - s.alpha) * _half_cosine(min(step / s.decay_steps, 1.0)) + s.alpha),
    "Lets the rate fall to its part ``alpha`` along half a cosine in ``decay_steps`` steps, where it stays.",
)
CosineAnnealingWarmRestarts = _schedule(
    "CosineAnnealingWarmRestarts",
    ["T_0"],
    {"T_mult": 1, "eta_min": 0.0, "decay_rate": 1.0, "restart_limit": 0},
    _restarts,
    "Falls along half a cosine again and again, from ``decay_rate`` of the height before, ``restart_limit`` times.",
)
PolynomialLR = _schedule(
    "PolynomialLR",
    ["decay_batch"],
    {"end_learning_rate": 0.0001, "power": 1.0, "cycle": False},
    _polynomial,
    "Lets the rate fall to ``end_learning_rate`` by a power of the part of ``decay_batch`` steps that remains.",
)


class LambdaLR(LRScheduler):
    """Multiplies the first rate by a function of the step, or by one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_step: int = -1, verbose: bool = False) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"[{type(self).__name__}] {len(self.lr_lambdas)} functions for {count} groups")
        super().__init__(optimizer, last_step, verbose)

    def factor(self, number: int, step: int) -> float:
        """Returns the factor of a group in a step."""
        return float(self.lr_lambdas[number](step))

    def step(self) -> None:
        """Begins the next step."""
        self.last_step += 1
        self._last_lr = [base * self.factor(k, self.last_step) for k, base in enumerate(self.base_lrs)]
        for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=True):
            group["lr"] = rate

    def get_lr(self, base_lr: float, step: int) -> float:
        """Returns the rate of a step, by the first group's function."""
        return base_lr * self.factor(0, step)

    def state_dict(self) -> dict[str, Any]:
        """Returns all that the schedule remembers, without functions."""
        return {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}


class MultiplicativeLR(LambdaLR):
    """Multiplies the rate of the step before by a function of the step."""

    def factor(self, number: int, step: int) -> float:
        """Returns the product of the factors of the steps from 1 on."""
        return math.prod(float(self.lr_lambdas[number](each)) for each in range(1, step + 1))


class ChainedScheduler(LRScheduler):
    """Follows several schedules at once: each begins, in every step, with the rate of the one before."""

    def __init__(self, schedulers: Sequence[Any]) -> None:
        self.schedulers = list(schedulers)
        if not self.schedulers:
            raise ValueError("[ChainedScheduler] there are no schedules")
        super().__init__(self.schedulers[0].optimizer)

    def get_lr(self, base_lr: float, step: int) -> float:
        """Returns the last schedule's rate."""
        for schedule in self.schedulers:
            base_lr = schedule.get_lr(base_lr, step)
        return base_lr


class SequentialLR(LRScheduler):
    """Follows one schedule after the other, from milestones on.

    Args:
        optimizer: the optimizer of all schedules.
        schedulers: one more than milestones.
        milestones: the steps at which the next schedule's turn begins.
        interval_rescaling: True if a schedule counts from its milestone; one for each milestone, or one for all.
        last_step: the last step that was made.
        verbose: True prints rates.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[Any],
        milestones: Sequence[int],
        interval_rescaling: bool | Sequence[bool] = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        rescaled = interval_rescaling
        self.interval_rescaling = [rescaled] * len(milestones) if isinstance(rescaled, bool) else list(rescaled)
        if len(self.milestones) + 1 != len(self.schedulers) or len(self.interval_rescaling) != len(self.milestones):
            raise ValueError(
                f"[SequentialLR] {len(self.schedulers)} schedules are parted by {len(self.schedulers) - 1} milestones, "
                f"not {len(self.milestones)}, each with one interval_rescaling, not {len(self.interval_rescaling)}"
            )
        super().__init__(optimizer, last_step, verbose)

    def state_dict(self) -> dict[str, Any]:
        """Returns all that the schedule remembers, and the states of its schedules."""
        return {**super().state_dict(), "schedulers": [each.state_dict() for each in self.schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where a saved schedule was."""
        for schedule, state in zip(self.schedulers, state_dict["schedulers"], strict=True):
            schedule.load_state_dict(state)
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "schedulers"})

    def get_lr(self, base_lr: float, step: int) -> float:
        """Returns the rate of the schedule whose turn it is."""
        number = bisect.bisect_right(self.milestones, step)
        if number and self.interval_rescaling[number - 1]:
            step -= self.milestones[number - 1]
        return float(self.schedulers[number].get_lr(base_lr, step))


class WarmupLR(SequentialLR):
    """Begins with a part of the rate, which rises in ``warmup_iters`` steps to that of a schedule or an optimizer.

    Args:
        scheduler_or_optimizer: the rate that is reached.
        warmup_factor: the part in the first step.
        warmup_iters: how many steps the rate rises.
        warmup_method: "linear", or "constant": the part stays as it is until then.
        warmup_prefix: True if the schedule counts from the end of the warmup.
        last_step: the last step that was made.
        verbose: True prints rates.
    """

    def __init__(
        self,
        scheduler_or_optimizer: Any,
        warmup_factor: float = 1.0 / 3.0,
        warmup_iters: int = 5,
        warmup_method: str = "linear",
        warmup_prefix: bool = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if warmup_method not in ("linear", "constant"):
            raise ValueError(f"[WarmupLR] warmup_method is 'linear' or 'constant', got {warmup_method!r}")
        self.warmup_factor, self.warmup_iters = warmup_factor, warmup_iters
        self.warmup_method, self.warmup_prefix = warmup_method, warmup_prefix
        schedule = None if isinstance(scheduler_or_optimizer, Optimizer) else scheduler_or_optimizer
        optimizer = scheduler_or_optimizer if schedule is None else schedule.optimizer
        listed: list[Any] = []
        if warmup_iters > 0:
            if warmup_method == "constant":
                listed.append(ConstantLR(optimizer, warmup_factor, warmup_iters))
            else:
                end = 1.0
                if schedule is not None and not warmup_prefix:
                    base = schedule.base_lrs[0]
                    end = schedule.get_lr(base, warmup_iters) / base
                listed.append(LinearLR(optimizer, warmup_factor, end, warmup_iters))
        if schedule is not None:
            listed.append(schedule)
        if not listed:
            raise ValueError("[WarmupLR] there is neither a warmup nor a schedule: warmup_iters is 0")
        milestones = [warmup_iters] if len(listed) == 2 else []
        super().__init__(optimizer, listed, milestones, [warmup_prefix] * len(milestones), last_step, verbose)


WarmUpLR = WarmupLR
