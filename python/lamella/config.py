"""Build and machine of this copy of Lamella."""

from __future__ import annotations

from typing import Any

from . import _C

__all__ = ["config", "show_config"]


def config() -> dict[str, Any]:
    """Returns how the library was built and what it runs on.

    The entries ``oneDNN`` and ``LAPACK`` are versions of what was found on this machine, or say why nothing was: both
    are loaded when they are first used, and this is a use.
    """
    import platform  # slow to import

    return {**_C._config(), "python": platform.python_version()}


def show_config() -> None:
    """Prints :func:`config`, a line for each entry."""
    entries = config()
    width = max(map(len, entries))
    for name, value in entries.items():
        print(f"{name:<{width}}  {value}")
