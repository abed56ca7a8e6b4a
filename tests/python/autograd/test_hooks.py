"""Hooks of every kind, from Python."""

import pytest

import lamella as lm
from lamella.autograd import graph, register_multi_grad_hook
from support.tensors import leaf
from support.threads import run_on_threads


class Two(lm.PyLayer):
    """x and 2x; backward is told where a gradient is missing."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    @staticmethod
    def backward(ctx, a, b):
        if a is None:
            return b * 2
        return a if b is None else a + b * 2


def test_the_order():
    x, log = leaf(2.0), []

    class Logged(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, dy):
            log.append(("run", dy.item()))
            return dy * 3

    h = Logged.apply(x)
    x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p.grad.item())))
    h.grad_fn.register_hook(lambda gi, go: log.append(("post", gi[0].item(), go[0].item())))
    h.grad_fn.register_prehook(lambda go: (log.append(("pre", go[0].item(), h.grad.item())), (go[0] + 1,))[1])
    h.retain_grad()
    h.register_hook(lambda g: (log.append(("tensor", g.item(), h.grad)), g * 10)[1])
    x.register_hook(lambda g: log.append(("leaf", g.item())))
    h.backward(lm.asarray([5.0]))
    assert log == [
        ("tensor", 5, None),
        ("pre", 50, 50),
        ("run", 51),
        ("post", 153, 51),
        ("leaf", 153),
        ("accumulated", 153),
    ]


class TestPostAccumulate:
    def test_an_optimizer_in_the_pass(self):
        x, y = leaf(1.0, 2.0), leaf(3.0)

        def step(parameter):
            with lm.no_grad():
                parameter.sub_(parameter.grad * 0.5)
            parameter.grad = None

        handles = [p.register_post_accumulate_grad_hook(step) for p in (x, y)]
        ((x * x).sum() + (y * y).sum()).backward()
        assert x.tolist() == [0, 0] and y.tolist() == [0] and x.grad is None and y.grad is None
        for handle in handles:
            handle.remove()
        (x + 1).sum().backward()
        assert x.grad.tolist() == [1, 1]

    def test_once_in_a_pass_with_the_same_object(self):
        x, seen = leaf(1.0), []
        x.register_post_accumulate_grad_hook(seen.append)
        (x * 2 + x * 3).backward()
        assert len(seen) == 1 and seen[0] is x and x.grad.item() == 5
        lm.grad(x * 2, x)
        assert len(seen) == 1

    def test_wrong_use(self):
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="only leaves"):
            (x * 2).register_post_accumulate_grad_hook(print)
        with pytest.raises(RuntimeError, match="stop_gradient"):
            lm.ones(1).register_post_accumulate_grad_hook(print)
        with pytest.raises(TypeError, match="function"):
            x.register_post_accumulate_grad_hook(3)
        x.register_post_accumulate_grad_hook(lambda p: p)
        with pytest.raises(TypeError, match="returns None"):
            (x * 2).backward()
        assert x.grad.item() == 2


class TestNodeHooks:
    def test_replace_gradients(self):
        x = leaf(1.0)
        h = x * 2
        h.grad_fn.register_prehook(lambda go: [go[0] + 1])
        h.grad_fn.register_hook(lambda gi, go: (gi[0] * 10, *gi[1:]))
        (h * 3).backward()
        assert x.grad.item() == (3 + 1) * 2 * 10
        single = lm.exp(x * 0)
        single.grad_fn.register_prehook(lambda go: go[0] * 7)
        single.backward()
        assert x.grad.item() == 80

    def test_none_where_there_is_no_gradient(self):
        x, seen = leaf(1.0), []
        a, _ = Two.apply(x)
        a.grad_fn.register_prehook(lambda go: (seen.append(go[1]), (go[0], lm.asarray([10.0])))[1])
        a.grad_fn.register_hook(lambda gi, go: seen.append(len(gi)))
        a.backward()
        assert seen == [None, 1] and x.grad.item() == 21

    @pytest.mark.parametrize(
        ("result", "error"),
        [
            (3, TypeError),
            ((3,), TypeError),
            ("x", TypeError),
            ((), ValueError),
            ((lm.ones(3),), ValueError),
            ((lm.ones(1), lm.ones(1)), ValueError),
            ((lm.ones(1, dtype="complex64"),), TypeError),
        ],
    )
    def test_wrong_results(self, result, error):
        x = leaf(1.0)
        h = lm.exp(x)
        with h.grad_fn.register_prehook(lambda go: result), pytest.raises(error, match=r"\[Node\.register_prehook\]"):
            h.backward(retain_graph=True)
        with h.grad_fn.register_hook(lambda gi, go: result), pytest.raises(error, match=r"\[Node\.register_hook\]"):
            h.backward(retain_graph=True)
        h.backward()
        assert x.grad is not None

    def test_another_dtype_is_cast(self):
        x = leaf(1.0, 2.0)
        h = x * x
        h.register_hook(lambda g: (g * 3).astype("float64"))
        h.grad_fn.register_prehook(lambda go: (go[0].astype("int64"),))
        h.sum().backward()
        assert x.grad.tolist() == [6, 12] and x.grad.dtype == lm.float32

    def test_wrong_use(self):
        node = (leaf(1.0) * 2).grad_fn
        for register in (node.register_hook, node.register_prehook):
            with pytest.raises(TypeError, match="expected a function"):
                register(None)

    def test_may_remove_themselves_register_others_and_raise(self):
        x, log = leaf(1.0), []
        h = x * 2
        node = h.grad_fn

        def fails(go):
            raise KeyError("mine")

        def first(go):
            log.append("first")
            handle.remove()
            node.register_prehook(fails)

        handle = node.register_prehook(first)
        h.backward(retain_graph=True)
        with pytest.raises(KeyError, match="mine"):
            h.backward(retain_graph=True)
        assert log == ["first"] and x.grad.item() == 2

    def test_on_a_leafs_node(self):
        x, seen = leaf(1.0), []
        node = graph.get_gradient_edge(x).node
        assert node.name == "AccumulateGrad" and node.next_functions == ()
        node.register_hook(lambda gi, go: seen.append((gi, go[0].item())))
        (x * 5).backward()
        assert seen == [((), 5)]


class TestHandles:
    def test_are_context_managers(self):
        x, seen = leaf(1.0), []
        with x.register_hook(lambda g: seen.append("hook")) as handle:
            assert type(handle) is lm.autograd.HookHandle
            (x * 2).backward()
        (x * 2).backward()
        assert seen == ["hook"]
        with pytest.raises(KeyError), x.register_hook(lambda g: seen.append("hook")):
            raise KeyError
        (x * 2).backward()
        assert seen == ["hook"]

    def test_remove_from_within(self):
        x, seen = leaf(1.0), []

        def once(*arguments):
            seen.append(len(arguments))
            handle.remove()

        for register in (
            x.register_hook,
            x.register_post_accumulate_grad_hook,
            lambda hook: register_multi_grad_hook([x], hook),
        ):
            handle = register(once)
            (x * 2).backward()
            (x * 2).backward()
        assert seen == [1, 1, 1]


class TestRetainGrad:
    def test_keeps_and_adds_up(self):
        x = leaf(2.0)
        h = x * 3
        assert not h.retains_grad and h.grad is None
        h.retain_grad()
        assert h.retains_grad and h.retain_grad() is None
        (h * 5).backward(retain_graph=True)
        (h * 5).backward()
        assert h.grad.item() == 10 and x.grad.item() == 30
        assert not x.retains_grad and not x.retain_grad() and not x.retains_grad
        with pytest.raises(RuntimeError, match="stop_gradient"):
            lm.ones(1).retain_grad()

    def test_follows_writes_in_place(self):
        x = leaf(2.0)
        h = x * 3
        h.retain_grad()
        h.mul_(10)
        (h * 5).backward()
        assert h.grad.item() == 5 and x.grad.item() == 150

    def test_a_detached_tensor_is_a_leaf(self):
        x = leaf(2.0)
        h = x * 3
        h.retain_grad()
        (h * 5).backward()
        assert h.detach_() is h and h.is_leaf and h.stop_gradient and h.grad_fn is None and h.grad.item() == 5
        assert h.requires_grad_() is h and not h.retains_grad
        (h * 2).backward()
        assert h.grad.item() == 7
        with pytest.raises(RuntimeError, match=r"\[detach_\] a view"):
            (x * 1)[:1].detach_()


class TestMultiGradHooks:
    def test_all(self):
        x, y, unused, seen = leaf(2.0), leaf(3.0), leaf(4.0), []
        h = x * y
        handle = register_multi_grad_hook([x, unused, h, y], lambda grads: seen.append([g and g.item() for g in grads]))
        (h * 5).backward(retain_graph=True)
        assert seen == [[15, None, 5, 10]]
        (h + unused).backward(retain_graph=True)
        assert seen[1:] == [[3, 1, 1, 2]]
        handle.remove()
        h.backward()
        assert len(seen) == 2

    def test_any(self):
        x, y, seen = leaf(2.0), leaf(3.0), []
        h = x * y
        register_multi_grad_hook((x, h, y), lambda g: seen.append(g.item()), mode="any")
        (h * 5).backward(retain_graph=True)
        (h * 7).backward()
        assert seen == [5, 7]

    def test_a_gradient_that_is_none_after_all(self):
        class Nothing(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, dy):
                return None

        x, y, seen = leaf(2.0), leaf(3.0), []
        h = x * 1
        register_multi_grad_hook([h, y], lambda grads: seen.append([g and g.item() for g in grads]))
        (Nothing.apply(h) + y * 5).backward()
        assert seen == [[None, 5]]

    def test_wrong_use(self):
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="tensor 1 has stop_gradient"):
            register_multi_grad_hook([x, lm.ones(1)], print)
        with pytest.raises(ValueError, match="given before"):
            register_multi_grad_hook([x, x], print)
        with pytest.raises(ValueError, match="at least one"):
            register_multi_grad_hook([], print)
        with pytest.raises(ValueError, match="'all' or 'any', got 'both'"):
            register_multi_grad_hook([x], print, mode="both")
        for tensors, function in (([3], print), (x, print), ([x], None)):
            with pytest.raises(TypeError):
                register_multi_grad_hook(tensors, function)

    def test_exceptions_come_out(self):
        x = leaf(1.0)

        def fails(grads):
            raise KeyError("mine")

        with register_multi_grad_hook([x], fails), pytest.raises(KeyError, match="mine"):
            (x * 2).backward()
        (x * 2).backward()
        assert x.grad.item() == 2

    def test_passes_on_threads_run_it_once_each(self):
        x, y, seen = leaf(2.0), leaf(3.0), []
        h = x * y
        register_multi_grad_hook([x, y, h], lambda grads: seen.append([g.item() for g in grads]))

        def work():
            for _ in range(50):
                (h * 1).backward(retain_graph=True)

        run_on_threads(*[work] * 4)
        assert seen == [[3, 2, 1]] * 200


class TestTensorAttributes:
    def test_output_nr_and_versions(self):
        x = leaf(1.0)
        a, b = Two.apply(x)
        assert (a.output_nr, b.output_nr, x.output_nr) == (0, 1, 0)
        y = lm.ones(2)
        before = y.inplace_version
        y.add_(1)
        y[:1].fill_(0)
        assert y.inplace_version == y._version == before + 2

    def test_requires_grad(self):
        x = lm.ones(2)
        assert x.requires_grad_() is x and x.requires_grad
        assert x.requires_grad_(False).stop_gradient
        assert not x.requires_grad_(requires_grad=True).stop_gradient
        with pytest.raises(TypeError):
            x.requires_grad_(1)
        with pytest.raises(RuntimeError, match="floating"):
            lm.ones(2, dtype="int64").requires_grad_()
        with pytest.raises(RuntimeError, match="only a leaf"):
            (x * 2).requires_grad_(False)


def test_hooks_that_take_all_gradients_away():
    """Nothing runs where no gradient is left, also not the node of a leaf; the hooks behind it see none."""
    for at_leaf in (False, True):
        x = lm.ones([3])
        x.stop_gradient = False
        y = x * 2
        node = y.grad_fn.next_functions[0][0] if at_leaf else y.grad_fn
        seen = []
        node.register_prehook(lambda go: (None,))
        node.register_hook(lambda gi, go, seen=seen: seen.append((gi, go)))
        (y.exp().sum() + x.sum() if not at_leaf else y.exp().sum()).backward()
        assert x.grad is None if at_leaf else x.grad.tolist() == [1.0] * 3
        assert all(gradient is None for side in seen[0] for gradient in side)
