"""Mixed precision on the CPU."""

from __future__ import annotations

from typing import Any

from lamella.compat.front import close_module

from .. import amp
from ..amp import GradScaler  # noqa: F401


class autocast(amp.autocast):  # noqa: N801
    """:class:`torch.amp.autocast` for tensors on the CPU."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool | None = None) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled)


__getattr__ = close_module(__name__)
