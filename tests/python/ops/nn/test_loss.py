"""Losses against their definitions in numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import lamella as lm

from ..gradcheck import check_gradients

REDUCTIONS = ["mean", "sum", "none"]


def reduced(terms: np.ndarray, reduction: str) -> np.ndarray:
    return {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction](terms)


def close(got: lm.Tensor, expected: Any, rtol: float = 1e-12) -> None:
    assert tuple(got.shape) == np.shape(expected)
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=rtol, atol=1e-14)


def class_losses(log_p: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Minus the log-probability of the target, for classes along axis 1."""
    return -np.take_along_axis(log_p, np.expand_dims(target, 1), 1)[:, 0]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("behind", [(), (4,), (2, 3)])
def test_cross_entropy(behind: tuple[int, ...], reduction: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(5, 7, *behind))
    target = rng.integers(0, 7, (5, *behind))
    terms = class_losses(sp.log_softmax(x, 1), target)
    t = lm.asarray(target)
    close(lm.cross_entropy(lm.asarray(x), t, reduction=reduction), reduced(terms, reduction))
    close(lm.nll_loss(lm.log_softmax(lm.asarray(x), axis=1), t, reduction=reduction), reduced(terms, reduction))
    moved = lm.asarray(np.moveaxis(x, 1, -1))
    close(lm.cross_entropy(moved, t, reduction=reduction, axis=-1), reduced(terms, reduction))
    if behind != (2, 3):
        check_gradients(lambda v: lm.cross_entropy(v, t, reduction=reduction), x)


def test_cross_entropy_of_one_sample(rng: np.random.Generator) -> None:
    x = rng.normal(size=7)
    close(lm.cross_entropy(lm.asarray(x), lm.asarray(3)), -sp.log_softmax(x)[3])


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("behind", [(), (4,)])
def test_cross_entropy_settings(
    behind: tuple[int, ...], weighted: bool, smoothing: float, rng: np.random.Generator
) -> None:
    x = rng.normal(size=(6, 5, *behind))
    target = rng.integers(0, 5, (6, *behind))
    target[rng.random(target.shape) < 0.3] = -1
    weight = rng.uniform(0.5, 2, 5) if weighted else np.ones(5)
    counted = target != -1
    log_p = sp.log_softmax(x, 1)
    factors = np.where(counted, weight[target], 0)
    terms = np.where(counted, class_losses(log_p, np.where(counted, target, 0)), 0) * factors
    spread = -(log_p * weight.reshape(1, 5, *[1] * len(behind))).sum(1) * counted
    terms = (1 - smoothing) * terms + smoothing / 5 * spread
    settings: dict[str, Any] = {"ignore_index": -1, "label_smoothing": smoothing}
    if weighted:
        settings["weight"] = lm.asarray(weight)
    for reduction in REDUCTIONS:
        expected = terms.sum() / factors.sum() if reduction == "mean" else reduced(terms, reduction)
        close(lm.cross_entropy(lm.asarray(x), lm.asarray(target), reduction=reduction, **settings), expected)
    check_gradients(lambda v: lm.cross_entropy(v, lm.asarray(target), **settings), x)


def test_cross_entropy_where_nothing_counts() -> None:
    x, target = lm.ones([2, 3]), lm.asarray([-100, -100])
    assert np.isnan(lm.cross_entropy(x, target).item())
    assert lm.cross_entropy(x, target, reduction="sum").item() == 0
    assert np.isnan(lm.cross_entropy(lm.ones([0, 3]), lm.zeros([0], dtype="int64")).item())


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_of_probabilities(smoothing: float, rng: np.random.Generator) -> None:
    x, weight = rng.normal(size=(4, 5, 3)), rng.uniform(0.5, 2, 5)
    p = sp.softmax(rng.normal(size=(4, 5, 3)), 1)
    share = (1 - smoothing) * p + smoothing / 5
    terms = -(sp.log_softmax(x, 1) * share * weight[:, None]).sum(1)
    for reduction in REDUCTIONS:
        got = lm.cross_entropy(
            lm.asarray(x), lm.asarray(p), lm.asarray(weight), reduction=reduction, label_smoothing=smoothing
        )
        close(got, reduced(terms, reduction))
    check_gradients(lambda a, b: lm.cross_entropy(a, b, label_smoothing=smoothing), x, p)


def test_cross_entropy_in_low_precision(rng: np.random.Generator) -> None:
    x, target = rng.normal(size=(4, 5)), rng.integers(0, 5, 4)
    loss = lm.cross_entropy(lm.asarray(x.astype("float32")), lm.asarray(target))
    assert loss.dtype == lm.float32
    close(loss, class_losses(sp.log_softmax(x, 1), target).mean(), rtol=1e-6)


def test_cross_entropy_errors() -> None:
    x = lm.zeros([2, 3])
    for target, error in [([0, 3], IndexError), ([-1, 0], IndexError), ([0.0, 1.0], TypeError), ([0], ValueError)]:
        with pytest.raises(error, match="cross_entropy"):
            lm.cross_entropy(x, lm.asarray(target))
    good = lm.asarray([0, 1])
    with pytest.raises(ValueError, match="reduction"):
        lm.cross_entropy(x, good, reduction="median")
    with pytest.raises(ValueError, match=r"\[cross_entropy\] weight .* 3 classes"):
        lm.cross_entropy(x, good, weight=lm.ones([2]))
    with pytest.raises(ValueError, match=r"label_smoothing must lie in \[0, 1\]"):
        lm.cross_entropy(x, good, label_smoothing=1.5)
    with pytest.raises(TypeError, match="probabilities"):
        lm.cross_entropy(x, lm.zeros([2, 3], dtype="int64"))
    with pytest.raises(ValueError, match="0-d"):
        lm.cross_entropy(lm.asarray(1.0), lm.asarray(0))
    with pytest.raises(IndexError, match="axis"):
        lm.cross_entropy(x, good, axis=5)
    with pytest.raises(IndexError, match="nll_loss"):
        lm.nll_loss(x, lm.asarray([0, 3]))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_losses_of_differences(reduction: str, rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(3, 4)) * 2, rng.normal(size=(3, 4))
    d = np.abs(x - y)
    a, b = lm.asarray(x), lm.asarray(y)
    close(lm.mse_loss(a, b, reduction=reduction), reduced(d**2, reduction))
    close(lm.l1_loss(a, b, reduction=reduction), reduced(d, reduction))
    smooth = np.where(d < 0.7, d * d / 1.4, d - 0.35)
    close(lm.smooth_l1_loss(a, b, reduction=reduction, beta=0.7), reduced(smooth, reduction))
    close(lm.smooth_l1_loss(a, b, reduction=reduction, beta=0.0), reduced(d, reduction))
    close(lm.huber_loss(a, b, reduction=reduction, delta=0.7), reduced(0.7 * smooth, reduction))


def test_smooth_losses_have_a_second_derivative_at_0() -> None:
    for loss in (lm.smooth_l1_loss, lm.huber_loss, lm.mse_loss):
        x = lm.tensor([1.0], stop_gradient=False)
        (slope,) = lm.grad([loss(x, lm.asarray([1.0]), reduction="sum")], [x], create_graph=True)
        assert slope.item() == 0
        assert lm.grad([slope.sum()], [x])[0].item() == (2 if loss is lm.mse_loss else 1)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_binary_cross_entropy(reduction: str, rng: np.random.Generator) -> None:
    x, p, w = rng.normal(size=(3, 4)) * 3, rng.random((3, 4)), rng.random(4)
    t, weight, positive = rng.random((3, 4)), rng.random((3, 1)), rng.uniform(0.5, 2, 4)
    terms = -(t * np.log(p) + (1 - t) * np.log1p(-p))
    close(lm.binary_cross_entropy(lm.asarray(p), lm.asarray(t), reduction=reduction), reduced(terms, reduction))
    got = lm.binary_cross_entropy(lm.asarray(p), lm.asarray(t), lm.asarray(w), reduction)
    close(got, reduced(terms * w, reduction))
    terms = -(positive * t * sp.log_expit(x) + (1 - t) * sp.log_expit(-x)) * weight
    got = lm.binary_cross_entropy_with_logits(
        lm.asarray(x), lm.asarray(t), lm.asarray(weight), reduction, lm.asarray(positive)
    )
    close(got, reduced(terms, reduction), rtol=1e-11)


def test_binary_cross_entropy_at_the_ends() -> None:
    x = lm.tensor([0.0, 1.0, 0.0, 1.0], stop_gradient=False)
    loss = lm.binary_cross_entropy(x, lm.asarray([0.0, 1.0, 1.0, 0.0]), reduction="none")
    assert loss.tolist() == [0, 0, 100, 100]
    loss.sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
    logits = lm.tensor([1000.0, -1000.0], stop_gradient=False)
    loss = lm.binary_cross_entropy_with_logits(logits, lm.asarray([1.0, 1.0]), reduction="none")
    assert loss.tolist() == [0, 1000]
    loss.sum().backward()
    assert logits.grad.tolist() == [0, -1]
    for bad in ([1.5], [-0.1], [float("nan")]):
        with pytest.raises(ValueError, match=r"\[binary_cross_entropy\] all elements"):
            lm.binary_cross_entropy(lm.asarray(bad), lm.asarray([1.0]))


def test_kl_div(rng: np.random.Generator) -> None:
    x, t = sp.log_softmax(rng.normal(size=(3, 4)), 1), sp.softmax(rng.normal(size=(3, 4)), 1)
    t[0, 0] = 0
    terms = sp.xlogy(t, t) - t * x
    for reduction in REDUCTIONS:
        close(lm.kl_div(lm.asarray(x), lm.asarray(t), reduction=reduction), reduced(terms, reduction), rtol=1e-11)
    close(lm.kl_div(lm.asarray(x), lm.asarray(t), reduction="batchmean"), terms.sum() / 3, rtol=1e-11)
    log_t = np.log(np.maximum(t, 1e-9))
    close(lm.kl_div(lm.asarray(x), lm.asarray(log_t), "sum", True), (np.exp(log_t) * (log_t - x)).sum(), rtol=1e-11)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_likelihoods(reduction: str, full: bool, rng: np.random.Generator) -> None:
    x, t, var = rng.random((3, 4)) + 0.2, rng.integers(0, 5, (3, 4)).astype(float), rng.random((3, 1)) + 0.1
    a, b = lm.asarray(x), lm.asarray(t)
    safe = np.maximum(t, 1)
    extra = np.where(t > 1, safe * np.log(safe) - safe + 0.5 * np.log(2 * np.pi * safe), 0) if full else 0
    got = lm.poisson_nll_loss(a, b, full=full, reduction=reduction)
    close(got, reduced(np.exp(x) - t * x + extra, reduction))
    got = lm.poisson_nll_loss(a, b, log_input=False, full=full, reduction=reduction)
    close(got, reduced(x - t * np.log(x + 1e-8) + extra, reduction))
    terms = 0.5 * (np.log(var) + (x - t) ** 2 / var) + (0.5 * np.log(2 * np.pi) if full else 0)
    for v in (var, var[:, 0]):
        close(lm.gaussian_nll_loss(a, b, lm.asarray(v), full=full, reduction=reduction), reduced(terms, reduction))


def test_a_variance_below_eps_has_the_gradient_of_eps() -> None:
    variance = lm.tensor(np.array([1e-9, 0.0, 1.0]), stop_gradient=False)
    lm.gaussian_nll_loss(lm.ones([3], dtype="float64"), lm.zeros([3], dtype="float64"), variance, eps=0.25).backward()
    used = np.array([0.25, 0.25, 1.0])
    np.testing.assert_allclose(variance.grad.numpy(), 0.5 * (1 / used - 1 / used**2) / 3, rtol=1e-12)  # type: ignore[union-attr]


def test_margins(rng: np.random.Generator) -> None:
    x, y, z = (rng.normal(size=(6, 4)) for _ in range(3))
    sign = np.where(rng.random(6) < 0.5, 1.0, -1.0)
    signs = np.where(rng.random((6, 4)) < 0.5, 1.0, -1.0)
    a, b, c, s = lm.asarray(x), lm.asarray(y), lm.asarray(z), lm.asarray(sign)
    for reduction in REDUCTIONS:
        terms = np.where(signs == 1, x, np.maximum(0, 0.8 - x))
        close(lm.hinge_embedding_loss(a, lm.asarray(signs), 0.8, reduction), reduced(terms, reduction))
        terms = np.maximum(0, -signs * (x - y) + 0.3)
        close(lm.margin_ranking_loss(a, b, lm.asarray(signs), 0.3, reduction), reduced(terms, reduction))
        close(lm.soft_margin_loss(a, lm.asarray(signs), reduction), reduced(np.log1p(np.exp(-signs * x)), reduction))
        cosine = (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))
        terms = np.where(sign == 1, 1 - cosine, np.maximum(0, cosine - 0.2))
        close(lm.cosine_embedding_loss(a, b, s, 0.2, reduction), reduced(terms, reduction), rtol=1e-10)
        for p, swap in itertools.product([1.0, 2.0, 3.0], [False, True]):
            near, far, third = (np.linalg.norm(u - v + 1e-6, p, 1) for u, v in ((x, y), (x, z), (y, z)))
            terms = np.maximum(0, 1.5 + near - (np.minimum(far, third) if swap else far))
            got = lm.triplet_margin_loss(a, b, c, 1.5, p, swap=swap, reduction=reduction)
            close(got, reduced(terms, reduction), rtol=1e-10)
        target, weight = rng.integers(0, 4, 6), rng.random(4) + 0.5
        for p in (1, 2):
            terms = np.maximum(0, 0.9 - x[np.arange(6), target][:, None] + x) ** p
            terms[np.arange(6), target] = 0
            terms = (terms * weight[target][:, None]).sum(1) / 4
            got = lm.multi_margin_loss(a, lm.asarray(target), p, 0.9, lm.asarray(weight), reduction)
            close(got, reduced(terms, reduction))


def test_similarity_and_distance(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(3, 4, 2)), rng.normal(size=(4, 2))
    cosine = (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(0))
    close(lm.cosine_similarity(lm.asarray(x), lm.asarray(y)), cosine)
    for p in (1.0, 2.0, 2.5, np.inf):
        expected = np.linalg.norm(x - y + 1e-6, p, -1, keepdims=True)
        close(lm.pairwise_distance(lm.asarray(x), lm.asarray(y), p=p, keepdims=True), expected)
    zero = lm.tensor(np.zeros((1, 3)), stop_gradient=False)
    lm.pairwise_distance(zero, zero.detach(), eps=0.0).sum().backward()
    assert zero.grad.tolist() == [[0, 0, 0]]
    zero.grad = None
    lm.cosine_similarity(zero, lm.ones([1, 3], dtype="float64")).sum().backward()
    assert np.isfinite(zero.grad.numpy()).all()


def alignments(steps: int, label: list[int], blank: int, classes: int) -> list[tuple[int, ...]]:
    """All paths that become the label when repeats are merged and blanks dropped."""
    paths = []
    for path in itertools.product(range(classes), repeat=steps):
        merged = [s for s, before in zip(path, (None, *path[:-1]), strict=True) if s != before]
        if [s for s in merged if s != blank] == label:
            paths.append(path)
    return paths


@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_loss_sums_over_all_alignments(blank: int, rng: np.random.Generator) -> None:
    log_p = sp.log_softmax(rng.normal(size=(5, 4, 3)), -1)
    symbols = [s for s in range(3) if s != blank]
    labels = [[symbols[0], symbols[0]], [symbols[0], symbols[1]], [], [symbols[1]]]
    steps = [5, 4, 3, 1]
    expected = np.array(
        [
            -sp.logsumexp([sum(log_p[t, i, s] for t, s in enumerate(path)) for path in alignments(n, label, blank, 3)])
            for i, (n, label) in enumerate(zip(steps, labels, strict=True))
        ]
    )
    padded = lm.asarray(np.array([label + [9] * (2 - len(label)) for label in labels]))
    together = lm.asarray(np.array([s for label in labels for s in label]))
    lengths = lm.asarray(np.array([len(label) for label in labels]))
    for targets in (padded, together):
        got = lm.ctc_loss(lm.asarray(log_p), targets, lm.asarray(steps), lengths, blank, "none")
        close(got, expected, rtol=1e-10)
    for reduction, value in (("sum", expected.sum()), ("mean", (expected / [2, 2, 1, 1]).mean())):
        close(lm.ctc_loss(lm.asarray(log_p), padded, lm.asarray(steps), lengths, blank, reduction), value, rtol=1e-10)
    one = lm.ctc_loss(lm.asarray(log_p[:, 1]), lm.asarray(labels[1]), lm.asarray(4), lm.asarray(2), blank, "none")
    close(one, expected[1], rtol=1e-10)


def test_ctc_gradient_is_that_of_scores(rng: np.random.Generator) -> None:
    """The probabilities minus how likely each symbol is at each step, given the target."""
    log_p = sp.log_softmax(rng.normal(size=(4, 1, 3)), -1)
    paths = alignments(4, [1, 2], 0, 3)
    weights = np.exp([sum(log_p[t, 0, s] for t, s in enumerate(path)) for path in paths])
    posterior = np.zeros((4, 1, 3))
    for path, weight in zip(paths, weights / weights.sum(), strict=True):
        for t, s in enumerate(path):
            posterior[t, 0, s] += weight
    x = lm.tensor(log_p, stop_gradient=False)
    lm.ctc_loss(x, lm.asarray([[1, 2]]), lm.asarray([4]), lm.asarray([2]), reduction="sum").backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(log_p) - posterior, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ctc_gradient_of_many_lengths(dtype: str, rng: np.random.Generator) -> None:
    """That of the kernel is the one that is recorded, also of an empty target, and of no steps or too few."""
    scores = rng.normal(size=(60, 6, 9)).astype(dtype)
    labels = rng.integers(0, 8, (6, 25))
    labels[5] = 3  # a blank has to stand between each two
    steps, lengths = lm.asarray([60, 31, 0, 40, 0, 60]), lm.asarray([25, 16, 0, 0, 3, 25])
    weights = lm.asarray(rng.normal(size=6).astype(dtype))
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-8, "atol": 1e-11}

    def loss(x: lm.Tensor) -> lm.Tensor:
        parts = lm.ctc_loss(x, lm.asarray(labels), steps, lengths, 8, "none", zero_infinity=True)
        return (parts * weights).sum()

    # Not contiguous, and in one piece.
    across = lm.tensor(np.ascontiguousarray(scores.transpose(1, 0, 2)), stop_gradient=False)
    x = lm.tensor(scores, stop_gradient=False)
    (of_across,) = lm.autograd.grad(loss(lm.permute_dims(across, (1, 0, 2))), [across])
    (recorded,) = lm.autograd.grad(loss(x), [x], create_graph=True)
    loss(x).backward()
    np.testing.assert_array_equal(of_across.numpy().transpose(1, 0, 2), x.grad.numpy())
    np.testing.assert_allclose(x.grad.numpy(), recorded.detach().numpy(), **tolerance)
    assert not x.grad.numpy()[:, 2].any() and not x.grad.numpy()[:, 4].any() and not x.grad.numpy()[31:, 1].any()
    # Forward mode goes through what is composed.
    direction = rng.normal(size=scores.shape).astype(dtype)
    _, slope = lm.autograd.jvp(loss, (x.detach(),), (lm.asarray(direction),))
    np.testing.assert_allclose(
        slope.item(), (x.grad.numpy() * direction).sum(), rtol=1e-3 if dtype == "float32" else 1e-8
    )
    # A NaN is nobody else's.
    spoiled = scores.copy()
    spoiled[3, 0, 2] = np.nan
    parts = lm.ctc_loss(lm.asarray(spoiled), lm.asarray(labels), steps, lengths, 8, "none").numpy()
    assert np.isnan(parts[0]) and not np.isnan(parts[1:]).any() and np.isinf(parts[4])


def paths_through(log_p: np.ndarray, states: np.ndarray, skips: np.ndarray) -> np.ndarray:
    """The log-probabilities of all beginnings of paths, [steps, states]; some states may follow the last but one."""
    alpha = np.full((len(log_p), len(states)), -np.inf)
    alpha[0, :2] = log_p[0, states[:2]]
    for t in range(1, len(log_p)):
        last, skipped = (np.concatenate([np.full(n, -np.inf), alpha[t - 1]])[: len(states)] for n in (1, 2))
        reached = np.logaddexp(np.logaddexp(alpha[t - 1], last), np.where(skips, skipped, -np.inf))
        alpha[t] = reached + log_p[t, states]
    return alpha


def loss_and_gradient(log_p: np.ndarray, label: list[int], blank: int) -> tuple[float, np.ndarray]:
    """The loss of a sequence and its gradient by the scores, from the beginnings and the ends of all paths."""
    states = np.array([blank, *(s for symbol in label for s in (symbol, blank))])
    skips = np.array([i > 1 and s not in (blank, states[i - 2]) for i, s in enumerate(states)])
    back = np.concatenate([[False, False], skips[::-1]])[: len(states)]
    if not len(log_p) or not np.isfinite(total := sp.logsumexp(paths_through(log_p, states, skips)[-1, -2:])):
        return (np.inf if len(label) else 0.0), np.zeros_like(log_p)
    ends = paths_through(log_p[::-1], states[::-1], back)[::-1, ::-1]
    shares = np.exp(paths_through(log_p, states, skips) + ends - log_p[:, states] - total)
    gradient = np.exp(log_p)
    for k, s in enumerate(states):
        gradient[:, s] -= shares[:, k]
    return -total, gradient


#: By what is special: the numbers of steps, of labels, of classes, and the blank.
SEQUENCES = {
    "more labels than threads": ([700, 640], [300, 257], 40, 0),
    "labels that repeat": ([90, 90, 3], [40, 2, 2], 2, 1),
    "blanks among the labels": ([70, 66], [20, 30], 3, 3),
    "many sequences": ([4] * 300, [i % 4 for i in range(300)], 3, 0),
    "no labels": ([5, 0, 7], [0, 0, 0], 3, 2),
    "no steps": ([0, 0], [0, 2], 3, 0),
}


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("case", SEQUENCES)
def test_ctc_loss_of_sequences(case: str, together: bool, rng: np.random.Generator) -> None:
    steps, lengths, classes, blank = SEQUENCES[case]
    scores = rng.normal(size=(max(steps) + 2, len(steps), classes + 1))
    log_p = sp.log_softmax(scores, -1)
    labels = [rng.integers(0, classes + 1, n).tolist() for n in lengths]
    if case != "blanks among the labels":
        symbols = [s for s in range(classes + 1) if s != blank]
        labels = [[symbols[s % classes] for s in label] for label in labels]
    wanted = [loss_and_gradient(log_p[:n, i], labels[i], blank) for i, n in enumerate(steps)]
    # Rows may be wider than the longest target, and hold anything there.
    rows = [label + [999] * (max(lengths) + 3 - len(label)) for label in labels]
    flat = [symbol for label in labels for symbol in label]
    targets = lm.asarray(np.array(flat if together else rows, dtype="int64"))
    x = lm.tensor(scores, stop_gradient=False)
    losses = lm.ctc_loss(x, targets, lm.asarray(steps), lm.asarray(lengths), blank, "none")
    close(losses, [loss for loss, _ in wanted], rtol=1e-9)
    weights = np.cos(np.arange(len(steps)))
    with lm.no_grad():
        close(lm.ctc_loss(x, targets, lm.asarray(steps), lm.asarray(lengths), blank, "none"), losses.numpy())
    (lm.where(losses < np.inf, losses, 0) * lm.asarray(weights)).sum().backward()
    gradient = np.zeros_like(scores)
    for i, (_, part) in enumerate(wanted):
        gradient[: steps[i], i] = weights[i] * part
    np.testing.assert_allclose(x.grad.numpy(), gradient, rtol=1e-7, atol=1e-10)


def test_ctc_loss_of_no_sequences() -> None:
    none = lm.zeros([0], dtype="int64")
    x = lm.tensor(np.zeros((3, 0, 4)), stop_gradient=False)
    loss = lm.ctc_loss(x, lm.zeros([0, 2], dtype="int64"), none, none, reduction="sum")
    assert loss.item() == 0
    loss.backward()
    assert x.grad.shape == (3, 0, 4)


def test_ctc_loss_of_the_impossible() -> None:
    x = lm.tensor(np.zeros((2, 1, 3)), stop_gradient=False)
    arguments = (lm.asarray([[1, 1]]), lm.asarray([2]), lm.asarray([2]))
    assert lm.ctc_loss(x, *arguments, reduction="sum").item() == np.inf
    loss = lm.ctc_loss(x, *arguments, reduction="sum", zero_infinity=True)
    assert loss.item() == 0
    loss.backward()
    assert not x.grad.numpy().any()
    sure = np.full((3, 1, 2), -np.inf)
    sure[:, 0, 1] = 0
    assert lm.ctc_loss(lm.asarray(sure), lm.asarray([[1]]), lm.asarray([3]), lm.asarray([1])).item() == 0


def test_ctc_errors() -> None:
    x, one = lm.zeros([4, 1, 3]), lm.asarray([1])
    with pytest.raises(ValueError, match="input_lengths must lie"):
        lm.ctc_loss(x, lm.asarray([[1]]), lm.asarray([5]), one)
    with pytest.raises(ValueError, match="targets must be"):
        lm.ctc_loss(x, lm.asarray([[1]]), lm.asarray([4]), lm.asarray([2]))
    with pytest.raises(IndexError, match="ctc_loss"):
        lm.ctc_loss(x, lm.asarray([[3]]), lm.asarray([4]), one)
    with pytest.raises(ValueError, match="blank"):
        lm.ctc_loss(x, lm.asarray([[1]]), lm.asarray([4]), one, blank=3)
    with pytest.raises(TypeError, match="input_lengths must be integers"):
        lm.ctc_loss(x, lm.asarray([[1]]), lm.asarray([4.0]), one)
    with pytest.raises(ValueError, match="one length"):
        lm.ctc_loss(x, lm.asarray([[1]]), lm.asarray([4, 4]), one)


@pytest.mark.parametrize(
    "call",
    [lm.mse_loss, lm.l1_loss, lm.smooth_l1_loss, lm.huber_loss, lm.kl_div, lm.binary_cross_entropy,
     lm.binary_cross_entropy_with_logits, lm.poisson_nll_loss, lm.soft_margin_loss, lm.hinge_embedding_loss],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_bad_arguments_are_named(call: Any) -> None:
    with pytest.raises(ValueError, match=rf"\[{call.__name__}\] input and target must have the same shape"):
        call(lm.ones([3, 1]), lm.ones([3]))
    with pytest.raises(ValueError, match=rf"\[{call.__name__}\] reduction"):
        call(lm.ones([3]), lm.ones([3]), reduction="median")


def test_bad_settings() -> None:
    x = lm.ones([2, 3])
    for call in (
        lambda: lm.smooth_l1_loss(x, x, beta=-1.0),
        lambda: lm.huber_loss(x, x, delta=0.0),
        lambda: lm.gaussian_nll_loss(x, x, x, eps=0.0),
        lambda: lm.gaussian_nll_loss(x, x, -x),
        lambda: lm.gaussian_nll_loss(x, x, lm.ones([4])),
        lambda: lm.triplet_margin_loss(x, x, x, margin=0.0),
        lambda: lm.triplet_margin_loss(x, x, lm.ones([3])),
        lambda: lm.multi_margin_loss(x, lm.asarray([0, 1]), p=3),
        lambda: lm.multi_margin_loss(x, lm.asarray([0])),
        lambda: lm.cosine_embedding_loss(x, x, x),
        lambda: lm.margin_ranking_loss(x, x, lm.ones([2])),
        lambda: lm.pairwise_distance(x, x, p=float("nan")),
    ):
        with pytest.raises(ValueError, match=r"^\[\w+\]"):
            call()


def test_mse_loss(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    np.testing.assert_allclose(lm.mse_loss(lm.asarray(x), lm.asarray(y)).item(), ((x - y) ** 2).mean())
    check_gradients(lm.mse_loss, x, y)
    with pytest.raises(ValueError, match=r"\[mse_loss\].*same shape"):
        lm.mse_loss(lm.ones([3, 1]), lm.ones([3]))


def test_gaussian_loss_broadcasts(rng: np.random.Generator) -> None:
    a, b, v = rng.normal(size=(2, 3)), rng.normal(size=(2, 1)), rng.normal(size=(2, 1)) ** 2
    got = lm.gaussian_nll_loss(lm.asarray(a), lm.asarray(b), lm.asarray(v), reduction="none")
    np.testing.assert_allclose(got.numpy(), 0.5 * (np.log(v) + (a - b) ** 2 / v))
    with pytest.raises(ValueError, match="gaussian_nll_loss"):
        lm.gaussian_nll_loss(lm.ones([2, 3]), lm.ones([2, 4]), lm.ones([2, 3]))
