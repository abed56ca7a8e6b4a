"""Learning rates that change with time."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import SCHEDULERS as _TABLE
from lamella.optim.lr.cosine import annealed

from .. import _words
from . import _compositions, _cycles  # noqa: F401 (they change the classes)
from ._schedules import LRScheduler

_LRScheduler = LRScheduler
_NAMES = _words.Names(__name__, [("lamella.optim", _TABLE, _words.SCHEDULERS)])
__getattr__ = _words.serve(_NAMES)


class CosineAnnealingLR(_NAMES.make("CosineAnnealingLR")):  # type: ignore[misc]
    """Lets the rate fall along half a cosine in ``T_max`` epochs, and rise again in the next ones."""

    def rate(self, base: float, epoch: float) -> float:
        """Returns ``eta_min + (base - eta_min) * (1 + cos(pi * epoch / T_max)) / 2``."""
        return annealed(base, self.eta_min, epoch / self.t_max)


# Programs go through the module's names.
globals().update((_name, __getattr__(_name)) for _name in _NAMES if _name not in globals())
