"""Compiled functions against the same functions as they are: whatever Python does beside computing is kept.

Each case makes a function and what changes between its calls. It is run twice, once compiled, with the same changes;
results, gradients, printed text and all state that the case names have to be the same after every call.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import io
import math
import os
import random
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import lamella as lm

CALLS = 9
CASES: dict[str, Callable[[], Any]] = {}


def case(make: Callable[[], Any]) -> Callable[[], Any]:
    """Registers a case: a function that returns (function, arguments of call i, state)."""
    CASES[make.__name__] = make
    return make


def x_of(i: int, shape: tuple[int, ...] = (3, 4), seed: int = 0) -> lm.Tensor:
    values = np.random.default_rng(100 * seed + i).normal(size=shape).astype(np.float32)
    return lm.tensor(values, stop_gradient=False)


def plain(value: Any) -> Any:
    if isinstance(value, lm.Tensor):
        return np.array(value.detach().numpy()).tolist(), value.dtype.name, value.stop_gradient
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return plain(vars(value))
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value


def history(make: Callable[[], Any], compile_: bool) -> list[Any]:
    """What the calls of a case give, print and leave behind."""
    random.seed(1)
    np.random.seed(1)
    lm.random.seed(1)
    made = make()
    function, arguments, state = made[0], made[1], made[2] if len(made) > 2 else lambda: None
    run = lm.compile(function) if compile_ else function
    seen = []
    for i in range(CALLS):
        args = arguments(i)
        args = args if isinstance(args, tuple) else (args,)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                result = run(*args)
                recording = lm.is_grad_enabled()
                lm.set_grad_enabled(True)
            except Exception as error:
                seen.append((type(error).__name__, str(error)))
                continue
        first = next((x for x in (result if isinstance(result, (list, tuple)) else [result])
                      if isinstance(x, lm.Tensor) and not x.stop_gradient), None)  # fmt: skip
        gradients = None
        if first is not None and not first.is_leaf:
            first.sum().backward()
            gradients = [None if x.grad is None else plain(x.grad) for x in args if isinstance(x, lm.Tensor)]
        seen.append((recording, plain(result), gradients, printed.getvalue(), plain(state())))
    return seen


# ---- state that changes between the calls


@case
def closed_over_number():
    scale = 1.0

    def function(x):
        return x * scale

    def arguments(i):
        nonlocal scale
        scale = 1.0 + i // 3
        return x_of(i)

    return function, arguments


GLOBAL_SCALE = 1.0


@case
def global_number():
    def arguments(i):
        global GLOBAL_SCALE
        GLOBAL_SCALE = 1.0 + i // 3
        return x_of(i)

    return lambda x: x * GLOBAL_SCALE, arguments


@case
def signed_zero_and_nan():
    box = [0.0]

    def arguments(i):
        box[0] = [0.0, -0.0, math.nan][i // 3]
        return x_of(i)

    return lambda x: lm.copysign(x, lm.full([4], box[0])), arguments


@case
def int_becomes_bool_and_float():
    box: list[Any] = [1]

    def arguments(i):
        box[0] = [1, True, 1.0][i // 3]
        return lm.arange(4) + i

    return lambda x: x * box[0], arguments


@case
def global_array():
    array = np.array([1.0, 2.0, 3.0, 4.0], np.float32)

    def arguments(i):
        array[1] = i // 3
        return x_of(i)

    return lambda x: x * array, arguments


@case
def array_argument():
    return lambda x, array: x * lm.asarray(array), lambda i: (x_of(i), np.full(4, i, np.float32))


@case
def number_argument():
    return lambda x, k: x * k, lambda i: (x_of(i), i // 3)


@case
def number_argument_of_many_values():
    return lambda x, k: x * k, lambda i: (x_of(i), float(i))


@case
def replaced_tensor():
    box = {"w": lm.ones([4])}

    def arguments(i):
        if i % 4 == 3:
            box["w"] = lm.full([4], float(i))
        return x_of(i)

    return lambda x: x * box["w"], arguments


@case
def changed_tensor():
    w = lm.ones([4])

    def arguments(i):
        w.add_(1.0)
        return x_of(i)

    return lambda x: x * w, arguments


@case
def replaced_module_and_mode():
    net = lm.nn.Sequential(lm.nn.Linear(4, 4), lm.nn.Dropout(0.5), lm.nn.ReLU())

    def arguments(i):
        if i == 4:
            net.eval()
        if i == 7:
            net[2] = lm.nn.Tanh()
        return x_of(i)

    return lambda x: net(x), arguments


@case
def frozen_parameter():
    net = lm.nn.Linear(4, 4)

    def arguments(i):
        net.weight.stop_gradient = i > 4
        net.zero_grad()
        return x_of(i)

    return lambda x: net(x), arguments, lambda: [net.weight.grad is None]


@case
def patched_method_and_class():
    class Scale:
        factor = 2.0

        def run(self, x):
            return x * self.factor

    scale = Scale()

    def arguments(i):
        if i == 4:
            Scale.factor = 3.0
        if i == 6:
            Scale.run = lambda self, x: x - self.factor
        if i == 8:
            scale.factor = 5.0
        return x_of(i)

    return lambda x: scale.run(x), arguments


@case
def changed_default():
    def helper(x, k=2.0):
        return x * k

    def arguments(i):
        if i == 5:
            helper.__defaults__ = (7.0,)
        return x_of(i)

    return lambda x: helper(x), arguments


@case
def attribute_that_comes_and_goes():
    class Config:
        pass

    config = Config()

    def function(x):
        return x * (config.scale if hasattr(config, "scale") else 1.0)

    def arguments(i):
        if i == 4:
            config.scale = 4.0
        if i == 7:
            del config.scale
        return x_of(i)

    return function, arguments


@case
def slots():
    class Config:
        __slots__ = ("scale",)

    config = Config()

    def arguments(i):
        config.scale = 1.0 + i // 4
        return x_of(i)

    return lambda x: x * config.scale, arguments


@case
def property_and_dict_of_lists():
    class Config:
        def __init__(self):
            self.values = {"a": [1.0, 2.0]}

        @property
        def total(self):
            return sum(self.values["a"])

    config = Config()

    def arguments(i):
        if i == 4:
            config.values["a"].append(5.0)
        if i == 7:
            config.values["a"][0] = 9.0
        return x_of(i)

    return lambda x: x * config.total, arguments


@case
def computed_attribute_names():
    class Net(lm.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale0, self.scale1 = 2.0, 3.0

        def forward(self, x):
            for i in range(2):
                x = x * getattr(self, f"scale{i}")
            return x

    net = Net()

    def arguments(i):
        net.scale1 = 1.0 + i // 3
        return x_of(i)

    return net, arguments


@case
def attributes_of_functions():
    def function(x):
        function.calls = getattr(function, "calls", 0) + 1
        return x * 2

    return function, x_of, lambda: function.calls


@case
def another_class():
    class Two:
        factor = 2.0

    class Three:
        factor = 3.0

    box = Two()

    def arguments(i):
        if i == 5:
            box.__class__ = Three
        return x_of(i)

    return lambda x: x * box.factor, arguments


@case
def special_methods():
    class Table:
        def __getitem__(self, key):
            return key * 2.0

        def __len__(self):
            return 3

    table = Table()

    def arguments(i):
        if i == 4:
            Table.__getitem__ = lambda self, key: key * 5.0
        if i == 7:
            Table.__len__ = lambda self: 1
        return x_of(i)

    return lambda x: x * table[1] * len(table), arguments


@case
def user_dict():
    table = collections.UserDict(scale=1.0)

    def arguments(i):
        table["scale"] = 1.0 + i // 4
        return x_of(i)

    return lambda x: x * table["scale"], arguments


@case
def sets_and_named_values():
    allowed = {"relu"}

    def arguments(i):
        if i == 5:
            allowed.clear()
        return x_of(i)

    return lambda x: lm.relu(x) if "relu" in allowed else x * 2, arguments


@case
def a_stateful_iterator():
    numbers = iter(range(100))
    return lambda x: x * next(numbers), x_of


@case
def a_deque():
    queue = collections.deque([1.0])

    def arguments(i):
        queue[0] = float(i // 4)
        return x_of(i)

    return lambda x: x * queue[0], arguments


@case
def environment():
    def arguments(i):
        os.environ["LAMELLA_TEST_SCALE"] = str(1 + i // 4)
        return x_of(i)

    return lambda x: x * float(os.environ["LAMELLA_TEST_SCALE"]), arguments


@case
def partial_and_cached():
    @functools.lru_cache
    def factor(k):
        return k * 2.0

    box = [functools.partial(lambda k, x: x * factor(k), 1)]

    def arguments(i):
        if i == 5:
            box[0] = functools.partial(lambda k, x: x * factor(k), 3)
        return x_of(i)

    return lambda x: box[0](x), arguments


# ---- what a call changes


@case
def counter_in_a_closure():
    count = 0

    def function(x):
        nonlocal count
        count += 1
        return x * 2

    return function, x_of, lambda: count


@case
def counter_in_an_attribute():
    class Layer(lm.nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = 0

        def forward(self, x):
            self.steps += 1
            return x * self.steps

    layer = Layer()
    return layer, x_of, lambda: layer.steps


@case
def global_counter():
    COUNT[0] = 0
    return _count, x_of, lambda: COUNT[0]


COUNT = [0]


def _count(x):
    COUNT[0] += 1
    return x + 1


@case
def appended_losses():
    losses: list[Any] = []

    def function(x):
        losses.append(x.sum())
        return x * 2

    return function, x_of, lambda: list(losses)


@case
def a_default_that_grows():
    def function(x, seen=[]):  # noqa: B006 (the case)
        seen.append(1)
        return x * len(seen)

    return function, x_of


@case
def argument_that_grows():
    def function(x, seen):
        seen.append(x.shape[0])
        return x * 2

    given: list[list[int]] = []

    def arguments(i):
        given.append([])
        return x_of(i), given[-1]

    return function, arguments, lambda: given


@case
def argument_that_takes_a_result():
    def function(x, out):
        out["y"] = x * 2
        return x + 1

    given: list[dict[str, Any]] = []

    def arguments(i):
        given.append({"y": None})
        return x_of(i), given[-1]

    return function, arguments, lambda: given


@case
def print_numbers():
    def function(x):
        print("shape", tuple(x.shape))
        return x * 2

    return function, x_of


@case
def print_values():
    def function(x):
        y = x.sum()
        print(f"sum {y.item():.3f}")
        return y

    return function, x_of


@case
def write_in_place():
    total = lm.zeros([3, 4])

    def function(x):
        with lm.no_grad():
            total.add_(x)
        return x * 2

    return function, x_of, lambda: total


@case
def write_through_views():
    table = lm.zeros([4, 4])

    def function(x):
        with lm.no_grad():
            table[1:].mul_(2.0)
            table[0] = x[0]
            row = table[2]
            row += 1.0
        return x.sum() + table.sum()

    return function, x_of, lambda: table


@case
def write_into_an_argument():
    def function(x, y):
        y.mul_(2.0)
        y[0] = 1.0
        return x * y

    given: list[Any] = []

    def arguments(i):
        given.append(lm.ones([3, 4]) * i)
        return x_of(i), given[-1]

    return function, arguments, lambda: given[-1]


@case
def write_into_a_constant():
    def function(x):
        w = lm.tensor([1.0, 2.0, 3.0, 4.0])
        z = lm.zeros([4])
        w.add_(1.0)
        z += 2.0
        w[0] = 5.0
        return x * w * z

    return function, x_of


@case
def write_into_out():
    kept = lm.zeros([3, 4])

    def function(x):
        with lm.no_grad():
            lm.multiply(x, 2.0, out=kept)
        return x + 1

    return function, x_of, lambda: kept


@case
def returned_constant_is_new():
    return lambda x: (x * 2, lm.tensor([1.0, 2.0]).mul_(3.0), lm.zeros([2]).add_(1)), x_of


@case
def returned_argument():
    return lambda x: (x, x * 2), x_of


@case
def rebound_hidden_state():
    class Cell(lm.nn.Module):
        def __init__(self):
            super().__init__()
            self.h = lm.zeros([3, 4])

        def forward(self, x):
            self.h = lm.tanh(x + self.h).detach()
            return self.h * x

    cell = Cell()
    return cell, x_of, lambda: cell.h


@case
def running_statistics():
    norm = lm.nn.BatchNorm1d(4)
    return norm, x_of, lambda: [norm.running_mean, norm.running_var]


@case
def lazily_made_parameter():
    class Lazy(lm.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = None

        def forward(self, x):
            if self.weight is None:
                self.weight = lm.full([4], 2.0)
            return x * self.weight

    layer = Lazy()
    return layer, x_of, lambda: layer.weight


# ---- control flow on values


@case
def branch_on_a_value():
    return lambda x: x * 2 if x.sum() > 0 else x - 1, x_of


@case
def loop_on_a_value():
    def function(x):
        y = x.detach().abs() + 0.1
        while y.max() < 4:
            y = y * 1.7
        return y * x

    return function, x_of


@case
def branch_after_a_write():
    total = lm.zeros([])

    def function(x):
        with lm.no_grad():
            total.add_(x.sum())
        return x * 2 if total > 0 else x * 3

    return function, x_of, lambda: total


@case
def branch_after_running_statistics():
    norm = lm.nn.BatchNorm1d(4)

    def function(x):
        y = norm(x)
        return y * 2 if x.sum() > 0 else y

    return function, x_of, lambda: [norm.running_mean, norm.running_var]


@case
def unused_running_statistics():
    norm = lm.nn.BatchNorm1d(4)

    def function(x):
        norm(x)
        return x * 2

    return function, x_of, lambda: [norm.running_mean, norm.running_var]


@case
def branch_after_random_numbers():
    def function(x):
        y = x * lm.rand([3, 4])
        return y if y.sum() > 0 else -y

    return function, x_of


@case
def item_in_arithmetic():
    return lambda x: x * x.sum().item(), x_of


@case
def integer_item():
    return lambda x: x[:, : int(x.argmax(axis=1)[0]) + 1] * 2, x_of


@case
def numpy_in_the_middle():
    return lambda x: x * float(np.tanh(x.detach().numpy()).sum()), x_of


@case
def buffer_in_the_middle():
    return lambda x: x * float(np.asarray(x.detach()).sum()), x_of


@case
def list_in_the_middle():
    return lambda x: x * x.detach().tolist()[0][0], x_of


@case
def text_in_the_middle():
    return lambda x: x * len(f"{x.detach()}"), x_of


@case
def sizes_that_depend_on_elements():
    return lambda x: lm.nonzero(x > 0)[0].sum() + x[x > 0].sum(), x_of


@case
def shapes_that_vary():
    return lambda x: x.reshape(x.shape[0] * 2, -1).sum(axis=0), lambda i: x_of(i, (2 + i // 4, 6))


@case
def ranks_and_dtypes_that_vary():
    return lambda x: x * 2 if x.ndim == 2 else x - 1, lambda i: x_of(i, (4,) * (1 + i // 4)).astype(
        lm.float64 if i % 2 else lm.float32
    )


@case
def strides_that_vary():
    return lambda x: (x * 2).sum() * x.strides[0], lambda i: x_of(i, (4, 4)).T if i // 3 == 1 else x_of(i, (4, 4))


@case
def try_and_except():
    def function(x):
        try:
            return x @ lm.ones([5, 2])
        except ValueError:
            return x * 3

    return function, x_of


@case
def raised_errors():
    def function(x):
        if x.sum() > 0:
            raise KeyError("positive")
        return x * 2

    return function, x_of


# ---- randomness


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


@pytest.mark.parametrize("name", sorted(CASES))
def test_compiled_functions_do_what_they_did(name):
    make = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lm.CompileWarning)
        expected, got = history(make, False), history(make, True)
    for i, (a, b) in enumerate(zip(expected, got, strict=True)):
        assert _close(a, b), f"call {i}: as it is {a}, compiled {b}"


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=2e-5, abs_tol=1e-6)
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        return len(a) == len(b) and all(map(_close, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b
