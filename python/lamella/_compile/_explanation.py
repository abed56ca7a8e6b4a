"""Says in words what became of a compiled function's calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ._compiled import Compiled


class Step(NamedTuple):
    """A step of a graph that a compiled function runs."""

    #: Name of an operator, of a function that is called, or "fused" and the names of joined operators.
    name: str
    #: Line of the program: "train.py:12".
    where: str
    #: Bytes of the operands and of the results, the step's traffic with the memory; -1 for a function that is called,
    #: such as a layer or the step of an optimizer.
    bytes_read: int
    bytes_written: int
    #: Why a layer is called; "" for other steps.
    reason: str = ""

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        if self.bytes_read < 0:
            return f"{self.name}{place}: is called" + (f", as {self.reason}" if self.reason else "")
        return f"{self.name}{place}: reads {_size(self.bytes_read)}, writes {_size(self.bytes_written)}"


class CapturedSteps(NamedTuple):
    """Steps that become a CUDA graph, or a step that does not."""

    #: The first and the last step; the last is "" for a single step.
    first: str
    last: str
    steps: int
    #: Number of graphs, for different sizes of their inputs, and of their launches.
    graphs: int
    launches: int
    #: Why steps run one by one; "" where they do not, or have not run often enough yet.
    reason: str

    def __str__(self) -> str:
        which = f"{self.steps} steps from {self.first} to {self.last}" if self.last else self.first
        if self.graphs:
            made = "a CUDA graph" if self.graphs == 1 else f"{self.graphs} CUDA graphs"
            text = f"{which}: {made}, launched {self.launches} time{'s' * (self.launches != 1)}"
            return text + (f"; other calls run operator by operator: {self.reason}" if self.reason else "")
        return f"{which}: no CUDA graph" + (f": {self.reason}" if self.reason else " yet")


def _size(count: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} bytes"


class Explanation:
    """Describes what a compiled function does; ``str()`` has all of it."""

    def __init__(self, compiled: Compiled) -> None:
        self.name = compiled._name
        #: For each graph, its steps in order.
        self.graphs: list[list[Step]] = [
            [
                Step(name, where, read, written, trace.called.get(name, ""))
                for name, where, read, written in replay.steps()
            ]
            for replay, trace in compiled._replays
        ]
        #: For each graph of a function that is compiled with ``cuda_graphs=True``, what became of its steps.
        self.cuda_graphs: list[list[CapturedSteps]] = [
            [CapturedSteps(*report) for report in replay.device_graphs()] for replay, _ in compiled._replays
        ]
        #: For each kind of calls that run as they are: the kind, and why.
        self.breaks: list[tuple[str, str]] = [
            (kind.text, str(reason)) for kind in compiled._kinds.values() for reason in kind.breaks
        ]

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.graphs)} graph{'s' * (len(self.graphs) != 1)}"]
        for i, steps in enumerate(self.graphs):
            traffic = sum(step.bytes_read + step.bytes_written for step in steps if step.bytes_read >= 0)
            lines.append(f"graph {i}: {len(steps)} steps, whose operators read and write {_size(traffic)}")
            lines += [f"  {step}" for step in steps]
            lines += [f"  {captured}" for captured in self.cuda_graphs[i]]
        lines += [f"calls with {kind} run as they are: {reason}" for kind, reason in self.breaks]
        return "\n".join(lines)

    __repr__ = __str__
