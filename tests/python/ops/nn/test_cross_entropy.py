"""cross_entropy of rows of logits, which has kernels of its own, against formulas in numpy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import lamella as lm

from ..gradcheck import check_gradients

IGNORED = -100


def reference(x: np.ndarray, target: np.ndarray, smoothing: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns the terms of the rows, and the derivative of each by its row."""
    rows, classes = x.shape
    x = x.astype(np.float64)
    share = np.full(x.shape, smoothing / classes)
    counted = target != IGNORED
    share[np.arange(rows)[counted], target[counted]] += 1 - smoothing
    with np.errstate(invalid="ignore"):
        terms = np.where(counted, -(share * sp.log_softmax(x, 1)).sum(1), 0)
        return terms, np.where(counted[:, None], sp.softmax(x, 1) - share, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("smoothing", [0.0, 0.25])
@pytest.mark.parametrize("classes", [1, 2, 7, 8, 15, 16, 17, 40, 1000])
def test_rows_of_any_width(classes: int, smoothing: float, dtype: str, rng: np.random.Generator) -> None:
    rtol, atol = (2e-5, 2e-6) if dtype == "float32" else (1e-12, 1e-13)
    for rows in (0, 1, 5, 33):
        x = (rng.normal(size=(rows, classes)) * 4).astype(dtype)
        target = rng.integers(0, classes, size=rows)
        target[1::3] = IGNORED
        x[target == IGNORED] = np.nan
        weights = rng.normal(size=rows).astype(dtype)
        given = lm.tensor(x, stop_gradient=False)
        terms = lm.cross_entropy(given, lm.asarray(target), reduction="none", label_smoothing=smoothing)
        gradient = lm.grad([(terms * lm.asarray(weights)).sum()], [given])[0]
        expected, slopes = reference(x, target, smoothing)
        np.testing.assert_allclose(terms.detach().numpy(), expected, rtol=rtol, atol=atol)
        np.testing.assert_allclose(gradient.numpy(), slopes * weights[:, None], rtol=rtol, atol=atol)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(9,), (6, 9), (2, 3, 9)])
def test_the_classes_of_the_last_axis(shape: tuple[int, ...], reduction: str, rng: np.random.Generator) -> None:
    """Also of a matrix that is no contiguous one, and with rows that do not count."""
    x = rng.normal(size=shape[::-1]).T
    target = rng.integers(0, 9, size=shape[:-1])
    if len(shape) > 1:
        target[..., 0] = IGNORED
    rows, numbers = x.reshape(-1, 9), np.reshape(target, -1)
    terms, slopes = reference(rows, numbers, 0.0)
    given = lm.tensor(x, stop_gradient=False)
    loss = lm.cross_entropy(given, lm.asarray(target), reduction=reduction, axis=-1)
    count = (numbers != IGNORED).sum() if reduction == "mean" else 1
    expected = terms.reshape(shape[:-1]) if reduction == "none" else terms.sum() / count
    np.testing.assert_allclose(loss.detach().numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(lm.grad([loss.sum()], [given])[0].numpy(), slopes.reshape(shape) / count, rtol=1e-10)


def test_a_large_matrix_equals_its_parts(rng: np.random.Generator) -> None:
    """Past the caches, where gradients are written around them, and on several threads."""
    x = lm.tensor(rng.normal(size=(600, 16384)).astype("float32"), stop_gradient=False)
    target = lm.asarray(rng.integers(0, 16384, size=600))
    whole = lm.grad([lm.cross_entropy(x, target, reduction="sum")], [x])[0].numpy()
    for begin in range(0, 600, 200):
        part = x.detach()[begin : begin + 200].clone().requires_grad_()
        loss = lm.cross_entropy(part, target[begin : begin + 200], reduction="sum")
        np.testing.assert_array_equal(lm.grad([loss], [part])[0].numpy(), whole[begin : begin + 200])


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_derivatives_of_any_order(smoothing: float, rng: np.random.Generator) -> None:
    target = lm.asarray([2, IGNORED, 0, 4])
    x = rng.normal(size=(4, 5))

    def loss(x: lm.Tensor) -> lm.Tensor:
        return lm.cross_entropy(x, target, label_smoothing=smoothing)

    check_gradients(loss, x)
    hessian = lm.hessian(loss, lm.tensor(x)).numpy().reshape(20, 20)
    expected = np.zeros((4, 5, 4, 5))
    for row in (0, 2, 3):
        p = sp.softmax(x[row])
        expected[row, :, row] = (np.diag(p) - np.outer(p, p)) / 3
    np.testing.assert_allclose(hessian, expected.reshape(20, 20), atol=1e-14)
    tangent = rng.normal(size=x.shape)
    value, slope = lm.jvp(loss, (lm.tensor(x),), (lm.tensor(tangent),))
    terms, slopes = reference(x, target.numpy(), smoothing)
    np.testing.assert_allclose([value.item(), slope.item()], [terms.sum() / 3, (slopes * tangent).sum() / 3])


def test_the_target_may_be_written_to_and_the_logits_may_not(rng: np.random.Generator) -> None:
    x = lm.tensor(rng.normal(size=(3, 4)), stop_gradient=False)
    target = lm.asarray([1, 2, 3])
    expected = lm.grad([lm.cross_entropy(x, target)], [x])[0].numpy()
    loss = lm.cross_entropy(x, target)
    target.fill_(0)
    np.testing.assert_array_equal(lm.grad([loss], [x])[0].numpy(), expected)
    logits = x * 1
    loss = lm.cross_entropy(logits, target)
    logits.mul_(2.0)
    with pytest.raises(RuntimeError, match="mul_"):
        loss.backward()


@pytest.mark.parametrize("number", [-1, 4, -101])
def test_a_number_that_is_no_class(number: int) -> None:
    with pytest.raises(IndexError, match=rf"\[cross_entropy\] index {number} is out of range for axis 1 of size 4"):
        lm.cross_entropy(lm.zeros([2, 4]), lm.asarray([0, number]))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_samples_that_are_all_ignored_have_no_gradient_recorded_or_not(smoothing: float) -> None:
    x = lm.ones([2, 4])
    x.stop_gradient = False
    loss = lm.cross_entropy(x, lm.full([2], IGNORED), label_smoothing=smoothing)
    assert np.isnan(float(loss))
    for create_graph in (False, True):
        dx = lm.grad(loss, x, retain_graph=True, create_graph=create_graph)
        np.testing.assert_array_equal(dx.detach(), np.zeros([2, 4]))
