"""Scaling of losses, so that small gradients survive float16."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import lamella as lm

from ..optim import Optimizer


@dataclass
class _Notes:
    """State of one optimizer since the last update."""

    unscaled: bool = False
    stepped: bool = False
    found_inf: bool = False


class GradScaler:
    """Multiplies losses by a factor that it adapts, and takes it out of the gradients before an optimizer's step.

    float16 has no numbers below 6e-8: gradients of a loss times 65536 are that much larger. Where one of them is
    infinite or NaN the step is left out and the factor falls; after ``growth_interval`` steps without, it grows::

        scaler = lm.amp.GradScaler()
        with lm.autocast(dtype=lm.float16):
            loss = model(x).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    Source: Micikevicius et al. 2018, "Mixed precision training".

    Args:
        init_scale: the first factor.
        growth_factor: what the factor grows by, above 1.
        backoff_factor: what it is multiplied by after an infinite gradient, between 0 and 1.
        growth_interval: how many steps in a row must succeed for it to grow.
        enabled: False makes ``scale`` return its argument and ``step`` the optimizer's.

    Raises:
        ValueError: for a number out of its range.
    """

    #: True if infinite gradients of other processes count.
    _asks_all: ClassVar[bool] = False

    def __init__(
        self,
        *,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if not 0 < init_scale < math.inf:
            raise ValueError(f"[GradScaler] init_scale is above 0 and finite, not {init_scale}")
        if not 1 < growth_factor < math.inf:
            raise ValueError(f"[GradScaler] growth_factor is above 1, not {growth_factor}")
        if not 0 < backoff_factor < 1:
            raise ValueError(f"[GradScaler] backoff_factor is between 0 and 1, not {backoff_factor}")
        if growth_interval < 1:
            raise ValueError(f"[GradScaler] growth_interval is at least 1, not {growth_interval}")
        self._enabled = bool(enabled)
        self._scale = float(init_scale)
        self._growth_factor = float(growth_factor)
        self._backoff_factor = float(backoff_factor)
        self._growth_interval = int(growth_interval)
        self._growth_tracker = 0
        self._notes: dict[Optimizer, _Notes] = {}

    def scale(self, outputs: Any) -> Any:
        """Returns a tensor, or the tensors in lists and tuples, times the factor.

        Raises:
            TypeError: for anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, lm.Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(x) for x in outputs)
        raise TypeError(f"[GradScaler] scale takes tensors, and lists and tuples of them, not {type(outputs).__name__}")

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides the gradients of an optimizer's tensors by the factor, in place: before they are clipped, say.

        Once between two updates; :meth:`step` does it where it was not done.

        Raises:
            RuntimeError: where it was done already, or after :meth:`step`; or the tensors are shards of a model.
            ValueError: for gradients in float16 or bfloat16, whose small values are lost already.
        """
        if not self._enabled:
            return
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if not self._asks_all and any(getattr(p, "is_shard", False) for p in parameters):
            raise RuntimeError(
                "[GradScaler] each process has other shards, and infinite gradients are to stop all of them: take "
                "lamella.distributed.ShardedGradScaler"
            )
        notes = self._notes.setdefault(optimizer, _Notes())
        if notes.unscaled or notes.stepped:
            when = "after step()" if notes.stepped else "twice"
            raise RuntimeError(f"[GradScaler] unscale_() was called {when}; call update() in between")
        gradients = [p.grad for p in parameters if p.grad is not None]
        for gradient in gradients:
            if gradient.dtype in (lm.float16, lm.bfloat16):
                raise ValueError(
                    f"[GradScaler] a gradient has dtype {gradient.dtype.name}; keep the parameters in float32 and let "
                    "autocast cast them"
                )
        with lm.no_grad():
            for gradient in gradients:
                gradient.mul_(1.0 / self._scale)
                notes.found_inf = notes.found_inf or not bool(lm.all(lm.isfinite(gradient)))
        notes.unscaled = True

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Calls ``optimizer.step(*args, **kwargs)`` on unscaled gradients, if all are finite.

        Returns:
            What the optimizer's step does, or None where it was left out.

        Raises:
            RuntimeError: twice without an :meth:`update`, or with a closure, whose gradients would not be unscaled.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or kwargs.get("closure") is not None:
            raise RuntimeError("[GradScaler] step takes no closure: the gradients it computes would stay scaled")
        notes = self._notes.setdefault(optimizer, _Notes())
        if notes.stepped:
            raise RuntimeError("[GradScaler] step() was called twice; call update() in between")
        if not notes.unscaled:
            self.unscale_(optimizer)
        notes.stepped = True
        return None if notes.found_inf else optimizer.step(**kwargs)

    def update(self, new_scale: float | None = None) -> None:
        """Adapts the factor after the steps of all optimizers, or sets it.

        Raises:
            RuntimeError: where there was no step since the last update.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            if not 0 < new_scale < math.inf:
                raise ValueError(f"[GradScaler] new_scale is above 0 and finite, not {new_scale}")
            self._scale = float(new_scale)
        elif not self._notes:
            raise RuntimeError("[GradScaler] update() comes after step()")
        elif any(notes.found_inf for notes in self._notes.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                # The factor stays finite, as an infinite one would never come down again.
                if math.isfinite(self._scale * self._growth_factor):
                    self._scale *= self._growth_factor
                self._growth_tracker = 0
        self._notes = {}

    def __copy__(self) -> Self:
        """Returns a copy that is independent of this scaler from here on."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, _notes={optimizer: replace(n) for optimizer, n in self._notes.items()})
        return made

    def get_scale(self) -> float:
        """Returns the factor; 1 where scaling is off."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """True if scaling is on."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Returns the factor and how it adapts, as plain numbers; empty where scaling is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where a saved one was.

        Raises:
            ValueError: for a state that lacks something.
        """
        if not self._enabled:
            return
        missing = sorted(set(self.state_dict()) - set(state_dict))
        if missing:
            raise ValueError(f"[GradScaler] the state lacks {', '.join(missing)}")
        self._scale = float(state_dict["scale"])
        self._growth_factor = float(state_dict["growth_factor"])
        self._backoff_factor = float(state_dict["backoff_factor"])
        self._growth_interval = int(state_dict["growth_interval"])
        self._growth_tracker = int(state_dict["_growth_tracker"])
