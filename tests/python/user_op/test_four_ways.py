"""One custom layer, written in every way there is: the same values, the same gradients.

The layer is z = tanh(x) * w: a PyLayer, a C++ ``Function<T>``, operators registered in C++ (by schema, and in OneFlow's
dialect) and in Python, and kernels of numpy arrays.
"""

import numpy as np
import pytest

import lamella as lm
from lamella.compat import HEADERS
from lamella.library import custom_op
from lamella.utils import cpp_extension
from support import extensions
from support.user_ops import SOURCES


class TanhTimes(lm.PyLayer):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return lm.tanh(x) * w

    @staticmethod
    def backward(ctx, dz):
        x, w = ctx.saved_tensor()
        t = lm.tanh(x)
        return dz * w * (1 - t * t), dz * t


@custom_op("four_ways_py::tanh_times", mutates_args=())
def tanh_times(x: lm.Tensor, w: lm.Tensor) -> lm.Tensor:
    return lm.asarray(np.tanh(x.numpy()) * w.numpy())


@tanh_times.register_fake
def _(x, w):
    return lm.empty_like(x)


def backward(ctx, dz):
    x, w = ctx.saved_tensors
    t = lm.tanh(x)
    return dz * w * (1 - t * t), dz * t


tanh_times.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


def numpy_backward(args):
    x, w, dz = args
    t = np.tanh(x)
    return dz * w * (1 - t * t), dz * t


@pytest.fixture(scope="module")
def ways(tmp_path_factory):
    extensions.need_compiler()
    module = cpp_extension.load(
        "four_ways",
        SOURCES / "four_ways.cpp",
        extra_cflags=["-O0"],
        extra_include_paths=[HEADERS],
        build_directory=tmp_path_factory.mktemp("four_ways"),
    )
    return {
        "PyLayer": TanhTimes.apply,
        "Function": module.tanh_times,
        "schema": lm.ops.four_ways.tanh_times,
        "user_op": lm.ops.user_op.four_ways,
        "custom_op": tanh_times,
        "numpy": lm.user_op.numpy_op(
            "four_ways_np", lambda args: np.tanh(args[0]) * args[1], numpy_backward, inputs=["x", "w"]
        ),
    }


WAYS = ["PyLayer", "Function", "schema", "user_op", "custom_op", "numpy"]
# What reads raw memory for its gradient has no second derivative, and says so.
TWICE = {"PyLayer", "Function", "schema", "custom_op"}


def leaves(shape, dtype="float64", strided=False):
    random = np.random.default_rng(7)
    values = [random.uniform(-2, 2, shape) for _ in range(2)]
    tensors = [lm.tensor(value.T.copy() if strided else value, dtype=dtype) for value in values]
    made = [lm.permute_dims(x, tuple(reversed(range(x.ndim)))) if strided else x for x in tensors]
    for x in made:
        x.stop_gradient = False
    return made


@pytest.mark.parametrize("way", WAYS)
def test_gradcheck(ways, way):
    assert lm.autograd.gradcheck(ways[way], leaves((2, 3)))
    if way in TWICE:
        assert lm.autograd.gradgradcheck(ways[way], leaves((2, 3)))
        return
    x, w = leaves((2,))
    z = ways[way](x, w)
    (dx,) = lm.autograd.grad(z.sum(), [x], create_graph=True)
    with pytest.raises(NotImplementedError, match="has no gradient"):
        dx.sum().backward()


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3), (5, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_give_the_same(ways, dtype, shape, strided):
    seed = lm.tensor(np.random.default_rng(3).standard_normal(shape), dtype=dtype)
    results = {}
    for way in WAYS:
        x, w = leaves(shape, dtype, strided)
        z = ways[way](x, w)
        z.backward(seed)
        results[way] = [np.asarray(y.detach().numpy()) for y in (z, x.grad, w.grad)]
        assert z.dtype == x.grad.dtype == getattr(lm, dtype) and x.grad.shape == shape, way
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    for way in WAYS:
        for mine, wanted in zip(results[way], results["PyLayer"], strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance, err_msg=way)


@pytest.mark.parametrize("way", WAYS)
def test_one_gradient_alone(ways, way):
    x, w = leaves((2, 3))
    w.stop_gradient = True
    ways[way](x, w).sum().backward()
    assert w.grad is None
    np.testing.assert_allclose(x.grad.numpy(), w.numpy() / np.cosh(x.detach().numpy()) ** 2, rtol=1e-12)
    with lm.no_grad():
        assert ways[way](x, w).stop_gradient
    meta = ways[way](*(lm.empty((4, 2), device="meta") for _ in range(2)))
    assert (meta.shape, meta.device) == ((4, 2), "meta")


@pytest.mark.parametrize("way", WAYS)
def test_all_are_steps_of_a_compiled_function(ways, way):
    layer = ways[way]

    def function(x, w):
        return layer(x * 2, w) + 1

    compiled = lm.compile(function)
    for _ in range(5):
        results = []
        for f in (function, compiled):
            x, w = leaves((2, 3))
            z = f(x, w)
            z.sum().backward()
            results.append([y.detach().numpy() for y in (z, x.grad, w.grad)])
        for got, expected in zip(*results, strict=True):
            np.testing.assert_allclose(got, expected, 1e-12)
    explanation = lm.compile.explain(compiled)
    assert len(explanation.graphs) == 1 and not explanation.breaks, str(explanation)


@pytest.mark.parametrize("way", WAYS)
def test_all_are_nodes_of_a_graph(ways, way):
    graph = lm.graph.Graph(way)
    symbols = [graph.input(name, "float64", [-1, 3]) for name in ("x", "w")]
    with lm.graph.recording(graph):
        z = ways[way](*symbols) * 2
    assert [node.kind for node in graph.nodes][-1] == "operator" and len(graph.nodes) == 2 and z.shape == (-1, 3)
    gradients = graph.gradients(z.sum(), symbols)
    x, w = leaves((2, 3))
    expected = ways[way](x, w) * 2
    expected.sum().backward()
    got = graph.run({"x": x.detach(), "w": w.detach()}, [z, *gradients])
    for mine, wanted in zip(got, (expected, x.grad, w.grad), strict=True):
        np.testing.assert_array_equal(mine.detach().numpy(), wanted.detach().numpy())
