"""Hooks that hold what they hang on: the collector frees them, or there is no cycle to free."""

import gc
import weakref

import pytest

import lamella as lm
from lamella.autograd import graph, register_multi_grad_hook
from support.memory import Marker, allocated_after_collection, without_collector
from support.tensors import leaf


def on_leaf(x, keep):
    x.register_hook(lambda g: keep(x))


def on_result(x, keep):
    h = x * 2
    h.register_hook(lambda g: keep(h))


def on_accumulation(x, keep):
    x.register_post_accumulate_grad_hook(lambda p: keep(x))


def on_node_before(x, keep):
    h = x * 2
    h.grad_fn.register_prehook(lambda go: keep(h))


def on_node_after(x, keep):
    h = x * 2
    h.grad_fn.register_hook(lambda gi, go: keep(h))


def on_node_that_it_holds(x, keep):
    node = (x * 2).grad_fn
    node.register_hook(lambda gi, go: keep(node))


def on_leafs_node(x, keep):
    node = graph.get_gradient_edge(x).node
    node.register_prehook(lambda go: keep(node, x))


def on_several(x, keep):
    y = leaf(2.0)
    h = leaf(3.0) * 2
    register_multi_grad_hook([x, y, h], lambda grads: keep(x, y, h))


def on_several_by_way_of_one(x, keep):
    y = leaf(2.0)
    register_multi_grad_hook([x, y], lambda grad: keep(y), mode="any")


def with_a_handle(x, keep):
    handle = x.register_hook(lambda g: keep(x, handle))


CASES = [
    on_leaf,
    on_result,
    on_accumulation,
    on_node_before,
    on_node_after,
    on_node_that_it_holds,
    on_leafs_node,
    on_several,
    on_several_by_way_of_one,
    with_a_handle,
]


@pytest.mark.parametrize("register", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("used", [False, True], ids=["unused", "after a pass"])
def test_cycles_are_freed(register, used):
    def build():
        marker = Marker()
        x = leaf(1.0)
        register(x, lambda *objects: (marker, None)[1])
        if used:
            (x * 3).backward()
        return weakref.ref(marker)

    gc.collect()
    alive = build()
    for _ in range(3):
        gc.collect()
    assert alive() is None


def test_a_hook_on_several_lives_as_long_as_one_of_them():
    x, y, seen = leaf(1.0), leaf(2.0), []
    marker = Marker()
    alive = weakref.ref(marker)

    def hook(grads, held=marker, own=y):
        seen.append([g is not None for g in grads])

    register_multi_grad_hook([x, y], hook)
    del hook, marker
    # y is reachable through x's hook alone.
    del y
    gc.collect()
    assert alive() is not None
    (x * 2).backward()
    assert seen == [[True, False]]
    del x
    gc.collect()
    assert alive() is None


def test_what_is_reachable_elsewhere_is_left_alone():
    x, seen = leaf(1.0), []
    h = x * 2
    y = h * 3
    h.register_hook(lambda g, h=h: seen.append(h.size))
    h.grad_fn.register_prehook(lambda go: seen.append("pre"))
    h.grad_fn.register_hook(lambda gi, go: seen.append("post"))
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    del h
    for _ in range(3):
        gc.collect()
    y.backward()
    assert seen == [1, "pre", "post", "accumulated"]


def test_removed_hooks_are_freed_at_once():
    x = leaf(1.0)
    h = x * 2
    with without_collector():
        for register in (
            x.register_hook,
            x.register_post_accumulate_grad_hook,
            h.register_hook,
            h.grad_fn.register_hook,
            h.grad_fn.register_prehook,
            lambda hook: register_multi_grad_hook([x, h], hook),
        ):
            marker = Marker()
            alive = weakref.ref(marker)
            handle = register(lambda *arguments, held=marker: None)
            del marker
            assert alive() is not None
            handle.remove()
            assert alive() is None


def test_retained_gradients_with_a_graph_make_no_cycle():
    class HalfSquare(lm.PyLayer):
        """x * x / 2, whose recorded gradient leads to x's node and does not hold x."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * 0.5

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensors
            return dy * x

    def work():
        x = leaf(2.0)
        h = x * 3
        h.retain_grad()
        HalfSquare.apply(h).backward(create_graph=True)
        assert h.grad.item() == 6 and lm.grad(h.grad, x).item() == 3
        x.grad = None

    work()
    before = allocated_after_collection()
    for _ in range(20):
        work()
    assert allocated_after_collection() == before


def test_callbacks_are_dropped_with_a_failed_pass():
    class Fails(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            marker = Marker()
            alive.append(weakref.ref(marker))
            lm.autograd.queue_callback(lambda: marker)
            raise KeyError("mine")

    alive = []
    with pytest.raises(KeyError):
        Fails.apply(leaf(1.0)).backward()
    gc.collect()
    assert alive[0]() is None
