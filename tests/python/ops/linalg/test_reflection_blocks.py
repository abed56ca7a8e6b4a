"""Large real systems and reflections, which kernels do by blocks: every size of a block and of what is left of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import lamella as lm

la = lm.linalg
REAL = ("float32", "float64")
SIZES = (1, 2, 3, 5, 7, 11, 12, 13, 31, 64, 65, 100, 241, 300)
COLUMNS = (1, 2, 15, 16, 17, 33, 70)


@pytest.fixture
def threads() -> Iterator[None]:
    before = lm.get_num_threads()
    yield
    lm.set_num_threads(before)


def small(x: np.ndarray, of: np.ndarray) -> bool:
    """Whether x is what rounding leaves of numbers like those of `of`."""
    if x.size == 0:
        return True
    return float(np.abs(x).max()) <= 40 * len(of) * float(np.finfo(of.dtype).eps) * max(1.0, float(np.abs(of).max()))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", SIZES)
def test_triangles(n: int, dtype: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((n, n)) / n + np.diag(rng.uniform(1, 2, n) * rng.choice([-1, 1], n))).astype(dtype)
    nan = np.full((n, n), np.nan, dtype)
    for columns in COLUMNS:
        b = rng.standard_normal((n, columns)).astype(dtype)
        for upper in (False, True):
            triangle = np.triu(x) if upper else np.tril(x)
            unread = np.tril(nan, -1) if upper else np.triu(nan, 1)
            given = lm.asarray(triangle + unread)
            y = la.solve_triangular(given, lm.asarray(b), upper=upper).numpy()
            assert small(triangle @ y - b, b)
            # Transposed matrices are read where they lie.
            turned = lm.asarray(np.ascontiguousarray((triangle + unread).T)).mT
            again = la.solve_triangular(turned, lm.asarray(b), upper=upper).numpy()
            # One column is subtracted from along whichever are in one piece.
            assert small(again - y, b) if columns == 1 else np.array_equal(again, y)
            right = la.solve_triangular(given, lm.asarray(b.T), upper=upper, left=False).numpy()
            assert small(right @ triangle - b.T, b)
            unit = la.solve_triangular(given, lm.asarray(b), upper=upper, unitriangular=True).numpy()
            beside = np.triu(x, 1) if upper else np.tril(x, -1)
            assert small(beside @ unit + unit - b, b)


@pytest.mark.parametrize("dtype", REAL)
def test_triangles_of_batches(dtype: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((2, 1, 20, 20)) / 20 + np.eye(20)).astype(dtype)
    b = rng.standard_normal((3, 20, 40)).astype(dtype)
    y = la.solve_triangular(lm.asarray(x), lm.asarray(b), upper=True).numpy()
    assert y.shape == (2, 3, 20, 40)
    for i in range(2):
        for j in range(3):
            alone = la.solve_triangular(lm.asarray(x[i, 0]), lm.asarray(b[j]), upper=True).numpy()
            np.testing.assert_array_equal(y[i, j], alone)


@pytest.mark.parametrize("dtype", REAL)
def test_divisors_without_an_inverse(dtype: str) -> None:
    limits = np.finfo(dtype)
    for value in (limits.tiny / 8, limits.max / 2, -limits.tiny / 16):
        x = np.diag(np.full(3, value, dtype))
        got = la.solve_triangular(lm.asarray(x), lm.asarray(x), upper=False).numpy()
        np.testing.assert_array_equal(got, np.eye(3, dtype=dtype))
    zero = lm.zeros([2, 2], dtype=dtype)
    got = la.solve_triangular(zero, lm.asarray(np.array([[1.0], [-2.0]], dtype)), upper=True).numpy()
    assert got[1, 0] == -np.inf


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(
    "shape", [(n, n) for n in SIZES] + [(300, 70), (70, 300), (65, 3), (3, 65), (800, 790)], ids=str
)
def test_factors(shape: tuple[int, int], dtype: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(shape).astype(dtype)
    lu, pivots = (part.numpy() for part in la.lu_factor(lm.asarray(x)))
    k = min(shape)
    lower = np.tril(lu[:, :k], -1) + np.eye(shape[0], k, dtype=dtype)
    assert np.abs(np.tril(lu, -1)).max(initial=0) <= 1
    order = np.arange(shape[0])
    for i, other in enumerate(pivots):
        order[[i, other - 1]] = order[[other - 1, i]]
    assert small(lower @ np.triu(lu[:k]) - x[order], x)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", SIZES)
def test_systems_and_inverses(n: int, dtype: str, rng: np.random.Generator) -> None:
    # The pivots stand in no order.
    x = (rng.standard_normal((n, n)) / n + np.eye(n)[rng.permutation(n)] * 2).astype(dtype)
    y = la.inv(lm.asarray(x)).numpy()
    assert small(x @ y - np.eye(n), x)
    for columns in (1, 17, 70):
        b = rng.standard_normal((n, columns)).astype(dtype)
        assert small(x @ la.solve(lm.asarray(x), lm.asarray(b)).numpy() - b, b)
    sign, logarithm = (part.numpy() for part in la.slogdet(lm.asarray(x)))
    expected = np.linalg.slogdet(x.astype("float64"))
    assert sign == expected.sign
    np.testing.assert_allclose(logarithm, expected.logabsdet, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", [2, 70, 200])
def test_singular_matrices(n: int, dtype: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((2, n, n)) / np.sqrt(n)).astype(dtype)
    x[1, :, n // 2] = 0
    given = lm.asarray(x)
    for call in (la.inv, lambda a: la.solve(a, a)):
        with pytest.raises(ValueError, match="matrix 1 of the batch is singular"):
            call(given)
    with pytest.raises(ValueError, match="the matrix is singular"):
        la.inv(given[1])
    y, info = la.inv_ex(given)
    assert info.tolist() == [0, n // 2 + 1]
    assert np.isnan(y.numpy()[1]).all() and np.isfinite(y.numpy()[0]).all()
    assert la.solve_ex(given, given)[1].tolist() == [0, n // 2 + 1]
    assert la.det(given).numpy()[1] == 0


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (5, 3), (49, 47), (48, 48), (97, 96), (130, 100), (50, 120)])
def test_reflections(m: int, n: int, dtype: str, rng: np.random.Generator) -> None:
    x = rng.uniform(-0.05, 0.05, (m, n)).astype(dtype)
    for steps in sorted({0, 1, min(m, n) // 2, min(m, n)}):
        tau = rng.uniform(0, 1, steps).astype(dtype)
        q = np.eye(m)
        for i in range(steps):
            v = np.concatenate([np.zeros(i), [1.0], x[i + 1 :, i]])
            q = q - tau[i] * np.outer(q @ v, v)
        given = lm.asarray(x), lm.asarray(tau)
        for columns in (1, 16, 33):
            b = rng.standard_normal((m, columns)).astype(dtype)
            assert small(la.ormqr(*given, lm.asarray(b)).numpy() - q @ b, b)
            assert small(la.ormqr(*given, lm.asarray(b), transpose=True).numpy() - q.T @ b, b)
            right = la.ormqr(*given, lm.asarray(b.T), left=False)
            assert small(right.numpy() - b.T @ q, b)
        if m >= n:
            assert small(la.householder_product(*given).numpy() - q[:, :n], x)
        # The same matrix across.
        turned = lm.asarray(np.ascontiguousarray(x.T)).mT
        unit = lm.eye(m, dtype=dtype)
        np.testing.assert_array_equal(la.ormqr(turned, given[1], unit), la.ormqr(*given, unit))


@pytest.mark.parametrize("dtype", REAL)
def test_the_same_bits_for_any_number_of_threads(dtype: str, rng: np.random.Generator, threads: None) -> None:
    x = lm.asarray((rng.standard_normal((310, 310)) + 20 * np.eye(310)).astype(dtype))
    b = lm.asarray(rng.standard_normal((310, 75)).astype(dtype))
    found = []
    for count in (1, 2, 3):
        lm.set_num_threads(count)
        found.append(
            [
                part.numpy()
                for part in (
                    la.solve_triangular(x, b, upper=True),
                    la.solve_triangular(x.mT, b, upper=True),
                    la.lu_factor(x)[0],
                    la.solve(x, b),
                    la.inv(x),
                    la.ormqr(x * 0.001, b[:, 0] * 0.1, b),
                    la.householder_product(x * 0.001, b[:, 0] * 0.1),
                )
            ]
        )
    for other in found[1:]:
        for a, c in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, c)


def test_numbers_that_are_not_finite() -> None:
    x = np.eye(100, dtype="float32")
    x[70, 20] = np.nan
    y = la.solve(lm.asarray(x), lm.ones([100, 1])).numpy()
    assert np.isnan(y[70, 0])
    assert np.isnan(la.inv(lm.asarray(x)).numpy()).any()
