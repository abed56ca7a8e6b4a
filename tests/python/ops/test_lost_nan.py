"""A NaN among the elements reaches every result that depends on it, in each dtype, layout and loop of a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import lamella as lm

#: Functions of a matrix whose rows they reduce or normalize: each element of a result depends on its whole row.
ROWS: dict[str, Callable[[lm.Tensor], lm.Tensor]] = {
    "sum": lambda x: lm.sum(x, axis=1),
    "prod": lambda x: lm.prod(x, axis=1),
    "mean": lambda x: lm.mean(x, axis=1),
    "max": lambda x: lm.max(x, axis=1),
    "min": lambda x: lm.min(x, axis=1),
    "var": lambda x: lm.var(x, axis=1),
    "std": lambda x: lm.std(x, axis=1),
    "median": lambda x: lm.median(x, axis=1),
    "quantile": lambda x: lm.quantile(x, 0.3, axis=1),
    "logsumexp": lambda x: lm.logsumexp(x, axis=1),
    "cumulative_sum": lambda x: lm.cumulative_sum(x, axis=1)[:, -1],
    "cummax": lambda x: lm.cummax(x, axis=1)[0][:, -1],
    "softmax": lambda x: lm.softmax(x, axis=1),
    "log_softmax": lambda x: lm.log_softmax(x, axis=1),
    "layer_norm": lambda x: lm.layer_norm(x, x.shape[1:]),
    "rms_norm": lambda x: lm.rms_norm(x, x.shape[1:]),
    "group_norm": lambda x: lm.group_norm(x.reshape([1, *x.shape]), x.shape[0]),
    "normalize": lambda x: lm.normalize(x, axis=1),
    "cosine_similarity": lambda x: lm.cosine_similarity(x, lm.ones_like(x)),
    "pairwise_distance": lambda x: lm.pairwise_distance(x, lm.ones_like(x)),
    "vecdot": lambda x: lm.vecdot(x, lm.ones_like(x)),
    "cross_entropy": lambda x: lm.cross_entropy(x, lm.zeros([x.shape[0]], dtype="int64"), reduction="none"),
}


def norm_of_rows(p: float) -> Callable[[lm.Tensor], lm.Tensor]:
    return lambda x: lm.linalg.vector_norm(x, axis=1, ord=p)


ROWS |= {f"vector_norm, {p}": norm_of_rows(p) for p in (0.5, 1.0, 2.0, 3.0, -1.0, math.inf, -math.inf)}
FLOATS = ["float64", "float32", "bfloat16", "float16"]
#: Sizes within a vector, of several, with rests, and of several parts of a row.
SIZES = [1, 2, 3, 8, 9, 17, 64, 257, 4099]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, dtype: str) -> None:
    for n in SIZES:
        for place in {0, n // 2, n - 1}:
            array = np.random.default_rng(n).uniform(0.5, 1.5, (3, n))
            array[:, place] = math.nan
            for x in (lm.asarray(array).astype(dtype), lm.asarray(array.T.copy()).astype(dtype).T):
                got = ROWS[name](x).astype("float64").numpy()
                assert np.isnan(got).all(), f"{n} elements, NaN at {place}: {got}"


@pytest.mark.parametrize("dtype", FLOATS)
def test_batches(dtype: str) -> None:
    for shape in ((5, 2), (70, 3), (2, 2, 3), (3, 2, 70), (2, 2, 9000)):
        array = np.random.default_rng(0).uniform(0.5, 1.5, shape)
        array[-1, 1] = math.nan
        got = lm.batch_norm(lm.asarray(array).astype(dtype), None, None, training=True).astype("float64").numpy()
        assert np.isnan(got[:, 1]).all() and not np.isnan(got[:, 0]).any(), shape
