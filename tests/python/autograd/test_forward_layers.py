"""Forward mode through PyLayers: with a jvp of their own, derived from backward, and where neither is possible."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import lamella as lm
import lamella.autograd.forward_ad as fwad
from lamella.autograd import jvp, once_differentiable
from support.layers import Cube
from support.memory import Marker, without_collector
from support.tensors import vec


class Tanh(lm.PyLayer):
    """Saves its output."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        y = lm.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        (y,) = ctx.saved_tensors
        return dy - dy * y * y


class TanhWithJvp(Tanh):
    """The same with a jvp, which is counted."""

    calls = 0

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> lm.Tensor:
        TanhWithJvp.calls += 1
        (y,) = ctx.saved_tensors
        return dx - dx * y * y


class Product(lm.PyLayer):
    """Two tensors, a number and two results."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, n: float, y: lm.Tensor) -> Any:
        ctx.save_for_backward(x, y)
        ctx.n = n
        return x * y * n, {"sum": x + y}

    @staticmethod
    def backward(ctx: Any, da: lm.Tensor, db: lm.Tensor) -> Any:
        x, y = ctx.saved_tensors
        of_x, _, of_y = ctx.needs_input_grad
        return (da * y * ctx.n + db) if of_x else None, None, (da * x * ctx.n + db) if of_y else None


class ProductWithJvp(Product):
    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor, dn: None, dy: lm.Tensor) -> Any:
        assert dn is None
        x, y = ctx.saved_tensors
        return (dx * y + x * dy) * ctx.n, dx + dy


@pytest.mark.parametrize(("layer", "plain"), [(Cube, lambda x: x * x * x), (Tanh, lm.tanh), (TanhWithJvp, lm.tanh)])
@pytest.mark.parametrize("grad", [True, False])
def test_all_derivatives(layer: Any, plain: Any, grad: bool) -> None:
    x, v, u = vec(0.3, -0.7, grad=grad), vec(1, 2), vec(-0.5, 3)
    one, other = jvp(layer.apply, x, v), jvp(plain, x, v)
    for a, b in zip(one, other, strict=True):
        assert a.stop_gradient == b.stop_gradient == (not grad)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy())

    def twice(f: Any) -> Any:
        return jvp(lambda y: jvp(f, y, v)[1], x, u)[1].detach().numpy()

    np.testing.assert_allclose(twice(layer.apply), twice(plain))
    if not grad:
        return
    np.testing.assert_allclose(lm.grad(one[1].sum(), x).numpy(), lm.grad(other[1].sum(), x).numpy())
    for create_graph in (False, True):

        def gradient(f: Any, create_graph: bool = create_graph) -> Any:
            return lambda y: lm.grad((f(y) * u).sum(), y, create_graph=create_graph)

        ours = jvp(gradient(layer.apply), x, v)[1]
        np.testing.assert_allclose(ours.detach().numpy(), jvp(gradient(plain), x, v)[1].detach().numpy())


@pytest.mark.parametrize("layer", [Product, ProductWithJvp])
@pytest.mark.parametrize("which", ["both", "x", "y"])
def test_several_inputs_and_outputs(layer: Any, which: str) -> None:
    x, y = vec(2, 3), vec(5, 7)
    dx = vec(1, -1) if which != "y" else None
    dy = vec(0.5, 4) if which != "x" else None

    def ours(a: lm.Tensor, b: lm.Tensor) -> Any:
        product, rest = layer.apply(a, 3.0, y=b)
        return product, rest["sum"]

    got = jvp(ours, (x, y), (dx, dy))[1]
    expected = jvp(lambda a, b: (a * b * 3, a + b), (x, y), (dx, dy))[1]
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy())


def test_jvp_is_preferred_and_sees_what_forward_saved_without_any_gradient() -> None:
    before = TanhWithJvp.calls
    with lm.no_grad():
        assert jvp(TanhWithJvp.apply, vec(0.0), vec(2.0))[1].tolist() == [2]
    assert TanhWithJvp.calls == before + 1


def test_tangents_that_are_missing() -> None:
    seen: list[Any] = []

    class Layer(lm.PyLayer):
        materialize = True

        @classmethod
        def forward(cls, ctx: Any, x: lm.Tensor, y: lm.Tensor, k: lm.Tensor) -> lm.Tensor:
            ctx.set_materialize_grads(cls.materialize)
            return x + y

        @staticmethod
        def jvp(ctx: Any, dx: Any, dy: Any, dk: Any) -> Any:
            seen[:] = [dx, dy, dk]
            return dx

    k = lm.tensor([1])
    jvp(lambda x: Layer.apply(x, vec(1), k), vec(1), vec(1))
    assert seen[1].tolist() == [0]
    assert seen[2] is None
    Layer.materialize = False
    jvp(lambda x: Layer.apply(x, vec(1), k), vec(1), vec(1))
    assert seen[1] is None


def test_containers_of_tensors() -> None:
    class Dot(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, p: Any) -> lm.Tensor:
            ctx.save_for_backward(p["a"], p["b"][1])
            return p["a"] * p["b"][1]

        @staticmethod
        def jvp(ctx: Any, dp: Any) -> lm.Tensor:
            a, b = ctx.saved_tensors
            assert dp["b"][0] is None
            return dp["a"] * b + a * dp["b"][1]

    out = jvp(lambda a, b: Dot.apply({"a": a, "b": ["text", b]}), (vec(2), vec(3)), (vec(1), vec(10)))
    assert out[1].tolist() == [23]


def test_setup_context_and_needs_input_grad() -> None:
    class Scale(lm.PyLayer):
        @staticmethod
        def forward(x: lm.Tensor, w: lm.Tensor) -> lm.Tensor:
            return x * w

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            assert ctx.needs_input_grad == (True, False)
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> Any:
            _, w = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False)
            return dy * w, None

    assert jvp(lambda x: Scale.apply(x, vec(3)), vec(2), vec(5))[1].tolist() == [15]


def test_what_jvp_returns_is_checked() -> None:
    def layer(result: Any) -> Any:
        class Layer(lm.PyLayer):
            @staticmethod
            def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
                return x * 2

            @staticmethod
            def jvp(ctx: Any, dx: lm.Tensor) -> Any:
                return result

        return lambda: jvp(Layer.apply, vec(1, 2), vec(1, 1))

    with pytest.raises(ValueError, match=r"\[Layer\] jvp returned 2 tangents, expected 1"):
        layer((vec(1, 1), vec(1, 1)))()
    with pytest.raises(ValueError, match=r"\[Layer\] jvp returned a tangent of shape \[1\].*\[2\]"):
        layer(vec(1))()
    with pytest.raises(TypeError, match=r"\[Layer\] jvp returned str \(item 0\)"):
        layer("no")()
    assert layer(None)()[1].tolist() == [0, 0]
    assert layer([lm.ones([2], dtype="float32")])()[1].dtype == lm.float64


def test_layers_that_forward_mode_cannot_follow() -> None:
    class Once(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x * 2

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy * 2

    with pytest.raises(RuntimeError, match=r"\[Once\].*once_differentiable.*define jvp"):
        jvp(Once.apply, vec(1), vec(1))

    class OnceWithJvp(Once):
        @staticmethod
        def jvp(ctx: Any, dx: lm.Tensor) -> lm.Tensor:
            return dx * 2

    assert jvp(OnceWithJvp.apply, vec(1), vec(1))[1].tolist() == [2]
    x = vec(1, grad=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        jvp(lambda y: lm.grad(OnceWithJvp.apply(y), y), x, vec(1))

    class Numpy(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return lm.asarray(dy.detach().numpy() * 2)

    with pytest.raises(RuntimeError, match=r"\[Numpy\].*define jvp"):
        jvp(Numpy.apply, vec(1), vec(1))

    class Neither(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x * 2

    with pytest.raises(NotImplementedError, match=r"\[Neither\].*jvp or a backward"):
        jvp(Neither.apply, vec(1), vec(1))
    assert Neither.apply(vec(1)).tolist() == [2]


@pytest.mark.parametrize("as_attribute", [False, True])
def test_an_intermediate_of_forward_is_no_constant(as_attribute: bool) -> None:
    class Fourth(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            square = x * x
            if as_attribute:
                ctx.square = square
                ctx.save_for_backward(x)
            else:
                ctx.save_for_backward(x, square)
            return square * square

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            x = ctx.saved_tensors[0]
            square = ctx.square if as_attribute else ctx.saved_tensors[1]
            return dy * 4 * square * x

    x = vec(2.0, grad=True)
    # The first derivative is right: what backward reads is a constant to it.
    for start in (x, x.detach()):
        assert jvp(Fourth.apply, start, vec(1.0))[1].tolist() == [32]
    # A second one would miss a part.
    with pytest.raises(RuntimeError, match=r"\[Fourth\] forward mode reached a value"):
        jvp(lambda y: lm.grad(Fourth.apply(y), y), x, vec(1.0))
    with pytest.raises(RuntimeError, match=r"\[Fourth\] forward mode reached a value"):
        jvp(lambda y: jvp(Fourth.apply, y, vec(1.0))[1], x.detach(), vec(1.0))
    with pytest.raises(RuntimeError, match="a value that a custom layer computed in forward"):
        lm.grad(jvp(Fourth.apply, x, vec(1.0))[1], x)
    # Reverse mode alone, and forward mode along something else, do not care.
    assert lm.grad(Fourth.apply(x), x).tolist() == [32]
    assert jvp(lambda y: lm.grad(Fourth.apply(x) * y, x), vec(3.0), vec(1.0))[1].tolist() == [32]


def test_forward_runs_without_tangents() -> None:
    seen: list[Any] = []

    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor, y: Any = None) -> lm.Tensor:
            seen.append(fwad.unpack_dual(x * 2).tangent)
            seen.append(jvp(lambda z: z * x, vec(1.0), vec(1.0))[1].tolist())
            return x * 2

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy * 2

    assert jvp(Layer.apply, vec(3.0), vec(1.0))[1].tolist() == [2]
    assert seen == [None, [3.0]]

    class Closure(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x * dual

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy

    with fwad.dual_level():
        dual = fwad.make_dual(vec(1.0), vec(1.0))
        assert fwad.unpack_dual(Closure.apply(vec(1.0))).tangent is None


@pytest.mark.parametrize("grad", [True, False])
def test_in_place_layers(grad: bool) -> None:
    class Double(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy * 2

    class DoubleWithJvp(Double):
        @staticmethod
        def jvp(ctx: Any, dx: lm.Tensor) -> lm.Tensor:
            return dx * 2

    for layer in (Double, DoubleWithJvp):

        def f(x: lm.Tensor, layer: Any = layer) -> Any:
            y = x * x
            part = y[1:]
            result = layer.apply(part)
            assert result is part
            return y, part

        out, dout = jvp(f, vec(1, 2, 3, grad=grad), vec(1, 1, 1))
        assert out[0].tolist() == [1, 8, 18]
        assert dout[0].tolist() == [2, 8, 12]
        assert dout[1].tolist() == [8, 12]


def test_inputs_returned_marks_and_integer_outputs() -> None:
    class Pass(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> Any:
            constant = x * 3
            ctx.mark_non_differentiable(constant)
            return x, constant, lm.argmax(x)

        @staticmethod
        def backward(ctx: Any, dx: lm.Tensor, dc: Any, di: Any) -> lm.Tensor:
            return dx * 5

    class PassWithJvp(Pass):
        @staticmethod
        def jvp(ctx: Any, dx: lm.Tensor) -> Any:
            return dx * 5, dx, None

    for layer in (Pass, PassWithJvp):
        with fwad.dual_level():
            x = fwad.make_dual(vec(1, 2), vec(1, 1))
            same, constant, position = layer.apply(x)
            assert same is not x
            assert fwad.unpack_dual(same).tangent.tolist() == [5, 5]
            assert fwad.unpack_dual(x).tangent.tolist() == [1, 1]
            assert fwad.unpack_dual(constant).tangent is None
            assert fwad.unpack_dual(position).tangent is None


def test_a_kept_output_has_its_tangent() -> None:
    class Exp(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            ctx.y = lm.exp(x)
            return ctx.y

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy * ctx.y

    x = vec(0.5, grad=True)
    assert jvp(lambda y: lm.grad(Exp.apply(y), y), x, vec(1.0))[1].item() == pytest.approx(np.exp(0.5))
    assert jvp(lambda y: jvp(Exp.apply, y, vec(1.0))[1], x, vec(1.0))[1].item() == pytest.approx(np.exp(0.5))


def test_an_error_in_jvp_comes_out_and_leaves_nothing_behind() -> None:
    class Bad(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x * 2

        @staticmethod
        def jvp(ctx: Any, dx: lm.Tensor) -> lm.Tensor:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        jvp(Bad.apply, vec(1), vec(1))
    with pytest.raises(RuntimeError, match="no level"):
        fwad.make_dual(vec(1), vec(1))
    assert lm.is_grad_enabled()


@pytest.mark.parametrize("layer", [Cube, Tanh, TanhWithJvp])
def test_no_leaks(layer: Any) -> None:
    held: list[Any] = []

    class Holder(layer):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            ctx.marker = held.pop()
            return layer.forward(ctx, x)

    for grad in (True, False):
        held.append(Marker())
        ref = weakref.ref(held[0])
        with without_collector():
            with fwad.dual_level():
                x = vec(0.5, grad=grad)
                y = Holder.apply(fwad.make_dual(x, vec(1.0)))
                assert fwad.unpack_dual(y).tangent is not None
            del x, y
            assert ref() is None
