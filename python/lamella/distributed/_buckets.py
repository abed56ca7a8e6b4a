"""Buckets: gradients that are reduced together, so that few messages go, while the backward pass still runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from .._C import _Work as Work

#: Bytes of the first bucket, which is small so that the first message goes early.
_FIRST_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class GradientBucket:
    """Gradients that travel together, as a hook of :class:`DistributedDataParallel` gets them.

    Attributes:
        index: Place of the bucket in the order in which buckets go, which is the same on all processes.
        is_last: True for the last bucket of a pass.
        tensor: This process's gradients, one after the other, shape ``(n,)``; a hook may overwrite it.
        parameters: Whose gradients they are.
        group: The processes.
    """

    index: int
    is_last: bool
    tensor: Tensor
    parameters: Sequence[Tensor]
    group: ProcessGroup

    def gradients(self) -> list[Tensor]:
        """Returns the gradient of each parameter, in its shape: views of ``tensor``."""
        parts = self.tensor.split([p.size for p in self.parameters])
        return [part.reshape(p.shape) for part, p in zip(parts, self.parameters, strict=True)]


#: Called with a bucket, in the same order on all processes; returns the mean of ``tensor`` over the processes, or an
#: object whose ``wait()`` does.
CommHook = Callable[[GradientBucket], Any]


class Bucket:
    """Parameters of one dtype and device whose gradients travel together.

    Args:
        parameters: The parameters, each with its number in the model.
        index: Place of the bucket in the order of all.
    """

    def __init__(self, parameters: Sequence[tuple[int, Tensor]], index: int) -> None:
        self.index = index
        self.numbers = [number for number, _ in parameters]
        self.parameters = [parameter for _, parameter in parameters]
        self.sizes = [parameter.size for parameter in self.parameters]
        self.missing = len(self.parameters)
        #: What was started: for a hook also its answer, and the number of processes that it divides by.
        self._work: Work | None = None
        self._answer: tuple[Any, int] | None = None

    def start(self, group: ProcessGroup, hook: CommHook | None, is_last: bool) -> None:
        """Starts to sum the gradients over the processes; a parameter without one adds 0."""
        parts = [(_C.zeros_like(p) if p.grad is None else p.grad.detach()).reshape([-1]) for p in self.parameters]
        flat = _C.concat(parts)
        in_place = len(parts) > 1  # a single part is the gradient itself
        if hook is None:
            self._work = _C._distributed_start("all_reduce", flat, group=group.name, in_place=in_place)
            return
        with _C.no_grad():
            own = flat if in_place else flat.clone()
            self._answer = hook(GradientBucket(self.index, is_last, own, self.parameters, group)), group.size

    def _sums(self) -> tuple[Tensor, int]:
        """Waits for what was started; returns it, and what it was divided by."""
        if self._answer is None:
            assert self._work is not None
            return self._work.wait(), 1
        answer, size = self._answer
        found = answer if isinstance(answer, Tensor) else answer.wait()
        count, dtype = sum(self.sizes), self.parameters[0].dtype
        if not isinstance(found, Tensor) or found.size != count:
            what = f"a tensor of {found.size}" if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(f"[register_comm_hook] the hook returns a tensor of {count} elements, not {what}")
        return found.detach().reshape([-1]).astype(dtype), size

    def finish(self, divisor: int, unused: frozenset[int]) -> None:
        """Waits for the sums, and makes their quotients the gradients of all parameters but the unused ones.

        The gradients are parts of one tensor.
        """
        flat, divided = self._sums()
        if divided != divisor:
            flat.mul_(divided / divisor)
        for number, parameter, part in zip(self.numbers, self.parameters, flat.split(self.sizes), strict=True):
            if number not in unused:
                parameter.grad = part.reshape(parameter.shape)
        self._work = self._answer = None

    def reset(self, unused: frozenset[int]) -> None:
        """Awaits the gradients of another backward pass, but for those that are known not to come."""
        self.missing = sum(number not in unused for number in self.numbers)
        self._work = self._answer = None


def make_buckets(parameters: Sequence[Tensor], most_bytes: int) -> list[Bucket]:
    """Returns buckets of the parameters, from the last one, whose gradient comes first, to the first one."""
    made: list[Bucket] = []
    open_ones: dict[tuple[str, str], tuple[list[tuple[int, Tensor]], int]] = {}
    for number, parameter in reversed(list(enumerate(parameters))):
        kind = parameter.dtype.name, parameter.device
        members, held = open_ones.get(kind, ([], 0))
        limit = most_bytes if made else min(most_bytes, _FIRST_BYTES)
        if members and held + parameter.nbytes > limit:
            made.append(Bucket(members, len(made)))
            members, held = [], 0
        open_ones[kind] = [*members, (number, parameter)], held + parameter.nbytes
    for members, _ in open_ones.values():
        made.append(Bucket(members, len(made)))
    return made
