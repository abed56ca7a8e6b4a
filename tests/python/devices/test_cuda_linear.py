"""``linear`` on CUDA, whose bias and whose gradient of the bias are part of the products."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from support import default_device, emulation

pytestmark = pytest.mark.skipif(default_device.DEVICE != "cuda", reason="the default device is not CUDA")
emulated = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")

TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "float16": 2e-3, "bfloat16": 2e-2}
#: Examples, and sizes of x's rows and of y's.
SIZES = [(1, 1, 1), (1, 5, 3), (4, 1, 7), (7, 3, 1), (5, 7, 3), (16, 32, 8), (33, 17, 65)]


def given(sizes: tuple[int, int, int], dtype: str, seed: int = 0) -> tuple[lm.Tensor, ...]:
    """x, weight, bias and dy, rounded to the dtype."""
    rows, into, out = sizes
    generator = np.random.default_rng(seed)
    shapes = ((rows, into), (out, into), (out,), (rows, out))
    return tuple(lm.asarray(generator.uniform(-1, 1, shape)).astype(dtype) for shape in shapes)


def exact(x: lm.Tensor) -> np.ndarray:
    return x.detach().astype("float64").numpy()


def check(x: lm.Tensor, weight: lm.Tensor, bias: lm.Tensor, dy: lm.Tensor) -> None:
    """Compares the layer and its gradients with numpy's in float64."""
    for tensor in (x, weight, bias):
        tensor.stop_gradient = False
    y = lm.linear(x, weight, bias)
    dx, dweight, dbias = lm.grad([y], [x, weight, bias], [dy])
    by_hand = exact(x), exact(weight), exact(bias), exact(dy)
    wanted = (
        (y, by_hand[0] @ by_hand[1].T + by_hand[2]),
        (dx, by_hand[3] @ by_hand[1]),
        (dweight, by_hand[3].T @ by_hand[0]),
        (dbias, by_hand[3].sum(0)),
    )
    for got, want in wanted:
        assert got.dtype == x.dtype and got.shape == want.shape
        scale = max(1.0, float(np.abs(want).max(initial=0)))
        np.testing.assert_allclose(exact(got), want, atol=scale * TOLERANCE[str(x.dtype).split(".")[-1]])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_layer_and_its_gradients(sizes: tuple[int, int, int], dtype: str) -> None:
    check(*given(sizes, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_operands_in_any_layout(dtype: str) -> None:
    def turned(x: lm.Tensor) -> lm.Tensor:
        return x.mT.contiguous().mT

    def gaps(x: lm.Tensor) -> lm.Tensor:
        return lm.stack([x, x * 0 + 9], axis=-1)[..., 0]

    def apart(x: lm.Tensor) -> lm.Tensor:  # at an address that is a multiple of the element's size and no more
        return lm.concat([lm.zeros([1], dtype=x.dtype), x.reshape([-1])])[1:].reshape(x.shape)

    for change in (turned, gaps, apart):
        x, weight, bias, dy = given((6, 5, 7), dtype)
        check(change(x).detach(), change(weight).detach(), bias, change(dy))
        if change is not turned:
            check(x, weight, change(bias).detach(), dy)
    x, weight, bias, dy = given((6, 5, 7), dtype)
    check(x, weight, bias, lm.broadcast_to(dy[:1], [6, 7]))  # as of a sum over rows
    check(x, weight, bias, lm.broadcast_to(lm.ones([], dtype=dtype), [6, 7]))


@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)], ids=str)
def test_empty_operands(sizes: tuple[int, int, int]) -> None:
    check(*given(sizes, "float32"))


def test_only_what_is_wanted_has_a_gradient() -> None:
    x, weight, bias, dy = given((4, 3, 5), "float64")
    for wanted in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
        tensors = [t.detach().clone() for t in (x, weight, bias)]
        for i in wanted:
            tensors[i].stop_gradient = False
        got = lm.grad([lm.linear(*tensors)], [tensors[i] for i in wanted], [dy])
        want = (exact(dy) @ exact(weight), exact(dy).T @ exact(x), exact(dy).sum(0))
        for i, gradient in zip(wanted, got, strict=True):
            np.testing.assert_allclose(exact(gradient), want[i], atol=1e-12)


def test_derivatives_of_the_gradient_and_other_modes() -> None:
    x, weight, bias, _ = given((4, 3, 5), "float64")
    for tensor in (x, weight, bias):
        tensor.stop_gradient = False
    assert lm.autograd.gradcheck(lm.linear, (x, weight, bias))
    assert lm.autograd.gradgradcheck(lm.linear, (x, weight, bias))
    examples = lm.stack([x, x * 2]).detach()
    got = lm.vmap(lambda each: lm.linear(each, weight, bias))(examples)
    np.testing.assert_allclose(exact(got), exact(examples) @ exact(weight).T + exact(bias), atol=1e-12)


def test_a_16_bit_bias_is_added_before_rounding() -> None:
    # The product, 2049, is no float16: rounded first it is 2048, and 2048 with the bias.
    x, weight = lm.full([2, 3], 683.0, dtype="float16"), lm.ones([4, 3], dtype="float16")
    assert lm.linear(x, weight, lm.ones([4], dtype="float16")).tolist() == [[2050.0] * 4] * 2


@emulated
def test_each_is_one_launch() -> None:
    x, weight, bias, dy = given((5, 7, 3), "float32")
    for tensor in (x, weight, bias):
        tensor.stop_gradient = False
    with emulation.counted() as forward:
        y = lm.linear(x, weight, bias)
    with emulation.counted() as backward:
        lm.grad([y], [x, weight, bias], [dy])
    assert forward == {"launches": 1} and backward == {"launches": 2}


@emulated
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_what_the_library_refuses_takes_more_launches(dtype: str) -> None:
    sizes = (9, 13, 11)  # of no other test: what was found before is not looked for again
    x, weight, bias, dy = given(sizes, dtype)
    with emulation.without("lt"):
        check(x, weight, bias, dy)
        with emulation.counted() as counts:
            lm.linear(x, weight, bias)
    assert counts == {"launches": 2}


@emulated
def test_a_deterministic_gradient_adds_in_an_order_of_its_own() -> None:
    x, weight, bias, dy = given((6, 4, 2), "float32")
    lm.use_deterministic_algorithms(True)
    try:
        with emulation.counted() as counts:
            check(x, weight, bias, dy)
    finally:
        lm.use_deterministic_algorithms(False)
    assert counts["launches"] >= 4


@emulated
def test_plans_for_many_shapes() -> None:
    for rows in range(1, 40):
        for into in range(1, 30):
            x, weight, bias = lm.ones([rows, into]), lm.ones([2, into]), lm.ones([2])
            y = lm.linear(x, weight, bias)
        assert y.tolist() == [[30.0, 30.0]] * rows


@pytest.fixture
def tf32():
    lm.set_float32_matmul_precision("high")
    yield
    lm.set_float32_matmul_precision("highest")


def tf32_of(x: np.ndarray) -> np.ndarray:
    """Rounds to 10 bits of mantissa, ties away from zero."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


@emulated
def test_float32_is_multiplied_as_tf32_where_that_is_asked_for(tf32: None) -> None:
    x, weight, bias, _ = given((16, 32, 8), "float32")
    exactly = exact(x) @ exact(weight).T
    rounded = tf32_of(x.numpy()).astype(np.float64) @ tf32_of(weight.numpy()).astype(np.float64).T
    assert np.abs(exactly - rounded).max() > 1e-4
    for found, want in [(x @ weight.mT, rounded), (lm.linear(x, weight, bias), rounded + exact(bias))]:
        np.testing.assert_allclose(exact(found), want, atol=2e-5)
    lm.set_float32_matmul_precision("highest")
    for found, want in [(x @ weight.mT, exactly), (lm.linear(x, weight, bias), exactly + exact(bias))]:
        np.testing.assert_allclose(exact(found), want, atol=2e-5)
    double = x.astype("float64") @ weight.astype("float64").mT
    np.testing.assert_allclose(exact(double), exactly, atol=1e-12)
