"""What programs ask of PyTorch's compiled part."""  # noqa: N999 (PyTorch's name)

from __future__ import annotations

import contextlib
from typing import Any

from lamella import Generator  # noqa: F401
from lamella.compat.front import close_module

from ._device import device  # noqa: F401
from ._size import Size  # noqa: F401
from .linalg import LinAlgError as _LinAlgError  # noqa: F401


class DisableTorchFunctionSubclass(contextlib.nullcontext):  # type: ignore[type-arg]
    """Lets functions be called as they are, which they are with tensors of any class."""


def _disabled_torch_function_impl(
    func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """Calls a function as it is: the ``__torch_function__`` of classes that take none over."""
    return func(*args, **(kwargs or {}))


def _get_tracing_state() -> None:
    """None: a trace is the function itself here."""


def _is_torch_function_mode_enabled() -> bool:
    """False."""
    return False


def _get_cudnn_enabled() -> bool:
    """True, which changes nothing."""
    return True


__getattr__ = close_module(__name__)
