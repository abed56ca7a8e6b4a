"""Averages of weights over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat.tables.torch_nn import SWA as _TABLE

from .. import _words


class Decay:
    """A rule for averages of which ``decay`` remains in an update; what :class:`AveragedModel` is told by it.

    Raises:
        ValueError: ``decay`` is not between 0 and 1.
    """

    def __init__(self, decay: float) -> None:
        if not 0.0 <= decay <= 1.0:
            raise ValueError(f"[AveragedModel] decay is between 0 and 1, not {decay}")
        self.decay = decay

    def __call__(self, averaged: Any, current: Any, count: Any) -> Any:
        """Returns the new average of a tensor."""
        return averaged * self.decay + current * (1 - self.decay)


class Mean:
    """A rule for averages of equal parts; what :class:`AveragedModel` is told by it."""

    decay = None

    def __call__(self, average: Any, current: Any, count: Any) -> Any:
        """Returns the new average of a tensor, of which there were ``count`` before."""
        return average + (current - average) / (count + 1)


class OfAll:
    """A rule for the averages of many tensors, which it changes."""

    def __init__(self, rule: Decay | Mean) -> None:
        self.rule = rule

    def __call__(self, averages: Any, currents: Any, count: Any) -> None:
        """Brings the new tensors into the averages."""
        with lm.no_grad():
            for average, current in zip(averages, currents, strict=True):
                average.copy_(self.rule(average, current, count))


def get_ema_multi_avg_fn(decay: float = 0.999) -> OfAll:
    """Returns the rule of an exponential average, for ``AveragedModel(model, multi_avg_fn=...)``."""
    return OfAll(Decay(decay))


def get_ema_avg_fn(decay: float = 0.999) -> Decay:
    """Returns the rule of an exponential average, for ``AveragedModel(model, avg_fn=...)``."""
    return Decay(decay)


def get_swa_multi_avg_fn() -> OfAll:
    """Returns the rule of the mean of all, for ``AveragedModel(model, multi_avg_fn=...)``."""
    return OfAll(Mean())


def get_swa_avg_fn() -> Mean:
    """Returns the rule of the mean of all, for ``AveragedModel(model, avg_fn=...)``."""
    return Mean()


def _averaged_model() -> type:
    optim: Any = lm.optim
    native: Any = optim.swa_utils.AveragedModel

    class AveragedModel(native):  # type: ignore[misc]
        """A copy of a model whose parameters are averages of the model's, called as the model is.

        Args:
            model: the module to average.
            device: where the averages are.
            avg_fn: maps an average, the model's parameter and the number of updates before to the new average.
            multi_avg_fn: takes lists of averages, which it changes, and of the model's tensors, and that number.
            use_buffers: averages floating buffers, too.

        Raises:
            AssertionError: there are both rules.
        """

        def __init__(
            self,
            model: Any,
            device: Any = None,
            avg_fn: Callable[..., Any] | None = None,
            multi_avg_fn: Callable[..., Any] | None = None,
            use_buffers: bool = False,
        ) -> None:
            if avg_fn is not None and multi_avg_fn is not None:
                raise AssertionError("[AveragedModel] takes an avg_fn or a multi_avg_fn, not both")
            rule = multi_avg_fn.rule if isinstance(multi_avg_fn, OfAll) else avg_fn
            options = {"decay": rule.decay} if isinstance(rule, (Decay, Mean)) else {"avg_fn": rule}
            super().__init__(model, **options, use_buffers=use_buffers)
            self.multi_avg_fn = multi_avg_fn
            if device is not None:
                self.to(device)

        def _average(self, pairs: list[tuple[Any, Any]], count: int) -> None:
            if self.multi_avg_fn is not None and not isinstance(self.multi_avg_fn, OfAll):
                self.multi_avg_fn([average for average, _ in pairs], [current for _, current in pairs], self._count())
            elif self.avg_fn is not None:
                for average, current in pairs:
                    average.copy_(self.avg_fn(average, current, self._count().to(average.device)))
            else:
                super()._average(pairs, count)

        def _count(self) -> Any:
            """Returns the number of updates, which rules get as a tensor of their own."""
            return self.n_averaged.detach().clone()

    AveragedModel.__module__ = __name__
    AveragedModel.__qualname__ = "AveragedModel"
    return AveragedModel


_LINES = [
    ("lamella.optim.swa_utils", "SWALR", _words.SCHEDULERS),
    ("lamella.optim.swa_utils", _TABLE, _words.PLAIN),
]
_find = _words.serve(_words.Names(__name__, _LINES))


def __getattr__(name: str) -> Any:
    if name == "AveragedModel" and hasattr(lm.optim, "swa_utils"):
        globals()[name] = _averaged_model()
        return globals()[name]
    return _find(name)
