"""backward, grad and hooks from Python."""

import gc
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import lamella as lm
from support.memory import Marker
from support.tensors import leaf
from support.threads import run_on_threads


def test_backward_adds_up():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 8] and x.grad.stop_gradient


def test_backward_from_a_tensor_with_several_elements():
    x = leaf(1.0, 2.0)
    y = x * 3
    with pytest.raises(RuntimeError, match=r"\[backward\] a gradient must be given"):
        y.backward()
    y.backward(lm.asarray([1.0, 10.0]))
    assert x.grad.tolist() == [3, 30]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("x",), TypeError),
        ((np.ones(2),), TypeError),
        ((lm.ones(3),), ValueError),
        ((None, 1), TypeError),
        ((None, False, False, 1), TypeError),
    ],
)
def test_wrong_arguments_of_backward(arguments, error):
    with pytest.raises(error, match=r"^\[backward\]"):
        (leaf(1.0, 2.0) * 2).backward(*arguments)


def test_backward_off_the_tape():
    with pytest.raises(RuntimeError, match="nothing to differentiate"):
        lm.ones(1).backward()


def test_several_tensors_at_once():
    x = leaf(1.0)
    lm.autograd.backward([x * 2, x * 3])
    assert x.grad.item() == 5
    lm.autograd.backward([x * 2, x * 3], [lm.asarray([10.0]), None])
    assert x.grad.item() == 28
    lm.autograd.backward(x * 2, lm.asarray([1.0]), retain_graph=True)
    with pytest.raises(ValueError, match="1 gradients"):
        lm.autograd.backward([x * 2, x * 3], [None])
    with pytest.raises(TypeError, match="tensors"):
        lm.autograd.backward([x * 2, 3])


def test_grad():
    x, y = leaf(2.0), leaf(3.0)
    z = x * x * y
    g = lm.grad(z, [x, y], retain_graph=True)
    assert isinstance(g, tuple) and [v.item() for v in g] == [12, 4] and x.grad is None
    assert lm.grad(z, x, grad_outputs=lm.asarray([2.0]), retain_graph=True).item() == 24
    assert lm.grad([z, x * 5], (x,))[0].item() == 17
    (first,) = lm.grad(x * x * x, [x], create_graph=True)
    (second,) = lm.grad(first, [x], create_graph=True)
    assert first.item() == 12 and second.item() == 12 and lm.grad(second, x).item() == 6


def test_unused_inputs():
    x, y = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError, match="allow_unused"):
        lm.grad(x * 2, [x, y])
    assert lm.grad(x * 2, [x, y], allow_unused=True)[1] is None
    with pytest.raises(RuntimeError, match="stop_gradient"):
        lm.grad(x * 2, lm.ones(1))
    for wrong in ([3], 3, None, "x"):
        with pytest.raises(TypeError, match=r"^\[grad\] inputs"):
            lm.grad(x * 2, wrong)


def test_the_graph_is_freed():
    x = leaf(2.0)
    y = lm.exp(x)
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_nodes():
    x = leaf(1.0)
    y = (x + x) * 2
    assert y.grad_fn.name == "multiply" and repr(y.grad_fn) == "<multiply node>"
    (node, number), *_ = y.grad_fn.next_functions
    assert node.name == "add" and number == 0
    assert [n.name for n, _ in node.next_functions] == ["AccumulateGrad"] * 2 and x.grad_fn is None
    with pytest.raises(TypeError):
        type(y.grad_fn)()
    with pytest.raises(AttributeError):
        y.grad_fn.name = "other"


class TestHooks:
    def test_on_leaves_and_results(self):
        x, seen = leaf(1.0), []
        y = x * 2
        x.register_hook(lambda g: seen.append(("x", g.item())))
        y.register_hook(lambda g: g * 10)
        (y * 3).backward()
        assert seen == [("x", 60.0)] and x.grad.item() == 60

    def test_can_be_removed(self):
        x = leaf(1.0)
        handle = x.register_hook(lambda g: g * 100)
        handle.remove()
        handle.remove()
        (x * 2).backward()
        assert x.grad.item() == 2
        y = x * 2
        late = y.register_hook(lambda g: g)
        del y
        late.remove()
        with pytest.raises(TypeError):
            type(handle)()

    def test_may_remove_itself_and_add_others(self):
        x, seen = leaf(1.0), []

        def hook(g):
            handle.remove()
            x.register_hook(lambda g: seen.append("second"))
            seen.append("first")

        handle = x.register_hook(hook)
        (x * 2).backward()
        (x * 2).backward()
        assert seen == ["first", "second"]

    @pytest.mark.parametrize(("result", "error"), [(3, TypeError), ("x", TypeError), (lm.ones(3), ValueError)])
    def test_wrong_results(self, result, error):
        x = leaf(1.0)
        x.register_hook(lambda g: result)
        with pytest.raises(error, match=r"^\[register_hook\]"):
            (x * 2).backward()

    def test_wrong_use(self):
        with pytest.raises(TypeError, match="function"):
            leaf(1.0).register_hook(3)
        with pytest.raises(RuntimeError, match="stop_gradient"):
            lm.ones(1).register_hook(lambda g: g)

    def test_exceptions_come_out(self):
        x = leaf(1.0)

        def hook(g):
            raise KeyError("mine")

        handle = x.register_hook(hook)
        with pytest.raises(KeyError, match="mine"):
            (x * 2).backward()
        handle.remove()
        (x * 2).backward()
        assert x.grad.item() == 2


class TestModes:
    def test_blocks(self):
        x = leaf(1.0)
        with lm.no_grad():
            assert not lm.is_grad_enabled() and (x * 2).stop_gradient
            with lm.enable_grad():
                assert not (x * 2).stop_gradient
            assert not lm.is_grad_enabled()
        assert lm.is_grad_enabled() and not (x * 2).stop_gradient

    def test_an_exception_ends_a_block(self):
        with pytest.raises(KeyError), lm.no_grad():
            raise KeyError
        assert lm.is_grad_enabled()

    def test_one_object_entered_twice(self):
        mode = lm.no_grad()
        with mode:
            with lm.enable_grad(), mode:
                assert not lm.is_grad_enabled()
            assert not lm.is_grad_enabled()
        assert lm.is_grad_enabled()
        mode.__exit__(None, None, None)
        assert lm.is_grad_enabled()
        with pytest.raises(RuntimeError):
            for _ in range(100):
                mode.__enter__()
        for _ in range(100):
            mode.__exit__(None, None, None)
        assert lm.is_grad_enabled()

    def test_set_grad_enabled(self):
        with lm.set_grad_enabled(False):
            assert not lm.is_grad_enabled()
        assert lm.is_grad_enabled()
        lm.set_grad_enabled(False)
        assert not lm.is_grad_enabled()
        lm.set_grad_enabled(True)
        for wrong in (1, None, "no"):
            with pytest.raises(TypeError):
                lm.set_grad_enabled(wrong)

        @lm.set_grad_enabled(False)
        def off():
            return lm.is_grad_enabled()

        assert lm.is_grad_enabled() and not off() and lm.is_grad_enabled()

    @pytest.mark.parametrize("decorator", [lm.no_grad, lm.no_grad()])
    def test_decorators(self, decorator):
        @decorator
        def function(a, *, b):
            """Its text."""
            assert not lm.is_grad_enabled()
            return a + b

        assert function(1, b=2) == 3 and function.__name__ == "function" and function.__doc__ == "Its text."
        assert lm.is_grad_enabled()

    def test_wrong_use(self):
        for call in (
            lambda: lm.no_grad(3),
            lambda: lm.no_grad(lambda: 1, 2),
            lambda: lm.no_grad()(3),
            lambda: lm.no_grad(mode=1),
            lambda: lm.no_grad(int),
        ):
            with pytest.raises(TypeError):
                call()

    def test_a_generator_runs_in_its_mode_and_its_caller_does_not(self):
        @lm.no_grad()
        def generate():
            try:
                got = yield lm.is_grad_enabled()
                yield got, lm.is_grad_enabled()
            except KeyError:
                yield "caught", lm.is_grad_enabled()
            finally:
                ended.append(lm.is_grad_enabled())

        ended = []
        steps = generate()
        assert next(steps) is False and lm.is_grad_enabled()
        assert steps.send("value") == ("value", False) and lm.is_grad_enabled()
        steps.close()
        assert ended == [False]
        steps = generate()
        next(steps)
        assert steps.throw(KeyError()) == ("caught", False) and lm.is_grad_enabled()
        assert list(steps) == []

        @lm.no_grad()
        def returning():
            yield 1
            return 2

        def outer():
            return (yield from returning())

        steps = outer()
        next(steps)
        with pytest.raises(StopIteration) as stop:
            next(steps)
        assert stop.value.value == 2

    def test_coroutines_run_in_their_mode(self):
        import asyncio

        @lm.no_grad()
        async def work(pause):
            assert not lm.is_grad_enabled()
            await asyncio.sleep(pause)
            assert not lm.is_grad_enabled()
            return pause

        @lm.no_grad()
        async def numbers():
            for i in range(3):
                await asyncio.sleep(0)
                assert not lm.is_grad_enabled()
                yield i

        async def plain():
            for _ in range(5):
                assert lm.is_grad_enabled()
                await asyncio.sleep(0.001)
            return [i async for i in numbers()]

        async def main():
            return await asyncio.gather(work(0.002), plain(), work(0.001))

        assert asyncio.run(main()) == [0.002, [0, 1, 2], 0.001]
        assert lm.is_grad_enabled()

    def test_exceptions_are_thrown_into_an_asynchronous_generator_again_and_again(self):
        import asyncio

        @lm.no_grad()
        async def answers():
            while True:
                try:
                    yield "nothing"
                except KeyError as error:
                    assert not lm.is_grad_enabled()
                    yield error.args[0]

        async def main():
            generator = answers()
            said = [await anext(generator)]
            for i in range(3):
                said += [await generator.athrow(KeyError(i)), await anext(generator)]
            said.append(await generator.athrow(KeyError(3)))
            with pytest.raises(KeyError):  # no try around that yield
                await generator.athrow(KeyError(4))
            return said

        assert asyncio.run(main()) == ["nothing", 0, "nothing", 1, "nothing", 2, "nothing", 3]

        @lm.no_grad()
        async def stubborn():
            for i in range(3):
                try:
                    yield i
                except KeyError:
                    continue

        async def insist():
            generator = stubborn()
            return [await anext(generator), await generator.athrow(KeyError()), await generator.athrow(KeyError())]

        assert asyncio.run(insist()) == [0, 1, 2]

    def test_threads_have_modes_of_their_own(self):
        seen = []
        with lm.no_grad():
            run_on_threads(lambda: seen.append(lm.is_grad_enabled()))
        assert seen == [True]


def test_results_in_place_on_the_tape_are_seen_by_the_collector():
    x = leaf(1.0) * 1
    y = lm.zeros(1)
    y += x
    assert y.grad_fn is not None and gc.is_tracked(y)
    z = lm.zeros(2)
    assert not gc.is_tracked(z)
    z[0] = x[0]
    assert gc.is_tracked(z)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
def test_an_interrupt_ends_a_long_backward():
    x = leaf(1.0)
    y = x
    for _ in range(300_000):
        y = y + 1

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        with pytest.raises(KeyboardInterrupt):
            while True:
                y.backward(retain_graph=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    x.clear_grad()
    y.backward()
    assert x.grad.item() == 1


def test_a_million_operations():
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    del y


def test_other_threads_run_during_long_kernels():
    a = lm.ones((1200, 1200))
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10)  # only a thread that gives the GIL away lets another run
    try:
        thread.start()
        start = time.perf_counter()
        while time.perf_counter() - start < 0.3:
            lm.matmul(a, a)
        end = time.perf_counter()
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert sum(start < t < end for t in ticks) > 3


def test_tensors_are_freed_on_any_thread():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.marker = Marker()
            alive.append(weakref.ref(ctx.marker))
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            return dy

    alive = []
    boxes = [[Layer.apply(leaf(float(i)))] for i in range(100)]
    assert all(marker() for marker in alive)
    run_on_threads(*[box.clear for box in boxes])
    gc.collect()
    assert len(alive) == 100 and not any(marker() for marker in alive)
