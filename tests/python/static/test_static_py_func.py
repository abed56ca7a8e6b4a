"""py_func in programs and outside: forms of inputs and outputs, gradients, checks, exceptions."""

import math

import numpy as np
import pytest

import lamella as lm
from lamella import static

Spec = static.InputSpec


def tanh(x):
    return np.tanh(x)


def tanh_grad(x, y, dy):
    return np.array(dy) * (1 - np.square(np.array(y)))


def tanh_grad_of_output(y, dy):
    return np.array(dy) * (1 - np.square(np.array(y)))


def tanh_grad_of_input(x, dy):
    return np.array(dy) * (1 - np.tanh(x) ** 2)


def tanh_grad_alone(dy):
    return np.array(dy)


#: Name, positions to skip among (input, output), the backward function, and the slope that it gives.
SKIPS = {
    "nothing": ((), tanh_grad, lambda x: 1 - np.tanh(x) ** 2),
    "the input": ((0,), tanh_grad_of_output, lambda x: 1 - np.tanh(x) ** 2),
    "the output": ((1,), tanh_grad_of_input, lambda x: 1 - np.tanh(x) ** 2),
    "both": ((0, 1), tanh_grad_alone, np.ones_like),
}


@pytest.mark.parametrize("form", [lambda v: v[0] if len(v) == 1 else v, list, tuple], ids=["alone", "list", "tuple"])
@pytest.mark.parametrize("skipped", SKIPS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_in_a_program(bench, rng, skipped, form, dtype):
    positions, backward, slope = SKIPS[skipped]
    x = static.data("x", [-1, 3], dtype)
    x.stop_gradient = False
    out = bench.declare("out", [-1, 3], dtype)
    skip = form([(x, out)[i] for i in positions]) if positions else None
    returned = static.py_func(tanh, form([x]), form([out]), backward, skip)
    assert (returned if isinstance(returned, (list, tuple)) else [returned])[0] is out
    (dx,) = static.gradients(lm.sum(out * out), x)
    values = rng.normal(size=(5, 3)).astype(dtype)
    y, g = bench.run({"x": values}, [out, dx])
    np.testing.assert_allclose(y, np.tanh(values), 1e-6)
    np.testing.assert_allclose(g, 2 * np.tanh(values) * slope(values), 1e-5)
    assert g.dtype == values.dtype and dx.name == "x@GRAD"


@pytest.mark.parametrize("skipped", SKIPS)
def test_gradients_at_once(rng, skipped):
    positions, backward, slope = SKIPS[skipped]
    values = rng.normal(size=(5, 3)).astype("float32")
    x = lm.tensor(values, stop_gradient=False)
    out = Spec([-1, 3])
    skip = [(x, out)[i] for i in positions]
    y = static.py_func(tanh, x, out, backward, skip or None)
    lm.sum(y * y).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.tanh(values) * slope(values), 1e-5)


def test_outputs_at_once_may_be_tensors(rng):
    x = lm.tensor(rng.normal(size=(2, 2)), stop_gradient=False)
    out = lm.zeros((2, 2), dtype="float64")
    assert static.py_func(tanh, x, out, tanh_grad) is out
    np.testing.assert_allclose(out.detach().numpy(), np.tanh(x.detach().numpy()))
    lm.sum(out).backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 - np.tanh(x.detach().numpy()) ** 2)


@pytest.mark.parametrize("kind", [lambda: Spec([2, 2], "float64"), lambda: np.zeros((2, 2))], ids=["spec", "array"])
@pytest.mark.parametrize("form", [lambda v: v[0], list, tuple], ids=["alone", "list", "tuple"])
def test_outputs_may_be_described(bench, rng, kind, form):
    values = rng.normal(size=(2, 2))
    with static.program.paused():
        out = kind()
        returned = static.py_func(tanh, lm.tensor(values), form([out]))
        returned = returned if isinstance(returned, lm.Tensor) else returned[0]
        np.testing.assert_allclose(returned.numpy(), np.tanh(values))
        if isinstance(out, np.ndarray):
            np.testing.assert_allclose(out, np.tanh(values))
    x = static.data("x", [2, 2], "float64")
    returned = static.py_func(tanh, x, form([kind()]), tanh_grad_of_output, x)
    returned = returned if isinstance(returned, static.Variable) else returned[0]
    assert (returned.dtype, tuple(returned.shape)) == (lm.float64, (2, 2))
    np.testing.assert_allclose(bench.run({"x": values}, [returned])[0], np.tanh(values))


def two(x, y):
    return np.array(x) * np.array(y), np.array(x) + np.array(y)


def two_grad(x, y, product, total, d_product, d_total):
    x, y = np.array(x), np.array(y)
    first = 0 if d_product is None else np.array(d_product)
    second = 0 if d_total is None else np.array(d_total)
    return first * y + second, first * x + second


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("form", [list, tuple])
def test_several_inputs_and_outputs(bench, rng, used, form):
    x, y = static.data("x", [-1]), static.data("y", [-1])
    x.stop_gradient = y.stop_gradient = False
    outs = [bench.declare("product", [-1]), bench.declare("total", [-1])]
    seen = []

    def backward(*args):
        seen.append([each is None for each in args])
        return two_grad(*args)

    static.py_func(two, form([x, y]), form(outs), backward)
    grads = static.gradients([lm.sum(outs[i]) for i in used], [x, y])
    a, b = rng.normal(size=(2, 4)).astype("float32")
    product, total, dx, dy = bench.run({"x": a, "y": b}, [*outs, *grads])
    np.testing.assert_allclose(product, a * b, 1e-6)
    np.testing.assert_allclose(total, a + b, 1e-6)
    np.testing.assert_allclose(dx, (0 in used) * b + (1 in used), 1e-6)
    np.testing.assert_allclose(dy, (0 in used) * a + (1 in used), 1e-6)
    # An output that nothing depends on has no gradient, and the function is given None for it.
    assert seen == [[False] * 4 + [i not in used for i in range(2)]]


def test_no_gradient_for_an_integer_input(bench, rng):
    scores, label = static.data("scores", [-1, 3]), static.data("label", [-1, 1], "int64")
    scores.stop_gradient = False
    out = bench.declare("out", [-1, 1])
    seen = []

    def pick(scores, label):
        return np.take_along_axis(np.array(scores), np.array(label), 1)

    def pick_grad(scores, label, d):
        seen.append(str(label.dtype))
        grad = np.zeros(np.array(scores).shape, "float32")
        np.put_along_axis(grad, np.array(label), np.array(d), 1)
        return grad, None

    static.py_func(pick, [scores, label], out, pick_grad, skip_vars_in_backward_input=out)
    (d,) = static.gradients(lm.sum(out), scores)
    values, labels = rng.normal(size=(4, 3)).astype("float32"), rng.integers(0, 3, (4, 1))
    y, g = bench.run({"scores": values, "label": labels}, [out, d])
    assert (y == np.take_along_axis(values, labels, 1)).all()
    assert (g.sum(1) == 1).all() and (g.argmax(1) == labels[:, 0]).all() and seen == ["int64"]


def test_no_inputs_and_no_outputs(bench, capsys):
    x = static.data("x", [2])
    start = bench.declare("start", [1], "int32")
    assert static.py_func(lambda: np.array([7], "int32"), None, start) is start
    seen = []
    assert (
        static.py_func(lambda a, b: seen.append((np.array(a).tolist(), np.array(b).tolist())), (x, start), None) is None
    )
    static.py_func(lambda a: print(a), x, None)
    static.py_func(lambda: seen.append("nothing"), None, None)
    assert not seen
    for _ in range(2):
        assert bench.run({"x": np.array([1, 2], "float32")}, [start])[0].tolist() == [7]
    assert seen == [([1.0, 2.0], [7]), "nothing"] * 2
    assert capsys.readouterr().out.count("Tensor([1., 2.]") == 2


def test_a_debugging_function_does_not_change_gradients(bench, rng):
    x = static.data("x", [-1])
    x.stop_gradient = False
    y = lm.tanh(x)
    seen = []
    static.py_func(lambda y: seen.append(np.array(y)), y, None)
    (g,) = static.gradients(lm.sum(y), x)
    values = rng.normal(size=3).astype("float32")
    np.testing.assert_allclose(bench.run({"x": values}, [g])[0], 1 - np.tanh(values) ** 2, 1e-5)
    np.testing.assert_allclose(seen[0], np.tanh(values), 1e-6)


@pytest.mark.parametrize(
    ("returned", "shape", "dtype", "expected"),
    [
        (np.ones((2, 2), "float32"), [-1, 2], "float32", [[1, 1], [1, 1]]),
        (lm.ones((2, 2)), [2, 2], "float32", [[1, 1], [1, 1]]),
        ([[1, 2], [3, 4]], [2, 2], "float32", [[1, 2], [3, 4]]),
        ([np.ones(2, "float32")], [2], "float32", [1, 1]),
        ((lm.ones(2),), [2], "float32", [1, 1]),
        (3, [], "int64", 3),
        (2.5, [], "float64", 2.5),
        (np.float32(2.5), [], "float32", 2.5),
        (range(3), [3], "int32", [0, 1, 2]),
        (np.array([True, False]), [-1], "bool", [True, False]),
        (np.array([1 + 2j], "complex64"), [1], "complex64", [1 + 2j]),
        (np.ones((2, 3), "float32").T, [3, 2], "float32", [[1, 1]] * 3),
        (np.zeros((0, 3), "float32"), [-1, 3], "float32", []),
    ],
    ids=str,
)
@pytest.mark.parametrize("eager", [False, True], ids=["program", "eager"])
def test_results_are_arrays_tensors_or_numbers(bench, returned, shape, dtype, expected, eager):
    if eager:
        with static.program.paused():
            result = static.py_func(lambda: returned, None, Spec(shape, dtype)).numpy()
    else:
        out = bench.declare("out", shape, dtype)
        static.py_func(lambda: returned, None, out)
        (result,) = bench.run(fetch_list=[out])
    assert result.tolist() == expected and str(result.dtype) == dtype


def test_results_are_copies(bench):
    buffer = np.zeros(2, "float32")

    def count():
        buffer[:] += 1
        return buffer

    outs = [bench.declare(name, [2]) for name in ("a", "b")]
    for out in outs:
        static.py_func(count, None, out)
    a, b = bench.run(fetch_list=outs)
    assert a.tolist() == [1, 1] and b.tolist() == [2, 2]


@pytest.mark.parametrize("eager", [False, True], ids=["program", "eager"])
def test_functions_may_write_into_what_they_are_given(bench, rng, eager):
    def square(x):
        x = np.asarray(x)
        x *= x
        return x

    def square_grad(x, y, dy):
        x, y, dy = np.asarray(x), np.asarray(y), np.asarray(dy)
        dy *= 2 * x
        x[:] = y[:] = 0
        return dy

    values = rng.normal(size=3).astype("float32")
    if eager:
        with static.program.paused():
            x = lm.tensor(values, stop_gradient=False)
            y = static.py_func(square, x, Spec([3]), square_grad)
            lm.sum(y * y + x * x).backward()
            found, slope = y.detach().numpy(), x.grad.numpy()
            np.testing.assert_array_equal(x.detach().numpy(), values)
    else:
        x, y = static.data("x", [3]), bench.declare("y", [3])
        static.py_func(square, x, y, square_grad)
        found, slope = bench.run({"x": values}, [y, *static.gradients(lm.sum(y * y + x * x), x)])
    np.testing.assert_allclose(found, values**2, 1e-6)
    np.testing.assert_allclose(slope, 4 * values**3 + 2 * values, 1e-5)


def test_a_variable_may_be_computed_twice(bench):
    x = static.data("x", [2])
    out = bench.declare("out", [2])
    static.py_func(lambda x: np.array(x) + 1, x, out)
    first = out * 1
    static.py_func(lambda x: np.array(x) * 10, out, out)
    a, b = bench.run({"x": np.array([1, 2], "float32")}, [first, "out"])
    assert a.tolist() == [2, 3] and b.tolist() == [20, 30]


def wrong(message, kind=ValueError, **options):
    return (kind, message, options)


ERRORS = {
    "a dtype": wrong(["'out'", "float64", "float32", "astype"], TypeError, func=lambda x: np.array(x, "float64")),
    "a shape": wrong(["'out'", "[1, 2]", "[-1, 3]"], func=lambda x: np.ones((1, 2), "float32")),
    "a rank": wrong(["'out'", "[3]", "[-1, 3]"], func=lambda x: np.ones(3, "float32")),
    "two results": wrong(["2 results", "1 outputs", "out"], func=lambda x: (np.ones(1), np.ones(1))),
    "None": wrong(["'out'", "None"], func=lambda x: None),
    "text": wrong(["'out'", "str"], TypeError, func=lambda x: "text"),
    "two gradients": wrong(["2 gradients", "1 inputs", "x"], backward=lambda x, y, d: (d, d)),
    "a gradient's shape": wrong(["'x'", "[3]", "[2, 3]"], backward=lambda x, y, d: np.ones(3, "float32")),
    "a gradient's kind": wrong(["'x'", "str"], TypeError, backward=lambda x, y, d: "text"),
}


@pytest.mark.parametrize("eager", [False, True], ids=["program", "eager"])
@pytest.mark.parametrize("case", ERRORS)
def test_what_functions_return_is_checked(bench, case, eager):
    kind, words, options = ERRORS[case]
    func, backward = options.get("func", tanh), options.get("backward", tanh_grad)
    values = np.ones((2, 3), "float32")
    with pytest.raises(kind) as caught:
        if eager:
            with static.program.paused():
                x = lm.tensor(values, stop_gradient=False)
                lm.sum(static.py_func(func, x, Spec([-1, 3], name="out"), backward)).backward()
        else:
            x = static.data("x", [-1, 3])
            x.stop_gradient = False
            out = bench.declare("out", [-1, 3])
            static.py_func(func, x, out, backward)
            bench.run({"x": values}, static.gradients(lm.sum(out), x))
    message = str(caught.value)
    assert message.startswith("[py_func]")
    # Outside of a program a tensor has no name.
    assert not [word for word in words if word.replace("'x'", "'x[0]'" if eager else "'x'") not in message], message


class Mine(Exception):
    pass


@pytest.mark.parametrize("where", ["func", "backward_func"])
@pytest.mark.parametrize("kind", [Mine, AssertionError, KeyError, ZeroDivisionError])
def test_exceptions_keep_their_type_and_name_the_node(bench, kind, where):
    def fails(*_):
        raise kind("mine")

    x = static.data("x", [2])
    x.stop_gradient = False
    out = bench.declare("out", [2])
    static.py_func(fails if where == "func" else tanh, x, out, fails if where == "backward_func" else tanh_grad)
    (g,) = static.gradients(lm.sum(out), x)
    with pytest.raises(kind, match="mine") as caught:
        bench.run({"x": np.ones(2, "float32")}, [g])
    notes = " ".join(caught.value.__notes__)
    assert ("py_func_0" if where == "func" else "gradients") in notes and "test_static_py_func.py" in notes


CALLS = {
    "func": (TypeError, ["func", "int"], lambda x, out: static.py_func(3, x, out)),
    "backward_func": (TypeError, ["backward_func", "str"], lambda x, out: static.py_func(tanh, x, out, "f")),
    "x": (TypeError, ["x", "ndarray"], lambda x, out: static.py_func(tanh, np.ones(2), out)),
    "an element of x": (TypeError, ["x[1]", "int"], lambda x, out: static.py_func(tanh, [x, 1], out)),
    "out": (TypeError, ["out", "str"], lambda x, out: static.py_func(tanh, x, "out")),
    "a real tensor as out": (TypeError, ["out[0]", "create_var"], lambda x, out: static.py_func(tanh, x, lm.ones(2))),
    "arguments of func": (TypeError, ["tanh(x)", "2"], lambda x, out: static.py_func(tanh, [x, x], out)),
    "arguments of backward_func": (
        TypeError,
        ["tanh_grad(x, y, dy)", "2"],
        lambda x, out: static.py_func(tanh, x, out, tanh_grad, out),
    ),
    "a stranger to skip": (
        ValueError,
        ["skip_vars_in_backward_input", "'y'", "neither"],
        lambda x, out: static.py_func(tanh, x, out, tanh_grad_of_output, static.data("y", [2])),
    ),
    "a gradient to skip": (
        ValueError,
        ["'out@GRAD'", "gradients of outputs cannot be skipped"],
        lambda x, out: static.py_func(tanh, x, out, tanh_grad_alone, [x, grad_of(x, out)]),
    ),
}


def grad_of(x, out):
    y = lm.tanh(x)
    (g,) = static.gradients(lm.sum(y), y)
    g.name = "out@GRAD"
    return g


@pytest.mark.parametrize("case", CALLS)
def test_arguments_are_checked(bench, case):
    kind, words, call = CALLS[case]
    x = static.data("x", [2])
    x.stop_gradient = False
    with pytest.raises(kind) as caught:
        call(x, bench.declare("out", [2]))
    message = str(caught.value)
    assert message.startswith("[py_func]") and not [word for word in words if word not in message], message


def test_a_ufunc_has_no_signature_and_works(bench):
    x, out = static.data("x", [2]), bench.declare("out", [2])
    static.py_func(np.tanh, x, out)
    assert bench.run({"x": np.zeros(2, "float32")}, [out])[0].tolist() == [0, 0]


def test_without_a_backward_function_nothing_flows(bench):
    x = static.data("x", [2])
    x.stop_gradient = False
    out = bench.declare("out", [2])
    static.py_func(tanh, x, out)
    assert out.stop_gradient and static.gradients(lm.sum(out), x) == [None]
    with static.program.paused():
        eager = lm.tensor([1.0, 1.0], stop_gradient=False)
        assert static.py_func(tanh, eager, Spec([2])).stop_gradient


def test_whether_an_input_wants_a_gradient_is_decided_when_the_program_runs(bench):
    x = static.data("x", [2])
    outs = [
        bench.declare("out", [2]),
        bench.main.global_block().create_var("stopped", "float32", [2], stop_gradient=True),
    ]
    for out in outs:
        static.py_func(tanh, x, out, tanh_grad)
    assert not outs[0].stop_gradient and outs[1].stop_gradient
    (g,) = static.gradients([lm.sum(out) for out in outs], x)
    values = np.array([0.5, 1], "float32")
    np.testing.assert_allclose(bench.run({"x": values}, [g])[0], 1 - np.tanh(values) ** 2, 1e-5)


def test_there_is_no_second_derivative():
    x = lm.tensor([1.0], stop_gradient=False)
    y = static.py_func(tanh, x, Spec([1]), tanh_grad)
    first = lm.grad(y, x, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivative"):
        lm.grad(first, x)


def cross_entropy(logits, labels):
    logits, labels = np.array(logits), np.array(labels)
    return np.array([[-math.log(row[k[0]])] for row, k in zip(logits, labels, strict=True)]).astype(logits.dtype)


def cross_entropy_grad(logits, labels, d):
    logits, labels, d = np.array(logits), np.array(labels), np.array(d)
    grad = np.zeros(logits.shape, logits.dtype)
    for i, (k,) in enumerate(labels):
        grad[i][k] = -d[i][0] / logits[i][k]
    return grad, None


@pytest.mark.parametrize("skip", [True, False], ids=["skipped", "all"])
def test_a_network_of_numpy_functions_trains_as_the_native_one(rng, skip):
    """Four layers whose activation and loss are numpy functions, as in Paddle's own test of py_func."""
    images = rng.random((20, 10, 784), dtype="float32")
    labels = rng.integers(0, 10, (20, 10, 1))

    def train(numpy):
        main, startup = static.Program(), static.Program()
        declare = main.current_block().create_var
        with static.unique_name.guard(), static.scope_guard(static.Scope()), static.program_guard(main, startup):
            image, label = static.data("image", [-1, 784]), static.data("label", [-1, 1], "int64")
            hidden = image
            for i in range(4):
                ones = static.ParamAttr(initializer=lm.nn.init.ones_)
                hidden = static.nn.fc(hidden, 200, bias_attr=ones)
                if not numpy:
                    hidden = lm.tanh(hidden)
                    continue
                out = declare(name=f"hidden_{i}", dtype="float32", shape=hidden.shape)
                backward = tanh_grad_of_output if skip else tanh_grad
                hidden = static.py_func(tanh, hidden, out, backward, hidden if skip else None)
            prediction = static.nn.fc(hidden, 10, activation="softmax")
            if numpy:
                loss = declare(name="loss", dtype="float32", shape=[-1, 1])
                static.py_func(cross_entropy, [prediction, label], loss, cross_entropy_grad, loss)
                zero = declare(name="zero", dtype="float32", shape=[1])
                static.py_func(lambda: np.array([0], "float32"), None, zero)
                loss = loss + zero
                static.py_func(lambda _: None, loss, None)
                outs = [declare(name=f"out_{i}", dtype="float32", shape=s) for i, s in enumerate(([-1, 1], [1]))]
                static.py_func(lambda a, b: (np.array(a), np.array(b)), (loss, zero), tuple(outs))
            else:
                loss = lm.nll_loss(lm.log(prediction), lm.squeeze(label, 1), reduction="none")
            mean = lm.mean(loss)
            lm.optim.SGD(main.all_parameters(), 0.02).minimize(mean)
            lm.seed(1)
            executor = static.Executor(static.CPUPlace())
            executor.run(startup)
            feeds = [{"image": x, "label": k} for x, k in zip(images, labels, strict=True)]
            return [float(executor.run(main, feed, [mean.name])[0]) for feed in feeds]

    native, numpy = train(False), train(True)
    np.testing.assert_allclose(numpy, native, atol=1e-3)
    assert np.std(native) > 1e-3
