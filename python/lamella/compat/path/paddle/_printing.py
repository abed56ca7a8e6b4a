"""Texts of tensors as Paddle prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor

#: What stands in front of the lines of elements.
_INDENT = " " * 7


def text_of(native: Callable[[Tensor], str]) -> Callable[[Tensor], str]:
    """Returns the function of a tensor's text; ``native`` writes those that have no elements to show."""

    def text(self: Tensor) -> str:
        if str(self.device) == "meta" or isinstance(self, lm.graph.Symbol):
            return native(self)
        import numpy as np

        place = "cpu" if str(self.device) == "cpu" else str(self.device).replace("cuda", "gpu")
        head = f"shape={list(self.shape)}, dtype={self.dtype.name}, place=Place({place})"
        values = self.detach().cpu()
        array = (values.astype("float32") if self.dtype == lm.bfloat16 else values).numpy()
        written = np.array2string(array, separator=", ", prefix=_INDENT) if array.size else "[]"
        return f"Tensor({head}, stop_gradient={self.stop_gradient},\n{_INDENT}{written})"

    return text


def format_of(native: Callable[[Tensor, str], str]) -> Callable[[Tensor, str], str]:
    """Returns the function that formats the number of a tensor without axes, and others as ``native`` does."""

    def formatted(self: Tensor, spec: str) -> str:
        return format(self.item(), spec) if not self.ndim and str(self.device) != "meta" else native(self, spec)

    return formatted


def install(put: Callable[[str, Any], None]) -> None:
    """Gives tensors these texts; ``put`` sets a method."""
    text = text_of(Tensor.__repr__)
    put("__repr__", text)
    put("__str__", text)
    put("__format__", format_of(Tensor.__format__))
