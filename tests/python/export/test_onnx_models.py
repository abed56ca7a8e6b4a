"""Networks in ONNX: names, files, batch sizes, and models that write in place."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import lamella as lm
from lamella import nn
from support.layers import Cube

from .running import check, compare, run


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(6, 8)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(8, 3)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return self.out(self.drop(lm.relu(self.norm(self.hidden(x)))))


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.SiLU()
        )
        self.head = nn.Linear(8, 10)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return lm.log_softmax(self.head(self.features(x).mean((2, 3))))


class Tagger(nn.Module):
    """Numbers of words to scores at each place."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
        self.out = nn.Linear(10, 4)

    def forward(self, words: lm.Tensor) -> lm.Tensor:
        states, _ = self.lstm(self.embed(words))
        return self.out(states)


class Block(nn.Module):
    """A layer of a GPT."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        q, k, v = (
            lm.swapaxes(lm.unflatten(part, 2, (self.heads, -1)), 1, 2)
            for part in lm.split(self.qkv(self.norm1(x)), 3, axis=-1)
        )
        y = lm.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(lm.flatten(lm.swapaxes(y, 1, 2), 2))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Four layers, tied weights, and a custom layer inside."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.places = nn.Parameter(lm.randn([1, 12, 8]))
        self.blocks = nn.Sequential(*(Block() for _ in range(4)))
        self.norm = nn.LayerNorm(8)

    def forward(self, words: lm.Tensor) -> lm.Tensor:
        x = self.embed(words) + self.places[:, : words.shape[1]]
        x = Cube.apply(self.norm(self.blocks(x)))
        return x @ self.embed.weight.T


def words(*shape: int) -> lm.Tensor:
    return lm.asarray(np.arange(int(np.prod(shape))).reshape(shape) * 7 % 20)


MODELS = {
    "mlp": (MLP, lambda n: lm.randn([n, 6])),
    "convnet": (ConvNet, lambda n: lm.randn([n, 1, 8, 8])),
    "tagger": (Tagger, lambda n: words(n, 7)),
    "gpt": (GPT, lambda n: words(n, 9)),
}


def trained(model: nn.Module, x: lm.Tensor) -> nn.Module:
    """After a step of training, so that no weight or statistic is what it began as."""
    optimizer = lm.optim.SGD(model.parameters(), lr=0.05)
    model(x).square().mean().backward()
    optimizer.step()
    return model


@pytest.mark.parametrize("opset", [17, 20, 23])
@pytest.mark.parametrize("name", MODELS)
def test_batches_of_any_size(name: str, opset: int) -> None:
    make, inputs = MODELS[name]
    model = trained(make(), inputs(4))
    before = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    first = "x" if name in ("mlp", "convnet") else "words"
    exported = lm.onnx.export(model, inputs(2), dynamic_axes={first: {0: "batch"}}, opset_version=opset)
    assert exported.opset_import[0].version == opset
    [info] = exported.graph.input
    assert (info.name, info.type.tensor_type.shape.dim[0].dim_param) == (first, "batch")
    for key, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])
    assert model.training
    model.eval()
    for n in (1, 2, 5):
        compare(model, [inputs(n)], exported, {"rtol": 1e-4, "atol": 1e-4})


def test_names() -> None:
    model = MLP()
    x = lm.randn([2, 6])
    exported = lm.onnx.export(model, x, input_names=["pixels"], output_names=["logits"], dynamic_axes={"pixels": [0]})
    assert exported.graph.name == "MLP" and exported.producer_name == "lamella"
    assert [i.name for i in exported.graph.input] == ["pixels"]
    [out] = exported.graph.output
    assert out.name == "logits" and out.type.tensor_type.shape.dim[1].dim_value == 3
    stored = {i.name: onnx.numpy_helper.to_array(i) for i in exported.graph.initializer}
    for name, value in [*model.named_parameters(), *model.named_buffers()]:
        if "num_batches" not in name:
            np.testing.assert_array_equal(stored[name], value.detach().numpy())
    assert all("test_onnx_models.py:" in node.doc_string for node in exported.graph.node)
    model.eval()
    compare(model, [x], exported)

    named = lm.onnx.export(model, x, dynamic_axes={"x": {0: "n"}, "output": {0: "rows"}})
    assert named.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "rows"


def test_one_tensor_of_two_names_is_stored_once() -> None:
    exported = lm.onnx.export(GPT(), words(1, 4))
    assert sum(list(i.dims) == [20, 8] for i in exported.graph.initializer) == 1


def test_arguments() -> None:
    def f(pair: Any, scale: float, *, extra: dict[str, lm.Tensor]) -> dict[str, Any]:
        a, b = pair
        return {"sum": a + b * scale, "rest": (extra["c"], [a - b])}

    a, b, c = lm.randn([2]), lm.randn([2]), lm.randn([3])
    exported = lm.onnx.export(f, ((a, b), 3.0), kwargs={"extra": {"c": c}})
    assert [i.name for i in exported.graph.input] == ["pair_0", "pair_1", "extra_c"]
    assert [i.name for i in exported.graph.output] == ["output_0", "output_1", "output_2"]
    got = run(exported, [a, b, c])
    np.testing.assert_allclose(got[0], (a + b * 3).numpy(), rtol=1e-6)
    np.testing.assert_array_equal(got[1], c.numpy())
    check(lambda x: [x, x, x + 0], [a])  # an output that is an input, and one twice
    exported = lm.onnx.export(lambda x, unused: x * 2, (a, b))
    assert len(exported.graph.input) == 2
    exported = lm.onnx.export(lambda x: (x * 2, lm.ones([2])), a.numpy())
    np.testing.assert_array_equal(run(exported, [a])[1], [1, 1])


def test_a_slice_of_an_axis_that_is_shorter() -> None:
    """Up to eight rows: their number is that of the run, not of the example."""

    def f(x: lm.Tensor) -> Any:
        first = x[:8]
        return first, first.mean(0), lm.var(lm.relu(first), 0), lm.trapezoid(first * 2, axis=0), lm.cov(first.T)

    exported = lm.onnx.export(f, lm.randn([20, 2]), dynamic_axes={"x": [0]})
    for n in (20, 8, 3):
        compare(f, [lm.randn([n, 2])], exported)


def test_statistics_that_training_would_update() -> None:
    norm = nn.BatchNorm1d(2)
    with pytest.raises(NotImplementedError, match=r"updates the running statistics.*call eval\(\)"):
        lm.onnx.export(lambda x: norm(x), lm.randn([3, 2]))
    norm.eval()
    check(lambda x: norm(x), [lm.randn([3, 2])])


def test_a_graph() -> None:
    graph = lm.graph.Graph("doubling")
    x = graph.input("x", lm.float32, [-1, 2])
    with lm.graph.recording(graph):
        y = x * 2
        z = y + 1
    y.name = "y"
    exported = lm.onnx.export(graph, [z, "y"], output_names=["z", "y"])
    given = lm.randn([3, 2])
    np.testing.assert_allclose(run(exported, [given])[0], (given * 2 + 1).numpy())
    np.testing.assert_allclose(run(exported, [given])[1], (given * 2).numpy())
    with pytest.raises(ValueError, match="the values to return"):
        lm.onnx.export(graph)


def test_writing_in_place() -> None:
    def f(x: lm.Tensor, y: lm.Tensor) -> Any:
        a = x * 2
        a += y
        a[0] = 0.0
        a[:, 1] = y[:, 0]
        b = a * 1
        b.mul_(3.0)
        b.masked_fill_(b > 2, -1.0)
        return a, b, lm.zeros_like(a).fill_(4.0), a.clone().zero_()

    check(f, [lm.randn([2, 3]), lm.randn([2, 3])])

    def through_a_copy(x: lm.Tensor) -> lm.Tensor:
        y = x * 1
        lm.reshape(y.T, [6]).add_(1.0)
        return y

    with pytest.raises(ValueError, match=r"add_ \(test_onnx_models.py:\d+\) writes to .*share memory.*used later"):
        lm.onnx.export(through_a_copy, lm.randn([2, 3]))
    outside = lm.zeros([2])
    with pytest.raises(ValueError, match="keeps nothing between its runs"):
        lm.onnx.export(lambda x: outside.add_(x), lm.randn([2]))
    assert outside.tolist() == [0, 0]
    weight = nn.Parameter(lm.zeros([2, 2]))

    def part_of_a_parameter(x: lm.Tensor) -> lm.Tensor:
        weight[0].copy_(x)
        return weight * 2

    with pytest.raises(ValueError, match="keeps nothing between its runs"):
        lm.onnx.export(part_of_a_parameter, lm.randn([2]))


def test_writing_through_views() -> None:
    def f(x: lm.Tensor) -> Any:
        y = x * 1
        y[:, 0] += 1.0
        y[0].mul_(2.0)
        first, second = lm.split(y, 2, axis=1)
        second[1:].sub_(first[1:])
        turned = y.T
        turned[1, 0:2] = 7.0
        corner = y[None, ::2, -2:]
        y.add_(0.5)
        lm.flip(corner, 2)[0, 0, 0] = -3.0
        return y, second, turned, corner, lm.swapaxes(corner, 0, 1).mul_(2.0)

    x = lm.randn([3, 4])
    exported = check(f, [x])
    compare(f, [lm.randn([3, 4])], exported)
    dynamic = lm.onnx.export(f, x, dynamic_axes={"x": [0]})
    for n in (3, 4, 2):
        compare(f, [lm.randn([n, 4])], dynamic)


def test_a_model_that_is_too_large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("lamella.onnx._export._LARGEST", 100)
    with pytest.raises(ValueError, match=r"GiB, and an ONNX file may have 2.*external_data=True"):
        lm.onnx.export(MLP(), lm.randn([2, 6]), tmp_path / "model.onnx")
    assert not os.listdir(tmp_path)


def test_parameters_in_a_file_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("lamella.onnx._export._LARGEST", 100)
    model, x = nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 64)), lm.randn([2, 64])
    path = tmp_path / "model.onnx"
    exported = lm.onnx.export(model, x, path, external_data=True)
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "model.onnx.data"]
    assert path.stat().st_size < 4096 and (tmp_path / "model.onnx.data").stat().st_size == 4 * 64 * 32 * 2
    onnx.checker.check_model(path, full_check=True)
    assert onnx.load(path, load_external_data=False) == exported
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": x.numpy()})[0], model(x).detach().numpy(), atol=1e-5)
    with pytest.raises(ValueError, match="pass the path"):
        lm.onnx.export(model, x, external_data=True)


def test_files(tmp_path: Path) -> None:
    model, x = MLP(), lm.randn([2, 6])
    path = tmp_path / "model.onnx"
    exported = lm.onnx.export(model, x, path)
    assert onnx.load(path) == exported
    assert os.listdir(tmp_path) == ["model.onnx"]
    stream = io.BytesIO()
    lm.onnx.export(model, x, stream)
    assert onnx.load_from_string(stream.getvalue()) == exported
    written = path.read_bytes()
    with pytest.raises(NotImplementedError):
        lm.onnx.export(lambda x: lm.zeta(x, x), x, path)
    assert path.read_bytes() == written and os.listdir(tmp_path) == ["model.onnx"]
    with pytest.raises(FileNotFoundError):
        lm.onnx.export(model, x, tmp_path / "nosuch" / "model.onnx")


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_dtypes(dtype: str) -> None:
    tolerance = {"rtol": 1e-2, "atol": 1e-2} if dtype == "float16" else {"rtol": 1e-12, "atol": 1e-12}
    x = lm.randn([2, 6]).astype(dtype)
    linear = nn.Linear(6, 3, dtype=dtype)
    check(lambda x: lm.relu(linear(x)).mean(0), [x], tolerance=tolerance)


def test_promotion() -> None:
    i, f = lm.asarray([1, 2]), lm.randn([2])
    check(lambda i, f: [i + f, i / 2, lm.where(f > 0, i, f), i * 2.5, lm.concat([i, f]), i == f, i < 1.5], [i, f])


def test_bfloat16_is_written() -> None:
    weight = nn.Parameter(lm.randn([2]).astype("bfloat16"))
    exported = lm.onnx.export(lambda x: x * weight, lm.ones([2], dtype="bfloat16"))
    [stored] = exported.graph.initializer
    assert onnx.numpy_helper.to_array(stored).astype("float32").tolist() == weight.astype("float32").tolist()
