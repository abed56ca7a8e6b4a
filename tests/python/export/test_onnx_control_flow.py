"""Branches and loops as ONNX's If and Loop, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

W = lm.nn.Parameter(lm.asarray(np.random.default_rng(2).normal(size=(3,)).astype(np.float32)))


def nested(x: Any) -> Any:
    h = lm.tanh(x)
    return lm.cond(x.sum() > 0, lambda x: lm.cond(x.max() > 1, lambda: x * 3 + W, lambda: x + h), lambda x: x * h, (x,))


def loop_of_branches(x: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        return i + 1, lm.cond(v.sum() > i, lambda: v * 0.5, lambda: v + W * x)

    return lm.while_loop(lambda i, v: i < 4, body, (0, x))


def branch_of_loops(x: Any) -> Any:
    return lm.cond(x.sum() > 0, lambda: lm.while_loop(lambda v: v.sum() < 20, lambda v: v * 2, (x,))[0] + 1, lambda: x)


class Net(lm.nn.Module):
    """Has layers in its branches, of which one has dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = lm.nn.Linear(3, 3), lm.nn.Sequential(lm.nn.Linear(3, 3), lm.nn.Dropout(0.5))

    def forward(self, x: Any) -> Any:
        return lm.cond(x.sum() > 0, self.a, self.b, (x,))


MODELS: dict[str, Callable[[Any], Any]] = {
    "branch": lambda x: lm.cond(x.sum() > 0, lambda x: x * W, lambda x: (x - 1) * W, (x,)),
    "branch that is an input": lambda x: lm.cond(x.sum() > 0, lambda: (x, W), lambda: (W + 0 * x, W * 2)),
    "loop": lambda x: lm.while_loop(lambda v: lm.abs(v).sum() < 20, lambda v: v * 2 + W * 0.1, (x,)),
    "no iteration": lambda x: lm.while_loop(lambda v: v.sum() < -100, lambda v: v * 2, (x,)),
    "nested": nested,
    "loop of branches": loop_of_branches,
    "branch of loops": branch_of_loops,
    "layers": Net(),
}


@pytest.mark.parametrize("opset", [17, 21])
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, opset: int):
    model = MODELS[name]
    if isinstance(model, lm.nn.Module):
        model.eval()
    proto = lm.onnx.export(model, lm.ones([1, 3]), opset_version=opset, input_names=["x"])
    assert {"If", "Loop"} & {node.op_type for node in proto.graph.node}
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for values in ([1.0, 2.0, 0.5], [-1.0, 0.3, 0.2], [0.1, 0.2, 0.3], [-3.0, 1.0, 1.0]):
        x = np.array([values], np.float32)
        expected = model(lm.asarray(x))
        expected = expected if isinstance(expected, (list, tuple)) else [expected]
        for a, b in zip(session.run(None, {"x": x}), expected, strict=True):
            assert list(a.shape) == list(b.shape)
            np.testing.assert_allclose(a, b.detach().numpy(), 1e-5, 1e-6)
