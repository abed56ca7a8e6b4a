"""Policies that say which modules of a sharded model are units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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


#: What :func:`wrap` does: the class that wraps, and its options; the innermost block's last.
_ENABLED: list[tuple[Callable[..., Module], dict[str, Any]]] = []


@contextmanager
def enable_wrap(*, wrapper_cls: Callable[..., Module], **wrapper_kwargs: Any) -> Iterator[None]:
    """Has :func:`wrap` wrap modules within a block.

    Args:
        wrapper_cls: the class, such as ``FullyShardedDataParallel``.
        wrapper_kwargs: its options.
    """
    _ENABLED.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _ENABLED.pop()


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Returns a module as :func:`enable_wrap` says, with other options; outside of its block the module itself."""
    if not _ENABLED:
        return module
    kind, options = _ENABLED[-1]
    return kind(module, **{**options, **wrap_overrides})


__getattr__ = close_module(__name__)
