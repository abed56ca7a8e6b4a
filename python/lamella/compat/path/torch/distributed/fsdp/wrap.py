"""Policies that say which modules of a sharded model are units."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lamella.compat.front import close_module
from lamella.nn import Module


class ModuleWrapPolicy:
    """Modules of these types are units."""

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._classes = tuple(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **options: Any) -> bool:
        """True for a module of one of the types, and where parts of a module are to be looked at."""
        return recurse or isinstance(module, self._classes)


class CustomPolicy:
    """Modules of which a function says so are units."""

    def __init__(self, lambda_fn: Callable[[Module], Any]) -> None:
        self._function = lambda_fn

    def __call__(self, module: Module, recurse: bool, *args: Any, **options: Any) -> bool:
        """True where the function says so, and where parts of a module are to be looked at."""
        return recurse or bool(self._function(module))


def always_wrap_policy(*args: Any, **options: Any) -> bool:
    """Makes every module a unit."""
    return True


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type]
) -> bool:
    """Makes modules of some types units: the blocks of a transformer."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], Any]
) -> bool:
    """Makes modules units of which a function says so."""
    return recurse or bool(lambda_fn(module))


def size_based_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8), **options: Any
) -> bool:
    """Makes modules of at least so many parameters units."""
    return nonwrapped_numel >= min_num_params


def _or_policy(module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]) -> bool:
    """Makes modules units of which one of several policies says so."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


__getattr__ = close_module(__name__)
