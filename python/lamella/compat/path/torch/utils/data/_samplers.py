"""Orders that are longer than memory: programs draw 10**10 samples and stop by themselves."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import lamella as lm

_data: Any = importlib.import_module("lamella.data")

#: Numbers that are drawn at once.
_PIECE = 1 << 16
#: The longest order that is drawn as a whole, as Lamella's sampler does.
_WHOLE = 1 << 24


class RandomSampler(_data.RandomSampler):  # type: ignore[misc]
    """Samples in random order, with ``replacement`` as many as are asked for: :class:`lamella.data.RandomSampler`."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(data_source, replacement, num_samples, generator)
        if replacement and len(self) > _WHOLE:
            self.__class__ = _InPieces


class _InPieces(RandomSampler):
    """Draws a piece of the order after the other."""

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = lm.Generator("cpu", int(lm.randint(0, 2**62, ()).item()))
        left = len(self)
        while left > 0:
            count = min(left, _PIECE)
            yield from lm.randint(0, len(self.data_source), (count,), generator=generator).numpy().tolist()
            left -= count


RandomSampler.__module__ = "torch.utils.data"
