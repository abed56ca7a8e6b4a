"""Modules that hold other modules."""

from __future__ import annotations

import operator
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self, overload

from .module import Module, _no_module


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
            raise TypeError(f"[{type(self).__name__}] item {index} is {_no_module(module)}")
        self._modules[list(self._modules)[index]] = module

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[index]]:
            del self._modules[name]
        self._renumber()

    def _renumber(self) -> None:
        """Closes the gaps of names that are numbers, once some are gone."""
        members = list(self._modules.items())
        if all(name.isdecimal() for name, _ in members):
            self._modules.clear()
            self._modules.update((str(i), module) for i, (_, module) in enumerate(members))

    @classmethod
    def _of(cls, modules: Iterable[Module | None]) -> _Numbered:
        new = cls()
        for module in modules:
            new.add_module(str(len(new)), module)
        return new

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Puts a module before the one at ``index``, as a list does."""
        if not isinstance(module, Module):
            raise TypeError(f"[{type(self).__name__}] item {index} is {_no_module(module)}")
        members = list(self._modules.items())
        # A name that no member has, until all are numbered anew.
        members.insert(operator.index(index), (str(len(members)), module))
        self._modules.clear()
        self._modules.update(members)
        self._renumber()
        return self

    def pop(self, index: int = -1) -> Module:
        """Takes a module out and returns it."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, modules: Iterable[Module]) -> _Numbered:
        return self._of([*self, *modules])


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


class ModuleDict(Module):
    """A dict of modules whose parameters are found. It has no ``forward``.

    Args:
        modules: a mapping of names to modules, or pairs of them.
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:  # a subclass's update() may need what its constructor has yet to set
            self.update(modules)

    def __getitem__(self, name: str) -> Module:
        return self._modules[name]  # type: ignore[return-value]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def keys(self) -> KeysView[str]:
        """Returns the names."""
        return self._modules.keys()

    def values(self) -> ValuesView[Module | None]:
        """Returns the modules."""
        return self._modules.values()

    def items(self) -> ItemsView[str, Module | None]:
        """Returns names and modules."""
        return self._modules.items()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Adds modules, in the place of those that have their names."""
        for name, module in dict(modules).items():
            self.add_module(name, module)

    def pop(self, name: str) -> Module:
        """Takes a module out and returns it."""
        module = self[name]
        del self[name]
        return module

    def clear(self) -> None:
        """Takes all modules out."""
        self._modules.clear()
