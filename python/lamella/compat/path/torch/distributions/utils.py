"""Helpers for classes of distributions that programs write."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module
from lamella.distributions._support import EULER, lazy_property, sum_rightmost  # noqa: F401

euler_constant = EULER
_sum_rightmost = sum_rightmost


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Returns tensors and numbers as tensors of one shape; numbers get the dtype and the device of the first tensor.

    Raises:
        ValueError: an argument is neither.
    """
    if not all(isinstance(each, (Tensor, int, float)) for each in values):
        kinds = ", ".join(type(each).__name__ for each in values)
        raise ValueError(f"[broadcast_all] takes tensors and numbers, not {kinds}")
    first = next((each for each in values if isinstance(each, Tensor)), None)
    dtype, device = (lm.float32, None) if first is None else (first.dtype, first.device)
    tensors = [each if isinstance(each, Tensor) else lm.tensor(each, dtype=dtype, device=device) for each in values]
    return tuple(lm.broadcast_arrays(*tensors))


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Returns normal numbers of mean 0 and variance 1."""
    return lm.randn(tuple(shape), dtype=dtype, device=device)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Returns the probabilities of logits: of one of two outcomes, or of those along the last axis."""
    return lm.sigmoid(logits) if is_binary else lm.softmax(logits, axis=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Returns probabilities in [eps, 1 - eps], with the dtype's ``eps``."""
    eps = lm.finfo(probs.dtype).eps
    return lm.clip(probs, eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Returns the logits of probabilities: of one of two outcomes, ``log(p / (1 - p))``, or ``log(p)``."""
    probs = clamp_probs(probs)
    return lm.log(probs) - lm.log1p(-probs) if is_binary else lm.log(probs)


def _lower(size: int, diag: int) -> tuple[Tensor, Tensor]:
    """Returns the rows and columns of the elements of a square matrix up to a diagonal, in the order of rows."""
    places = lm.tril_indices(size, size, k=diag)
    return places[0], places[1]


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Returns the elements of square matrices up to a diagonal, in the order of rows.

    Raises:
        ValueError: there is no such diagonal.
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"[tril_matrix_to_vec] diag is in [{-size}, {size - 1}], not {diag}")
    rows, columns = _lower(size, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Returns square matrices with the elements of vectors up to a diagonal, in the order of rows, and zeros above.

    Raises:
        ValueError: no square matrix has as many elements there.
    """
    count = vec.shape[-1]
    under = 8 * count + (1 + 2 * diag) ** 2 + 4 * abs(diag) * (diag + 1)
    size = (math.isqrt(under) - (1 + 2 * diag)) // 2
    rows, columns = _lower(size, diag)
    if rows.shape[0] != count:
        raise ValueError(f"[vec_to_tril_matrix] no square matrix has {count} elements up to its diagonal {diag}")
    zeros = lm.zeros((*vec.shape[:-1], size * size), dtype=vec.dtype, device=vec.device)
    places = lm.broadcast_to(rows * size + columns, vec.shape)
    return lm.reshape(lm.scatter(zeros, -1, places, vec), (*vec.shape[:-1], size, size))


__getattr__ = close_module(__name__)
