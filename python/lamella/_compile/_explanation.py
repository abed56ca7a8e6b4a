"""Says in words what became of a compiled function's calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._compiled import Compiled


class Explanation:
    """Describes what a compiled function does; ``str()`` has all of it."""

    def __init__(self, compiled: Compiled) -> None:
        self.name = compiled._name
        #: For each replay: its steps in order, each with the line of the program that it comes from.
        self.graphs: list[list[tuple[str, str]]] = [replay.steps() for replay, _ in compiled._replays]
        #: For each kind of calls that run as they are: the kind, and why.
        self.breaks: list[tuple[str, str]] = [
            (kind.text, str(reason)) for kind in compiled._kinds.values() for reason in kind.breaks
        ]

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.graphs)} graphs"]
        for i, steps in enumerate(self.graphs):
            lines.append(f"graph {i}: {len(steps)} steps")
            lines += [f"  {name} ({where})" if where else f"  {name}" for name, where in steps]
        lines += [f"calls with {kind} run as they are: {reason}" for kind, reason in self.breaks]
        return "\n".join(lines)

    __repr__ = __str__
