"""Clipping of gradients against numpy."""

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.nn.utils import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm

ORDERS = [1.0, 2, 2.0, 3.5, float("inf")]
SHAPES = [(3, 4), (), (0,), (2, 3, 5)]


def parameters(rng, dtype="float32"):
    made = [nn.Parameter(lm.zeros(shape, dtype=dtype)) for shape in SHAPES]
    for p in made:
        p.grad = lm.asarray(rng.normal(size=p.shape)).astype(dtype)
    return [*made, nn.Parameter(lm.zeros([2]))]


def gradients(made):
    return [p.grad.astype("float64").numpy().copy() for p in made if p.grad is not None]


def norm_of(arrays, order):
    return np.linalg.norm(np.concatenate([a.ravel() for a in arrays]), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("limit", [0.0, 0.5, 1e4])
def test_the_norm_of_all(order, dtype, limit, rng):
    made = parameters(rng, dtype)
    before = gradients(made)
    given = [p.grad for p in made]
    tolerance = {"float32": 1e-6, "float64": 1e-12}.get(dtype, 2e-2)
    norm = norm_of(before, order)
    np.testing.assert_allclose(get_total_norm([g for g in given if g is not None], order).item(), norm, tolerance)
    found = clip_grad_norm_(made, limit, order)
    assert found.shape == () and found.stop_gradient
    np.testing.assert_allclose(found.item(), norm, tolerance)
    factor = min(limit / (norm + 1e-6), 1.0)
    for p, g, old in zip(made, given, before, strict=False):
        assert p.grad is g
        np.testing.assert_allclose(g.astype("float64").numpy(), old * factor, tolerance, 1e-7)


def test_tensors_of_one_call(rng):
    p = nn.Parameter(lm.zeros([2]))
    p.grad = lm.asarray([3.0, 4.0])
    assert clip_grad_norm_(p, 1.0).item() == 5.0
    np.testing.assert_allclose(p.grad.tolist(), [0.6, 0.8], 1e-6)
    assert get_total_norm(lm.asarray([3.0, 4.0])).item() == 5.0
    both = [lm.asarray([3.0]), lm.asarray([4.0], dtype="float64"), lm.ones([0])]
    assert get_total_norm(iter(both)).item() == 5.0
    z = lm.asarray([3.0 + 4.0j])
    assert get_total_norm([z, z]).item() == pytest.approx(50**0.5)
    t = lm.asarray(rng.normal(size=(4, 6)).astype("float32")).T[::2]
    np.testing.assert_allclose(get_total_norm([t]).item(), np.linalg.norm(t.numpy()), 1e-6)
    clip_grads_with_norm_(p, 0.1, lm.asarray(1.0))
    np.testing.assert_allclose(p.grad.tolist(), [0.06, 0.08], 1e-5)


def test_nothing_to_clip():
    idle = nn.Parameter(lm.zeros([2]))
    assert clip_grad_norm_([idle], 1.0).item() == 0.0 and clip_grad_norm_([], 1.0).item() == 0.0
    clip_grad_value_([idle], 1.0)
    assert idle.grad is None


@pytest.mark.parametrize("value", [0.0, 0.5, 10])
def test_values(value, rng):
    made = parameters(rng)
    before = gradients(made)
    clip_grad_value_(iter(made), value)
    for p, old in zip(made, before, strict=False):
        np.testing.assert_allclose(p.grad.numpy(), np.clip(old, -value, value), 1e-6)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("order", ORDERS)
def test_norms_that_are_not_finite(bad, order):
    p = nn.Parameter(lm.zeros([2]))
    p.grad = lm.asarray([bad, 1.0])
    with pytest.raises(RuntimeError, match=r"\[clip_grad_norm_\] the norm of order .* is (nan|inf), not finite"):
        clip_grad_norm_(p, 1.0, order, error_if_nonfinite=True)
    assert p.grad.tolist()[1] == 1.0
    assert not np.isfinite(clip_grad_norm_(p, 1.0, order).item())


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda p: clip_grad_norm_(p, -1.0), ValueError, r"\[clip_grad_norm_\] max_norm is at least 0, not -1"),
        (lambda p: clip_grad_norm_(p, float("nan")), ValueError, "max_norm is at least 0"),
        (lambda p: clip_grad_norm_(p, "1"), TypeError, "max_norm is a number, not str"),
        (lambda p: clip_grad_norm_(p, 1.0, 0.0), ValueError, "norm_type is above 0"),
        (lambda p: clip_grad_norm_(p, 1.0, "fro"), TypeError, "norm_type is a number"),
        (lambda p: clip_grad_norm_([1.0], 1.0), TypeError, "item 0 is float, not a Tensor"),
        (lambda p: clip_grad_value_(p, -1.0), ValueError, "clip_value is at least 0"),
        (lambda p: clip_grads_with_norm_(p, True, lm.ones([])), TypeError, "max_norm is a number, not bool"),
        (lambda p: get_total_norm([p, 3]), TypeError, r"\[get_total_norm\] item 1 is int"),
    ],
)
def test_errors(call, kind, message):
    p = nn.Parameter(lm.zeros([2]))
    p.grad = lm.ones([2])
    with pytest.raises(kind, match=message):
        call(p)
    assert p.grad.tolist() == [1.0, 1.0]
