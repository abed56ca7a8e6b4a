"""Averages of weights over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat.tables.torch_nn import SWA as _TABLE

from .. import _words


class _Rule:
    """A rule for averages that :class:`AveragedModel` has a kernel for; a program may call it, too.

    Args:
        decay: what remains of an average in an update; None for the mean of all.
    """

    def __init__(self, decay: float | None = None) -> None:
        if decay is not None and not 0.0 <= decay <= 1.0:
            raise ValueError(f"[swa_utils] decay is in [0, 1], not {decay}")
        self.decay = decay

    def __call__(self, averaged: Any, current: Any, count: Any) -> Any:
        """Returns the new average of a tensor."""
        part = 1 / (count + 1) if self.decay is None else 1 - self.decay
        return averaged + (current - averaged) * part


class _RuleOfAll(_Rule):
    """A rule for the averages of many tensors, which changes them in place."""

    def __call__(self, averaged: Any, current: Any, count: Any) -> None:
        """Takes the current tensors into their averages."""
        with lm.no_grad():
            for one, other in zip(averaged, current, strict=True):
                one.copy_(super().__call__(one, other, count))


def get_ema_multi_avg_fn(decay: float = 0.999) -> _RuleOfAll:
    """Returns the rule of an exponential average, for ``AveragedModel(model, multi_avg_fn=...)``."""
    return _RuleOfAll(decay)


def get_ema_avg_fn(decay: float = 0.999) -> _Rule:
    """Returns the rule of an exponential average, for ``AveragedModel(model, avg_fn=...)``."""
    return _Rule(decay)


def get_swa_multi_avg_fn() -> _RuleOfAll:
    """Returns the rule of the mean of all, for ``AveragedModel(model, multi_avg_fn=...)``."""
    return _RuleOfAll()


def get_swa_avg_fn() -> _Rule:
    """Returns the rule of the mean of all, for ``AveragedModel(model, avg_fn=...)``."""
    return _Rule()


def _averaged_model() -> type:
    optim: Any = lm.optim
    native: Any = optim.swa_utils.AveragedModel

    class AveragedModel(native):  # type: ignore[misc]
        """A copy of a model whose parameters are averages of the model's, called as the model is."""

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
            rule = avg_fn or multi_avg_fn
            known = isinstance(rule, _Rule)
            super().__init__(
                model,
                decay=rule.decay if known else None,  # type: ignore[union-attr]
                avg_fn=None if known else avg_fn,
                use_buffers=use_buffers,
            )
            self.multi_avg_fn = None if known else multi_avg_fn
            if device is not None:
                self.to(device)

        def _average(self, pairs: list[Any], count: int) -> None:
            if self.multi_avg_fn is None:
                super()._average(pairs, count)
            else:
                averages = [average.detach() for average, _ in pairs]
                self.multi_avg_fn(averages, [current.detach() for _, current in pairs], self.n_averaged)

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
