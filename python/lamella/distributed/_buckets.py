"""Buckets: gradients that are reduced together, so that few messages go, while the backward pass still runs."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from .._C import _Work as Work

#: Bytes of the first bucket, which is small so that the first message goes early.
_FIRST_BYTES = 1 << 20


class Bucket:
    """Parameters of one dtype and device whose gradients travel together.

    Args:
        parameters: The parameters, each with its number in the model.
    """

    def __init__(self, parameters: Sequence[tuple[int, Tensor]]) -> None:
        self.numbers = [number for number, _ in parameters]
        self.parameters = [parameter for _, parameter in parameters]
        self.sizes = [parameter.size for parameter in self.parameters]
        self.missing = len(self.parameters)
        self._work: Work | None = None

    def start(self, group: ProcessGroup) -> None:
        """Starts to sum the gradients over the processes; a parameter without one adds 0."""
        parts = [(_C.zeros_like(p) if p.grad is None else p.grad.detach()).reshape([-1]) for p in self.parameters]
        flat = _C.concat(parts)
        in_place = len(parts) > 1  # a single part is the gradient itself
        self._work = _C._distributed_start("all_reduce", flat, group=group.name, in_place=in_place)

    def finish(self, divisor: int, unused: frozenset[int]) -> None:
        """Waits for the sums, and makes their quotients the gradients of all parameters but the unused ones.

        The gradients are parts of one tensor.
        """
        assert self._work is not None
        flat = self._work.wait()
        flat.mul_(1.0 / divisor)
        for number, parameter, part in zip(self.numbers, self.parameters, flat.split(self.sizes), strict=True):
            if number not in unused:
                parameter.grad = part.reshape(parameter.shape)
        self._work = None

    def reset(self) -> None:
        """Awaits the gradients of another backward pass."""
        self.missing = len(self.parameters)
        self._work = None


def make_buckets(parameters: Sequence[Tensor], most_bytes: int) -> list[Bucket]:
    """Returns buckets of the parameters, from the last one, whose gradient comes first, to the first one."""
    made: list[Bucket] = []
    open_ones: dict[tuple[str, str], tuple[list[tuple[int, Tensor]], int]] = {}
    for number, parameter in reversed(list(enumerate(parameters))):
        kind = parameter.dtype.name, parameter.device
        members, held = open_ones.get(kind, ([], 0))
        limit = most_bytes if made else min(most_bytes, _FIRST_BYTES)
        if members and held + parameter.nbytes > limit:
            made.append(Bucket(members))
            members, held = [], 0
        open_ones[kind] = [*members, (number, parameter)], held + parameter.nbytes
    made.extend(Bucket(members) for members, _ in open_ones.values())
    return made
