"""Names of the modules that are running."""

from __future__ import annotations

from typing import Any, Self

from lamella.compat.front import close_module
from lamella.nn import Module
from lamella.nn._hooks import hook_all_modules


class ModuleTracker:
    """A block in which :attr:`parents` has the names of the modules whose forward runs, and ``"Global"``.

    A module is called by its class, or by its name in the module that was called around it.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._running: list[str] = ["Global"]

    @property
    def parents(self) -> set[str]:
        """The names."""
        return set(self._running)

    @property
    def running(self) -> tuple[str, ...]:
        """The names, the outermost module first."""
        return tuple(dict.fromkeys(self._running))

    def __enter__(self) -> Self:
        self._handles = [
            hook_all_modules("forward_pre", self._enter),
            hook_all_modules("forward", self._leave, always_call=True),
        ]
        return self

    def __exit__(self, *error: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self._running = ["Global"]

    def _enter(self, module: Module, args: Any) -> None:
        name = self._names.setdefault(id(module), type(module).__name__)
        for part, child in module.named_children():
            self._names.setdefault(id(child), f"{name}.{part}")
        self._running.append(name)

    def _leave(self, module: Module, args: Any, result: Any) -> None:
        self._running.pop()


__getattr__ = close_module(__name__)
