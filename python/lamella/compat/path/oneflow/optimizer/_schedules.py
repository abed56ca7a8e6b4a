"""Learning rates as functions of the number of steps that were made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import lamella as lm
from lamella.optim import lr as native


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
    """Rate of each step: ``base_lr``, at first as a :class:`warmup` says.

    Args:
        base_lr: the rate.
        warmup: the rates of the first steps.
        make: makes a schedule of Lamella's, of an optimizer without tensors, whose rates are those without a warmup.
    """

    def __init__(
        self,
        base_lr: float,
        warmup: Warmup | None = None,
        make: Callable[[Any], native.LRScheduler] | None = None,
    ) -> None:
        if isinstance(base_lr, bool) or not isinstance(base_lr, (int, float)) or base_lr < 0:
            raise ValueError(f"[{type(self).__name__}] a learning rate is a number of at least 0, got {base_lr!r}")
        if warmup is not None and not isinstance(warmup, Warmup):
            raise TypeError(f"[{type(self).__name__}] expected a warmup, got {type(warmup).__name__}")
        self.base_lr = float(base_lr)
        self.warmup = warmup
        without = lm.optim.Optimizer([{"params": []}], {"lr": self.base_lr})
        self._native = None if make is None else make(without)

    def rate(self, step: int) -> float:
        """Returns the rate of step number ``step``, counted from 0."""
        if self.warmup is not None and step < self.warmup.steps:
            return self.base_lr * self.warmup.factor(step)
        return self.decayed(step)

    def decayed(self, step: int) -> float:
        """Returns the rate without a warmup."""
        return self.base_lr if self._native is None else self._native.rates(step, [self.base_lr])[0]


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
        super().__init__(values[0], warmup, lambda optimizer: native.PiecewiseLR(optimizer, boundaries, values))


class PiecewiseScalingScheduler(LrScheduler):
    """Rate that is multiplied by ``scale[k]`` from the ``k``-th boundary on; a single scale is a factor of each."""

    def __init__(
        self,
        base_lr: float,
        boundaries: Sequence[int],
        scale: float | Sequence[float],
        warmup: Warmup | None = None,
    ) -> None:
        scales = [float(scale) ** (k + 1) for k in range(len(boundaries))] if isinstance(scale, (int, float)) else scale
        if len(scales) != len(boundaries):
            raise ValueError(
                f"[PiecewiseScalingScheduler] expected a scale for each of {len(boundaries)} boundaries, got "
                f"{len(scales)}"
            )

        def make(optimizer: Any) -> native.LRScheduler:
            return native.PiecewiseLR(optimizer, boundaries, [base_lr * factor for factor in (1.0, *scales)])

        super().__init__(base_lr, warmup, make)


class CosineScheduler(LrScheduler):
    """Rate that falls along half a cosine, within ``steps`` steps, to ``alpha`` times itself."""

    def __init__(self, base_lr: float, steps: int, alpha: float = 0.0, warmup: Warmup | None = None) -> None:
        _check_steps("CosineScheduler", steps)
        super().__init__(base_lr, warmup, lambda optimizer: native.CosineAnnealingLR(optimizer, steps, alpha * base_lr))


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
        _check_steps("PolynomialScheduler", steps)
        options = (steps, power, end_learning_rate, cycle)
        super().__init__(base_lr, warmup, lambda optimizer: native.PolynomialLR(optimizer, *options))


class _Decay(LrScheduler):
    """Rate that depends on ``step / steps``, in whole numbers where ``staircase`` is True."""

    kind: ClassVar[type[native.ExponentialLR]]

    def __init__(
        self, base_lr: float, steps: int, decay_rate: float, staircase: bool = False, warmup: Warmup | None = None
    ) -> None:
        super().__init__(base_lr, warmup, lambda optimizer: self.kind(optimizer, decay_rate))
        self._steps = _check_steps(type(self).__name__, steps)
        self._staircase = staircase

    def decayed(self, step: int) -> float:
        """Returns the rate without a warmup."""
        part: Any = step // self._steps if self._staircase else step / self._steps
        return super().decayed(part)


class ExponentialScheduler(_Decay):
    """Rate times ``decay_rate ** (step / steps)``."""

    kind = native.ExponentialLR


class NaturalExpScheduler(_Decay):
    """Rate times ``exp(-decay_rate * step / steps)``."""

    kind = native.NaturalExpLR


class InverseTimeScheduler(_Decay):
    """Rate divided by ``1 + decay_rate * step / steps``."""

    kind = native.InverseTimeLR
