"""Texts of dtypes under the name of a front's package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import lamella as lm


def show_dtypes(front: str) -> None:
    """Lets dtypes be printed as a front's: ``torch.float32``, and to Lamella's own modules as they are natively."""

    def text_of(native: Callable[[Any], str]) -> Callable[[Any], str]:
        def text(self: Any) -> str:
            try:
                caller = sys._getframe(1).f_globals.get("__name__", "")
            except ValueError:  # the interpreter prints an error before it ends
                caller = ""
            return native(self) if caller.startswith("lamella.") else f"{front}.{self.name}"

        return text

    dtypes: Any = lm.DType
    dtypes.__str__, dtypes.__repr__ = text_of(dtypes.__str__), text_of(dtypes.__repr__)
