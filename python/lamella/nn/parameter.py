"""The tensor that a module trains."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella._names import explain_arguments_of


class Parameter(lm.Tensor):
    """A leaf tensor that wants a gradient; a :class:`Module` registers it when it is set as an attribute.

    Args:
        data: a tensor or anything :func:`lamella.asarray` takes. Its values are copied, its graph is not kept.
        dtype: the parameter's dtype; the data's own by default.
        stop_gradient: True makes a frozen parameter, which is saved with the module and not trained.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex, and a gradient is wanted.
    """

    #: The name of its variable in programs, where it was given one.
    name: str

    @explain_arguments_of
    def __new__(cls, data: Any, dtype: Any = None, *, stop_gradient: bool = False) -> Parameter:
        """Makes a parameter with the values of ``data``; of a global tensor a global one."""
        if (part := getattr(data, "_as_parameter", None)) is not None:
            return part(stop_gradient)  # type: ignore[no-any-return]
        values = data.detach() if isinstance(data, lm.Tensor) else data
        return super().__new__(cls, lm.asarray(values, dtype=dtype, copy=True), stop_gradient=stop_gradient)

    @classmethod
    def of_memory(cls, tensor: lm.Tensor, *, stop_gradient: bool = False) -> Parameter:
        """Makes a parameter that shares the memory of ``tensor``, where the class itself copies it."""
        return super().__new__(cls, tensor.detach(), stop_gradient=stop_gradient)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(lm.Tensor):
    """A tensor that belongs to a module's state and is not trained; setting it as an attribute registers it.

    Args:
        data: a tensor or anything :func:`lamella.asarray` takes. A tensor's memory is shared, its graph is not kept.
        persistent: False leaves it out of :meth:`Module.state_dict`.
        dtype: the buffer's dtype; the data's own by default.
    """

    persistent: bool

    def __new__(cls, data: Any, persistent: bool = True, dtype: Any = None) -> Buffer:
        """Makes a buffer with the values of ``data``."""
        values = data.detach() if isinstance(data, lm.Tensor) else data
        made = super().__new__(cls, lm.asarray(values, dtype=dtype))
        made.persistent = persistent
        return made

    def __repr__(self) -> str:
        return f"Buffer containing:\n{super().__repr__()}"


#: Classes of which buffers may be: tensors, and what stands for one to a program of another framework.
BUFFERS: list[type] = [lm.Tensor]


def is_buffer(value: Any) -> bool:
    """True for what a module takes as a buffer."""
    return isinstance(value, tuple(BUFFERS))
