"""Mixed precision on GPUs."""

from __future__ import annotations

import functools
from typing import Any

import lamella as lm
from lamella.compat.front import close_module

from .. import amp

custom_fwd = functools.partial(lm.amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(lm.amp.custom_bwd, device_type="cuda")
GradScaler = amp.GradScaler


class autocast(amp.autocast):  # noqa: N801
    """:class:`torch.amp.autocast` for tensors on GPUs."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool | None = None) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


__getattr__ = close_module(__name__)
