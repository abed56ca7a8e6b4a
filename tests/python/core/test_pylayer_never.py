"""What must never happen with custom layers: crashes, silent wrong gradients, leaks, locked or half-run passes."""

import dataclasses
import gc
import os
import re
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import lamella as lm
from support.layers import layer
from support.memory import Marker, without_collector
from support.tensors import leaf
from support.threads import run_on_threads


def save_output(ctx, x):
    y = lm.tanh(x)
    ctx.save_for_backward(y)
    return y


def tanh_backward(ctx, dy):
    (y,) = ctx.saved_tensor()
    return dy * (1 - y * y)


Tanh = layer(save_output, tanh_backward)


# 1: a second backward with retain_graph


def test_backward_twice():
    x = leaf(0.5, -1.0)
    y = Tanh.apply(x).sum()
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    x.clear_grad()
    y.backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.numpy(), first)
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


# 2: a saved tensor that was overwritten


def test_an_overwritten_saved_tensor_is_found():
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    x, w = leaf(1.0), lm.asarray([2.0])
    y = layer(forward, lambda ctx, dy: (dy * ctx.saved_tensor()[1], None)).apply(x, w)
    w.add_(1)
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    message = str(caught.value)
    assert message.startswith("[Layer]") and "saved tensor 1" in message and "add_" in message
    assert len(re.findall(r"test_pylayer_never\.py:\d+", message)) == 2
    assert x.grad is None


def test_a_saved_output_that_was_overwritten_is_found():
    y = Tanh.apply(leaf(1.0) * 1)
    z = y * 1
    with lm.no_grad():
        y.fill_(0)
    with pytest.raises(RuntimeError, match="overwritten by fill_"):
        z.backward()


# 3: no leaks


def output_attribute(ctx, x):
    ctx.y = lm.tanh(x)
    return ctx.y


def output_view(ctx, x):
    y = lm.tanh(x)
    ctx.save_for_backward(y[:1], y.T)
    return y


def output_closure(ctx, x):
    y = lm.tanh(x)
    ctx.f = lambda: y
    return y


def output_list(ctx, x):
    ctx.all = [lm.tanh(x), lm.exp(x)]
    return tuple(ctx.all)


def output_array(ctx, x):
    y = lm.tanh(x)
    ctx.array = y.numpy()
    return y


def context_itself(ctx, x):
    ctx.me = ctx
    return lm.tanh(x)


@pytest.mark.parametrize(
    "forward", [save_output, output_attribute, output_view, output_closure, output_list, output_array, context_itself]
)
@pytest.mark.parametrize("backward", [True, False])
def test_everything_is_freed(forward, backward):
    markers = []

    def marked(ctx, x):
        ctx.marker = Marker()
        markers.append(weakref.ref(ctx.marker))
        return forward(ctx, x)

    x = leaf(0.5, 1.0)
    y = layer(marked, lambda ctx, *dys: dys[0]).apply(x)
    y = y[0] if isinstance(y, tuple) else y
    if backward:
        y.sum().backward(retain_graph=True)
    assert markers[0]() is not None
    with without_collector():
        del y
        if forward is context_itself:
            assert markers[0]() is not None  # a cycle: the collector's
            gc.collect()
        assert markers[0]() is None


def test_a_context_that_holds_a_result_is_collected():
    def forward(ctx, x):
        ctx.holder = []
        holders.append(ctx.holder)
        return x * 2

    holders = []
    marker = Marker()
    ref = weakref.ref(marker)
    y = layer(forward).apply(leaf(1.0))
    holders[0].extend([y, marker])
    del y, marker, holders[:]
    gc.collect()
    assert ref() is None


def test_hooks_that_hold_their_tensor_are_collected():
    for make in (lambda: leaf(1.0), lambda: leaf(1.0) * 2):
        x, marker = make(), Marker()
        ref = weakref.ref(marker)
        x.register_hook(lambda g, x=x, marker=marker: None)
        del x, marker
        gc.collect()
        assert ref() is None


def test_the_collector_leaves_a_live_context_alone():
    def forward(ctx, x):
        ctx.numbers = [1, 2, 3]
        ctx.loop = ctx
        return x * 2

    def backward(ctx, dy):
        assert ctx.numbers == [1, 2, 3]
        return dy * 2

    x = leaf(1.0)
    z = layer(forward, backward).apply(x) * 3
    gc.collect()
    z = z + 1
    gc.collect()
    z.backward()
    assert x.grad.item() == 6


def test_memory_stays_the_same():
    x = lm.tensor(np.ones((100, 100), np.float32), stop_gradient=False)

    def run(times, backward):
        for _ in range(times):
            y = Tanh.apply(x)
            if backward:
                y.sum().backward()
                x.clear_grad()
        del y
        gc.collect()
        return lm.memory_allocated()

    for backward in (True, False):
        before = run(10, backward)
        assert run(1000, backward) == before


# 4: double backward through what forward computed


def test_double_backward_from_saved_inputs_and_outputs():
    x = leaf(0.3, -0.7, dtype="float64")
    y = Tanh.apply(x)
    (g,) = lm.grad(y, [x], lm.ones(2, dtype="float64"), create_graph=True)
    (h,) = lm.grad(g, [x], lm.ones(2, dtype="float64"))
    t = np.tanh([0.3, -0.7])
    np.testing.assert_allclose(h.numpy(), -2 * t * (1 - t * t), rtol=1e-12)


def intermediate_saved(ctx, x):
    e = lm.exp(x)
    ctx.save_for_backward(e)
    return e * 2


def intermediate_attribute(ctx, x):
    ctx.e = lm.exp(x)
    return ctx.e * 2


def intermediate_through_numpy(ctx, x):
    ctx.e = lm.asarray(np.exp(x.numpy()))
    return ctx.e * 2


def intermediate_through_a_list(ctx, x):
    ctx.e = lm.asarray([float(np.exp(v)) for v in x.tolist()])
    return ctx.e * 2


def intermediate_by_assignment(ctx, x):
    ctx.e = lm.zeros(1)
    ctx.e[:] = lm.exp(x)
    return ctx.e * 2


def intermediate_by_masked_fill(ctx, x):
    ctx.e = lm.zeros(1)
    ctx.e.masked_fill_(lm.asarray([True]), lm.exp(x).reshape([]))
    return ctx.e * 2


@pytest.mark.parametrize(
    "forward",
    [
        intermediate_saved,
        intermediate_attribute,
        intermediate_through_numpy,
        intermediate_through_a_list,
        intermediate_by_assignment,
        intermediate_by_masked_fill,
    ],
)
def test_double_backward_through_an_intermediate_is_an_error(forward):
    def backward(ctx, dy):
        e = ctx.e if hasattr(ctx, "e") else ctx.saved_tensor()[0]
        return dy * 2 * e

    x = leaf(0.5)
    y = layer(forward, backward).apply(x)
    g = lm.grad(y, x, create_graph=True)
    assert g.item() == pytest.approx(2 * np.exp(0.5))
    with pytest.raises(RuntimeError, match=r"once_differentiable|Save inputs or outputs"):
        lm.grad(g, x)


def test_masks_and_constants_do_not_count_as_intermediates():
    def forward(ctx, x):
        ctx.mask = x > 0
        ctx.constant = lm.asarray([3.0])
        ctx.save_for_backward(x)
        return lm.where(ctx.mask, x * x, 0.0)

    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return lm.where(ctx.mask, 2 * x, 0.0) * dy * ctx.constant / 3.0

    x = leaf(2.0)
    g = lm.grad(layer(forward, backward).apply(x), x, create_graph=True)
    assert lm.grad(g, x).item() == 2


# 5: backward functions that do what they like


def test_backward_may_call_backward():
    w = leaf(3.0)

    def backward(ctx, dy):
        with lm.enable_grad():
            x = ctx.saved_tensor()[0].detach()
            x.stop_gradient = False
            inner = Tanh.apply(x) * w
            inner.backward()
        return x.grad * dy

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return lm.tanh(x) * 3

    x = leaf(0.5)
    layer(forward, backward).apply(x).backward()
    expected = 3 * (1 - np.tanh(0.5) ** 2)
    assert x.grad.item() == pytest.approx(expected)
    assert w.grad.item() == pytest.approx(np.tanh(0.5))


def test_deeply_nested_passes():
    def backward(ctx, dy):
        if ctx.depth:
            inner = leaf(1.0)
            with lm.enable_grad():
                Nested.apply(inner, ctx.depth - 1).backward()
            return inner.grad + dy, None
        return dy, None

    def forward(ctx, x, depth):
        ctx.depth = depth
        return x * 1

    Nested = layer(forward, backward)
    x = leaf(1.0)
    Nested.apply(x, 120).backward()
    assert x.grad.item() == 121


def test_backward_may_start_threads():
    results = []

    def backward(ctx, dy):
        def work():
            x = leaf(2.0)
            (x * x).backward()
            results.append(x.grad.item())

        run_on_threads(*[work] * 4)
        return dy

    x = leaf(1.0)
    layer(lambda ctx, x: x * 1, backward).apply(x).backward()
    assert results == [4] * 4 and x.grad.item() == 1


def test_backward_may_fork():
    script = """
        import os
        import lamella as lm

        class Layer(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, dy):
                child = os.fork()
                if child == 0:
                    with lm.enable_grad():
                        y = lm.tensor([3.0], stop_gradient=False)
                        (y * y).sum().backward()
                    os._exit(0 if y.grad.item() == 6 else 1)
                assert os.waitpid(child, 0)[1] == 0
                return dy

        x = lm.tensor([1.0], stop_gradient=False)
        Layer.apply(x).backward()
        assert x.grad.item() == 1
        print("fine")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, env=os.environ
    )
    assert done.stdout == "fine\n", done.stderr


def test_backward_runs_on_the_callers_thread():
    seen = []

    def backward(ctx, dy):
        seen.append(threading.get_ident())
        return dy

    layer(lambda ctx, x: x * 1, backward).apply(leaf(1.0)).backward()
    assert seen == [threading.get_ident()]


# 6: passes on other threads, and several at once


def test_backward_on_another_thread():
    x = leaf(0.5)
    y = Tanh.apply(x)
    run_on_threads(y.backward)
    assert x.grad.item() == pytest.approx(1 - np.tanh(0.5) ** 2)


def test_concurrent_passes_over_shared_parts():
    x = lm.tensor(np.ones(64, np.float64), stop_gradient=False)
    shared = layer(lambda ctx, x: x * 2, lambda ctx, dy: dy * 2).apply(x)
    passes, threads = 50, 4

    def work():
        for _ in range(passes):
            (Tanh.apply(shared) * 0 + shared * 3).sum().backward(retain_graph=True)

    run_on_threads(*[work] * threads)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(64, 6.0 * passes * threads))


def test_a_long_chain_of_layers():
    Twice = layer(lambda ctx, x: x * 1, lambda ctx, dy: dy)
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = Twice.apply(y)
    y.backward()
    assert x.grad.item() == 1
    z = x
    for _ in range(50_000):
        z = Twice.apply(z)
    del z


def test_a_tensor_found_again_while_its_object_is_taken_down():
    class Sub(lm.Tensor):
        pass

    class Attribute:
        def __del__(self):
            y.backward()

    found = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, dy):
        found.extend(ctx.saved_tensor())
        return dy * 2

    x = Sub([3.0], stop_gradient=False)
    y = layer(forward, backward).apply(x)
    x.attribute = Attribute()
    del x
    assert found[0].item() == 3 and found[0].grad.item() == 2


def test_python_ends_with_graphs_and_contexts_around():
    script = """
        import threading
        import numpy as np
        import lamella as lm

        class Layer(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                contexts.append(ctx)
                return x * 1

            @staticmethod
            def backward(ctx, dy):
                return dy

        class Late:
            def __del__(self):
                y.backward()

        contexts = []
        x = lm.asarray(np.ones(1000))
        x.stop_gradient = False
        x.register_hook(lambda g: None)
        y = Layer.apply(x).sum()
        contexts[0].late = Late()
        array = lm.ones(1000).numpy()
        threading.Thread(target=lambda: y.backward(retain_graph=True)).start()
        print("fine")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "fine\n", done.stderr


# 7: results that are not what they seem


def with_property(compute):
    """A dataclass whose field is computed by a property at each look."""

    @dataclasses.dataclass
    class Result:
        y: object

    result = Result.__new__(Result)
    Result.y = property(compute)
    return result


def test_a_result_made_by_a_property_does_not_crash():
    x = leaf(1.0)
    Layer = layer(lambda ctx, x: with_property(lambda self: x * 2))
    for stop_gradient in (False, True):
        x.stop_gradient = stop_gradient
        with pytest.raises(AttributeError):  # the new tensor cannot be put in its place
            Layer.apply(x)


def test_a_result_that_grows_while_it_is_looked_at_does_not_crash():
    def grow(self):
        tensors.append(lm.ones(1))
        return list(tensors)

    tensors = []
    with pytest.raises((RuntimeError, AttributeError)):
        layer(lambda ctx, x: with_property(grow)).apply(leaf(1.0))


def test_an_argument_that_a_property_takes_apart_does_not_crash():
    def clear(self):
        arguments.clear()
        return 1

    arguments = []
    arguments.append([leaf(1.0), with_property(clear), leaf(2.0)])
    y = layer(lambda ctx, values: values[0] * 1 if values else lm.ones(1), lambda ctx, dy: None).apply(arguments)
    assert y.shape == (1,)
