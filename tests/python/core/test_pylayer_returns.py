"""What a PyLayer's backward may return, and what comes of it."""

import re
import traceback

import numpy as np
import pytest

import lamella as lm
from support.tensors import leaf


def product(gradients, **members):
    """A layer of two tensors and a number whose backward returns ``gradients(dy)``."""

    class Product(lm.PyLayer):
        @staticmethod
        def forward(ctx, a, b, number=1):
            return a * b * number

        @staticmethod
        def backward(ctx, dy):
            return gradients(dy)

    for name, value in members.items():
        setattr(Product, name, value)
    return Product


def test_one_gradient_for_each_tensor():
    a, b = leaf(2.0), leaf(3.0)
    product(lambda dy: (dy * 3, dy * 2)).apply(a, b, 1).backward()
    assert a.grad.item() == 3 and b.grad.item() == 2


@pytest.mark.parametrize("kind", [tuple, list])
def test_one_gradient_for_each_argument(kind):
    a, b = leaf(2.0), leaf(3.0)
    product(lambda dy: kind((dy * 3, dy * 2, None))).apply(a, b, 1).backward()
    assert a.grad.item() == 3 and b.grad.item() == 2


@pytest.mark.parametrize(
    ("gradients", "count"),
    [(lambda dy: (dy, dy, dy, dy), 4), (lambda dy: dy, 1), (lambda dy: (), 0), (lambda dy: None, 1)],
)
def test_wrong_counts(gradients, count):
    y = product(gradients).apply(leaf(1.0), leaf(1.0), 1)
    with pytest.raises(ValueError) as caught:
        y.backward()
    message = str(caught.value)
    assert message.startswith("[Product]") and f"{count} gradient" in message and "2" in message and "3" in message
    assert "a, b" in message


def test_missing_trailing_gradients_of_inputs_that_want_none():
    a = leaf(2.0)
    product(lambda dy: dy * 3).apply(a, lm.asarray([3.0])).backward()
    assert a.grad.item() == 3
    product(lambda dy: (dy * 3,)).apply(a, lm.asarray([3.0])).backward()
    assert a.grad.item() == 6


def test_a_gradient_in_the_place_of_a_number_is_a_miscount():
    y = product(lambda dy: (dy, dy, dy)).apply(leaf(1.0), leaf(1.0), 5)
    with pytest.raises(ValueError, match="number"):
        y.backward()


#: forward's parameters after ctx, the call, what backward returns, and the gradients of a, b and c. In the calls and
#: gradients A, B and C are leaves, K is a constant, g stands for the gradient times 10, 20 or 30.
COUNTS = [
    ("a, scale=0.01", "A", "g1, None", "10"),
    ("a, scale=0.01", "A", "g1, None, None, None", "10"),
    ("a, scale=0.01", "A, 2", "g1, None, None", "10"),
    ("a, scale=0.01", "A, scale=2", "[g1, None]", "10"),
    ("a, scale=0.01", "scale=2, a=A", "g1, None", "10"),
    ("a, *, scale=0.01", "A", "g1, None", "10"),
    ("a, *, scale=0.01, b=None", "A, b=B", "g1, None, g2", "10 20"),
    ("a, *, scale=0.01, b=None", "A, b=B", "g1, g2", "10 20"),
    ("a, scale=0.01, b=None", "A, b=B", "g1, None, g2", "10 20"),
    ("a, scale=0.01, b=None", "A, b=B", "g1, g2", "10 20"),
    ("a, scale=0.01, b=None", "A, b=B", "g1, g2, None", "10 20"),
    ("a, scale=0.01, b=None", "A, b=B", "g1, None, g2, None, None", "10 20"),
    ("a, scale=0.01, b=None", "b=B, a=A", "g1, None, g2", "10 20"),
    ("a, b=K", "A", "g1, g2", "10"),
    ("a, b=K, c=None", "A, c=C", "g1, g2, g3", "10 - 30"),
    ("a, b=[K, K]", "A", "g1, [g2, g2]", "10"),
    ("flag, a", "True, A", "None, g1", "10"),
    ("flag, a", "True, A", "g1", "10"),
    ("flag, a", "True, A", "None, g1, None", "10"),
    ("flag, a", "True, A", "g1, None, None", "10"),
    ("a, flag, b", "A, True, K", "g1, None, g2", "10"),
    ("a, flag, b", "A, True, K", "g1, g2", "10"),
    ("a, flag, b", "K, True, B", "g1, None, g2", "- 20"),
    ("a, flag, b", "A, True, B", "g1, g2, None, None", "10 20"),
    ("a, flag, b, name", "A, True, K, 'x'", "g1, None, g2, None", "10"),
    ("a, b, flag=True", "A, K", "g1, g2, None", "10"),
    ("a, b, flag=True", "K, B", "None, g2, None, None", "- 20"),
    ("a, *rest", "A, 3, B", "g1, None, g2", "10 20"),
    ("a, *rest", "A, 3, B", "g1, g2", "10 20"),
    ("a, *rest, scale=1", "A, B", "g1, g2, None", "10 20"),
    ("a, *rest, scale=1, c=None", "A, B, c=C", "g1, g2, None, g3", "10 20 30"),
    ("a, **rest", "A, z=B", "g1, g2, None", "10 20"),
    ("a, scale=1, **rest", "A, z=B", "g1, None, g2", "10 20"),
    ("xs, scale=1", "[A, B]", "[g1, g2], None", "10 20"),
    ("xs, scale=1", "[A, B]", "([g1, g2], None, None)", "10 20"),
    ("xs, scale=1", "[A, B]", "[g1, g2]", "10 20"),
    ("xs, scale=1", "[A, K]", "[g1, None]", "10"),
    ("xs, scale=1", "{'a': A, 'b': [B]}", "{'a': g1, 'b': [g2]}, None", "10 20"),
    ("xs, flag, c", "[A, B], True, K", "[g1, g2], None, g3", "10 20"),
    ("xs, c, flag=True", "[A, K], C", "[g1, g2], g3, None", "10 - 30"),
]


def called(parameters, call, returned):
    """The leaves after a backward pass through such a layer, a call of it, and the layer's class."""
    leaves = {"A": leaf(1.0), "B": leaf(1.0), "C": leaf(1.0)}
    values = {**leaves, "K": lm.ones([1])}

    def tensors(value):
        if isinstance(value, lm.Tensor):
            return [value]
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        return [x for part in parts for x in tensors(part)]

    scope = {"tensors": tensors, "lm": lm, **values}
    exec(
        f"class Layer(lm.PyLayer):\n"
        f"    @staticmethod\n    def forward(ctx, {parameters}):\n"
        f"        return sum(tensors({{k: v for k, v in locals().items() if k != 'ctx'}})) * 1\n"
        f"    @staticmethod\n    def backward(ctx, dy):\n"
        f"        g1, g2, g3 = 10 * dy, 20 * dy, 30 * dy\n        return {returned}\n"
        f"def call(): return Layer.apply({call})\n",
        scope,
    )
    return leaves, scope["call"], scope["Layer"]


@pytest.mark.parametrize(("parameters", "call", "returned", "expected"), COUNTS)
def test_counts(parameters, call, returned, expected):
    leaves, run, _ = called(parameters, call, returned)
    run().backward()
    wanted = [float(value) if value != "-" else None for value in expected.split()]
    wanted += [None] * (3 - len(wanted))
    assert [x.grad if x.grad is None else x.grad.item() for x in leaves.values()] == wanted


@pytest.mark.parametrize(
    ("parameters", "call", "returned", "words"),
    [
        ("a, scale=0.01", "A", "g1, g2", "2 gradients, expected 1"),
        ("a, scale=0.01", "A, 3", "g1, g2", "scale, which is not a tensor"),
        ("a, scale=0.01", "A", "g1, None, g2", "3 gradients, expected 1"),
        ("a, b=None", "A", "g1, g2", "2 gradients, expected 1"),
        ("a, flag, b", "A, True, B", "g1", "1 gradient, expected 2"),
        ("a, flag, b", "A, True, B", "g1, g2, None", "flag, which is not a tensor"),
        ("a, flag, b", "A, True, B", "g1, None, None, g2", "4 gradients, expected 2"),
        ("a, flag, b, c", "A, True, B, C", "None, None", "2 gradients, expected 3"),
    ],
)
def test_miscounts(parameters, call, returned, words):
    _, run, _ = called(parameters, call, returned)
    with pytest.raises(ValueError, match=re.escape(words)):
        run().backward()


@pytest.mark.parametrize(
    ("parameters", "call", "returned"),
    [("a, flag, b", "A, True, K", "g1, None, g2"), ("a, flag, b", "A, True, K", "g1, g2"), ("a, b", "A, K", "g1, g2")],
)
def test_the_paddle_dialect_is_strict(parameters, call, returned):
    _, run, layer = called(parameters, call, returned)
    layer._dialect = "paddle"
    with pytest.raises(ValueError, match="stop_gradient=True"):
        run().backward()


def test_none_means_no_gradient():
    a, b = leaf(2.0), leaf(3.0)
    product(lambda dy: (None, dy * 2)).apply(a, b).backward()
    assert a.grad is None and b.grad.item() == 2


def test_a_gradient_for_an_input_that_wants_none():
    a, b = leaf(2.0), lm.asarray([3.0])
    product(lambda dy: (dy * 3, dy * 2)).apply(a, b).backward()
    assert a.grad.item() == 3 and b.grad is None
    y = product(lambda dy: (dy * 3, dy * 2), _dialect="paddle").apply(a, b)
    with pytest.raises(ValueError, match=r"\[Product\].*\bb\b.*stop_gradient=True"):
        y.backward()


@pytest.mark.parametrize("value", [1.0, "text", np.ones(1, np.float32), object()])
def test_neither_tensor_nor_none(value):
    y = product(lambda dy: (dy, value)).apply(leaf(1.0), leaf(1.0))
    with pytest.raises(TypeError, match=rf"\[Product\].*{type(value).__name__}.*\bb\b.*item 1"):
        y.backward()


def test_one_argument_and_something_else_returned():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            return 3.0

    with pytest.raises(TypeError, match=r"\[Layer\].*float"):
        Layer.apply(leaf(1.0)).backward()


def test_shapes():
    a, b = leaf(1.0, 2.0), leaf(3.0)
    product(lambda dy: (dy, dy * 2)).apply(a, b).sum().backward()
    assert b.grad.tolist() == [4]
    y = product(lambda dy: (lm.ones((3, 2)), None)).apply(a, b)
    y.sum().backward()
    assert a.grad.tolist() == [4, 4]
    y = product(lambda dy: (lm.ones((3,)), None)).apply(leaf(1.0, 2.0), b)
    with pytest.raises(ValueError, match=r"shape \[3\].*shape \[2\]"):
        y.sum().backward()


def test_dtypes_are_cast():
    a, b = leaf(1.0), leaf(2.0, dtype="float64")
    product(lambda dy: (dy.astype("float64"), dy.astype("float32"))).apply(a, b).backward()
    assert a.grad.dtype == lm.float32 and b.grad.dtype == lm.float64


def test_another_device():
    y = product(lambda dy: (lm.zeros((1,), device="meta"), None)).apply(leaf(1.0), leaf(1.0))
    with pytest.raises(RuntimeError, match=r"\[Product\].*meta.*cpu"):
        y.backward()


class Mine(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


def test_an_exception_keeps_its_type_and_its_traceback_and_says_where_apply_was_called():
    def failing(dy):
        raise Mine("a", 2)

    line = traceback.extract_stack()[-1].lineno + 1
    y = product(failing).apply(leaf(1.0), leaf(1.0))
    with pytest.raises(Mine) as caught:
        (y * 2).backward()
    assert caught.value.args == ("a", 2)
    assert "failing" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert any(re.search(rf"Product.*apply.*test_pylayer_returns\.py:{line}$", note) for note in caught.value.__notes__)
    # The next pass starts clean.
    a = leaf(2.0)
    (a * a).backward()
    assert a.grad.item() == 4 and lm.is_grad_enabled()


def test_keyboard_interrupt_comes_out():
    def interrupted(dy):
        raise KeyboardInterrupt

    y = product(interrupted).apply(leaf(1.0), leaf(1.0))
    with pytest.raises(KeyboardInterrupt):
        y.backward()


def test_an_exception_in_forward_leaves_the_mode_as_it_was():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            raise Mine(1, 2)

    with pytest.raises(Mine):
        Layer.apply(leaf(1.0))
    assert lm.is_grad_enabled()
    assert not (leaf(1.0) * 2).stop_gradient


def test_wrong_forms_of_containers():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, things, x):
            return things["a"] + things["b"] + x

        @staticmethod
        def backward(ctx, dy):
            return Layer.returned(dy), dy

    def run(returned):
        Layer.returned = staticmethod(returned)
        Layer.apply({"a": leaf(1.0), "b": leaf(2.0)}, leaf(3.0)).backward()

    for returned, error, message in [
        (lambda dy: {"a": dy, "c": dy}, ValueError, "keys"),
        (lambda dy: {"a": dy, "b": 3}, TypeError, "'b'"),
        (lambda dy: [dy], ValueError, "things"),
        (lambda dy: dy, ValueError, "things"),
        (lambda dy: 3, TypeError, "int"),
    ]:
        with pytest.raises(error, match=message):
            run(returned)
    run(lambda dy: {"b": dy})


class TestPaddleDialect:
    def test_an_input_returned_is_changed_in_place(self):
        class Layer(lm.PyLayer):
            _dialect = "paddle"

            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, dy):
                return dy * 2

        x = leaf(1.0)
        with pytest.raises(ValueError, match="leaf"):
            Layer.apply(x)
        h = x * 3
        assert Layer.apply(h) is h
        h.backward()
        assert x.grad.item() == 6

    def test_no_backward_is_also_an_os_error(self):
        class Layer(lm.PyLayer):
            _dialect = "paddle"

            @staticmethod
            def forward(ctx, x):
                return x * 1

        y = Layer.apply(leaf(1.0))
        with pytest.raises(OSError, match=r"\[Layer\]"):
            y.backward()
        with pytest.raises(NotImplementedError):
            Layer.apply(leaf(1.0)).backward()

    def test_integer_outputs_pass_gradients_through_casts(self):
        class Layer(lm.PyLayer):
            _dialect = "paddle"

            @staticmethod
            def forward(ctx, x):
                return x.astype("int32")

            @staticmethod
            def backward(ctx, dy):
                return dy.astype("float32") * 5

        x = leaf(2.0)
        y = Layer.apply(x)
        assert not y.stop_gradient
        y.astype("float32").sum().backward()
        assert x.grad.item() == 5


@pytest.mark.parametrize(
    ("parameters", "call", "jvp", "expected"),
    [
        ("x, a=2.0", "X", "dx, da", "(dx, None)"),
        ("x, a=2.0", "X", "dx", "(dx,)"),
        ("x, a=2.0", "X", "dx, da=7", "(dx, 7)"),
        ("x, a=2.0", "X, a=3", "dx, da", "(dx, None)"),
        ("x, a=2.0, y=None", "X, y=X", "dx, da, dy", "(dx, None, dx)"),
        ("x, a=2.0, y=None", "X, y=X", "dx, dy", "(dx, dx)"),
        ("x, *, a=2.0, y=None", "X, y=X", "dx, da, dy", "(dx, None, dx)"),
        ("x, *rest, a=2.0", "X, 1, X", "dx, d1, dy, da", "(dx, None, dx, None)"),
        ("x, a=2.0", "X", "*d", "(dx,)"),
    ],
)
def test_jvp_counts_arguments_left_at_their_defaults_or_not(parameters, call, jvp, expected):
    scope = {"lm": lm, "seen": []}
    exec(
        f"class Layer(lm.PyLayer):\n"
        f"    @staticmethod\n    def forward(ctx, {parameters}): return x * 1\n"
        f"    @staticmethod\n    def jvp(ctx, {jvp}):\n"
        f"        seen.append({'d' if jvp == '*d' else '(' + jvp.replace('=7', '') + ',)'})\n"
        f"        return lm.ones([1])\n"
        f"def call(X): return Layer.apply({call})\n",
        scope,
    )
    tangent = lm.full([1], 5.0)
    lm.jvp(scope["call"], leaf(1.0).detach(), tangent)
    shown = tuple(5 if isinstance(d, lm.Tensor) else d for d in scope["seen"][0])
    assert shown == eval(expected, {"dx": 5})
