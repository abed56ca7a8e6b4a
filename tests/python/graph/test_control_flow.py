"""Branches and loops: eagerly, as nodes of graphs, and in compiled functions, with their gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

W = lm.nn.Parameter(lm.asarray(np.random.default_rng(2).normal(size=(3,)).astype(np.float32)))


def branch(x: Any) -> Any:
    return lm.cond(x.sum() > 0, lambda x: x * W, lambda x: (x - 1) * W * W, (x,))


def of_surroundings(x: Any) -> Any:
    h = x * 2
    return lm.cond(x.sum() > 0, lambda: h * W + x, lambda: h - W)


def tree(x: Any) -> Any:
    found = lm.cond(
        x.sum() > 0, lambda x: {"a": (x, 1.0), "b": x.sum()}, lambda x: {"a": [-x, 2.0], "b": x.max()}, (x,)
    )
    return found["a"][0] * found["a"][1] + found["b"]


def nested(x: Any) -> Any:
    def positive(x: Any) -> Any:
        return lm.cond(x.max() > 1, lambda: x * 3 + W, lambda: x + h)

    h = lm.tanh(x)
    return lm.cond(x.sum() > 0, positive, lambda x: x * h, (x,))


def loop(x: Any) -> Any:
    return lm.while_loop(lambda v: lm.abs(v).sum() < 20, lambda v: v * 2 + W * 0.1, (x,))[0]


def loop_with_count(x: Any) -> Any:
    h = x * 0.5
    count, y = lm.while_loop(
        lambda i, v: lm.logical_and(i < 5, v.sum() < 9), lambda i, v: (i + 1, v * 1.5 + h), [0, x * W]
    )
    return y + count


def loop_of_branches(x: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        return i + 1, lm.cond(v.sum() > i, lambda: v * 0.5, lambda: v + W * x)

    return lm.while_loop(lambda i, v: i < 4, body, (0, x))[1]


def branch_of_loops(x: Any) -> Any:
    return lm.cond(x.sum() > 0, loop, lambda x: x, (x,)) * 2


PROGRAMS = {
    program.__name__: program
    for program in (*(branch, of_surroundings, tree, nested, loop, loop_with_count, loop_of_branches, branch_of_loops),)
}


def reference(name: str, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The programs in numpy."""
    positive = x.sum() > 0
    if name == "branch":
        return x * w if positive else (x - 1) * w * w
    if name == "of_surroundings":
        return x * 2 * w + x if positive else x * 2 - w
    if name == "tree":
        return x + x.sum() if positive else -2 * x + x.max()
    if name == "nested":
        if positive:
            return x * 3 + w if x.max() > 1 else x + np.tanh(x)
        return x * np.tanh(x)
    if name in ("loop", "branch_of_loops"):
        v = x
        while (positive or name == "loop") and np.abs(v).sum() < 20:
            v = v * 2 + w * 0.1
        return v if name == "loop" else v * 2
    i, v = 0, x * w if name == "loop_with_count" else x
    if name == "loop_with_count":
        while i < 5 and v.sum() < 9:
            i, v = i + 1, v * 1.5 + x * 0.5
        return v + i
    for i in range(4):
        v = v * 0.5 if v.sum() > i else v + w * x
    return v


def slope(name: str, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The gradient of the sum with respect to x, by differences."""
    step = 1e-6
    return np.array([
        (reference(name, x + step * e, w).sum() - reference(name, x - step * e, w).sum()) / (2 * step)
        for e in np.eye(len(x))
    ])  # fmt: skip


INPUTS = [np.array(values) for values in ([1.0, 2.0, 0.5], [-1.0, 0.3, 0.2], [0.1, 0.2, 0.3], [-3.0, 1.0, 1.0])]


def leaf(values: np.ndarray) -> lm.Tensor:
    return lm.tensor(values.astype(np.float32), stop_gradient=False)


def check(name: str, run: Callable[[Any], tuple[Any, Any]]) -> None:
    w = W.detach().numpy().astype(float)
    for values in INPUTS:
        y, gradient = run(values)
        np.testing.assert_allclose(y, reference(name, values, w), 1e-5, 1e-6)
        np.testing.assert_allclose(gradient, slope(name, values, w), 1e-3, 1e-4)


@pytest.mark.parametrize("name", PROGRAMS)
class TestPrograms:
    def test_eager(self, name: str):
        def run(values: np.ndarray) -> Any:
            x = leaf(values)
            y = PROGRAMS[name](x)
            y.sum().backward()
            return y.detach().numpy(), x.grad.numpy()

        check(name, run)

    @pytest.mark.parametrize("shape", [[3], [-1, 3]])
    def test_graph(self, name: str, shape: list[int]):
        graph = lm.graph.Graph()
        x = graph.input("x", lm.float32, shape)
        x.stop_gradient = False
        with lm.graph.recording(graph):
            y = PROGRAMS[name](x)
            gradients = graph.gradients(y.sum(), [x])
        assert [node.op for node in graph.nodes if node.kind == "function"][-1] in ("cond", "while_loop")
        graph.verify()
        assert "while_loop" in graph.text() or "cond" in graph.text()

        def run(values: np.ndarray) -> Any:
            given = leaf(values.reshape(1, 3) if len(shape) == 2 else values)
            found = graph.run({"x": given}, [y, *gradients], fuse=bool(values[0] > 0))
            return [t.detach().numpy().reshape(3) for t in found]

        check(name, run)

    def test_compiled(self, name: str):
        compiled = lm.compile(PROGRAMS[name])

        def run(values: np.ndarray) -> Any:
            x = leaf(values)
            y = compiled(x)
            y.sum().backward()
            return y.detach().numpy(), x.grad.numpy()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lm.CompileWarning)
            for _ in range(3):
                check(name, run)
        assert lm.compile.explain(compiled).graphs


def test_one_graph_for_both_branches():
    compiled = lm.compile(branch)
    for values in INPUTS * 3:
        compiled(leaf(values))
    explanation = lm.compile.explain(compiled)
    assert len(explanation.graphs) == 1 and "cond" in str(explanation)


LAYER = lm.nn.Linear(3, 3)


def _recursive(x: Any) -> Any:
    return x if x.ndim == 1 else _recursive(x[0])


@pytest.mark.parametrize("name", ["layers", "recursion", "effects", "numbers of a list"])
def test_branches_that_are_steps_and_those_that_are_not(name: str):
    seen: list[int] = []
    numbers = [2.0]

    def positive(x: Any) -> Any:
        seen.append(1)
        return x * 2

    function: Callable[[Any], Any] = {
        "layers": lambda x: lm.cond(x.sum() > 0, LAYER, lambda x: LAYER(x) * 2, (x,)),
        "recursion": lambda x: lm.cond(x.sum() > 0, _recursive, lambda x: x * 2, (x,)),
        "effects": lambda x: lm.cond(x.sum() > 0, positive, lambda x: x, (x,)),
        "numbers of a list": lambda x: lm.cond(x.sum() > 0, lambda: x * numbers[0], lambda: x),
    }[name]
    compiled = lm.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lm.CompileWarning)
        for i, values in enumerate(INPUTS * 4):
            numbers[0] = 2.0 + i // 8
            count = len(seen)
            expected = function(leaf(values))
            half = len(seen)
            np.testing.assert_allclose(compiled(leaf(values)).tolist(), expected.tolist(), 1e-6)
            assert len(seen) - half == half - count
    assert ("cond" in str(lm.compile.explain(compiled))) == (name == "layers")


def test_gradients_of_parameters_within_branches():
    graph = lm.graph.Graph()
    x, w = graph.input("x", lm.float32, [3]), graph.capture(W, "w")
    with lm.graph.recording(graph):
        y = branch(x)
        [gradient] = graph.gradients(y.sum(), [w])
    for values in INPUTS:
        [found] = graph.run({"x": lm.asarray(values.astype(np.float32))}, [gradient])
        expected = values if values.sum() > 0 else (values - 1) * 2 * W.detach().numpy()
        np.testing.assert_allclose(found.detach().numpy(), expected, 1e-5)


def test_higher_derivatives():
    x = leaf(INPUTS[0])
    y = lm.while_loop(lambda v: v.sum() < 50, lambda v: v * v, (x,))[0]  # three times: x ** 8
    (first,) = lm.grad(y.sum(), [x], create_graph=True)
    (second,) = lm.grad(first.sum(), [x])
    np.testing.assert_allclose(second.numpy(), 56 * INPUTS[0] ** 6, 1e-5)


def test_writes_and_random_numbers_within_branches():
    total = lm.zeros([])
    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [2])
    with lm.graph.recording(graph):
        graph.capture(total)

        def positive() -> Any:
            total.add_(x.sum().detach())
            return x + lm.rand([2])

        y = lm.cond(x.sum() > 0, positive, lambda: x)
    lm.random.seed(3)
    expected = lm.rand([2]).numpy()
    lm.random.seed(3)
    found = [graph.run({"x": lm.full([2], v)}, [y])[0].numpy() for v in (-1.0, 1.0, -1.0)]
    assert total.item() == 2
    np.testing.assert_allclose(found, [[-1, -1], 1 + expected, [-1, -1]], 1e-6)


def test_inference_graphs_have_no_dropout_within_branches():
    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [50])
    with lm.graph.recording(graph):
        y = lm.cond(x.sum() > 0, lambda: lm.dropout(x, 0.5, True), lambda: x)
    [noisy] = graph.run({"x": lm.ones([50])}, [y])
    [plain] = graph.inference().run({"x": lm.ones([50])}, [y.name])
    assert set(noisy.tolist()) == {0.0, 2.0} and set(plain.tolist()) == {1.0}


def test_numbers_and_bools():
    assert lm.cond(True, lambda: 1, lambda: 2).item() == 1
    assert lm.cond(lm.tensor([[False]]), lambda: 1, lambda: 2).item() == 2
    count, total = lm.while_loop(lambda i, t: i < 4, lambda i, t: [i + 1, t + i], (0, 0))
    assert (count.item(), total.item(), count.dtype) == (4, 6, lm.int64)
    assert lm.while_loop(lambda x: False, lambda x: x, [{"a": 1.0}])[0]["a"].item() == 1.0
    assert lm.while_loop(lambda x: x < 3, lambda x: x + 1, [0])[0].item() == 3


X = lm.ones([3])
MISTAKES: list[tuple[Callable[[Any], Any], type[Exception], list[str], bool]] = [
    # The call, the exception, its words, and whether it is one without a graph as well.
    (lambda x: lm.cond(x > 0, lambda: x, lambda: x), ValueError, ["pred", "[3]"], True),
    (lambda x: lm.cond("yes", lambda: x, lambda: x), TypeError, ["pred", "str"], True),
    (lambda x: lm.cond(x.sum() > 0, 3, lambda: x), TypeError, ["true_fn", "int"], True),
    (lambda x: lm.cond(x.sum() > 0, lambda: "text", lambda: x), TypeError, ["str"], True),
    (lambda x: lm.cond(x.sum() > 0, lambda x: x, lambda x: x, x), TypeError, ["operands"], True),
    (lambda x: lm.cond(x.sum() > 0, lambda: x, lambda: x.sum()), ValueError, ["float32[3]", "float32[]"], False),
    (lambda x: lm.cond(x.sum() > 0, lambda: (x, {"a": x}), lambda: (x, {"a": x.astype(lm.int32)})), ValueError,
     ["result[1]['a']", "float32[3]", "int32[3]"], False),
    (lambda x: lm.cond(x.sum() > 0, lambda: x, lambda: (x, x)), ValueError, ["structures"], False),
    (lambda x: lm.while_loop(lambda v: v.sum() < 9, lambda v: v.sum(), (x,)), ValueError, ["carry[0]", "float32[]"],
     True),
    (lambda x: lm.while_loop(lambda i, v: v.sum() < 9, lambda i, v: (i + 0.5, v), (0, x)), ValueError,
     ["carry[0]", "int64[]", "float32[]"], True),
    (lambda x: lm.while_loop(lambda i, v: v.sum() < 9, lambda i, v: v, (0, x)), ValueError, ["structure"], True),
    (lambda x: lm.while_loop(lambda v: v < 9, lambda v: v, (x,)), ValueError, ["condition", "[3]"], True),
    (lambda x: lm.while_loop(lambda v: None, lambda v: v, (x,)), TypeError, ["condition", "NoneType"], True),
    (lambda x: lm.while_loop(lambda: True, lambda: (), ()), ValueError, ["empty"], True),
    (lambda x: lm.while_loop(lambda v: True, lambda v: v, x), TypeError, ["carry"], True),
    (lambda x: lm.while_loop(lambda v: v.sum() < 9, lambda v: "a", (x,)), TypeError, ["body_fn", "str"], True),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes(number: int):
    call, error, words, eager = MISTAKES[number]
    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [3])
    with lm.graph.recording(graph), pytest.raises(error) as raised:
        call(x)
    for word in words:
        assert word in str(raised.value)
    if eager:
        with pytest.raises(error):
            call(X)
    with lm.graph.recording(graph):
        lm.cond(x.sum() > 0, lambda: x, lambda: -x)
    graph.verify()


def test_an_exception_within_a_branch_names_it():
    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [3])
    with lm.graph.recording(graph), pytest.raises(ValueError, match="matmul") as raised:
        lm.cond(x.sum() > 0, lambda: x @ lm.ones([4]), lambda: x)
    assert any("true_fn" in note for note in raised.value.__notes__)


def test_examples_of_a_batch_take_branches_of_their_own() -> None:
    def function(x: lm.Tensor) -> Any:
        return lm.cond(x.sum() > 0, lambda x: {"a": x * 2, "b": 1.0}, lambda x: {"a": x * x, "b": 2.0}, (x,))

    rows = np.array([[1.0, 2.0], [-3.0, 1.0], [0.0, 0.0], [4.0, -1.0]], "float32")
    found = lm.vmap(function)(lm.asarray(rows))
    wanted = [function(lm.asarray(row)) for row in rows]
    np.testing.assert_array_equal(found["a"].numpy(), np.stack([each["a"].numpy() for each in wanted]))
    assert found["b"].tolist() == [each["b"].item() for each in wanted]
    x = lm.tensor(rows, stop_gradient=False)
    gradient = lm.grad(lm.vmap(lambda x: function(x)["a"])(x).sum(), x)
    np.testing.assert_array_equal(gradient.numpy(), np.where(rows.sum(1, keepdims=True) > 0, 2, 2 * rows))
    with pytest.raises(ValueError, match=r"float32\[2\].*float32\[\].*from example to example"):
        lm.vmap(lambda x: lm.cond(x.sum() > 0, lambda x: x, lambda x: x.sum(), (x,)))(x)
    with pytest.raises(ValueError, match="different structures"):
        lm.vmap(lambda x: lm.cond(x.sum() > 0, lambda x: x, lambda x: (x, x), (x,)))(x)


def test_loops_of_a_batch_end_one_by_one() -> None:
    def count(limit: lm.Tensor, start: lm.Tensor) -> Any:
        return lm.while_loop(lambda i, x: x < limit, lambda i, x: (i + 1, x * x + 1), (0, start))

    starts = np.array([0.0, 1.0, 2.0, 50.0], "float32")
    limits = np.array([5.0, 30.0], "float32")
    steps, ends = lm.vmap(lambda limit: lm.vmap(lambda x: count(limit, x))(lm.asarray(starts)))(lm.asarray(limits))
    for i, limit in enumerate(limits):
        for k, start in enumerate(starts):
            step, end = count(lm.asarray(limit), lm.asarray(start))
            assert (steps[i, k].item(), ends[i, k].item()) == (step.item(), end.item())
    x = lm.tensor(starts, stop_gradient=False)
    one = lm.asarray(30.0)
    gradient = lm.grad(lm.vmap(lambda x: count(one, x)[1])(x).sum(), x)
    for k, start in enumerate(starts):
        leaf = lm.tensor(start, stop_gradient=False)
        assert gradient[k].item() == lm.grad(count(one, leaf)[1] * 1, leaf).item()
