"""Checks of arguments for functions that are written in Python."""

from __future__ import annotations

from ._C import Tensor


def expect_tensors(function: str, **arguments: object) -> None:
    """Raises TypeError, with the text of functions in C++, for the first argument that is not a tensor."""
    for name, value in arguments.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"[{function}] {name}: expected a Tensor, got {type(value).__name__}")
