"""Operators that are not elementwise in 16 bits: their results are those of float32, rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .calls import CALLS

EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
#: In float16, numbers of this size have squares that fit and sums of squares that do not.
LARGE = 40.0
LARGEST = 65504.0

Call = Callable[..., Any]


def tensors(result: Any) -> list[lm.Tensor]:
    if isinstance(result, lm.Tensor):
        return [result]
    return [x for part in result for x in tensors(part)] if isinstance(result, (tuple, list)) else []


def results(function: Call, arrays: list[lm.Tensor], dtype: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The floating values of a call whose floating arguments are of this dtype, and the gradients of a sum of them."""
    lm.seed(0)
    arguments = []
    for array in arrays:
        x = array.astype(dtype).detach() if array.dtype == lm.float32 else array
        if array.dtype == lm.float32:
            x.stop_gradient = False
        arguments.append(x)
    ys = [y for y in tensors(function(*arguments)) if str(y.dtype) in (*EPS, "float32")]
    recorded = [y.astype("float64") for y in ys if not y.stop_gradient]
    gradients: list[np.ndarray] = []
    if recorded:
        total = sum(
            (
                (y * lm.cos(lm.arange(y.size, dtype="float64", device=y.device).reshape(y.shape))).sum()
                for y in recorded
            ),
            0.0,
        )
        leaves = [x for x in arguments if not x.stop_gradient]
        found = lm.grad(total, leaves, allow_unused=True)
        gradients = [g.astype("float64").numpy() for g in found if g is not None]
    return [y.detach().astype("float64").numpy() for y in ys], gradients


def check(name: str, dtype: str, scale: float, with_gradients: bool) -> None:
    for function, leaves in CALLS[name]:
        given = [x.detach() for x in leaves]
        arrays = [
            (x * scale).astype(dtype).astype("float32") if str(x.dtype) in ("float32", "float64") else x for x in given
        ]
        try:
            found = results(function, arrays, dtype)
        except TypeError as error:
            # Calls that mix in a tensor of another dtype, and operators that are not for 16 bits.
            assert dtype in str(error), error
            continue
        except ValueError:
            assert scale != 1.0  # numbers that the operator does not take
            continue
        exact = results(function, arrays, "float32")
        for got, want in zip(found[: 1 + with_gradients], exact, strict=False):
            for a, b in zip(got, want, strict=True):
                fits = np.isfinite(b) & (np.abs(b) < LARGEST / 4)
                if not fits.any():
                    continue
                size = max(float(np.abs(b[fits]).max()), 0.01)
                np.testing.assert_allclose(a[fits], b[fits], rtol=0, atol=16 * EPS[dtype] * size, err_msg=name)


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("name", CALLS)
def test_results_and_gradients_are_those_of_float32(name: str, dtype: str) -> None:
    check(name, dtype, 1.0, with_gradients=True)


# nanpercentile's call cubes its argument, which itself is beyond the range then.
@pytest.mark.parametrize("name", [name for name in CALLS if name != "nanpercentile"])
def test_no_step_on_the_way_is_beyond_the_range_of_float16(name: str) -> None:
    check(name, "float16", LARGE, with_gradients=False)


SIGNS = lm.asarray([[1, -1, 1], [-1, -1, 1]], dtype="int64")
LABELS = lm.asarray([1, 0], dtype="int64")
#: Calls whose results fit in float16 where squares, sums and small constants on the way do not.
DIRECT: dict[str, Call] = {
    "mse_loss": lambda x: lm.mse_loss(x / 4, x[::-1, :] / 8),
    "smooth_l1_loss": lambda x: lm.smooth_l1_loss(x, x[::-1, :], beta=1e3),
    "huber_loss": lambda x: lm.huber_loss(x, x[::-1, :], delta=100.0),
    "binary_cross_entropy": lambda x: lm.binary_cross_entropy(x / 1024 + 0.5, abs(x) / 512),
    "binary_cross_entropy_with_logits": lambda x: lm.binary_cross_entropy_with_logits(x, lm.abs(lm.sin(x)), x * x),
    "poisson_nll_loss": lambda x: lm.poisson_nll_loss(abs(x), abs(x), log_input=False, full=True),
    "gaussian_nll_loss": lambda x: lm.gaussian_nll_loss(x, x[::-1, :], abs(x) + 1000.0),
    "soft_margin_loss": lambda x: lm.soft_margin_loss(x, SIGNS),
    "hinge_embedding_loss": lambda x: lm.hinge_embedding_loss(x, SIGNS),
    "cosine_embedding_loss": lambda x: lm.cosine_embedding_loss(x, x[::-1, :], lm.asarray([1, -1])),
    "triplet_margin_loss": lambda x: lm.triplet_margin_loss(x, x[::-1, :], x * 0),
    "multi_margin_loss": lambda x: lm.multi_margin_loss(x / 2, LABELS, p=2) / 64,
    "multilabel_soft_margin_loss": lambda x: lm.multilabel_soft_margin_loss(x, abs(SIGNS)),
    "local_response_norm": lambda x: lm.local_response_norm(x.reshape([1, 2, 3]), 2, alpha=1e-3),
    "trapezoid": lambda x: lm.trapezoid(x / 4, lm.cos(x) * 100),
    "cumulative_trapezoid": lambda x: lm.cumulative_trapezoid(x / 4, lm.cos(x) * 100),
    "gradient": lambda x: lm.gradient(x, axis=1),
    "normalize": lm.normalize,
    "normalize, cubes": lambda x: lm.normalize(x, 3.0, axis=0),
    "cosine_similarity": lambda x: lm.cosine_similarity(x, x[0]),
    "cosine_similarity of rows": lambda x: lm.cosine_similarity(x[0], x[1], axis=0),
    "pairwise_distance": lambda x: lm.pairwise_distance(x, x[::-1, :]),
    "pairwise_distance of equals": lambda x: lm.pairwise_distance(x, x),
    "renorm": lambda x: lm.renorm(x, 2.0, 0, 1.0),
    "lp_pool1d": lambda x: lm.lp_pool1d(x[None], 4.0, 2),
}


@pytest.mark.parametrize("scale", [300.0, 2.0**-13, 0.0])
@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("name", DIRECT)
def test_composed_operators_round_once(name: str, dtype: str, scale: float) -> None:
    array = (lm.asarray([[1.0, -0.75, 0.5], [-0.25, 0.5, 1.0]]) * scale).astype(dtype).astype("float32")
    for got, want in zip(results(DIRECT[name], [array], dtype), results(DIRECT[name], [array], "float32"), strict=True):
        for a, b in zip(got, want, strict=True):
            fits = np.abs(b) < LARGEST / 4
            size = max(float(np.abs(b[fits]).max(initial=0.0)), 1e-4)
            np.testing.assert_allclose(a[fits], b[fits], rtol=0, atol=16 * EPS[dtype] * size)
