"""Sharded models within a sharded model: their units become units of the outer one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._C import Tensor
from ..nn import Module
from ._flat import Flat
from ._units import Exchange


class Inner:
    """A sharded model that is a part of a module.

    Args:
        model: The model.
        paths: All of its dotted names in the module.
    """

    def __init__(self, model: Any, paths: list[str]) -> None:
        self._model = model
        self._paths = paths
        self.flats: list[Flat] = model._exchange.flats
        #: For each module that had parameters, their names in its order.
        self.orders: list[tuple[Module, list[str]]] = model._orders

    def join(self, module: Module, exchange: Exchange) -> None:
        """Puts what it has wrapped in its place, and hands its units and shards to another model's exchange."""
        for path in self._paths:
            above, _, name = path.rpartition(".")
            module.get_submodule(above)._modules[name] = self._model.module
        for flat in self.flats:
            flat.leave()
            flat.slots = [
                slot._replace(names=tuple(f"{path}.{name}" for path in self._paths for name in slot.names))
                for slot in flat.slots
            ]
        for unit in self._model._exchange.units:
            unit.move(exchange)
        # Who still holds the model calls what is a part of the other one now.
        self._model._exchange = Exchange(self._model.stage)


def absorbed(module: Module, kind: type[Any], group: str) -> list[Inner]:
    """Returns the sharded models within a module.

    Args:
        module: The module.
        kind: The class of sharded models.
        group: The name of the group of the model that they become a part of.

    Raises:
        ValueError: One is of another group, or the module is one itself.
    """
    paths: dict[int, list[str]] = {}
    found: dict[int, Any] = {}
    for path, part in module.named_modules(remove_duplicate=False):
        if isinstance(part, kind):
            paths.setdefault(id(part), []).append(path)
            found[id(part)] = part
    for key, part in found.items():
        if part is module:
            raise ValueError("[FullyShardedDataParallel] the model is one already")
        if part._group != group:
            raise ValueError(
                f"[FullyShardedDataParallel] '{paths[key][0]}' is cut over the group {part._group!r}, the model over "
                f"{group!r}"
            )
    return [Inner(part, paths[key]) for key, part in found.items()]


def left_out(ignored: Iterable[Module | Tensor]) -> set[int]:
    """Returns the ids of the parameters that are named, or are in modules that are named.

    Raises:
        TypeError: Something else is named.
    """
    found: set[int] = set()
    for one in ignored:
        if not isinstance(one, Module | Tensor):
            raise TypeError(f"[FullyShardedDataParallel] ignored has modules and parameters, not {type(one).__name__}")
        found |= {id(p) for p in one.parameters()} if isinstance(one, Module) else {id(one)}
    return found
