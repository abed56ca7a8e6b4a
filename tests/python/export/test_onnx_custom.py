"""Custom operators, custom layers and prototypes in ONNX, and what the exporter refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.library import custom_op
from lamella.onnx._registry import converters
from support.layers import Cube

from .running import check, run


@pytest.fixture(autouse=True)
def _same_converters() -> Iterator[None]:
    assert lm.onnx.supported_operators()  # which loads them
    before = dict(converters)
    yield
    converters.clear()
    converters.update(before)


@custom_op("onnx_test::scaled_sum")
def scaled_sum(x: lm.Tensor, y: lm.Tensor, factor: float = 2.0, *, negate: bool = False) -> lm.Tensor:
    result = x.numpy() * factor + y.numpy()
    return lm.asarray(-result if negate else result)


@scaled_sum.register_fake
def _(x: lm.Tensor, y: lm.Tensor, factor: float = 2.0, *, negate: bool = False) -> lm.Tensor:
    return lm.empty_like(x)


def use(x: lm.Tensor, y: lm.Tensor) -> lm.Tensor:
    return scaled_sum(x, y, 3.0, negate=True) + 1


A, B = lm.asarray([1.0, 2.0]), lm.asarray([0.5, -1.0])


def test_a_converter() -> None:
    with pytest.raises(NotImplementedError) as raised:
        lm.onnx.export(use, (A, B))
    message = str(raised.value)
    assert "onnx_test::scaled_sum (test_onnx_custom.py:" in message
    assert '@lm.onnx.register_converter("onnx_test::scaled_sum")' in message
    assert 'custom_opsets={"onnx_test": 1}' in message

    @lm.onnx.register_converter("onnx_test::scaled_sum")
    def convert(x: Any, y: Any, factor: float, negate: bool, meta_outputs: Any = None) -> Any:
        assert (meta_outputs.dtype, tuple(meta_outputs.shape)) == (lm.float32, (2,))
        x, y = lm.onnx.dtype_promote(x, y, target_dtype=meta_outputs.dtype)
        total = lm.onnx.op("Add", lm.onnx.op("Mul", x, factor), y)
        return -total if negate else total

    check(use, [A, B])
    # A converter that does not name a keyword argument is not given it.
    lm.onnx.register_converter(lm.ops.onnx_test.scaled_sum)(lambda x, y, factor: x * factor + y)
    [got] = run(lm.onnx.export(use, (A, B)), [A, B])
    np.testing.assert_allclose(got, (A * 3 + B + 1).numpy())


def test_a_node_of_a_domain() -> None:
    exported = lm.onnx.export(use, (A, B), custom_opsets={"onnx_test": 4}, check=False)
    node = exported.graph.node[0]
    assert (node.domain, node.op_type, list(node.input)) == ("onnx_test", "scaled_sum", ["x", "y"])
    assert {a.name: (a.f or a.i) for a in node.attribute} == {"factor": 3.0, "negate": 1}
    assert [(o.domain, o.version) for o in exported.opset_import] == [("", 17), ("onnx_test", 4)]
    assert lm.onnx.export(use, (A, B), custom_opsets={"onnx_test": 4}) == exported  # the checker lets it be


def test_custom_layers_become_the_operators_of_their_forward() -> None:
    class Clipped(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor, limit: float, flip: bool = False) -> Any:
            ctx.save_for_backward(x)
            ctx.limit = limit
            y = Cube.apply(lm.clip(x, -limit, limit))
            return -y if flip else (y, x * 2)

        @staticmethod
        def backward(ctx: Any, *grads: lm.Tensor) -> Any:
            return grads[0]

    x = lm.tensor([0.5, -2.0, 3.0], stop_gradient=False)
    exported = check(lambda x: [*Clipped.apply(x, 1.0), Clipped.apply(x, 2.0, flip=True)], [x])
    assert {node.domain for node in exported.graph.node} == {""}


class InNumpy(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, factor: float = 1.0) -> lm.Tensor:
        return lm.asarray(np.sin(x.numpy()) * factor)

    @staticmethod
    def backward(ctx: Any, grad: lm.Tensor) -> lm.Tensor:
        return grad


def test_custom_layers_with_a_converter() -> None:
    def f(x: lm.Tensor) -> lm.Tensor:
        return InNumpy.apply(x, factor=2.0) * 3

    with pytest.raises(RuntimeError) as raised:
        lm.onnx.export(f, A)
    assert any("@lm.onnx.register_converter(InNumpy)" in note for note in raised.value.__notes__)
    lm.onnx.register_converter(InNumpy)(lambda x, factor: lm.onnx.op("Sin", x) * factor)
    check(f, [A])


def test_functions_and_gradients_are_refused() -> None:
    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [2])
    [y] = graph.function("in_python", lambda t: t * 2, [x], [(lm.float32, [2])])
    with pytest.raises(NotImplementedError, match=r"in_python \(.*:\d+\) is a function that computes in Python"):
        lm.onnx.export(graph, y)
    with lm.graph.recording(graph):
        z = x * x
    x.stop_gradient = False
    [grad] = graph.gradients(z, x)
    with pytest.raises(NotImplementedError, match="gradients"):
        lm.onnx.export(graph, grad)


def test_converters_that_are_wrong() -> None:
    lm.onnx.register_converter("onnx_test::scaled_sum")(lambda *args: [args[0], args[0]])
    with pytest.raises(ValueError, match="returned 2 values, and the operator has 1 results"):
        lm.onnx.export(use, (A, B))
    lm.onnx.register_converter("onnx_test::scaled_sum")(lambda *args: 3)
    with pytest.raises(TypeError, match="returned int, not a Value"):
        lm.onnx.export(use, (A, B))
    lm.onnx.register_converter("onnx_test::scaled_sum")(lambda x, y, factor: lm.onnx.op("NoSuch", x))
    with pytest.raises(ValueError, match="NoSuch"):
        lm.onnx.export(use, (A, B))
    lm.onnx.register_converter("onnx_test::scaled_sum")(
        lambda x, y, factor: lm.onnx.op("Add", x, lm.onnx.cast(y, lm.int32))
    )
    with pytest.raises(ValueError, match="cannot be written as ONNX's Add"):
        lm.onnx.export(use, (A, B))
    with pytest.raises(ValueError, match="namespace::operator"):
        lm.onnx.register_converter("plain")
    with pytest.raises(TypeError, match="takes an operator"):
        lm.onnx.register_converter(3)
    with pytest.raises(RuntimeError, match=r"only by a converter, while lm\.onnx\.export runs"):
        lm.onnx.op("Add", 1, 2)


def test_custom_operators_that_write() -> None:
    @custom_op("onnx_test::fill_with", mutates_args={"x"})
    def fill_with(x: lm.Tensor, value: float) -> None:
        x.fill_(value)

    @fill_with.register_fake
    def _(x: lm.Tensor, value: float) -> None:
        return None

    lm.onnx.register_converter("onnx_test::fill_with")(lambda x, value: [])

    def f(x: lm.Tensor) -> lm.Tensor:
        y = x * 1
        fill_with(y, 2.0)
        return y

    with pytest.raises((NotImplementedError, TypeError), match="fill_with"):
        lm.onnx.export(f, A)


def test_a_converter_of_ones_own_for_lamellas_operator() -> None:
    lm.onnx.register_converter("lamella::zeta")(lambda a, b: a + b)
    [got] = run(lm.onnx.export(lambda a, b: lm.zeta(a, b), (A, B)), [A, B])
    np.testing.assert_array_equal(got, (A + B).numpy())


@pytest.mark.parametrize(
    ("error", "message", "settings"),
    [
        (ValueError, "from 17 to", {"opset_version": 16}),
        (ValueError, "from 17 to", {"opset_version": 99}),
        (TypeError, "opset_version is an int", {"opset_version": "17"}),
        (ValueError, "2 input_names for 1 inputs", {"input_names": ["a", "b"]}),
        (ValueError, "2 output_names for 1 outputs", {"output_names": ["a", "b"]}),
        (ValueError, "an input and an output", {"output_names": ["x"]}),
        (ValueError, "dynamic_axes names 'y'", {"dynamic_axes": {"y": [0]}}),
        (ValueError, "no axis 3", {"dynamic_axes": {"x": [3]}}),
        (TypeError, "list of axes", {"dynamic_axes": {"x": {0: 3}}}),
    ],
)
def test_wrong_arguments(error: type[Exception], message: str, settings: dict[str, Any]) -> None:
    with pytest.raises(error, match=message):
        lm.onnx.export(lambda x: x * 2, A, **settings)


def test_wrong_models() -> None:
    with pytest.raises(TypeError, match="a module, a function or a graph"):
        lm.onnx.export(3, A)
    with pytest.raises(ValueError, match="returns no tensor"):
        lm.onnx.export(lambda x: None, A)
    with pytest.raises(RuntimeError, match="has elements only when the graph runs"):
        lm.onnx.export(lambda x: x if x.sum() > 0 else -x, A)
    with pytest.raises(ValueError, match="got 2 output_names"):
        lm.onnx.export(lambda x: (x, x, x), A, output_names=["a", "b"])
    with pytest.raises(ValueError, match="a name twice"):
        lm.onnx.export(lambda x: (x, x), A, output_names=["a", "a"])
    with pytest.raises(ValueError, match="complex64, and ONNX has no operators for complex"):
        lm.onnx.export(lambda x: x * 1j, A)
    with pytest.raises(ValueError, match="opset 17 does not have"):
        lm.onnx.export(lambda x: x & 1, lm.asarray([1, 2]))


def test_without_the_package_onnx(tmp_path: Path) -> None:
    (tmp_path / "onnx.py").write_text("raise ImportError('no onnx')")
    program = """
from lamella import *
import lamella as lm
lm.onnx.register_converter("a::b")(lambda x: x)
lm.onnx.REG_OP("Add").INPUT("x")
try:
    lm.onnx.export(lambda x: x, lm.ones([1]))
except ImportError as error:
    print(error)
"""
    env = {"PYTHONPATH": f"{tmp_path}:{Path(lm.__file__).parents[1]}", "PATH": "/usr/bin"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True)
    assert "pip install onnx" in done.stdout


HEADER = """
#include "operator_reg.h"

namespace ge {
// REG_OP(Commented).OP_END_FACTORY_REG(Commented);
REG_OP(AddCustom)
    .INPUT(x, ge::TensorType::ALL())
    .INPUT(y, ge::TensorType({DT_FLOAT, DT_FLOAT16}))
    .OPTIONAL_INPUT(bias, TensorType::NumberType())
    .OUTPUT(z, ge::TensorType::ALL())
    .ATTR(alpha, Float, 1.5f)
    .ATTR(sizes, ListInt, {1, 2})
    .ATTR(mode, String, "sum")
    .ATTR(exact, Bool, true)
    .REQUIRED_ATTR(axis, Int)
    .OP_END_FACTORY_REG(AddCustom);

REG_OP(Gather2).DYNAMIC_INPUT(xs, TensorType({DT_FLOAT})).OUTPUT(a).OUTPUT(b).OP_END_FACTORY_REG(Gather2);
}
"""


def test_prototypes() -> None:
    add, gather = lm.onnx.read_prototypes(HEADER, domain="vendor")
    assert repr(add) == "vendor::AddCustom(x, y, bias?, alpha=1.5, sizes=[1, 2], mode='sum', exact=True, axis) -> z"

    @lm.onnx.register_converter("onnx_test::scaled_sum")
    def convert(x: Any, y: Any, factor: float) -> Any:
        first, _ = gather([x, y])
        return add(x, first, alpha=factor, axis=0)

    exported = lm.onnx.export(use, (A, B))
    two, one, _ = exported.graph.node
    assert (two.domain, two.op_type, list(two.input), len(two.output)) == ("vendor", "Gather2", ["x", "y"], 2)
    assert (one.op_type, one.input[1]) == ("AddCustom", two.output[0])
    values = {a.name: [*a.ints] or a.s or a.f or a.i for a in one.attribute}
    assert values == {"alpha": 3.0, "sizes": [1, 2], "mode": b"sum", "exact": 1, "axis": 0}
    assert [(o.domain, o.version) for o in exported.opset_import] == [("", 17), ("vendor", 1)]


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("missing argument 'y'", lambda f, x: f(x)),
        ("missing argument 'axis'", lambda f, x: f(x, x)),
        ("has no argument 'beta'", lambda f, x: f(x, x, axis=0, beta=1)),
        ("got twice 'x'", lambda f, x: f(x, x, x=x, axis=0)),
        ("takes 8 arguments, got 9", lambda f, x: f(*[x] * 9)),
        ("y is int32, and takes float32, float16", lambda f, x: f(x, lm.onnx.cast(x, lm.int32), axis=0)),
        ("x is a value of the model, not float", lambda f, x: f(1.0, x, axis=0)),
        ("alpha is Float, not 'a'", lambda f, x: f(x, x, alpha="a", axis=0)),
    ],
)
def test_wrong_calls_of_a_prototype(message: str, call: Any) -> None:
    add, _ = lm.onnx.read_prototypes(HEADER)
    lm.onnx.register_converter("onnx_test::scaled_sum")(lambda x, y, factor: call(add, x))
    with pytest.raises(TypeError, match=message):
        lm.onnx.export(use, (A, B))


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Add is not ended", "REG_OP(Add).INPUT(x)"),
        ("ends with the name Sub", "REG_OP(Add).INPUT(x).OP_END_FACTORY_REG(Sub)"),
        ("has 'x' already", "REG_OP(Add).INPUT(x).INPUT(x).OP_END_FACTORY_REG(Add)"),
        ("is no dtype", "REG_OP(Add).INPUT(x, TensorType({DT_NONE})).OP_END_FACTORY_REG(Add)"),
        ("is no set of dtypes", "REG_OP(Add).INPUT(x, TensorType::Odd()).OP_END_FACTORY_REG(Add)"),
        ("is no type of an attribute", "REG_OP(Add).ATTR(a, Number, 1).OP_END_FACTORY_REG(Add)"),
        ("is no value of an attribute", "REG_OP(Add).ATTR(a, Int, one).OP_END_FACTORY_REG(Add)"),
        ("cannot read .INOUT", "REG_OP(Add).INOUT(x).OP_END_FACTORY_REG(Add)"),
        ("no closing parenthesis", "REG_OP(Add).INPUT(x"),
        ("is no name of an operator", "REG_OP(1).OP_END_FACTORY_REG(1)"),
    ],
)
def test_wrong_declarations(message: str, text: str) -> None:
    with pytest.raises(ValueError, match=message):
        lm.onnx.read_prototypes(text)


def test_a_module_of_builders(tmp_path: Path) -> None:
    header, module = tmp_path / "custom_reg_op.h", tmp_path / "auto_generated.py"
    header.write_text(HEADER)
    command = [sys.executable, "-m", "lamella.onnx", str(header), "-o", str(module), "--domain", "vendor"]
    subprocess.run(command, check=True)
    found: dict[str, Any] = {}
    exec(module.read_text(), found)
    assert [repr(found[x.name]) for x in lm.onnx.read_prototypes(header, "vendor")] == [
        repr(x) for x in lm.onnx.read_prototypes(HEADER, "vendor")
    ]
    header.write_text("REG_OP(Add)")
    failed = subprocess.run(command, capture_output=True, text=True)
    assert failed.returncode == 1 and "not ended" in failed.stderr
