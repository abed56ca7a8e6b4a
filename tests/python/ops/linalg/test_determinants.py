"""Derivatives of determinants are those of the polynomial, also where a matrix is singular or nearly so."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lamella as lm

A = np.random.default_rng(7).normal(size=(4, 4, 2))
MATRICES: dict[str, np.ndarray] = {
    "singular up to rounding": np.array([[1.0, 2, 3], [4, 5, 6], [5, 7, 9]]),
    "a product of thin ones": A[0, :3] @ A[1, :3].T,
    "zero on the diagonal": np.diag([1.0, 2, 0, 3]),
    "equal singular values": np.diag([1.0, 1, 0]),
    "two singular values of 0": np.diag([1.0, 0, 0]),
    "two singular values of 0, up to rounding": A[0] @ A[1].T,
    "zeros": np.zeros((2, 2)),
    "three singular values of 0": np.diag([0.0, 2, 0, 0]),
    "more zeros": np.zeros((4, 4)),
    "small values": np.diag([1e-110, 3e-120, 1.0, 0]),
    "two by two": np.array([[1.0, 2], [2, 4]]),
    "ill-conditioned": A[:, :, 0] @ np.diag([1.0, 1, 1, 1e-12]) @ A[:, :, 1],
    "well-conditioned": A[:, :, 0] + 3 * np.eye(4),
    "complex": A[0, :3] @ (A[1, :3] + 1j * A[2, :3]).T,
    "complex, well-conditioned": A[:, :, 0] + 1j * A[:, :, 1] + 3 * np.eye(4),
}


def derivative(a: np.ndarray, directions: np.ndarray) -> complex:
    """That of the determinant at a along all directions, as a sum over permutations."""
    n = len(a)
    total = 0.0 + 0.0j
    for columns in itertools.permutations(range(n)):
        sign = round(np.linalg.det(np.eye(n)[list(columns)]))
        for rows in itertools.permutations(range(n), len(directions)):
            rest = np.prod([a[r, columns[r]] for r in range(n) if r not in rows])
            along = np.prod([h[r, columns[r]] for h, r in zip(directions, rows, strict=True)])
            total += sign * rest * along
    return total


@pytest.mark.parametrize("name", MATRICES)
def test_second_derivatives(name: str, rng: np.random.Generator) -> None:
    a = MATRICES[name]
    h, k = rng.normal(size=(2, *a.shape)).astype(a.dtype)
    want = derivative(a, np.stack([h, k])).real
    along, across = lm.asarray(h), lm.asarray(k)

    def slope(x: lm.Tensor) -> lm.Tensor:
        """The derivative of the determinant's real part along h."""
        leaf = x if not x.stop_gradient else lm.tensor(x.numpy(), stop_gradient=False)
        gradient = lm.grad([lm.real(lm.linalg.det(leaf))], [leaf], create_graph=True)[0]
        return lm.real(lm.sum(lm.conj(gradient) * along))

    x = lm.tensor(a, stop_gradient=False)
    got = lm.real(lm.sum(lm.conj(lm.grad([slope(x)], [x])[0]) * across)).item()
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)

    def tangent(y: lm.Tensor) -> lm.Tensor:
        return lm.real(lm.jvp(lm.linalg.det, (y,), (along,))[1])

    forward = lm.jvp(tangent, (lm.asarray(a),), (across,))[1].item()
    np.testing.assert_allclose(forward, want, rtol=1e-6, atol=1e-9)
    rows = lm.vmap(lambda y: lm.jvp(tangent, (y,), (across,))[1])(lm.asarray(np.stack([a, a + np.eye(len(a))])))
    np.testing.assert_allclose(rows[0].item(), want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("order", [1, 3, 4])
@pytest.mark.parametrize("name", MATRICES)
def test_derivatives_of_other_orders(name: str, order: int, rng: np.random.Generator) -> None:
    """They divide by no difference of singular values, which may be equal."""
    a = MATRICES[name]
    directions = rng.normal(size=(order, *a.shape)).astype(a.dtype)
    want = derivative(a, directions).real

    def slope(x: lm.Tensor, left: list[np.ndarray]) -> lm.Tensor:
        """The derivative of the determinant's real part along those that are left."""
        if not left:
            return lm.real(lm.linalg.det(x))
        gradient = lm.grad([slope(x, left[1:])], [x], create_graph=True)[0]
        return lm.real(lm.sum(lm.conj(gradient) * lm.asarray(left[0])))

    got = slope(lm.tensor(a, stop_gradient=False), list(directions)).item()
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)

    def tangent(x: lm.Tensor, left: list[np.ndarray]) -> lm.Tensor:
        if not left:
            return lm.real(lm.linalg.det(x))
        return lm.jvp(lambda y: tangent(y, left[1:]), (x,), (lm.asarray(left[0]),))[1]

    np.testing.assert_allclose(tangent(lm.asarray(a), list(directions)).item(), want, rtol=1e-6, atol=1e-9)


def test_products_of_small_and_of_many_singular_values() -> None:
    """Neither underflow nor overflow where the derivative is a number of its dtype."""
    small = lm.tensor(np.diag([0, 1e-200, 1e-200]), stop_gradient=False)
    gradient = lm.grad([lm.linalg.det(small)], [small], create_graph=True)[0]
    second = lm.grad([gradient[0, 0]], [small], create_graph=True)[0]
    np.testing.assert_allclose(second.detach().numpy(), np.diag([0, 1e-200, 1e-200]), rtol=1e-12)
    np.testing.assert_allclose(lm.grad([second[1, 1]], [small])[0].numpy(), np.diag([0, 0, 1.0]), rtol=1e-12)
    many = lm.tensor(np.diag([0.0] + [0.6] * 600 + [1 / 0.6] * 600), stop_gradient=False)
    np.testing.assert_allclose(lm.grad([lm.linalg.det(many)], [many])[0][0, 0].item(), 1.0, rtol=1e-9)
