"""Reductions, scans and distances over the lengths and steps at which their kernels change from vectors to the rest."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

LENGTHS = [1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 1000, 4097]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_rows_with_a_step(n: int, step: int, dtype: str, rng: np.random.Generator) -> None:
    # The last element of a row is the last of the memory, behind which nothing may be read.
    memory = rng.integers(-9, 9, (3, (n - 1) * abs(step) + 1)).astype(dtype)
    x = memory[:, ::step]
    t = lm.from_numpy(memory)[:, ::step]
    for name in ("sum", "max", "min"):
        np.testing.assert_array_equal(getattr(lm, name)(t, axis=1).numpy(), getattr(np, name)(x, axis=1))
    np.testing.assert_array_equal(lm.argmax(t, axis=1).numpy(), x.argmax(axis=1))
    assert lm.sum(t).item() == x.sum()


@pytest.mark.parametrize("n", [*range(1, 18), 31, 32, 33, 100, 257])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bfloat16"])
def test_a_row_has_the_same_result_among_any_others(n: int, dtype: str, rng: np.random.Generator) -> None:
    x = lm.tensor(rng.normal(size=(37, n)) * 8).astype(dtype)
    wide = lm.concat((x, x), axis=1)
    names = ["sum", "max", "min", "argmax"]
    for name in names + ["prod"] * (n < 15):
        f = getattr(lm, name)
        rows = f(x, axis=1)
        want = getattr(np, name)(x.astype("float64").numpy(), axis=1)
        np.testing.assert_allclose(
            rows.astype("float64").numpy(), want, rtol=2e-2 if dtype == "bfloat16" else 1e-4, atol=0.3
        )
        for part in (slice(0, 16), slice(5, 37), slice(1, 3)):
            np.testing.assert_array_equal(
                f(x[part], axis=1).astype("float64").numpy(), rows[part].astype("float64").numpy()
            )
        np.testing.assert_allclose(f(wide[:, :n], axis=1).astype("float64").numpy(), want, rtol=2e-2, atol=0.3)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_any_and_all(n: int, dtype: str, rng: np.random.Generator) -> None:
    # Negative zeros are false, NaN and denormal numbers are true; few elements settle a row.
    special = [-0.0] if dtype in ("bool", "int8", "uint16", "int32", "int64") else [-0.0, np.nan, 6e-8]
    for columns in (1, 2, 3, 4, 8, 20):
        for usual, rare in ((0.0, 1.0), (1.0, 0.0)):
            x = np.full((n, columns), usual)
            x[rng.random(x.shape) < 2 / n] = rare
            x[rng.random(x.shape) < 0.2 / n] = rng.choice(special)
            x = x.astype(dtype)
            if dtype.startswith("complex"):
                x = np.where(rng.random(x.shape) < 0.5, x, x * 1j).astype(dtype)
            for t, y in ((lm.tensor(x), x), (lm.tensor(np.ascontiguousarray(x.T)), x.T)):
                for axis in (None, 0, 1):
                    np.testing.assert_array_equal(lm.any(t, axis=axis).numpy(), y.any(axis=axis))
                    np.testing.assert_array_equal(lm.all(t, axis=axis).numpy(), y.all(axis=axis))
                np.testing.assert_array_equal(lm.any(t[:, ::2], axis=1).numpy(), y[:, ::2].any(axis=1))
                np.testing.assert_array_equal(lm.all(t[:, ::2], axis=0).numpy(), y[:, ::2].all(axis=0))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64"])
def test_scans_of_several_rows(n: int, dtype: str, rng: np.random.Generator) -> None:
    for rows in (1, 3, 4, 9):
        signs = rng.choice([-1, 1], (rows, n))
        t = lm.tensor(signs).astype(dtype)
        np.testing.assert_array_equal(lm.cumprod(t, 1).astype("float64").numpy(), np.cumprod(signs, axis=1))
        few = np.where(rng.random((rows, n)) < 20 / n, signs, 0)
        leaf = lm.tensor(few).astype(dtype)
        leaf.stop_gradient = dtype.startswith("int")
        y = lm.cumsum(leaf, 1)
        np.testing.assert_array_equal(y.detach().astype("float64").numpy(), np.cumsum(few, axis=1))
        if not leaf.stop_gradient:
            # The sums from the other end.
            (got,) = lm.grad([y], [leaf], grad_outputs=[lm.tensor(few).astype(dtype)])
            np.testing.assert_array_equal(got.astype("float64").numpy(), np.flip(np.cumsum(np.flip(few, 1), axis=1), 1))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("axis", [0, 1])
def test_halves_are_widened(n: int, dtype: str, axis: int, rng: np.random.Generator) -> None:
    x = rng.integers(-4, 5, (n, 5) if axis == 0 else (5, n)).astype(np.float32)
    t = lm.tensor(x).astype(dtype)
    for name in ("sum", "nansum", "max", "min"):
        got = getattr(lm, name)(t, axis=axis).astype("float32").numpy()
        want = lm.tensor(getattr(np, name)(x, axis=axis)).astype(dtype).astype("float32").numpy()
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n", [4098, 8191, 8192, 12295, 262147, 300001])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_rows_of_many_blocks(n: int, dtype: str, rng: np.random.Generator) -> None:
    signed = not dtype.startswith("uint")
    exact = np.float64 if "float" in dtype else np.int64
    x = np.where(rng.random((2, n)) < 50 / n, rng.integers(-9 if signed else 0, 9, (2, n)), 0).astype(exact)
    factors = np.where(rng.random((2, n)) < 0.3, -1 if signed else 1, 1)
    for row in (0, 1):
        x[row, rng.integers(n)] = 20  # the largest may stand anywhere, also behind the last whole vector
        x[row, -1 - row] = 11
    t, u = lm.tensor(x).astype(dtype), lm.tensor(factors).astype(dtype)
    want = {"sum": x.sum(axis=1), "max": x.max(axis=1), "min": x.min(axis=1)}
    if "float" in dtype:
        want["nansum"] = want["sum"]
    for name, values in want.items():
        np.testing.assert_array_equal(getattr(lm, name)(t, axis=1).astype("float64").numpy(), values, err_msg=name)
    np.testing.assert_array_equal(lm.prod(u, axis=1).astype("float64").numpy(), factors.prod(axis=1))
    assert lm.sum(t).item() == lm.sum(t[0]).item() + lm.sum(t[1]).item() == x.sum()


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 8, 20])
def test_nan_counts_as_nothing(n: int, columns: int, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (n, columns)).astype(np.float32)
    x[rng.random(x.shape) < 0.3] = np.nan
    for axis in (None, 0, 1):
        np.testing.assert_array_equal(lm.nansum(lm.tensor(x), axis=axis).numpy(), np.nansum(x, axis=axis))
        np.testing.assert_array_equal(lm.nansum(lm.tensor(x.T).mT, axis=axis).numpy(), np.nansum(x, axis=axis))
    x[0, 0] = np.inf
    assert lm.nansum(lm.tensor(x)).item() == np.inf
    assert lm.nansum(lm.zeros((0, 3)), axis=0).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "float16"])
def test_running_extremes(n: int, dtype: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 50, (2, n)).astype(dtype)
    for name, scan in (("cummax", np.maximum), ("cummin", np.minimum)):
        want = scan.accumulate(x, axis=1)
        for t, axis in ((lm.from_numpy(x), 1), (lm.from_numpy(np.ascontiguousarray(x.T)), 0)):
            values, places = (y.numpy() if axis == 1 else y.mT.numpy() for y in getattr(lm, name)(t, axis))
            np.testing.assert_array_equal(values, want)
            # The last of equal ones.
            last = np.maximum.accumulate(np.where(x == want, np.arange(n), 0), axis=1)
            np.testing.assert_array_equal(places, last)


def test_running_extremes_keep_nan() -> None:
    x = np.ones(50, np.float32)
    x[20] = x[30] = np.nan
    for name in ("cummax", "cummin"):
        values, places = getattr(lm, name)(lm.tensor(x), 0)
        assert np.isnan(values.numpy()[20:]).all() and not np.isnan(values.numpy()[:20]).any()
        assert places.tolist() == [*range(20), *[20] * 10, *[30] * 20]


@pytest.mark.parametrize("width", [0, 1, 7, 16, 17, 64, 100])
@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, float("inf")])
def test_distances(width: int, p: float, rng: np.random.Generator) -> None:
    a = rng.integers(-2, 3, (2, 5, width)).astype(np.float64)
    b = rng.integers(-2, 3, (4, width)).astype(np.float64)
    differences = np.abs(a[:, :, None] - b)
    if width == 0:
        want = np.zeros((2, 5, 4))
    elif p == 0:
        want = (differences != 0).sum(-1)
    else:
        want = np.linalg.norm(differences, ord=p, axis=-1)
    np.testing.assert_allclose(lm.cdist(lm.tensor(a), lm.tensor(b), p).numpy(), want, rtol=1e-12)
    followed = lm.cdist(lm.tensor(a, stop_gradient=False), lm.tensor(b), p)
    np.testing.assert_allclose(followed.detach().numpy(), want, rtol=1e-12)
    x = a[0]
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    near = np.array([lm.cdist(lm.tensor(x[i : i + 1]), lm.tensor(x[j : j + 1]), p).item() for i, j in pairs])
    np.testing.assert_allclose(lm.pdist(lm.tensor(x), p).numpy(), near, rtol=1e-12)


@pytest.mark.parametrize("width", [1, 8, 33, 64, 65])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances_of_many_rows(width: int, dtype: str, rng: np.random.Generator) -> None:
    a = rng.normal(size=(3, 40, width)).astype(dtype)
    b = rng.normal(size=(3, 150, width)).astype(dtype)
    b[1, 70, width - 1] = np.nan
    for p in (1.0, 3.0, float("inf"), *([2.0] if width <= 64 else [])):
        want = np.linalg.norm(a[:, :, None].astype(np.float64) - b[:, None], ord=p, axis=-1)
        got = lm.cdist(lm.tensor(a), lm.tensor(b), p).numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "float32" else 1e-12)
        # Whatever its neighbors, and on one thread or several.
        for n in (1, 3, 8, 16, 23, 70):
            part = lm.cdist(lm.tensor(a[2, 7:9]), lm.tensor(b[2, 65 : 65 + n]), p).numpy()
            np.testing.assert_array_equal(part, got[2, 7:9, 65 : 65 + n])


@pytest.mark.parametrize("width", [1, 3, 8, 64])
def test_distances_of_near_rows_are_exact(width: int) -> None:
    # The squares of lengths would lose the difference.
    x = np.full((40, width), 4096, np.float32)
    y = x + np.float32(1 / 2048)
    want = np.sqrt(np.float32(width)) / 2048
    np.testing.assert_allclose(lm.cdist(lm.tensor(x), lm.tensor(y)).numpy(), want, rtol=1e-6)
    assert (lm.cdist(lm.tensor(x), lm.tensor(x)).numpy() == 0).all()


@pytest.mark.parametrize(
    ("batch", "n", "m", "width"),
    [((), 60, 40, 65), ((2,), 30, 27, 300), ((), 26, 3, 700), ((), 1, 200, 128), ((), 0, 30, 99)],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances_of_long_rows_are_exact_however_near_they_are(
    batch: tuple[int, ...], n: int, m: int, width: int, dtype: str, rng: np.random.Generator
) -> None:
    # Products of matrices stand in for differences, and would lose those of rows that are alike.
    x = (rng.normal(size=(*batch, n, width)) + 3).astype(dtype)
    y = (rng.normal(size=(*batch, m, width)) + 3).astype(dtype)
    y[..., : min(n, m), :][..., ::2, :] = x[..., : min(n, m), :][..., ::2, :]
    y[..., : min(n, m), :][..., 1::2, 0] *= 1 + 1e-4
    y[..., 1:2, 5] = -np.inf if m == 40 else 1e3
    a, b = lm.tensor(x, stop_gradient=False), lm.tensor(y, stop_gradient=False)
    with np.errstate(invalid="ignore"):
        d = x[..., :, None, :].astype("float64") - y[..., None, :, :]
        want = np.sqrt((d * d).sum(-1))
    eps = float(np.finfo(dtype).eps)
    got = lm.cdist(a, b)
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=4 * eps)
    np.testing.assert_array_equal(lm.cdist(a.detach(), b.detach()).numpy(), got.detach().numpy())
    if not np.isfinite(want).all():
        return
    dy = rng.normal(size=want.shape).astype(dtype)
    parts = d / np.where(want == 0, np.inf, want)[..., None] * dy[..., None]
    for create_graph in (False, True):
        found = lm.grad(lm.cdist(a, b), [a, b], lm.asarray(dy), create_graph=create_graph)
        for one, expected in zip(found, (parts.sum(-2), -parts.sum(-3)), strict=True):
            np.testing.assert_allclose(one.detach().numpy(), expected, rtol=0, atol=64 * eps)


@pytest.mark.parametrize("width", [0, 1, 7, 16, 17, 64, 100])
@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_distances(width: int, p: float, dtype: str, rng: np.random.Generator) -> None:
    a = rng.integers(-2, 3, (2, 5, width)).astype(dtype)
    b = rng.integers(-2, 3, (4, width)).astype(dtype)
    d = (a[:, :, None] - b).astype("float64")
    y = np.linalg.norm(d, ord=p, axis=-1) if width else np.zeros((2, 5, 4))
    dy = rng.normal(size=y.shape)
    signs = np.sign(d) if p == 1 else d / np.where(y == 0, 1, y)[..., None]
    x, z = lm.tensor(a, stop_gradient=False), lm.tensor(b, stop_gradient=False)
    want = [(signs * dy[..., None]).sum(2), -(signs * dy[..., None]).sum((0, 1))]
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-12}
    # By the kernel, and by what second derivatives are made of.
    for create_graph in (False, True):
        got = lm.grad(lm.cdist(x, z, p), [x, z], lm.asarray(dy.astype(dtype)), create_graph=create_graph)
        for one, expected in zip(got, want, strict=True):
            np.testing.assert_allclose(one.detach().numpy(), expected, **tolerance)
    only = lm.grad(lm.cdist(x.detach(), z, p), [z], lm.asarray(dy.astype(dtype)))[0]
    np.testing.assert_array_equal(
        only.numpy(), lm.grad(lm.cdist(x, z, p), [z], lm.asarray(dy.astype(dtype)))[0].numpy()
    )
    flat = lm.tensor(a[0], stop_gradient=False)
    first, second = np.triu_indices(5, 1)
    d = (a[0][first] - a[0][second]).astype("float64")
    y = np.linalg.norm(d, ord=p, axis=-1) if width else np.zeros(10)
    signs = np.sign(d) if p == 1 else d / np.where(y == 0, 1, y)[:, None]
    expected = np.zeros((5, width))
    np.add.at(expected, first, signs * dy[0, 0, 0])
    np.add.at(expected, second, -signs * dy[0, 0, 0])
    for create_graph in (False, True):
        got = lm.grad(lm.pdist(flat, p), [flat], lm.full([10], dy[0, 0, 0], dtype=dtype), create_graph=create_graph)
        np.testing.assert_allclose(got[0].detach().numpy(), expected, **tolerance)


def test_gradients_of_distances_on_any_number_of_threads(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 700, 40))
    before = lm.get_num_threads()
    results = []
    try:
        for threads in (1, 3):
            lm.set_num_threads(threads)
            x, z = lm.tensor(a, stop_gradient=False), lm.tensor(b, stop_gradient=False)
            (lm.cdist(x, z, 1.0).sum() + lm.pdist(x, 1.0).sum()).backward()
            results.append((x.grad.numpy(), z.grad.numpy()))
    finally:
        lm.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, float("inf")])
def test_distances_keep_nan(p: float) -> None:
    a = np.zeros((1, 40), np.float32)
    a[0, 35] = np.nan
    assert np.isnan(lm.cdist(lm.tensor(a), lm.zeros((3, 40)), p).numpy()).all()


@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_trapezoid_of_infinities(n: int) -> None:
    y = np.ones(n, np.float32)
    y[0] = np.inf
    assert lm.trapezoid(lm.tensor(y)).item() == (np.inf if n > 1 else 0)


@pytest.mark.parametrize("n", LENGTHS)
def test_softmax_with_special_values(n: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, n)).astype(np.float32)
    x[0, n // 2] = np.nan
    x[1, n // 2] = -np.inf
    for name in ("softmax", "log_softmax"):
        y = getattr(lm, name)(lm.tensor(x), axis=1).numpy()
        assert np.isnan(y[0]).all()
        if n > 1:
            assert not np.isnan(y[1]).any()


@pytest.mark.parametrize(("batch", "n"), [(1, 64), (15, 64), (16, 64), (17, 126), (40, 9), (33, 10)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_transforms_of_several_lines(batch: int, n: int, axis: int, dtype: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((batch, n)) + 1j * rng.standard_normal((batch, n))).astype(dtype)
    x = x if axis == 1 else np.ascontiguousarray(x.T)
    t = lm.from_numpy(x)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == "complex64" else {"rtol": 1e-10, "atol": 1e-10}
    for name in ("fft", "ifft", "hfft", "irfft"):
        got = getattr(lm.fft, name)(t, axis=axis).numpy()
        np.testing.assert_allclose(got, getattr(np.fft, name)(x, axis=axis), **tolerance)
    for name in ("rfft", "ihfft", "fft"):
        got = getattr(lm.fft, name)(lm.from_numpy(np.ascontiguousarray(x.real)), axis=axis).numpy()
        np.testing.assert_allclose(got, getattr(np.fft, name)(x.real, axis=axis), **tolerance)


@pytest.mark.parametrize("n", [1 << 15, 1 << 18, 240 * 256, 16 * 3001, 1 << 15 | 1])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_long_transforms(n: int, dtype: str, rng: np.random.Generator) -> None:
    """Those that are done in two parts, and lengths that have no such parts."""
    x = (rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))).astype(dtype)
    t = lm.tensor(x, stop_gradient=False)
    tolerance = 1e-6 if dtype == "complex64" else 1e-14
    for name, inverse in (("fft", "ifft"), ("ifft", "fft")):
        y = getattr(lm.fft, name)(t, norm="ortho")
        want = getattr(np.fft, name)(x.astype("complex128"), norm="ortho")
        np.testing.assert_allclose(y.detach().numpy(), want, rtol=0, atol=tolerance * np.abs(want).max())
        dy = lm.asarray(want.astype(dtype))
        back = getattr(np.fft, inverse)(want, norm="ortho")
        got = lm.grad(y, [t], dy)[0].numpy()
        np.testing.assert_allclose(got, back, rtol=0, atol=tolerance * np.abs(back).max())
    before = lm.get_num_threads()
    try:
        lm.set_num_threads(1)
        one = lm.fft.fft(t.detach()).numpy()
        lm.set_num_threads(3)
        np.testing.assert_array_equal(lm.fft.fft(t.detach()).numpy(), one)
    finally:
        lm.set_num_threads(before)


@pytest.mark.parametrize("bias", [False, True])
def test_bfloat16_products_round_once(bias: bool, rng: np.random.Generator) -> None:
    x = rng.integers(-8, 9, (40, 70)).astype(np.float32)
    w = rng.integers(-8, 9, (30, 70)).astype(np.float32)
    b = rng.integers(-99, 99, (30,)).astype(np.float32) if bias else None
    half = [lm.tensor(value).astype("bfloat16") for value in (x, w)]
    got = lm.linear(*half, lm.tensor(b).astype("bfloat16") if bias else None)
    want = lm.tensor(x @ w.T + (b if b is not None else 0)).astype("bfloat16")
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.astype("float32").numpy(), want.astype("float32").numpy())


@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16", "complex64"])
def test_products_with_an_inner_size_of_one(dtype: str, rng: np.random.Generator) -> None:
    a = rng.integers(-5, 6, (3, 20, 1)).astype(np.float32)
    b = rng.integers(-5, 6, (1, 30)).astype(np.float32)
    got = lm.matmul(lm.tensor(a).astype(dtype), lm.tensor(b).astype(dtype))
    assert str(got.dtype).endswith(dtype)
    np.testing.assert_array_equal(got.astype("complex64").numpy(), a @ b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "int64", "bool"])
def test_few_columns(dtype: str, rng: np.random.Generator) -> None:
    for columns in range(2, 18):
        for rows in (1, 7, 8, 15, 16, 17, 33, 511, 513, 1030, 9001):
            values = rng.integers(0, 2 if dtype == "bool" else 6, (rows, columns)).astype(float)
            x = lm.asarray(values).astype(dtype)
            np.testing.assert_array_equal(lm.sum(x, axis=0, dtype="float64").numpy(), values.sum(0))
            wide = lm.float64 if "float" in dtype else lm.int64
            np.testing.assert_array_equal(
                lm.sum(x, axis=0).astype(wide).numpy(),
                lm.asarray(values.sum(0)).astype(dtype if "float" in dtype else "int64").astype(wide).numpy(),
            )
            for name in ("max", "min"):
                got = (
                    getattr(lm, name)(x, axis=0)
                    if dtype != "bool"
                    else getattr(lm, {"max": "any", "min": "all"}[name])(x, axis=0)
                )
                np.testing.assert_array_equal(got.astype("float64").numpy(), getattr(values, name)(0))
