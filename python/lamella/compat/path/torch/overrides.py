"""Classes that take calls of functions over: none do here, so that functions are called as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

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


class TorchFunctionMode:
    """A block whose method ``__torch_function__`` is called in the place of functions, which none is here."""

    def __enter__(self) -> NoReturn:
        """Says that functions are called as they are.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"[{type(self).__name__}] functions are not replaced while they are called")

    def __exit__(self, *exception: object) -> None:
        """Ends the block."""


__getattr__ = close_module(__name__)
