"""Threads that build, share, change, hook, differentiate and free graphs of layers at random, for a few seconds.

LAMELLA_STRESS_SECONDS sets for how long. All values are 1 and all slopes small integers, so sums of gradients are
exact: each thread notes what it adds to the leaves. A deadlock ends the process with the stacks of all threads.
"""

import faulthandler
import gc
import os
import random
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import lamella as lm
from support.layers import Cube
from support.threads import run_on_threads

SECONDS = float(os.environ.get("LAMELLA_STRESS_SECONDS", "3"))
THREADS = 8
LEAVES = 3
SHARED = 16
MAX_DEPTH = 10
MAX_SLOPE = 1 << 14
MIN_STEPS = 20  # of each thread, also where the machine is busy with other things


@pytest.fixture(autouse=True)
def watchdog():
    faulthandler.dump_traceback_later(SECONDS * 5 + 120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


class OnPurposeError(Exception):
    pass


class SquareOfOne(lm.PyLayer):
    """x * x at 1, from its output, which it also keeps in other places; its class changes while others call it."""

    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(y)
        ctx.y = y
        ctx.closure = lambda: (ctx, y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        return (y + ctx.y) * dy


class Several(lm.PyLayer):
    @staticmethod
    def forward(ctx, tensors, *, scale):
        ctx.scale = scale
        return {"product": tensors[0] * tensors[1], "rest": [tensors[0] * 1]}

    @staticmethod
    def backward(ctx, product, rest):
        return [product * ctx.scale + rest, product * ctx.scale]


class Fails(lm.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx, dy):
        raise OnPurposeError


class Nests(lm.PyLayer):
    @staticmethod
    def forward(ctx, x, inside):
        ctx.inside = inside
        return x * 1

    @staticmethod
    def backward(ctx, dy):
        with lm.enable_grad():
            ctx.inside()
        return dy


class World:
    def __init__(self):
        self.leaves = [lm.tensor(np.ones(3), stop_gradient=False) for _ in range(LEAVES)]
        self.items = []
        self.handles = []
        self.lock = threading.Lock()
        self.stop = False

    def collect(self):
        """Runs the collector among what the threads do, until the time is over."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not self.stop:
            time.sleep(0.05)
            gc.collect()
        self.stop = True


class Worker:
    """One thread's work. An item is a tensor of ones, the slopes of its elements in the leaves, and its depth."""

    def __init__(self, world, seed):
        self.world = world
        self.random = random.Random(seed)
        self.added = np.zeros(LEAVES, np.int64)
        self.hook_calls = 0
        self.steps = 0
        self.contexts = []
        self.error = None
        self.actions = [
            self.backward_pass,
            self.own_pass,
            self.gradients,
            self.second_derivative,
            self.hook,
            self.fail,
            self.overwrite,
            self.nest,
            self.change_a_class,
            self.share,
            self.share,
            self.share,
        ]

    def run(self):
        try:
            while self.steps < MIN_STEPS or not self.world.stop:
                self.random.choice(self.actions)(self.shared_item())
                self.steps += 1
        except BaseException as error:
            self.error = error
            self.world.stop = True

    def leaf_item(self):
        i = self.random.randrange(LEAVES)
        return self.world.leaves[i], np.eye(LEAVES, dtype=np.int64)[i], 0

    def shared_item(self):
        with self.world.lock:
            return self.random.choice(self.world.items) if self.world.items else self.leaf_item()

    def share(self, item):
        made = self.grow()
        with self.world.lock:
            if len(self.world.items) < SHARED:
                self.world.items.append(made)
                return
            i = self.random.randrange(SHARED)
            dropped, self.world.items[i] = self.world.items[i], made
        del dropped

    def grow(self):
        (a, slopes_a, depth_a), (b, slopes_b, depth_b) = self.shared_item(), self.shared_item()
        depth, both = max(depth_a, depth_b) + 1, slopes_a + slopes_b
        if depth > MAX_DEPTH or both.max() > MAX_SLOPE:
            return self.leaf_item()
        kind = self.random.randrange(8)
        if kind == 0:
            return Cube.apply(a), slopes_a * 3, depth
        if kind == 1:
            return a * b, both, depth
        if kind == 2:
            y = SquareOfOne.apply(a)
            return y, slopes_a * 2, depth
        if kind == 3:
            return Several.apply([a, b], scale=1)["product"], both, depth
        if kind == 4:
            return a + b - 1, both, depth
        if kind == 5:
            y = a * 1
            y[:2].mul_(b[:2])
            y[2:].mul_(b[2:])
            return y, both, depth
        if kind == 6:
            base = a * 1
            view = base[:]
            base.mul_(b)
            return view, both, depth  # whoever uses it first finds it out of date
        return a.reshape((3, 1)).T.reshape(3), slopes_a, depth

    def backward_pass(self, item):
        y, slopes, _ = item
        y.sum().backward(retain_graph=True)
        self.added += slopes

    def own_pass(self, item):
        (a, slopes_a, _), (b, slopes_b, _) = self.leaf_item(), self.leaf_item()
        (Cube.apply(a) * SquareOfOne.apply(b)).sum().backward()
        self.added += slopes_a * 3 + slopes_b * 2

    def gradients(self, item):
        y, slopes, _ = item
        create_graph = self.random.random() < 0.5
        options = {"retain_graph": True, "create_graph": create_graph, "allow_unused": True}
        for gradient, slope in zip(lm.grad(y.sum(), self.world.leaves, **options), slopes, strict=True):
            assert (gradient is not None) == (slope != 0)
            assert gradient is None or gradient.tolist() == [slope] * 3

    def second_derivative(self, item):
        x = self.random.choice(self.world.leaves)
        slope = lm.grad(Cube.apply(x).sum(), x, create_graph=True)
        assert lm.grad(slope.sum(), x).tolist() == [6] * 3

    def hook(self, item):
        y = item[0]

        def count(gradient):
            self.hook_calls += 1
            return gradient * 1 if keep else None

        keep = self.random.random() < 0.5
        handle = self.random.choice([y, *self.world.leaves]).register_hook(count)
        with self.world.lock:
            handles = self.world.handles
            handles.append(handle)
            if len(handles) < 12:
                return
            handle = handles.pop(self.random.randrange(len(handles)))
        handle.remove()

    def fail(self, item):
        y = item[0]
        with pytest.raises(OnPurposeError):
            if self.random.random() < 0.5:
                Fails.apply(y).sum().backward(retain_graph=True)
            else:
                own = y * 1
                own.register_hook(self.raise_on_purpose)
                own.sum().backward(retain_graph=True)

    @staticmethod
    def raise_on_purpose(gradient):
        raise OnPurposeError

    def overwrite(self, item):
        own = item[0] * 1
        y = Cube.apply(own).sum()
        own.add_(1)
        with pytest.raises(RuntimeError, match="overwritten"):
            y.backward(retain_graph=True)

    def nest(self, item):
        inner = self.shared_item()
        Nests.apply(item[0], lambda: self.backward_pass(inner)).sum().backward(retain_graph=True)
        self.added += item[1]

    def change_a_class(self, item):
        """Classes with functions of their own come and go; one that all use is changed."""

        class Own(lm.PyLayer):
            @staticmethod
            def forward(ctx, x):
                self.contexts.append(weakref.ref(ctx))
                return x * 1

            @staticmethod
            def backward(ctx, dy):
                return dy

        del self.contexts[:-100]
        Own.apply(item[0]).sum().backward(retain_graph=True)
        self.added += item[1]
        SquareOfOne.note = self.steps


def test_threads_that_share_everything():
    gc.collect()
    before = lm.memory_allocated()
    world = World()
    workers = [Worker(world, seed) for seed in range(THREADS)]
    run_on_threads(world.collect, *[worker.run for worker in workers])
    for worker in workers:
        if worker.error is not None:
            raise worker.error
        assert worker.steps >= MIN_STEPS
    assert sum(worker.hook_calls for worker in workers) > 0
    added = sum(worker.added for worker in workers)
    for leaf, sum_of_slopes in zip(world.leaves, added, strict=True):
        assert leaf.grad.tolist() == [sum_of_slopes] * 3

    contexts = [ref for worker in workers for ref in worker.contexts]
    world.items.clear()
    world.handles.clear()
    del world, workers, worker, leaf
    for _ in range(20):  # what hangs behind a cycle in a graph comes with the next collection
        gc.collect()
    assert not any(ref() for ref in contexts)
    assert lm.memory_allocated() <= before  # less where a thread of an earlier test ended meanwhile


@pytest.mark.parametrize("held", [True, False])
def test_there_is_one_object_of_a_tensor(held):
    """Threads that ask for the same tensor get the same object, also while that comes and goes."""

    class Asks(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            (first,) = ctx.saved_tensors
            time.sleep(0)
            (second,) = ctx.saved_tensors
            asked.append(first is second and (not held or first is x))
            return dy

    asked = []
    leaf = lm.tensor(np.ones(3), stop_gradient=False)
    x = leaf * 1
    y = Asks.apply(x).sum()
    if not held:
        del x
    end = time.monotonic() + min(SECONDS, 1)

    def work():
        while time.monotonic() < end:
            y.backward(retain_graph=True)

    run_on_threads(*[work] * THREADS)
    assert all(asked) and len(asked) >= THREADS
    assert leaf.grad.tolist() == [len(asked)] * 3
