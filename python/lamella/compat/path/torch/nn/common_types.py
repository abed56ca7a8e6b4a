"""Types of arguments that are one value for all axes, or one for each."""

from __future__ import annotations

from typing import Any

from lamella.compat.front import close_module

from .. import Tensor


def _for_axes(kind: Any, count: int | None) -> Any:
    """Returns the type of a value, or of a tuple of one for each of ``count`` axes; None takes any number."""
    several: Any = tuple
    return kind | several[(kind, ...) if count is None else (kind,) * count]


_size_any_t, _ratio_any_t, _tensor_list_t = _for_axes(int, None), _for_axes(float, None), _for_axes(Tensor, None)
_size_1_t, _size_2_t, _size_3_t, _size_4_t, _size_5_t, _size_6_t = (_for_axes(int, count) for count in range(1, 7))
_size_any_opt_t, _size_2_opt_t, _size_3_opt_t = (_for_axes(int | None, count) for count in (None, 2, 3))
_ratio_2_t, _ratio_3_t = _for_axes(float, 2), _for_axes(float, 3)
_maybe_indices_t = _for_axes(Tensor, 2)

__getattr__ = close_module(__name__)
