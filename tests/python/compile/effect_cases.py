"""Functions that change something, or decide on elements."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import tempfile
from typing import Any

import numpy as np
from side_effects import case, x_of

import lamella as lm


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


@case
def attribute_by_a_computed_name():
    class Net(lm.nn.Module):
        def __init__(self):
            super().__init__()
            self.last0 = 0

        def forward(self, x):
            setattr(self, f"last{x.ndim - 2}", x.sum())
            return x * 2

    net = Net()
    return net, x_of, lambda: net.last0


@case
def write_into_a_view_of_another_argument():
    def function(a, b):
        y = a * 1
        b.add_(1.0)
        return y * 2 + a

    def arguments(i):
        x = lm.arange(12, dtype=lm.float32).reshape(3, 4) * i
        return x, x[1]

    return function, arguments


@case
def writes_between_reads_of_a_view():
    def function(x):
        y = x.detach() * 2
        row = y[1]
        before = y + 1
        row.add_(5.0)
        between = y + 1
        row.mul_(2.0)
        return before, between, y, row

    return function, x_of


@case
def array_written_by_a_function():
    total = np.zeros(4, np.float32)

    def function(x):
        np.add(total, 1, out=total)
        return x * 2

    return function, x_of, lambda: total


@case
def work_of_another_thread():
    pool = concurrent.futures.ThreadPoolExecutor(1)
    calls = [0]

    def work(x):
        calls[0] += 1
        return x * 2

    return lambda x: pool.submit(work, x).result() + 1, x_of, lambda: list(calls)


# ---- control flow on values


@case
def gradient_that_is_there_or_not():
    w = lm.ones([4])
    w.stop_gradient = False

    def function(x):
        if w.grad is not None:
            w.grad.zero_()
        (x.detach() * w).sum().backward()
        return x * 2

    def arguments(i):
        if i in (5, 7):
            w.grad = None
        return x_of(i)

    return function, arguments, lambda: w.grad


@case
def gradient_of_an_argument():
    def arguments(i):
        x = x_of(i)
        if i in (5, 7):
            (x * 2).sum().backward()
        return x

    return lambda x: x * 2 if x.grad is None else x * 3 + x.grad, arguments


@case
def exception_that_elements_decide():
    def function(x):
        try:
            return lm.linalg.cholesky(x.detach()).sum() * x
        except ValueError:
            return x * 3

    return function, lambda i: lm.eye(3) * (-1.0 if i in (5, 6) else 2.0)


@case
def suppressed_exception_after_a_write():
    total = lm.zeros([3])

    def function(x):
        total.add_(1.0)
        with contextlib.suppress(ValueError):
            return lm.linalg.cholesky(x).sum() * x
        return x * 3

    return function, lambda i: lm.eye(3) * (-1.0 if i in (5, 6) else 2.0), lambda: total


@case
def order_of_rows_by_value():
    return lambda x: sorted([x[0], x[1], x[2]], key=lambda row: float(row.sum()))[0], x_of


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


@case
def files_of_numpy():
    def arguments(i):
        np.full(2, 1.0 + i // 3, "float32").tofile(path)
        return x_of(i)

    def function(x):
        np.arange(3.0).dump(path + ".copy")
        np.arange(4.0).tofile(path + ".others")
        return x * float(np.fromfile(path, "float32")[0])

    def state():
        sizes = [os.path.getsize(path + suffix) for suffix in (".copy", ".others")]
        for suffix in (".copy", ".others"):
            os.remove(path + suffix)
        return sizes

    path = os.path.join(tempfile.mkdtemp(), "numbers")
    return function, arguments, state
