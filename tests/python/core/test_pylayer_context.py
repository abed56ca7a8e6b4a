"""The members of a PyLayer's context."""

import gc
import weakref

import numpy as np
import pytest

import lamella as lm
from support.layers import layer
from support.tensors import leaf


def test_save_for_backward_once_and_in_forward_only():
    def twice(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x)
        return x * 1

    with pytest.raises(RuntimeError, match=r"\[Layer\] save_for_backward can be called once"):
        layer(twice).apply(leaf(1.0))

    def late(ctx, dy):
        ctx.save_for_backward(dy)
        return dy

    y = layer(lambda ctx, x: x * 1, late).apply(leaf(1.0))
    with pytest.raises(RuntimeError, match="only be called in forward"):
        y.backward()


@pytest.mark.parametrize("recorded", [True, False])
def test_save_for_backward_takes_tensors_and_none(recorded):
    def wrong(ctx, x):
        ctx.save_for_backward(x, 3.0)
        return x * 1

    with pytest.raises(TypeError, match=r"argument 1 is float"):
        layer(wrong).apply(leaf(1.0) if recorded else lm.asarray([1.0]))

    def forward(ctx, x):
        ctx.save_for_backward(None, x, None)
        return x * 1

    def backward(ctx, dy):
        a, b, c = ctx.saved_tensor()
        assert a is None and c is None and b.item() == 1
        assert ctx.saved_tensors[1] is b
        return dy

    layer(forward, backward).apply(leaf(1.0)).backward()


def test_saved_inputs_are_the_same_objects():
    x = leaf(1.0)
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, dy):
        seen.extend(ctx.saved_tensor())
        return dy * 2

    layer(forward, backward).apply(x).backward()
    assert seen[0] is x


def test_nothing_saved():
    def backward(ctx, dy):
        assert ctx.saved_tensor() == ()
        return dy

    layer(lambda ctx, x: x * 1, backward).apply(leaf(1.0)).backward()


def test_any_attribute():
    def forward(ctx, x):
        ctx.number, ctx.function, ctx.array = 3, lm.tanh, np.arange(3)
        ctx.deleted = 1
        del ctx.deleted
        return x * 1

    def backward(ctx, dy):
        assert ctx.number == 3 and ctx.function is lm.tanh and ctx.array.sum() == 3
        assert not hasattr(ctx, "deleted") and set(vars(ctx)) == {"number", "function", "array"}
        return dy

    layer(forward, backward).apply(leaf(1.0)).backward()


def test_needs_input_grad_by_argument():
    seen = []

    def forward(ctx, a, n, b, things):
        seen.append(ctx.needs_input_grad)
        return a * b * things[0]

    def backward(ctx, dy):
        seen.append(ctx.needs_input_grad)
        return dy, None, dy if ctx.needs_input_grad[2] else None, [dy]

    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    constant = lm.asarray([2.0])
    layer(forward, backward).apply(a, 5, b, [c]).backward()
    assert seen == [(True, False, True, True)] * 2
    seen.clear()
    y = layer(forward, backward).apply(a, 5, constant, [c])
    lm.grad(y, a)
    assert seen == [(True, False, False, True), (True, False, False, False)]
    seen.clear()
    layer(forward, backward).apply(constant, 5, constant, [constant])
    assert seen == [(False,) * 4]


def test_mark_dirty():
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def backward(ctx, dy):
        return dy * 2

    x = leaf(1.0)
    h = x * 3
    version = h._version
    y = layer(forward, backward).apply(h)
    assert y is h and y.grad_fn.name == "Layer" and y._version > version
    y.backward()
    assert x.grad.item() == 6
    with pytest.raises(RuntimeError, match="leaf"):
        layer(forward, backward).apply(leaf(1.0))
    # Off the tape it is allowed.
    plain = lm.asarray([1.0])
    assert layer(forward, backward).apply(plain) is plain


def test_mark_dirty_of_something_else():
    def forward(ctx, x):
        ctx.mark_dirty(lm.zeros(1))
        return x * 1

    with pytest.raises(RuntimeError, match="not an input"):
        layer(forward).apply(leaf(1.0))


def test_mark_not_inplace_in_the_paddle_dialect():
    def marked(ctx, x):
        ctx.mark_not_inplace(x)
        return x

    x = leaf(1.0)
    y = layer(marked, _dialect="paddle").apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr()
    y.backward()
    assert x.grad.item() == 1


def test_mark_non_differentiable():
    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    def backward(ctx, da, db):
        assert db.item() == 0
        return da * 2

    x = leaf(1.0)
    a, b = layer(forward, backward).apply(x)
    assert not a.stop_gradient and b.stop_gradient
    a.backward()
    assert x.grad.item() == 2


@pytest.mark.parametrize("materialize", [True, False])
def test_set_materialize_grads(materialize):
    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    def backward(ctx, da, db):
        if materialize:
            assert db.shape == (2,) and db.tolist() == [0, 0]
        else:
            assert db is None
        return da * 2

    x = leaf(1.0, 2.0)
    layer(forward, backward).apply(x)[0].sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("consistent", [True, False])
def test_set_grad_in_dtype_consistent(consistent):
    def forward(ctx, x):
        ctx.set_grad_in_dtype_consistent(consistent)
        return x * 2

    def backward(ctx, dy):
        assert dy.dtype == (lm.float32 if consistent else lm.float64)
        return dy * 2

    x = leaf(1.0)
    y = layer(forward, backward).apply(x)
    y.register_hook(lambda g: g.astype("float64"))
    y.backward()
    assert x.grad.item() == 2 and x.grad.dtype == lm.float32


@pytest.mark.parametrize("method", ["set_materialize_grads", "set_grad_in_dtype_consistent"])
def test_switches_take_bools(method):
    def forward(ctx, x):
        getattr(ctx, method)(1)
        return x * 1

    with pytest.raises(TypeError, match=method):
        layer(forward).apply(leaf(1.0))


@pytest.mark.parametrize("method", ["mark_dirty", "mark_not_inplace", "mark_non_differentiable"])
def test_marks_take_tensors(method):
    def forward(ctx, x):
        getattr(ctx, method)(x, "text")
        return x * 1

    with pytest.raises(TypeError, match=rf"\[{method}\] argument 1 is str"):
        layer(forward).apply(leaf(1.0))


def test_a_context_made_by_hand_or_kept_too_long():
    ctx = lm.autograd.PyLayerContext()
    ctx.anything = 1
    for use in (lambda: ctx.saved_tensor(), lambda: ctx.needs_input_grad, lambda: ctx.save_for_backward(lm.zeros(1))):
        with pytest.raises(RuntimeError, match="belongs to no call"):
            use()
    with pytest.raises(TypeError):
        lm.autograd.PyLayerContext(1)

    kept = []

    def forward(ctx, x):
        kept.append(ctx)
        ctx.save_for_backward(x)
        return x * 1

    for x in (leaf(1.0), lm.asarray([1.0])):
        layer(forward).apply(x)
        with pytest.raises(RuntimeError, match="belongs to no call"):
            kept.pop().saved_tensor()


def test_once_differentiable():
    def backward(ctx, dy):
        assert not lm.is_grad_enabled()
        (x,) = ctx.saved_tensor()
        return dy * 2 * x

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    once = layer(forward, lm.autograd.once_differentiable(backward))
    x = leaf(3.0)
    once.apply(x).backward()
    assert x.grad.item() == 6
    (g,) = lm.grad(once.apply(x), [x], create_graph=True)
    assert g.item() == 6
    with pytest.raises(RuntimeError, match=r"\[Layer\].*once_differentiable"):
        lm.grad(g, x)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.backward()


def test_once_differentiable_on_a_staticmethod():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @lm.autograd.once_differentiable
        @staticmethod
        def backward(ctx, dy):
            return dy * 2

    x = leaf(1.0)
    g = lm.grad(Layer.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        lm.grad(g, x)
    with pytest.raises(TypeError):
        lm.autograd.once_differentiable(3)


def test_attributes_live_as_long_as_the_graph():
    class Big:
        pass

    kept = []

    def forward(ctx, x):
        ctx.big = Big()
        kept.append(weakref.ref(ctx.big))
        return x * 1

    y = layer(forward).apply(leaf(1.0))
    gc.collect()
    assert kept[0]() is not None
    del y
    assert kept[0]() is None
