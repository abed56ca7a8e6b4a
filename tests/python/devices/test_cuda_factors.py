"""Transforms and factorizations by CUDA's own kernels: what the operators' tests do not reach there."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import lamella as lm
from support import emulation

pytestmark = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")

TOLERANCES = {"float32": 3e-5, "float64": 1e-12, "complex64": 3e-5, "complex128": 1e-12}


def draw(shape, dtype):
    generator = np.random.default_rng(sum(shape))
    x = generator.normal(size=shape)
    return (x + 1j * generator.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def there(x):
    return lm.asarray(x).to("cuda")


def adjoint(x):
    return np.swapaxes(x.conj(), -1, -2)


# A block's shared memory holds 2048 numbers of float32 and 1024 of float64: longer lines have several levels.
@pytest.mark.parametrize("n", [1, 2, 13, 17, 97, 360, 1000, 1024, 2047, 2048, 2187, 4096, 5000, 6561, 10007, 65536])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_lines_of_any_length(n, dtype):
    x = draw((2, n), dtype)
    wide = x.astype("complex128")
    real = np.ascontiguousarray(x.real)
    half = np.fft.rfft(real.astype("float64"))
    for got, wanted in (
        (lm.fft.fft(there(x)), np.fft.fft(wide)),
        (lm.fft.ifft(there(x)), np.fft.ifft(wide)),
        (lm.fft.rfft(there(real)), half),
        (lm.fft.irfft(there(half.astype(dtype)), n=n), np.fft.irfft(half.astype(dtype).astype("complex128"), n)),
    ):
        error = np.linalg.norm(got.numpy() - wanted) / np.linalg.norm(wanted)
        assert error < 3 * np.finfo(dtype).eps * (2 + np.log2(n))


def test_lines_between_other_axes():
    x = draw((3, 3000, 2), "complex128")
    np.testing.assert_allclose(lm.fft.fft(there(x), axis=1).numpy(), np.fft.fft(x, axis=1), atol=1e-10)
    np.testing.assert_allclose(lm.fft.fftn(there(x)).numpy(), np.fft.fftn(x), atol=1e-9)


# Panels have 32 columns.
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("n", [32, 33, 67])
def test_factors_of_more_than_a_panel(n, dtype):
    tolerance = TOLERANCES[dtype]
    a = draw((2, n, n), dtype)
    positive = a @ adjoint(a) / n + np.eye(n, dtype=dtype)
    lower = lm.linalg.cholesky(there(positive)).numpy()
    np.testing.assert_allclose(lower @ adjoint(lower), positive, atol=10 * tolerance)
    p, left, right = (x.numpy() for x in lm.linalg.lu(there(a)))
    np.testing.assert_allclose(p @ left @ right, a, atol=10 * tolerance)
    for x in (a, a[:, :, : n - 5], a[:, : n - 5]):
        q, r = (part.numpy() for part in lm.linalg.qr(there(np.ascontiguousarray(x))))
        np.testing.assert_allclose(q @ r, x, atol=10 * tolerance)
        np.testing.assert_allclose(
            adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (2, *q.shape[-1:] * 2)), atol=tolerance
        )


def test_rotations_of_more_rows_than_a_block_has():
    n, dtype = 130, "complex64"
    a = draw((n, 4), dtype)
    h = a @ adjoint(a)
    values, vectors = (x.numpy() for x in lm.linalg.eigh(there(h)))
    tolerance = 40 * np.finfo(dtype).eps * np.abs(values).max()
    np.testing.assert_allclose(h @ vectors, vectors * values, atol=tolerance)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(h), atol=tolerance)


@pytest.mark.parametrize("shape", [(5, 5), (7, 4), (4, 7)])
def test_singular_vectors_of_what_lacks_rank(shape):
    m, n = shape
    for x in (draw((m, 2), "float64") @ draw((2, n), "float64"), np.zeros(shape), np.ones(shape) * 1e-200):
        u, s, vh = (part.numpy() for part in lm.linalg.svd(there(x)))
        np.testing.assert_allclose((u[:, : len(s)] * s) @ vh[: len(s)], x, atol=1e-14 * max(np.abs(x).max(), 1e-300))
        np.testing.assert_allclose(u @ u.T, np.eye(m), atol=1e-14)
        np.testing.assert_allclose(vh @ vh.T, np.eye(n), atol=1e-14)


def test_the_host_waits_once_for_errors_and_not_where_they_are_told():
    positive, other = there(np.eye(3) * 2.0), there(-np.eye(3))
    for call, waits in (
        (lambda: lm.linalg.cholesky(positive), 1),
        (lambda: lm.linalg.cholesky_ex(other), 0),
        (lambda: lm.linalg.inv(positive), 1),
        (lambda: lm.linalg.inv_ex(other), 0),
        (lambda: lm.linalg.solve(positive, other), 1),
        (lambda: lm.linalg.solve_ex(positive, other), 0),
        (lambda: lm.linalg.det(positive), 0),
        (lambda: lm.linalg.slogdet(positive), 0),
        (lambda: lm.linalg.lu_factor(positive), 0),
        (lambda: lm.linalg.qr(positive), 0),
        (lambda: lm.linalg.solve_triangular(positive, other, upper=True), 0),
        (lambda: lm.linalg.eigh(positive), 1),
        (lambda: lm.linalg.svd(positive), 1),
        (lambda: lm.fft.rfft(positive), 0),
    ):
        call()
        with emulation.counted() as counts:
            call()
        assert counts.get("waits", 0) == waits
    with pytest.raises(ValueError, match="leading 1 x 1 part"):
        lm.linalg.cholesky(other)


def test_no_two_threads_write_the_same():
    environment = {**os.environ, "LAMELLA_EMULATION_RACES": "1"}
    program = (
        "import numpy as np, lamella as lm\n"
        "a = lm.asarray(np.random.default_rng(0).normal(size=(2, 35, 35))).to('cuda')\n"
        "lm.fft.fft2(a.astype('complex128')); lm.fft.rfft(lm.rand([2, 3000], device='cuda'))\n"
        "lm.linalg.qr(a), lm.linalg.lu(a), lm.linalg.cholesky(a @ a.mT + lm.eye(35, device='cuda', dtype='float64'))\n"
        "lm.linalg.svd(a[:, :6]), lm.linalg.solve_triangular(a, a, upper=False)\n"
        "lm.cuda.synchronize()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
