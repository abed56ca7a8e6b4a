"""Modes and subclasses that see each operator of ``aten``: there are none here, as packages can find out."""

from __future__ import annotations

from typing import Any, NoReturn

from lamella.compat.front import close_module


class TorchDispatchMode:
    """Base class of modes, which can be made, and not entered: operators ask no mode."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Handles an operator; a subclass defines it."""
        raise NotImplementedError(f"[{type(self).__name__}] defines no __torch_dispatch__")

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(
            f"[{type(self).__name__}] operators ask no TorchDispatchMode: torch.overrides.TorchFunctionMode sees calls"
        )

    def __exit__(self, *exception: object) -> None:
        """Ends nothing."""


def is_traceable_wrapper_subclass(t: object) -> bool:
    """False: no tensor wraps others."""
    return False


__getattr__ = close_module(__name__)
