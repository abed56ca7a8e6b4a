"""Starting values."""

from __future__ import annotations

import functools as _functools
from dataclasses import replace as _replace
from typing import Any as _Any

from lamella.compat.tables.torch_nn import INIT as _TABLE
from lamella.nn import init as _init
from lamella.nn.init import fans as _calculate_fan_in_and_fan_out

from .. import _words
from .._warnings import warn as _warn
from ._module import UninitializedTensorMixin


def _calculate_correct_fan(tensor: _Any, mode: str) -> int:
    """Returns the number of inputs ("fan_in") or outputs ("fan_out") of one unit of a weight."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"[init] mode is 'fan_in' or 'fan_out', not {mode!r}")
    return _calculate_fan_in_and_fan_out(tensor)[mode.lower() == "fan_out"]


_no_grad_fill_, _no_grad_zero_ = _init.constant_, _init.zeros_
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = _init.uniform_, _init.normal_, _init.trunc_normal_
_WORDS = _replace(_words.FUNCTIONS, words={**_words.WORDS, "val": ("value",), "param": ("a",)})


class _Names(_words.Names):
    """Draws of starting values, which refuse parameters without a shape."""

    def make(self, name: str) -> _Any:
        native = super().make(name)

        @_functools.wraps(native)
        def draw(tensor: _Any, *args: _Any, **kwargs: _Any) -> _Any:
            if isinstance(tensor, UninitializedTensorMixin):
                raise ValueError(
                    f"[{name}] the tensor has no shape before the first call of its layer: call that first"
                )
            if name.startswith("kaiming_") and 0 in tensor.shape:
                _warn(f"[{name}] a tensor without elements is left as it is")
                return tensor
            return native(tensor, *args, **kwargs)

        return native if name == "calculate_gain" else draw


__getattr__ = _words.serve(_Names(__name__, [("lamella.nn.init", _TABLE, _WORDS)]))
