"""lamella.fft against numpy, in every length up to a few dozens and in some that are awkward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft

import lamella as lm

LENGTHS = [*range(1, 50), 53, 64, 97, 101, 103, 128, 211, 243, 250, 257, 1009, 1024, 2 * 1009, 3**7, 10007, 1 << 14]
NORMS = ("backward", "ortho", "forward")
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL_AXES = ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")
TWO_AXES = ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2")


def draw(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    values = rng.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.normal(size=shape)
    return values.astype(dtype)


def close(got: lm.Tensor, expected: np.ndarray, tolerance: float) -> None:
    assert got.shape == expected.shape and got.dtype.name.startswith("complex") == np.iscomplexobj(expected)
    scale = np.linalg.norm(expected) / np.sqrt(max(expected.size, 1))
    np.testing.assert_allclose(got.numpy(), expected, rtol=0, atol=tolerance * max(scale, 1e-30))


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype("complex128" if np.iscomplexobj(x) else "float64")


def takes(name: str, precision: str) -> str:
    """The dtype of what the function takes."""
    real = name.startswith(("rfft", "ihfft"))
    return precision if real else {"float32": "complex64", "float64": "complex128"}[precision]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_every_length(name: str, precision: str, rng: np.random.Generator) -> None:
    tolerance = 3e-6 if precision == "float32" else 5e-15
    ours, theirs = getattr(lm.fft, name), getattr(np.fft, name)
    for n in LENGTHS:
        for shape, axis in (((n,), 0), ((3, n), 1), ((n, 5), 0), ((2, n, 19), 1), ((33, n), -1)):
            if n > 2000 and len(shape) > 1:
                continue
            size = list(shape)
            size[axis] = n // 2 + 1 if name == "irfft" else n
            x = draw(tuple(size), takes(name, precision), rng)
            close(ours(lm.asarray(x), n=n, axis=axis), theirs(wide(x), n=n, axis=axis), tolerance)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE_AXIS)
def test_one_axis(name: str, norm: Any, precision: str, rng: np.random.Generator) -> None:
    tolerance = 3e-6 if precision == "float32" else 5e-15
    x = draw((4, 6, 5), takes(name, precision), rng)
    for axis in (0, 1, -1):
        for n in (None, 1, 2, 3, 8, 11):
            got = getattr(lm.fft, name)(lm.asarray(x), n=n, axis=axis, norm=norm)
            close(got, getattr(np.fft, name)(wide(x), n=n, axis=axis, norm=norm), tolerance)
            assert got.dtype.name in (precision, {"float32": "complex64", "float64": "complex128"}[precision])


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", SEVERAL_AXES)
def test_several_axes(name: str, norm: Any, rng: np.random.Generator) -> None:
    x = draw((3, 4, 5), takes(name, "float64"), rng)
    for s, axes in ((None, None), (None, (0, 2)), (None, (1,)), ((2, 7), (-1, 0)), ((4, 4, 4), (0, 1, 2))):
        got = getattr(lm.fft, name)(lm.asarray(x), s=s, axes=axes, norm=norm)
        close(got, getattr(scipy.fft, name)(x, s=s, axes=axes, norm=norm), 5e-15)
    close(getattr(lm.fft, name)(lm.asarray(x), s=(3, 6)), getattr(scipy.fft, name)(x, s=(3, 6), axes=(1, 2)), 5e-15)
    with pytest.raises(ValueError, match=rf"\[{name}\] axes"):
        getattr(lm.fft, name)(lm.asarray(x), axes=(0, 0))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", TWO_AXES)
def test_two_axes(name: str, norm: Any, rng: np.random.Generator) -> None:
    x = draw((3, 4, 5), takes(name, "float64"), rng)
    ours, theirs = getattr(lm.fft, name), getattr(scipy.fft, name)
    close(ours(lm.asarray(x), norm=norm), theirs(x, norm=norm), 5e-15)
    for s, axes in (((2, 7), (-2, -1)), (None, (0, 2)), ((4, 4), (1, 0))):
        close(ours(lm.asarray(x), s=s, axes=axes, norm=norm), theirs(x, s=s, axes=axes, norm=norm), 5e-15)
    with pytest.raises(IndexError, match=rf"\[{name}\] axis"):
        ours(lm.asarray(x)[0, 0])
    with pytest.raises(ValueError, match=rf"\[{name}\] s: 1 lengths for 2 axes"):
        ours(lm.asarray(x), s=(3,))


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", SEVERAL_AXES)
def test_images(name: str, precision: str, rng: np.random.Generator) -> None:
    """Many images, which are done one by one, of sizes that fill vectors and that do not."""
    tolerance = 3e-6 if precision == "float32" else 5e-15
    for shape in ((20, 16, 18), (9, 2, 33, 20), (12, 64, 64), (3, 11, 5, 1), (40, 1, 1)):
        x = draw(shape, takes(name, precision), rng)
        for axes in ((-2, -1), (-1, -2), (-2,), (-3, -1), (-1, -3, -2), (0, -1)):
            if name.startswith(("irfft", "hfft")) and shape[axes[-1]] == 1:
                continue
            got = getattr(lm.fft, name)(lm.asarray(x), axes=axes)
            close(got, getattr(scipy.fft, name)(wide(x), axes=axes), tolerance)


def test_views_and_real_numbers(rng: np.random.Generator) -> None:
    z = draw((6, 8), "complex128", rng)
    close(lm.fft.fft(lm.asarray(z).mT[::-1], axis=0), np.fft.fft(z.T[::-1], axis=0), 5e-15)
    r = draw((6, 8), "float32", rng)
    close(lm.fft.fft(lm.asarray(r)[:, ::2]), np.fft.fft(r[:, ::2]), 3e-6)
    close(lm.fft.fftn(lm.asarray(z), axes=()), z, 0)


def test_empty_batches_and_meta() -> None:
    assert lm.fft.rfft(lm.zeros([0, 6])).shape == (0, 4)
    assert lm.fft.irfft(lm.zeros([0, 4], dtype="complex64")).shape == (0, 6)
    y = lm.fft.fft(lm.zeros([3, 6], device="meta"), n=4)
    assert (y.shape, y.dtype.name, str(y.device)) == ((3, 4), "complex64", "meta")


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_frequencies_and_shifts(n: int) -> None:
    for ours, theirs in ((lm.fft.fftfreq, np.fft.fftfreq), (lm.fft.rfftfreq, np.fft.rfftfreq)):
        np.testing.assert_allclose(ours(n, d=0.3, dtype="float64").numpy(), theirs(n, d=0.3), rtol=1e-15)
        assert ours(n).dtype.name == "float32"
    x = np.arange(n * 3).reshape(n, 3)
    for axes in (None, 0, (0, 1), -1):
        np.testing.assert_array_equal(lm.fft.fftshift(lm.asarray(x), axes=axes).numpy(), np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(lm.fft.ifftshift(lm.asarray(x), axes=axes).numpy(), np.fft.ifftshift(x, axes))


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", ONE_AXIS)
def test_lines_in_two_parts(name: str, precision: str, rng: np.random.Generator) -> None:
    """Powers of two times a bit, primes where convolutions begin, lines that share a vector, many and few at once."""
    tolerance = 3e-6 if precision == "float32" else 5e-15
    ours, theirs = getattr(lm.fft, name), getattr(np.fft, name)
    powers = (16, 32, 64, 96, 128, 256, 272, 511, 512, 544, 640, 1022, 1088, 2 * 101, 2 * 103, 2048)
    for n in (*powers, 2 * 7 * 11 * 13, 500, 504, 1000, 2000):
        half = name in ("irfft", "hfft")
        for rows in (1, 2, 5, 18):
            x = draw((rows, n // 2 + 1 if half else n), takes(name, precision), rng)
            close(ours(lm.asarray(x), n=n), theirs(wide(x), n=n), tolerance)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "shape", [(300, 360), (1001, 64), (257, 512), (65, 1022), (129, 97), (97, 1009), (61, 1000), (40, 33, 64)], ids=str
)
def test_same_bits_for_any_number_of_threads(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    before = lm.get_num_threads()
    x = lm.asarray(draw(shape, dtype, rng))
    try:
        results = []
        for threads in (1, 2, 5):
            lm.set_num_threads(threads)
            results.append([f(x).numpy() for f in (lm.fft.fftn, lm.fft.fft, lm.fft.irfft)])
    finally:
        lm.set_num_threads(before)
    for other in results[1:]:
        for got, expected in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lm.fft.fft(lm.ones([3], dtype="float16")), TypeError, r"\[fft\] does not take dtype float16"),
        (lambda: lm.fft.rfft(lm.ones([3], dtype="complex64")), TypeError, r"\[rfft\] takes real numbers"),
        (lambda: lm.fft.fft(lm.ones([3]), n=0), ValueError, "length 0"),
        (lambda: lm.fft.fft(lm.ones([3]), n=-2), ValueError, "length -2"),
        (lambda: lm.fft.fft(lm.ones([0])), ValueError, "length 0"),
        (lambda: lm.fft.irfft(lm.ones([1], dtype="complex64")), ValueError, "length 0"),
        (lambda: lm.fft.fft(lm.ones([3]), axis=1), IndexError, "axis 1"),
        (lambda: lm.fft.fft(lm.ones([])), IndexError, "axis -1"),
        (lambda: lm.fft.fft(lm.ones([3]), norm="none"), ValueError, "norm: expected 'backward'"),  # type: ignore[arg-type]
        (lambda: lm.fft.fftn(lm.ones([3]), s=(2, 2)), ValueError, "2 lengths"),
        (lambda: lm.fft.fftn(lm.ones([3, 3]), axes=(0, 0)), ValueError, "twice"),
        (lambda: lm.fft.rfftn(lm.ones([3]), axes=()), ValueError, "at least one axis"),
        (lambda: lm.fft.fftfreq(0), ValueError, "at least 1"),
        (lambda: lm.fft.fftfreq(3, dtype="complex64"), TypeError, "real floating dtype"),
        (
            lambda: lm.fft_c2r(lm.ones([3], dtype="complex64"), 9, 0),
            ValueError,
            "x must have 5 coefficients for 9 numbers",
        ),
        (lambda: lm.fft_r2c(lm.ones([3, 3]), 1, others=[0, -1]), ValueError, "others must not contain axis 1"),
        (lambda: lm.fft_r2c(lm.ones([3, 3]), 1, others=[0, 0]), ValueError, "fft_r2c"),
        (lambda: lm.fft_r2c(lm.ones([0, 3]), 1, others=[0]), ValueError, "length 0"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64"])
def test_fourier_transforms_of_integers_are_those_of_floats(dtype: str) -> None:
    values = np.array([1, 0, 1, 1, 0])
    x = lm.asarray(values.astype(dtype))
    for name in ("fft", "ifft", "rfft", "ihfft", "hfft", "irfft"):
        got = getattr(lm.fft, name)(x)
        assert got.dtype.name in ("complex64", "float32")
        np.testing.assert_allclose(got.numpy(), getattr(np.fft, name)(values), rtol=1e-5, atol=1e-6)
