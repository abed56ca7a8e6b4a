"""Sequences of several lengths: padded to one length, or packed without gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import lamella as lm

from .._packed import PackedSequence as PackedSequence

if TYPE_CHECKING:
    import numpy as np

Lengths = lm.Tensor | Sequence[int]


def pack_padded_sequence(
    x: lm.Tensor, lengths: Lengths, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs padded sequences.

    Args:
        x: ``(steps, n, *size)``, with ``batch_first`` ``(n, steps, *size)``.
        lengths: the length of each sequence, from 1 to ``steps``.
        batch_first: whether the batch is axis 0.
        enforce_sorted: True refuses sequences that do not stand from the longest to the shortest, which ONNX wants;
            False sorts them, and :func:`pad_packed_sequence` puts them back in their order.

    Raises:
        ValueError: the lengths do not fit, or are not sorted.
        TypeError: ``x`` is no tensor.
    """
    import numpy as np  # imported late: lamella.nn itself needs none

    op = "pack_padded_sequence"
    if not isinstance(x, lm.Tensor):
        raise TypeError(f"[{op}] x is a Tensor, not {type(x).__name__}")
    if x.ndim < 2:
        raise ValueError(f"[{op}] x has at least two axes, not the shape {list(x.shape)}")
    if not batch_first:
        x = lm.swapaxes(x, 0, 1)
    n, steps = x.shape[:2]
    counts = _counts(op, lengths)
    if counts.shape != (n,):
        raise ValueError(f"[{op}] there are {n} sequences and {len(counts)} lengths")
    if n == 0 or counts.min() < 1 or counts.max() > steps:
        raise ValueError(f"[{op}] lengths are between 1 and {steps} steps, got {counts.tolist()}")
    order = np.argsort(-counts, kind="stable")
    is_sorted = bool((np.diff(counts) <= 0).all())
    if enforce_sorted and not is_sorted:
        raise ValueError(
            f"[{op}] the sequences stand from the longest to the shortest, got the lengths {counts.tolist()}: "
            "enforce_sorted=False sorts them"
        )
    sizes = _batch_sizes(counts)
    # Row i of the result is step t of the sorted sequence k, for t from 0 on and, for each, k from 0 on.
    t = np.repeat(np.arange(len(sizes)), sizes)
    k = order[np.arange(len(t)) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
    data = x[_index(k, x), _index(t, x)]
    if enforce_sorted:
        return PackedSequence(data, lm.asarray(sizes))
    back = np.empty_like(order)
    back[order] = np.arange(n)
    return PackedSequence(data, lm.asarray(sizes), _index(order, x), _index(back, x))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[lm.Tensor, lm.Tensor]:
    """Pads packed sequences: the inverse of :func:`pack_padded_sequence`.

    Args:
        sequence: the packed sequences.
        batch_first: whether the batch is to be axis 0 of the result.
        padding_value: an element behind a sequence's end.
        total_length: steps of the result; those of the longest sequence by default.

    Returns:
        The padded sequences, and their lengths, int64.

    Raises:
        ValueError: a sequence is longer than ``total_length``.
    """
    import numpy as np  # imported late: lamella.nn itself needs none

    op = "pad_packed_sequence"
    data = sequence.data
    sizes = _host(sequence.batch_sizes)
    steps = len(sizes) if total_length is None else total_length
    if steps < len(sizes):
        raise ValueError(f"[{op}] total_length is {steps}, the longest sequence has {len(sizes)} steps")
    n = int(sizes[0])
    counts = (sizes[:, None] > np.arange(n)).sum(0)
    back = np.arange(n) if sequence.unsorted_indices is None else _host(sequence.unsorted_indices)
    starts = np.cumsum(sizes) - sizes
    # For each sequence and step the row of the data; the row behind the last one holds the padding.
    t = np.arange(steps)
    there = t < counts[back][:, None]
    rows = np.where(there, np.pad(starts, (0, steps - len(sizes)))[t] + back[:, None], data.shape[0])
    padding = lm.full((1, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    table = lm.concat([data, padding]) if not there.all() else data
    padded = lm.reshape(lm.take(table, _index(rows.reshape(-1), data), axis=0), (n, steps, *data.shape[1:]))
    return padded if batch_first else lm.swapaxes(padded, 0, 1), lm.asarray(counts[back])


def pad_sequence(
    sequences: Sequence[lm.Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> lm.Tensor:
    """Stacks sequences of several lengths, the shorter ones padded.

    Args:
        sequences: tensors ``(length, *size)`` of one size.
        batch_first: whether the batch is to be axis 0 of the result, and the steps axis 1.
        padding_value: an element of the padding.
        padding_side: "right" for padding behind a sequence, "left" for padding before it.

    Raises:
        ValueError: there are no sequences, or they differ in more than their length.
        TypeError: something is no tensor.
    """
    op = "pad_sequence"
    listed = list(sequences)
    if padding_side not in ("left", "right"):
        raise ValueError(f"[{op}] padding_side is 'left' or 'right', not {padding_side!r}")
    if not listed:
        raise ValueError(f"[{op}] there are no sequences")
    if any(not isinstance(x, lm.Tensor) for x in listed):
        raise TypeError(f"[{op}] sequences are tensors, got {[type(x).__name__ for x in listed]}")
    if any(x.ndim < 1 or x.shape[1:] != listed[0].shape[1:] for x in listed):
        raise ValueError(
            f"[{op}] sequences differ in their length only, got the shapes {[list(x.shape) for x in listed]}"
        )
    steps = max(x.shape[0] for x in listed)
    padded = []
    for x in listed:
        missing = steps - x.shape[0]
        sides = (missing, 0) if padding_side == "left" else (0, missing)
        # Pairs for the last axis come first.
        around = [0, 0] * (x.ndim - 1) + [*sides]
        padded.append(lm.pad(x, around, "constant", padding_value) if missing else x)
    return lm.stack(padded, axis=0 if batch_first else 1)


def unpad_sequence(padded_sequences: lm.Tensor, lengths: Lengths, batch_first: bool = False) -> list[lm.Tensor]:
    """Returns the sequences of a padded tensor, each of its length: the inverse of :func:`pad_sequence`."""
    x = padded_sequences if batch_first else lm.swapaxes(padded_sequences, 0, 1)
    counts = _counts("unpad_sequence", lengths)
    if counts.shape != x.shape[:1] or (counts > x.shape[1]).any() or (counts < 0).any():
        raise ValueError(
            f"[unpad_sequence] there are {x.shape[0]} sequences of at most {x.shape[1]} steps, got the lengths "
            f"{counts.tolist()}"
        )
    return [x[i, : int(count)] for i, count in enumerate(counts)]


def pack_sequence(sequences: Sequence[lm.Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences, see :func:`pack_padded_sequence`.

    Args:
        sequences: tensors ``(length, *size)`` of one size.
        enforce_sorted: True refuses sequences that do not stand from the longest to the shortest.
    """
    listed = list(sequences)
    padded = pad_sequence(listed, batch_first=True)
    return pack_padded_sequence(padded, [x.shape[0] for x in listed], True, enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[lm.Tensor]:
    """Returns the sequences of a packed one, each of its length: the inverse of :func:`pack_sequence`."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def invert_permutation(permutation: lm.Tensor | None) -> lm.Tensor | None:
    """Returns the permutation that undoes another; None for None."""
    return None if permutation is None else lm.argsort(permutation)


def _counts(op: str, lengths: Lengths) -> np.ndarray[Any, np.dtype[np.int64]]:
    import numpy as np  # imported late: lamella.nn itself needs none

    given: Any = _host(lengths) if isinstance(lengths, lm.Tensor) else np.asarray(list(lengths))
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(f"[{op}] lengths are integers along one axis, got {given.dtype} of the shape {given.shape}")
    return given.astype(np.int64)


def _batch_sizes(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns for each step how many sequences have it."""
    import numpy as np  # imported late: lamella.nn itself needs none

    return (counts[:, None] > np.arange(counts.max())).sum(0)


def _host(x: lm.Tensor) -> np.ndarray[Any, Any]:
    return x.to("cpu").numpy()


def _index(places: np.ndarray[Any, Any], like: lm.Tensor) -> lm.Tensor:
    return lm.asarray(places.astype("int64"), device=like.device)
