"""Parameters that each process keeps a part of by itself, and that travel together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ..nn import Module, Parameter
from ..sbp import broadcast, split
from ._flat import Flat, FlatShard, Member, Slot, Span
from ._models import own_part, place_of
from .global_tensor import GlobalParameter, GlobalTensor
from .mesh import part, placement

#: A parameter, its dotted names, and the modules that have it.
_Listed = tuple[Parameter, tuple[str, ...], tuple[tuple[Module, str], ...]]


class Bundle(Flat):
    """Parameters of one dtype and device that are gathered in one message, each of which is cut by itself.

    Args:
        parameters: The parameters, each with its dotted names and the modules that have it.
        key: What tells these parameters from others of the same module.
        group: The processes.
        mesh: For parameters that become global tensors, which are cut by rows: where they then lie, along the last axis
            over the processes of the group, along others as they do already; None for rows of their elements.
    """

    def __init__(
        self, parameters: Sequence[_Listed], key: Any, group: ProcessGroup, mesh: placement | None = None
    ) -> None:
        self.key, self.unit, self._group = key, None, group.name
        self.compute_dtype = self.reduce_dtype = None
        self.replicas = ()
        self.is_exact = False
        self.slots, self.size, self.padding = [], 0, 0
        #: For each parameter, the numbers of elements that the processes keep of it.
        self._cuts: list[list[int]] = []
        #: Tables in which the shards are, and their names there.
        self._homes: list[tuple[dict[str, Any], str]] = []
        for parameter, names, places in parameters:
            own = own_part(parameter)
            shape = tuple(own.shape)
            self.slots.append(Slot(names, places, shape, self.size, place_of(parameter)))
            self.size += own.size
            rows, each = (own.size, 1) if mesh is None else (shape[0], own.size // max(1, shape[0]))
            cuts = [part(rows, group.size, rank) for rank in range(group.size)]
            self._cuts.append([(stop - start) * each for start, stop in cuts])
            start, stop = cuts[group.rank]
            made: Any
            if mesh is None:
                row = own.detach().reshape([-1])[start:stop].clone()
                made = FlatShard.of_memory(row, stop_gradient=parameter.stop_gradient)
            else:
                whole = (broadcast,) * (mesh.ndim - 1)
                signature = (*(parameter.sbp if isinstance(parameter, GlobalTensor) else whole), split(0))
                made = GlobalParameter._of(own.detach()[start:stop].clone(), parameter.shape, mesh, signature)
                made.stop_gradient = parameter.stop_gradient
            table = {"shard": made}
            self._homes.append((table, "shard"))
        self.sizes = [sum(column) for column in zip(*self._cuts, strict=True)]
        self.part = self.sizes[group.rank]
        self._start()

    @property
    def start(self) -> int:
        """Number of elements before this process's part, in the order in which the processes keep them."""
        return sum(self.sizes[: self.group.rank])

    @property
    def shards(self) -> list[Any]:
        """This process's part of each parameter."""
        return [table[name] for table, name in self._homes]

    @property
    def sources(self) -> list[Tensor]:
        """This process's parts, of global parameters those of this process."""
        return [x._local if isinstance(x, GlobalParameter) else x for x in self.shards]

    def members(self) -> list[Member]:
        """Returns the tensors that optimizers move."""
        rank = self.group.rank
        return [
            Member(x, (Span(slot, 0, cuts[rank], sum(cuts[:rank])),))
            for x, slot, cuts in zip(self.shards, self.slots, self._cuts, strict=True)
        ]

    def settle(self, table: dict[str, Any], name: str) -> None:
        """Puts the shards into a module's table, under the parameters' first names."""
        for number, (x, slot) in enumerate(zip(self.shards, self.slots, strict=True)):
            table[slot.names[0]] = x
            self._homes[number] = table, slot.names[0]

    def settle_in_place(self) -> None:
        """Puts the shards where the parameters were."""
        for number, (x, slot) in enumerate(zip(self.shards, self.slots, strict=True)):
            for module, name in slot.places:
                module._parameters[name] = x
            self._homes[number] = slot.places[0][0]._parameters, slot.places[0][1]

    def leave(self) -> None:
        """Takes the shards out of the table in which they are."""
        self._homes = [({name: table.pop(name)}, name) for table, name in self._homes]

    def arranged(self, row: Tensor) -> Tensor:
        """Returns the whole, of what the processes keep one after the other."""
        n, count = len(self.sizes), len(self._cuts)
        if n == 1 or count == 1:
            return row
        parts = row.split([self._cuts[i][rank] for rank in range(n) for i in range(count)])
        return _C.concat([parts[rank * count + i] for i in range(count) for rank in range(n)])

    def packed(self, whole: Tensor) -> Tensor:
        """Returns the whole in the order in which the processes keep it."""
        n, count = len(self.sizes), len(self._cuts)
        if n == 1 or count == 1:
            return whole
        parts = whole.split([size for cuts in self._cuts for size in cuts])
        return _C.concat([parts[i * n + rank] for rank in range(n) for i in range(count)])
