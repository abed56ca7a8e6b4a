"""How a PyLayer is called, what it may take and return."""

import collections
import dataclasses
import functools

import numpy as np
import pytest

import lamella as lm
from support.layers import Cube
from support.tensors import leaf


def close(x, expected):
    np.testing.assert_allclose(x.detach().numpy() if isinstance(x, lm.Tensor) else x, expected, rtol=1e-6)


def test_forward_and_backward():
    x = leaf(1.0, 2.0)
    y = Cube.apply(x)
    assert not y.stop_gradient and not y.is_leaf
    assert y.grad_fn.name == "Cube"
    assert y.grad_fn.next_functions[0][0].name == "AccumulateGrad"
    y.sum().backward()
    close(x.grad, [3, 12])


def test_recording_is_off_in_forward():
    seen = []

    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            seen.append((lm.is_grad_enabled(), (x * 2).stop_gradient))
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            seen.append(lm.is_grad_enabled())
            return dy * 2

    Layer.apply(leaf(1.0)).backward()
    assert seen == [(False, True), False]
    assert lm.is_grad_enabled()


def test_nothing_is_recorded_where_nothing_wants_a_gradient():
    y = Cube.apply(lm.asarray([2.0]))
    assert y.stop_gradient and y.grad_fn is None
    with lm.no_grad():
        y = Cube.apply(leaf(2.0))
    assert y.stop_gradient and y.grad_fn is None


def test_keyword_arguments_count_in_the_order_of_the_signature():
    class Weighted(lm.PyLayer):
        @staticmethod
        def forward(ctx, a, b, *, c, factor=1.0):
            ctx.factor = factor
            return (a + 2 * b + 3 * c) * factor

        @staticmethod
        def backward(ctx, dy):
            return dy * ctx.factor, 2 * dy * ctx.factor, 3 * dy * ctx.factor

    a, b, c = leaf(1.0), leaf(1.0), leaf(1.0)
    y = Weighted.apply(c=c, factor=10.0, b=b, a=a)
    close(y, [60])
    y.backward()
    close(a.grad, [10])
    close(b.grad, [20])
    close(c.grad, [30])


def test_keywords_of_a_dictionary_come_last_in_the_order_of_the_call():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x, **others):
            return x + others["z"] + others["y"]

        @staticmethod
        def backward(ctx, dy):
            return dy, 2 * dy, 3 * dy

    x, y, z = leaf(0.0), leaf(0.0), leaf(0.0)
    Layer.apply(z=z, x=x, y=y).backward()
    assert [x.grad.item(), z.grad.item(), y.grad.item()] == [1, 2, 3]


def test_arguments_of_any_type_and_defaults():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x, function, text="a", *rest):
            ctx.kept = (text, rest)
            return function(x)

        @staticmethod
        def backward(ctx, dy):
            assert ctx.kept == ("b", (1, None))
            return dy

    x = leaf(2.0)
    Layer.apply(x, lm.square, "b", 1, None).backward()
    close(x.grad, [1])


Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Batch:
    inputs: lm.Tensor
    name: str
    weights: lm.Tensor


@pytest.mark.parametrize(
    ("make", "gradient"),
    [
        (lambda a, b: [a, b], lambda g: [g, 2 * g]),
        (lambda a, b: (a, 5, b), lambda g: (g, None, 2 * g)),
        (lambda a, b: (a, 5, b), lambda g: (g, 2 * g)),
        (lambda a, b: {"a": a, "n": 1, "b": b}, lambda g: {"a": g, "b": 2 * g}),
        (lambda a, b: Pair(a, b), lambda g: Pair(g, 2 * g)),
        (lambda a, b: [[a], {"b": (b, "text")}], lambda g: [[g], {"b": (2 * g, None)}]),
        (lambda a, b: Batch(a, "name", b), lambda g: Batch(g, None, 2 * g)),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_containers_of_tensors_as_arguments(make, gradient, alone):
    def flat(value):
        if isinstance(value, lm.Tensor):
            return [value]
        if dataclasses.is_dataclass(value):
            value = vars(value)
        if isinstance(value, dict):
            value = list(value.values())
        return [t for part in value for t in flat(part)] if isinstance(value, (list, tuple)) else []

    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, things, scale=None):
            a, b = flat(things)
            return a + 2 * b if scale is None else (a + 2 * b) * scale

        @staticmethod
        def backward(ctx, dy):
            return gradient(dy) if alone else (gradient(dy), None)

    a, b = leaf(1.0), leaf(2.0)
    y = Layer.apply(make(a, b)) if alone else Layer.apply(make(a, b), 1.0)
    y.backward()
    close(a.grad, [1])
    close(b.grad, [2])


def test_the_structure_of_results_comes_back():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return {"a": x * 2, "rest": [Pair(x * 3, "text"), None], "batch": Batch(x * 4, "n", x * 5)}, x.shape

        @staticmethod
        def backward(ctx, *grads):
            assert len(grads) == 4
            return 2 * grads[0] + 3 * grads[1] + 4 * grads[2] + 5 * grads[3]

    x = leaf(1.0)
    result, shape = Layer.apply(x)
    assert shape == (1,)
    assert list(result) == ["a", "rest", "batch"]
    assert isinstance(result["rest"][0], Pair) and result["rest"][0].second == "text" and result["rest"][1] is None
    assert isinstance(result["batch"], Batch) and result["batch"].name == "n"
    tensors = [result["a"], result["rest"][0].first, result["batch"].inputs, result["batch"].weights]
    assert all(t.grad_fn.name == "Layer" for t in tensors)
    sum(tensors, lm.zeros(1)).backward()
    close(x.grad, [14])


def test_what_forward_keeps_of_its_results_is_not_changed():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = [x * 2, x * 3]
            return ctx.kept

        @staticmethod
        def backward(ctx, a, b):
            assert all(t.grad_fn is None for t in ctx.kept)
            return 2 * a + 3 * b

    x = leaf(1.0)
    result = Layer.apply(x)
    assert isinstance(result, list) and all(t.grad_fn.name == "Layer" for t in result)
    (result[0] + result[1]).backward()
    close(x.grad, [5])


@pytest.mark.parametrize("result", [None, 3, "text", [], (1, None), {"a": 1}])
@pytest.mark.parametrize("recorded", [True, False])
def test_no_tensor_returned(result, recorded):
    class Empty(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return result

        @staticmethod
        def backward(ctx, dy):
            return dy

    with pytest.raises(ValueError, match=r"\[Empty\] forward returned no tensor"):
        Empty.apply(leaf(1.0) if recorded else lm.asarray([1.0]))


def test_what_was_returned_in_place_of_a_tensor_is_named():
    class Array(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x.detach().numpy()

    with pytest.raises(ValueError, match=r"no tensor, but numpy.ndarray: make a tensor of it by lamella.asarray"):
        Array.apply(leaf(1.0))


def test_a_layer_is_not_called_by_its_class():
    class Double(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

    with pytest.raises(TypeError, match=r"\[Double\] a layer is called by its apply: Double.apply\(...\)"):
        Double(leaf(1.0))
    assert isinstance(Double(), lm.PyLayer)


def test_setup_context():
    class Scale(lm.PyLayer):
        @staticmethod
        def forward(x, factor):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            assert not lm.is_grad_enabled()
            x, ctx.factor = inputs
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx, dy):
            x, y = ctx.saved_tensors
            close(y, x.numpy() * ctx.factor)
            return dy * ctx.factor, None

    x = leaf(1.0, 2.0)
    Scale.apply(x, 3.0).sum().backward()
    close(x.grad, [3, 3])
    x.clear_grad()
    Scale.apply(factor=4.0, x=x).sum().backward()
    close(x.grad, [4, 4])


def test_forward_and_backward_may_be_class_methods_or_inherited():
    class Base(lm.PyLayer):
        factor = 2.0

        @classmethod
        def forward(cls, ctx, x):
            return x * cls.factor

        @classmethod
        def backward(cls, ctx, dy):
            return dy * cls.factor

    class Derived(Base):
        factor = 5.0

    for layer in (Base, Derived, Base):
        x = leaf(1.0)
        layer.apply(x).backward()
        assert x.grad.item() == layer.factor


def test_a_class_may_change():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            return dy * 2

    x = leaf(1.0)
    y = Layer.apply(x)
    Layer.backward = staticmethod(lambda ctx, dy: dy * 7)
    y.backward()
    assert x.grad.item() == 7
    Layer.forward = staticmethod(lambda ctx, x: x * 9)
    assert Layer.apply(x).item() == 9


def test_an_input_returned_becomes_a_new_tensor_on_the_same_memory():
    class Identity(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, dy):
            return dy * 2

    x = leaf(1.0)
    y = Identity.apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and y.grad_fn.name == "Identity" and x.is_leaf
    y.backward()
    assert x.grad.item() == 2
    plain = lm.asarray([1.0])
    assert Identity.apply(plain) is not plain


def test_an_integer_output_is_not_differentiable():
    class Order(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2, lm.argmax(x)

        @staticmethod
        def backward(ctx, dy, none):
            assert none.dtype == lm.int64 and none.shape == ()
            return dy * 2

    x = leaf(1.0, 3.0)
    y, position = Order.apply(x)
    assert position.stop_gradient and position.item() == 1
    y.sum().backward()
    close(x.grad, [2, 2])


def test_a_layer_without_forward_or_backward():
    class Nothing(lm.PyLayer):
        pass

    class Forward(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    with pytest.raises(NotImplementedError, match=r"\[Nothing\] the layer defines no forward"):
        Nothing.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="the layer defines no forward"):
        lm.PyLayer.apply(leaf(1.0))
    y = Forward.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match=r"\[Forward\] the layer defines no backward") as caught:
        y.backward()
    assert not isinstance(caught.value, OSError)


def test_a_subclass_of_tensor_as_input():
    class Marked(lm.Tensor):
        pass

    x = Marked([2.0], stop_gradient=False)
    Cube.apply(x).backward()
    assert x.grad.item() == 12


def test_many_arguments_and_results():
    class Many(lm.PyLayer):
        @staticmethod
        def forward(ctx, *xs):
            return tuple(x * i for i, x in enumerate(xs))

        @staticmethod
        def backward(ctx, *grads):
            return tuple(g * i for i, g in enumerate(grads))

    xs = [leaf(1.0) for _ in range(40)]
    ys = Many.apply(*xs)
    lm.autograd.backward(ys)
    assert [x.grad.item() for x in xs] == list(range(40))


def test_a_container_that_holds_itself():
    loop = [leaf(1.0)]
    loop.append(loop)
    with pytest.raises(RecursionError):
        Cube.apply(loop)

    class Loop(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            result = [x * 1]
            result.append(result)
            return result

        @staticmethod
        def backward(ctx, dy):
            return dy

    with pytest.raises(RecursionError):
        Loop.apply(leaf(1.0))
    Cube.apply(leaf(1.0)).backward()


def test_wrong_calls():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Cube.apply()
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        Cube.apply(leaf(1.0), other=2)
    with pytest.raises(TypeError, match="takes 2 positional arguments"):
        Cube.apply(leaf(1.0), leaf(1.0))


#: forward's parameters, the call, and what setup_context gets: the arguments in the order of the signature.
BOUND = [
    ("x, a=2.0", "X", "X, 2.0"),
    ("x, a=2.0", "X, 3", "X, 3"),
    ("x, a=2.0", "X, a=3", "X, 3"),
    ("x, a=2.0", "a=3, x=X", "X, 3"),
    ("x, a=2.0, b=None, c='c'", "X, c=1", "X, 2.0, None, 1"),
    ("x, a=2.0, b=None, c='c'", "X, c=1, b=[X]", "X, 2.0, [X], 1"),
    ("x, *, k=3", "X", "X, 3"),
    ("x, *, k=3, l=4", "X, l=5", "X, 3, 5"),
    ("x, *, k, l=4", "X, k=5", "X, 5, 4"),
    ("x, a=1, *, k=3", "X, k=2", "X, 1, 2"),
    ("x, *rest", "X", "X"),
    ("x, *rest", "X, 1, X", "X, 1, X"),
    ("x, a=1, *rest, k=3", "X", "X, 1, 3"),
    ("x, a=1, *rest, k=3", "X, 5, 6, 7", "X, 5, 6, 7, 3"),
    ("x, **named", "X, z=1, y=2", "X, 1, 2"),
    ("x, a=1, **named", "X, z=1", "X, 1, 1"),
    ("xs, a=None", "[X, {'k': X}]", "[X, {'k': X}], None"),
    ("x, w=W", "X", "X, W"),
]


@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize(("parameters", "call", "expected"), BOUND)
def test_setup_context_sees_all_arguments(parameters, call, expected, decorated):
    def through(function):
        return functools.wraps(function)(lambda *args, **kwargs: function(*args, **kwargs))

    def is_same(a, b):
        return (
            a is b
            if isinstance(b, lm.Tensor)
            else type(a) is type(b)
            and (
                all(map(is_same, a, b))
                if isinstance(b, list | tuple)
                else a.keys() == b.keys()
                if isinstance(b, dict)
                else a == b
            )
        )

    scope = {"lm": lm, "X": leaf(1.0), "W": leaf(2.0), "wrap": through if decorated else lambda f: f, "seen": []}
    exec(
        f"class Layer(lm.PyLayer):\n"
        f"    @staticmethod\n    @wrap\n    def forward({parameters}): return X * 2\n"
        f"    @staticmethod\n    def setup_context(ctx, inputs, output):\n"
        f"        seen.append((inputs, len(ctx.needs_input_grad), output))\n"
        f"    @staticmethod\n    def backward(ctx, dy): return (None,) * len(ctx.needs_input_grad)\n"
        f"y = Layer.apply({call})\ny.backward()\n"
        f"with lm.no_grad(): Layer.apply({call})\n",
        scope,
    )
    wanted = eval(f"({expected},)", scope)
    for inputs, count, _ in scope["seen"]:
        assert is_same(inputs, wanted) and count == len(wanted)
    assert len(scope["seen"]) == 2


def test_a_default_that_wants_a_gradient_is_an_input_where_there_is_a_setup_context():
    w = leaf(2.0)

    class Layer(lm.PyLayer):
        @staticmethod
        def forward(x, w=w):
            return x * w

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, dy):
            x, w = ctx.saved_tensors
            return dy * w, dy * x

    x = leaf(3.0)
    Layer.apply(x).backward()
    assert (x.grad.item(), w.grad.item()) == (2, 3)


@pytest.mark.parametrize("call", ["()", "(x, 1, 2)", "(x, x=x)", "(x, b=1)", "(a=1)"])
def test_a_call_that_does_not_fit_is_refused_as_python_refuses_it(call):
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(x, a=1):
            return x * a

        @staticmethod
        def setup_context(ctx, inputs, output):
            raise AssertionError

        @staticmethod
        def backward(ctx, dy):
            return dy

    with pytest.raises(TypeError, match=r"forward\(\)"):
        eval(f"Layer.apply{call}", {"Layer": Layer, "x": leaf(1.0)})
