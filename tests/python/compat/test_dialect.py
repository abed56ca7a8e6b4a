"""Functions and classes made from lines of tables."""

import inspect

import pytest

from lamella.compat.dialect import Dialect, make_class, make_function, parse_signature, parse_table

WORDS = Dialect(
    {
        "input": ("x",),
        "dim": ("axis", "axes"),
        "dim0": ("axis1",),
        "dim1": ("axis1", "axis2"),
        "keepdim": ("keepdims",),
    },
    ignored=frozenset({"layout", "flag"}),
    before={"double": "if double: input = input * 2"},
    after={"negate": "-{result} if negate else {result}"},
    extra={"layout": "device", "flag": ""},
)


def made(native, signature=None, dialect=WORDS):
    return make_function(native, "f", signature, dialect, module="peer", filename=__file__)


def total(x, /, axis=None, keepdims=False, *, dtype=None, device="cpu"):
    """Adds."""
    return x, axis, keepdims, dtype, device


def test_a_table_has_names_by_lines():
    lines = parse_table(
        """
        # A comment.
        abs sin
        cat(tensors, dim=0) -> concat  # joins
        neg
        """,
        {"neg": "negative"},
    )
    assert list(lines) == ["abs", "sin", "cat", "neg"]
    assert lines["abs"] == (None, "abs") and lines["neg"] == (None, "negative")
    assert lines["cat"] == ("tensors, dim=0", "concat")
    with pytest.raises(ValueError, match="'abs' stands there twice"):
        parse_table("abs sin\nabs")


def test_signatures_are_read_with_their_defaults():
    names = [(each.name, each.default) for each in parse_signature('a, b=(1, 2), *sizes, c="x", d')]
    assert names == [("a", None), ("b", "(1, 2)"), ("sizes", None), ("c", "'x'"), ("d", None)]


def test_parameters_are_those_of_the_native_function_in_other_words():
    function = made(total)
    assert list(inspect.signature(function).parameters) == [
        "input",
        "dim",
        "keepdim",
        "dtype",
        "device",
        "layout",
        "flag",
    ]
    assert function(1, 2, True, dtype="a", layout="b") == (1, 2, True, "a", "cpu")
    assert function(input=1, dim=0) == (1, 0, False, None, "cpu")
    assert function.__name__ == "f" and function.__module__ == "peer" and function.__doc__ == "Adds."
    with pytest.raises(TypeError, match="axis"):
        function(1, axis=0)


def test_a_signature_has_its_own_order_and_defaults():
    function = made(total, "input, keepdim=True, dim=3, *, layout=None")
    assert function(1) == (1, 3, True, None, "cpu") and function(1, False, 2) == (1, 2, False, None, "cpu")


def test_two_parameters_with_one_native_word():
    assert made(lambda x, axis1, axis2, /: (x, axis1, axis2), "input, dim0, dim1")(0, 1, 2) == (0, 1, 2)
    assert made(lambda x, axis1, axis2, /: (x, axis1, axis2), "input, dim0, dim1")(0, dim1=1, dim0=2) == (0, 2, 1)


def test_none_asks_for_the_native_default():
    def scaled(x, /, axis=-1):
        return axis

    assert made(scaled, "input, dim=None")(0) == -1 and made(scaled, "input, dim=None")(0, 2) == 2


def test_sizes_one_by_one_or_together():
    function = made(lambda shape, dtype=None: (shape, dtype), "*shape, dtype=None")
    assert function(2, 3) == ((2, 3), None) == function((2, 3)) == function([2, 3]) == function(shape=(2, 3))
    assert function(2, dtype=1) == ((2,), 1) and function() == ((), None)
    assert made(lambda *arrays: arrays, "*tensors")(1, 2) == (1, 2)


def test_what_is_not_there_natively_has_its_default_only():
    function = made(lambda x: x, "input, mode='zeros'")
    assert function(1, "zeros") == 1
    with pytest.raises(NotImplementedError, match=r"\[f\] mode is 'zeros' here, which cannot be changed; got 'ones'"):
        function(1, mode="ones")
    with pytest.raises(TypeError, match=r"\[f\] the native function has no parameter for 'mode'"):
        made(lambda x: x, "input, mode")
    with pytest.raises(TypeError, match=r"\[f\] nothing is given for the native parameter 'y'"):
        made(lambda x, y, /: x, "input")


def test_statements_before_and_expressions_after_the_call():
    function = made(lambda x: x, "input, double=False, negate=False")
    assert function(3) == 3 and function(3, double=True) == 6 and function(3, negate=True) == -3


def test_over_its_argument():
    class Cell:
        def __init__(self, value):
            self.value = value

        def clone(self):
            return Cell(self.value)

        def copy_(self, other):
            self.value = other.value
            return self

    function = made(lambda x: Cell(x.value + 1), "input, inplace=False")
    cell = Cell(1)
    assert function(cell) is not cell and cell.value == 1
    assert function(cell, inplace=True) is cell and cell.value == 2


class Native:
    """Keeps its settings."""

    def __init__(self, size, axis=-1):
        self.settings = size, axis


def test_classes_take_other_words_and_know_the_objects_of_the_native_one():
    kind = make_class(Native, "Peer", None, WORDS, module="peer", filename=__file__)
    assert kind(3, dim=2).settings == (3, 2) and kind(3, flag=1).settings == (3, -1)
    assert kind.__name__ == "Peer" and kind.__module__ == "peer" and issubclass(kind, Native)
    assert isinstance(Native(1), kind) and issubclass(Native, kind) and not isinstance(3, kind)

    class Below(kind):
        def __init__(self):
            super().__init__(7, dim=1)

    assert Below().settings == (7, 1) and isinstance(Below(), kind) and not isinstance(kind(1), Below)


def test_a_class_of_methods_in_front():
    class Shown:
        def shown(self):
            return f"{self.settings}"

    dialect = Dialect(WORDS.words, base=lambda: Shown)
    kind = make_class(Native, "Peer", "size, dim=0", dialect, module="peer", filename=__file__, base=Shown)
    assert kind(1).shown() == "(1, 0)"
