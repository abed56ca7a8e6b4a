"""Decoding of sequences of tags."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module

from .nn import Layer


def viterbi_decode(
    potentials: Tensor, transition_params: Tensor, lengths: Tensor, include_bos_eos_tag: bool = True, name: Any = None
) -> tuple[Tensor, Tensor]:
    """Returns the best sequences of tags (Viterbi 1967), and their scores.

    Args:
        potentials: scores of tags ``(n, steps, tags)``.
        transition_params: scores of a tag, by rows, before another.
        lengths: the number of steps of each sequence.
        include_bos_eos_tag: True if the last row holds the scores of tags that begin a sequence, and the row before it
            those of tags that end one.
        name: not used.

    Returns:
        Scores ``(n,)``, and tags ``(n, longest length)``, zeros behind a sequence's end.
    """
    with lm.no_grad():
        count, _, tags = tuple(potentials.shape)
        steps = int(lm.max(lengths).item())
        best = potentials[:, 0]
        if include_bos_eos_tag:
            best = best + transition_params[tags - 1]
        before = []
        for step in range(1, steps):
            through = lm.expand_dims(best, 2) + transition_params
            before.append(lm.argmax(through, axis=1))
            goes_on = lm.expand_dims(lengths > step, 1)
            best = lm.where(goes_on, lm.max(through, axis=1) + potentials[:, step], best)
        if include_bos_eos_tag:
            best = best + transition_params[tags - 2]
        tag = lm.argmax(best, axis=1)
        rows = lm.arange(count)
        path = []
        for step in range(steps - 1, -1, -1):
            path.append(lm.where(lengths > step, tag, lm.zeros_like(tag)))
            if step:
                tag = lm.where(lengths > step, before[step - 1][rows, tag], tag)
        return lm.max(best, axis=1), lm.stack(path[::-1], axis=1)


class ViterbiDecoder(Layer):
    """A layer of :func:`viterbi_decode`, which keeps the scores of transitions."""

    def __init__(self, transitions: Tensor, include_bos_eos_tag: bool = True, name: Any = None) -> None:
        super().__init__()
        self.transitions, self.include_bos_eos_tag = transitions, include_bos_eos_tag

    def forward(self, potentials: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Returns scores and tags."""
        return viterbi_decode(potentials, self.transitions, lengths, self.include_bos_eos_tag)


__getattr__ = close_module(__name__)
