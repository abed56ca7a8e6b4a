"""Forward mode: tensors that carry a tangent, the derivative along a direction, beside their values.

What is computed from such a *dual* tensor is dual itself::

    with lm.autograd.forward_ad.dual_level():
        x = lm.autograd.forward_ad.make_dual(primal, tangent)
        y = lm.exp(x)
        lm.autograd.forward_ad.unpack_dual(y).tangent  # exp(primal) * tangent

Levels belong to a thread, and nest: tangents of several are kept apart, and an inner one's are themselves
differentiated at the outer ones. Gradient modes do not matter here (``no_grad`` stops reverse mode only); where
recording is on, tangents are recorded as anything else. ``detach()`` and operators without a gradient drop tangents.
Nothing of a level remains when it has ended.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from .._C import Tensor, _enter_dual_level, _exit_dual_level, _make_dual, _unpack_dual
from .._tree import refuse_global

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class UnpackedDualTensor(NamedTuple):
    """A tensor taken apart by :func:`unpack_dual`."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begins a level of forward mode on this thread, inside of those that there are, and returns its number."""
    return _enter_dual_level()


def exit_dual_level(*, level: int) -> None:
    """Ends a level: its tangents are dropped, and tensors that outlive it are ordinary ones.

    Raises:
        RuntimeError: ``level`` is not the innermost one of this thread.
    """
    _exit_dual_level(level)


class dual_level:  # noqa: N801 (a context manager, named as no_grad is)
    """A level of forward mode for a ``with`` block, which gets its number, or for the function that it decorates."""

    def __init__(self) -> None:
        self._levels: list[int] = []

    def __enter__(self) -> int:
        level = _enter_dual_level()
        self._levels.append(level)
        return level

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _exit_dual_level(self._levels.pop())

    def __call__(self, function: _Function) -> _Function:
        """Gives each call of ``function`` a level of its own."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with dual_level():
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Returns a tensor with the values, the memory and the place on the tape of ``tensor`` that has a tangent.

    Args:
        tensor: of a floating or complex dtype, any shape.
        tangent: of the same dtype, shape and device; it is not copied. It may want a gradient, and may have tangents of
            outer levels.
        level: the level that the tangent belongs to, by default the innermost one.

    Raises:
        TypeError, ValueError: the tangent's dtype or shape is not the tensor's, or has no derivative.
        RuntimeError: there is no level, or it has ended; the tensor has a tangent at this level already; the tangent
            has one at this level or an inner one; the two are on different devices.
    """
    refuse_global("make_dual", (tensor, tangent))
    return _make_dual(tensor, tangent, level)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Returns a tensor's values, as a tensor on the same memory without a tangent, and its tangent or None.

    Args:
        tensor: any tensor; without a tangent it is returned itself.
        level: the innermost level, if it is given.

    Raises:
        RuntimeError: ``level`` is another one, or has ended.
    """
    return UnpackedDualTensor(*_unpack_dual(tensor, level))
