"""Matrix products of every rank against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

from ..gradcheck import check_gradients

SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((4, 1, 2, 3), (5, 3, 2)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((17, 33), (33, 9)),
    ((64, 70), (70, 65)),
    ((1, 1), (1, 1)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((0,), (0,)),
    ((3, 0, 2), (2, 5)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
def test_values(a: tuple[int, ...], b: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    x = rng.integers(-4, 5, a).astype(dtype)
    y = rng.integers(-4, 5, b).astype(dtype)
    got = lm.matmul(lm.asarray(x), lm.asarray(y))
    expected = np.matmul(x, y)
    assert (got.shape, str(got.dtype).split(".")[-1]) == (expected.shape, dtype)
    np.testing.assert_array_equal(got.numpy(), expected)
    np.testing.assert_array_equal((lm.asarray(x) @ lm.asarray(y)).numpy(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [2, 8, 15, 16, 17, 40, 130])
def test_transposed_and_strided_operands(n: int, dtype: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(n, 2 * n)).astype(dtype)
    y = rng.normal(size=(n, 3 * n)).astype(dtype)
    a, b = lm.asarray(x), lm.asarray(y)
    tolerance = dict(rtol=1e-4, atol=1e-4) if dtype == "float32" else dict(rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose((a.T @ b).numpy(), x.T @ y, **tolerance)
    np.testing.assert_allclose((a[:, ::2] @ b[:, :n].T).numpy(), x[:, ::2] @ y[:, :n].T, **tolerance)
    np.testing.assert_allclose((a[::-1].T @ b[:, 1::3]).numpy(), x[::-1].T @ y[:, 1::3], **tolerance)
    np.testing.assert_allclose(
        (lm.broadcast_to(a[:1], [n, 2 * n]).T @ b).numpy(), np.broadcast_to(x[:1], x.shape).T @ y, **tolerance
    )


@pytest.mark.parametrize(("a", "b"), [s for s in SHAPES if 0 not in s[0] + s[1] and np.prod(s[0]) < 60], ids=str)
def test_gradients(a: tuple[int, ...], b: tuple[int, ...], rng: np.random.Generator) -> None:
    check_gradients(lm.matmul, rng.normal(size=a), rng.normal(size=b))


def test_linear_is_a_product_with_the_transposed_weight(rng: np.random.Generator) -> None:
    x, w, b = rng.normal(size=(2, 5, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
    got = lm.linear(lm.asarray(x), lm.asarray(w), lm.asarray(b))
    np.testing.assert_allclose(got.numpy(), x @ w.T + b, rtol=1e-12)
    check_gradients(lm.linear, x, w, b)
    check_gradients(lambda x, w: lm.linear(x, w), x[0], w)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (3, 4)), ((40, 50), (50, 30)), ((3, 5), (2, 5, 6)), ((4,), (4,))], ids=str
)
def test_integers_wrap_around(a: tuple[int, ...], b: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = rng.integers(low, high, a, dtype=dtype, endpoint=True)
    y = rng.integers(low, high, b, dtype=dtype, endpoint=True)
    got = lm.matmul(lm.asarray(x), lm.asarray(y))
    assert got.dtype.name == dtype
    np.testing.assert_array_equal(got.numpy(), np.matmul(x, y))


@pytest.mark.parametrize("n", [4, 50])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_is_summed_in_float32(dtype: str, n: int, rng: np.random.Generator) -> None:
    x, y = (lm.asarray(rng.normal(size=(n, n))).astype(dtype) for _ in range(2))
    got = lm.matmul(x, y)
    exact = x.astype("float64").numpy() @ y.astype("float64").numpy()
    assert got.dtype.name == dtype
    epsilon = 2.0 ** (-11 if dtype == "float16" else -8)
    np.testing.assert_allclose(got.astype("float64").numpy(), exact, rtol=epsilon * 1.01, atol=1e-5)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
def test_complex_values(a: tuple[int, ...], b: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    x = (rng.integers(-4, 5, a) + 1j * rng.integers(-4, 5, a)).astype(dtype)
    y = (rng.integers(-4, 5, b) + 1j * rng.integers(-4, 5, b)).astype(dtype)
    got = lm.matmul(lm.asarray(x), lm.asarray(y))
    assert got.dtype.name == dtype
    np.testing.assert_array_equal(got.numpy(), np.matmul(x, y))


@pytest.mark.parametrize("layout", ["rows", "every second row", "transposed", "second transposed", "one row repeated"])
def test_large_products(layout: str, rng: np.random.Generator) -> None:
    """They take a way of their own, by how the matrices lie."""
    a = lm.asarray(rng.integers(-8, 9, (1100, 1000)).astype("float32"))
    b = lm.asarray(rng.integers(-8, 9, (1000, 1200)).astype("float32"))
    if layout == "every second row":
        wide = lm.zeros([1000, 1300])
        wide[:, 3:1203] = b
        a, b = lm.repeat(a, 2, axis=0)[::2], wide[:, 3:1203]
    elif layout == "transposed":
        a = lm.asarray(np.ascontiguousarray(a.numpy().T)).mT
    elif layout == "second transposed":
        b = lm.asarray(np.ascontiguousarray(b.numpy().T)).mT
    elif layout == "one row repeated":
        b = lm.broadcast_to(b[:1], b.shape)
    # Sums of integers below 2^24 are exact.
    np.testing.assert_array_equal((a @ b).numpy(), a.numpy() @ b.numpy())


@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
@pytest.mark.parametrize(
    ("m", "k", "n"), [(40, 130, 256), (300, 70, 256), (40, 70, 1024), (512, 33, 512), (33, 1024, 40), (256, 512, 256)]
)
@pytest.mark.parametrize("bias", [False, True])
def test_lines_at_distances_that_share_cache_lines(
    m: int, k: int, n: int, transposed: str, bias: bool, rng: np.random.Generator
) -> None:
    """Operands whose lines are quarters of pages apart, and windows in larger matrices that are."""
    x, y = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    for pad in (0, -m % 256, -n % 1024):
        wide_x = np.pad(x.T if "a" in transposed else x, ((0, 3), (0, pad)))
        wide_y = np.pad(y.T if "b" in transposed else y, ((0, 3), (0, pad)))
        a, b = lm.asarray(wide_x)[:-3], lm.asarray(wide_y)[:-3]
        a, b = a[:, : a.shape[1] - pad], b[:, : b.shape[1] - pad]
        a, b = a.T if "a" in transposed else a, b.T if "b" in transposed else b
        if bias:
            added = rng.integers(-4, 5, n).astype(np.float32)
            got, expected = lm.addmm(lm.asarray(added), a, b), x @ y + added
        else:
            got, expected = a @ b, x @ y
        np.testing.assert_array_equal(got.numpy(), expected)
        if not bias:
            many = lm.stack([a, a + 1, a * 2])
            np.testing.assert_array_equal((many @ b).numpy(), np.stack([x, x + 1, x * 2]) @ y)
            np.testing.assert_array_equal((a @ lm.stack([b, b - 1])).numpy(), x @ np.stack([y, y - 1]))
            swapped = lm.matrix_transpose(lm.stack([b, b - 1])) @ lm.matrix_transpose(lm.stack([a, a + 1]))
            np.testing.assert_array_equal(swapped.numpy(), np.stack([y.T @ x.T, (y - 1).T @ (x + 1).T]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_complex_sizes(transposed: str, dtype: str, rng: np.random.Generator) -> None:
    """Whole strips and panels and what is left of them, inner sizes of more than one panel, batches."""
    sizes = [(m, k, n) for m in (1, 5, 6, 13) for k in (2, 7, 128, 300) for n in (1, 3, 8, 17, 33)]
    for leading, (m, k, n) in [*(((), size) for size in sizes), ((3, 1), (7, 9, 20)), ((200,), (16, 16, 16))]:
        x = rng.integers(-4, 5, (*leading, m, k)) + 1j * rng.integers(-4, 5, (*leading, m, k))
        y = rng.integers(-4, 5, (*leading[:1], k, n)) + 1j * rng.integers(-4, 5, (*leading[:1], k, n))
        x, y = x.astype(dtype), y.astype(dtype)
        a = lm.asarray(x.swapaxes(-1, -2).copy()).mT if "a" in transposed else lm.asarray(x)
        b = lm.asarray(y.swapaxes(-1, -2).copy()).mT if "b" in transposed else lm.asarray(y)
        np.testing.assert_array_equal(lm.matmul(a, b).numpy(), np.matmul(x, y))


def test_errors_name_both_shapes() -> None:
    with pytest.raises(TypeError, match=r"\[matmul\].*bool"):
        lm.matmul(lm.ones([2, 2], dtype="bool"), lm.ones([2, 2], dtype="bool"))
    with pytest.raises(ValueError, match=r"\[matmul\] inner sizes 3 and 4 differ \(a: \[2, 3\], b: \[4, 5\]\)"):
        lm.matmul(lm.ones([2, 3]), lm.ones([4, 5]))
    with pytest.raises(ValueError, match=r"\[matmul\]"):
        lm.matmul(lm.ones([2, 2, 3]), lm.ones([5, 3, 4]))
    with pytest.raises(ValueError, match=r"\[matmul\]"):
        lm.matmul(lm.asarray(1.0), lm.ones([2]))
    with pytest.raises(TypeError, match="matmul"):
        lm.matmul(lm.ones([2, 2]), 3)


def test_meta() -> None:
    y = lm.matmul(lm.ones([5, 2, 3], device="meta"), lm.ones([3, 4], device="meta"))
    assert (y.shape, str(y.device)) == ((5, 2, 4), "meta")


def apart(x: np.ndarray) -> lm.Tensor:
    """The values of x, whose rows and columns lie apart in memory."""
    wide = np.full((*x.shape[:-2], 2 * x.shape[-2], 3 * x.shape[-1]), np.nan, x.dtype)
    wide[..., ::2, ::3] = x
    return lm.tensor(wide)[..., ::2, ::3]


def padded(x: np.ndarray) -> lm.Tensor:
    """The same with dense rows."""
    wide = np.full((*x.shape[:-1], x.shape[-1] + 3), np.nan, x.dtype)
    wide[..., : x.shape[-1]] = x
    return lm.tensor(wide)[..., : x.shape[-1]]


ROW_LAYOUTS = {
    "dense": lm.tensor,
    "padded": padded,
    "apart": apart,
    "transposed": lambda x: lm.swapaxes(lm.tensor(np.swapaxes(x, -1, -2).copy()), -1, -2),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [*range(1, 19), 31, 32, 33, 64, 65, 130, 257])
@pytest.mark.parametrize("layout", ROW_LAYOUTS)
def test_products_of_short_rows(layout: str, width: int, dtype: str, rng: np.random.Generator) -> None:
    place = ROW_LAYOUTS[layout]
    for rows in (1, 2, 7, 15, 16, 17, 50, 100):
        x = rng.integers(-4, 5, (2, rows, width)).astype(dtype)
        y = rng.integers(-4, 5, (2, rows, width)).astype(dtype)
        # It stays in its own product, whatever is computed together.
        x[0, rows // 2] = np.nan
        a, b = place(x), place(y)
        table = [
            ("two of each", lm.vecdot(a, b), (x * y).sum(-1)),
            ("einsum", lm.einsum("bij,bij->bi", a, b), (x * y).sum(-1)),
            ("one for all of a batch", lm.vecdot(a, b[1, :1]), (x * y[1, :1]).sum(-1)),
            ("one of a batch", lm.vecdot(a[1, :1], b), (x[1, :1] * y).sum(-1)),
            ("a batch for all", lm.vecdot(a[1], b), (x[1] * y).sum(-1)),
            ("columns", lm.vecdot(a, b, axis=1), (x * y).sum(1)),
            ("columns of one", lm.vecdot(a[1], b[1], axis=0), (x[1] * y[1]).sum(0)),
            ("all pairs", lm.vecdot(a[1][:, None], b[1]), (x[1][:, None] * y[1]).sum(-1)),
            ("matrix and vector", a[1] @ b[1, 0], x[1] @ y[1, 0]),
            ("matrices and vectors", a @ b[:, :1].mT, x @ np.swapaxes(y[:, :1], 1, 2)),
            ("vectors and matrices", b[:, :1] @ a.mT, y[:, :1] @ np.swapaxes(x, 1, 2)),
        ]
        for name, got, want in table:
            np.testing.assert_array_equal(got.numpy(), want, err_msg=f"{name}, {rows} rows")


@pytest.mark.parametrize("width", [3, 8, 10, 40, 100])
def test_products_of_rows_on_any_number_of_threads(width: int, rng: np.random.Generator) -> None:
    x, y = (lm.tensor(rng.normal(size=(20011, width)).astype("float32")) for _ in range(2))
    small = lm.reshape(x[:20007], (-1, 3, width))
    few = lm.reshape(y[:6669], (-1, width, 1))
    before = lm.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            lm.set_num_threads(threads)
            results.append([v.numpy() for v in (lm.vecdot(x, y), x @ y[0], small @ few)])
    finally:
        lm.set_num_threads(before)
    for other in results[1:]:
        for got, want in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(got, want)
    exact = (x.numpy().astype("float64") * y.numpy()).sum(-1)
    np.testing.assert_allclose(results[0][0], exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_batches_that_run_backwards_or_repeat(dtype: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (lm.asarray(rng.normal(size=shape)).astype(dtype) for shape in ((3, 31, 9), (3, 9, 17)))
    same = lm.broadcast_to(a[0], a.shape), lm.broadcast_to(b[0], b.shape)
    for left, right in ((a[::-1], b), (a, lm.flip(b, 0)), (a[::-1], b[::-1]), (same[0], b), (a, same[1]), same):
        want = lm.matmul(left.contiguous().clone(), right.contiguous().clone())
        np.testing.assert_array_equal(lm.matmul(left, right).astype("float64").numpy(), want.astype("float64").numpy())
