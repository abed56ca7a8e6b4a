"""A model as a table: its modules, what each gives, and what each holds."""

from __future__ import annotations

from typing import Any, NamedTuple

import lamella as lm
from lamella import _tree

from .._html import table
from ._modes import in_evaluation
from .module import Module


class Row(NamedTuple):
    """A module of a model.

    Attributes:
        path: Its path in the model; ``""`` for the model itself.
        kind: Name of its class.
        outputs: Dtypes and shapes of what it gave; ``""`` where the model was not run, or did not call it.
        parameters: Number of elements of the parameters that are its own; shared ones count where they come first.
        frozen: Number of those that want no gradient.
    """

    path: str
    kind: str
    outputs: str
    parameters: int
    frozen: int


class Summary(list[Row]):
    """Rows of all modules, which print as a table, and are one in notebooks.

    Attributes:
        parameters: Number of elements of all parameters, each counted once.
        frozen: Number of those that want no gradient.
        nbytes: Bytes of all parameters and buffers.
    """

    def __init__(self, rows: list[Row], parameters: int, frozen: int, nbytes: int) -> None:
        super().__init__(rows)
        self.parameters = parameters
        self.frozen = frozen
        self.nbytes = nbytes

    def _cells(self) -> list[tuple[str, ...]]:
        shown = any(row.outputs for row in self)
        head = ("module", "class", "output", "parameters")
        cells: list[tuple[str, ...]] = [head if shown else (*head[:2], head[3])]
        for row in self:
            depth = row.path.count(".") + 1 if row.path else 0
            name = "  " * depth + row.path.rpartition(".")[2] if row.path else row.kind
            count = f"{row.parameters:,}" if row.parameters else ""
            cells.append((name, row.kind, row.outputs, count) if shown else (name, row.kind, count))
        return cells

    def _note(self) -> str:
        frozen = f", {self.frozen:,} of them frozen" if self.frozen else ""
        return f"{self.parameters:,} parameters{frozen}; {_size(self.nbytes)} with buffers"

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        last = len(widths) - 1
        lines = [
            "  ".join(
                cell.rjust(width) if i == last else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join([*lines, self._note()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        # Notebooks put all cells to the right, which would hide how deep a module is.
        sides = [*("left" for _ in self._cells()[0][1:]), "right"]
        return table(self._cells(), sides, self._note())


def _size(nbytes: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= factor:
            return f"{nbytes / factor:.3g} {unit}"
    return f"{nbytes} bytes"


def _described(output: Any) -> str:
    return ", ".join(f"{x.dtype.name}{list(x.shape)}" for x in _tree.flatten(output)[0])


def _outputs(model: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, str]:
    """Returns what each module gives, by its id, in a run that leaves the model as it is."""
    outputs: dict[int, str] = {}

    def note(module: Module, _args: Any, output: Any) -> None:
        outputs.setdefault(id(module), _described(output))

    handles = [module.register_forward_hook(note) for module in model.modules()]
    try:
        with in_evaluation(model), lm.no_grad():
            model(*args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
    return outputs


def summary(model: Module, *args: Any, **kwargs: Any) -> Summary:
    """Describes the modules of a model.

    Args:
        model: The model.
        *args: Arguments that the model is called with, for the shapes of what its modules give; without any, it is not
            called. It runs as in evaluation, off the tape.
        **kwargs: Its keyword arguments.

    Returns:
        A list of the modules, which prints as a table.

    Raises:
        TypeError: ``model`` is no module.
    """
    if not isinstance(model, Module):
        raise TypeError(f"[summary] model: expected a Module, got {type(model).__name__}")
    outputs = _outputs(model, args, kwargs) if args or kwargs else {}
    seen: set[int] = set()
    rows = []
    for path, module in model.named_modules():
        own = [p for p in module.parameters(recurse=False) if id(p) not in seen]
        seen.update(map(id, own))
        counts = sum(p.size for p in own), sum(p.size for p in own if p.stop_gradient)
        rows.append(Row(path, type(module).__name__, outputs.get(id(module), ""), *counts))
    nbytes = sum(x.nbytes for x in (*model.parameters(), *model.buffers()))
    return Summary(rows, sum(row.parameters for row in rows), sum(row.frozen for row in rows), nbytes)
