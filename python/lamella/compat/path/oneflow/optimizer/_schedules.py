"""Learning rates as functions of the number of steps that were made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


class Warmup:
    """A factor of the rate in the first steps."""

    def __init__(self, name: str, steps: int, first: float, grows: bool) -> None:
        if not isinstance(steps, int) or steps < 0:
            raise ValueError(f"[warmup.{name}] steps is an int of at least 0, got {steps!r}")
        if not 0 <= first <= 1:
            raise ValueError(f"[warmup.{name}] the multiplier is from 0 to 1, got {first}")
        self.steps = steps
        self._first = first
        self._grows = grows

    def factor(self, step: int) -> float:
        """Returns the factor before step number ``step``, counted from 0, which is below ``steps``."""
        return self._first + (1 - self._first) * step / self.steps if self._grows else self._first


class warmup:  # noqa: N801 (the dialect's name)
    """Ways to begin with lower rates."""

    @staticmethod
    def constant(steps: int, multiplier: float) -> Warmup:
        """Multiplies the rates of the first ``steps`` steps."""
        return Warmup("constant", steps, multiplier, grows=False)

    @staticmethod
    def linear(steps: int, start_multiplier: float) -> Warmup:
        """Multiplies the rates of the first ``steps`` steps by numbers that grow to 1."""
        return Warmup("linear", steps, start_multiplier, grows=True)


class LrScheduler:
    """Rate of each step: ``base_lr``, at first as a :class:`warmup` says."""

    def __init__(self, base_lr: float, warmup: Warmup | None = None) -> None:
        if isinstance(base_lr, bool) or not isinstance(base_lr, (int, float)) or base_lr < 0:
            raise ValueError(f"[{type(self).__name__}] a learning rate is a number of at least 0, got {base_lr!r}")
        if warmup is not None and not isinstance(warmup, Warmup):
            raise TypeError(f"[{type(self).__name__}] expected a warmup, got {type(warmup).__name__}")
        self.base_lr = float(base_lr)
        self.warmup = warmup

    def rate(self, step: int) -> float:
        """Returns the rate of step number ``step``, counted from 0."""
        if self.warmup is not None and step < self.warmup.steps:
            return self.base_lr * self.warmup.factor(step)
        return self.decayed(step)

    def decayed(self, step: int) -> float:
        """Returns the rate without a warmup."""
        return self.base_lr


def _check_steps(name: str, steps: Any) -> int:
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ValueError(f"[{name}] the number of steps is an int of at least 1, got {steps!r}")
    return steps


class PiecewiseConstantScheduler(LrScheduler):
    """Rate ``values[k]`` from the ``k``-th boundary on; there is one value more than boundaries."""

    def __init__(self, boundaries: Sequence[int], values: Sequence[float], warmup: Warmup | None = None) -> None:
        if len(boundaries) + 1 != len(values):
            raise ValueError(
                f"[PiecewiseConstantScheduler] expected one value more than boundaries, got {len(values)} values and "
                f"{len(boundaries)} boundaries"
            )
        super().__init__(values[0], warmup)
        self._boundaries, self._values = list(boundaries), [float(value) for value in values]

    def decayed(self, step: int) -> float:
        """Returns the rate without a warmup."""
        return self._values[sum(step >= boundary for boundary in self._boundaries)]


class PiecewiseScalingScheduler(LrScheduler):
    """Rate that is multiplied by ``scale[k]`` from the ``k``-th boundary on; a single scale is a factor of each."""

    def __init__(
        self,
        base_lr: float,
        boundaries: Sequence[int],
        scale: float | Sequence[float],
        warmup: Warmup | None = None,
    ) -> None:
        super().__init__(base_lr, warmup)
        scales = [float(scale) ** (k + 1) for k in range(len(boundaries))] if isinstance(scale, (int, float)) else scale
        if len(scales) != len(boundaries):
            raise ValueError(
                f"[PiecewiseScalingScheduler] expected a scale for each of {len(boundaries)} boundaries, got "
                f"{len(scales)}"
            )
        self._boundaries, self._scales = list(boundaries), [1.0, *map(float, scales)]

    def decayed(self, step: int) -> float:
        """Returns the rate without a warmup."""
        return self.base_lr * self._scales[sum(step >= boundary for boundary in self._boundaries)]


class CosineScheduler(LrScheduler):
    """Rate that falls along half a cosine, within ``steps`` steps, to ``alpha`` times itself."""

    def __init__(self, base_lr: float, steps: int, alpha: float = 0.0, warmup: Warmup | None = None) -> None:
        super().__init__(base_lr, warmup)
        self._steps, self._alpha = _check_steps("CosineScheduler", steps), alpha

    def decayed(self, step: int) -> float:
        """Returns the rate without a warmup."""
        cosine = 0.5 * (1 + math.cos(math.pi * min(step, self._steps) / self._steps))
        return self.base_lr * ((1 - self._alpha) * cosine + self._alpha)


class PolynomialScheduler(LrScheduler):
    """Rate that falls within ``steps`` steps to ``end_learning_rate``, by a power of the part that remains."""

    def __init__(
        self,
        base_lr: float,
        steps: int,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        warmup: Warmup | None = None,
    ) -> None:
        super().__init__(base_lr, warmup)
        self._steps = _check_steps("PolynomialScheduler", steps)
        self._end, self._power, self._cycle = end_learning_rate, power, cycle

    def decayed(self, step: int) -> float:
        """Returns the rate without a warmup."""
        steps = self._steps * max(math.ceil(step / self._steps), 1) if self._cycle else self._steps
        remaining = 1 - min(step, steps) / steps
        return float((self.base_lr - self._end) * remaining**self._power + self._end)


class _Decay(LrScheduler):
    """Rate that depends on ``step / steps``, in whole numbers where ``staircase`` is True."""

    def __init__(
        self, base_lr: float, steps: int, decay_rate: float, staircase: bool = False, warmup: Warmup | None = None
    ) -> None:
        super().__init__(base_lr, warmup)
        self._steps = _check_steps(type(self).__name__, steps)
        self._rate, self._staircase = decay_rate, staircase

    def _part(self, step: int) -> float:
        return float(step // self._steps) if self._staircase else step / self._steps


class ExponentialScheduler(_Decay):
    """Rate times ``decay_rate ** (step / steps)``."""

    def decayed(self, step: int) -> float:
        """Returns the rate without a warmup."""
        return float(self.base_lr * self._rate ** self._part(step))


class NaturalExpScheduler(_Decay):
    """Rate times ``exp(-decay_rate * step / steps)``."""

    def decayed(self, step: int) -> float:
        """Returns the rate without a warmup."""
        return self.base_lr * math.exp(-self._rate * self._part(step))


class InverseTimeScheduler(_Decay):
    """Rate divided by ``1 + decay_rate * step / steps``."""

    def decayed(self, step: int) -> float:
        """Returns the rate without a warmup."""
        return self.base_lr / (1 + self._rate * self._part(step))
