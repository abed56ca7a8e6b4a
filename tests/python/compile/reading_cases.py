"""Functions that read state in ways that no name in their code tells."""

from __future__ import annotations

import abc
import collections
import contextlib
import dataclasses
import enum
import functools
import operator
import weakref
from typing import Any

from side_effects import case, x_of

import lamella as lm


class Config:
    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale


def varied(box: Any, name: str = "scale"):
    """Returns the arguments of calls before which an attribute changes."""

    def arguments(i):
        setattr(box, name, 1.0 + i // 3)
        return x_of(i)

    return arguments


@case
def matched_by_position():
    @dataclasses.dataclass
    class Point:
        scale: float

    point = Point(1.0)

    def function(x):
        match point:
            case Point(scale):
                return x * scale

    return function, varied(point)


@case
def formatted_text():
    config = Config()
    return lambda x: x * float("{0.scale}".format(config)), varied(config)  # noqa: UP030, UP032 (the case)


@case
def attribute_getter():
    config = Config()
    get = operator.attrgetter("scale")
    return lambda x: x * get(config), varied(config)


@case
def default_factory():
    config = Config()
    table = collections.defaultdict(lambda: config.scale)

    def arguments(i):
        if i == 5:
            table.default_factory = lambda: 7.0
        return x_of(i)

    return lambda x: x * table.default_factory(), arguments


@case
def inherited_attribute_is_hidden():
    class Base:
        scale = 1.0

    class Derived(Base):
        other = 1

    derived = Derived()

    def arguments(i):
        if i == 4:
            del Derived.other
            Derived.scale = 5.0
        return x_of(i)

    return lambda x: x * derived.scale, arguments


@case
def attribute_of_an_enumeration():
    class Mode(enum.Enum):
        FAST = 1

    Mode.FAST.scale = 1.0
    return lambda x: x * Mode.FAST.scale, varied(Mode.FAST)


@case
def arguments_of_an_exception():
    error = Exception(1.0)

    def arguments(i):
        error.args = (1.0 + i // 3,)
        return x_of(i)

    return lambda x: x * error.args[0], arguments


@case
def attribute_of_a_metaclass():
    class Meta(type):
        @property
        def scale(cls):
            return cls.value

    class Scaled(metaclass=Meta):
        value = 1.0

    return lambda x: x * Scaled.scale, varied(Scaled, "value")


@case
def descriptor():
    class Computed:
        value = 1.0

        def __get__(self, instance, owner):
            return self.value

    computed = Computed()

    class Holder:
        scale = computed

    holder = Holder()
    return lambda x: x * holder.scale, varied(computed, "value")


@case
def cached_property():
    class Lazy:
        scale = 2.0

        @functools.cached_property
        def double(self):
            return self.scale * 2

    lazy = Lazy()

    def arguments(i):
        lazy.scale = 5.0 if i > 3 else 2.0
        if i == 6:
            del lazy.double
        return x_of(i)

    return lambda x: x * lazy.double, arguments


@case
def order_of_keys():
    table = {"a": 1.0, "b": 2.0}

    def arguments(i):
        if i == 4:
            table["a"] = table.pop("a")
        return x_of(i)

    return lambda x: x * next(iter(table.values())), arguments


@case
def order_of_an_ordered_dictionary():
    table = collections.OrderedDict(a=1.0, b=2.0)

    def arguments(i):
        if i == 4:
            table.move_to_end("a")
        return x_of(i)

    return lambda x: x * next(iter(table.values())), arguments


@case
def registered_class():
    class Shape(abc.ABC):  # noqa: B024 (the case)
        pass

    class Square:
        pass

    square = Square()

    def arguments(i):
        if i == 4:
            Shape.register(Square)
        return x_of(i)

    return lambda x: x * 2 if isinstance(square, Shape) else x * 3, arguments


@case
def dispatch_by_class():
    @functools.singledispatch
    def factor(_value):
        return 1.0

    config = Config()

    def arguments(i):
        if i == 4:
            factor.register(Config, lambda value: value.scale * 3)
        config.scale = 1.0 if i < 7 else 2.0
        return x_of(i)

    return lambda x: x * factor(config), arguments


@case
def closure_of_a_context_manager():
    scale, box = 1.0, [1.0]

    @contextlib.contextmanager
    def scaled():
        before, box[0] = box[0], scale
        yield
        box[0] = before

    def function(x):
        with scaled():
            return x * box[0]

    def arguments(i):
        nonlocal scale
        scale = 1.0 + i // 3
        return x_of(i)

    return function, arguments, lambda: list(box)


@case
def weak_reference():
    objects = [Config(2.0)]
    reference = weakref.ref(objects[0])

    def arguments(i):
        if i == 5:
            objects.clear()
        return x_of(i)

    return lambda x: x * (9.0 if reference() is None else reference().scale), arguments


@case
def weak_dictionary():
    objects = [Config(2.0)]
    table = weakref.WeakValueDictionary(a=objects[0])

    def arguments(i):
        if i == 5:
            objects.clear()
        return x_of(i)

    return lambda x: x * (table["a"].scale if "a" in table else 9.0), arguments


# ---- classes of tensors


class Tagged(lm.Tensor):
    pass


@case
def class_of_an_argument():
    return (
        lambda x: x * 2 if type(x) is lm.Tensor else x * 3,
        lambda i: Tagged(x_of(i)) if i in (4, 5) else x_of(i),
    )


@case
def parameter_as_argument():
    return (
        lambda x: x * 3 if isinstance(x, lm.nn.Parameter) else x * 2,
        lambda i: lm.nn.Parameter(x_of(i)) if i in (4, 5) else x_of(i),
    )


@case
def attribute_of_an_argument():
    def arguments(i):
        x = Tagged(x_of(i))
        x.scale = 1.0 + i // 3
        return x

    return lambda x: x * x.scale, arguments


@case
def attribute_of_a_parameter():
    w = lm.nn.Parameter(lm.ones([4]))
    w.scale = 1.0
    return lambda x: x * w.scale * w, varied(w)


# ---- methods that are replaced


@case
def replaced_forward_of_a_layer():
    net = lm.nn.Linear(4, 4)
    original = lm.nn.Linear.forward

    def arguments(i):
        lm.nn.Linear.forward = (lambda self, x: x * 2) if i in (4, 5, 6) else original
        return x_of(i)

    return net, arguments


@case
def replaced_function_of_this_package():
    original = lm.nn.functional.relu

    def arguments(i):
        lm.nn.functional.relu = (lambda x: x * 2) if i in (4, 5, 6) else original
        return x_of(i)

    return lambda x: lm.nn.functional.relu(x), arguments
