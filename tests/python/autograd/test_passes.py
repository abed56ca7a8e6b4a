"""What a backward pass is asked for, what happens at its end, and passes within and beside each other."""

import functools

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import backward, graph, queue_callback
from support.memory import allocated_after_collection
from support.tensors import leaf
from support.threads import run_on_threads


class Calls(lm.PyLayer):
    """x, which runs a function in its backward."""

    @staticmethod
    def forward(ctx, x, function):
        ctx.function = function
        return x * 1

    @staticmethod
    def backward(ctx, dy):
        ctx.function()
        return dy


class TestInputsOfBackward:
    def test_only_those_named(self):
        x, w = leaf(2.0), leaf(3.0)
        h = x * w
        y = h * h
        y.backward(inputs=[w], retain_graph=True)
        assert x.grad is None and w.grad.item() == 24
        y.backward(inputs=h, retain_graph=True)
        y.backward(inputs=(h, x, h))
        assert h.grad.item() == 24 and x.grad.item() == 36 and w.grad.item() == 24
        assert not h.retains_grad

    def test_the_function(self):
        x, w = leaf(2.0), leaf(3.0)
        backward([x * w, x * 5], [lm.asarray([10.0]), None], inputs=[x])
        assert x.grad.item() == 35 and w.grad is None
        backward(x * w, inputs=graph.get_gradient_edge(w))
        assert w.grad.item() == 2 and x.grad.item() == 35

    def test_hooks(self):
        x, w, log = leaf(2.0), leaf(3.0), []
        x.register_hook(lambda g: log.append("x"))
        w.register_hook(lambda g: log.append("w"))
        w.register_post_accumulate_grad_hook(lambda p: log.append("w accumulated"))
        h = x * w
        h.register_hook(lambda g: g * 10)
        h.backward(inputs=[w, h])
        assert log == ["w", "w accumulated"] and w.grad.item() == 20 and h.grad.item() == 10

    @pytest.mark.parametrize(
        ("inputs", "error"),
        [
            ([], ValueError),
            (3, TypeError),
            ([3], TypeError),
            ("x", TypeError),
            ([None], TypeError),
            ([lm.ones(1)], RuntimeError),
        ],
    )
    def test_wrong_ones(self, inputs, error):
        with pytest.raises(error, match=r"^\[backward\] "):
            (leaf(1.0) * 2).backward(inputs=inputs)

    def test_retain_graph_follows_create_graph(self):
        x = leaf(2.0)
        y = lm.exp(x)
        y.backward(create_graph=True)
        y.backward(create_graph=True, retain_graph=None)
        y.backward(retain_graph=None)
        with pytest.raises(RuntimeError, match="retain_graph=True"):
            y.backward()
        x.grad = None


class TestGrad:
    def test_unused_inputs(self):
        x, unused = leaf(2.0), leaf(1.0, 2.0)
        with pytest.raises(RuntimeError, match="allow_unused"):
            lm.grad(x * 2, [x, unused])
        assert lm.grad(x * 2, [x, unused], allow_unused=True)[1] is None
        for allow in (None, True):
            zeros = lm.grad(x * 2, [x, unused], allow_unused=allow, materialize_grads=True)[1]
            assert zeros.tolist() == [0, 0] and zeros.dtype == unused.dtype
        with pytest.raises(ValueError, match="allow_unused"):
            lm.grad(x * 2, [x, unused], allow_unused=False, materialize_grads=True)

    def test_zeros_have_derivatives(self):
        x, y = leaf(2.0), leaf(3.0)
        value = x * 2
        for _ in range(3):
            (value,) = lm.grad(value, [x], create_graph=True, materialize_grads=True, allow_unused=True)
            if value.stop_gradient:
                value = value + 0 * y
        assert value.item() == 0

    def test_repeated_inputs_and_outputs(self):
        x = leaf(2.0)
        h = x * 3
        assert [g.item() for g in lm.grad([h, h, x], [x, h, x, h])] == [7, 2, 7, 2]
        assert lm.grad(x, x).item() == 1
        assert lm.grad([x, x], [x, x], [lm.asarray([2.0]), None])[1].item() == 3

    def test_edges(self):
        x = leaf(2.0)
        h = x * 3
        y = lm.exp(h * 0) * h
        edge = graph.get_gradient_edge(h)
        assert edge.node == h.grad_fn and edge.output_nr == 0 and edge == (h.grad_fn, 0)
        del h
        assert lm.grad(y, edge, retain_graph=True).item() == 1
        assert [g.item() for g in lm.grad(y, [x, edge], retain_graph=True)] == [3, 1]
        with pytest.raises(ValueError, match="no grad to add to"):
            y.backward(inputs=[edge], retain_graph=True)
        for wrong in ((edge.node, -1), (edge.node, 7), (edge.node, "0"), (edge.node, 2**40)):
            with pytest.raises((TypeError, ValueError), match=r"^\[grad\]"):
                lm.grad(y, [wrong], retain_graph=True)
        with pytest.raises(ValueError, match="is an edge"):
            lm.grad(y, [graph.get_gradient_edge(leaf(1.0))], materialize_grads=True)
        with pytest.raises(RuntimeError, match="no place on the tape"):
            graph.get_gradient_edge(lm.ones(1))
        with pytest.raises(TypeError):
            graph.get_gradient_edge(3)

    def test_outputs_of_an_edge(self):
        class Two(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 1, x * 2

            @staticmethod
            def backward(ctx, a, b):
                return a + b * 2

        a, b = Two.apply(leaf(1.0))
        edges = [graph.get_gradient_edge(t) for t in (a, b)]
        assert [e.output_nr for e in edges] == [0, 1]
        assert [g.item() for g in lm.grad(a * 3 + b * 5, edges)] == [3, 5]


class TestCallbacks:
    def test_run_at_the_end_in_order(self):
        x, log = leaf(2.0), []
        x.register_hook(lambda g: log.append("leaf"))

        def queue():
            queue_callback(lambda: (log.append(x.grad.item()), queue_callback(lambda: log.append("last"))))
            queue_callback(lambda: log.append("second"))
            log.append("queued")

        Calls.apply(x, queue).backward()
        assert log == ["queued", "leaf", 1, "second", "last"]

    def test_from_hooks(self):
        x, log = leaf(2.0), []
        x.register_hook(lambda g: queue_callback(lambda: log.append("tensor")))
        x.register_post_accumulate_grad_hook(lambda p: queue_callback(lambda: log.append("accumulated")))
        lm.grad(x * 2, x)
        assert log == ["tensor"]
        (x * 2).backward()
        assert log == ["tensor", "tensor", "accumulated"]

    def test_a_pass_within_has_its_own(self):
        x, log = leaf(2.0), []

        def outer():
            queue_callback(lambda: log.append("outer"))
            with lm.enable_grad():
                y = Calls.apply(leaf(1.0), lambda: queue_callback(lambda: log.append("inner")))
            y.backward()
            log.append("between")

        Calls.apply(x, outer).backward()
        assert log == ["inner", "between", "outer"]

    def test_a_failure_drops_them(self):
        x, log = leaf(2.0), []

        def fails():
            raise KeyError("mine")

        y = Calls.apply(Calls.apply(x, fails), lambda: queue_callback(lambda: log.append("dropped")))
        with pytest.raises(KeyError):
            y.backward()

        def queue():
            queue_callback(fails)
            queue_callback(lambda: log.append("dropped"))

        with pytest.raises(KeyError):
            Calls.apply(x, queue).backward()
        (x * 1).backward()
        assert log == []

    def test_run_in_the_modes_of_the_caller(self):
        x, w, modes = leaf(2.0), leaf(1.0), []

        def work():
            modes.append(lm.is_grad_enabled())
            if modes[-1]:
                (w * 5).backward()

        y = Calls.apply(x, lambda: queue_callback(work))
        y.backward(retain_graph=True)
        with lm.no_grad():
            y.backward()
        assert modes == [True, False] and w.grad.item() == 5

    def test_wrong_use(self):
        with pytest.raises(RuntimeError, match="no backward pass"):
            queue_callback(lambda: None)
        with pytest.raises(TypeError):
            queue_callback(3)


class Nested(lm.PyLayer):
    """x, whose backward runs a pass one level deeper; the deepest one may raise."""

    @staticmethod
    def forward(ctx, x, levels, fails, reached):
        ctx.levels, ctx.fails, ctx.reached = levels, fails, reached
        return x * 1

    @staticmethod
    def backward(ctx, dy):
        ctx.reached.append(ctx.levels)
        if ctx.levels:
            with lm.enable_grad():
                x = leaf(1.0)
                Nested.apply(x, ctx.levels - 1, ctx.fails, ctx.reached).backward()
            return dy * x.grad
        if ctx.fails:
            raise KeyError("from the depth")
        return dy * 3


class TestReentrant:
    LEVELS = 3000

    def test_thousands_of_levels(self):
        x, reached = leaf(1.0), []
        Nested.apply(x, self.LEVELS, False, reached).backward()
        assert x.grad.item() == 3 and reached == list(range(self.LEVELS, -1, -1))

    def test_an_exception_from_the_depth(self):
        x, reached = leaf(1.0), []
        y = Nested.apply(x, self.LEVELS, True, reached)
        with pytest.raises(KeyError, match="from the depth"):
            y.backward(retain_graph=True)
        assert x.grad is None and len(reached) == self.LEVELS + 1
        assert lm.is_grad_enabled()
        y = Nested.apply(x, 5, False, reached)
        y.backward()
        assert x.grad.item() == 3

    def test_on_the_same_graph(self):
        x, rounds = leaf(2.0), []

        def again():
            if len(rounds) < 3:
                rounds.append(1)
                y.backward(retain_graph=True)

        h = x * 3
        y = Calls.apply(h, again) * 5 + h
        y.backward(retain_graph=True)
        assert len(rounds) == 3 and x.grad.item() == 4 * 18


class TestBesideEachOther:
    def run(self, work):
        run_on_threads(*[functools.partial(work, i) for i in range(8)])

    def test_sums_on_shared_graphs_are_exact(self):
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        h = Calls.apply(x * w, lambda: None)
        h.retain_grad()
        branches = [h * float(i + 1) for i in range(8)]

        def work(i):
            for _ in range(40):
                branches[i].sum().backward(retain_graph=True)

        self.run(work)
        total = 40 * 36
        assert h.grad.tolist() == [total] * 2
        assert x.grad.tolist() == [3 * total, 4 * total] and w.grad.tolist() == [total, 2 * total]

    def test_grad_of_each_is_its_own(self):
        x = leaf(3.0)
        y = lm.exp(x * 0) * x * x

        def work(i):
            for _ in range(40):
                (g,) = lm.grad(y * float(i + 1), [x], retain_graph=True)
                assert g.item() == 6 * (i + 1)

        self.run(work)
        assert x.grad is None

    def test_failing_ones_disturb_nobody(self):
        x = leaf(1.0)
        h = x * 2

        def fails():
            raise KeyError("mine")

        def work(i):
            for _ in range(40):
                if i % 2:
                    with pytest.raises(KeyError):
                        Calls.apply(h, fails).backward(retain_graph=True)
                else:
                    (h * 1).backward(retain_graph=True)

        self.run(work)
        assert x.grad.item() == 2 * 40 * 4


def test_a_failed_pass_drops_what_waits():
    def work():
        x, failing = leaf(*[1.0] * 1000), [True]

        def fails():
            if failing:
                raise KeyError("mine")

        h = x * 2
        loss = Calls.apply(h, fails).sum() + (h * 3).sum() + (x * 4).sum()
        for _ in range(3):
            with pytest.raises(KeyError):
                loss.backward(retain_graph=True)
        x.grad = None
        failing.clear()
        loss.backward()
        assert x.grad.tolist() == [12] * 1000

    work()
    before = allocated_after_collection()
    for _ in range(5):
        work()
    assert allocated_after_collection() == before


def test_a_chain_of_a_million_with_hooks():
    x, seen = leaf(1.0), []
    y = x
    for i in range(1_000_000):
        y = y + 1
        if i % 100_000 == 0:
            y.register_hook(lambda g: seen.append(g.item()))
    y.backward()
    assert x.grad.item() == 1 and seen == [1] * 10


def test_higher_derivatives_in_any_order():
    x = leaf(2.0)
    y = x**5
    values = []
    for _ in range(5):
        (y,) = lm.grad(y, [x], create_graph=True)
        values.append(y.item())
    np.testing.assert_allclose(values, [80, 160, 240, 240, 120], rtol=1e-6)

    x, w = leaf(2.0), leaf(3.0)
    f = x**3 * w**2
    (dx,) = lm.grad(f, [x], create_graph=True)
    (dw,) = lm.grad(f, [w], create_graph=True)
    (dxdw,) = lm.grad(dx, [w], create_graph=True)
    (dwdx,) = lm.grad(dw, [x], create_graph=True)
    assert dxdw.item() == pytest.approx(72) and dwdx.item() == pytest.approx(72)
    for mixed in (dxdw, dwdx):
        assert lm.grad(mixed, x).item() == pytest.approx(72)
    z = leaf(2.0)
    (z**4).sum().backward(create_graph=True)
    first = z.grad
    z.grad = None
    first.sum().backward(create_graph=True)
    second = z.grad
    z.grad = None
    second.sum().backward()
    assert first.item() == pytest.approx(32) and second.item() == pytest.approx(48)
    assert z.grad.item() == pytest.approx(48)
    z.grad = None
