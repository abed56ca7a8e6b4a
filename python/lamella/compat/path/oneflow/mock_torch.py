"""Programs that say ``import torch`` run on OneFlow's names while :class:`enable` holds."""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from lamella.compat.front import close_module

__getattr__ = close_module(__name__)
#: Packages whose own imports stay as they are.
_OWN = frozenset(["functorch", "lamella", "oneflow", "torch"])


_native: Callable[..., Any] = builtins.__import__
#: Modes that hold, of which the last one counts: modules by the names of those of torch that they stand for, or None
#: where ``import`` does as it did.
_modes: list[Mapping[str, str] | None] = []


def _renamed(name: str, others: Mapping[str, str]) -> str:
    """Returns the module that stands for one of torch's."""
    if name in others:
        return others[name]
    return "oneflow" + name.removeprefix("torch")


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    others = _modes[-1] if _modes else None
    caller = str((globals or {}).get("__name__", "")).partition(".")[0]
    if others is not None and level == 0 and name.partition(".")[0] == "torch" and caller not in _OWN:
        found = importlib.import_module(_renamed(name, others))
        return found if fromlist else importlib.import_module(_renamed("torch", others))
    return _native(name, globals, locals, fromlist, level)


class _Mode:
    """Begins with the call, and ends with a ``with`` block, if it is one."""

    def __init__(self, others: Mapping[str, str] | None) -> None:
        if not _modes:
            builtins.__import__ = _import
        _modes.append(others)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _modes:
            _modes.pop()
        if not _modes:
            builtins.__import__ = _native


class enable(_Mode):  # noqa: N801 (OneFlow's name)
    """Has ``import torch`` give OneFlow's names from here on, or in a ``with`` block.

    Args:
        lazy: accepted: a name that is missing raises where it is imported.
        verbose: accepted.
        extra_dict: modules by the names of those of torch that they stand for.
    """

    def __init__(
        self, lazy: bool | None = None, verbose: bool | None = None, extra_dict: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(dict(extra_dict or {}))


class disable(_Mode):  # noqa: N801 (OneFlow's name)
    """Has ``import torch`` do again what it did before :class:`enable`, from here on or in a ``with`` block."""

    def __init__(self) -> None:
        super().__init__(None)


def is_enabled() -> bool:
    """True while ``import torch`` gives OneFlow's names."""
    return bool(_modes) and _modes[-1] is not None
