"""What the fronts of other frameworks share: saying which names they lack."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


class _Missing(importlib.abc.MetaPathFinder):
    """Stands last on ``sys.meta_path`` and explains why a module of a front was not found."""

    def __init__(self, front: str, reasons: Mapping[str, str]) -> None:
        self.front = front
        self.reasons = reasons

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> None:
        """Raises ``ImportError`` for a module below the front; others are not its business."""
        if name.startswith(self.front + "."):
            raise ImportError(self.sentence(name), name=name)

    def sentence(self, name: str) -> str:
        """Says that the front lacks ``name`` and, where that is known, why."""
        reason = self.reasons.get(name)
        return f"Lamella's {self.front} front does not have '{name}'" + (f": {reason}" if reason else "")


def close(front: str, reasons: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """Makes every name that the package ``front`` lacks say so when it is imported.

    Args:
        front: the package's name.
        reasons: by dotted name, why it is missing.

    Returns:
        The package's ``__getattr__``, which says the same where a missing name is looked up as an attribute.
    """
    finder = _Missing(front, reasons or {})
    sys.meta_path.append(finder)
    return _getattr(finder, front)


def close_module(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module of a front that :func:`close` has closed."""
    front = module.partition(".")[0]
    finder = next(f for f in sys.meta_path if isinstance(f, _Missing) and f.front == front)
    # `from module import name` explains itself only where the module could have submodules.
    sys.modules[module].__dict__.setdefault("__path__", [])
    return _getattr(finder, module)


def _getattr(finder: _Missing, module: str) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:  # noqa: N807 (it becomes the module's)
        raise AttributeError(finder.sentence(f"{module}.{name}"))

    return __getattr__
