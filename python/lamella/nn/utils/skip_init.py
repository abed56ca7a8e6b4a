"""Modules that are made without starting values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..module import Module

_Module = TypeVar("_Module", bound=Module)


def skip_init(module_class: type[_Module], *args: Any, device: str = "cpu", **kwargs: Any) -> _Module:
    """Makes a module whose parameters and buffers hold anything, which takes no time for drawing values.

    It is for modules that get their values otherwise, by :meth:`Module.load_state_dict`, say.

    Args:
        module_class: the class, whose constructor takes ``device``.
        args: its arguments.
        device: where the tensors are to be.
        kwargs: its arguments by name.

    Raises:
        TypeError: ``module_class`` is no class of modules.
    """
    if not isinstance(module_class, type) or not issubclass(module_class, Module):
        raise TypeError(f"[skip_init] module_class is a class of modules, not {module_class!r}")
    make: Callable[..., _Module] = module_class
    return make(*args, device="meta", **kwargs).to_empty(device=device)
