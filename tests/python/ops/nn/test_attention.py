"""Attention against its definition, over sizes that fill several tiles and such that do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as lm

from ..gradcheck import check_gradients


def softmax(scores: np.ndarray) -> np.ndarray:
    """Along the last axis; 0 where nothing counts."""
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = e.sum(-1, keepdims=True)
    return np.where(total > 0, e / np.where(total > 0, total, 1), 0)


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: Any = None, causal: bool = False, scale: float | None = None
) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return softmax(scores) @ v


SIZES = [(1, 1, 1, 1), (3, 5, 4, 2), (70, 300, 8, 5), (130, 17, 3, 9), (200, 530, 16, 16)]


def operands(rng: np.random.Generator, sizes: tuple[int, int, int, int], dtype: str = "float64") -> list[np.ndarray]:
    queries, keys, width, value_width = sizes
    shapes = [(2, 3, queries, width), (2, 3, keys, width), (2, 3, keys, value_width)]
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_values(sizes: tuple[int, int, int, int], dtype: str, rng: np.random.Generator) -> None:
    q, k, v = operands(rng, sizes, dtype)
    tensors = [lm.asarray(a) for a in (q, k, v)]
    tolerance = {"rtol": 2e-5, "atol": 2e-6} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-13}
    wide = [a.astype("float64") for a in (q, k, v)]
    keep = rng.random((2, 1, sizes[0], sizes[1])) < 0.7
    keep[0, 0, 0] = False
    bias = rng.normal(size=(3, sizes[0], sizes[1])).astype(dtype)
    of_keys = rng.random((2, 1, 1, sizes[1])) < 0.7
    for mask in (None, keep, bias, of_keys):
        settings = {} if mask is None else {"attn_mask": lm.asarray(mask)}
        got = lm.scaled_dot_product_attention(*tensors, **settings)
        assert got.dtype == getattr(lm, dtype)
        np.testing.assert_allclose(got.numpy(), attention(*wide, mask=mask), **tolerance)
    got = lm.scaled_dot_product_attention(*tensors, is_causal=True, scale=0.3)
    np.testing.assert_allclose(got.numpy(), attention(*wide, causal=True, scale=0.3), **tolerance)


@pytest.mark.parametrize("sizes", SIZES[1:4], ids=str)
@pytest.mark.parametrize("setting", ["plain", "causal", "keep", "bias", "dropout"])
def test_tiled_gradients_equal_those_of_the_composition(
    setting: str, sizes: tuple[int, int, int, int], rng: np.random.Generator
) -> None:
    tensors = [lm.tensor(a, stop_gradient=False) for a in operands(rng, sizes)]
    keep = rng.random((2, 1, sizes[0], sizes[1])) < 0.7
    keep[0, 0, 0] = False
    settings: dict[str, Any] = {
        "plain": {},
        "causal": {"is_causal": True},
        "keep": {"attn_mask": lm.asarray(keep)},
        "bias": {"attn_mask": lm.asarray(rng.normal(size=sizes[:2]))},
        "dropout": {"dropout_p": 0.4, "generator": lm.Generator(seed=3)},
    }[setting]
    y = lm.scaled_dot_product_attention(*tensors, **settings)
    seed = lm.asarray(rng.normal(size=y.shape))
    tiled = lm.grad([y], tensors, grad_outputs=[seed], retain_graph=True)
    composed = lm.grad([y], tensors, grad_outputs=[seed], create_graph=True)
    for a, b in zip(tiled, composed, strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("hiding", ["large", "largest", "infinite"])
def test_rows_hidden_by_numbers(hiding: str, dtype: str, rng: np.random.Generator) -> None:
    """A number hides beside larger scores; a row that has it everywhere sees all keys alike, unless it is infinite."""
    large = -1e9 if dtype == "float32" else -1e20
    number = {"large": large, "largest": float(np.finfo(dtype).min), "infinite": -np.inf}[hiding]
    mask = np.where(rng.random((6, 9)) < 0.5, number, 0.0)
    mask[2], mask[:, 0] = number, np.where(np.arange(6) == 2, number, 0.0)
    arrays = [rng.normal(size=(2, n, 4)).astype(dtype) for n in (6, 9, 9)]
    tensors = [lm.tensor(a, stop_gradient=False) for a in arrays]
    given = lm.asarray(mask, dtype=dtype)
    y = lm.scaled_dot_product_attention(*tensors, attn_mask=given)
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-12}
    means = np.zeros((2, 4)) if np.isinf(number) else arrays[2].mean(1)
    np.testing.assert_allclose(y.detach().numpy()[:, 2], means, **tolerance)
    seed = rng.normal(size=y.shape).astype(dtype)
    tiled = lm.grad([y], tensors, grad_outputs=[lm.asarray(seed)], retain_graph=True)
    composed = lm.grad([y], tensors, grad_outputs=[lm.asarray(seed)], create_graph=True)
    given.stop_gradient = False
    again = lm.scaled_dot_product_attention(*tensors, attn_mask=given)
    np.testing.assert_allclose(again.detach().numpy(), y.detach().numpy(), **tolerance)
    with_mask = lm.grad([again], tensors, grad_outputs=[lm.asarray(seed)])
    for a, b, c in zip(tiled, composed, with_mask, strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), **tolerance)
        np.testing.assert_allclose(c.numpy(), b.detach().numpy(), **tolerance)


def test_derivatives(rng: np.random.Generator) -> None:
    q, k, v = rng.normal(size=(2, 3, 4)), rng.normal(size=(1, 5, 4)), rng.normal(size=(5, 2))
    check_gradients(lm.scaled_dot_product_attention, q, k, v)
    check_gradients(lambda *qkv: lm.scaled_dot_product_attention(*qkv, is_causal=True), q, k, v)


def test_the_mask_has_a_gradient(rng: np.random.Generator) -> None:
    q, k, v, mask = (rng.normal(size=shape) for shape in [(2, 3, 4), (2, 5, 4), (2, 5, 2), (3, 5)])
    check_gradients(lm.scaled_dot_product_attention, q, k, v, mask)


def test_layouts(rng: np.random.Generator) -> None:
    """Leading axes broadcast, strides do not matter, heads may be fewer for keys."""
    q, k, v = rng.normal(size=(2, 5, 4, 6)), rng.normal(size=(1, 7, 4, 6)), rng.normal(size=(7, 4, 3))
    moved = [lm.swapaxes(lm.asarray(a), -2, -3) for a in (q, k, v)]
    got = lm.scaled_dot_product_attention(*moved)
    np.testing.assert_allclose(got.numpy(), attention(*(np.swapaxes(a, -2, -3) for a in (q, k, v))), rtol=1e-11)
    k, v = rng.normal(size=(2, 2, 7, 6)), rng.normal(size=(2, 2, 7, 3))
    q = rng.normal(size=(2, 4, 5, 6))
    got = lm.scaled_dot_product_attention(lm.asarray(q), lm.asarray(k), lm.asarray(v), enable_gqa=True)
    np.testing.assert_allclose(got.numpy(), attention(q, k.repeat(2, 1), v.repeat(2, 1)), rtol=1e-11)
    check_gradients(
        lambda *qkv: lm.scaled_dot_product_attention(*qkv, enable_gqa=True),
        *(rng.normal(size=shape) for shape in [(2, 2, 3), (1, 4, 3), (1, 4, 2)]),
        second=False,
    )


def test_empty_and_unseen() -> None:
    attend = lm.scaled_dot_product_attention
    assert attend(lm.ones([2, 0, 3]), lm.ones([2, 4, 3]), lm.ones([2, 4, 5])).shape == (2, 0, 5)
    assert attend(lm.ones([0, 2, 3]), lm.ones([0, 4, 3]), lm.ones([0, 4, 5])).shape == (0, 2, 5)
    assert not attend(lm.ones([2, 3]), lm.ones([0, 3]), lm.ones([0, 5])).numpy().any()
    q = lm.tensor(np.ones((2, 3)), stop_gradient=False)
    y = attend(q, lm.ones([4, 3], dtype="float64"), lm.ones([4, 5], dtype="float64"), lm.zeros([2, 4], dtype="bool"))
    assert not y.detach().numpy().any()
    y.sum().backward()
    assert not q.grad.numpy().any()


def test_dropout(rng: np.random.Generator) -> None:
    """With the identity for values the result is the dropped softmax itself."""
    q, k = rng.normal(size=(3, 90, 4)), rng.normal(size=(3, 300, 4))
    v = np.broadcast_to(np.eye(300), (3, 300, 300))
    p = attention(q, k, v)
    tensors = [lm.asarray(np.ascontiguousarray(a)) for a in (q, k, v)]
    draws = [
        lm.scaled_dot_product_attention(*tensors, dropout_p=0.25, generator=lm.Generator(seed=s)).numpy()
        for s in (1, 1, 2)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()
    dropped = draws[0] == 0
    assert abs(dropped.mean() - 0.25) < 0.01
    np.testing.assert_allclose(draws[0][~dropped], p[~dropped] / 0.75, rtol=1e-9)
    assert not lm.scaled_dot_product_attention(*tensors, dropout_p=1.0).numpy().any()


def test_the_same_bits_for_any_number_of_threads(rng: np.random.Generator) -> None:
    tensors = [lm.tensor(a, stop_gradient=False) for a in operands(rng, (100, 300, 8, 8), "float32")]
    results = []
    before = lm.get_num_threads()
    try:
        for threads in (1, 2, 3):
            lm.set_num_threads(threads)
            y = lm.scaled_dot_product_attention(*tensors)
            results.append([y.detach(), *lm.grad([y.sum()], tensors)])
    finally:
        lm.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_errors() -> None:
    q, k, v = lm.ones([2, 3, 4]), lm.ones([2, 5, 4]), lm.ones([2, 5, 6])
    attend = lm.scaled_dot_product_attention
    for call, error in [
        (lambda: attend(q, lm.ones([2, 5, 3]), v), ValueError),
        (lambda: attend(q, k, lm.ones([2, 4, 6])), ValueError),
        (lambda: attend(q, lm.ones([3, 5, 4]), v), ValueError),
        (lambda: attend(q[0, 0], k, v), ValueError),
        (lambda: attend(q, k.astype("float64"), v), TypeError),
        (lambda: attend(*(x.astype("int64") for x in (q, k, v))), TypeError),
        (lambda: attend(q, k, v, lm.ones([3, 4])), ValueError),
        (lambda: attend(q, k, v, lm.ones([7, 2, 3, 5])), ValueError),
        (lambda: attend(q, k, v, lm.ones([3, 5], dtype="int64")), TypeError),
        (lambda: attend(q, k, v, lm.ones([3, 5]), is_causal=True), ValueError),
        (lambda: attend(q, k, v, dropout_p=1.5), ValueError),
        (lambda: attend(lm.ones([3, 3, 4]), k, v, enable_gqa=True), ValueError),
    ]:
        with pytest.raises(error, match="scaled_dot_product_attention"):
            call()


@pytest.mark.parametrize("scale", [-0.4, 0.0])
def test_scales_that_are_not_positive(scale: float, rng: np.random.Generator) -> None:
    """Rows of which the last vector is not full, whose rest counts for nothing."""
    q, k, v = operands(rng, (7, 11, 4, 3), "float32")
    for causal in (False, True):
        got = lm.scaled_dot_product_attention(*(lm.asarray(a) for a in (q, k, v)), is_causal=causal, scale=scale)
        wide = [a.astype("float64") for a in (q, k, v)]
        np.testing.assert_allclose(got.numpy(), attention(*wide, causal=causal, scale=scale), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("dtype", [lm.float16, lm.bfloat16, lm.float64])
def test_a_float32_mask_beside_any_dtype(dtype: Any, rng: np.random.Generator) -> None:
    least = np.finfo(np.float32).min  # inf in 16 bits
    mask = np.where(rng.random((5, 6)) < 0.5, least, rng.normal(size=(5, 6))).astype(np.float32)
    mask[2] = least
    q, k, v = (lm.asarray(rng.normal(size=(2, n, 8))).astype(dtype) for n in (5, 6, 6))
    q.stop_gradient = False
    y = lm.scaled_dot_product_attention(q, k, v, attn_mask=lm.asarray(mask))
    expected = attention(*(np.asarray(x.detach().astype(lm.float64)) for x in (q, k, v)), mask)
    assert y.dtype == dtype
    np.testing.assert_allclose(y.detach().astype(lm.float64), expected, rtol=1e-2, atol=1e-2)
    assert lm.grad(y.sum(), q).dtype == dtype
    with pytest.raises(TypeError, match="attn_mask must be bool, float32 or the query's"):
        lm.scaled_dot_product_attention(q, k, v, attn_mask=lm.ones([5, 6], dtype=lm.int32))
