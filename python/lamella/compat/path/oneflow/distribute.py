"""Ways to distribute a variable over devices, of which there is one."""

from __future__ import annotations

from lamella.compat.front import close_module

__getattr__ = close_module(__name__)


class Distribute:
    """A way to distribute; with one device all are the same."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


def broadcast() -> Distribute:
    """Returns the way in which every device holds the whole."""
    return Distribute("broadcast")


def auto() -> Distribute:
    """Returns the way that is chosen for you."""
    return Distribute("auto")


def split(axis: int) -> Distribute:
    """Returns the way in which devices hold parts along an axis.

    Raises:
        TypeError: the axis is no int.
    """
    if not isinstance(axis, int):
        raise TypeError(f"[split] axis is an int, not {type(axis).__name__}")
    return Distribute(f"split({axis})")
