"""Tensors that a program makes while it is recorded, of numbers alone: each run that writes into them has new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lamella import _C
from lamella._C import Tensor


def _memory(x: Tensor) -> tuple[int, int]:
    """Returns where the elements begin and end, in bytes."""
    reaches = [(size - 1) * stride for size, stride in zip(x.shape, x.strides, strict=True)]
    if x.size == 0:
        return 0, 0
    start = x.data_ptr()
    low, high = (sum(pick(reach, 0) for reach in reaches) * x.dtype.itemsize for pick in (min, max))
    return start + low, start + high + x.dtype.itemsize


class Made:
    """Follows what is computed of no value of a graph while one is recorded.

    A program's calls of factories and what it computes of their results are constants of its graph. One that the
    program writes into must be as it was made in each run: the graph copies it before the first write.
    """

    def __init__(self) -> None:
        # Held, so that no other tensor gets the id of one.
        self._made: dict[int, Tensor] = {}
        self._views: dict[int, Tensor] = {}
        self._viewed: set[int] = set()
        #: The graph's copies of those that were written to.
        self.copies: dict[int, Tensor] = {}

    def run(self, call: Callable[[], Any], given: Iterable[Any]) -> Any:
        """Runs a call that is not recorded, of some arguments, and notes its results."""
        previous = _C._set_recorder(None)
        try:
            result = call()
        finally:
            _C._set_recorder(previous)
        tensors = [x for x in given if isinstance(x, Tensor)]
        for x in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(x, Tensor) and x.device != "meta":
                self._note(x, tensors)
        return result

    def _note(self, x: Tensor, given: Sequence[Tensor]) -> None:
        if any(x is other for other in given):
            return
        shown = [other for other in given if _overlap(_memory(x), _memory(other))]
        if not shown:
            self._made[id(x)] = x
        elif any(id(other) in self._made or id(other) in self._views for other in shown):
            self._views[id(x)] = x
            self._viewed.update(id(other) for other in shown)

    def written(self, x: Tensor, copy: Callable[[Tensor], Tensor]) -> Tensor:
        """Returns what a write into ``x`` goes to: a copy for each run, if the program has made ``x``.

        Raises:
            RuntimeError: another tensor that the program has made shares the memory.
        """
        shares = any(other is not x and _overlap(_memory(x), _memory(other)) for other in self._made.values())
        if id(x) in self._viewed or id(x) in self._views or shares:
            raise RuntimeError(
                "[graph] a tensor that is made of numbers while a program is recorded is written to through a view, or "
                "has views made before: write into the tensor itself first, or begin with a clone()"
            )
        return self.anew(x, copy)

    def anew(self, x: Tensor, copy: Callable[[Tensor], Tensor]) -> Tensor:
        """Returns a copy for each run, if the program has made ``x``; otherwise ``x`` itself."""
        if id(x) in self._made and id(x) not in self.copies:
            self.copies[id(x)] = copy(x)
        return self.copies.get(id(x), x)


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]
