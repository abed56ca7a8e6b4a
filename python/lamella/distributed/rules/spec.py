"""Axes of a call's tensors as letters, by which a rule says in what ways the call may be split."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lamella.sbp import PARTIAL, Sbp, broadcast, partial_sum, split

if TYPE_CHECKING:
    from .call import Call, Pieces

#: A letter that stands for axes of which nothing is known: they are never split.
UNKNOWN = "."


@dataclass(frozen=True)
class Way:
    """One way to split a call over the processes along an axis of a mesh."""

    #: The signature of each tensor that the call is given.
    inputs: tuple[Sbp, ...]
    #: That of each result.
    outputs: tuple[Sbp, ...]
    #: The letter that is split, if the way comes from one.
    letter: str = ""


@dataclass(frozen=True)
class Spec:
    """The axes of a call's tensors.

    A letter names an axis wherever it occurs, as in ``einsum``: splitting a letter splits each tensor that has it and
    leaves the others whole. A letter that is no result's is reduced, and its parts give partial results.
    """

    #: The letters of each tensor that the call is given, one for each axis.
    inputs: tuple[str, ...]
    #: Those of each result.
    outputs: tuple[str, ...]
    #: Letters that are never split.
    fixed: str = ""
    #: By a reduced letter, what joins the partial results: "sum", "max", "min". Letters that are not there stay whole.
    partial: Mapping[str, str] = field(default_factory=dict)
    #: Sets of tensors in which the call is linear together: with partial sums in these and the others whole, the
    #: results are partial sums.
    linear: tuple[frozenset[int], ...] = ()
    #: Tensors that are added to the result, which are partial sums where it is one.
    added: frozenset[int] = frozenset()
    #: Ways of which letters do not tell.
    more: tuple[Way, ...] = ()
    #: Letters of axes that are regrouped: they are split only into parts of one size.
    even: str = ""
    #: By a parameter that holds a result's shape, the number of the result: each process gives its part's shape.
    shapes: Mapping[str, int] = field(default_factory=dict)
    #: Computes the call on this process's parts in place of the operator.
    run: Callable[[Call, Pieces], Any] | None = None

    def ways(self, sizes: Mapping[str, int], n: int) -> Iterator[Way]:
        """Returns the ways over ``n`` processes, the one in which all is broadcast first.

        Args:
            sizes: the size of each letter.
            n: the number of processes; an axis is split where each gets a part.
        """
        yield Way((broadcast,) * len(self.inputs), (broadcast,) * len(self.outputs))
        for letter, size in sizes.items():
            if letter not in self.fixed and letter != UNKNOWN and size >= n and not (letter in self.even and size % n):
                way = self._split(letter)
                if way is not None:
                    yield way
        for together in self.linear:
            yield Way(
                tuple(partial_sum if i in together else broadcast for i in range(len(self.inputs))),
                (partial_sum,) * len(self.outputs),
            )
        yield from self.more

    def _split(self, letter: str) -> Way | None:
        outputs = []
        for labels in self.outputs:
            if letter in labels:
                outputs.append(split(labels.index(letter)))
            elif letter in self.partial:
                outputs.append(PARTIAL[self.partial[letter]])
            else:
                return None
        summed = partial_sum in outputs
        inputs = []
        for i, labels in enumerate(self.inputs):
            if letter in labels:
                inputs.append(split(labels.index(letter)))
            else:
                inputs.append(partial_sum if summed and i in self.added else broadcast)
        return Way(tuple(inputs), tuple(outputs), letter)

    def sizes(self, inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]] | None) -> dict[str, int]:
        """Returns each letter's size: of axes that are regrouped, and differ, their greatest common divisor."""
        found: dict[str, int] = {}
        labeled = [*zip(self.inputs, inputs, strict=True), *zip(self.outputs, outputs or (), strict=False)]
        for labels, shape in labeled:
            for letter, size in zip(labels, shape, strict=bool(labels)):
                found[letter] = math.gcd(size, found.get(letter, size))
        return found


def equation(text: str, **rest: Any) -> Spec:
    """Returns the axes that an equation in einsum's notation names: ``"nd,d->nd"``.

    Args:
        text: letters of the tensors given, with commas, and after the arrow of the results.
        rest: other fields of the :class:`Spec`, such as ``fixed="d"`` or ``partial={"n": "sum"}``.

    Raises:
        ValueError: there is no arrow.
    """
    inputs, arrow, outputs = text.replace(" ", "").partition("->")
    if not arrow:
        raise ValueError(f"[equation] {text!r} has no '->' between what is given and the results")
    return Spec(tuple(inputs.split(",")) if inputs else (), tuple(outputs.split(",")), **rest)
