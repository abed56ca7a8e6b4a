"""Mixed precision."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import lamella as lm
from lamella.compat.front import close_module
from lamella.static import in_dynamic_mode

from . import debugging  # noqa: F401


class auto_cast(lm.amp.autocast):  # noqa: N801 (Paddle's name)
    """Products and convolutions in a 16-bit dtype within a ``with`` block.

    Lists of operators, and the level "O2", are accepted: which operators compute in 16 bits is Lamella's choice. On the
    CPU a block changes nothing but what is recorded into a program in bfloat16, and a warning says so, as in Paddle.
    """

    def __init__(
        self,
        enable: bool = True,
        custom_white_list: Any = None,
        custom_black_list: Any = None,
        level: str = "O1",
        dtype: Any = "float16",
        use_promote: bool = True,
    ) -> None:
        if level.upper() not in ("O0", "OD", "O1", "O2"):
            raise ValueError(f"[auto_cast] level is 'O0', 'OD', 'O1' or 'O2', not {level!r}")
        dtype = getattr(dtype, "name", dtype)
        if enable and dtype not in ("float16", "bfloat16"):
            raise ValueError(f"[auto_cast] dtype is 'float16' or 'bfloat16', not {dtype!r}")
        if both := set(custom_white_list or ()) & set(custom_black_list or ()):
            raise ValueError(f"[auto_cast] both lists hold {', '.join(sorted(both))}")
        kind = "cuda" if lm.cuda.is_available() else "cpu"
        enable = enable and level.upper() != "O0"
        if enable and kind == "cpu" and in_dynamic_mode():
            warnings.warn("[auto_cast] changes nothing on the CPU: tensors there keep their dtypes", stacklevel=2)
            enable = False
        enable = enable and (kind != "cpu" or dtype != "float16")
        super().__init__(kind, dtype if enable else None, enable)


class GradScaler(lm.amp.GradScaler):
    """Scales losses so that gradients in float16 do not vanish.

    Paddle's scales nothing on the CPU, and looks at no ratios there: with ratios that it refuses elsewhere this one
    scales nothing there, either, and a warning says so.
    """

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 65536.0,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 2000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        given: dict[str, Any] = {
            "init_scale": init_loss_scaling,
            "growth_factor": incr_ratio,
            "backoff_factor": decr_ratio,
            "growth_interval": incr_every_n_steps,
        }
        try:
            super().__init__(**given, enabled=enable)
        except ValueError as error:
            if lm.cuda.is_available():
                raise
            warnings.warn(f"{error}: it scales nothing, which on the CPU is Paddle's way", stacklevel=2)
            super().__init__(enabled=False)
        self._dynamic, self._patience, self._bad = use_dynamic_loss_scaling, decr_every_n_nan_or_inf, 0

    def minimize(self, optimizer: Any, scaled_loss: Any) -> None:
        """Makes a step with unscaled gradients, and adapts the factor."""
        self.step(optimizer)
        self.update()

    def update(self, new_scale: float | None = None) -> None:
        """Adapts the factor to what the steps have found, unless it is to stay."""
        found = any(notes.found_inf for notes in self._notes.values())
        self._bad = self._bad + 1 if found else 0
        if not self._dynamic or 0 < self._bad < self._patience:
            self._notes = {}
            self._growth_tracker = 0 if found else self._growth_tracker
            return
        super().update(new_scale)
        self._bad = 0

    def state_dict(self) -> dict[str, Any]:
        """Returns the state under Paddle's names."""
        if not self.is_enable():
            return {}
        return {
            "scale": np.array([self._scale], np.float32),
            "incr_ratio": self._growth_factor,
            "decr_ratio": self._backoff_factor,
            "incr_every_n_steps": self._growth_interval,
            "decr_every_n_nan_or_inf": self._patience,
            "incr_count": self._growth_tracker,
            "decr_count": self._bad,
            "use_dynamic_loss_scaling": self._dynamic,
        }

    def load_state_dict(self, state_dict: Any) -> None:
        """Takes over what :meth:`state_dict` gave."""
        if not self.is_enable():
            return
        self._scale = float(np.asarray(state_dict["scale"]).reshape(-1)[0])
        self._growth_factor, self._backoff_factor = state_dict["incr_ratio"], state_dict["decr_ratio"]
        self._growth_interval, self._patience = (
            state_dict["incr_every_n_steps"],
            state_dict["decr_every_n_nan_or_inf"],
        )
        self._growth_tracker, self._bad = state_dict["incr_count"], state_dict["decr_count"]
        self._dynamic = state_dict["use_dynamic_loss_scaling"]

    set_state_dict = load_state_dict

    def is_enable(self) -> bool:
        """True if losses are scaled."""
        return self.is_enabled()

    def is_use_dynamic_loss_scaling(self) -> bool:
        """True if the factor adapts."""
        return self._dynamic

    def get_init_loss_scaling(self) -> float:
        """Returns the factor."""
        return self.get_scale()

    def set_init_loss_scaling(self, new_init_loss_scaling: float) -> None:
        """Sets the factor."""
        self._scale = float(new_init_loss_scaling)

    def get_incr_ratio(self) -> float:
        """Returns by what the factor grows."""
        return self._growth_factor

    def set_incr_ratio(self, new_incr_ratio: float) -> None:
        """Sets by what the factor grows: more than 1."""
        if new_incr_ratio <= 1:
            raise ValueError(f"[GradScaler] incr_ratio is above 1, not {new_incr_ratio}")
        self._growth_factor = float(new_incr_ratio)

    def get_decr_ratio(self) -> float:
        """Returns by what the factor shrinks."""
        return self._backoff_factor

    def set_decr_ratio(self, new_decr_ratio: float) -> None:
        """Sets by what the factor shrinks: less than 1."""
        if not 0 < new_decr_ratio < 1:
            raise ValueError(f"[GradScaler] decr_ratio lies between 0 and 1, not {new_decr_ratio}")
        self._backoff_factor = float(new_decr_ratio)

    def get_incr_every_n_steps(self) -> int:
        """Returns after how many finite steps the factor grows."""
        return self._growth_interval

    def set_incr_every_n_steps(self, new_incr_every_n_steps: int) -> None:
        """Sets after how many finite steps the factor grows."""
        self._growth_interval = int(new_incr_every_n_steps)

    def get_decr_every_n_nan_or_inf(self) -> int:
        """Returns after how many steps that are not finite the factor shrinks."""
        return self._patience

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf: int) -> None:
        """Sets after how many steps that are not finite the factor shrinks."""
        self._patience = int(new_decr_every_n_nan_or_inf)


amp_guard = auto_cast


def autocast(
    device_type: Any = None, dtype: Any = "float16", enabled: bool = True, cache_enabled: bool = True
) -> lm.amp.autocast:
    """:class:`auto_cast` by other names; ``device_type`` and ``cache_enabled`` change nothing, as in Paddle."""
    return auto_cast(enable=enabled, dtype=dtype)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """True within a block of :class:`auto_cast`, on the device where one is named."""
    kinds = ("cpu", "cuda") if device_type is None else ("cuda" if device_type == "gpu" else device_type,)
    return any(lm.amp.is_autocast_enabled(each) for each in kinds)


def get_autocast_dtype(device_type: str | None = None) -> str:
    """Returns the name of the dtype in which products are computed."""
    enabled = next((each for each in ("cuda", "cpu") if lm.amp.is_autocast_enabled(each)), None)
    return "float16" if enabled is None else lm.amp.get_autocast_dtype(enabled).name


get_autocast_cpu_dtype = get_autocast_gpu_dtype = get_autocast_dtype


def decorate(
    models: Any,
    optimizers: Any = None,
    level: str = "O1",
    dtype: str = "float16",
    master_weight: bool | None = None,
    save_dtype: str | None = None,
    **options: Any,
) -> Any:
    """Returns models and optimizers as they are: weights stay in float32, and are the master weights.

    At level "O1", and on the CPU, that is so in Paddle, whatever else is given.

    Raises:
        ValueError: for another level than "O1" and "O2", and for a dtype that has not 16 bits.
        NotImplementedError: on a GPU ``master_weight`` is False, or ``save_dtype`` is not float32.
    """
    if level not in ("O1", "O2"):
        raise ValueError(f"[decorate] level is 'O1' or 'O2', not {level!r}")
    if dtype not in ("float16", "bfloat16"):
        raise ValueError(f"[decorate] dtype is 'float16' or 'bfloat16', not {dtype!r}")
    as_is = level == "O1" or not lm.cuda.is_available()
    if not as_is and (master_weight is False or save_dtype not in (None, "float32")):
        raise NotImplementedError("[decorate] weights stay in float32: leave master_weight and save_dtype out")
    return models if optimizers is None else (models, optimizers)


amp_decorate = decorate


def is_float16_supported(device: Any = None) -> bool:
    """True where products in float16 are computed as such: not on the CPU."""
    return bool(lm.cuda.is_available()) and "cpu" not in str(device)


def is_bfloat16_supported(device: Any = None) -> bool:
    """True: products in bfloat16 are computed everywhere."""
    return True


__getattr__ = close_module(__name__)
