"""Averages of weights over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat.tables.torch_nn import SWA as _TABLE

from .. import _words


class Decay:
    """A rule for averages of which ``decay`` remains in an update; what :class:`AveragedModel` is told by it."""

    def __init__(self, decay: float) -> None:
        self.decay = decay

    def __call__(self, average: Any, current: Any, count: Any) -> Any:
        """Returns the new average of a tensor."""
        return average * self.decay + current * (1 - self.decay)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Decay:
    """Returns the rule of an exponential average, for ``AveragedModel(model, multi_avg_fn=...)``."""
    return Decay(decay)


def get_ema_avg_fn(decay: float = 0.999) -> Decay:
    """Returns the rule of an exponential average, for ``AveragedModel(model, avg_fn=...)``."""
    return Decay(decay)


def get_swa_multi_avg_fn() -> None:
    """Returns None, which stands for the mean of all."""


get_swa_avg_fn = get_swa_multi_avg_fn


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
            rule = avg_fn or multi_avg_fn
            if multi_avg_fn is not None and not isinstance(multi_avg_fn, Decay):
                raise NotImplementedError(
                    "[AveragedModel] multi_avg_fn is get_ema_multi_avg_fn(decay) here: pass a rule of your own as "
                    "avg_fn(average, current, count)"
                )
            options = {"decay": rule.decay} if isinstance(rule, Decay) else {"avg_fn": rule}
            super().__init__(model, **options, use_buffers=use_buffers)
            if device is not None:
                self.to(device)

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
