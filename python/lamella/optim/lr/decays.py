"""Schedules whose rate is the first one times a function of the epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..optimizer import Optimizer, check_number
from .scheduler import LRScheduler, check_count

Factor = Callable[[int], float]


class StepLR(LRScheduler):
    """Multiplies the rate by ``gamma`` every ``step_size`` epochs.

    Args:
        optimizer: its groups get the rates.
        step_size: how many epochs a rate lasts.
        gamma: what it is multiplied by then.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        check_count("StepLR", "step_size", step_size)
        super().__init__(optimizer)
        self.step_size = step_size
        self.gamma = gamma

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``base * gamma ** (epoch // step_size)``."""
        return base * self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Multiplies the rate by ``gamma`` at each of the ``milestones``; at one that is there twice, twice.

    Args:
        optimizer: its groups get the rates.
        milestones: epochs, in any order.
        gamma: what the rate is multiplied by at each.
    """

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1) -> None:
        self.milestones = sorted(check_count("MultiStepLR", "a milestone", epoch, 0) for epoch in milestones)
        super().__init__(optimizer)
        self.gamma = gamma
        self.begin()

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``base * gamma ** n`` after ``n`` of the milestones."""
        return float(base * self.gamma ** sum(epoch >= milestone for milestone in self.milestones))


class ExponentialLR(LRScheduler):
    """Multiplies the rate by ``gamma`` every epoch.

    Args:
        optimizer: its groups get the rates.
        gamma: what the rate is multiplied by.
    """

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        super().__init__(optimizer)
        self.gamma = gamma

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``base * gamma ** epoch``."""
        return float(base * self.gamma**epoch)


class NaturalExpLR(ExponentialLR):
    """Lets the rate fall as ``exp(-gamma * epoch)``.

    Args:
        optimizer: its groups get the rates.
        gamma: the factor of the epoch.
    """

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``base * exp(-gamma * epoch)``."""
        return base * math.exp(-self.gamma * epoch)


class InverseTimeLR(ExponentialLR):
    """Lets the rate fall as ``1 / (1 + gamma * epoch)``.

    Args:
        optimizer: its groups get the rates.
        gamma: the factor of the epoch.
    """

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``base / (1 + gamma * epoch)``."""
        return base / (1.0 + self.gamma * epoch)


class ConstantLR(LRScheduler):
    """Multiplies the rate by ``factor`` in the first ``total_iters`` epochs.

    Args:
        optimizer: its groups get the rates.
        factor: of the rate.
        total_iters: how many epochs it counts.
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3.0, total_iters: int = 5) -> None:
        check_number("ConstantLR", "factor", factor)
        check_count("ConstantLR", "total_iters", total_iters, 0)
        super().__init__(optimizer)
        self.factor = factor
        self.total_iters = total_iters
        self.begin()

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``base * factor`` before epoch ``total_iters``, then ``base``."""
        return base * self.factor if epoch < self.total_iters else base


class LinearLR(LRScheduler):
    """Multiplies the rate by a factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs.

    Args:
        optimizer: its groups get the rates.
        start_factor: the factor in epoch 0.
        end_factor: the factor from epoch ``total_iters`` on.
        total_iters: how many epochs lie between them.
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3.0, end_factor: float = 1.0, total_iters: int = 5
    ) -> None:
        check_number("LinearLR", "start_factor", start_factor)
        check_number("LinearLR", "end_factor", end_factor)
        check_count("LinearLR", "total_iters", total_iters)
        super().__init__(optimizer)
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        self.begin()

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``base`` times the factor of the epoch, and of the last one from then on."""
        part = min(epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * part)


class PolynomialLR(LRScheduler):
    """Lets the rate fall to ``end_lr`` in ``total_iters`` epochs, by a power of the part of them that remains.

    Args:
        optimizer: its groups get the rates.
        total_iters: how many epochs the rate falls.
        power: of the part that remains.
        end_lr: the last rate.
        cycle: after the last epoch, begins again from where a fall of so many more epochs would be.
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, end_lr: float = 0.0, cycle: bool = False
    ) -> None:
        check_count("PolynomialLR", "total_iters", total_iters)
        super().__init__(optimizer)
        self.total_iters = total_iters
        self.power = power
        self.end_lr = end_lr
        self.cycle = cycle

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``end_lr + (base - end_lr) * (1 - epoch / total_iters) ** power``."""
        total = self.total_iters * max(math.ceil(epoch / self.total_iters), 1) if self.cycle else self.total_iters
        return float(self.end_lr + (base - self.end_lr) * (1.0 - min(epoch / total, 1.0)) ** self.power)


class NoamLR(LRScheduler):
    """Lets the rate grow for ``warmup_steps`` epochs, and fall with the root of their number.

    Source: Vaswani et al. 2017, "Attention is all you need", equation 3.

    Args:
        optimizer: its groups get the rates; their own are a factor, such as 1.
        d_model: the size of the model.
        warmup_steps: how many steps the rate grows; call :meth:`step` after each of the optimizer's.
    """

    def __init__(self, optimizer: Optimizer, d_model: int, warmup_steps: int) -> None:
        check_count("NoamLR", "d_model", d_model)
        check_count("NoamLR", "warmup_steps", warmup_steps)
        super().__init__(optimizer)
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.begin()

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``base * d_model ** -0.5 * min(n ** -0.5, n * warmup_steps ** -1.5)`` with ``n = epoch + 1``."""
        number = epoch + 1
        return float(base * self.d_model**-0.5 * min(number**-0.5, number * self.warmup_steps**-1.5))


class PiecewiseLR(LRScheduler):
    """Rates that are given: ``values[k]`` from the ``k``-th of the ``boundaries`` on, ``values[0]`` before.

    Args:
        optimizer: its groups get the rates.
        boundaries: epochs, in order.
        values: one more than boundaries.
    """

    def __init__(self, optimizer: Optimizer, boundaries: Sequence[int], values: Sequence[float]) -> None:
        if len(values) != len(boundaries) + 1:
            raise ValueError(f"[PiecewiseLR] {len(boundaries)} boundaries part {len(values)} values")
        super().__init__(optimizer)
        self.boundaries = list(boundaries)
        self.values = [float(value) for value in values]
        self.begin()

    def rate(self, base: float, epoch: int) -> float:
        """Returns the value of the epoch."""
        return self.values[sum(epoch >= boundary for boundary in self.boundaries)]


class LambdaLR(LRScheduler):
    """Multiplies the first rate by a function of the epoch.

    Args:
        optimizer: its groups get the rates.
        lr_lambda: maps an epoch to a factor; or a list of such functions, one for each group.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor]) -> None:
        super().__init__(optimizer)
        self.lr_lambdas: list[Factor] = self._per_group("lr_lambda", lr_lambda)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"[{type(self).__name__}] lr_lambda is a function, not {type(function).__name__}")
        self.begin()

    def factors(self, epoch: int) -> list[float]:
        """Returns the factors of the groups in an epoch."""
        return [float(function(epoch)) for function in self.lr_lambdas]

    def rates(self, epoch: int, bases: Sequence[float]) -> list[float]:
        """Returns the first rates times the functions of the epoch."""
        return [base * factor for base, factor in zip(bases, self.factors(epoch), strict=True)]


class MultiplicativeLR(LambdaLR):
    """Multiplies the rate of the epoch before by a function of the epoch; arguments as in :class:`LambdaLR`."""

    def factors(self, epoch: int) -> list[float]:
        """Returns the products of the functions of the epochs from 1 on."""
        known: list[list[float]] = self.__dict__.setdefault("_products", [[1.0] * len(self.lr_lambdas)])
        while len(known) <= epoch:
            known.append([a * b for a, b in zip(known[-1], super().factors(len(known)), strict=True)])
        return known[epoch]
