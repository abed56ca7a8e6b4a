"""OneFlow's own operators by the names of their types: in builders, in jobs, and in gradients of users' operators."""

import subprocess
import sys
import textwrap

from support.user_ops import built

HEADER = """
import numpy as np
import oneflow as flow
import oneflow.typing as tp

def use(op, inputs, outputs, **attrs):
    builder = flow.user_op_builder("use").Op(op)
    for name, tensors in inputs.items():
        builder = builder.Input(name, tensors)
    for name, count in outputs.items():
        builder = builder.Output(name, count)
    for name, value in attrs.items():
        builder = builder.Attr(name, value)
    return builder.Build().InferAndTryRun().RemoteBlobList()

def raises(kind, words, function):
    try:
        function()
    except kind as error:
        assert all(word in str(error) for word in words.split()), error
    else:
        raise AssertionError(words)

a = np.array([[1.5, -2.0, 0.5], [0.25, 3.0, -1.0]], np.float32)
b = np.array([[2.0, 1.0, -0.5], [4.0, -3.0, 0.5]], np.float32)
row = np.array([1.0, 2.0, 3.0], np.float32)
whole = np.array([[5, 6, 7]], np.int32)
signed = np.array([[-7, 8, -2]], np.int32)
two = np.array([2], np.int32)
truths = np.array([1, 0], np.int8)
number = np.array([3.0], np.float32)
pair = np.array([1.0, 2.0], np.float32)
"""

#: The operator, its inputs and outputs, its attributes, and its results in numpy.
USES = [
    ("cast", "in=a", "out", "dtype=flow.int32", "[a.astype(np.int32)]"),
    ("cast", "in=whole", "out", "dtype=flow.double", "[whole.astype(np.float64)]"),
    ("multiply", "x=a y=b", "out", "", "[a * b]"),
    ("broadcast_add", "x=a y=row", "z", "", "[a + row]"),
    ("broadcast_div", "x=a y=row", "z", "", "[a / row]"),
    ("broadcast_div", "x=signed y=whole", "z", "", "[np.array([[-1, 1, 0]], np.int32)]"),
    ("broadcast_div", "x=whole y=signed", "z", "", "[np.array([[0, 0, -3]], np.int32)]"),
    ("scalar_div_by_tensor", "x=signed scalar=two", "y", "", "[np.array([[-3, 4, -1]], np.int32)]"),
    ("broadcast_less", "x=a y=b", "z", "", "[(a < b).astype(np.int8)]"),
    ("scalar_mul", "in=a", "out", "has_float_operand=True, float_operand=2.5", "[a * np.float32(2.5)]"),
    ("scalar_add", "in=whole", "out", "has_int_operand=True, int_operand=-3", "[whole - 3]"),
    ("scalar_mul_by_tensor", "x=a scalar=number", "y", "", "[a * 3]"),
    ("add_n", "in=a,b,a", "out", "", "[a + b + a]"),
    ("square", "x=a", "y", "", "[a * a]"),
    ("exp_grad", "x=a dy=b", "dx", "", "[b * np.exp(a)]"),
    ("relu", "in=a", "out", "", "[np.maximum(a, 0)]"),
    ("relu_grad", "y=a dy=b", "dx", "", "[b * (a > 0)]"),
    ("sigmoid_grad", "y=a dy=b", "dx", "", "[b * a * (1 - a)]"),
    ("tanh_grad", "x=a dy=b", "dx", "", "[b * (1 - np.tanh(a) ** 2)]"),
    ("tanh_grad", "y=a dy=b", "dx", "", "[b * (1 - a ** 2)]"),
    ("ceil_grad", "x=a dy=b", "dx", "", "[0 * a]"),
    ("leaky_relu_grad", "x=a dy=b", "dx", "alpha=0.5", "[np.where(a > 0, b, b / 2)]"),
    ("matmul", "a=a b=b", "out", "transpose_b=True", "[a @ b.T]"),
    ("transpose", "input=a", "output", "perm=[1, 0]", "[a.T]"),
    ("reshape", "in=a", "out", "shape=[3, 2]", "[a.reshape(3, 2)]"),
    ("reduce_sum", "input_tensor=a", "output_tensor", "axis=[1], keepdims=True", "[a.sum(1, keepdims=True)]"),
    ("reduce_max", "input_tensor=a", "output_tensor", "axis=[0, 1]", "[a.max().reshape(1)]"),
    ("reduce_sum", "input_tensor=whole", "output_tensor", "axis=[1]", "[np.array([18], np.int32)]"),
    ("reduce_prod", "input_tensor=whole", "output_tensor", "axis=[0]", "[whole[0]]"),
    ("reduce_any", "input_tensor=truths", "output_tensor", "axis=[0]", "[np.array([1], np.int8)]"),
    ("reduce_all", "input_tensor=truths", "output_tensor", "axis=[0]", "[np.array([0], np.int8)]"),
    ("reduce_sum_like", "x=whole like=number", "y", "axis=[0, 1]", "[np.array([18], np.int32)]"),
    ("reduce_sum_like", "x=a like=row", "y", "axis=[0]", "[a.sum(0)]"),
    ("broadcast_like", "x=row like=a", "y", "broadcast_axes=[0]", "[np.stack([row, row])]"),
    ("bias_add", "a=a b=row", "out", "axis=1", "[a + row]"),
    ("constant", "", "out", "shape=[2], dtype=flow.float, floating_value=1.5", "[np.full(2, 1.5, np.float32)]"),
    ("softmax", "in=a", "out", "", "[np.exp(a) / np.exp(a).sum(1, keepdims=True)]"),
    ("concat", "in=a,b", "out", "axis=1", "[np.concatenate([a, b], 1)]"),
    ("slice", "x=a", "y", "start=[0, 0], stop=[2, 3], step=[1, 2]", "[a[:, ::2]]"),
    ("split_like", "in=row like=number,pair", "out", "axis=0", "[row[:1], row[1:]]"),
    ("where", "condition=whole x=a y=b", "out", "", "[np.where(whole != 0, a, b)]"),
]


def _run(code, *args):
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + textwrap.dedent(code), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_uses():
    _run(
        f"""
        def of(text, arrays):
            return {{
                part.split("=")[0]: [arrays[name] for name in part.split("=")[1].split(",") if name]
                for part in text.split()
            }}

        for op, inputs, output, attrs, wanted in {USES!r}:
            named, wanted = eval(f"dict({{attrs}})"), eval(wanted)
            names = ["a", "b", "row", "whole", "number", "pair", "signed", "two", "truths"]
            arrays = {{name: globals()[name] for name in names}}
            tensors = {{key: flow.tensor(array) for key, array in arrays.items()}}
            made = use(op, of(inputs, tensors), {{output: len(wanted)}}, **named)

            @flow.global_function()
            def job(
                a: tp.Numpy.Placeholder((2, 3)), b: tp.Numpy.Placeholder((2, 3)), row: tp.Numpy.Placeholder((3,)),
                whole: tp.Numpy.Placeholder((1, 3), dtype=flow.int32), number: tp.Numpy.Placeholder((1,)),
                pair: tp.Numpy.Placeholder((2,)), signed: tp.Numpy.Placeholder((1, 3), dtype=flow.int32),
                two: tp.Numpy.Placeholder((1,), dtype=flow.int32), truths: tp.Numpy.Placeholder((2,), dtype=flow.int8),
            ) -> tp.Numpy:
                given = dict(zip(names, (a, b, row, whole, number, pair, signed, two, truths)))
                return use(op, of(inputs, given), {{output: len(wanted)}}, **named)[0]

            found = [(each.numpy(), k) for k, each in enumerate(made)] + [(job(*arrays.values()), 0)]
            for array, k in found:
                assert array.dtype == wanted[k].dtype and array.shape == wanted[k].shape, (op, array)
                np.testing.assert_allclose(array, wanted[k], 1e-5, 1e-6, err_msg=op)
        """
    )


def test_gradients_of_users_operators():
    _run(
        """
        import sys
        import lamella as lm
        flow.config.load_library(sys.argv[1])
        x, w = (lm.tensor(each, dtype="float64", stop_gradient=False) for each in ([1.5, -2.0], [3.0, 0.25]))
        product = lambda x, w: use("o_sqw", {"x": [x], "w": [w]}, {"y": 1})[0]
        scaled = lambda x: use("o_tanh", {"x": [x]}, {"y": 1}, scale=2.5)[0]
        for function, inputs in ((product, [x, w]), (scaled, [x])):
            assert lm.autograd.gradcheck(function, inputs)
            assert lm.autograd.gradgradcheck(function, inputs)
        # What the gradient functions return is not lost.
        for call, message in (
            (lambda: use("o_sqw", {"x": [x], "w": [w]}, {"y": 1}, fails=True)[0], "no gradient in this mode"),
            (lambda: use("o_tanh", {"x": [x]}, {"y": 1}, scale=200.0)[0], "too steep"),
            (lambda: use("o_sqw", {"x": [x], "w": [w]}, {"y": 1}, forgets=True)[0], "no gradient of input 'w'"),
        ):
            try:
                call().sum().backward()
            except Exception as error:
                assert message in str(error), error
            else:
                raise AssertionError(message)
        (grad,) = lm.grad([use("o_sqw", {"x": [x], "w": [w.detach()]}, {"y": 1}, forgets=True)[0].sum()], [x])
        np.testing.assert_allclose(grad.numpy(), 2 * (x * w).detach().numpy())

        @flow.global_function(type="train")
        def job(x: tp.Numpy.Placeholder((2,), dtype=flow.double)) -> tp.Numpy:
            w = flow.get_variable("w", (2,), flow.double, flow.constant_initializer(0.5))
            y = product(x, w)
            flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.1]), momentum=0).minimize(y)
            return y

        first, second = (job(np.array([1.0, 2.0])) for _ in range(2))
        np.testing.assert_allclose(first, [0.5, 2.0])
        np.testing.assert_allclose(second, [0.5 - 0.05, 4 * (0.5 - 0.1 * 4 / 2)])
        """,
        str(built("own_gradients")),
    )


def test_uses_that_do_not_fit():
    _run(
        """
        x = flow.tensor(a)
        integers = {"dtype": flow.int32}

        def wrong(words, function):
            raises((RuntimeError, ValueError), words, function)

        wrong("[cast] 'x' 'in'", lambda: use("cast", {"x": [x]}, {"out": 1}, **integers))
        wrong("[cast] 'y' 'out'", lambda: use("cast", {"in": [x]}, {"y": 1}, **integers))
        wrong("[cast] 'dtype' default", lambda: use("cast", {"in": [x]}, {"out": 1}))
        wrong("[cast] 2", lambda: use("cast", {"in": [x, x]}, {"out": 1}, **integers))
        wrong("[square] 'k'", lambda: use("square", {"x": [x]}, {"y": 1}, k=1))
        wrong("[multiply] 'y'", lambda: use("multiply", {"x": [x]}, {"out": 1}))
        wrong("[square] 2", lambda: use("square", {"x": [x]}, {"y": 2}))
        wrong("[scalar_mul] operand", lambda: use("scalar_mul", {"in": [x]}, {"out": 1}))
        wrong("no_such", lambda: use("no_such", {"x": [x]}, {"y": 1}))
        """
    )


def test_a_users_operator_is_taken_first():
    _run(
        """
        from lamella.user_op import numpy_op
        assert use("square", {"x": [flow.tensor(row)]}, {"y": 1})[0].numpy().tolist() == [1, 4, 9]
        numpy_op("square", lambda args: args[0] * 100, inputs=["x"], outputs=["y"])
        assert use("square", {"x": [flow.tensor(row)]}, {"y": 1})[0].numpy().tolist() == [100, 200, 300]
        """
    )


def test_compiled_functions_have_users_operators_and_see_placements():
    _run(
        """
        import warnings
        import lamella as lm
        warnings.simplefilter("error")  # a call that runs as it is warns
        lm.user_op.numpy_op("compiled_square", lambda args: args[0] ** 2)
        function = lambda x: use("compiled_square", {"x": [x]}, {"y": 1})[0] + 1
        compiled = lm.compile(function)
        for k in range(4):
            assert compiled(lm.tensor([float(k)])).tolist() == [k * k + 1]
        graphs = len(lm.compile.explain(compiled).graphs)
        with flow.scope.placement("cpu", "0:0"):
            assert compiled(lm.tensor([3.0])).tolist() == [10]
        assert len(lm.compile.explain(compiled).graphs) > graphs
        """
    )
