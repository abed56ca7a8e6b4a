"""x[...] and x[...] = y with numpy's meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from ..gradcheck import check_gradients

BASIC = [
    np.s_[0],
    np.s_[-1],
    np.s_[1:3],
    np.s_[::2],
    np.s_[::-1],
    np.s_[5:1:-2],
    np.s_[...],
    np.s_[None],
    np.s_[1, 2, 3],
    np.s_[:, 1],
    np.s_[..., 1],
    np.s_[..., None],
    np.s_[1, ..., 2],
    np.s_[:, None, 2:4],
    np.s_[3:1],
    np.s_[100:],
    np.s_[-100:100],
    np.s_[None, 1, None, ..., None],
    np.s_[()],
    np.s_[-3:-1, ::-2, 1],
]
ROWS = np.array([2, 0, -1, 2])
ADVANCED = [
    (ROWS,), (slice(None), ROWS), (Ellipsis, ROWS), (ROWS, slice(1, 3)), (ROWS, 1), (1, slice(None), ROWS), (0, ROWS),
    (ROWS, ROWS[::-1]), (ROWS[:, None], ROWS[None, :2]), (ROWS, slice(None), ROWS), (None, ROWS),
    (ROWS, None, slice(1)), (slice(None), ROWS, None, ROWS), (np.zeros((2, 0), "int64"),), (np.array(1),),
    (ROWS.reshape(2, 2), Ellipsis, 0), (ROWS[:1], ROWS[:1], ROWS[:1]), (slice(None, None, -1), ROWS), ([0, 1],),
    ([0, 1], [1, 2]), (range(2),), (slice(None), range(0, 3, 2)), (range(0),),
]  # fmt: skip


def as_lamella(item: object) -> object:
    return lm.asarray(item) if isinstance(item, np.ndarray) else item


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(4, 5, 6))


@pytest.mark.parametrize("item", BASIC, ids=str)
def test_basic_indexing_is_a_view(x: np.ndarray, item: object) -> None:
    t = lm.asarray(x)
    got = t[item]
    np.testing.assert_array_equal(got.numpy(), x[item])
    if got.size:
        t.fill_(7)
        assert (got == 7).all().item()


@pytest.mark.parametrize("item", ADVANCED, ids=str)
def test_integer_arrays(x: np.ndarray, item: tuple[object, ...]) -> None:
    got = lm.asarray(x)[tuple(as_lamella(i) for i in item)]
    expected = x[item]
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected)
    strided = lm.asarray(np.ascontiguousarray(x.transpose(2, 0, 1)))
    np.testing.assert_array_equal(
        lm.permute_dims(strided, [1, 2, 0])[tuple(as_lamella(i) for i in item)].numpy(), expected
    )


def test_bool_masks(x: np.ndarray) -> None:
    t = lm.asarray(x)
    np.testing.assert_array_equal(t[t > 0].numpy(), x[x > 0])
    mask = np.array([True, False, True, True])
    np.testing.assert_array_equal(t[lm.asarray(mask)].numpy(), x[mask])
    pairs = x[..., 0] > 0
    np.testing.assert_array_equal(t[lm.asarray(pairs), 1:3].numpy(), x[pairs, 1:3])
    assert t[lm.zeros([4], dtype="bool")].shape == (0, 5, 6)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_long_masks(dtype: str, share: float, rng: np.random.Generator) -> None:
    """More than one block of elements, and runs of true and false."""
    a = rng.integers(0, 100, 40_003).astype(dtype)
    mask = rng.random(a.size) < share
    mask[100:1000], mask[2000:3001] = True, False
    t, m = lm.asarray(a), lm.asarray(mask)
    np.testing.assert_array_equal(t[m].numpy(), a[mask])
    np.testing.assert_array_equal(t[::-1][m].numpy(), a[::-1][mask])
    np.testing.assert_array_equal(lm.nonzero(m)[0].numpy(), np.flatnonzero(mask))
    square, grid = a[:40_000].reshape(200, 200).T, mask[:40_000].reshape(200, 200)
    np.testing.assert_array_equal(lm.asarray(square)[lm.asarray(grid)].numpy(), square[grid])
    np.testing.assert_array_equal(
        lm.unique_consecutive(lm.asarray(np.repeat(a[:20_000], 2))).numpy(),
        a[:20_000][np.concatenate([[True], a[1:20_000] != a[: 20_000 - 1]])],
    )


@pytest.mark.parametrize("shape", [(0,), (4, 0), (0, 5), (0, 0, 6), (0, 0, 0)])
def test_masks_without_elements(x: np.ndarray, shape: tuple[int, ...]) -> None:
    """An axis of a mask may have no elements, where the tensor's has some."""
    mask = np.zeros(shape, bool)
    t = lm.asarray(x)
    assert t[lm.asarray(mask)].shape == x[mask].shape
    before = t.tolist()
    t[lm.asarray(mask)] = 1.0
    assert t.tolist() == before
    with pytest.raises(IndexError, match="does not fit axes"):
        t[lm.zeros([0, 3], dtype="bool")]


@pytest.mark.parametrize("item", [np.s_[1], np.s_[:, ::2], np.s_[::-1, None, 1], np.s_[...]], ids=str)
def test_gradient_of_views(x: np.ndarray, item: object) -> None:
    check_gradients(lambda t: lm.square(t[item]), x[:2, :2, :2].copy())


@pytest.mark.parametrize(
    "item", [i for i in ADVANCED if not any(isinstance(k, (list, range)) for k in i)][:12], ids=str
)
def test_gradient_of_picks(x: np.ndarray, item: tuple[object, ...]) -> None:
    small = x[:3, :3, :3].copy()
    check_gradients(lambda t: lm.square(t[tuple(as_lamella(i) for i in item)]), small)


def test_repeated_picks_sum_their_gradients() -> None:
    t = lm.tensor([1.0, 2.0, 3.0], stop_gradient=False)
    t[lm.asarray([0, 2, 2, 2])].sum().backward()
    assert t.grad.tolist() == [1.0, 0.0, 3.0]


@pytest.mark.parametrize("item", [*BASIC, *ADVANCED], ids=str)
def test_assignment(x: np.ndarray, item: object) -> None:
    t, expected = lm.asarray(x.copy()), x.copy()
    value = np.arange(x[item].size, dtype="float64").reshape(x[item].shape)
    wrapped = tuple(as_lamella(i) for i in item) if isinstance(item, tuple) else item
    t[wrapped] = lm.asarray(value)
    expected[item] = value
    if not repeats(item):
        np.testing.assert_array_equal(t.numpy(), expected)
    t[wrapped] = 5
    expected[item] = 5
    np.testing.assert_array_equal(t.numpy() == 5, expected == 5)


def repeats(item: object) -> bool:
    """Whether the item picks an element twice: numpy does not say which value then stays."""
    return isinstance(item, tuple) and any(isinstance(i, np.ndarray) and i is ROWS for i in item)


def test_assignment_through_masks_and_broadcasting(x: np.ndarray) -> None:
    t, expected = lm.asarray(x.copy()), x.copy()
    t[t < 0] = 0
    expected[expected < 0] = 0
    t[1] = lm.arange(6, dtype="float32")
    expected[1] = np.arange(6)
    t[:, 0] = t[:, 1]
    expected[:, 0] = expected[:, 1]
    t[1:] = t[:-1]
    expected[1:] = expected[:-1].copy()
    np.testing.assert_array_equal(t.numpy(), expected)


def test_assignment_is_recorded() -> None:
    a = lm.tensor([1.0, 2.0, 3.0], stop_gradient=False)
    v = lm.tensor([10.0], stop_gradient=False)
    y = a * 2
    y[1:2] = v
    (y * lm.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert a.grad.tolist() == [2.0, 0.0, 200.0]
    assert v.grad.tolist() == [10.0]


def test_assignment_to_a_leaf_is_refused() -> None:
    a = lm.tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises(RuntimeError, match="leaf"):
        a[0] = 3
    assert a.tolist() == [1.0, 2.0]
    with lm.no_grad():
        a[0] = 3
    assert a.tolist() == [3.0, 2.0]


def test_errors(x: np.ndarray) -> None:
    t = lm.asarray(x)
    for item, message in [
        (4, "index 4 is out of range for axis 0 of size 4"),
        ((0, -6), "index -6 is out of range for axis 1 of size 5"),
        ((0, 0, 0, 0), "too many indices: 4"),
        ((..., ...), "ellipsis"),
        (lm.asarray([0, 9]), "index 9 is out of range for axis 0 of size 4"),
        (lm.asarray([True, False]), "bool index"),
    ]:
        with pytest.raises(IndexError, match=message):
            t[item]
        before = t.numpy().copy()
        with pytest.raises(IndexError):
            t[item] = 0
        np.testing.assert_array_equal(t.numpy(), before)
    for item in ("a", 1.5, lm.asarray([0.5]), {}, object()):
        with pytest.raises((TypeError, IndexError)):
            t[item]
    with pytest.raises(ValueError, match="zero"):
        t[::0]
    with pytest.raises(ValueError, match="broadcast"):
        t[0] = lm.ones([7])
    with pytest.raises(TypeError):
        lm.asarray(1.0)[0:1:"x"]


def test_take_and_take_along_axis(x: np.ndarray) -> None:
    t = lm.asarray(x)
    for axis in range(3):
        np.testing.assert_array_equal(
            lm.take(t, lm.asarray([1, 0, -1]), axis=axis).numpy(), np.take(x, [1, 0, -1], axis=axis)
        )
        order = np.argsort(x, axis=axis)
        np.testing.assert_array_equal(
            lm.take_along_axis(t, lm.asarray(order), axis=axis).numpy(), np.sort(x, axis=axis)
        )
        check_gradients(
            lambda v, axis=axis: lm.square(lm.take(v, lm.asarray([[1, 0], [1, 1]]), axis=axis)), x[:2, :2, :2].copy()
        )
    with pytest.raises(IndexError, match=r"take|index"):
        lm.take(t, lm.asarray([9]), axis=0)


def test_nonzero(x: np.ndarray) -> None:
    for values in (x > 0.5, (x * 2).astype("int32"), np.zeros((0, 3)), np.eye(3)):
        got = lm.nonzero(lm.asarray(values))
        for a, b in zip(got, np.nonzero(values), strict=True):
            np.testing.assert_array_equal(a.numpy(), b)


def test_nonzero_of_many(rng: np.random.Generator) -> None:
    for shape in ((40000,), (7, 3, 2000), (200, 1, 200), (5000, 3)):
        for share in (0.0, 0.001, 0.5, 1.0):
            values = rng.random(shape) < share
            got = lm.nonzero(lm.asarray(values))
            for a, b in zip(got, np.nonzero(values), strict=True):
                np.testing.assert_array_equal(a.numpy(), b)
            np.testing.assert_array_equal(lm.argwhere(lm.asarray(values)).numpy(), np.argwhere(values))


F = lm.nn.functional
# 2 ** 64 - 1 and its like have the bits of negative int64 numbers, which count from the end.
OF_INDICES: dict[str, Callable[[lm.Tensor, lm.Tensor], object]] = {
    "x[i]": lambda x, i: x[i],
    "x[number]": lambda x, i: x[i[0]],
    "x[i] = y": lambda x, i: x.__setitem__(i, 5.0),
    "x[i, list]": lambda x, i: lm.ones([3, 3])[i, [0]],
    "take": lambda x, i: lm.take(x, i, axis=0),
    "take of all": lm.take,
    "take_along_axis": lambda x, i: lm.take_along_axis(x, i, axis=0),
    "put": lambda x, i: lm.put(x, i, lm.ones([1])),
    "put_along_axis": lambda x, i: lm.put_along_axis(x, i, lm.ones([1]), 0),
    "scatter_add": lambda x, i: lm.scatter_add(x, 0, i, lm.ones([1])),
    "index_select": lambda x, i: lm.index_select(x, 0, i),
    "index_add": lambda x, i: lm.index_add(x, 0, i, lm.ones([1])),
    "index_fill": lambda x, i: lm.index_fill(x, 0, i, 1.0),
    "index_copy": lambda x, i: lm.index_copy(x, 0, i, lm.ones([1])),
    "embedding": lambda x, i: lm.embedding(i, x[:, None]),
    "embedding_bag": lambda x, i: lm.embedding_bag(i, x[:, None], lm.asarray([0])),
    "one_hot": lambda x, i: lm.one_hot(i, 3),
    "cross_entropy": lambda x, i: lm.cross_entropy(x[None], i),
    "nll_loss": lambda x, i: lm.nll_loss(x[None], i),
    "multi_margin_loss": lambda x, i: lm.multi_margin_loss(x[None], i),
    "multilabel_margin_loss": lambda x, i: lm.multilabel_margin_loss(x[:1], i),
    "unravel_index": lambda x, i: lm.unravel_index(i, [2, 3]),
    "searchsorted": lambda x, i: lm.searchsorted(x[:1], x, sorter=i),
    "max_unpool1d": lambda x, i: F.max_unpool1d(lm.ones([1, 1, 1]), i[None, None], 2),
    "ctc_loss": lambda x, i: lm.ctc_loss(lm.ones([3, 1, 3]), i[None], lm.asarray([3]), lm.asarray([1])),
}


@pytest.mark.parametrize("name", OF_INDICES)
@pytest.mark.parametrize("largest", [2**64 - 1, 2**64 - 3, 2**63])
def test_indices_beyond_int64_do_not_count_from_the_end(name: str, largest: int) -> None:
    x = lm.arange(3.0)
    with pytest.raises(IndexError, match=r"out of range|must lie in|must hold positions|must be among"):
        OF_INDICES[name](x, lm.asarray([largest], dtype="uint64"))
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize("key", [(1, 2, 3), (0, 0), (slice(None), 1), ([0, 1], [2, 2]), (slice(0, 2), slice(0, 2), 0)])
@pytest.mark.parametrize("ones", [1, 2, 3])
def test_values_may_have_leading_axes_of_length_1(key: Any, ones: int, rng: np.random.Generator) -> None:
    y = rng.normal(size=(2, 3, 4))
    value = rng.normal(size=(1,) * ones + np.shape(y[key]))
    x, given = lm.asarray(y), lm.asarray(value)
    given.stop_gradient = False
    x[key] = given
    y[key] = value.reshape(np.shape(y[key]))
    np.testing.assert_array_equal(x.detach(), y)
    np.testing.assert_array_equal(lm.grad((x * 3).sum(), given), np.full(value.shape, 3.0))
    with pytest.raises(ValueError, match="does not broadcast"):
        lm.asarray(y)[key] = lm.ones([2, *value.shape])


def test_a_value_with_a_leading_axis_fits_one_of_the_windows_that_overlap() -> None:
    x = lm.zeros([6])
    windows = lm.sliding_window(x, 0, 3, 2)
    windows[1] = lm.asarray([[1.0, 2.0, 3.0]])
    assert x.tolist() == [0, 0, 1, 2, 3, 0]
