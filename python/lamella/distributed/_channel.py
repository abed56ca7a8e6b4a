"""Messages between the stages of a pipeline: tensors whose number, shapes and dtypes the receiver does not know."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _C
from .._C import Tensor
from .._C import _Work as Work

#: Tags that no program is likely to use: those of descriptions, tensors and gradients.
_DESCRIPTION, _TENSOR, _GRADIENT = 0x7A0001, 0x7A0002, 0x7A0003
#: Numbers in a description, the same in all so that the receiver can be ready for it.
_LENGTH = 64
#: Names of dtypes, which messages give by their numbers.
DTYPES = sorted({x.name for x in vars(_C).values() if isinstance(x, _C.DType)})


class Channel:
    """The way from one stage to the next.

    Args:
        group: The name of the pipeline's group.
        other: The rank of the stage at the other end.
        device: The device of this stage, where tensors arrive.
    """

    def __init__(self, group: str, other: int, device: str) -> None:
        self._group = group
        self._device = device
        self._other = other
        self._sent: list[Work] = []

    def send(self, tensors: Sequence[Tensor]) -> None:
        """Sends tensors forward, without waiting until they have arrived.

        Raises:
            ValueError: They are too many to be described.
        """
        numbers = [len(tensors)]
        for x in tensors:
            numbers += [DTYPES.index(x.dtype.name), int(not x.stop_gradient), x.ndim, *x.shape]
        if len(numbers) > _LENGTH:
            raise ValueError(
                f"[Pipeline] a stage returns {len(tensors)} tensors of together too many axes for a message"
            )
        self._send(_C.asarray(numbers + [0] * (_LENGTH - len(numbers)), dtype="int64", device="cpu"), _DESCRIPTION)
        for x in tensors:
            self._send(x.detach(), _TENSOR)

    def receive(self) -> list[Tensor]:
        """Returns the tensors that come from the stage before; those that wanted a gradient want one here."""
        told = self._receive([_LENGTH], "int64", _DESCRIPTION, "cpu").tolist()
        found, at = [], 1
        for _ in range(told[0]):
            dtype, wants, ndim = told[at : at + 3]
            shape = told[at + 3 : at + 3 + ndim]
            at += 3 + ndim
            x = self._receive(shape, DTYPES[dtype], _TENSOR)
            x.stop_gradient = not wants
            found.append(x)
        return found

    def send_back(self, tensors: Sequence[Tensor]) -> None:
        """Sends the gradients of what was received, in the order of those that wanted one."""
        for x in tensors:
            if not x.stop_gradient:
                self._send(_C.zeros_like(x.detach()) if x.grad is None else x.grad.detach(), _GRADIENT)

    def receive_back(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Returns the gradients of tensors that were sent and want one."""
        return [self._receive(list(x.shape), x.dtype.name, _GRADIENT) for x in tensors]

    def wait(self) -> None:
        """Waits until all that was sent has gone."""
        for work in self._sent:
            work.wait()
        self._sent.clear()

    def _send(self, x: Tensor, tag: int) -> None:
        if x.size:  # a message has at least one byte
            self._sent.append(_C._distributed_start("send", x, root=self._other, tag=tag, group=self._group))

    def _receive(self, shape: Sequence[int], dtype: str, tag: int, device: str | None = None) -> Tensor:
        like = _C.broadcast_to(_C.zeros([], dtype=dtype, device=device or self._device), shape)
        if not like.size:
            return like
        found: Tensor = _C._distributed_start("recv", like, root=self._other, tag=tag, group=self._group).wait()
        return found
