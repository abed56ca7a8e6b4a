"""Programs that compute with sizes which are known only when they run: recorded once, and right for every size."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.graph import Graph

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

interpolate: Callable[..., Any] = lm.nn.functional.interpolate
PLACES = lm.asarray(np.random.default_rng(1).standard_normal((1, 16, 6)).astype("float32"))
MASK = lm.tril(lm.ones([1, 1, 16, 16]))
#: The sizes of the input, of which the first two are open.
SIZES = [(2, 3), (1, 5), (4, 1)]


def heads(x: Any) -> Any:
    """Attention over heads, written with the sizes of its input."""
    batch, length, width = x.shape
    q = k = v = lm.permute_dims(lm.reshape(x, [batch, length, 2, width // 2]), [0, 2, 1, 3])
    scores = q @ lm.matrix_transpose(k) / 3.0
    scores = lm.where(MASK[:, :, :length, :length] == 0, -np.inf, scores)
    mixed = lm.nn.functional.softmax(scores, axis=-1) @ v
    return lm.reshape(lm.permute_dims(mixed, [0, 2, 1, 3]), [batch, length, width])


def written(x: Any) -> Any:
    """A buffer that is as long as the input is written in part."""
    buffer = lm.zeros([x.shape[0], x.shape[1] + 2, 6])
    buffer[:, : x.shape[1]] = x
    buffer[:, x.shape[1]] = 1.0
    return buffer


def masked(x: Any) -> Any:
    """Elements that a mask picks are written to, from themselves."""
    y = x + 0
    y[y > 0.5] *= 2
    y[y < 0] += x[y < 0]
    return y


def looped(x: Any) -> Any:
    """The body of a loop takes sizes of its own values and of one around it."""

    def body(i: Any, h: Any) -> Any:
        grown = lm.concat([h, h])[: h.shape[0]]
        return i + 1, lm.reshape(grown * x.shape[0] + x[: h.shape[0] // 2].sum(), [h.shape[0], x.shape[1], -1])

    return lm.while_loop(lambda i, h: i < 3, body, (lm.sum(x * 0), x))[1]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: lm.reshape(x, [x.shape[0], x.shape[1], 2, 3]),
    "reshape with a rest": lambda x: lm.reshape(x, [x.shape[0], x.shape[1], -1, 3]),
    "reshape to a product": lambda x: lm.reshape(x, [x.shape[0] * x.shape[1], 6]),
    "reshape to a product and a rest": lambda x: lm.reshape(x, [x.shape[0] * x.shape[1], -1]),
    "reshape of what grew": lambda x: lm.reshape(lm.concat([x, x]), [x.shape[0], -1]),
    "reshape to twice the size": lambda x: lm.reshape(x, [2 * x.shape[0], x.shape[1], -1]),
    "unflatten": lambda x: lm.unflatten(lm.reshape(x, [-1, 6]), 0, [x.shape[0], x.shape[1]]),
    "attention": heads,
    "slice of a constant": lambda x: x + PLACES[:, : x.shape[1]],
    "slice from the middle": lambda x: x[:, x.shape[1] // 2 :],
    "slice from the end": lambda x: x[:, -x.shape[1] : -1],
    "slice back": lambda x: x[::-1, x.shape[1] : 0 : -1],
    "slice behind an ellipsis": lambda x: x[..., : x.shape[1], 1:],
    "slice of the first half": lambda x: lm.concat([x, 2 * x])[: x.shape[0]],
    "slices beside an index": lambda x: x[[0, 0], : x.shape[1] % 2],
    "the last": lambda x: x[x.shape[0] - 1],
    "mask": lambda x: x[:, : x.shape[1]][x[:, : x.shape[1]] > 0],
    "mean": lambda x: x.sum() / x.shape[0],
    "arithmetic": lambda x: x * x.shape[1] + x.shape[0] - 1,
    "arithmetic from the right": lambda x: x.shape[1] - x.shape[1] * x,
    "number of elements": lambda x: x / x.size,
    "comparison": lambda x: lm.asarray([1, 2, 3]) > x.shape[0],
    "a constant times a size": lambda x: PLACES * x.shape[0] + x.shape[1] / (PLACES * PLACES + 1),
    "equality": lambda x: lm.asarray([1, 2, 3]) == x.shape[0],
    "function": lambda x: lm.add(x, x.shape[0]),
    "arange": lambda x: lm.arange(x.shape[1]),
    "arange from one": lambda x: lm.arange(1, x.shape[1] + 1),
    "arange in steps": lambda x: lm.arange(0, 2 * x.shape[1], 3),
    "arange down": lambda x: lm.arange(x.shape[1], 0, -1),
    "arange of nothing": lambda x: lm.arange(x.shape[1], 0),
    "arange of floats": lambda x: lm.arange(x.shape[1], x.shape[1] + 4, dtype="float32"),
    "zeros": lambda x: lm.zeros([x.shape[0], x.shape[1] + 1]),
    "full": lambda x: lm.full([2, x.shape[1]], 3),
    "bools": lambda x: lm.ones([x.shape[1], x.shape[1]], dtype="bool"),
    "triangle": lambda x: lm.triu(lm.full([x.shape[1], x.shape[1]], -float("inf")), k=1),
    "broadcast": lambda x: lm.broadcast_to(x[:, :, None], [x.shape[0], x.shape[1], 4, 6]),
    "broadcast of a constant": lambda x: lm.broadcast_to(lm.asarray([[1.0], [2.0]])[:1], [x.shape[0], 4]),
    "tile": lambda x: lm.tile(x, [x.shape[1], 1, 2]),
    "tile with a new axis": lambda x: lm.tile(x, [1, x.shape[0], 1, 2]),
    "tensor": lambda x: lm.tensor([x.shape[0], 3, x.shape[1]]),
    "interpolation of lines": lambda x: interpolate(x, size=x.shape[1] * 2, mode="linear"),
    "interpolation": lambda x: interpolate(x[None], size=[x.shape[1] + 1, 4], mode="bilinear", align_corners=False),
    "interpolation of one size": lambda x: interpolate(x[None], size=x.shape[0]),
    "buffer": written,
    "write through a mask": masked,
}


def recorded(program: Callable[[Any], Any]) -> tuple[Graph, Any]:
    graph = Graph("open")
    x = graph.input("x", "float32", [-1, -1, 6])
    with lm.graph.recording(graph):
        return graph, program(x)


def given(sizes: tuple[int, int]) -> lm.Tensor:
    return lm.asarray(np.random.default_rng(2).standard_normal((*sizes, 6)).astype("float32"))


def check(found: Any, want: lm.Tensor, where: str) -> None:
    assert found.shape == want.shape and found.dtype == want.numpy().dtype, (where, found.shape, want.shape)
    np.testing.assert_allclose(found, want.numpy(), 1e-5, 1e-6, err_msg=where)


@pytest.mark.parametrize("name", PROGRAMS)
def test_runs_are_as_eager_ones(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    graph, y = recorded(program)
    read = Graph.parse(graph.text(), graph.captured)
    axes = {"x": [0, 1]}
    lm.onnx.export(program, (given((2, 3)),), tmp_path / "m.onnx", input_names=["x"], dynamic_axes=axes)
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    for sizes in SIZES:
        x = given(sizes)
        want = program(x)
        assert all(n in (-1, m) for n, m in zip(y.shape, want.shape, strict=True))
        for form, one in ("recorded", graph), ("read", read):
            for fuse in (False, True):
                [found] = one.run({"x": x}, [y.name], fuse=fuse)
                check(found.numpy(), want, f"{form}, fuse={fuse}, {sizes}")
        check(session.run(None, {"x": x.numpy()})[0], want, f"ONNX, {sizes}")


def test_bodies_of_loops_take_them(tmp_path: Path) -> None:
    graph, y = recorded(looped)
    lm.onnx.export(looped, given((2, 3)), tmp_path / "m.onnx", input_names=["x"], dynamic_axes={"x": [0, 1]})
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    for sizes in SIZES:
        x = given(sizes)
        want = looped(x)
        check(graph.run({"x": x}, [y])[0].numpy(), want, f"{sizes}")
        check(session.run(None, {"x": x.numpy()})[0], want, f"ONNX, {sizes}")


def test_gradients_flow_through_them() -> None:
    graph, y = recorded(lambda x: heads(x * 2) / x.shape[0] + PLACES[:, : x.shape[1]] * x)
    with lm.graph.recording(graph):
        [dx] = graph.gradients([y.sum()], [graph.symbol("x")])
    for sizes in SIZES:
        x = given(sizes)
        x.stop_gradient = False
        (heads(x * 2) / x.shape[0] + PLACES[:, : x.shape[1]] * x).sum().backward()
        [found] = graph.run({"x": x.detach()}, [dx])
        assert x.grad is not None
        np.testing.assert_allclose(found.numpy(), x.grad.numpy(), 1e-4, 1e-6)


def test_sizes_are_those_of_the_moment() -> None:
    def program(x: Any) -> Any:
        rows = lm.reshape(x, [-1, 3])
        before = rows.shape[0]
        rows = rows[:1]
        return lm.arange(before) + rows.shape[0]

    graph, y = recorded(program)
    x = given((2, 3))
    assert graph.run({"x": x}, [y])[0].tolist() == program(x).tolist()


REFUSED: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(x.shape[0]),
    "power": lambda x: x.shape[0] ** 0.5,
    "quotient": lambda x: 1 / x.shape[0],
    "order": lambda x: x.shape[0] > 3,
    "equality": lambda x: x.shape[0] == 3,
    "smallest": lambda x: min(x.shape),
    "range": lambda x: range(x.shape[1]),
    "bool": lambda x: bool(x.shape[1]),
    "number of bytes": lambda x: x.nbytes > 8,
    "step": lambda x: x[:: x.shape[0]],
    "identity": lambda x: lm.eye(x.shape[0]),
    "narrow": lambda x: lm.narrow(x, 1, 0, x.shape[0]),
    "transform": lambda x: lm.fft.ifft(x, axis=0),
    "number in full": lambda x: lm.full([2], x.shape[0]),
    "step of a range": lambda x: lm.arange(0, 10, x.shape[0] * 0.5),
    "areas": lambda x: interpolate(x, size=x.shape[1] * 2, mode="area"),
    "draw": lambda x: lm.random.normal(shape=[x.shape[0]]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_wait_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="known only when the graph runs"):
        recorded(REFUSED[name])


DECISIONS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "below": (lambda n: n < 9, True),
    "the largest": (lambda n: n <= 8, True),
    "above": (lambda n: n > 8, False),
    "the smallest": (lambda n: n >= 2, True),
    "below the smallest": (lambda n: n < 2, False),
    "equal": (lambda n: n == 9, False),
    "unequal": (lambda n: n != 1, True),
    "true": (lambda n: bool(n), True),
    "sum": (lambda n: n + 3 >= 5, True),
    "difference": (lambda n: 10 - n < 2, False),
    "product": (lambda n: n * n * 2 > 7, True),
    "quotient": (lambda n: n // 2 <= 4, True),
    "remainder": (lambda n: n % 4 < 4, True),
    "opposite": (lambda n: -n < 0, True),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_decisions_follow_from_limits(name: str) -> None:
    decide, wanted = DECISIONS[name]
    graph = Graph("limits")
    x = graph.input("x", "float32", [-1])
    graph.tell_size(x, 0, 2, 8)
    assert decide(x.shape[0]) is wanted
    assert all(decide(n) is wanted for n in range(2, 9))


def test_decisions_follow_examples_with_a_warning(tmp_path: Path) -> None:
    def program(x: Any) -> Any:
        assert x.shape[1] <= 16
        return x * 2 if x.shape[1] // 2 == 1 else x

    x = lm.ones([4, 3])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = lm.onnx.export(program, x, dynamic_axes={"x": [1]})
    assert len(told) == 2 and "(3 <= 16 is True)" in str(told[0].message) and "test_open" in told[0].filename
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": np.ones((4, 2), "float32")})[0].tolist() == [[2, 2]] * 4
    graph = Graph("limits")
    with pytest.raises(RuntimeError, match="known only when"):
        program(graph.input("x", "float32", [4, -1]))


def test_sizes_that_do_not_fit_are_errors_of_the_run() -> None:
    graph = Graph("two")
    x, y = graph.input("x", "float32", [-1, 4]), graph.input("y", "float32", [-1])
    with lm.graph.recording(graph):
        z = lm.reshape(x, [y.shape[0], -1])
    assert z.shape == (-1, 4)
    assert graph.run({"x": lm.ones([3, 4]), "y": lm.ones([3])}, [z])[0].shape == (3, 4)
    with pytest.raises(ValueError, match="reshape"):
        graph.run({"x": lm.ones([3, 4]), "y": lm.ones([6])}, [z])


def test_sizes_of_the_program_stay_numbers() -> None:
    graph = Graph("known")
    x = graph.input("x", "float32", [-1, 4])
    y = graph.input("y", "float32", [3, 4])
    with lm.graph.recording(graph):
        rows = lm.reshape(x, [x.shape[0], -1])
        pairs = lm.reshape(x, [x.shape[0], -1, 2])
    assert (y.size, y.nbytes, len(y), x.shape[1] * 2) == (12, 48, 3, 8)
    assert rows.shape == (-1, 4) and pairs.shape == (-1, 2, 2)
    # What is as long as its own tensor needs no shape of its own in each run.
    assert [node.op for node in graph.nodes] == ["lamella::reshape"] * 2
    assert x.shape == (-1, 4) and list(x.shape) == [-1, 4] and str(x.shape[0]) == "-1" and x.shape[0] == -1
    assert [r.shape for r in graph.run({"x": lm.ones([5, 4])}, [rows, pairs])] == [(5, 4), (5, 2, 2)]


def test_values_with_many_open_axes() -> None:
    weight = lm.asarray(np.random.default_rng(3).standard_normal((512, 2, 1, 1, 1)).astype("float32"))

    def program(x: Any) -> Any:
        wide = lm.conv3d(x, weight)
        return lm.nn.functional.interpolate(wide, scale_factor=2).mean(axis=1) + lm.sum(x)

    graph = Graph("many")
    x = graph.input("x", "float32", [-1, 2, -1, -1, -1])
    y = graph.input("y", "float32", [-1, -1, -1, -1, -1])
    with lm.graph.recording(graph):
        results = [program(x), y * 2]
    given = lm.asarray(np.random.default_rng(4).standard_normal((2, 2, 3, 1, 2)).astype("float32"))
    for found, want in zip(graph.run({"x": given, "y": given}, results), [program(given), given * 2], strict=True):
        np.testing.assert_allclose(found.numpy(), want.numpy(), 1e-5)


def test_pools_keep_sizes_that_are_known() -> None:
    graph = Graph("pooled")
    x = graph.input("x", "float32", [-1, 2, 6, 5])
    image = graph.input("image", "float32", [1, 2, -1, 5])
    with lm.graph.recording(graph):
        y = lm.adaptive_max_pool2d(x, (None, 2))
        with pytest.raises(RuntimeError, match=r"\[adaptive_avg_pool2d\] output_size keeps the size .* by None"):
            lm.adaptive_avg_pool2d(image, (None, 2))
    assert y.shape == (-1, 2, 6, 2)
    given = lm.randn([3, 2, 6, 5])
    assert lm.all(graph.run({"x": given}, [y])[0] == lm.adaptive_max_pool2d(given, (None, 2)))
