"""Packed sequences, as recurrent layers take them; :mod:`lamella.nn.utils.rnn` makes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import lamella as lm


class PackedSequence(NamedTuple):
    """Steps of several sequences without gaps: the first steps of all, then the second ones of those that have one, ..

    Recurrent layers take it in the place of a padded tensor, and spend no time on padding.

    Attributes:
        data: the steps, ``(steps of all together, *size)``, of the sequences from the longest to the shortest.
        batch_sizes: for each step, how many sequences have it; int64, on the CPU.
        sorted_indices: the places of the sequences from the longest to the shortest, or None where they were sorted.
        unsorted_indices: for each sequence its place among the sorted ones, or None.
    """

    data: lm.Tensor
    batch_sizes: lm.Tensor
    sorted_indices: lm.Tensor | None = None
    unsorted_indices: lm.Tensor | None = None

    @property
    def is_cuda(self) -> bool:
        """True if the steps are on a CUDA device."""
        return str(self.data.device).startswith("cuda")

    def to(self, *targets: Any) -> PackedSequence:
        """Returns the steps on another device, or in another dtype."""
        data = self.data
        for target in targets:
            data = data.to(target)
        return self._replace(data=data)


def segments(batch_sizes: lm.Tensor) -> Iterator[tuple[int, int, int]]:
    """Yields the runs of steps that as many sequences have: the first row of the data, the steps, the sequences."""
    sizes = [int(size) for size in batch_sizes.tolist()]
    row, begin = 0, 0
    for step in range(1, len(sizes) + 1):
        if step == len(sizes) or sizes[step] != sizes[begin]:
            yield row, step - begin, sizes[begin]
            row += (step - begin) * sizes[begin]
            begin = step
