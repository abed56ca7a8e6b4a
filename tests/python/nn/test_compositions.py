"""Functions that are compositions of operators, against their formulas in numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from lamella.nn import functional as F

RNG = np.random.default_rng(19)


def leaf(array):
    return lm.tensor(array, stop_gradient=False)


def test_maxout():
    x = RNG.normal(size=(2, 6, 3))
    for groups, axis in ((2, 1), (3, 1), (3, -1), (2, 0)):
        shape = [*x.shape]
        shape[axis % 3 : axis % 3 + 1] = [x.shape[axis] // groups, groups]
        expected = x.reshape(shape).max(axis % 3 + 1)
        np.testing.assert_array_equal(F.maxout(lm.asarray(x), groups, axis).numpy(), expected)
    lm.autograd.gradcheck(lambda x: F.maxout(x, 3), (leaf(x),))


def test_sequence_mask():
    lengths = np.array([[2, 0], [4, 1]])
    for maxlen in (None, 3, 6):
        expected = np.arange(4 if maxlen is None else maxlen) < lengths[..., None]
        mask = F.sequence_mask(lm.asarray(lengths), maxlen)
        assert mask.dtype == lm.bool
        np.testing.assert_array_equal(mask.numpy(), expected)
        np.testing.assert_array_equal(F.sequence_mask(lm.asarray(lengths), maxlen, "float32").numpy(), expected * 1.0)
    assert F.sequence_mask(lm.zeros((0,), dtype="int64")).shape == (0, 0)


def test_label_smooth():
    labels, prior = np.eye(4)[[1, 3]], np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(F.label_smooth(lm.asarray(labels)).numpy(), 0.9 * labels + 0.025)
    got = F.label_smooth(lm.asarray(labels), lm.asarray(prior), 0.3)
    np.testing.assert_allclose(got.numpy(), 0.7 * labels + 0.3 * prior)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.25, 2.0), (-1.0, 1.5), (0.6, 0.0)])
def test_sigmoid_focal_loss(alpha, gamma):
    x, target = RNG.normal(size=(3, 4)), RNG.integers(0, 2, (3, 4)) * 1.0
    p = 1 / (1 + np.exp(-x))
    right = np.where(target == 1, p, 1 - p)
    weight = 1.0 if alpha < 0 else np.where(target == 1, alpha, 1 - alpha)
    expected = -weight * (1 - right) ** gamma * np.log(right)
    for reduction, value in (("none", expected), ("sum", expected.sum()), ("mean", expected.mean())):
        got = F.sigmoid_focal_loss(lm.asarray(x), lm.asarray(target), alpha, gamma, reduction)
        np.testing.assert_allclose(got.numpy(), value, rtol=1e-12)
    lm.autograd.gradcheck(lambda x: F.sigmoid_focal_loss(x, lm.asarray(target), alpha, gamma), (leaf(x),))


def test_dice_loss():
    p = RNG.dirichlet(np.ones(3), (2, 5))
    target = RNG.integers(0, 3, (2, 5))
    chosen = np.eye(3)[target]
    expected = (1 - 2 * (p * chosen).sum((1, 2)) / (p.sum((1, 2)) + chosen.sum((1, 2)) + 1e-5)).mean()
    for labels in (target, target[..., None]):
        np.testing.assert_allclose(F.dice_loss(lm.asarray(p), lm.asarray(labels)).item(), expected)
    lm.autograd.gradcheck(lambda p: F.dice_loss(p, lm.asarray(target)), (leaf(p),))


def test_npair_loss():
    a, b, labels = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)), np.array([0, 1, 0, 2])
    scores = a @ b.T
    log_p = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    same = (labels[:, None] == labels) * 1.0
    expected = -(same / same.sum(1, keepdims=True) * log_p).sum(1).mean()
    expected += 0.25 * 0.1 * ((a**2).sum(1).mean() + (b**2).sum(1).mean())
    got = F.npair_loss(lm.asarray(a), lm.asarray(b), lm.asarray(labels), 0.1)
    np.testing.assert_allclose(got.item(), expected)
    lm.autograd.gradcheck(lambda a, b: F.npair_loss(a, b, lm.asarray(labels)), (leaf(a), leaf(b)))


def test_temporal_shift():
    x = RNG.normal(size=(6, 8, 2))
    clips = x.reshape(2, 3, 8, 2)
    expected = clips.copy()
    expected[:, :, :4] = 0
    expected[:, 1:, :2] = clips[:, :-1, :2]
    expected[:, :-1, 2:4] = clips[:, 1:, 2:4]
    np.testing.assert_array_equal(F.temporal_shift(lm.asarray(x), 3).numpy(), expected.reshape(x.shape))
    np.testing.assert_array_equal(F.temporal_shift(lm.asarray(x), 3, 0.0).numpy(), x)


def test_what_is_refused():
    x = lm.ones((4, 3))
    for call, error, message in (
        (lambda: F.maxout(x, 2), ValueError, r"\[maxout\] groups must divide the axis: 2 does not divide 3"),
        (lambda: F.maxout(x, 2, 2), IndexError, r"\[maxout\] axis 2 is none"),
        (lambda: F.maxout(x, 1), ValueError, "groups is an int above 1"),
        (lambda: F.sequence_mask(x), TypeError, r"\[sequence_mask\] lengths must be integers, got float32"),
        (lambda: F.label_smooth(x, epsilon=2.0), ValueError, r"\[label_smooth\] epsilon must be between"),
        (lambda: F.sigmoid_focal_loss(x, x, reduction="max"), ValueError, r"\[sigmoid_focal_loss\] reduction"),
        (lambda: F.sigmoid_focal_loss(x, x[:1]), ValueError, "must have one shape"),
        (lambda: F.dice_loss(x, lm.zeros((3,), dtype="int64")), ValueError, r"\[dice_loss\] target must have the axes"),
        (lambda: F.npair_loss(x, x, x), ValueError, r"\[npair_loss\] anchor and positive must be"),
        (lambda: F.temporal_shift(x, 3), ValueError, r"\[temporal_shift\] segments must divide"),
        (lambda: F.temporal_shift(x, 2, 0.6), ValueError, "shift_ratio must be between"),
        (lambda: F.dice_loss([1.0], x), TypeError, r"\[dice_loss\] input: expected a Tensor, got list"),
    ):
        with pytest.raises(error, match=message):
            call()
