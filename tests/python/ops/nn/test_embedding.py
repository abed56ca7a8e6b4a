"""Tables that are looked up, and bags of their rows."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from lamella import nn

from ..gradcheck import check_gradients


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 4)])
def test_embedding(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    weight = lm.asarray(rng.integers(-9, 9, (6, 4))).astype(dtype)
    x = rng.integers(0, 6, shape)
    y = lm.embedding(lm.asarray(np.asarray(x)), weight)
    assert y.dtype == weight.dtype
    np.testing.assert_array_equal(y.astype("float32").numpy(), weight.astype("float32").numpy()[x])


def test_embedding_gradient(rng: np.random.Generator) -> None:
    x = np.array([[0, 2, 0], [4, 4, 0]])
    weight = lm.tensor(rng.normal(size=(5, 3)), stop_gradient=False)
    for padding, row in ((None, None), (0, 0), (-1, 4)):
        weight.grad = None
        seed = rng.normal(size=(2, 3, 3))
        y = lm.embedding(lm.asarray(x), weight, padding)
        np.testing.assert_array_equal(y.detach().numpy(), weight.detach().numpy()[x])
        y.backward(lm.asarray(seed))
        expected = np.zeros((5, 3))
        np.add.at(expected, x, seed)
        if row is not None:
            expected[row] = 0
        np.testing.assert_allclose(weight.grad.numpy(), expected, rtol=1e-14)


def test_embedding_of_uint8_and_errors() -> None:
    weight = lm.ones([3, 2])
    assert lm.embedding(lm.asarray([2]).astype("uint8"), weight).shape == (1, 2)
    for call, error in [
        (lambda: lm.embedding(lm.asarray([3]), weight), IndexError),
        (lambda: lm.embedding(lm.asarray([-1]), weight), IndexError),
        (lambda: lm.embedding(lm.asarray([0.0]), weight), TypeError),
        (lambda: lm.embedding(lm.asarray([0]), lm.ones([3])), ValueError),
        (lambda: lm.embedding(lm.asarray([0]), weight, 3), ValueError),
        (lambda: lm.embedding(lm.asarray([0]), lm.ones([0, 2])), IndexError),
    ]:
        with pytest.raises(error, match=r"^\[embedding\]"):
            call()


@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode: str, padding: int | None, rng: np.random.Generator) -> None:
    weight = rng.normal(size=(5, 3))
    bags = [[0, 1, 1], [4, 2, 3], [1, 1, 1]]

    def expected(bag: list[int]) -> np.ndarray:
        rows = weight[[i for i in bag if i != padding]]
        return getattr(rows, mode)(0) if len(rows) else np.zeros(3)

    got = lm.embedding_bag(lm.asarray(bags), lm.asarray(weight), mode=mode, padding_idx=padding)
    np.testing.assert_allclose(got.numpy(), [expected(bag) for bag in bags], rtol=1e-12)
    if mode != "max":
        uneven = [[0, 1], [], [4, 2, 3, 1], []]
        flat, offsets = lm.asarray([0, 1, 4, 2, 3, 1]), lm.asarray([0, 2, 2, 6])
        got = lm.embedding_bag(flat, lm.asarray(weight), offsets, mode, padding_idx=padding)
        np.testing.assert_allclose(got.numpy(), [expected(bag) for bag in uneven], rtol=1e-12)
        check_gradients(lambda w: lm.embedding_bag(flat, w, offsets, mode), weight)


def test_embedding_bag_weights_and_errors(rng: np.random.Generator) -> None:
    weight, factors = rng.normal(size=(5, 3)), rng.normal(size=(2, 2))
    x = lm.asarray([[0, 1], [4, 4]])
    got = lm.embedding_bag(x, lm.asarray(weight), mode="sum", per_sample_weights=lm.asarray(factors))
    np.testing.assert_allclose(got.numpy(), (weight[[[0, 1], [4, 4]]] * factors[..., None]).sum(1), rtol=1e-12)
    w, flat = lm.ones([5, 3]), lm.asarray([0, 1, 2])
    for call in (
        lambda: lm.embedding_bag(x, w, mode="median"),
        lambda: lm.embedding_bag(flat, w),
        lambda: lm.embedding_bag(x, w, lm.asarray([0])),
        lambda: lm.embedding_bag(flat, w, lm.asarray([1])),
        lambda: lm.embedding_bag(flat, w, lm.asarray([0, 4])),
        lambda: lm.embedding_bag(flat, w, lm.asarray([0, 2, 1])),
        lambda: lm.embedding_bag(flat, w, lm.asarray([0, -1])),
        lambda: lm.embedding_bag(flat, w, lm.zeros([0], dtype="int64")),
        lambda: lm.embedding_bag(x, w, per_sample_weights=lm.ones([2, 2])),
    ):
        with pytest.raises(ValueError, match=r"^\[embedding_bag\]"):
            call()


def test_one_hot_counts_the_classes() -> None:
    assert lm.one_hot(lm.asarray([0, 3])).shape == (2, 4)
    for x, classes in ((lm.zeros([0], dtype="int64"), -1), (lm.asarray([0]), -2)):
        with pytest.raises(ValueError, match=r"^\[one_hot\]"):
            lm.one_hot(x, classes)


def test_layers() -> None:
    lm.seed(0)
    table = nn.Embedding(50, 40, padding_idx=3)
    assert not table.weight.detach().numpy()[3].any()
    assert abs(table.weight.detach().numpy().std() - 0.99) < 0.05
    assert table(lm.asarray([[1, 3]])).shape == (1, 2, 40)
    assert repr(table) == "Embedding(50, 40, padding_idx=3)"
    bag = nn.EmbeddingBag(5, 2, mode="sum")
    assert bag(lm.asarray([0, 1, 2]), lm.asarray([0, 1])).shape == (2, 2)
    for make in (
        lambda: nn.Embedding(5, 2, padding_idx=5),
        lambda: nn.Embedding(-1, 2),
        lambda: nn.EmbeddingBag(5, 2, mode="min"),
    ):
        with pytest.raises(ValueError, match=r"^\[Embedding"):
            make()
