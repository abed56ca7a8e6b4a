"""Layers that put elements around their input, or cut some off. See :func:`lamella.pad`.

``padding`` is one number for all sides, or ``(before, after)`` for the last axis, then for the one in front of it, and
so on; negative numbers cut. Inputs are ``(n, channels, *size)``, or one example without the first axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import lamella as lm

from .conv import per_axis
from .module import Module

Padding = int | Sequence[int]
_MODES = ("constant", "reflect", "replicate", "circular")


class _Pad(Module):
    _axes: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: Padding) -> None:
        super().__init__()
        self.padding = per_axis(type(self).__name__, "padding", padding, 2 * self._axes)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x`` with other sizes of its last axes."""
        self._check(x)
        return lm.pad(x, self.padding, self._mode)

    def _check(self, x: lm.Tensor) -> None:
        if x.ndim not in (self._axes + 1, self._axes + 2):
            raise ValueError(
                f"[{type(self).__name__}] x has {self._axes + 1} or {self._axes + 2} axes, not the shape {x.shape}"
            )

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"padding={self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns ``x`` with other sizes of its last axes."""
        self._check(x)
        return lm.pad(x, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"{super().extra_repr()}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Puts ``value`` around sequences."""

    _axes = 1


class ConstantPad2d(_ConstantPad):
    """Puts ``value`` around images."""

    _axes = 2


class ConstantPad3d(_ConstantPad):
    """Puts ``value`` around volumes."""

    _axes = 3


class _ZeroPad(_Pad):
    _mode = "constant"


class ZeroPad1d(_ZeroPad):
    """Puts zeros around sequences."""

    _axes = 1


class ZeroPad2d(_ZeroPad):
    """Puts zeros around images."""

    _axes = 2


class ZeroPad3d(_ZeroPad):
    """Puts zeros around volumes."""

    _axes = 3


class _ReflectionPad(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPad):
    """Mirrors sequences about their first and last elements."""

    _axes = 1


class ReflectionPad2d(_ReflectionPad):
    """Mirrors images about their outer rows and columns."""

    _axes = 2


class ReflectionPad3d(_ReflectionPad):
    """Mirrors volumes about their outer planes."""

    _axes = 3


class _ReplicationPad(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPad):
    """Repeats the first and last elements of sequences."""

    _axes = 1


class ReplicationPad2d(_ReplicationPad):
    """Repeats the outer rows and columns of images."""

    _axes = 2


class ReplicationPad3d(_ReplicationPad):
    """Repeats the outer planes of volumes."""

    _axes = 3


class _CircularPad(_Pad):
    _mode = "circular"


class CircularPad1d(_CircularPad):
    """Goes on at the other end of sequences."""

    _axes = 1


class CircularPad2d(_CircularPad):
    """Goes on at the other side of images."""

    _axes = 2


class CircularPad3d(_CircularPad):
    """Goes on at the other side of volumes."""

    _axes = 3
