"""What a comparison with PyTorch's samples of its operators found: each row is computed from a definition, in numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lamella as lm

from .draws import complex_numbers, slope

#: Draws the constants of the tables below, at import; each test has a generator of its own.
TABLE = np.random.default_rng(11)


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
    weights = complex_numbers(rng, *y.shape) if y.dtype.name == "complex128" else rng.normal(size=y.shape)
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


def test_axes_of_a_number() -> None:
    x = lm.asarray(2.5)
    assert lm.swapaxes(x, 0, -1).item() == 2.5
    with pytest.raises(IndexError, match="swapaxes"):
        lm.swapaxes(x, 0, 1)
    assert lm.cosine_similarity(x, -x, axis=0).item() == -1
    assert lm.linalg.vector_norm(x, axis=0, keepdims=True).shape == ()


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
