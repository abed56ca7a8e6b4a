"""Conversions of modules that keep their parameters: optimizers and programs that hold these go on with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.nn import Module

from .._reshaped import set_data


def _apply(self: Module, fn: Callable[[lm.Tensor], lm.Tensor], recurse: bool = True) -> Module:
    """Makes functions of themselves of the parameters, their gradients and the buffers.

    Parameters stay the objects that they were. Parts are asked by this method, which a class may extend by tensors of
    its own.
    """
    if recurse:
        for child in self.children():
            child._apply(fn)  # type: ignore[operator]
    with lm.no_grad():
        for parameter in self._parameters.values():
            if parameter is not None:
                grad = parameter.grad
                made = fn(parameter)
                if made is not parameter:
                    set_data(parameter, made)
                if grad is not None:
                    parameter.grad = fn(grad).detach()
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
    return self


#: Methods of modules.
METHODS: dict[str, Any] = {
    "_apply": _apply,
    "_convert": lambda self, convert: self._apply(convert),
}
