"""Autocast: what computes in which dtype, gradients, copies of parameters, custom layers."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import lamella as lm
from support.threads import run_on_threads

LOW = [lm.bfloat16, lm.float16]


def parameter(*shape: int) -> lm.Tensor:
    rng = np.random.default_rng(1)
    return lm.tensor(rng.standard_normal(shape).astype("float32"), stop_gradient=False)


@pytest.mark.parametrize("dtype", LOW, ids=lambda d: d.name)
def test_products_compute_in_low_precision(dtype: lm.DType) -> None:
    a, b, bias = parameter(4, 5), parameter(5, 3), parameter(3)
    with lm.autocast("cpu", dtype):
        y = lm.matmul(a, b)
        z = lm.linear(a, b.T, bias)
        c = lm.conv2d(parameter(1, 2, 5, 5), parameter(3, 2, 3, 3))
        added = [
            lm.addmm(bias, a, b),
            lm.addmv(parameter(4), a, parameter(5)),
            lm.baddbmm(bias, a[None], b[None]),
            lm.addbmm(bias, a[None], b[None]),
        ]
    assert {y.dtype, z.dtype, c.dtype, *(total.dtype for total in added)} == {dtype}
    np.testing.assert_allclose(y.detach().to("float32").numpy(), (a @ b).detach().numpy(), atol=0.1)
    y.to("float32").sum().backward()
    assert a.grad is not None and a.grad.dtype == lm.float32
    np.testing.assert_allclose(a.grad.numpy(), np.tile(b.detach().numpy().sum(1), (4, 1)), atol=0.1)
    assert (a @ b).dtype == lm.float32


@pytest.mark.parametrize("dtype", LOW, ids=lambda d: d.name)
def test_what_needs_range_or_digits_computes_in_float32(dtype: lm.DType) -> None:
    x = parameter(4, 4).detach().to(dtype)
    with lm.autocast("cpu", dtype):
        for y in (
            lm.exp(x),
            lm.log(lm.abs(x)),
            x**0.3,
            lm.sum(x),
            lm.mean(x),
            lm.prod(x),
            lm.softmax(x),
            lm.log_softmax(x),
            lm.layer_norm(x, 4),
            lm.mse_loss(x, x),
            lm.cross_entropy(x, lm.asarray([0, 1, 2, 3])),
        ):
            assert y.dtype == lm.float32
        assert (x * 2 + x).dtype == lm.relu(x).dtype == dtype
        # A number keeps its digits.
        np.testing.assert_allclose((lm.full([1], 2.0, dtype=dtype) ** 0.3).item(), 2**0.3, rtol=1e-6)
    assert lm.exp(x).dtype == dtype


def test_other_dtypes_stay() -> None:
    wide = parameter(3, 3).detach().to("float64")
    whole = lm.arange(9).reshape([3, 3])
    with lm.autocast("cpu"):
        assert (wide @ wide).dtype == lm.float64
        assert (whole @ whole).dtype == lm.int64
        assert lm.exp(wide).dtype == lm.float64


def test_scopes_nest() -> None:
    x = parameter(2, 2).detach()
    assert not lm.is_autocast_enabled()
    with lm.autocast("cpu"):
        assert lm.is_autocast_enabled("cpu") and not lm.is_autocast_enabled("cuda")
        with lm.autocast("cpu", lm.float16):
            assert (x @ x).dtype == lm.float16 and lm.amp.get_autocast_dtype("cpu") == lm.float16
            with lm.autocast(enabled=False):
                assert (x @ x).dtype == lm.float32 and not lm.is_autocast_enabled()
        assert (x @ x).dtype == lm.bfloat16
        with lm.autocast("cuda", lm.float16):
            assert lm.is_autocast_enabled("cuda") and (x @ x).dtype == lm.bfloat16
    with lm.autocast("cuda"):
        assert (x @ x).dtype == lm.float32
    scope = lm.autocast("cpu")
    with scope, scope:
        assert (x @ x).dtype == lm.bfloat16
    assert not lm.is_autocast_enabled()
    with pytest.raises(KeyError), lm.autocast("cpu"):
        raise KeyError
    assert not lm.is_autocast_enabled()


def test_decorated_functions() -> None:
    x = parameter(2, 2).detach()

    @lm.autocast("cpu", dtype="float16")
    def product(a: lm.Tensor) -> lm.Tensor:
        return a @ a

    @lm.autocast("cpu")
    def products(a: lm.Tensor):
        yield a @ a
        yield a @ a

    assert product(x).dtype == lm.float16
    pieces = products(x)
    assert next(pieces).dtype == lm.bfloat16
    assert (x @ x).dtype == lm.float32
    assert next(pieces).dtype == lm.bfloat16


def test_each_thread_has_its_own() -> None:
    x = parameter(2, 2).detach()
    seen = {}

    def work(i: int) -> None:
        with lm.autocast("cpu", LOW[i]):
            for _ in range(50):
                assert (x @ x).dtype == LOW[i]
        seen[i] = (x @ x).dtype

    run_on_threads(*[functools.partial(work, i) for i in range(2)])
    assert seen == {0: lm.float32, 1: lm.float32}


def test_a_parameter_is_cast_once() -> None:
    w = parameter(3, 3)
    x = parameter(3, 3).detach()

    def casts(y: lm.Tensor) -> set[int]:
        found, todo = set(), [y.grad_fn]
        while todo:
            node = todo.pop()
            if node is None:
                continue
            if node.name() == "cast" if callable(node.name) else node.name == "cast":
                found.add(hash(node))
            todo += [following for following, _ in node.next_functions if following is not None]
        return found

    with lm.autocast("cpu"):
        y = (x @ w) + (w @ x)
        assert len(casts(y)) == 1
        with lm.no_grad():
            w.mul_(2.0)
        np.testing.assert_array_equal(
            (x @ w).detach().to("float32").numpy(), (x @ (w * 1)).detach().to("float32").numpy()
        )
        with lm.no_grad():
            assert (x @ w).stop_gradient
        assert not (x @ w).stop_gradient
    with lm.autocast("cpu", cache_enabled=False):
        assert len(casts((x @ w) + (w @ x))) == 2


def test_backward_runs_without_autocast() -> None:
    w, x = parameter(3, 3), parameter(2, 3)
    grads = []
    for inside in (False, True):
        w.grad = x.grad = None
        with lm.autocast("cpu"):
            loss = lm.exp(x @ w).sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        grads.append((w.grad.numpy().tobytes(), x.grad.numpy().tobytes()))
    assert grads[0] == grads[1]


def test_checkpoints_remember() -> None:
    w, x = parameter(3, 3), parameter(2, 3)

    def block(a: lm.Tensor) -> lm.Tensor:
        y = a @ w
        assert y.dtype == lm.bfloat16
        return lm.tanh(y.to("float32"))

    with lm.autocast("cpu"):
        y = lm.autograd.checkpoint(block, x)
    y.sum().backward()
    kept = w.grad.numpy()
    w.grad = None
    with lm.autocast("cpu"):
        y = block(x)
    y.sum().backward()
    np.testing.assert_array_equal(kept, w.grad.numpy())


def test_vmap_and_forward_mode() -> None:
    w, xs = parameter(3, 3), parameter(4, 2, 3).detach()
    with lm.autocast("cpu"):
        ys = lm.autograd.vmap(lambda x: x @ w)(xs)
        assert ys.dtype == lm.bfloat16 and ys.shape == (4, 2, 3)
        y, dy = lm.autograd.jvp(lambda x: x @ w, (xs[0],), (lm.ones_like(xs[0]),))
        assert y.dtype == dy.dtype == lm.bfloat16


class Seen(lm.PyLayer):
    """A product that notes what it computes in."""

    dtypes: list[lm.DType]

    @staticmethod
    @lm.amp.custom_fwd
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        y = x @ w
        Seen.dtypes = [y.dtype]
        return y

    @staticmethod
    @lm.amp.custom_bwd
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dx = dy @ w.T
        Seen.dtypes.append(dx.dtype)
        return dx, x.T @ dy


class InFloat32(lm.PyLayer):
    @staticmethod
    @lm.amp.custom_fwd(cast_inputs=lm.float32)
    def forward(ctx, x, w, scale):
        assert x.dtype == w["w"].dtype == lm.float32 and scale == 2
        assert not lm.is_autocast_enabled()
        ctx.save_for_backward(x, w["w"])
        return x @ w["w"]

    @staticmethod
    @lm.amp.custom_bwd
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        assert not lm.is_autocast_enabled() and (dy @ w.T).dtype == lm.float32
        return dy @ w.T, {"w": x.T @ dy}, None


def test_layers_run_backward_in_the_state_of_forward() -> None:
    x, w = parameter(2, 3), parameter(3, 3)
    with lm.autocast("cpu"):
        y = Seen.apply(x, w)
    y.to("float32").sum().backward()
    assert Seen.dtypes == [lm.bfloat16, lm.bfloat16]
    assert x.grad.dtype == w.grad.dtype == lm.float32
    Seen.apply(x, w).sum().backward()
    assert Seen.dtypes == [lm.float32, lm.float32]


def test_layers_with_cast_inputs() -> None:
    x, w = parameter(2, 3), parameter(3, 3)
    with lm.autocast("cpu"):
        y = InFloat32.apply((x * 1).to("bfloat16"), {"w": w}, 2)
        assert y.dtype == lm.float32
        y.sum().backward()
    assert x.grad.dtype == w.grad.dtype == lm.float32
    half = x.detach().to("bfloat16")
    with pytest.raises(AssertionError):
        InFloat32.apply(half, {"w": w}, 2)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: lm.autocast("tpu"), ValueError),
        (lambda: lm.autocast(3), TypeError),
        (lambda: lm.autocast("cpu", lm.float32), TypeError),
        (lambda: lm.autocast("cpu", "int8"), TypeError),
        (lambda: lm.autocast("cpu", enabled=1), TypeError),
        (lambda: lm.amp.set_autocast_dtype("cpu", lm.float64), TypeError),
        (lambda: lm.amp.set_autocast_dtype("meta", lm.float16), ValueError),
        (lambda: lm.is_autocast_enabled("meta"), ValueError),
        (lambda: lm.amp.custom_fwd(cast_inputs=lm.int32), TypeError),
        (lambda: lm.amp.custom_bwd(3), TypeError),
    ],
)
def test_bad_arguments(call, error) -> None:
    with pytest.raises(error):
        call()


def test_the_default_dtype_can_be_set() -> None:
    x = parameter(2, 2).detach()
    assert lm.amp.get_autocast_dtype("cuda") == lm.float16
    lm.amp.set_autocast_dtype("cpu", "float16")
    try:
        with lm.autocast("cpu"):
            assert (x @ x).dtype == lm.float16
    finally:
        lm.amp.set_autocast_dtype("cpu", "bfloat16")
