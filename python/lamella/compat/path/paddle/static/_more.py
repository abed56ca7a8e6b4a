"""Settings, files and metrics beside programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lamella as lm


class BuildStrategy:
    """Settings of how Paddle builds a program: attributes that are kept, and change nothing here."""


@contextlib.contextmanager
def device_guard(device: str | None = None) -> Iterator[None]:
    """Changes nothing: a program runs on the executor's device."""
    yield


def save_to_file(path: Any, content: bytes) -> None:
    """Writes bytes."""
    if not isinstance(content, bytes):
        raise TypeError(f"[save_to_file] content is bytes, not {type(content).__name__}")
    Path(path).write_bytes(content)


def load_from_file(path: Any) -> bytes:
    """Returns the bytes of a file."""
    return Path(path).read_bytes()


def auc(
    input: Any,
    label: Any,
    curve: str = "ROC",
    num_thresholds: int = 4095,
    topk: int = 1,
    slide_steps: int = 1,
    ins_tag_weight: Any = None,
) -> tuple[Any, Any, list[Any]]:
    """Returns the area under the curve of a batch, twice, and the counts of both classes at each threshold.

    Args:
        input: the probabilities of classes 0 and 1, ``(n, 2)``.
        label: 0 or 1, ``(n, 1)``.
        curve: must be "ROC".
        num_thresholds: number of steps between the probabilities 0 and 1.
        topk: not used.
        slide_steps: not used: only the batch counts.
        ins_tag_weight: must be None.

    Raises:
        NotImplementedError: ``curve`` or ``ins_tag_weight`` is another.
    """
    if curve != "ROC" or ins_tag_weight is not None:
        raise NotImplementedError("[auc] Lamella's paddle front takes the curve 'ROC' without weights")
    place = lm.floor(input[:, 1] * num_thresholds).astype("int64")
    truth = lm.reshape(label, (-1,)).astype("float32")
    at = lm.one_hot(place, num_thresholds + 1).astype("float32")
    positive = lm.sum(at * lm.expand_dims(truth, 1), axis=0)
    negative = lm.sum(at * lm.expand_dims(1 - truth, 1), axis=0)
    # Trapezoids between thresholds, from the highest one on.
    right = lm.cumsum(lm.flip(positive, axis=0), 0)
    wrong = lm.flip(negative, axis=0)
    area = lm.sum(wrong * (right - lm.flip(positive, axis=0) / 2))
    both = lm.sum(positive) * lm.sum(negative)
    value = lm.where(both > 0, area / lm.maximum(both, lm.ones_like(both)), lm.zeros_like(both))
    return value, value, [positive, negative]
