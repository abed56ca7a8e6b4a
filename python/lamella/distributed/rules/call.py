"""A call of an operator or a layer, as rules see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import _tree
from lamella._C import Tensor


class Call:
    """A call whose tensors are given as their global shapes.

    Attributes:
        name: the operator's or layer's name.
        arguments: the arguments by their parameters' names, with tensors on ``meta`` of the global shapes.
        tensors: those tensors, in order.
    """

    def __init__(
        self, name: str, arguments: dict[str, Any], run: Callable[[dict[str, Any]], Any], context: Any = None
    ) -> None:
        self.name = name
        self.arguments = arguments
        #: Whatever else the rule needs: the use of an operator in OneFlow's dialect.
        self.context = context
        self._run = run
        self.tensors, self._spec = _tree.flatten(arguments)
        self._describe: Callable[[list[Tensor]], list[Tensor]] | None = None
        self._results: list[Tensor] | None = None

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The global shapes of the tensors that the call is given."""
        return [tuple(x.shape) for x in self.tensors]

    def places(self, name: str) -> list[int]:
        """Returns the numbers, among :attr:`tensors`, of those in an argument."""
        given, _ = _tree.flatten(self.arguments.get(name))
        return [i for i, x in enumerate(self.tensors) if any(x is y for y in given)]

    def run(self, tensors: Sequence[Tensor], **changed: Any) -> Any:
        """Calls the operator on other tensors, and with some other arguments."""
        return self._run({**_tree.rebuild(self._spec, tensors), **changed})

    def named(self, tensors: Sequence[Tensor]) -> dict[str, Any]:
        """Returns the arguments by name with other tensors."""
        arguments: dict[str, Any] = _tree.rebuild(self._spec, tensors)
        return arguments

    def results(self) -> list[Tensor]:
        """Returns the results on ``meta``.

        Raises:
            NotImplementedError, RuntimeError: The call has no shape without elements.
        """
        if self._results is None and self._describe is not None:
            self._results = self._describe(self.tensors)
        if self._results is None:
            with lm.no_grad():
                self._results, _ = _tree.flatten(self.run(self.tensors))
        return self._results

    def describe(self, results: Callable[[list[Tensor]], list[Tensor]]) -> None:
        """Has the results on ``meta`` told by a function of the tensors, where the call cannot be made there."""
        self._describe = results

    def follows(self, place: int | Sequence[int], axis: int) -> list[int | None] | None:
        """Returns which axis of each result has the size of an axis of a tensor, found by calls on ``meta``.

        Args:
            place: the tensor's number, or those of several that are changed together.
            axis: their axis.

        Returns:
            For each result the axis, None where none changes; None where the call does not allow another size.
        """
        places = [place] if isinstance(place, int) else list(place)
        tensors = list(self.tensors)
        for i in places:
            shape = list(tensors[i].shape)
            shape[axis] *= 2
            tensors[i] = lm.empty(shape, dtype=tensors[i].dtype, device="meta")
        try:
            with lm.no_grad():
                others, _ = _tree.flatten(self.run(tensors))
        except (ValueError, RuntimeError, IndexError, TypeError):
            return None
        found: list[int | None] = []
        for before, after in zip(self.results(), others, strict=False):
            if before.ndim != after.ndim:
                return None
            changed = [k for k, (a, b) in enumerate(zip(before.shape, after.shape, strict=True)) if a != b]
            if len(changed) > 1 or (changed and after.shape[changed[0]] != 2 * before.shape[changed[0]]):
                return None
            found.append(changed[0] if changed else None)
        return found if len(others) == len(found) else None


class Pieces:
    """This process's parts of a call's tensors, for rules that compute in place of the operator.

    Attributes:
        tensors: the parts.
        ranges: for each tensor, where its part begins and ends along each axis of the whole.
        shapes: the whole shapes.
        results: the shapes of this process's parts of the results.
    """

    def __init__(
        self,
        tensors: Sequence[Tensor],
        ranges: Sequence[tuple[tuple[int, int], ...]],
        shapes: Sequence[Sequence[int]],
        results: Sequence[tuple[int, ...]],
    ) -> None:
        self.tensors = list(tensors)
        self.results = results
        self.ranges = ranges
        self.shapes = shapes

    def is_cut(self, place: int, axis: int) -> bool:
        """True if a process has only a part along an axis of a tensor."""
        return self.ranges[place][axis] != (0, self.shapes[place][axis])

    def share(self, place: int) -> float:
        """Returns how much of a tensor the part is, 1 for all of it."""
        whole = math.prod(self.shapes[place])
        return math.prod(stop - start for start, stop in self.ranges[place]) / whole if whole else 1.0
