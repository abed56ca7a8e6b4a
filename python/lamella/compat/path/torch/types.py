"""Names of types for annotations."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias

from lamella import DType, Generator, Tensor  # noqa: F401
from lamella.compat.front import close_module

from ._device import device
from ._size import Size

Number: TypeAlias = builtins.int | builtins.float | builtins.bool
Device: TypeAlias = device | str | builtins.int | None
FileLike: TypeAlias = Any
_size: TypeAlias = Size | Sequence[builtins.int]
_int, _float, _bool = builtins.int, builtins.float, builtins.bool
_dtype, _device = DType, device

__getattr__ = close_module(__name__)
