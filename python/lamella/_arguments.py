"""What functions that are written in Python ask of their arguments before they look into them."""

from __future__ import annotations

from ._C import Tensor


def expect_tensors(function: str, **arguments: object) -> None:
    """TypeError, as of the functions in C++, for the first argument that is not a tensor."""
    for name, value in arguments.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"[{function}] {name}: expected a Tensor, got {type(value).__name__}")
