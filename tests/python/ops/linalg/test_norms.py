"""What lamella.linalg composes of other functions in Python: norms, condition numbers, chains of products."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lamella as lm

from .matrices import DTYPES, close, draw, real

la = lm.linalg


@pytest.mark.parametrize("dtype", DTYPES)
def test_norm_of_anything(dtype: str, rng: np.random.Generator) -> None:
    a = draw((3, 4, 2), dtype, rng)
    wide = a.astype("complex128" if dtype.startswith("complex") else "float64")
    for keepdims in (False, True):
        for axis in (None, 0, (0, 2), (-1, 0)):
            expected = np.linalg.norm(wide, axis=axis, keepdims=keepdims)
            close(la.norm(lm.asarray(a), axis=axis, keepdims=keepdims), expected, dtype)
        # The root of the sum of squares along any axes.
        everything = np.sqrt((np.abs(wide) ** 2).sum((0, 1, 2), keepdims=keepdims))
        close(la.norm(lm.asarray(a), axis=(0, 1, 2), keepdims=keepdims), everything, dtype)
        for order in (0, 1, 2, 3, -2, np.inf, -np.inf):
            for axis in (0, (-1,)):
                expected = np.linalg.norm(wide, order, axis[0] if isinstance(axis, tuple) else axis, keepdims)
                close(la.norm(lm.asarray(a), ord=order, axis=axis, keepdims=keepdims), expected, dtype)
            close(
                la.norm(lm.asarray(a[0, :, 0]), ord=order, keepdims=keepdims),
                np.linalg.norm(wide[0, :, 0], order, keepdims=keepdims),
                dtype,
            )
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            for axis in ((0, 1), (2, 0), (-1, -2)):
                expected = np.linalg.norm(wide, order, axis, keepdims)
                close(la.norm(lm.asarray(a), ord=order, axis=axis, keepdims=keepdims), expected, dtype)
            expected = np.linalg.norm(wide[0], order, keepdims=keepdims)
            close(la.norm(lm.asarray(a[0]), ord=order, keepdims=keepdims), expected, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_norms_of_half_precision(dtype: str, rng: np.random.Generator) -> None:
    a = lm.asarray(rng.normal(size=(2, 3, 3)).astype("float32")).astype(dtype)
    wide = a.astype("float32").numpy()
    for order in ("fro", "nuc", 1, -1, 2, np.inf):
        got = la.matrix_norm(a, ord=order)
        assert got.dtype.name == dtype
        expected = np.linalg.matrix_norm(wide, ord=order)
        np.testing.assert_allclose(got.astype("float32").numpy(), expected, rtol=1e-3 if dtype == "float16" else 8e-3)
        assert la.norm(a, ord=order, axis=(1, 2)).tolist() == got.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_condition_numbers(dtype: str, rng: np.random.Generator) -> None:
    a = draw((2, 3, 3), dtype, rng) + 2 * np.eye(3, dtype=dtype)
    wide = a.astype("complex128" if dtype.startswith("complex") else "float64")
    for p in (None, 2, -2, "fro", "nuc", 1, -1, np.inf, -np.inf):
        close(la.cond(lm.asarray(a), p=p), np.linalg.cond(wide, p), dtype)
    close(la.cond(lm.asarray(a[:, :2])), np.linalg.cond(wide[:, :2]), dtype)
    assert la.cond(lm.asarray(np.diag([1.0, 0.0]).astype(dtype))).item() == np.inf
    mixed = lm.asarray(np.stack([np.eye(2), np.ones((2, 2)), np.zeros((2, 2))]).astype(dtype))
    for p in ("fro", "nuc", 1, -1, np.inf, -np.inf):
        got = la.cond(mixed, p=p)
        np.testing.assert_array_equal(np.isinf(got.numpy()), [False, True, True])
        assert la.cond(lm.zeros([2, 0, 0], dtype=dtype), p=p).tolist() == [0.0, 0.0]
    nothing = la.cond(lm.zeros([2, 0, 3], dtype=dtype))
    assert (nothing.tolist(), nothing.dtype.name) == ([0.0, 0.0], real(dtype))
    with pytest.raises(ValueError, match="square"):
        la.cond(lm.ones([2, 3], dtype=dtype), p="fro")


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
def test_products_of_several(dtype: str, rng: np.random.Generator) -> None:
    sizes = (4, 30, 2, 25, 3, 6)
    a = [draw((m, n), dtype, rng) for m, n in itertools.pairwise(sizes)]
    for first, last in ((0, 2), (0, 3), (1, 5), (0, 5)):
        x = [lm.asarray(each) for each in a[first:last]]
        expected = np.linalg.multi_dot(a[first:last])
        tolerance = 1e-4 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(la.multi_dot(x).numpy(), expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(la.multi_dot([x[0][0], *x[1:]]).numpy(), expected[0], rtol=tolerance, atol=tolerance)
        both = la.multi_dot([x[0][0], *x[1:-1], x[-1][:, 0]])
        assert both.shape == ()
        np.testing.assert_allclose(both.numpy(), expected[0, 0], rtol=tolerance, atol=tolerance)
    assert la.multi_dot([lm.ones([2, 0]), lm.ones([0, 3]), lm.ones([3, 1])]).tolist() == [[0.0], [0.0]]


def test_order_of_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """The textbook's chain of six takes 15125 multiplications at best."""
    sizes = [30, 35, 15, 5, 10, 20, 25]
    count = 0

    def counted(a: lm.Tensor, b: lm.Tensor) -> lm.Tensor:
        nonlocal count
        count += a.shape[0] * a.shape[1] * b.shape[1]
        return lm.matmul(a, b)

    monkeypatch.setattr(la, "matmul", counted)
    assert la.multi_dot([lm.ones(pair) for pair in itertools.pairwise(sizes)]).shape == (30, 25)
    assert count == 15125


def test_gradients_of_compositions(rng: np.random.Generator) -> None:
    x = lm.tensor(rng.normal(size=(2, 3, 3)) + 2 * np.eye(3), stop_gradient=False)
    for call in (
        lambda t: la.norm(t, ord="nuc", axis=(0, 1)),
        lambda t: la.norm(t, ord=3, axis=1, keepdims=True),
        lambda t: la.cond(t),
        lambda t: la.cond(t, p="fro"),
        lambda t: la.multi_dot([t[0, 0], t[1], t[0]]),
    ):
        assert lm.autograd.gradcheck(call, (x,))
        assert lm.autograd.gradgradcheck(call, (x,))


CROSSED = [
    ((5, 3), (5, 3), -1),
    ((3, 7), (3, 7), -2),
    ((2, 3, 4), (3, 1), -2),
    ((4, 3), (3,), -1),
    ((20000, 3), (1, 3), -1),
    ((0, 3), (3,), -1),
]


@pytest.mark.parametrize("dtype", [*DTYPES, "int8", "uint16", "int64", "float16", "bfloat16"])
def test_cross_products(dtype: str, rng: np.random.Generator) -> None:
    for first, second, axis in CROSSED:
        a, b = (rng.integers(0 if dtype.startswith("u") else -5, 6, shape) for shape in (first, second))
        if dtype.startswith("complex"):
            a, b = a * (1 + 2j), b + 1j
        x, y = (lm.asarray(v).astype(dtype) for v in (a, b))
        expected = np.cross(a, b, axis=axis)
        got = lm.cross(x, y, axis=axis)
        assert got.dtype.name == dtype
        wanted = expected.astype("float32" if dtype == "bfloat16" else dtype)
        np.testing.assert_array_equal((got.astype("float32") if dtype == "bfloat16" else got).numpy(), wanted)
    grid = rng.integers(-5, 6, (3, 4, 6))
    grid = np.abs(grid) if dtype.startswith("u") else grid
    x = lm.asarray(grid).astype(dtype)[:, ::2, ::-2]
    x = lm.permute_dims(x, (1, 2, 0))
    turned = np.ascontiguousarray(grid[:, ::2, ::-2].transpose(1, 2, 0))
    wanted = np.cross(turned, turned[::-1]).astype("float32" if dtype == "bfloat16" else dtype)
    got = lm.cross(x, x[::-1])
    np.testing.assert_array_equal((got.astype("float32") if dtype == "bfloat16" else got).numpy(), wanted)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_of_cross_products(dtype: str, rng: np.random.Generator) -> None:
    def leaf(*shape: int) -> lm.Tensor:
        values = rng.standard_normal(shape)
        if dtype == "complex128":
            values = values + 1j * rng.standard_normal(shape)
        return lm.tensor(values, dtype=dtype, stop_gradient=False)

    for x, y, axis in ((leaf(2, 3), leaf(3), -1), (leaf(3, 2), leaf(2, 3, 1), -2)):
        assert lm.autograd.gradcheck(lambda a, b, axis=axis: lm.cross(a, b, axis=axis), (x, y), check_forward_ad=True)
        assert lm.autograd.gradgradcheck(lambda a, b, axis=axis: lm.cross(a, b, axis=axis), (x, y))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_norms_of_low_precision_do_not_overflow(dtype: str) -> None:
    x = lm.full([64], 300.0, dtype=dtype)
    for order, wanted in ((2, 2400.0), (1, 19200.0), (3, 1200.0), (float("inf"), 300.0)):
        norm = lm.linalg.vector_norm(x, ord=order)
        assert norm.dtype.name == dtype
        np.testing.assert_allclose(norm.astype("float32").item(), wanted, rtol=1e-2)
