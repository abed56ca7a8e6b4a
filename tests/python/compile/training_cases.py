"""Functions that draw random numbers, compute gradients or call layers."""

from __future__ import annotations

import dataclasses
import functools
import random
import time
from typing import Any, NamedTuple

import numpy as np
from side_effects import case, x_of

import lamella as lm


@case
def dropout_and_random_numbers():
    return lambda x: lm.nn.functional.dropout(x, 0.5) + lm.rand([3, 4]) + lm.randn([4]), x_of


@case
def seed_inside():
    def function(x):
        lm.random.seed(4)
        return x + lm.rand([3, 4])

    return function, x_of


@case
def mode_that_stays():
    def function(x):
        y = x * 2
        lm.set_grad_enabled(False)
        return y

    return function, x_of


@case
def unused_random_numbers():
    def function(x):
        lm.rand([3])
        return x + lm.rand([3, 4])

    return function, x_of


@case
def own_generator():
    generator = lm.random.Generator(seed=5)
    return lambda x: x + lm.rand([3, 4], generator=generator), x_of


@case
def random_of_python():
    return lambda x: x * random.random(), x_of


@case
def random_of_numpy():
    return lambda x: x * np.random.rand(), x_of


@case
def random_array_of_numpy():
    return lambda x: x * lm.asarray(np.random.rand(4).astype(np.float32)), x_of


@case
def generator_of_numpy():
    rng = np.random.default_rng(3)
    return lambda x: x * float(rng.normal()), x_of


@case
def the_clock():
    start = time.monotonic()
    return lambda x: x * float(time.monotonic() - start > -1), x_of


# ---- gradients


@case
def gradients_inside():
    def function(x):
        y = (x * x * x).sum()
        (g,) = lm.grad(y, [x], create_graph=True)
        return g * x

    return function, x_of


@case
def backward_inside():
    w = lm.ones([4])
    w.stop_gradient = False

    def function(x):
        ((x * w) ** 2).sum().backward()
        return x.detach() * 2

    return function, x_of, lambda: w.grad


@case
def own_training_step():
    w = lm.ones([4])
    w.stop_gradient = False

    def function(x):
        loss = ((x.detach() * w - 1) ** 2).mean()
        loss.backward()
        with lm.no_grad():
            w.sub_(w.grad * 0.1)
        w.grad = None
        return loss.detach()

    return function, x_of, lambda: [w, w.grad]


@case
def training_step_with_schedule():
    net = lm.nn.Sequential(lm.nn.Linear(4, 8), lm.nn.Tanh(), lm.nn.Linear(8, 1))
    optimizer = lm.optim.Adam(net.parameters(), lr=0.1)
    schedule = lm.optim.lr.StepLR(optimizer, 2)

    def function(x):
        loss = (net(x.detach()) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach()

    return function, x_of, lambda: [*net.parameters(), schedule.get_last_lr()]


@case
def schedule_that_is_read():
    net = lm.nn.Linear(4, 1)
    optimizer = lm.optim.SGD(net.parameters(), lr=0.1)
    schedule = lm.optim.lr.StepLR(optimizer, 2)

    def function(x):
        loss = (net(x.detach()) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach() * schedule.get_last_lr()[0] * optimizer.param_groups[0]["lr"]

    return function, x_of, lambda: list(net.parameters())


@case
def stop_gradient_inside():
    def function(x):
        y = x * 2
        y.stop_gradient = True
        return y * x

    return function, x_of


@case
def detached_and_copied():
    return lambda x: x.detach() * x + x.clone().astype(lm.float64).astype(lm.float32) + x.cpu(), x_of


@case
def no_grad_inside():
    def function(x):
        with lm.no_grad():
            y = x * 2
        with lm.enable_grad():
            return x * y

    return function, x_of


@case
def inference_inside():
    def function(x):
        with lm.inference_mode():
            y = x * 2
        return y + 1

    return function, x_of


@case
def autocast_inside():
    def function(x):
        with lm.autocast("cpu", dtype=lm.bfloat16):
            return (x @ x.T).astype(lm.float32)

    return function, x_of


@case
def checkpoint_inside():
    def function(x):
        h = x * 3
        return lm.checkpoint(lambda t: lm.tanh(t) + h, x * 2)

    return function, x_of


@case
def hook_inside():
    seen: list[float] = []

    def function(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(float(g.sum())))
        return y * 3

    return function, x_of, lambda: list(seen)


@case
def hook_on_a_parameter():
    w = lm.ones([4])
    w.stop_gradient = False
    seen: list[float] = []

    def arguments(i):
        if i == 5:
            w.register_hook(lambda g: seen.append(float(g.sum())))
        return x_of(i)

    return lambda x: x * w, arguments, lambda: [list(seen), w.grad]


# ---- layers


class Scaled(lm.PyLayer):
    calls = 0

    @staticmethod
    def forward(ctx, x, k):
        Scaled.calls += 1
        ctx.save_for_backward(x)
        ctx.k = k
        return x * x * k

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * 2 * x * ctx.k


@case
def a_py_layer():
    Scaled.calls = 0
    return lambda x: Scaled.apply(x + 1, 3.0) * 2, x_of, lambda: Scaled.calls


@case
def a_py_layer_given_a_closure():
    class Applied(lm.PyLayer):
        @staticmethod
        def forward(ctx, x, function):
            return function(x)

        @staticmethod
        def backward(ctx, dy):
            return dy

    def function(x):
        h = x * 3
        return Applied.apply(x, lambda t: t + h)

    return function, x_of


@case
def a_py_layer_that_fills_a_list():
    class Noted(lm.PyLayer):
        @staticmethod
        def forward(ctx, x, notes):
            notes.append(float(x.sum()))
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            return dy * 2

    def function(x):
        notes: list[float] = []
        y = Noted.apply(x, notes)
        return y, notes

    return function, x_of


@case
def a_transform_inside():
    return lambda x: lm.vmap(lambda row: row * row.sum())(x), x_of


@case
def helper_classes_and_comprehensions():
    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any

    def function(x):
        pairs = [Pair(x * k, k) for k in range(3)]
        total = sum((pair.a * pair.b for pair in pairs), start=x)
        return max([total, total], key=lambda t: 0) + functools.reduce(lambda a, b: a + b.a, pairs, x)

    return function, x_of


@case
def unpacking_and_iteration():
    def function(x):
        a, b, c = x
        rows = [row * 2 for row in x]
        return a * b + c + rows[1] + divmod(x, 2)[1][0] + (+x)[0] + abs(-x)[1]

    return function, x_of


@case
def structured_results():
    class Out(NamedTuple):
        y: Any
        n: int

    return lambda x: {"a": [x * 2, (x, 3)], "b": Out(x + 1, x.shape[0]), "c": None, "d": "text"}, x_of


@case
def dataclass_results():
    @dataclasses.dataclass
    class Out:
        y: Any

    return lambda x: Out(x * 2), x_of


@case
def keywords_and_containers():
    def function(xs, *, scale=1.0):
        return sum((x * scale for x in xs["items"]), start=xs["items"][0])

    return functools.partial(function, scale=2.0), lambda i: ({"items": [x_of(i), x_of(i, seed=1)]},)


@case
def the_same_tensor_twice():
    def arguments(i):
        x = x_of(i)
        return (x, x) if i % 2 else (x, x_of(i, seed=2))

    return lambda a, b: a * b + a, arguments


@case
def an_argument_that_is_also_read():
    w = lm.ones([3, 4])
    return lambda a: a * w, lambda i: w if i % 2 else lm.full([3, 4], float(i))


@case
def imports_inside():
    def function(x):
        import math as m
        from itertools import chain

        return x * m.pi + sum(chain([1], [2]))

    return function, x_of
