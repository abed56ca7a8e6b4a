"""Training in mixed precision: :class:`autocast`, :class:`GradScaler`, and decorators for custom layers."""

from lamella import _lazy, _names

from .._C import get_autocast_dtype, set_autocast_dtype
from ._autocast import autocast, custom_bwd, custom_fwd, is_autocast_enabled
from .grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_enabled",
    "set_autocast_dtype",
]

__getattr__, _ = _lazy.loader(__name__, {})

_names.explain_arguments(GradScaler)
_names.explain_arguments(autocast)
_names.stand_on(GradScaler, _names.paddle.OF_SCALERS)
