"""Nothing leaks: every way in which a layer may keep something, in every way of using its result.

Each test spells one combination. What is watched is the call's context, something that only the context holds, the
layer's input and its result, and the bytes that tensors and nodes take.
"""

import functools
import gc
import weakref

import pytest

import lamella as lm
from support.memory import Marker, without_collector
from support.tensors import vec
from support.threads import run_on_threads

# What forward keeps. `y` is the layer's result.
# ----------------------------------------------------------------------------------------------------------------------


def nothing(ctx, x, y):
    pass


def saved_input(ctx, x, y):
    ctx.save_for_backward(x)


def saved_output(ctx, x, y):
    ctx.save_for_backward(y)


def saved_output_twice(ctx, x, y):
    ctx.save_for_backward(y, None, y, x)


def saved_view_of_output(ctx, x, y):
    ctx.save_for_backward(y[:], y.reshape((2, 1)))


def saved_detached_output(ctx, x, y):
    ctx.save_for_backward(y.detach())


def saved_intermediate(ctx, x, y):
    ctx.save_for_backward(x * 3)


def attribute_input(ctx, x, y):
    ctx.x = x


def attribute_output(ctx, x, y):
    ctx.y = y


def attribute_view_of_output(ctx, x, y):
    ctx.y = y[:]


def attribute_and_saved(ctx, x, y):
    ctx.y = y
    ctx.save_for_backward(y, x)


def closure(ctx, x, y):
    ctx.f = lambda: (x, y)


def partial(ctx, x, y):
    ctx.f = functools.partial(lm.multiply, y)


def bound_method(ctx, x, y):
    ctx.f = y.sum


def nested_containers(ctx, x, y):
    ctx.all = [y, (x, {"y": [y, y[:1]]})]


def generator(ctx, x, y):
    ctx.values = (v * 2 for v in [x, y])
    next(ctx.values)


def array(ctx, x, y):
    ctx.array = y.numpy()


def object_with_output(ctx, x, y):
    ctx.object = Marker()
    ctx.object.y = y


def context_itself(ctx, x, y):
    ctx.me = ctx


def closure_over_context(ctx, x, y):
    ctx.f = lambda: (ctx, y)


def list_that_holds_itself(ctx, x, y):
    ctx.all = [y]
    ctx.all.append(ctx.all)


KEPT = [
    nothing,
    saved_input,
    saved_output,
    saved_output_twice,
    saved_view_of_output,
    saved_detached_output,
    saved_intermediate,
    attribute_input,
    attribute_output,
    attribute_view_of_output,
    attribute_and_saved,
    closure,
    partial,
    bound_method,
    nested_containers,
    generator,
    array,
    object_with_output,
]
#: Cycles among Python objects: the collector's.
KEPT_IN_CYCLES = [context_itself, closure_over_context, list_that_holds_itself]


class Call:
    """One call of a layer that keeps something, and weak references to what must die."""

    def __init__(self, kept):
        self.alive = []
        self.fails = None
        call = self

        class Layer(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                y = x * x
                ctx.marker = Marker()
                call.watch(ctx, ctx.marker)
                kept(ctx, x, y)
                if call.fails == "forward":
                    raise ArithmeticError("on purpose")
                return y

            @staticmethod
            def backward(ctx, dy):
                for saved in ctx.saved_tensors:
                    if saved is not None and saved.shape == dy.shape:
                        dy = dy * saved
                if hasattr(ctx, "y"):
                    dy = dy * ctx.y
                if call.fails == "backward":
                    raise ArithmeticError("on purpose")
                return dy

        self.apply = Layer.apply
        self.watch(Layer)

    def watch(self, *objects):
        self.alive.extend(weakref.ref(found) for found in objects)

    def __call__(self):
        x = vec(1.0, 2.0, grad=True)
        y = self.apply(x * 1)
        self.watch(x, y)
        return x, y


# What is done with the result
# ----------------------------------------------------------------------------------------------------------------------


def only_called(call):
    call()


def unrecorded(call):
    with lm.no_grad():
        call()


def backward(call):
    _, y = call()
    y.sum().backward()


def backward_twice(call):
    _, y = call()
    loss = y.sum()
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)


def gradient(call):
    x, y = call()
    lm.grad(y.sum(), [x, y], retain_graph=True)


def gradient_with_graph(call):
    x, y = call()
    g = lm.grad(y.sum(), x, create_graph=True)
    call.watch(g)
    g.sum()


def backward_with_graph(call):
    x, y = call()
    y.sum().backward(create_graph=True)
    x.clear_grad()  # a recorded gradient leads back to its leaf


def called_on_its_result(call):
    _, y = call()
    call.watch(y, z := call.apply(y))
    z.sum().backward()


def expect_failure(run):
    # Not pytest.raises, which keeps the traceback, and all that its frames hold.
    try:
        run()
    except ArithmeticError:
        return
    raise AssertionError("no exception came out")


def fails_in_forward(call):
    call.fails = "forward"
    expect_failure(call)


def fails_in_backward(call):
    call.fails = "backward"
    _, y = call()
    loss = y.sum()
    for _ in range(2):
        expect_failure(lambda: loss.backward(retain_graph=True))


def hook_on_the_result(call):
    _, y = call()
    marker = Marker()
    call.watch(marker)
    y.register_hook(lambda g, marker=marker: g * 1)
    y.sum().backward()


def hook_on_the_leaf(call):
    x, y = call()
    marker = Marker()
    call.watch(marker)
    x.register_hook(lambda g, marker=marker: None)
    y.sum().backward()


def removed_hook(call):
    x, y = call()
    marker = Marker()
    call.watch(marker)
    handles = [t.register_hook(lambda g, marker=marker, t=t: None) for t in (x, y)]
    y.sum().backward()
    for handle in handles:
        handle.remove()


def hook_that_fails(call):
    x, y = call()

    def hook(g):
        raise ArithmeticError("on purpose")

    call.watch(hook)
    x.register_hook(hook)
    expect_failure(lambda: y.sum().backward())


def node_outlives_the_result(call):
    _, y = call()
    node = y.grad_fn
    del y
    assert node.next_functions


def shared_with_another_graph(call):
    _, y = call()
    a, b = y * 2, y * 3
    del y
    a.sum().backward(retain_graph=True)
    del a
    b.sum().backward()


def written_in_place(call):
    _, y = call()
    z = y * 1
    z[:1].mul_(2)
    z.add_(y)
    z.sum().backward(retain_graph=True)


def backward_on_another_thread(call):
    _, y = call()
    run_on_threads(y.sum().backward)


def freed_on_another_thread(call):
    x, y = call()
    results = [x, y]
    del x, y
    run_on_threads(results.clear)


def everything_on_another_thread(call):
    run_on_threads(lambda: backward_twice(call))


def nested_pass(call):
    outer = Call(nothing)

    class Outer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            with lm.enable_grad():
                call()[1].sum().backward()
            return dy

    outer.watch(Outer)
    x = vec(1.0, 2.0, grad=True)
    Outer.apply(x).sum().backward()
    call.watch(x)


def hook_that_holds_the_result(call):
    _, y = call()
    y.register_hook(lambda g, y=y: None)
    y.sum().backward(retain_graph=True)


def hook_that_holds_the_leaf(call):
    x, y = call()
    x.register_hook(lambda g, x=x: None)
    y.sum().backward()


USES = [
    only_called,
    unrecorded,
    backward,
    backward_twice,
    gradient,
    gradient_with_graph,
    backward_with_graph,
    called_on_its_result,
    fails_in_forward,
    fails_in_backward,
    hook_on_the_result,
    hook_on_the_leaf,
    removed_hook,
    hook_that_fails,
    node_outlives_the_result,
    shared_with_another_graph,
    written_in_place,
    backward_on_another_thread,
    freed_on_another_thread,
    everything_on_another_thread,
    nested_pass,
]
USES_IN_CYCLES = [hook_that_holds_the_result, hook_that_holds_the_leaf]


def still_alive(call):
    # A class is always part of a cycle, with its own method resolution order.
    return [found for found in (ref() for ref in call.alive) if found is not None and not isinstance(found, type)]


@pytest.fixture(autouse=True, scope="module")
def quick_collections():
    """The collector looks at what is made from here on only."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def collect():
    # The collector sees the objects of a node that nobody else owns; one behind another in a graph comes next time.
    for _ in range(4):
        gc.collect()


@pytest.mark.parametrize("use", USES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kept", KEPT, ids=lambda f: f.__name__)
def test_freed_at_once(kept, use):
    use(Call(kept))  # what is made once, for the class and for the thread
    with without_collector():
        before = lm.memory_allocated()
        call = Call(kept)
        use(call)
        assert not still_alive(call)
        assert lm.memory_allocated() == before
        del call.apply
        collect()
        assert not any(ref() for ref in call.alive), "the class"


@pytest.mark.parametrize(
    ("kept", "use", "closed"),
    [
        pytest.param(kept, use, closed, id=f"{kept.__name__}-{use.__name__}" + "-closed" * closed)
        for kept in KEPT + KEPT_IN_CYCLES
        for use in USES + USES_IN_CYCLES
        for closed in (False, True)
        if kept in KEPT_IN_CYCLES or use in USES_IN_CYCLES or (closed and kept in (saved_output, closure, array))
    ],
)
def test_freed_by_the_collector(kept, use, closed):
    def run():
        call = Call(kept)
        if closed:
            close_a_cycle(call)
        use(call)
        del call.apply
        return call

    run()
    collect()
    with without_collector():
        before = lm.memory_allocated()
        call = run()
        collect()
        assert not any(ref() for ref in call.alive)
        assert lm.memory_allocated() == before


def close_a_cycle(call):
    """Each result is held by a hook of its own: a cycle through the tape."""
    apply = call.apply

    def apply_and_hook(x):
        y = apply(x)
        if not y.stop_gradient:
            y.register_hook(lambda g, y=y: None)
        return y

    call.apply = apply_and_hook


def test_memory_does_not_grow():
    def run(times):
        for _ in range(times):
            for use in (backward, gradient_with_graph, fails_in_backward, hook_on_the_result, nested_pass):
                for kept in (saved_output, closure, nested_containers):
                    use(Call(kept))
        gc.collect()
        return lm.memory_allocated()

    before = run(3)
    assert run(30) == before
