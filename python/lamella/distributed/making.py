"""Makes global tensors: of every process's part, or of a whole that all have."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import _C, autograd
from lamella import sbp as sbps
from lamella._C import Tensor
from lamella.sbp import SbpLike

from . import _carrier
from .global_tensor import GlobalTensor, adjoint, settled
from .mesh import placement
from .redistribute import Signature, local_range, local_shape, redistribute

__all__ = ["distribute", "part_of", "to_global", "whole_shape"]


class _Global(autograd.PyLayer):
    """A tensor as the process's part of a global one; its gradient is added up where it is whole."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, place: Any) -> Tensor:
        ctx.place = place
        return local.clone()

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        shape, mesh, signature = ctx.place
        return redistribute(dy, shape, mesh, adjoint(signature), settled(signature)), None


def whole_shape(local: Tensor, mesh: placement, signature: Signature, op: str) -> tuple[int, ...]:
    """Returns the shape of the whole of which processes hold parts; they tell each other their sizes.

    Raises:
        ValueError: the parts do not fit together.
    """
    shape = list(local.shape)
    if all(one.is_broadcast for one in signature) and op != "to_global":
        return tuple(shape)
    for k in reversed(range(mesh.ndim)):
        if mesh.shape[k] == 1:
            continue
        sizes = lm.asarray([shape], dtype="int64", device="cpu")
        listed = _carrier.current().all_gather(sizes, 0, [1] * mesh.shape[k], mesh.group(k)).tolist()
        if signature[k].is_split:
            shape[signature[k].axis] = sum(one[signature[k].axis] for one in listed)
        elif any(one != listed[0] for one in listed):
            raise ValueError(f"[{op}] the processes along axis {k} of the mesh have tensors of other shapes: {listed}")
    expected = local_shape(shape, mesh, signature, mesh.coordinate())
    if expected != tuple(local.shape):
        raise ValueError(
            f"[{op}] a part of shape {list(local.shape)} is no part of {shape} under {signature}: "
            f"expected {list(expected)}, as numpy.array_split cuts it"
        )
    return tuple(shape)


def _even(local: Tensor, mesh: placement, signature: Signature) -> tuple[int, ...]:
    """Returns the shape of the whole of parts that have one shape on all processes."""
    shape = list(local.shape)
    for one, count in zip(signature, mesh.shape, strict=True):
        if one.is_split:
            shape[one.axis] *= count
    return tuple(shape)


def to_global(
    x: Tensor, placement: placement | None = None, sbp: SbpLike | None = None, *, synchronize: bool = True
) -> GlobalTensor:
    """Makes a global tensor of every process's part, or brings a global tensor to other signatures.

    All processes of the placement call it together. A tensor is the process's part: where the signature is
    :func:`lamella.sbp.split`, parts are those of ``numpy.array_split``; where it is ``lamella.sbp.broadcast``, the
    first process's values are every process's.

    Args:
        x: the part, or a global tensor.
        placement: the processes; those of a global tensor by default.
        sbp: a signature, or one for each axis of the placement; those of a global tensor by default.
        synchronize: False sends nothing: what is whole is the same on all processes already, and parts have one shape.

    Raises:
        TypeError: a tensor that is not global needs both.
        ValueError: the parts do not fit together, a signature does not fit, or the placement is another.
        RuntimeError: this process is not in the placement.
    """
    if isinstance(x, GlobalTensor):
        return x.to_global(placement, sbp)
    if placement is None or sbp is None:
        raise TypeError("[to_global] a tensor that is not global takes a placement and signatures")
    signature = sbps.signature(sbp, placement.ndim, x.ndim, "to_global")
    placement.coordinate()
    shape = whole_shape(x, placement, signature, "to_global") if synchronize else _even(x, placement, signature)
    local = x if x.stop_gradient else _Global.apply(x, (shape, placement, signature))
    with lm.no_grad():
        for k, one in enumerate(signature):
            if synchronize and one.is_broadcast and placement.shape[k] > 1:
                first = _carrier.current().broadcast(local.detach(), placement.group(k))
                if x.stop_gradient:
                    local = first
                else:
                    local.detach().copy_(first)
    return GlobalTensor._of(local, shape, placement, signature)


def distribute(x: Tensor, placement: placement, sbp: SbpLike) -> GlobalTensor:
    """Makes a global tensor of one that every process has whole: each keeps its part. Nothing is sent.

    Args:
        x: the whole tensor, the same on every process; the result is a leaf without its graph.
        placement: the processes.
        sbp: a signature, or one for each axis of the placement.

    Raises:
        ValueError: a signature does not fit.
        RuntimeError: this process is not in the placement.
    """
    signature = sbps.signature(sbp, placement.ndim, x.ndim, "distribute")
    return GlobalTensor._of(part_of(x, placement, signature), x.shape, placement, signature)


def part_of(x: Tensor, mesh: placement, signature: Signature) -> Tensor:
    """Returns this process's part of a whole tensor, in memory of its own."""
    at = mesh.coordinate()
    with lm.no_grad():
        own = x.detach()
        for axis, (start, stop) in enumerate(local_range(x.shape, mesh, signature, at)):
            if stop - start != x.shape[axis]:
                own = _C.narrow(own, axis, start, stop - start)
        if any(one is sbps.partial_sum and i for one, i in zip(signature, at, strict=True)):
            return lm.zeros_like(own)
        return own.clone()
