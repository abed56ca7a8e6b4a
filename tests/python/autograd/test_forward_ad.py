"""Dual tensors: levels, views, writes in place, threads, lifetimes, errors; and the functions built on them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import lamella as lm
import lamella.autograd.forward_ad as fwad
from lamella.autograd import jacfwd, jvp, linearize
from support.memory import without_collector
from support.tensors import vec
from support.threads import run_on_threads


def tangent(x: lm.Tensor) -> list[float] | None:
    found = fwad.unpack_dual(x).tangent
    return None if found is None else found.detach().tolist()


# Levels and duals


def test_a_dual_is_made_and_taken_apart() -> None:
    x, t = vec(1, 2), vec(3, 4)
    with fwad.dual_level() as level:
        assert isinstance(level, int)
        dual = fwad.make_dual(x, t)
        assert dual is not x
        parts = fwad.unpack_dual(dual)
        assert parts.primal.tolist() == [1, 2]
        assert parts.tangent is t
        assert fwad.unpack_dual(parts.primal).tangent is None
        assert fwad.unpack_dual(x) == (x, None)
        assert tangent(dual * dual) == [6, 16]


def test_nothing_of_a_level_remains() -> None:
    with fwad.dual_level():
        y = fwad.make_dual(vec(1, 2), vec(3, 4)) * 2
        held = weakref.ref(fwad.unpack_dual(y).tangent)
    assert fwad.unpack_dual(y).tangent is None
    assert held() is None
    with fwad.dual_level():
        assert tangent(y) is None
        assert tangent(y * fwad.make_dual(vec(1, 1), vec(1, 0))) == [2, 0]


def test_enter_and_exit() -> None:
    outer = fwad.enter_dual_level()
    inner = fwad.enter_dual_level()
    assert inner > outer
    with pytest.raises(RuntimeError, match="not the innermost"):
        fwad.exit_dual_level(level=outer)
    fwad.exit_dual_level(level=inner)
    fwad.exit_dual_level(level=outer)
    with pytest.raises(RuntimeError, match="not the innermost"):
        fwad.exit_dual_level(level=outer)


def test_a_level_as_a_decorator_and_after_an_error() -> None:
    @fwad.dual_level()
    def derivative(x: lm.Tensor) -> Any:
        return tangent(lm.exp(fwad.make_dual(x, x)))

    assert derivative(vec(0.0)) == [0.0]
    assert derivative(vec(0.0)) == [0.0]
    with pytest.raises(ZeroDivisionError), fwad.dual_level():
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="no level"):
        fwad.make_dual(vec(1), vec(1))


def test_what_make_dual_refuses() -> None:
    with fwad.dual_level() as level:
        with pytest.raises(ValueError, match="shape"):
            fwad.make_dual(vec(1, 2), vec(1))
        with pytest.raises(TypeError, match="dtype"):
            fwad.make_dual(vec(1), vec(1).astype("float32"))
        with pytest.raises(TypeError, match="floating or complex"):
            fwad.make_dual(lm.tensor([1]), lm.tensor([1]))
        with pytest.raises(TypeError, match="make_dual"):
            fwad.make_dual(vec(1), 1.0)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="level"):
            fwad.make_dual(vec(1), vec(1), level="a")  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match="has ended"):
            fwad.make_dual(vec(1), vec(1), level=level - 1)
        dual = fwad.make_dual(vec(1), vec(1))
        with pytest.raises(RuntimeError, match="already"):
            fwad.make_dual(dual, vec(1))
        with pytest.raises(RuntimeError, match="has itself a tangent"):
            fwad.make_dual(vec(1), dual)
        with fwad.dual_level():
            with pytest.raises(RuntimeError, match="only that can be unpacked"):
                fwad.unpack_dual(dual, level=level)
            with pytest.raises(RuntimeError, match="has itself a tangent"):
                fwad.make_dual(vec(1), fwad.make_dual(vec(1), vec(1)), level=level)
            assert tangent(fwad.make_dual(vec(1), dual)) == [1]


def test_detach_and_operators_without_a_gradient_drop_tangents() -> None:
    with fwad.dual_level():
        x = fwad.make_dual(vec(1, 2), vec(1, 1))
        for y in (x.detach(), lm.argmax(x), x > 1, lm.zeros_like(x), x.astype("int64")):
            assert tangent(y) is None
        assert tangent(x.clone()) == [1, 1]
        assert fwad.unpack_dual(x.astype("float32")).tangent.dtype == lm.float32
        assert tangent(x.detach().numpy().sum() * lm.ones([1])) is None


def test_a_tangent_is_recorded_and_no_grad_does_not_stop_it() -> None:
    x, t = vec(0.5, grad=True), vec(2.0, grad=True)
    with fwad.dual_level():
        y = lm.sin(fwad.make_dual(x, t))
        found = fwad.unpack_dual(y).tangent
        dx, dt = lm.grad(found, [x, t], retain_graph=True)
        assert dx.detach().item() == pytest.approx(-2 * np.sin(0.5))
        assert dt.detach().item() == pytest.approx(np.cos(0.5))
        assert lm.grad(y, x).detach().item() == pytest.approx(np.cos(0.5))
        with lm.no_grad():
            z = lm.sin(fwad.make_dual(x, t))
            assert z.stop_gradient
            assert fwad.unpack_dual(z).tangent.stop_gradient
            assert tangent(z) == pytest.approx([2 * np.cos(0.5)])


def test_what_wants_no_gradient_is_not_recorded() -> None:
    with fwad.dual_level():
        y = lm.tanh(fwad.make_dual(vec(0.5), vec(1.0))) @ lm.ones([1, 2], dtype="float64")
        assert y.stop_gradient
        assert fwad.unpack_dual(y).tangent.stop_gradient
        assert fwad.unpack_dual(y).primal.stop_gradient


def test_primal_keeps_its_place_on_the_tape() -> None:
    x = vec(3.0, grad=True)
    with fwad.dual_level():
        y = fwad.make_dual(x, vec(1.0)) * 2
        primal = fwad.unpack_dual(y).primal
        assert tangent(primal * 5) is None
        assert lm.grad(primal, x).item() == 2


# Nesting


def test_no_perturbation_confusion() -> None:
    # d/dx (x * d/dy (x + y) at y = 1) is 1, not 2 (Siskind and Pearlmutter, 2005).
    def inner(x: lm.Tensor) -> lm.Tensor:
        return x * jvp(lambda y: x + y, vec(1.0), vec(1.0))[1]

    assert jvp(inner, vec(1.0), vec(1.0))[1].tolist() == [1]


def test_levels_nest_to_any_depth() -> None:
    f: Any = lambda x: x * x * x * x  # noqa: E731
    expected = [4 * 8.0, 12 * 4.0, 24 * 2.0, 24.0, 0.0]
    for value in expected:
        before = f
        f = lambda x, before=before: jvp(before, x, lm.ones_like(x))[1]  # noqa: E731
        assert f(vec(2.0)).tolist() == [value]


def test_a_tangent_of_an_inner_level_has_one_of_the_outer() -> None:
    with fwad.dual_level():
        x = fwad.make_dual(vec(2.0), vec(1.0))
        with fwad.dual_level():
            y = fwad.make_dual(x, x * x)  # tangent x^2
            z = y * y  # tangent 2 x x^2
            found = fwad.unpack_dual(z)
        assert tangent(found.primal) == [4]
        assert tangent(found.tangent) == [24]


def test_forward_over_reverse_through_backward() -> None:
    x = vec(1.0, 2.0, grad=True)
    with fwad.dual_level():
        dual = fwad.make_dual(x, vec(1.0, 0.5))
        (dual * dual * dual).sum().backward()
        assert x.grad.detach().tolist() == [3, 12]
        assert tangent(x.grad) == [6, 6]
        (dual * dual).sum().backward()
        assert x.grad.detach().tolist() == [5, 16]
        assert tangent(x.grad) == [8, 7]
    assert tangent(x.grad) is None


# Writes in place and views


@pytest.mark.parametrize("recording", [True, False])
def test_writes_in_place_move_tangents(recording: bool) -> None:
    with lm.set_grad_enabled(recording), fwad.dual_level():
        x = fwad.make_dual(vec(1, 2, 3), vec(1, 1, 1)).clone()
        x *= x
        assert tangent(x) == [2, 4, 6]
        x.add_(vec(1, 1, 1))
        assert tangent(x) == [2, 4, 6]
        plain = lm.zeros([3], dtype="float64")
        plain += x
        assert tangent(plain) == [2, 4, 6]
        x.fill_(0)
        assert tangent(x) is None
        x[1:] = fwad.make_dual(vec(5, 6), vec(7, 8))
        assert x.detach().tolist() == [0, 5, 6]
        assert tangent(x) == [0, 7, 8]
        x[[0, 1]] = 1
        assert tangent(x) == [0, 0, 8]


@pytest.mark.parametrize("recording", [True, False])
def test_views_share_tangents_with_their_base(recording: bool) -> None:
    with lm.set_grad_enabled(recording), fwad.dual_level():
        base = fwad.make_dual(vec(1, 2, 3, 4), vec(1, 1, 1, 1)).clone()
        first, last, grid = base[:2], base[2:], base.reshape([2, 2]).T
        first *= 10
        assert tangent(base) == [10, 10, 1, 1]
        assert tangent(last) == [1, 1]
        assert tangent(grid) == [[10, 1], [10, 1]]
        base *= 2
        assert tangent(first) == [20, 20]
        grid[0].copy_(fwad.make_dual(vec(0, 0), vec(7, 8)))
        assert tangent(base) == [7, 20, 8, 2]
        assert tangent(first) == [7, 20]
        last.zero_()
        assert tangent(base) == [7, 20, 0, 0]
        assert tangent(last) is None or tangent(last) == [0, 0]


@pytest.mark.parametrize("recording", [True, False])
def test_a_write_through_a_view_of_a_dual_leaves_the_rest_of_its_tangent(recording: bool) -> None:
    with lm.set_grad_enabled(recording), fwad.dual_level():
        x = fwad.make_dual(vec(1, 2, 3, 4), vec(1, 1, 1, 1))
        part = x[1:3]
        part *= 3
        assert tangent(part) == [3, 3] and tangent(x) == [1, 3, 3, 1]
        part.fill_(0)
        assert tangent(x) == [1, 0, 0, 1] and x.detach().tolist() == [1, 0, 0, 4]
        x[0] += 5
        assert tangent(x) == [1, 0, 0, 1]
        x *= 2
        assert tangent(x) == [2, 0, 0, 2] and tangent(x[3:]) == [2]


def test_detach_in_place_drops_tangents() -> None:
    with fwad.dual_level(), fwad.dual_level():
        x = fwad.make_dual(vec(1, 2), vec(3, 4)) * 2
        assert tangent(x) == [6, 8]
        assert x.detach_() is x and tangent(x) is None and tangent(x * x) is None
        x += fwad.make_dual(vec(1, 1), vec(1, 0))
        assert tangent(x) == [1, 0]


def test_duals_of_parts_of_one_tensor_keep_their_tangents() -> None:
    whole = vec(1, 2, 3, 4)
    with fwad.dual_level():
        first = fwad.make_dual(whole[:2], vec(1, 1))
        second = fwad.make_dual(whole[2:], vec(5, 6))
        assert tangent(whole) is None
        first *= 3
        assert tangent(first) == [3, 3] and tangent(second) == [5, 6]
        part = second[:1]
        part *= 2
        assert tangent(second) == [10, 6] and tangent(first) == [3, 3]
    assert whole.tolist() == [3, 6, 6, 4]
    assert tangent(first) is None and tangent(whole) is None


def test_functions_that_write_into_views_of_their_argument() -> None:
    def f(x: lm.Tensor) -> lm.Tensor:
        x[::2] *= x[1::2]
        return x

    x = np.arange(1.0, 7.0)
    jacobian = np.eye(6)
    jacobian[[0, 2, 4], [0, 2, 4]] = x[1::2]
    jacobian[[0, 2, 4], [1, 3, 5]] = x[::2]
    np.testing.assert_array_equal(jacfwd(lambda x: f(x.clone()))(lm.asarray(x)).numpy(), jacobian)
    t = np.array([1.0, 0, 2, 0, 0, 3])
    np.testing.assert_array_equal(jvp(f, (lm.tensor(x),), (lm.asarray(t),))[1].numpy(), jacobian @ t)
    each = lm.vmap(lambda x, t: jvp(f, (x,), (t,))[1])(lm.tensor(np.stack([x, x])), lm.asarray(np.stack([t, 2 * t])))
    np.testing.assert_array_equal(each.numpy(), [jacobian @ t, jacobian @ t * 2])


def test_a_dual_value_reaches_a_plain_base_through_a_view() -> None:
    with fwad.dual_level():
        base = lm.zeros([2, 2], dtype="float64")
        row, column = base[1], base[:, 0]
        row.copy_(fwad.make_dual(vec(1, 2), vec(3, 4)))
        assert tangent(base) == [[0, 0], [3, 4]]
        assert tangent(column) == [0, 3]


def test_a_primal_made_after_a_write_has_no_tangent() -> None:
    with fwad.dual_level():
        x = fwad.make_dual(vec(1, 2), vec(1, 1)).clone()
        x *= 2
        primal = fwad.unpack_dual(x).primal
        assert tangent(primal) is None
        assert tangent(primal[0]) is None
        assert tangent(x[0]) == 2


def test_views_and_writes_at_two_levels() -> None:
    def f(x: lm.Tensor) -> lm.Tensor:
        y = x.clone()
        part = y[1:]
        part *= y[:-1]
        y[0] = y[1] * y[2]
        return y * y

    def g(x: lm.Tensor) -> lm.Tensor:
        a, b, c = x[0], x[1], x[2]
        y = lm.stack([(a * b) * (b * c), a * b, b * c])
        return y * y

    x, v, u = vec(1.5, -2, 3), vec(1, 2, 3), vec(-1, 0.5, 2)
    for k in (f, g):
        assert jvp(k, x, v)[0].tolist() == pytest.approx(g(x).tolist())
    assert jvp(f, x, v)[1].tolist() == pytest.approx(jvp(g, x, v)[1].tolist())
    second = [jvp(lambda y, k=k: jvp(k, y, v)[1], x, u)[1].tolist() for k in (f, g)]
    assert second[0] == pytest.approx(second[1])


def test_a_write_that_forward_mode_cannot_follow_is_refused() -> None:
    x = vec(1, 2)
    with lm.no_grad():
        view = x[:1]
    with fwad.dual_level():
        with pytest.raises(RuntimeError, match="no_grad"):
            view.copy_(fwad.make_dual(vec(1), vec(1)))
        dual = fwad.make_dual(vec(1, 2, grad=True), vec(1, 1))
        with pytest.raises(RuntimeError, match="leaf"):
            dual.add_(1)


# Threads


def test_levels_belong_to_their_thread() -> None:
    seen: list[Any] = []
    with fwad.dual_level():
        x = fwad.make_dual(vec(1.0), vec(1.0))

        def other() -> None:
            seen.append(tangent(x * 2))
            seen.append(jvp(lambda y: y * x, vec(3.0), vec(1.0))[1].tolist())

        run_on_threads(other)
        assert seen == [None, [1.0]]
        assert tangent(x * 2) == [2]


def test_passes_on_fresh_threads_take_levels_along() -> None:
    class Nested(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor, depth: int) -> lm.Tensor:
            ctx.depth = depth
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            if ctx.depth:
                with lm.enable_grad():
                    leaf = vec(1.0, grad=True)
                    lm.grad(Nested.apply(leaf, ctx.depth - 1).sum(), leaf)
            return 2 * x * dy, None

    x = vec(3.0, grad=True)
    with fwad.dual_level():
        y = Nested.apply(fwad.make_dual(x, vec(1.0)), 60)
        assert tangent(lm.grad(y, x)) == [2]


# Lifetimes


def test_no_cycle_outlives_a_level() -> None:
    def run() -> None:
        x = vec(*range(100), grad=True)
        with fwad.dual_level():
            y = lm.tanh(fwad.make_dual(x, lm.ones_like(x)))  # its tangent is on the tape of its own node
            z = lm.softmax(y) * y
            assert not fwad.unpack_dual(z).tangent.stop_gradient

    with without_collector():
        before = lm.memory.memory_allocated()
        for _ in range(3):
            run()
        assert lm.memory.memory_allocated() == before


def test_tangents_are_freed_with_their_tensors() -> None:
    with fwad.dual_level():
        x = fwad.make_dual(vec(*range(1000)), lm.ones([1000], dtype="float64"))
        for _ in range(10):
            x = x * 1.5
        before = lm.memory.memory_allocated()
        for _ in range(1000):
            x = x * 1.0
        assert lm.memory.memory_allocated() - before < 10 * 8000


# jvp, jacfwd, linearize


def test_jvp_of_trees() -> None:
    def f(p: dict[str, lm.Tensor], b: list[lm.Tensor]) -> Any:
        return {"sum": p["x"] + b[0], "rest": (p["x"] * b[0], lm.ones([2], dtype="float64"))}, "note"

    primals = ({"x": vec(1, 2), "y": vec(0)}, [vec(3, 4)])
    out, dout, aux = jvp(f, primals, ({"y": None, "x": vec(1, 0)}, [vec(0, 1)]), has_aux=True)
    assert aux == "note"
    assert out["sum"].tolist() == [4, 6]
    assert dout["sum"].tolist() == [1, 1]
    assert dout["rest"][0].tolist() == [3, 2]
    assert dout["rest"][1].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="output 2 does not depend"):
        jvp(lambda p, b: f(p, b)[0], primals, primals, strict=True)


def test_what_jvp_refuses() -> None:
    with pytest.raises(ValueError, match="structure"):
        jvp(lambda x: x, vec(1), [vec(1)])
    with pytest.raises(ValueError, match="shape"):
        jvp(lambda x: x, vec(1), vec(1, 2))
    with pytest.raises(TypeError, match="expected a function"):
        jvp(3, vec(1), vec(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="result is float"):
        jvp(lambda x: 1.0, vec(1), vec(1))
    with pytest.raises(TypeError, match="pair"):
        jvp(lambda x: x, vec(1), vec(1), has_aux=True)
    with pytest.raises(TypeError, match="primals is int"):
        jvp(lambda x: x, 1, vec(1))


def test_jvp_of_integer_results_is_zero() -> None:
    out, dout = jvp(lambda x: (x > 1, lm.argmax(x)), vec(1, 2), vec(1, 1))
    assert out[0].tolist() == [False, True]
    assert dout[1].item() == 0
    assert dout[1].dtype == out[1].dtype


def test_hessian_vector_product() -> None:
    def f(x: lm.Tensor) -> lm.Tensor:
        return (x * x * x).sum() * x[0]

    def gradient(x: lm.Tensor) -> lm.Tensor:
        return lm.grad(f(x), x)

    x, v = vec(1.0, 2.0, grad=True), vec(1.0, -1.0)
    first = lm.grad(f(x), x, create_graph=True)
    expected = lm.grad((first * v).sum(), x).tolist()
    assert jvp(gradient, x, v)[1].tolist() == pytest.approx(expected)


def test_jacfwd() -> None:
    def f(x: lm.Tensor, y: lm.Tensor) -> Any:
        return lm.matmul(x, y), y * 2

    x, y = vec(1, 2, 3, 4).reshape([2, 2]), vec(5, 6)
    product, double = jacfwd(f, (0, 1))(x, y)
    eye = np.eye(2)
    np.testing.assert_allclose(product[0].numpy(), np.einsum("ik,l->ikl", eye, y.numpy()))
    np.testing.assert_allclose(product[1].numpy(), x.numpy())
    np.testing.assert_allclose(double[0].numpy(), np.zeros((2, 2, 2)))
    np.testing.assert_allclose(double[1].numpy(), 2 * eye)
    single = jacfwd(lambda z: z * z)(y)
    np.testing.assert_allclose(single.numpy(), np.diag(2 * y.numpy()))
    hessian = jacfwd(jacfwd(lambda z: (z * z * z).sum()))(y)
    np.testing.assert_allclose(hessian.numpy(), np.diag(6 * y.numpy()))
    value, aux = jacfwd(lambda z: (z.sum(), 7), has_aux=True)(y)
    assert value.tolist() == [1, 1]
    assert aux == 7
    assert jacfwd(lambda z: z * 2)(lm.zeros([0, 3])).shape == (0, 3, 0, 3)
    with pytest.raises(TypeError, match="argnums"):
        jacfwd(f, "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="argnums"):
        jacfwd(f, 2)(x, y)


def test_linearize() -> None:
    runs = []

    def f(x: lm.Tensor, rest: dict[str, lm.Tensor]) -> Any:
        runs.append(1)
        return lm.sin(x) * rest["y"], {"fixed": lm.ones([1])}

    x, y = vec(1, 2), vec(3, 4)
    out, derivative = linearize(f, x, {"y": y})
    v, u = vec(1, -1), vec(0.5, 2)
    expected = jvp(f, (x, {"y": y}), (v, {"y": u}))
    assert out[0].tolist() == pytest.approx(expected[0][0].tolist())
    for _ in range(2):
        assert derivative(v, {"y": u})[0].tolist() == pytest.approx(expected[1][0].tolist())
    assert derivative(v, {"y": None})[1]["fixed"].tolist() == [0]
    assert len(runs) == 2
    with pytest.raises(ValueError, match="structure"):
        derivative(v)
    with pytest.raises(ValueError, match="shape"):
        derivative(vec(1), {"y": u})
