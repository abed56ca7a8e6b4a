"""Exporting to ONNX and running the model, for the tests of the exporter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime

import lamella as lm
from lamella import _tree

TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}


def run(model: onnx.ModelProto, inputs: Sequence[lm.Tensor]) -> list[np.ndarray]:
    """Runs a model by onnxruntime; inputs that the model does not use are left out."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [x.name for x in session.get_inputs()]
    feeds = dict(zip(names, (x.detach().numpy() for x in inputs), strict=True))
    return list(session.run(None, feeds))


def single(x: lm.Tensor) -> lm.Tensor:
    """A tensor in the dtypes for which onnxruntime has kernels."""
    x = x.detach()
    return x.astype("float32") if x.dtype == lm.float64 else x


def compare(
    f: Callable[..., Any],
    inputs: Sequence[lm.Tensor],
    model: onnx.ModelProto,
    tolerance: dict[str, float] = TOLERANCE,
) -> None:
    """The eager numbers, shapes and dtypes, and shapes that fit what the model says of its outputs."""
    with lm.no_grad():
        expected, _ = _tree.flatten(f(*inputs))
    got = run(model, inputs)
    assert len(got) == len(expected)
    for x, y, info in zip(expected, got, model.graph.output, strict=True):
        assert (list(x.shape), x.numpy().dtype) == (list(y.shape), y.dtype)
        np.testing.assert_allclose(y, x.numpy(), **tolerance)
        said = [d.dim_value if d.HasField("dim_value") else None for d in info.type.tensor_type.shape.dim]
        assert all(a in (None, b) for a, b in zip(said, y.shape, strict=True))


def check(f: Callable[..., Any], inputs: Sequence[lm.Tensor], **settings: Any) -> onnx.ModelProto:
    """Exports a function and compares what it computes."""
    tolerance = settings.pop("tolerance", TOLERANCE)
    model = lm.onnx.export(f, tuple(inputs), **settings)
    compare(f, inputs, model, tolerance)
    return model
