"""Sums of very many addends that go to few elements: as exact as those of a thousand, whatever the pattern."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lamella as lm
from lamella.nn import functional as F
from support.default_device import ON_CPU

#: The emulation of CUDA takes long for many; sums of these one by one would be wrong by ten times the tolerance, too.
COUNT = 1 << (19 if ON_CPU else 15)
ROWS = 50

Indexed = Callable[[lm.Tensor, lm.Tensor], lm.Tensor]


def patterns() -> dict[str, np.ndarray]:
    """Row numbers of which few, some or many are the same."""
    generator = np.random.default_rng(4)
    spread = generator.integers(0, ROWS, COUNT)
    padded = spread.reshape(-1, 512).copy()
    padded[:, 40:] = 0  # sequences of 512 tokens that end in padding
    return {"one": np.full(COUNT, 7), "all": spread, "padding": padded.reshape(-1), "sorted": np.sort(spread)}


PATTERNS = patterns()


def gradient(function: Callable[[lm.Tensor], lm.Tensor], x: lm.Tensor, dy: lm.Tensor) -> lm.Tensor:
    x.stop_gradient = False
    return lm.grad((function(x) * dy).sum(), x)


#: Sums of the values by number, for values of one and of more columns.
COLUMN: dict[str, Indexed] = {
    "index_add": lambda n, v: lm.index_add(lm.zeros([ROWS], dtype=v.dtype), 0, n, v),
    "scatter_add": lambda n, v: lm.scatter_add(lm.zeros([ROWS], dtype=v.dtype), 0, n, v),
    "scatter_reduce": lambda n, v: lm.scatter_reduce(lm.zeros([ROWS], dtype=v.dtype), 0, n, v, "sum"),
    "index_put": lambda n, v: lm.index_put(lm.zeros([ROWS], dtype=v.dtype), [n], v, accumulate=True),
    "put": lambda n, v: lm.put(lm.zeros([ROWS], dtype=v.dtype), n, v, accumulate=True),
    "gather": lambda n, v: gradient(lambda x: lm.gather(x, 0, n), lm.zeros([ROWS], dtype=v.dtype), v),
    "index": lambda n, v: gradient(lambda x: x[n], lm.zeros([ROWS], dtype=v.dtype), v),
    "take": lambda n, v: gradient(lambda x: lm.take(x, n), lm.zeros([ROWS], dtype=v.dtype), v),
}
TABLE: dict[str, Indexed] = {
    "index_add": lambda n, v: lm.index_add(lm.zeros([ROWS, v.shape[1]], dtype=v.dtype), 0, n, v),
    "index_add, turned": lambda n, v: lm.index_add(lm.zeros([v.shape[1], ROWS], dtype=v.dtype), 1, n, v.mT).mT,
    "scatter_add": lambda n, v: lm.scatter_add(
        lm.zeros([ROWS, v.shape[1]], dtype=v.dtype), 0, lm.stack([n] * v.shape[1], axis=1), v
    ),
    "scatter_add, turned": lambda n, v: (
        lm.scatter_add(lm.zeros([v.shape[1], ROWS], dtype=v.dtype), 1, lm.stack([n] * v.shape[1]), v.mT.contiguous()).mT
    ),
    "embedding": lambda n, v: gradient(lambda w: F.embedding(n, w), lm.zeros([ROWS, v.shape[1]], dtype=v.dtype), v),
}


def check(function: Indexed, numbers: np.ndarray, values: np.ndarray, tolerance: float = 3e-5) -> lm.Tensor:
    got = function(lm.asarray(numbers), lm.asarray(values))
    want = np.zeros((ROWS, *values.shape[1:]), "complex128" if np.iscomplexobj(values) else "float64")
    np.add.at(want, numbers, values)
    np.testing.assert_allclose(got.numpy(), want, rtol=tolerance, atol=0)
    return got


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", COLUMN)
def test_many_addends_to_an_element(name: str, pattern: str) -> None:
    check(COLUMN[name], PATTERNS[pattern], np.full(COUNT, 0.1, "float32"))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("width", [3, 24])
@pytest.mark.parametrize("name", TABLE)
def test_many_addends_to_a_row(name: str, width: int, pattern: str) -> None:
    count = COUNT * 3 // width
    values = np.full((count, width), 0.1, "float32") * np.arange(1, width + 1, dtype="float32")
    check(TABLE[name], PATTERNS[pattern][:count], values)


@pytest.mark.parametrize("name", ["index_add", "scatter_add"])
def test_complex_and_16_bit_addends(name: str) -> None:
    values = np.full(COUNT, 0.1 + 0.3j, "complex64")
    check(COLUMN[name], PATTERNS["one"], values)
    half = lm.full([COUNT], 0.0625, dtype=lm.bfloat16)
    got = COLUMN[name](lm.asarray(PATTERNS["one"]), half)
    assert got.dtype == lm.bfloat16 and got[7].item() == 0.0625 * COUNT


@pytest.mark.parametrize("name", TABLE)
def test_results_do_not_depend_on_the_number_of_threads(name: str) -> None:
    values = np.random.default_rng(5).standard_normal((COUNT // 8, 24)).astype("float32")
    numbers = PATTERNS["padding"][: COUNT // 8]
    before = lm.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            lm.set_num_threads(threads)
            found.append(TABLE[name](lm.asarray(numbers), lm.asarray(values)).numpy().tobytes())
    finally:
        lm.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_examples_of_a_batch_have_sums_of_their_own() -> None:
    numbers = np.stack([PATTERNS["one"], PATTERNS["padding"]])
    values = np.full((2, COUNT), 0.1, "float32")
    got = lm.vmap(COLUMN["scatter_add"])(lm.asarray(numbers), lm.asarray(values)).numpy()
    for row, (n, v) in zip(got, zip(numbers, values, strict=True), strict=True):
        np.testing.assert_allclose(row, np.bincount(n, v, ROWS), rtol=3e-5)


#: Numbers of values that go to the same place: around those after which CUDA cuts a sum, and joins its parts otherwise.
LENGTHS = (1, 63, 64, 65, 2, 127, 128, 129, 3, 1023, 1024, 1025, 5, 1087, 1088, 1089, 1152, 3000, 64, 64, 1, 700)


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "complex64"])
@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_runs_of_every_length(reduce: str, dtype: str) -> None:
    if dtype == "complex64" and reduce.startswith("a"):
        pytest.skip("complex numbers have no order")
    generator = np.random.default_rng(6)
    for lengths in (LENGTHS, LENGTHS[::-1], (64,), (65,), (2048,)):
        numbers = generator.permutation(np.repeat(np.arange(len(lengths)), lengths))
        values = generator.integers(-1 if reduce == "prod" else -9, 2 if reduce == "prod" else 10, numbers.size)
        values[values == 0] = 1
        given = values > 0 if dtype == "bool" else values.astype(dtype)
        got = lm.scatter_reduce(
            lm.ones([len(lengths)], dtype=dtype), 0, lm.asarray(numbers), lm.asarray(given), reduce, include_self=False
        ).numpy()
        combine = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
        for place, result in enumerate(got):
            assert result == np.dtype(dtype).type(combine.reduce(given[numbers == place])), (lengths, place)


@pytest.mark.parametrize("width", [1, 5, 31, 40])
def test_runs_of_rows_add_to_what_is_there(width: int) -> None:
    generator = np.random.default_rng(7)
    numbers = generator.permutation(np.repeat(np.arange(len(LENGTHS)), LENGTHS))
    values = generator.integers(-9, 10, (numbers.size, width)).astype("float32")
    there = generator.integers(-9, 10, (len(LENGTHS), width)).astype("float32")
    want = there.copy()
    np.add.at(want, numbers, values)
    np.testing.assert_array_equal(
        lm.index_add(lm.asarray(there), 0, lm.asarray(numbers), lm.asarray(values)).numpy(), want
    )
