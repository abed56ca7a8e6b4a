"""Classes that take calls of functions over, by a ``__torch_function__`` of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lamella import Tensor
from lamella.compat.front import close_module

from ._taking_over import taken_over, takers, takes_over


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """True if an argument takes calls over."""
    return next(takers(relevant_args), None) is not None


def has_torch_function_unary(argument: Any) -> bool:
    """True if the argument takes calls over."""
    return takes_over(argument)


def has_torch_function_variadic(*arguments: Any) -> bool:
    """True if one of the arguments takes calls over."""
    return has_torch_function(arguments)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Has an argument take a call over; without one that does, calls the function."""
    made = taken_over(public_api, args, kwargs)
    return public_api(*args, **kwargs) if made is NotImplemented else made


def is_tensor_like(inp: Any) -> bool:
    """True for tensors, and for objects of classes with ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """True for methods and properties of tensors."""
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func


__getattr__ = close_module(__name__)
