"""Sorting and selecting, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
#: Rows that are sorted by comparison, by narrow and wide digits, and on several threads.
LENGTHS = [1, 2, 100, 129, 3000, 5000, 140_000]


def sample(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> tuple[lm.Tensor, np.ndarray]:
    """A tensor with repeated elements, and its values in a dtype that numpy orders."""
    if dtype == "bool":
        wide = rng.random(shape) < 0.5
    elif dtype in INTEGERS:
        ends = np.iinfo(dtype)
        wide = rng.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)
        wide = np.where(rng.random(shape) < 0.3, wide // 64, wide).astype(dtype)
    else:
        wide = np.round(rng.normal(size=shape) * 16) / 16
        wide[rng.random(shape) < 0.01] = np.inf
        wide[rng.random(shape) < 0.01] = -np.inf
        wide[rng.random(shape) < 0.01] = np.nan
    return lm.asarray(wide).astype(dtype), wide


def values(x: lm.Tensor) -> np.ndarray:
    return x.astype("float32").numpy() if x.dtype in (lm.bfloat16, lm.float16) else x.numpy()


def order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """A stable order in which NaN is the largest."""
    if not descending:
        return np.argsort(x, axis=axis, stable=True)
    backwards = np.argsort(np.flip(x, axis), axis=axis, stable=True)
    return x.shape[axis] - 1 - np.flip(backwards, axis)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
def test_sort_and_argsort(dtype: str, descending: bool, rng: np.random.Generator) -> None:
    for n in LENGTHS:
        shapes = [(n,)] if n > 5000 else [(n,), (3, n), (n, 3), (2, n, 2)]
        for shape in shapes:
            x, wide = sample(shape, dtype, rng)
            for axis in {0, len(shape) - 1, -1}:
                expected = order(wide, axis, descending)
                np.testing.assert_array_equal(lm.argsort(x, axis=axis, descending=descending).numpy(), expected)
                got = lm.sort(x, axis=axis, descending=descending)
                assert got.dtype == x.dtype
                np.testing.assert_array_equal(values(got), np.take_along_axis(wide, expected, axis))


@pytest.mark.parametrize("n", [200, 5000, 140_000])
@pytest.mark.parametrize("bits", [0, 1, 7, 12, 40, 44, 46, 57, 62])
def test_keys_that_are_close_and_far_apart(n: int, bits: int, rng: np.random.Generator) -> None:
    # Positions are sorted beside keys of few bits, wherever these lie.
    x = rng.integers(0, 1 << bits, n) - (1 << bits)
    t = lm.asarray(x)
    for descending in (False, True):
        np.testing.assert_array_equal(lm.argsort(t, descending=descending).numpy(), order(x, 0, descending))
    values, inverse = lm.unique_inverse(t)
    expected = np.unique(x, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(values.numpy(), expected[0])
    np.testing.assert_array_equal(inverse.numpy(), expected[1])
    np.testing.assert_array_equal(lm.unique_counts(t)[1].numpy(), expected[2])


@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8"])
def test_the_order_does_not_depend_on_the_number_of_threads(dtype: str, rng: np.random.Generator) -> None:
    x, wide = sample((300_000,), dtype, rng)
    before = lm.get_num_threads()
    try:
        for threads in (1, 2, 3, 7):
            lm.set_num_threads(threads)
            np.testing.assert_array_equal(lm.argsort(x).numpy(), order(wide, 0, False))
            np.testing.assert_array_equal(values(lm.sort(x)), np.sort(wide))
    finally:
        lm.set_num_threads(before)


def test_bools_are_whatever_is_not_zero() -> None:
    odd = np.array([2, 0, 255, 1, 0, 128, 0, 16, 0, 64], "uint8")
    for n in (3, 8, 10):
        for descending in (False, True):
            got = lm.argsort(lm.asarray(odd[:n].view(bool)), descending=descending)
            np.testing.assert_array_equal(got.numpy(), order(odd[:n] != 0, 0, descending))


def test_zeros_of_either_sign_keep_their_order() -> None:
    x = lm.asarray([0.0, -0.0, 0.0, -1.0, -0.0])
    assert lm.argsort(x).tolist() == [3, 0, 1, 2, 4]
    assert lm.argsort(x, descending=True).tolist() == [0, 1, 2, 4, 3]


def test_sorting_with_gradients_and_without_agree(rng: np.random.Generator) -> None:
    x, wide = sample((4, 300), "float32", rng)
    leaf = lm.tensor(wide, dtype="float32", stop_gradient=False)
    np.testing.assert_array_equal(lm.sort(leaf, axis=0).detach().numpy(), lm.sort(x, axis=0).numpy())
    (g,) = lm.grad((lm.sort(leaf, descending=True)[:, 0]).sum(), [leaf])
    np.testing.assert_array_equal(g.numpy().argmax(1), order(wide, 1, True)[:, 0])
    np.testing.assert_array_equal(g.numpy().sum(1), np.ones(4))


def test_small_and_bad_input() -> None:
    assert lm.sort(lm.asarray(3.0)).item() == 3.0 and lm.argsort(lm.asarray(3.0), axis=0).item() == 0
    assert lm.sort(lm.zeros([0, 3]), axis=0).shape == (0, 3)
    assert lm.argsort(lm.zeros([3, 0])).shape == (3, 0)
    assert lm.sort(lm.asarray([2, 1]), stable=False).tolist() == [1, 2]
    for f in (lm.sort, lm.argsort):
        with pytest.raises(IndexError, match=rf"\[{f.__name__}\]"):
            f(lm.zeros([2]), axis=1)
        with pytest.raises(TypeError, match=rf"\[{f.__name__}\].*complex64"):
            f(lm.zeros([2], dtype="complex64"))
    meta = lm.zeros([2, 3]).to("meta")
    assert lm.sort(meta).shape == (2, 3) and lm.topk(meta, 2).indices.shape == (2, 2)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
def test_topk(dtype: str, largest: bool, rng: np.random.Generator) -> None:
    for shape in [(1,), (40,), (3, 2000), (2, 5000), (500, 2)]:
        x, wide = sample(shape, dtype, rng)
        for axis in range(len(shape)):
            n = shape[axis]
            for k in {0, 1, n // 50, n // 2, n}:
                got, positions = lm.topk(x, k, axis, largest)
                expected = np.take(order(wide, axis, largest), np.arange(k), axis)
                np.testing.assert_array_equal(positions.numpy(), expected)
                np.testing.assert_array_equal(values(got), np.take_along_axis(wide, expected, axis))
                unsorted = lm.topk(x, k, axis, largest, sorted=False).indices.numpy()
                np.testing.assert_array_equal(np.sort(unsorted, axis), np.sort(expected, axis))


#: Columns that fill registers and that do not, and rows of fewer elements than pass through a list and of more.
TOPK_SHAPES = [(9, 1), (64, 3), (65, 8), (100, 17), (7, 130), (33, 70), (700, 21), (3, 100, 9), (2, 40, 16), (17, 5, 8)]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
def test_a_few_of_many_equal_elements(dtype: str, largest: bool, rng: np.random.Generator) -> None:
    for shape in TOPK_SHAPES:
        wide = rng.integers(0, 2 if dtype == "bool" else 9, shape).astype("float64" if dtype in FLOATS else dtype)
        if dtype in FLOATS:
            wide = np.where(rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf, -0.0], shape), wide)
        elif dtype != "bool":
            ends = np.iinfo(dtype)
            wide = np.where(rng.random(shape) < 0.3, rng.choice(np.array([ends.min, ends.max], dtype), shape), wide)
        x = lm.asarray(wide).astype(dtype)
        for axis in range(len(shape)):
            expected = order(wide, axis, largest)
            for k in {1, 2, 3, 4, min(5, shape[axis])}:
                if k > shape[axis]:
                    continue
                for t in (x, lm.asarray(x.mT.contiguous()).mT):
                    got, positions = lm.topk(t, k, axis, largest)
                    best = np.take(expected, np.arange(k), axis)
                    np.testing.assert_array_equal(positions.numpy(), best)
                    np.testing.assert_array_equal(values(got), np.take_along_axis(wide, best, axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_topk_does_not_depend_on_the_number_of_threads(axis: int, rng: np.random.Generator) -> None:
    wide = rng.integers(0, 50, (600, 700))
    before = lm.get_num_threads()
    try:
        for threads in (1, 2, 3, 7):
            lm.set_num_threads(threads)
            best = np.take(order(wide, axis, True), np.arange(2), axis)
            np.testing.assert_array_equal(lm.topk(lm.asarray(wide), 2, axis).indices.numpy(), best)
    finally:
        lm.set_num_threads(before)


@pytest.mark.parametrize("make", [np.arange, lambda n: -np.arange(n), np.zeros], ids=["rising", "falling", "equal"])
def test_topk_of_ordered_input(make: object, rng: np.random.Generator) -> None:
    x = np.asarray(make(10_000), "float32")  # type: ignore[operator]
    for largest in (True, False):
        np.testing.assert_array_equal(lm.topk(lm.asarray(x), 5, 0, largest).indices.numpy(), order(x, 0, largest)[:5])


def test_topk_refuses_what_there_is_not() -> None:
    for k in (-1, 4):
        with pytest.raises(ValueError, match=rf"\[topk\] k must be .* got {k}"):
            lm.topk(lm.zeros([3]), k)
    with pytest.raises(ValueError, match=r"\[topk\]"):
        lm.topk(lm.asarray(1.0), 0)
    assert lm.topk(lm.asarray(1.0), 1).values.item() == 1.0


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
def test_kthvalue(dtype: str, rng: np.random.Generator) -> None:
    x, wide = sample((50, 7), dtype, rng)
    for axis in (0, 1):
        for k in (1, 3, 7):
            got, positions = lm.kthvalue(x, k, axis)
            expected = order(wide, axis, False).take(k - 1, axis)
            np.testing.assert_array_equal(positions.numpy(), expected)
            assert lm.kthvalue(x, k, axis, keepdims=True).values.shape == ((1, 7) if axis == 0 else (50, 1))
            taken = np.take_along_axis(wide, np.expand_dims(expected, axis), axis).squeeze(axis)
            np.testing.assert_array_equal(values(got), taken)
    for k in (0, 8):
        with pytest.raises(ValueError, match=r"\[kthvalue\]"):
            lm.kthvalue(x, k)


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
def test_mode(dtype: str, rng: np.random.Generator) -> None:
    x, wide = sample((200, 7), dtype, rng)
    if dtype != "bool":
        wide = np.where(rng.random(wide.shape) < 0.5, wide[:1], wide).astype(wide.dtype)
        x = lm.asarray(wide).astype(dtype)
    for axis in (0, 1, -1):
        got, positions = lm.mode(x, axis)
        assert lm.mode(x, axis, keepdims=True).values.shape == ((1, 7) if axis == 0 else (200, 1))
        for i, row in enumerate(wide.T if axis == 0 else wide):
            found, first, counts = np.unique(row, return_index=True, return_counts=True, equal_nan=False)
            at = counts.argmax()
            assert positions[i].item() == first[at]
            np.testing.assert_array_equal(values(got)[i], found[at])
    assert lm.mode(lm.asarray(2.5)).values.item() == 2.5 and lm.mode(lm.asarray(2.5)).indices.item() == 0
    assert lm.mode(lm.asarray([-0.0, 1.0, 0.0, 1.0, 0.0])).indices.item() == 0
    with pytest.raises(ValueError, match=r"\[mode\]"):
        lm.mode(lm.zeros([2, 0]))


def test_median(rng: np.random.Generator) -> None:
    x = rng.permutation(np.arange(24.0)).reshape(2, 3, 4)
    t = lm.asarray(x)
    assert lm.median(t).item() == 11.0
    for axis in range(3):
        lower = np.sort(x, axis).take((x.shape[axis] - 1) // 2, axis)
        np.testing.assert_array_equal(lm.median(t, axis=axis).numpy(), lower)
        np.testing.assert_array_equal(lm.median(t, axis=axis, keepdims=True).numpy(), np.expand_dims(lower, axis))
    assert lm.median(t, keepdims=True).shape == (1, 1, 1)
    assert lm.median(lm.asarray([3, 1, 2], dtype="uint8")).item() == 2
    assert lm.median(lm.asarray(5.0), axis=0).item() == 5.0
    with pytest.raises(ValueError, match=r"\[median\]"):
        lm.median(lm.zeros([2, 0]), axis=1)


def test_median_with_nan() -> None:
    nan = float("nan")
    x = lm.asarray([[1.0, nan, 3.0, 2.0, 9.0], [nan] * 5])
    assert np.isnan(lm.median(x, axis=1).numpy()).all()
    got = lm.nanmedian(x, axis=1)
    assert got[0].item() == 2.0 and np.isnan(got[1].item())


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "nearest", "midpoint"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_quantile(axis: int | None, interpolation: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(5, 4, 7))
    for q in (0.0, 0.17, 0.5, 1.0):
        for keepdims in (False, True):
            got = lm.quantile(lm.asarray(x), q, axis, keepdims, interpolation=interpolation)
            expected = np.quantile(x, q, axis=axis, keepdims=keepdims, method=interpolation)
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12)
    several = [0.25, 0.9]
    got = lm.quantile(lm.asarray(x), lm.asarray(several, dtype="float64"), axis=axis, interpolation=interpolation)
    np.testing.assert_allclose(got.numpy(), np.quantile(x, several, axis=axis, method=interpolation), rtol=1e-12)


def test_quantile_of_special_input() -> None:
    inf, nan = float("inf"), float("nan")
    got = lm.quantile(lm.asarray([[1.0, nan], [2.0, inf]]), 1.0, axis=1)
    assert np.isnan(got[0].item()) and got[1].item() == inf
    assert lm.quantile(lm.asarray([1.0]), lm.zeros([0])).shape == (0,)
    for q in (-0.1, 1.1, nan):
        with pytest.raises(ValueError, match=r"\[quantile\] q"):
            lm.quantile(lm.ones([3]), q)
    with pytest.raises(ValueError, match="interpolation"):
        lm.quantile(lm.ones([3]), 0.5, interpolation="cubic")
    with pytest.raises(ValueError, match=r"\[quantile\]"):
        lm.quantile(lm.zeros([0]), 0.5)
    with pytest.raises(TypeError, match=r"\[quantile\].*int64"):
        lm.quantile(lm.arange(3), 0.5)
