"""Random numbers: reproducible, independent of threads, and distributed as they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lamella as lm
from support import default_device

DRAWS = {
    "rand": lambda: lm.rand([1003]),
    "rand float64": lambda: lm.rand([1003], dtype="float64"),
    "randn": lambda: lm.randn([1003]),
    "randn float64": lambda: lm.randn([7, 11], dtype="float64"),
    "uniform": lambda: lm.uniform([100], -2.0, 3.0),
    "normal": lambda: lm.normal([101], 1.0, 0.1),
    "randint": lambda: lm.randint(-5, 5, [1001]),
    "randperm": lambda: lm.randperm(100),
    "bernoulli": lambda: lm.bernoulli(lm.full([1000], 0.3)),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_seed_fixes_the_numbers(draw: object) -> None:
    lm.seed(11)
    first, second = draw().numpy(), draw().numpy()
    lm.seed(11)
    again = draw().numpy()
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)
    lm.seed(12)
    assert not np.array_equal(first, draw().numpy())


def test_the_number_of_threads_changes_nothing() -> None:
    before = lm.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            lm.set_num_threads(threads)
            lm.seed(5)
            results.append((lm.randn([300001]).numpy().tobytes(), lm.randint(0, 9, [200003]).numpy().tobytes()))
    finally:
        lm.set_num_threads(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distributions(dtype: str) -> None:
    lm.seed(2024)
    n = 100_000
    assert stats.kstest(lm.rand([n], dtype=dtype).numpy(), "uniform").pvalue > 1e-3
    assert stats.kstest(lm.randn([n], dtype=dtype).numpy(), "norm").pvalue > 1e-3
    assert stats.kstest(lm.uniform([n], -1.0, 3.0, dtype=dtype).numpy(), stats.uniform(-1, 4).cdf).pvalue > 1e-3
    assert stats.kstest(lm.normal([n], 2.0, 0.5, dtype=dtype).numpy(), stats.norm(2, 0.5).cdf).pvalue > 1e-3
    pairs = lm.randn([n, 2], dtype=dtype).numpy()
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 0.02


def test_integers_are_uniform() -> None:
    lm.seed(1)
    draws = lm.randint(-3, 4, [70_000]).numpy()
    counts = np.bincount(draws + 3, minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-3
    assert lm.randint(0, 10, [3], dtype="int32").dtype == lm.int32
    wide = lm.randint(-(2**63), 2**63 - 1, [1000]).numpy()
    assert wide.min() < -(2**61) and wide.max() > 2**61


def test_randperm_is_a_permutation() -> None:
    lm.seed(4)
    assert sorted(lm.randperm(1000).tolist()) == list(range(1000))
    assert lm.randperm(0).shape == (0,)
    first = np.array([lm.randperm(4).tolist()[0] for _ in range(4000)])
    assert stats.chisquare(np.bincount(first, minlength=4)).pvalue > 1e-3


def test_bernoulli_rate() -> None:
    lm.seed(9)
    p = lm.asarray(np.repeat([0.0, 0.2, 1.0], 20_000).astype("float32"))
    means = lm.bernoulli(p).numpy().reshape(3, -1).mean(axis=1)
    assert means[0] == 0 and means[2] == 1 and abs(means[1] - 0.2) < 0.01


def test_bad_arguments() -> None:
    for call, error in [
        (lambda: lm.randint(3, 3, [2]), ValueError),
        (lambda: lm.randint(0, 300, [2], dtype="int8"), ValueError),
        (lambda: lm.randint(0, 3, [2], dtype="float32"), TypeError),
        (lambda: lm.randint_like(lm.zeros([2]), 0, 3), TypeError),
        (lambda: lm.randint_like(lm.zeros([2], dtype="uint8"), -1, 3), ValueError),
        (lambda: lm.rand([2], dtype="int32"), TypeError),
        (lambda: lm.rand([-1]), ValueError),
        (lambda: lm.normal([2], 0.0, -1.0), ValueError),
        (lambda: lm.uniform([2], 1.0, 0.0), ValueError),
        (lambda: lm.randperm(-1), ValueError),
        (lambda: lm.rand("shape"), TypeError),
    ]:
        with pytest.raises(error):
            call()
    assert lm.rand([0, 3]).shape == (0, 3)
    assert lm.randn([]).shape == ()
    assert lm.rand([2, 3], device="meta").shape == (2, 3)


@default_device.cpu_only("elements are not checked on a device: that would wait for it")
@pytest.mark.parametrize("p", [1.5, np.nan])
def test_probabilities_that_are_none(p: float) -> None:
    with pytest.raises(ValueError, match="bernoulli"):
        lm.bernoulli(lm.asarray([p]))


def test_random_complex_numbers() -> None:
    lm.seed(3)
    z = lm.randn([20000], dtype="complex128").numpy()
    np.testing.assert_allclose([z.real.var(), z.imag.var()], 0.5, rtol=0.05)
    assert abs(np.corrcoef(z.real, z.imag)[0, 1]) < 0.05
    z = lm.rand([2, 5000], dtype="complex64").numpy()
    assert z.dtype == np.complex64 and z.shape == (2, 5000)
    for part in (z.real, z.imag):
        assert part.min() >= 0 and part.max() < 1
        np.testing.assert_allclose(part.mean(), 0.5, rtol=0.05)
    assert lm.rand([0], dtype="complex64").shape == (0,)
    kept = lm.dropout(lm.full([1000], 1 + 2j, dtype="complex64"), 0.5).numpy()
    assert set(kept.tolist()) == {0, 2 + 4j}
    assert lm.dropout2d(lm.ones([2, 3, 4, 4], dtype="complex128"), 0.0).dtype.name == "complex128"
