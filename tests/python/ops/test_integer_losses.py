"""Losses of integers and bools are those of the floating numbers that they stand for: nothing wraps around."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lamella as lm

CLASSES = lm.asarray([0, 1, 2, 3])
LABELS = lm.asarray([[0, 3, -1, 1, 2], [2, 1, -1, 0, 0], [4, -1, 0, 0, 0], [0, 1, 2, 3, 4]])

#: The loss of so many arrays of shape [4, 5], element by element where it can be.
LOSSES: dict[str, tuple[Callable[..., lm.Tensor], int]] = {
    "mse_loss": (lambda a, b: lm.mse_loss(a, b, reduction="none"), 2),
    "l1_loss": (lambda a, b: lm.l1_loss(a, b, reduction="none"), 2),
    "l1_loss, mean": (lm.l1_loss, 2),
    "smooth_l1_loss": (lambda a, b: lm.smooth_l1_loss(a, b, reduction="none"), 2),
    "smooth_l1_loss, beta 0": (lambda a, b: lm.smooth_l1_loss(a, b, beta=0.0, reduction="none"), 2),
    "huber_loss": (lambda a, b: lm.huber_loss(a, b, delta=3.0, reduction="none"), 2),
    "binary_cross_entropy_with_logits": (
        lambda a, b: lm.binary_cross_entropy_with_logits(a, b, reduction="none"),
        2,
    ),
    "binary_cross_entropy_with_logits, weights": (
        lambda a, b, w: lm.binary_cross_entropy_with_logits(a, b, reduction="none", pos_weight=w),
        3,
    ),
    "kl_div": (lambda a, b: lm.kl_div(a, lm.abs(b * 1.0), reduction="none"), 2),
    "poisson_nll_loss": (lambda a, b: lm.poisson_nll_loss(a, b, reduction="none"), 2),
    "gaussian_nll_loss": (lambda a, b: lm.gaussian_nll_loss(a, b, lm.ones([4, 5]), reduction="none"), 2),
    "soft_margin_loss": (lambda a, b: lm.soft_margin_loss(a, b, reduction="none"), 2),
    "hinge_embedding_loss": (lambda a, b: lm.hinge_embedding_loss(a, b, reduction="none"), 2),
    "margin_ranking_loss": (lambda a, b, c: lm.margin_ranking_loss(a, b, c, reduction="none"), 3),
    "margin_ranking_loss, floating inputs": (
        lambda t: lm.margin_ranking_loss(lm.full([4, 5], 0.5), lm.full([4, 5], 2.0), t, reduction="none"),
        1,
    ),
    "triplet_margin_loss": (lambda a, b, c: lm.triplet_margin_loss(a, b, c, reduction="none"), 3),
    "multi_margin_loss": (lambda a: lm.multi_margin_loss(a, CLASSES, reduction="none"), 1),
    "multilabel_margin_loss": (lambda a: lm.multilabel_margin_loss(a, LABELS, reduction="none"), 1),
    "multilabel_soft_margin_loss": (lambda a, b: lm.multilabel_soft_margin_loss(a, b, reduction="none"), 2),
    "nll_loss": (lambda a: lm.nll_loss(a, CLASSES, reduction="none"), 1),
    "nll_loss, weights": (lambda a, b: lm.nll_loss(a, CLASSES, weight=b[0], reduction="none"), 2),
    "cross_entropy": (lambda a: lm.cross_entropy(a, CLASSES, reduction="none"), 1),
    "cross_entropy, smooth": (lambda a: lm.cross_entropy(a, CLASSES, label_smoothing=0.1, reduction="none"), 1),
}
SMALL = ("bool", "int8", "uint8", "int16", "uint16")
WIDE = ("int32", "uint32", "int64")


def drawn(dtype: str, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Returns integers up to the limits of the dtype, or of 21 bits, which float32 holds."""
    if dtype == "bool":
        return [rng.random((4, 5)) < 0.5 for _ in range(count)]
    limits = np.iinfo(dtype)
    low, high = max(int(limits.min), -(2**20)), min(int(limits.max), 2**20)
    return [rng.integers(low, high, (4, 5), endpoint=True, dtype="int64").astype(dtype) for _ in range(count)]


@pytest.mark.parametrize("dtype", SMALL + WIDE)
@pytest.mark.parametrize("name", LOSSES)
def test_integers_do_not_wrap_around(name: str, dtype: str, rng: np.random.Generator) -> None:
    function, count = LOSSES[name]
    arrays = drawn(dtype, count, rng)
    got = function(*[lm.asarray(a) for a in arrays])
    want = function(*[lm.asarray(a.astype("float64")) for a in arrays]).astype("float32").numpy()
    assert got.dtype == lm.float32
    largest = np.abs(want[np.isfinite(want)]).max(initial=0)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5 * largest)


@pytest.mark.parametrize("name", [name for name, (_, count) in LOSSES.items() if count == 1])
def test_differences_between_large_integers_count(name: str, rng: np.random.Generator) -> None:
    function, _ = LOSSES[name]
    a = 1_700_000_000 + rng.integers(0, 50, (4, 5))
    want = function(lm.asarray(a.astype("float64"))).numpy()
    for dtype in WIDE:
        got = function(lm.asarray(a.astype(dtype)))
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)


def test_integers_beside_float64_keep_their_digits() -> None:
    target = lm.asarray([2**53 - 1, 2**31 + 1])
    x = target.astype("float64") + 0.5
    for loss in (lm.mse_loss, lm.l1_loss, lm.smooth_l1_loss, lm.huber_loss):
        got = loss(x[1:], target[1:], reduction="none")
        assert got.dtype == lm.float64
        assert got.item() in (0.25, 0.5, 0.125)


def test_gradients_pass_to_the_floating_operand() -> None:
    x = lm.tensor([3.0, -2.0], stop_gradient=False)
    for dtype in ("uint8", "int64", "bool"):
        target = lm.asarray([1, 0]).astype(dtype)
        for loss in (lm.l1_loss, lm.binary_cross_entropy_with_logits, lm.soft_margin_loss, lm.mse_loss):
            got = lm.grad([loss(x, target)], [x])[0]
            want = lm.grad([loss(x, target.astype("float32"))], [x])[0]
            np.testing.assert_array_equal(got.numpy(), want.numpy())
