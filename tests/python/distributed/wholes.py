"""Puts together, in numpy, what processes hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def part_of(whole: np.ndarray[Any, Any], mesh: Sequence[int], signature: Sequence[str], at: Sequence[int]) -> Any:
    """The part of a whole at a place in a mesh; a partial sum's first process holds all."""
    own = whole
    for one, n, i in zip(signature, mesh, at, strict=True):
        if one.startswith("S"):
            own = np.array_split(own, n, axis=int(one[2:-1]))[i]
        elif one == "P" and i:
            own = np.zeros_like(own)
    return own


def random_parts(
    whole: np.ndarray[Any, Any], mesh: Sequence[int], signature: Sequence[str], rng: np.random.Generator
) -> dict[tuple[int, ...], Any]:
    """Parts by their places, of which no partial one is empty."""

    def cut(own: Any, k: int, at: tuple[int, ...]) -> None:
        if k == len(mesh):
            parts[at] = own
            return
        n, one = mesh[k], signature[k]
        if one == "B":
            pieces = [own] * n
        elif one.startswith("S"):
            pieces = np.array_split(own, n, axis=int(one[2:-1]))
        elif one == "P":
            pieces = [rng.integers(-9, 9, own.shape).astype(own.dtype) for _ in range(n - 1)]
            pieces.append(own - sum(pieces))
        else:
            sign = 1 if one == "P(min)" else -1
            pieces = [own + sign * rng.integers(0, 9, own.shape).astype(own.dtype) for _ in range(n)]
            chosen = rng.integers(0, n, own.shape)
            pieces = [np.where(chosen == i, own, piece) for i, piece in enumerate(pieces)]
        for i, piece in enumerate(pieces):
            cut(piece, k + 1, (*at, i))

    parts: dict[tuple[int, ...], Any] = {}
    cut(whole, 0, ())
    return parts


def joined(parts: dict[tuple[int, ...], Any], mesh: Sequence[int], signature: Sequence[str]) -> Any:
    """The whole of parts, by their places."""
    for k in reversed(range(len(mesh))):
        one = signature[k]
        rows: dict[tuple[int, ...], list[Any]] = {}
        for at in sorted(parts):
            rows.setdefault(at[:k], []).append(parts[at])
        parts = {at: _joined(one, row) for at, row in rows.items()}
    return parts[()]


def _joined(one: str, row: list[Any]) -> Any:
    if one == "B":
        for other in row[1:]:
            np.testing.assert_array_equal(other, row[0])
        return row[0]
    if one.startswith("S"):
        return np.concatenate(row, axis=int(one[2:-1]))
    return {"P": np.sum, "P(max)": np.max, "P(min)": np.min}[one](np.stack(row), axis=0)
