"""Modules that hold other modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from .module import Module


class _Numbered(Module):
    """Submodules under the names "0", "1", …, with the access of a list."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())  # type: ignore[arg-type]

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> _Numbered: ...
    def __getitem__(self, index: int | slice) -> Any:
        members = list(self._modules.values())
        return type(self)._of(members[index]) if isinstance(index, slice) else members[index]

    def __setitem__(self, index: int, module: Module) -> None:
        if not isinstance(module, Module):
            raise TypeError(f"[{type(self).__name__}] item {index} is {type(module).__name__}, not a Module")
        self._modules[list(self._modules)[index]] = module

    @classmethod
    def _of(cls, modules: Iterable[Module | None]) -> _Numbered:
        new = cls()
        for module in modules:
            new.add_module(str(len(new)), module)
        return new

    def append(self, module: Module) -> _Numbered:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self


class Sequential(_Numbered):
    """Runs its modules one after the other, each on what the one before gave.

    Args:
        *modules: the modules in order, or one mapping of names to modules.
    """

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for index, layer in enumerate(modules):
                self.add_module(str(index), layer)  # type: ignore[arg-type]

    def forward(self, x: Any) -> Any:
        """Returns what the last module makes of it (``x`` itself where there is none)."""
        for module in self:
            x = module(x)
        return x


class ModuleList(_Numbered):
    """A list of modules whose parameters are found. It has no ``forward``."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Adds modules at the end."""
        for module in modules:
            self.append(module)
        return self
