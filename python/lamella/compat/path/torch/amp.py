"""Mixed precision."""

from __future__ import annotations

import enum
import warnings
from typing import Any

import lamella as lm
from lamella.amp import custom_bwd, custom_fwd  # noqa: F401
from lamella.amp import is_autocast_enabled as _is_autocast_enabled
from lamella.compat.front import close_module

from ._warnings import warn


class autocast(lm.amp.autocast):  # noqa: N801
    """Lets operators choose the precision they compute in: :class:`lamella.amp.autocast`.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``: whose tensors.
        dtype: bfloat16 or float16. Another one, such as float32, switches autocast off, with a warning.
        enabled: False ends autocast for an inner block.
        cache_enabled: False casts parameters anew in each call; ``None`` leaves it as it is.

    Raises:
        RuntimeError: for another kind of device.
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if dtype not in (None, lm.bfloat16, lm.float16):
            if enabled:
                warnings.warn(f"[autocast] dtype {dtype} is none to cast to: autocast is off", stacklevel=2)
            dtype, enabled = None, False
        if enabled and device_type == "cuda" and not lm.cuda.is_available():
            warn("[autocast] there is no CUDA device: autocast is off")
            enabled = False
        try:
            super().__init__(device_type, dtype, bool(enabled), cache_enabled)
        except ValueError as error:
            raise RuntimeError(str(error)) from None


class OptState(enum.Enum):
    """Names of what a scaler has done with an optimizer's gradients since the last update."""

    READY, UNSCALED, STEPPED = range(3)


class GradScaler(lm.amp.GradScaler):
    """Scales losses so that gradients in float16 do not vanish.

    Args:
        device: whose tensors; for ``"cuda"`` where there is none, nothing is scaled, and a warning says so.
        **options: see :class:`lamella.amp.GradScaler`.
    """

    def __init__(self, device: str = "cuda", **options: Any) -> None:
        if device == "cuda" and options.get("enabled", True) and not lm.cuda.is_available():
            warn("[GradScaler] there is no CUDA device: nothing is scaled")
            options["enabled"] = False
        super().__init__(**options)

    def _get_growth_tracker(self) -> int:
        return self._growth_tracker

    def get_growth_factor(self) -> float:
        """Returns what the factor grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the factor grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Returns what the factor is multiplied by after an infinite gradient."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the factor is multiplied by after an infinite gradient."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Returns how many steps in a row must succeed for the factor to grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets how many steps in a row must succeed for the factor to grow."""
        self._growth_interval = new_interval


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """True if operators choose the precision they compute in, on devices of a type, by default GPUs."""
    return device_type in ("cpu", "cuda", None) and _is_autocast_enabled(device_type or "cuda")


def is_autocast_cpu_enabled() -> bool:
    """True if operators choose the precision they compute in, on the CPU."""
    return is_autocast_enabled("cpu")


def is_autocast_cache_enabled() -> bool:
    """True: parameters are cast once in a block."""
    return True


def get_autocast_cpu_dtype() -> Any:
    """Returns the dtype that operators compute in on the CPU, where they choose it."""
    return lm.amp.get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """Returns the dtype that operators compute in on a GPU, where they choose it."""
    return lm.amp.get_autocast_dtype("cuda")


def is_autocast_available(device_type: str) -> bool:
    """True for the devices that operators may compute in lower precision on."""
    return device_type in ("cpu", "cuda")


__getattr__ = close_module(__name__)
