"""Mixed precision."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.amp import autocast, custom_bwd, custom_fwd, is_autocast_enabled  # noqa: F401
from lamella.compat.front import close_module


class GradScaler(lm.amp.GradScaler):
    """Scales losses so that gradients in float16 do not vanish; ``device`` may be any."""

    def __init__(self, device: str = "cuda", **options: Any) -> None:
        super().__init__(**options)


__getattr__ = close_module(__name__)
