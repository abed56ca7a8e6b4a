"""Attributes of tensors in C that a front has replaced, which recorders look at nevertheless."""

from __future__ import annotations

from typing import Any

from lamella._C import Tensor

#: By name, what the class of tensors had before.
replaced: dict[str, Any] = {}


def replace(name: str, value: Any) -> Any:
    """Gives tensors another attribute in the place of one in C, and returns that one."""
    native = replaced.setdefault(name, vars(Tensor)[name])
    setattr(Tensor, name, value)
    return native
