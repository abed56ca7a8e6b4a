"""Activations: their settings, their kinks, and their ends."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import lamella as lm

from ..gradcheck import check_gradients


def test_clip_and_gelu(rng: np.random.Generator) -> None:
    x = rng.uniform(-3, 3, (3, 4))
    t = lm.asarray(x)
    np.testing.assert_array_equal(lm.clip(t, -1, 1).numpy(), np.clip(x, -1, 1))
    np.testing.assert_array_equal(lm.clip(t, min=0).numpy(), np.clip(x, 0, None))
    np.testing.assert_array_equal(lm.clip(t, max=0).numpy(), np.clip(x, None, 0))
    np.testing.assert_array_equal(
        lm.clip(t, lm.asarray([-1.0, 0.0, 1.0, 2.0]), 2.5).numpy(), np.clip(x, [-1, 0, 1, 2], 2.5)
    )
    for low, high in [(-1.0, 1.0), (None, 0.5), (-0.5, None)]:
        check_gradients(lambda v, low=low, high=high: lm.clip(v, low, high), x)
    edges = lm.tensor([-1.0, 0.0, 1.0], stop_gradient=False)
    lm.clip(edges, -1.0, 1.0).sum().backward()
    assert edges.grad.tolist() == [1.0, 1.0, 1.0]
    for approximate in ("none", "tanh"):
        check_gradients(lambda v, approximate=approximate: lm.gelu(v, approximate=approximate), x)
    with pytest.raises(ValueError, match=r"\[gelu\]"):
        lm.gelu(t, approximate="wrong")


# The points where PyTorch's derivatives are a matter of definition.
KINKS = {
    "relu6": ((), {0.0: 0, 6.0: 0, 3.0: 1}),
    "leaky_relu": ((0.2,), {0.0: 0.2}),
    "elu": ((1.5,), {0.0: 1.5}),
    "selu": ((), {0.0: 1.0507009873554805 * 1.6732632423543772}),
    "celu": ((2.0,), {0.0: 1}),
    "hardtanh": ((-1.0, 2.0), {-1.0: 0, 2.0: 0, 0.0: 1}),
    "hardsigmoid": ((), {-3.0: 0, 3.0: 0, 0.0: 1 / 6}),
    "hardswish": ((), {-3.0: 0, 3.0: 1, 0.0: 0.5}),
    "hardshrink": ((0.5,), {0.5: 0, -0.5: 0, 1.0: 1}),
    "softshrink": ((0.5,), {0.5: 0, -0.5: 0, 1.0: 1}),
    "threshold": ((0.5, 9.0), {0.5: 0, 1.0: 1}),
    "softplus": ((1.0, 2.0), {2.0: 0.8807970779778823, 2.5: 1}),
    "softsign": ((), {0.0: 1}),
}


@pytest.mark.parametrize("name", KINKS)
def test_derivatives_at_kinks(name: str) -> None:
    settings, slopes = KINKS[name]
    x = lm.tensor(np.array(list(slopes)), stop_gradient=False)
    getattr(lm, name)(x, *settings).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), list(slopes.values()), rtol=1e-12)


def test_second_derivatives_far_out() -> None:
    """Where a branch that is not taken would overflow."""
    for name in ("elu", "selu", "celu", "softplus", "mish", "silu", "log_sigmoid"):
        x = lm.tensor([-1000.0, 1000.0], dtype="float32", stop_gradient=False)
        (first,) = lm.grad([getattr(lm, name)(x).sum()], [x], create_graph=True)
        (second,) = lm.grad([first.sum()], [x])
        assert np.isfinite(first.detach().numpy()).all() and not second.numpy().any(), name


def test_activation_settings_and_defaults(rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=(3, 4)))
    for name, given in [
        ("leaky_relu", {"negative_slope": 0.01}),
        ("elu", {"alpha": 1.0}),
        ("celu", {"alpha": 1}),
        ("hardtanh", {"min_val": -1, "max_val": 1}),
        ("softplus", {"beta": 1, "threshold": 20}),
        ("hardshrink", {"lambd": 0.5}),
        ("softshrink", {"lambd": 0.5}),
    ]:
        np.testing.assert_array_equal(getattr(lm, name)(x).numpy(), getattr(lm, name)(x, **given).numpy())
    assert lm.elu(lm.asarray([1, 2])).dtype == lm.float32
    assert lm.leaky_relu(x.astype("float32"), 0.1).dtype == lm.float32


def test_prelu(rng: np.random.Generator) -> None:
    x, slopes = rng.normal(size=(2, 3, 4)), rng.random(3)
    expected = np.where(x > 0, x, x * slopes[:, None])
    np.testing.assert_array_equal(lm.prelu(lm.asarray(x), lm.asarray(slopes)).numpy(), expected)
    np.testing.assert_array_equal(lm.prelu(lm.asarray(x[0, :, 0]), lm.asarray(slopes)).numpy(), expected[0, :, 0])
    one = lm.prelu(lm.asarray(x), lm.asarray([0.5])).numpy()
    np.testing.assert_array_equal(one, np.where(x > 0, x, x * 0.5))
    for bad in (lm.ones([4]), lm.ones([3, 1])):
        with pytest.raises(ValueError, match=r"\[prelu\] weight"):
            lm.prelu(lm.asarray(x), bad)


def test_glu(rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 6))
    for axis in (0, 1):
        a, b = np.split(x, 2, axis)
        np.testing.assert_allclose(lm.glu(lm.asarray(x), axis).numpy(), a * sp.expit(b), rtol=1e-12)
    for bad in (lm.ones([3]), lm.asarray(1.0)):
        with pytest.raises(ValueError, match=r"\[glu\]"):
            lm.glu(bad)


@pytest.mark.parametrize("shape", [(6, 4), (2, 10, 3)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_glu_along_axes(shape: tuple[int, ...], axis: int, rng: np.random.Generator) -> None:
    if shape[axis] % 2:
        shape = (*shape[:-1], 4)
    x = rng.normal(size=shape)
    a, b = np.split(x, 2, axis)
    np.testing.assert_allclose(lm.glu(lm.asarray(x), axis).numpy(), a / (1 + np.exp(-b)), rtol=1e-12)
    check_gradients(lambda x: lm.glu(x, axis), x)
