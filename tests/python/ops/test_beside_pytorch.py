"""What a comparison with PyTorch's samples of its operators found: each row is computed from a definition, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lamella as lm

#: Draws the constants of the tables below, at import; each test has a generator of its own.
TABLE = np.random.default_rng(11)


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape)


def complex_numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return numbers(rng, *shape) + 1j * numbers(rng, *shape)


def slope(function: Callable[[np.ndarray], np.ndarray], z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The gradient of the real part of sum(conj(weights) * function(z)), by differences along both parts of z."""
    step = 1e-6
    gradient = np.zeros_like(z)
    for place in np.ndindex(z.shape):
        for direction in (1, 1j) if np.iscomplexobj(z) else (1,):
            up, down = z.copy(), z.copy()
            up[place] += direction * step
            down[place] -= direction * step
            change = (weights.conj() * (function(up) - function(down))).sum().real
            gradient[place] += direction * change / (2 * step)
    return gradient


Z = complex_numbers(TABLE, 3, 4)

COMPLEX: list[tuple[Callable[[lm.Tensor], lm.Tensor], Callable[[np.ndarray], np.ndarray]]] = [
    (lambda x: lm.cumprod(x, 0), lambda a: np.cumprod(a, 0)),
    (lambda x: lm.cumulative_prod(x, axis=1, include_initial=True), lambda a: np.cumprod(np.c_[np.ones(3), a], 1)),
    (lm.var, lambda a: np.var(a)),
    (lambda x: lm.std(x, axis=1, correction=1), lambda a: np.std(a, 1, ddof=1)),
    (lambda x: lm.logsumexp(x, axis=0), lambda a: np.log(np.exp(a).sum(0))),
    (lambda x: lm.logsumexp(x, keepdims=True), lambda a: np.log(np.exp(a).sum(keepdims=True))),
]


@pytest.mark.parametrize(("function", "reference"), COMPLEX)
def test_complex_values_and_gradients(
    function: Callable[[lm.Tensor], lm.Tensor], reference: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator
) -> None:
    x = lm.tensor(Z, stop_gradient=False)
    y = function(x)
    np.testing.assert_allclose(y.detach().numpy(), reference(Z), rtol=1e-12)
    weights = complex_numbers(rng, *y.shape) if y.dtype.name == "complex128" else numbers(rng, *y.shape)
    (grad,) = lm.grad([y], [x], [lm.asarray(weights)])
    np.testing.assert_allclose(grad.numpy(), slope(reference, Z, np.asarray(weights)), rtol=1e-6, atol=1e-8)


def test_second_derivatives_of_complex_products() -> None:
    z = lm.tensor(Z[0], stop_gradient=False)
    (first,) = lm.grad([lm.real(lm.cumprod(z, 0)).sum()], [z], create_graph=True)
    (second,) = lm.grad([lm.real(first).sum()], [z])

    def first_of(a: np.ndarray) -> np.ndarray:
        x = lm.tensor(a, stop_gradient=False)
        return lm.grad([lm.real(lm.cumprod(x, 0)).sum()], [x])[0].numpy()

    np.testing.assert_allclose(second.numpy(), slope(first_of, Z[0], np.ones(4)), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_complex_convolutions(axes: int, transposed: bool, rng: np.random.Generator) -> None:
    name = f"conv_transpose{axes}d" if transposed else f"conv{axes}d"
    convolve = getattr(lm, name)
    x, w, b = complex_numbers(rng, 2, 2, *[4] * axes), complex_numbers(rng, 2, 2, *[2] * axes), complex_numbers(rng, 2)

    def of_parts(a: np.ndarray, k: np.ndarray) -> np.ndarray:
        return convolve(lm.asarray(a), lm.asarray(k), stride=2, padding=1).numpy()

    wanted = (
        of_parts(x.real, w.real) - of_parts(x.imag, w.imag) + 1j * (of_parts(x.real, w.imag) + of_parts(x.imag, w.real))
    )
    wanted = wanted + b.reshape(2, *[1] * axes)
    leaves = [lm.tensor(v, stop_gradient=False) for v in (x, w, b)]
    y = convolve(*leaves, stride=2, padding=1)
    np.testing.assert_allclose(y.detach().numpy(), wanted, rtol=1e-12, atol=1e-12)
    # Real arguments beside complex ones.
    mixed = convolve(lm.asarray(x.real.copy()), leaves[1], stride=2, padding=1)
    np.testing.assert_allclose(
        mixed.detach().numpy(), of_parts(x.real, w.real) + 1j * of_parts(x.real, w.imag), rtol=1e-12, atol=1e-12
    )
    with pytest.raises(ValueError, match=rf"\[{name}\] bias must have the shape \[2\]"):
        convolve(leaves[0], leaves[1], lm.ones([3], dtype="complex128"))
    if axes == 1:
        weights = complex_numbers(rng, *y.shape)
        grads = lm.grad([y], leaves[:2], [lm.asarray(weights)])
        for i, grad in enumerate(grads):
            given = [x, w]

            def of_one(a: np.ndarray, i: int = i, given: Sequence[np.ndarray] = given) -> np.ndarray:
                args = [a if k == i else v for k, v in enumerate(given)]
                return convolve(*[lm.asarray(v) for v in args], stride=2, padding=1).numpy()

            np.testing.assert_allclose(grad.numpy(), slope(of_one, given[i], weights), rtol=1e-6, atol=1e-8)


REDUCTIONS = ("sum", "mean", "prod", "max", "min", "any", "all", "count_nonzero", "logsumexp", "nansum", "nanmean")


@pytest.mark.parametrize("axis", [0, -1, (0,)])
@pytest.mark.parametrize("name", [*REDUCTIONS, "var", "std", "argmax", "argmin", "aminmax"])
def test_a_number_is_reduced_along_its_one_element(name: str, axis: Any) -> None:
    if name.startswith("arg") and isinstance(axis, tuple):
        axis = axis[0]
    function = getattr(lm, name)
    x = lm.asarray(2.5)
    for keepdims in (False, True):
        got, wanted = function(x, axis=axis, keepdims=keepdims), function(x)
        for y, w in zip(got if name == "aminmax" else [got], wanted if name == "aminmax" else [wanted], strict=True):
            assert y.shape == () and y.dtype == w.dtype and y.item() == w.item()
    with pytest.raises(IndexError, match="out of range"):
        function(x, axis=1)


def test_axes_of_a_number() -> None:
    x = lm.asarray(2.5)
    assert lm.swapaxes(x, 0, -1).item() == 2.5
    with pytest.raises(IndexError, match="swapaxes"):
        lm.swapaxes(x, 0, 1)
    assert lm.cosine_similarity(x, -x, axis=0).item() == -1
    assert lm.linalg.vector_norm(x, axis=0, keepdims=True).shape == ()


@pytest.mark.parametrize(
    ("shape1", "shape2", "axis"),
    [((1, 2, 3), (2, 1, 3), -2), ((4, 1), (4, 3), 1), ((3,), (2, 1), 0), ((2, 3), (3,), 1), ((1,), (5,), 0)],
)
def test_cosine_similarity_along_an_axis_that_is_broadcast(
    shape1: tuple[int, ...], shape2: tuple[int, ...], axis: int, rng: np.random.Generator
) -> None:
    a, b = numbers(rng, *shape1), numbers(rng, *shape2)
    wide1, wide2 = np.broadcast_arrays(a, b)
    norms = np.linalg.norm(wide1, axis=axis) * np.linalg.norm(wide2, axis=axis)
    got = lm.cosine_similarity(lm.asarray(a), lm.asarray(b), axis=axis)
    np.testing.assert_allclose(got.numpy(), (wide1 * wide2).sum(axis) / norms, rtol=1e-12)


def test_no_differences_are_the_tensor_itself() -> None:
    x = lm.asarray([1, 4, 9])
    assert lm.diff(x, n=0, prepend=lm.asarray([0]), append=lm.asarray([0])).tolist() == [1, 4, 9]


def test_the_gradient_of_a_quantile_by_its_share() -> None:
    x, shares = lm.asarray([1.0, 5.0, 2.0, 9.0]), np.array([0.1, 0.5, 0.9, 1.0])
    q = lm.tensor(shares, stop_gradient=False)
    lm.quantile(x, q).sum().backward()
    # Between neighbors the value moves (n - 1) times as fast as the share, times their distance.
    np.testing.assert_allclose(q.grad.numpy(), [3 * 1, 3 * 3, 3 * 4, 0], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64"])
def test_fourier_transforms_of_integers_are_those_of_floats(dtype: str) -> None:
    values = np.array([1, 0, 1, 1, 0])
    x = lm.asarray(values.astype(dtype))
    for name in ("fft", "ifft", "rfft", "ihfft", "hfft", "irfft"):
        got = getattr(lm.fft, name)(x)
        assert got.dtype.name in ("complex64", "float32")
        np.testing.assert_allclose(got.numpy(), getattr(np.fft, name)(values), rtol=1e-5, atol=1e-6)


def test_forms_of_linear(rng: np.random.Generator) -> None:
    x, w = numbers(rng, 2, 3), numbers(rng, 3)
    got = lm.linear(lm.asarray(x), weight=lm.asarray(w), bias=lm.asarray(0.5))
    np.testing.assert_allclose(got.numpy(), x @ w + 0.5)
    a, b, c = (rng.integers(-5, 5, shape) for shape in ((2, 3), (4, 3), (4,)))
    whole = lm.linear(lm.asarray(a), lm.asarray(b), lm.asarray(c))
    assert whole.dtype.name == "int64"
    np.testing.assert_array_equal(whole.numpy(), a @ b.T + c)
    z = complex_numbers(rng, 4, 3)
    np.testing.assert_allclose(lm.linear(lm.asarray(x), lm.asarray(z)).numpy(), x @ z.T)
    with pytest.raises(ValueError, match=r"\[linear\] bias must be a 0-d tensor"):
        lm.linear(lm.asarray(x), lm.asarray(w), lm.ones([2]))
    with pytest.raises(TypeError, match=r"\[linear\] does not take dtype bool"):
        lm.linear(lm.ones([2, 3], dtype="bool"), lm.ones([4, 3], dtype="bool"))


def test_gaussian_loss_broadcasts(rng: np.random.Generator) -> None:
    a, b, v = numbers(rng, 2, 3), numbers(rng, 2, 1), numbers(rng, 2, 1) ** 2
    got = lm.gaussian_nll_loss(lm.asarray(a), lm.asarray(b), lm.asarray(v), reduction="none")
    np.testing.assert_allclose(got.numpy(), 0.5 * (np.log(v) + (a - b) ** 2 / v))
    with pytest.raises(ValueError, match="gaussian_nll_loss"):
        lm.gaussian_nll_loss(lm.ones([2, 3]), lm.ones([2, 4]), lm.ones([2, 3]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_norms_of_low_precision_do_not_overflow(dtype: str) -> None:
    x = lm.full([64], 300.0, dtype=dtype)
    for order, wanted in ((2, 2400.0), (1, 19200.0), (3, 1200.0), (float("inf"), 300.0)):
        norm = lm.linalg.vector_norm(x, ord=order)
        assert norm.dtype.name == dtype
        np.testing.assert_allclose(norm.astype("float32").item(), wanted, rtol=1e-2)


def test_small_forms(rng: np.random.Generator) -> None:
    assert lm.relu6(lm.asarray([-2, 3, 9])).tolist() == [0, 3, 6]
    assert lm.relu6(lm.asarray([7])).dtype.name == "int64"
    assert lm.outer(lm.asarray([True, False]), lm.asarray([True])).tolist() == [[True], [False]]
    assert lm.kron(lm.asarray([True, False]), lm.asarray([True, True])).tolist() == [True, True, False, False]
    assert lm.conj(lm.asarray([True])).tolist() == lm.real(lm.asarray([True])).tolist() == [True]
    assert lm.diag(lm.asarray([True, False])).dtype.name == "bool"
    assert lm.prelu(lm.asarray([-2.0]), weight=lm.asarray(0.5)).tolist() == [-1.0]
    assert lm.avg_pool2d(lm.ones([1, 1, 4, 4]), 2, ()).shape == (1, 1, 2, 2)
    z = lm.asarray(complex_numbers(rng, 2, 3))
    np.testing.assert_array_equal(z.H.numpy(), z.numpy().conj().T)
    np.testing.assert_array_equal(z[None].mH.numpy(), z.numpy().conj().T[None])
    with pytest.raises(ValueError, match=r"\[H\] needs a matrix"):
        _ = lm.ones([2, 2, 2]).H


@pytest.mark.parametrize("setting", [{"rtol": -0.1}, {"atol": -0.1}, {"rtol": float("nan")}])
def test_tolerances_are_not_negative(setting: dict[str, float]) -> None:
    for function in (lm.isclose, lm.allclose):
        with pytest.raises(ValueError, match=r"\[isclose\] rtol and atol"):
            function(lm.ones([2]), lm.ones([2]), **setting)
