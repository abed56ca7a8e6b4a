"""Plans of a training step on many processes, made in one: memory, traffic, and time by stated models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import lamella as lm
from lamella import autograd
from lamella import sbp as sbps
from lamella._C import Tensor
from lamella.nn import Module
from lamella.optim import Optimizer
from lamella.sbp import SbpLike

from . import _carrier
from ._costs import Link
from ._counting import CountingCollectives, Traffic, Work
from .global_tensor import GlobalParameter, GlobalTensor
from .mesh import placement
from .parallelize import layout_of
from .redistribute import Signature, links_of, local_shape, set_links

__all__ = ["Device", "Plan", "ProcessPlan", "plan"]


@dataclass(frozen=True)
class Device:
    """Device that computes a process's part. The defaults are an NVIDIA A100's with 80 GB, of its data sheet.

    Attributes:
        flops: floating-point operations a second of matrix products, in the dtype of the step.
        bandwidth: bytes a second of its memory.
        memory: bytes of its memory.
        efficiency: the share of ``flops`` that products reach.
    """

    flops: float = 312e12
    bandwidth: float = 2.039e12
    memory: float = 80e9
    efficiency: float = 1.0


@dataclass
class ProcessPlan:
    """Plan of one process.

    Attributes:
        rank: the process.
        memory: bytes by kind: parameters, gradients, optimizer state, activations kept for the backward pass, inputs.
        traffic: by phase, collective and axis of the mesh.
        work: operators by phase.
    """

    rank: int
    memory: dict[str, int] = field(default_factory=dict)
    traffic: dict[tuple[str, str, int], Traffic] = field(default_factory=dict)
    work: dict[str, Work] = field(default_factory=dict)

    @property
    def compute_time(self) -> float:
        """Seconds of operators."""
        return sum(work.time for work in self.work.values())

    @property
    def communication_time(self) -> float:
        """Seconds of collectives."""
        return sum(traffic.time for traffic in self.traffic.values())

    @property
    def time(self) -> float:
        """Seconds of the step, in which collectives and operators do not overlap."""
        return self.compute_time + self.communication_time

    @property
    def flops(self) -> float:
        """Floating-point operations of products."""
        return sum(work.flops for work in self.work.values())

    @property
    def total_memory(self) -> int:
        """Bytes of all kinds."""
        return sum(self.memory.values())


def _bytes(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.4g} {unit}"
        count /= 1000
    return f"{count:.4g} TB"


@dataclass
class Plan:
    """Plan of a training step; prints as a table.

    Attributes:
        mesh: the processes.
        device: what each of them has.
        processes: what the first takes, which has the largest part of every axis, and the last, with the smallest.
    """

    mesh: placement
    device: Device
    processes: list[ProcessPlan]

    @property
    def bottleneck(self) -> ProcessPlan:
        """The process that takes longest; of several, the one that holds most."""
        return max(self.processes, key=lambda one: (one.time, one.total_memory))

    @property
    def time(self) -> float:
        """Seconds of the step: those of the bottleneck."""
        return self.bottleneck.time

    @property
    def fits(self) -> bool:
        """True if every process has memory enough."""
        return all(one.total_memory <= self.device.memory for one in self.processes)

    def __repr__(self) -> str:
        one = self.bottleneck
        lines = [
            f"{self.mesh.size} processes in a mesh of {list(self.mesh.shape)}; the bottleneck is process {one.rank}"
        ]
        lines += [f"  {kind:<16}{_bytes(size):>12}" for kind, size in one.memory.items()]
        lines.append(
            f"  {'memory':<16}{_bytes(one.total_memory):>12}"
            + ("" if self.fits else f"  of {_bytes(self.device.memory)}")
        )
        for (phase, name, axis), traffic in sorted(one.traffic.items()):
            lines.append(
                f"  {phase:<9}{name:<15}axis {axis}  {traffic.count:>7} times  {_bytes(traffic.sent):>10} sent  "
                f"{traffic.time:.4g} s"
            )
        for phase, work in one.work.items():
            lines.append(
                f"  {phase:<9}operators      {work.flops / 1e12:.4g} TFLOP, {_bytes(work.nbytes)}, {work.time:.4g} s"
            )
        lines.append(
            f"  time {one.time:.4g} s: operators {one.compute_time:.4g}, collectives {one.communication_time:.4g}"
        )
        return "\n".join(lines)


def _on_meta(x: Tensor, mesh: placement, signature: Signature, kind: type[GlobalTensor]) -> GlobalTensor:
    shape = local_shape(x.shape, mesh, signature, mesh.coordinate())
    local = lm.empty(list(shape), dtype=x.dtype, device="meta")
    return kind._of(local, x.shape, mesh, signature)


def _size(tensors: Iterable[Any]) -> int:
    return sum(x._local.nbytes if isinstance(x, GlobalTensor) else x.nbytes for x in tensors if isinstance(x, Tensor))


def _kept(saved: Sequence[Tensor], beside: Sequence[Tensor]) -> int:
    """Returns the bytes of tensors that the tape kept, each memory once and without those ``beside``.

    Memories are told apart by their counters of writes, which all tensors in one memory share: what was counted is
    written to.
    """
    total = 0
    with lm.no_grad():
        for x in beside:
            _once(x).zero_()
        for x in saved:
            memory = _once(x)
            if x._version == 0:
                total += memory.nbytes
            memory.zero_()
    return total


def _once(x: Tensor) -> Tensor:
    """Returns the elements that a tensor has in memory: the first along axes that it repeats."""
    found = x.detach()
    for axis, stride in enumerate(x.strides):
        if stride == 0 and x.shape[axis] > 1:
            found = lm.narrow(found, axis, 0, 1)
    return found


def plan(
    model: Module,
    mesh: placement,
    inputs: Sequence[Tensor],
    targets: Sequence[Tensor] = (),
    *,
    layout: dict[str, SbpLike] | None = None,
    input_sbp: SbpLike | None = None,
    loss: Callable[..., Tensor] | None = None,
    optimizer: Callable[[Any], Optimizer] | None = None,
    links: Sequence[Link] | None = None,
    device: Device | None = None,
) -> Plan:
    """Runs one training step on tensors without memory, as each of the mesh's processes would, and counts.

    The step is forward, backward and an optimizer's step, on shapes alone, with the signatures and collectives that the
    same program chooses on real processes. Operators take the time of their products at the device's rate or of their
    bytes at its memory's, whichever is longer, and gradients twice that; collectives take ``α + b / β`` for each
    message (:class:`Link`). They do not overlap. Nothing but the products' rate is measured or fitted.

    Args:
        model: the model, which may be on ``meta``; it is left as it was.
        mesh: the processes, in this process's imagination: up to 16,384 take no longer than two.
        inputs: the model's arguments: tensors of the global batch's shapes and dtypes, which may be on ``meta``.
        targets: likewise, other arguments of the loss.
        layout: signatures by the names of parameters, as for :func:`parallelize`.
        input_sbp: those of inputs and targets; by default split along their first axis over the first axis of the mesh.
        loss: computes the loss of the model's result and the targets, ``loss(result, *targets)``; the sum by default.
        optimizer: makes the optimizer of the parameters, such as :class:`lamella.optim.AdamW`; None for no step.
        links: what joins processes along each axis of the mesh.
        device: what each process has.

    Raises:
        ValueError: a name of the layout fits nothing, or a signature does not fit.
        RuntimeError: an operator has no rule, or a shape depends on elements.
    """
    device = device or Device()
    if input_sbp is None:
        input_sbp = [sbps.split(0), *[sbps.broadcast] * (mesh.ndim - 1)]
    before = links_of(mesh)
    used = tuple(links) if links is not None else before
    set_links(mesh, used)
    try:
        found = [
            _process_plan(rank, model, mesh, inputs, targets, layout, input_sbp, loss, optimizer, used, device)
            for rank in dict.fromkeys((mesh.ranks[0], mesh.ranks[-1]))
        ]
    finally:
        set_links(mesh, before)
    return Plan(mesh, device, found)


def _process_plan(
    rank: int,
    model: Module,
    mesh: placement,
    inputs: Sequence[Tensor],
    targets: Sequence[Tensor],
    layout: dict[str, SbpLike] | None,
    input_sbp: SbpLike,
    loss: Callable[..., Tensor] | None,
    optimizer: Callable[[Any], Optimizer] | None,
    links: Sequence[Link],
    device: Device,
) -> ProcessPlan:
    """Returns what one process takes."""
    counting = CountingCollectives(rank, mesh, links, device.flops * device.efficiency, device.bandwidth)
    placed = layout_of(model, mesh, layout or {})
    replaced: list[tuple[dict[str, Any], str, Any]] = []
    made: dict[int, GlobalTensor] = {}
    saved: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        saved.append(x)
        return x

    with _carrier.using(counting):
        try:
            for table, key, signature in placed:
                x = table[key]
                if id(x) not in made:
                    kind = GlobalParameter if isinstance(x, lm.nn.Parameter) else GlobalTensor
                    made[id(x)] = _on_meta(x, mesh, signature, kind)
                    made[id(x)].stop_gradient = x.stop_gradient
                replaced.append((table, key, x))
                table[key] = made[id(x)]
            given = [
                _on_meta(x, mesh, sbps.signature(input_sbp, mesh.ndim, x.ndim, "plan"), GlobalTensor)
                for x in (*inputs, *targets)
            ]
            with autograd.saved_tensors_hooks(keep, lambda x: x):
                result = model(*given[: len(inputs)])
                total = lm.sum(result) if loss is None else loss(result, *given[len(inputs) :])
            counting.phase = "backward"
            total.backward()
            parameters = [x for x in made.values() if isinstance(x, GlobalParameter)]
            memory = {
                "parameters": _size(made.values()),
                "gradients": _size(x.grad for x in parameters if x.grad is not None),
            }
            counting.phase = "update"
            if optimizer is not None:
                stepped = optimizer([x for x in parameters if not x.stop_gradient])
                stepped.step()
                memory["optimizer state"] = _size(x for state in stepped.state.values() for x in state.values())
            memory["activations"] = _kept(saved, [x._local for x in (*made.values(), *given)])
            memory["inputs"] = _size(given)
        finally:
            for table, key, x in replaced:
                table[key] = x
    return ProcessPlan(rank, memory, counting.traffic, counting.work)
