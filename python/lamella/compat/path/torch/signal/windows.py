"""Window functions, with PyTorch's words for what is made; the formulas are :mod:`lamella.signal.windows`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import lamella.signal.windows as _native
from lamella import Tensor

from .._default_dtype import get_default_dtype
from .._taking_over import DOUBLE

__all__ = [*_native.__all__]


def _made(native: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(native)
    def window(
        M: int,  # noqa: N803 (PyTorch's name)
        *,
        layout: Any = None,
        requires_grad: bool = False,
        dtype: Any = None,
        **options: Any,
    ) -> Tensor:
        made = native(M, dtype=get_default_dtype() if dtype is None else DOUBLE.get(dtype, dtype), **options)
        return made.requires_grad_() if requires_grad else made

    return window


globals().update({name: _made(getattr(_native, name)) for name in __all__})
