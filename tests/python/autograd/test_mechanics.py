"""What the pages of PyTorch's documentation on custom functions, on the mechanics of autograd and on hooks promise,
checked from outside: each class is a page or a part of one, each test a promise."""

import weakref

import numpy as np
import pytest

import lamella as lm
from support.layers import Cube
from support.memory import without_collector
from support.tensors import leaf
from support.threads import run_on_threads


class Exp(lm.PyLayer):
    """The exponential, which saves its result."""

    @staticmethod
    def forward(ctx, x):
        y = lm.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return dy * y


class TestCustomFunctions:
    def test_forward_is_not_recorded_and_backward_only_for_a_recorded_pass(self):
        modes = []

        class Layer(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                modes.append(lm.is_grad_enabled())
                return x * 2

            @staticmethod
            def backward(ctx, dy):
                modes.append(lm.is_grad_enabled())
                return dy * 2

        x = leaf(1.0)
        Layer.apply(x).backward()
        lm.grad(Layer.apply(x), x, create_graph=True)
        assert modes == [False, False, False, True]

    def test_a_saved_result_is_no_cycle(self):
        with without_collector():
            x = leaf(1.0)
            y = Exp.apply(x)
            alive = weakref.ref(y)
            del y
            assert alive() is None

    def test_a_saved_result_has_all_its_derivatives(self):
        x = leaf(0.0)
        y = Exp.apply(x)
        for _ in range(4):
            (y,) = lm.grad(y, [x], create_graph=True)
            assert y.item() == 1

    def test_saved_inputs_have_all_their_derivatives(self):
        x = leaf(2.0)
        y, values = Cube.apply(x), []
        for _ in range(3):
            (y,) = lm.grad(y, [x], create_graph=True)
            values.append(y.item())
        assert values == [12, 12, 6]

    def test_a_saved_tensor_that_was_overwritten_is_an_error(self):
        x = leaf(1.0)
        y = Exp.apply(x)
        y.add_(1)
        with pytest.raises(RuntimeError, match="overwritten"):
            y.backward()

    def test_things_that_are_no_tensors_are_kept_on_the_context(self):
        class Scale(lm.PyLayer):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor

            @staticmethod
            def backward(ctx, dy):
                return dy * ctx.factor, None

        x = leaf(1.0)
        Scale.apply(x, 5.0).backward()
        assert x.grad.item() == 5

    def test_needs_input_grad(self):
        seen = []

        class Product(lm.PyLayer):
            @staticmethod
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return a * b

            @staticmethod
            def backward(ctx, dy):
                seen.append(ctx.needs_input_grad)
                a, b = ctx.saved_tensors
                wants_a, wants_b = ctx.needs_input_grad
                return dy * b if wants_a else None, dy * a if wants_b else None

        x, w = leaf(2.0), leaf(3.0)
        Product.apply(x, lm.ones(1)).backward()
        Product.apply(x, w).backward()
        lm.grad(Product.apply(x, w), w)
        assert seen == [(True, False), (True, True), (False, True)] and x.grad.item() == 4

    @pytest.mark.parametrize("materialize", [True, False])
    def test_gradients_that_are_missing_are_zeros_unless_switched_off(self, materialize):
        seen = []

        class Two(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(materialize)
                return x * 1, (x * 2).astype("float64")

            @staticmethod
            def backward(ctx, a, b):
                seen.append(b)
                return a

        x = leaf(1.0, 2.0)
        Two.apply(x)[0].sum().backward()
        if materialize:
            assert seen[0].tolist() == [0, 0] and seen[0].dtype == lm.float64
        else:
            assert seen == [None]

    def test_marks(self):
        class Threshold(lm.PyLayer):
            """What is larger than 1, and where that is."""

            @staticmethod
            def forward(ctx, x):
                mask = (x > 1).astype("float32")
                ctx.mark_non_differentiable(mask)
                ctx.save_for_backward(mask)
                return x * mask, mask

            @staticmethod
            def backward(ctx, dy, dmask):
                return dy * ctx.saved_tensors[0]

        class Double(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, dy):
                return dy * 2

        x = leaf(1.0, 2.0)
        y, mask = Threshold.apply(x)
        assert mask.stop_gradient and not y.stop_gradient
        y.sum().backward()
        assert x.grad.tolist() == [0, 1]

        h = x * 1
        z = Double.apply(h)
        assert z is h and h.tolist() == [2, 4] and h.inplace_version > 0
        x.grad = None
        z.sum().backward()
        assert x.grad.tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="leaf"):
            Double.apply(x)

    def test_integer_results_have_no_gradient(self):
        class Count(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 1, (x > 0).astype("int64")

            @staticmethod
            def backward(ctx, dy, dn):
                return dy

        y, n = Count.apply(leaf(1.0))
        assert n.stop_gradient and not y.stop_gradient

    def test_once_differentiable(self):
        class Layer(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @lm.autograd.once_differentiable
            def backward(ctx, dy):
                assert not lm.is_grad_enabled()
                return dy * 2 * ctx.saved_tensors[0]

        x = leaf(3.0)
        (dx,) = lm.grad(Layer.apply(x), [x], create_graph=True)
        assert dx.item() == 6
        with pytest.raises(RuntimeError, match="once_differentiable"):
            lm.grad(dx, x)

    def test_a_context_set_up_apart(self):
        class Layer(lm.PyLayer):
            @staticmethod
            def forward(x, factor):
                return x * factor

            @staticmethod
            def setup_context(ctx, inputs, output):
                _, ctx.factor = inputs

            @staticmethod
            def backward(ctx, dy):
                return dy * ctx.factor, None

        x = leaf(1.0)
        Layer.apply(x, 4.0).backward()
        assert x.grad.item() == 4

    def test_the_number_of_gradients_is_checked(self):
        class Layer(lm.PyLayer):
            @staticmethod
            def forward(ctx, a, b):
                return a * b

            @staticmethod
            def backward(ctx, dy):
                return dy, dy, dy

        with pytest.raises(ValueError, match="3 gradients"):
            Layer.apply(leaf(1.0), leaf(2.0)).backward()


class TestWhatWantsAGradient:
    def test_spreads_from_any_input(self):
        x, w = lm.ones(1), leaf(1.0)
        assert not x.requires_grad and not (x * 2).requires_grad
        assert (x * w).requires_grad and not (x * w).is_leaf and (x * 2).is_leaf

    def test_only_floating_and_complex_tensors(self):
        for dtype in ("int64", "bool"):
            with pytest.raises(RuntimeError, match="floating"):
                lm.ones(1, dtype=dtype).requires_grad = True
        assert lm.ones(1, dtype="complex64").requires_grad_().requires_grad

    def test_only_leaves_accumulate(self):
        x = leaf(2.0)
        h = x * 3
        (h * h).backward()
        assert x.grad.item() == 36 and h.grad is None

    def test_a_frozen_part_gets_none(self):
        frozen, tuned = lm.ones(1), leaf(2.0)
        (frozen * tuned).backward()
        assert frozen.grad is None and tuned.grad.item() == 1

    def test_the_flag_of_a_result_cannot_be_cleared(self):
        with pytest.raises(RuntimeError, match="detach"):
            (leaf(1.0) * 2).requires_grad = False

    def test_the_gradient_of_a_leaf_is_added_to(self):
        x = leaf(1.0)
        held = None
        for i in range(3):
            (x * 2).backward()
            held = held or x.grad
            assert x.grad is held and held.item() == 2 * (i + 1)


class TestGradientModes:
    def test_what_is_made_under_no_grad_may_be_used_later(self):
        x = leaf(3.0)
        with lm.no_grad():
            constant = x * 2
        assert constant.stop_gradient
        (x * constant).backward()
        assert x.grad.item() == 6

    def test_parameters_are_updated_under_no_grad(self):
        x = leaf(3.0)
        with pytest.raises(RuntimeError, match="leaf"):
            x.sub_(1)
        with lm.no_grad():
            x.sub_(1)
        assert x.item() == 2 and x.requires_grad and x.is_leaf

    def test_modes_hold_for_one_thread(self):
        seen = []
        with lm.no_grad():
            run_on_threads(lambda: seen.append((leaf(1.0) * 2).requires_grad))
        assert seen == [True]

    def test_backward_works_under_no_grad(self):
        x = leaf(3.0)
        y = x * x
        with lm.no_grad():
            y.backward()
        assert x.grad.item() == 6


class TestPointsWithoutADerivative:
    """The rules of what is used there: the subgradient of least norm, the limit, NaN where nothing is defined."""

    @pytest.mark.parametrize(
        ("function", "at", "slope"),
        [
            (lm.abs, 0.0, 0.0),
            (lm.relu, 0.0, 0.0),
            (lm.sqrt, 0.0, np.inf),
            (lm.sqrt, -1.0, np.nan),
            (lm.log, -1.0, -1.0),
        ],
    )
    def test_of_one_argument(self, function, at, slope):
        x = leaf(at)
        function(x).backward()
        np.testing.assert_equal(x.grad.item(), slope)

    def test_equal_largest_elements_share(self):
        a, b = leaf(1.0), leaf(1.0)
        lm.maximum(a, b).backward()
        assert a.grad.item() == b.grad.item() == 0.5


class TestWritesInPlace:
    def test_of_what_is_not_saved_are_fine(self):
        x = leaf(1.0, 2.0)
        h = x + 1
        y = h + 1
        h.mul_(10)
        (y.sum() + h.sum()).backward()
        assert x.grad.tolist() == [11, 11]

    def test_of_what_is_saved_are_found(self):
        x = leaf(1.0, 2.0)
        for write in (lambda t: t.mul_(2), lambda t: t[0].fill_(1), lambda t: t.detach().add_(1)):
            h = x + 1
            y = (h * h).sum()
            write(h)
            with pytest.raises(RuntimeError, match="overwritten"):
                y.backward()

    def test_views_share_the_counter(self):
        x = lm.ones(4)
        v = x[1:3]
        before = x.inplace_version
        v.add_(1)
        assert x.inplace_version == v.inplace_version == before + 1

    def test_a_view_and_its_base_follow_each_other(self):
        x = leaf(1.0, 2.0, 3.0)
        h = x * 1
        v = h[1:]
        v.mul_(10)
        h.mul_(2)
        (v.sum() + h.sum()).backward()
        assert x.grad.tolist() == [2, 40, 40]


class TestTheGraph:
    def test_is_freed_by_the_first_pass(self):
        x = leaf(2.0)
        y = x * x
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(RuntimeError, match="retain_graph"):
            y.backward()
        assert x.grad.item() == 8

    def test_is_made_anew_by_every_call(self):
        x = leaf(2.0)
        for i in range(4):
            y = x
            for _ in range(i):
                y = y * 3
            y.backward()
        assert x.grad.item() == 1 + 3 + 9 + 27

    def test_is_seen_from_its_nodes(self):
        x = leaf(2.0)
        y = lm.exp(x * 3)
        assert y.grad_fn.name == "exp"
        ((node, number),) = y.grad_fn.next_functions
        assert node.name == "multiply" and number == 0 and node == y.grad_fn.next_functions[0][0]
        assert node.next_functions[0][0].name == "AccumulateGrad" and x.grad_fn is None

    def test_shared_by_threads(self):
        x = leaf(1.0)
        h = lm.exp(x * 0) * x
        run_on_threads(*[lambda: [(h * 2).backward(retain_graph=True) for _ in range(25)]] * 4)
        assert x.grad.item() == 200


class TestComplexNumbers:
    """The gradient of a real result is its direction of steepest ascent: that of the real part plus i times that of the
    imaginary part. A layer of one's own returns it so."""

    def test_a_layer_takes_and_returns_complex_gradients(self):
        class SquaredModulus(lm.PyLayer):
            @staticmethod
            def forward(ctx, z):
                ctx.save_for_backward(z)
                return lm.asarray(np.abs(z.numpy()) ** 2)

            @staticmethod
            def backward(ctx, dy):
                (z,) = ctx.saved_tensors
                return lm.asarray(2 * dy.numpy() * z.detach().numpy())

        z = lm.asarray(np.array([1 + 2j, -3j], dtype=np.complex64)).requires_grad_()
        y = SquaredModulus.apply(z)
        assert y.tolist() == pytest.approx([5, 9]) and y.dtype == lm.float32
        y.backward(lm.asarray([1.0, 10.0]))
        assert z.grad.dtype == lm.complex64 and z.grad.tolist() == [2 + 4j, -60j]


class TestHooksOfTensors:
    def test_run_in_the_order_of_registration_and_see_what_came_before(self):
        x, seen = leaf(1.0), []
        for factor in (2, 3, 5):
            x.register_hook(lambda g, factor=factor: (seen.append(g.item()), g * factor)[1])
        (x * 1).backward()
        assert seen == [1, 2, 6] and x.grad.item() == 30

    def test_run_whenever_a_gradient_is_computed_for_the_tensor(self):
        x, seen = leaf(1.0), []
        h = x * 2
        h.register_hook(lambda g: seen.append("h"))
        x.register_hook(lambda g: seen.append("x"))
        y = h * 3
        y.backward(retain_graph=True)
        lm.grad(y, h, retain_graph=True)
        lm.grad(y, x)
        assert seen == ["h", "x", "h", "h", "x"]

    def test_run_for_an_input_before_its_gradient_is_captured(self):
        x = leaf(1.0)
        h = x * 2
        h.register_hook(lambda g: g * 10)
        x.register_hook(lambda g: g + 1)
        assert [g.item() for g in lm.grad(h * 3, [h, x])] == [30, 61]
        h = x * 2
        h.register_hook(lambda g: g * 10)
        (h * 3).backward(inputs=[h, x])
        assert h.grad.item() == 30 and x.grad.item() == 61

    def test_stay_with_the_value_before_a_write_in_place(self):
        x, seen = leaf(1.0), []
        h = x * 1
        h.register_hook(lambda g: seen.append(("before", g.item())))
        h.mul_(10)
        h.register_hook(lambda g: seen.append(("after", g.item())))
        (h * 3).backward()
        assert seen == [("after", 3), ("before", 30)]

    def test_kept_gradients_come_last_and_follow_the_write(self):
        x = leaf(1.0)
        h = x * 1
        h.retain_grad()
        h.register_hook(lambda g: g * 2)
        h.mul_(10)
        h.register_hook(lambda g: g * 7)
        (h * 3).backward()
        assert h.grad.item() == 21 and x.grad.item() == 420

    def test_may_not_be_called_for_a_gradient_that_is_none(self):
        class Nothing(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, dy):
                return None

        x, seen = leaf(1.0), []
        x.register_hook(seen.append)
        Nothing.apply(x).backward()
        assert seen == [] and x.grad is None

    def test_are_recorded_with_the_pass(self):
        x = leaf(3.0)
        h = x * 1
        h.register_hook(lambda g: g * g)
        (dx,) = lm.grad(h * h, [x], create_graph=True)
        assert dx.item() == 36

    def test_of_a_leaf_outlive_the_graphs(self):
        x, seen = leaf(1.0), []
        x.register_hook(lambda g: seen.append(g.item()))
        for factor in (2, 3):
            (x * factor).backward()
        assert seen == [2, 3]


class TestHooksOfNodes:
    def test_run_only_where_the_node_runs(self):
        x, seen = leaf(1.0), []
        h = x * 2
        h.grad_fn.register_prehook(lambda go: seen.append("pre"))
        h.grad_fn.register_hook(lambda gi, go: seen.append("post"))
        lm.grad(h * 3, h)
        assert seen == []
        lm.grad(h * 2, x)
        assert seen == ["pre", "post"]

    def test_see_none_for_inputs_without_a_gradient(self):
        x, seen = leaf(1.0), []
        y = x * lm.ones(1)
        y.grad_fn.register_hook(lambda gi, go: seen.append((gi[0].item(), gi[1], go[0].item())))
        y.backward()
        assert seen == [(1, None, 1)]

    def test_come_after_the_tensors_whatever_the_order_of_registration(self):
        x, seen = leaf(1.0), []
        h = x * 2
        h.grad_fn.register_prehook(lambda go: seen.append("node"))
        h.register_hook(lambda g: seen.append("tensor"))
        h.backward()
        assert seen == ["tensor", "node"]
