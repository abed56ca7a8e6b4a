"""Parameters kept orthogonal, or of a norm."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat.tables.torch_nn import PARAMETRIZATIONS as _TABLE

from ... import _words


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Makes a weight the product of its length and its direction; -1 stands for one length of the whole, as None."""
    return lm.nn.utils.parametrizations.weight_norm(module, name, None if dim == -1 else dim)


__getattr__ = _words.serve(_words.Names(__name__, [("lamella.nn.utils.parametrizations", _TABLE, _words.FUNCTIONS)]))
