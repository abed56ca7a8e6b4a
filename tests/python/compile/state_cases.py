"""Functions whose state changes between their calls."""

from __future__ import annotations

import array
import collections
import ctypes
import decimal
import functools
import math
import os
from decimal import Decimal
from typing import Any

import numpy as np
from side_effects import case, x_of

import lamella as lm


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


@case
def an_array_of_the_standard_library():
    numbers = array.array("d", [1.0])

    def arguments(i):
        numbers[0] = 1.0 + i // 3
        return x_of(i)

    return lambda x: x * numbers[0], arguments


@case
def a_number_of_ctypes():
    number = ctypes.c_double(1.0)

    def arguments(i):
        number.value = 1.0 + i // 3
        return x_of(i)

    return lambda x: x * number.value, arguments


@case
def private_slots():
    class Box:
        __slots__ = ("__scale",)

        def put(self, scale):
            self.__scale = scale

        def get(self):
            return self.__scale

    box = Box()

    def arguments(i):
        box.put(1.0 + i // 3)
        return x_of(i)

    return lambda x: x * box.get(), arguments


@case
def gradient_without_spacing():
    return (lambda x: lm.gradient(x)[0]), x_of


@case
def slices_by_tensors():
    def function(x, i):
        return x[: i + 1] * 2, x[i:]

    return function, lambda i: (x_of(i), lm.asarray(i // 3))


@case
def deterministic_algorithms():
    def arguments(i):
        lm.use_deterministic_algorithms(3 <= i < 6)
        return x_of(i)

    return lambda x: x * (2 if lm.are_deterministic_algorithms_enabled() else 3), arguments


@case
def number_of_threads():
    before = lm.get_num_threads()

    def arguments(i):
        lm.set_num_threads(before + 1 if 3 <= i < 6 else before)
        return x_of(i)

    return lambda x: x * lm.get_num_threads(), arguments


@case
def errors_of_numpy():
    def arguments(i):
        np.seterr(divide="ignore" if 3 <= i < 6 else "warn")
        return x_of(i)

    return lambda x: x * len(np.geterr()["divide"]), arguments


@case
def digits_of_decimal_numbers():
    def arguments(i):
        decimal.getcontext().prec = 2 if 3 <= i < 6 else 28
        return x_of(i)

    return lambda x: x * float(Decimal(1) / 3) + float(decimal.Decimal(2) / 3), arguments
