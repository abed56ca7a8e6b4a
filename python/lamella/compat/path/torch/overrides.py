"""Classes that take calls of functions over: none do here, so that functions are called as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lamella import Tensor
from lamella.compat.front import close_module


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """False: no argument takes calls over."""
    return False


def has_torch_function_unary(argument: Any) -> bool:
    """False."""
    return False


def has_torch_function_variadic(*arguments: Any) -> bool:
    """False."""
    return False


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Calls the function."""
    return public_api(*args, **kwargs)


def is_tensor_like(inp: Any) -> bool:
    """True for tensors."""
    return isinstance(inp, Tensor)


__getattr__ = close_module(__name__)
