"""``torch._foreach_add_`` and its kin: an operator on each tensor of lists."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from lamella import Tensor

_PREFIX = "_foreach_"


def made(name: str) -> Callable[..., Any] | None:
    """Returns the function of a name, or None where there is no such operator.

    The arguments behind the first list are lists of as many, or one value for all. A name that ends in an underscore
    writes over the tensors and returns nothing.
    """
    operator = name.removeprefix(_PREFIX)
    if operator == name:
        return None
    one = _operator(operator)
    if one is None:
        return None

    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        count = len(self)
        lists = [_each(name, value, count) for value in args]
        named = {word: _each(name, value, count) for word, value in kwargs.items()}
        results = tuple(
            one(x, *(values[k] for values in lists), **{word: values[k] for word, values in named.items()})
            for k, x in enumerate(self)
        )
        return None if operator.endswith("_") else results

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{operator}`` of each tensor of a list."
    return function


def _operator(name: str) -> Callable[..., Any] | None:
    if name in ("maximum_", "minimum_"):
        return _in_place(name.removesuffix("_"))
    if name.endswith("_"):
        return _method(name) if hasattr(Tensor, name) else None
    return getattr(sys.modules["torch"], name, None)


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def _in_place(name: str) -> Callable[..., Any]:
    def function(x: Tensor, other: Any) -> Tensor:
        value = other if isinstance(other, Tensor) else Tensor.new_tensor(x, other)  # type: ignore[attr-defined]
        return x.copy_(getattr(sys.modules["torch"], name)(x, value))

    return function


def _each(name: str, value: Any, count: int) -> Any:
    """Returns a list of an argument for each tensor.

    Raises:
        RuntimeError: it is a list of another length.
    """
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise RuntimeError(f"[{name}] lists are of the same length, not {count} and {len(value)}")
    return value
