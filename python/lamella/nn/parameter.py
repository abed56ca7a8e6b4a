"""The tensor that a module trains."""

from __future__ import annotations

from typing import Any

import lamella as lm


class Parameter(lm.Tensor):
    """A leaf tensor that wants a gradient; a :class:`Module` registers it when it is set as an attribute.

    Args:
        data: a tensor or anything :func:`lamella.asarray` takes. Its values are copied, its graph is not kept.
        dtype: the parameter's dtype; the data's own by default.
        stop_gradient: True makes a frozen parameter, which is saved with the module and not trained.

    Raises:
        ValueError: the dtype is neither floating-point nor complex, and a gradient is wanted.
    """

    #: The name of its variable in programs, where it was given one.
    name: str

    def __new__(cls, data: Any, dtype: Any = None, *, stop_gradient: bool = False) -> Parameter:
        """Makes a parameter with the values of ``data``."""
        values = data.detach() if isinstance(data, lm.Tensor) else data
        return super().__new__(cls, lm.asarray(values, dtype=dtype, copy=True), stop_gradient=stop_gradient)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"
