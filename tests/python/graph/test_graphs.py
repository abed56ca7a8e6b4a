"""Graphs: building, running, text, and what is refused."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import lamella as lm
from lamella import library

Graph = lm.graph.Graph


def small_graph() -> tuple[lm.graph.Graph, Any, Any, lm.Tensor]:
    """y = tanh(x @ w + 1), its sum, and the gradient of the sum with respect to w."""
    graph = Graph("small")
    x = graph.input("x", "float32", [-1, 3])
    w = lm.nn.Parameter(lm.asarray(np.linspace(-1, 1, 12).reshape(3, 4).astype("float32")))
    with lm.graph.recording(graph):
        y: Any = lm.tanh(x @ w + 1)
        total = y.sum()
    (grad,) = graph.gradients(total, w)
    return graph, y, grad, w


def rows(count: int) -> lm.Tensor:
    return lm.asarray(np.arange(3.0 * count).reshape(count, 3).astype("float32") / 10)


def raises(kind: type[BaseException], call: Callable[[], Any], *parts: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value) + "\n".join(getattr(caught.value, "__notes__", []))
    for part in parts:
        assert part in text, text


class TestSymbols:
    def test_what_they_say(self) -> None:
        graph, y, _, _ = small_graph()
        assert (y.shape, y.dtype, y.ndim, y.size, y.device) == ((-1, 4), lm.float32, 2, -1, "cpu")
        assert isinstance(y, lm.graph.Symbol) and y.graph is graph
        y.name = "result"
        assert graph.symbol("result") is y and "result" in graph and repr(y).startswith("Symbol('result'")
        raises(ValueError, lambda: setattr(y, "name", "x"), "'x'")

    @pytest.mark.parametrize(
        "use",
        [
            *(bool, float, int, list, len, np.asarray, memoryview),
            *(lambda y: y.item(), lambda y: y.numpy(), lambda y: y.tolist(), lambda y: y.backward()),
            lambda y: y.register_hook(print),
        ],
    )
    def test_they_have_no_elements(self, use: Callable[[Any], Any]) -> None:
        _, y, _, _ = small_graph()
        y.name = "result"
        with pytest.raises((RuntimeError, TypeError, BufferError, ValueError)):
            use(y)

    def test_a_size_that_is_known_can_be_iterated_over(self) -> None:
        graph = Graph()
        x = graph.input("x", "float32", [2, 3])
        first, second = x
        assert first.shape == second.shape == (3,) and len(x) == 2

    def test_of_another_graph(self) -> None:
        _, y, _, _ = small_graph()
        other = Graph("other")
        x = other.input("x", "float32", [4])
        raises(ValueError, lambda: x + y, "'small'", "'other'")

    def test_methods_record_without_a_scope(self) -> None:
        graph = Graph()
        x = graph.input("x", "float64", [2, 2])
        z: Any = 1 - (x.exp().reshape(4)[1:] * 2).sum()
        got = graph.run({"x": lm.zeros([2, 2], dtype="float64")}, [z])[0]
        assert got.item() == -5

    def test_arrays_and_numbers_are_operands(self) -> None:
        graph = Graph()
        x = graph.input("x", "float64", [2])
        z: Any = np.ones(2) * x + np.float64(2) + x**2 - 1.5
        np.testing.assert_array_equal(graph.run({"x": lm.ones([2], dtype="float64")}, [z])[0].numpy(), [2.5, 2.5])

    def test_writes_in_place_are_seen_by_views(self) -> None:
        graph = Graph()
        x = graph.input("x", "float64", [3])
        y: Any = x * 1
        view = y[1:]
        y[0] = 5.0
        y += 1
        view *= 2
        (grad,) = graph.gradients(y.sum(), x)
        assert grad is not None
        got = graph.run({"x": lm.ones([3], dtype="float64")}, [y, grad])
        np.testing.assert_array_equal(got[0].detach().numpy(), [6, 4, 4])
        np.testing.assert_array_equal(got[1].numpy(), [0, 2, 2])


class TestRuns:
    @pytest.mark.parametrize("count", [0, 1, 5])
    def test_the_eager_numbers(self, count: int) -> None:
        graph, y, grad, w = small_graph()
        expected = lm.tanh(rows(count) @ w + 1)
        (slope,) = lm.grad([expected.sum()], [w])
        got = graph.run({"x": rows(count)}, [y, grad], fuse=False)
        np.testing.assert_array_equal(got[0].detach().numpy(), expected.detach().numpy())
        np.testing.assert_array_equal(got[1].numpy(), slope.numpy())

    def test_captured_tensors_are_seen_as_they_are(self) -> None:
        graph, y, _, w = small_graph()
        with lm.no_grad():
            w.zero_()
        np.testing.assert_array_equal(
            graph.run({"x": rows(1)}, [y])[0].detach().numpy(), np.tanh(np.ones((1, 4), "f4"))
        )
        assert list(graph.captured.values()) == [w]

    def test_writes(self) -> None:
        graph = Graph()
        counter = lm.zeros([])
        with lm.graph.recording(graph):
            graph.write(counter, graph.capture(counter) + 1)
        for _ in range(3):
            graph.run()
        assert counter.item() == 3

    def test_regions_without_gradients(self) -> None:
        graph = Graph()
        x = graph.input("x", "float64", [2])
        with lm.no_grad():
            constant = x * 3
        (grad,) = graph.gradients((x * x * constant).sum(), x)
        assert grad is not None
        np.testing.assert_array_equal(graph.run({"x": lm.ones([2], dtype="float64")}, [grad])[0].numpy(), [6, 6])
        y: Any = x * x
        y.stop_gradient = True
        (grad,) = graph.gradients((x * y).sum(), x)
        assert grad is not None
        np.testing.assert_array_equal(graph.run({"x": lm.ones([2], dtype="float64")}, [grad])[0].numpy(), [1, 1])
        assert graph.gradients((y * 2).sum(), x) == [None]

    def test_random_numbers_are_drawn_in_each_run(self) -> None:
        graph = Graph()
        x = graph.input("x", "float32", [1000])
        with lm.graph.recording(graph):
            y: Any = lm.dropout(x, 0.5) + lm.rand([1000])
        feeds = {"x": lm.ones([1000])}
        lm.random.seed(3)
        first, second = graph.run(feeds, [y])[0].numpy(), graph.run(feeds, [y])[0].numpy()
        assert (first != second).any()
        lm.random.seed(3)
        eager = lm.dropout(lm.ones([1000]), 0.5) + lm.rand([1000])
        np.testing.assert_array_equal(first, eager.numpy())

    def test_parts(self) -> None:
        graph, y, _, _ = small_graph()
        calls: list[int] = []
        graph.function("count", lambda: calls.append(1), [], [])
        assert len(graph.prune([y]).nodes) == 3
        graph.run({"x": rows(2)}, [y], prune=True)
        assert calls == [1]  # it has effects
        graph.clone().run({"x": rows(2)}, [y.name])
        assert calls == [1, 1]

    def test_in_several_threads_and_within_one_another(self) -> None:
        graph, y, grad, _ = small_graph()
        want = [graph.run({"x": rows(n)}, [y, grad])[1].numpy() for n in range(1, 5)]
        wrong: list[int] = []

        def work(n: int) -> None:
            for _ in range(50):
                if (graph.run({"x": rows(n)}, [y, grad])[1].numpy() != want[n - 1]).any():
                    wrong.append(n)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        outer = Graph("outer")
        x = outer.input("x", "float32", [2, 3])
        (z,) = outer.function("inner", lambda t: graph.run({"x": t}, [y]), [x], [("float32", [2, 4])])
        np.testing.assert_array_equal(
            outer.run({"x": rows(2)}, [z])[0].detach().numpy(), graph.run({"x": rows(2)}, [y])[0].detach().numpy()
        )

    def test_other_threads_are_not_recorded(self) -> None:
        graph = Graph()
        graph.input("x", "float32", [1])
        results: list[lm.Tensor] = []
        with lm.graph.recording(graph):
            thread = threading.Thread(target=lambda: results.append(lm.rand([2]) * 0 + 1))
            thread.start()
            thread.join()
            assert lm.graph.is_recording()
        assert not lm.graph.is_recording()
        assert results[0].tolist() == [1, 1] and not graph.nodes

    def test_wrong_feeds(self) -> None:
        graph, y, _, _ = small_graph()
        raises(ValueError, lambda: graph.run({}, [y]), "'x'", "not fed")
        raises(ValueError, lambda: graph.run({"x": rows(1), "z": rows(1)}, [y]), "'z'")
        raises(TypeError, lambda: graph.run({"x": rows(1).astype("float64")}, [y]), "'x'", "float32[-1, 3]")
        raises(ValueError, lambda: graph.run({"x": lm.ones([2, 4])}, [y]), "'x'", "[2, 4]")
        raises(KeyError, lambda: graph.run({"x": rows(1)}, ["nothing"]), "nothing")


class TestNodes:
    def test_a_function_of_numpy(self) -> None:
        graph = Graph()
        x = graph.input("x", "float64", [-1])
        (y,) = graph.function("sort", lambda t: lm.asarray(np.sort(t.numpy())), [x], [("float64", [-1])])
        assert graph.run({"x": lm.asarray(np.array([3.0, 1.0]))}, [y])[0].tolist() == [1, 3]

    def test_functions_are_checked(self) -> None:
        graph = Graph("g")
        x = graph.input("x", "float64", [-1])
        (y,) = graph.function("bad", lambda t: t.astype("float32"), [x], [("float64", [-1])])
        raises(ValueError, lambda: graph.run({"x": lm.zeros([2], dtype="float64")}, [y]), "'bad'", "float64[-1]")
        graph = Graph("g")
        graph.function("two", lambda: [lm.ones([1])] * 2, [], [("float32", [1])])
        raises(ValueError, lambda: graph.run(), "'two'", "2 tensors")

        class OwnError(Exception):
            pass

        def fail() -> None:
            raise OwnError("why")

        graph = Graph("g")
        graph.function("failing", fail, [], [])
        raises(OwnError, lambda: graph.run(), "why", "'failing'", "test_graphs.py")

    def test_layers(self) -> None:
        class Cube(lm.PyLayer):
            @staticmethod
            def forward(ctx: Any, x: lm.Tensor, scale: float = 1.0) -> tuple[lm.Tensor, lm.Tensor]:
                ctx.save_for_backward(x)
                ctx.scale = scale
                return lm.asarray(x.numpy() ** 3 * scale), x * 2

            @staticmethod
            def backward(ctx: Any, grad: lm.Tensor, _other: lm.Tensor) -> lm.Tensor:
                (x,) = ctx.saved_tensor()
                return grad * 3 * x * x * ctx.scale

        graph = Graph()
        x = graph.input("x", "float64", [-1])
        with lm.graph.recording(graph):
            y, z = Cube.apply(x, scale=2.0)
        (grad,) = graph.gradients(y.sum(), x)
        assert grad is not None
        got = graph.run({"x": lm.asarray(np.array([1.0, 2.0]))}, [y, z, grad])
        assert [t.detach().tolist() for t in got] == [[2, 16], [2, 4], [6, 24]]

    def test_registered_operators(self) -> None:
        own = library.Library("graph_tests", "DEF")
        own.define("scale(Tensor x, float by=2.0) -> (Tensor, Tensor)")
        own.impl("scale", lambda x, by: (lm.asarray(x.numpy() * by), lm.asarray(-x.numpy())), "CPU")
        own.impl("scale", lambda x, by: (lm.empty_like(x), lm.empty_like(x)), "Meta")
        graph = Graph()
        x = graph.input("x", "float64", [-1])
        with lm.graph.recording(graph):
            y, z = lm.ops.graph_tests.scale(x, by=3.0)
        assert graph.nodes[0].op == "graph_tests::scale" and graph.nodes[0].arguments[1] == ("by", 3.0)
        got = graph.run({"x": lm.asarray(np.array([1.0]))}, [y, z])
        assert [t.tolist() for t in got] == [[3], [-1]]
        parsed = Graph.parse(graph.text())
        assert parsed.run({"x": lm.asarray(np.array([1.0]))}, [y.name])[0].tolist() == [3]
        own.define("plain(Tensor x) -> Tensor")
        own.impl("plain", lambda x: x, "CPU")
        with lm.graph.recording(graph):
            raises(NotImplementedError, lambda: lm.ops.graph_tests.plain(x), "Meta")

    def test_shapes_that_depend_on_elements(self) -> None:
        graph = Graph()
        x = graph.input("x", "float64", [6])
        with lm.graph.recording(graph):
            y: Any = lm.masked_select(x, x > 0)
        assert y.shape == (-1,)
        assert graph.run({"x": lm.asarray(np.array([1.0, -1, 2, -2, 3, -3]))}, [y])[0].tolist() == [1, 2, 3]

    def test_what_a_graph_cannot_know_is_refused(self) -> None:
        graph = Graph()
        x = graph.input("x", "float32", [2, 3])
        doubled = lm.nn.Parameter(lm.ones([3, 2])) * 2
        raises(ValueError, lambda: x @ doubled, "result of a recorded operation", "detach()")
        assert (x @ doubled.detach()).shape == (2, 2)
        with lm.autocast(), lm.graph.recording(graph):
            raises(NotImplementedError, lambda: x @ x.T, "autocast")
        functions: list[Callable[[], Any]] = [
            lambda: lm.vmap(lambda row: row * 2)(x) + x,
            lambda: lm.grad([x.sum()], [x]),
            lambda: lm.jvp(lambda t: t * 2, (x,), (x,))[1] + x,
        ]
        with lm.graph.recording(graph):
            for function in functions:
                with pytest.raises((ValueError, RuntimeError, TypeError, NotImplementedError)):
                    function()

    def test_wrong_arguments_are_refused_while_recording(self) -> None:
        graph = Graph()
        x = graph.input("x", "float64", [2, 3])
        with lm.graph.recording(graph):
            raises(ValueError, lambda: x @ x, "matmul")
            raises(TypeError, lambda: lm.sum(x, axis="0"), "axis")  # type: ignore[arg-type]
        assert not graph.nodes
        raises(ValueError, lambda: graph.input("x", "float64", [1]), "'x'")
        raises(ValueError, lambda: graph.input("y", "float64", [-2]), "-2")
        raises(ValueError, lambda: graph.capture(lm.empty([2], device="meta")), "meta")


class TestText:
    def test_it_can_be_read(self) -> None:
        graph, y, grad, _ = small_graph()
        assert graph.text().splitlines()[:3] == [
            'graph "small"',
            "input %x: float32[-1, 3]",
            "captured %c: float32[3, 4]",
        ]
        parsed = Graph.parse(graph.text(), graph.captured)
        assert parsed.text() == graph.text() and str(graph) == graph.text()
        for a, b in zip(
            graph.run({"x": rows(3)}, [y, grad]), parsed.run({"x": rows(3)}, [y.name, grad.name]), strict=True
        ):
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
        assert graph.dot().startswith('digraph "small"') and "lamella::tanh" in graph.dot()

    def test_it_can_be_drawn(self, tmp_path: Path) -> None:
        """As a document of XML that has a box for each node and each tensor that is read, and an arrow for each use."""
        graph, *_ = small_graph()
        drawing = graph.draw(tmp_path / "graph.svg")
        assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == drawing == drawing._repr_svg_()
        picture = ElementTree.fromstring(drawing)
        boxes = [[text.text for text in box.findall("{*}text")] for box in picture.findall("{*}g")]
        assert ["c", "float32[3, 4]"] in boxes and ["x", "float32[-1, 3]"] in boxes
        drawn = [box for box in boxes if box not in (["c", "float32[3, 4]"], ["x", "float32[-1, 3]"])]
        assert [box[0] for box in drawn] == [node.op.removeprefix("lamella::") for node in graph.nodes]
        assert all(box[-1].startswith("test_graphs.py:") for box in drawn)
        assert len(picture.findall("{*}path")) >= len(graph.nodes)
        few = graph.draw(max_nodes=1)
        assert f"{len(graph.nodes) - 1} more nodes left out" in few and len(few) < len(drawing)
        raises(ValueError, lambda: graph.draw(max_nodes=0), "max_nodes")

    def test_odd_names_and_constants(self) -> None:
        graph = Graph('a "quoted"\nname')
        x = graph.input('in put "%"', "complex128", [2])
        with lm.graph.recording(graph):
            y: Any = x * (1 + 2j) + float("inf")
            z: Any = lm.pad(x, [1, 1], value=float("nan"))
        y.name = "größe/1@GRAD"
        parsed = Graph.parse(graph.text())
        assert parsed.text() == graph.text() and parsed.name == graph.name
        feed = {x.name: lm.asarray(np.array([1, 1j]))}
        for a, b in zip(graph.run(feed, [y, z]), parsed.run(feed, [y.name, z.name]), strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())

    def test_cut_off_or_changed_text_is_refused(self, rng: np.random.Generator) -> None:
        """Every text gives a graph that runs, or a ValueError; none ends the process."""
        graph, _, _, _ = small_graph()
        text = graph.text()
        variants = [text[:n] for n in range(len(text))]
        characters = "%[](),=:#\"' \n-1xé" + text
        for _ in range(2000):
            at = int(rng.integers(len(text)))
            variants.append(text[:at] + characters[int(rng.integers(len(characters)))] + text[at + 1 :])
        lines = text.splitlines()
        variants += ["\n".join(lines[:i] + lines[i + 1 :]) for i in range(len(lines))]
        variants += ["\n".join([*lines[:i], lines[i], *lines[i:]]) for i in range(len(lines))]
        refused = 0
        for variant in variants:
            try:
                parsed = Graph.parse(variant, graph.captured)
                parsed.verify()
                names = [s.name for s in parsed.symbols]
                parsed.run({x.name: lm.ones([2, 3]) for x in parsed.inputs}, names)
            except (ValueError, TypeError, IndexError, RuntimeError):
                refused += 1
        assert refused > len(variants) // 2

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("%y: float32[2] = lamella::nothing(%x)", "no operator"),
            ("%y: float32[2] = lamella::tanh(%z)", "no value 'z'"),
            ("%y: float32[2] = lamella::tanh(%x, %x)", "more arguments"),
            ("%y: float32[2] = lamella::sum(%x, axis=1, axis=2)", "given twice"),
            ("%y: float33[2] = lamella::tanh(%x)", "no dtype"),
            ("%x: float32[2] = lamella::tanh(%x)", "already"),
            ("%y: float32[2] = lamella::tanh()", "is missing"),
            ('%y: float32[2] = function "f"([%x])', "no function"),
            ("captured %w: float32[2]", "no tensor"),
            ("input %x: float32[2]", "already"),
            ("nonsense", "no operator"),
        ],
    )
    def test_errors_show_the_line(self, line: str, message: str) -> None:
        text = f'graph "g"\ninput %x: float32[2]\n{line}\n'
        raises(ValueError, lambda: Graph.parse(text), "line 3", message, line)


def test_graphs_are_freed() -> None:
    graph, y, _, w = small_graph()
    graph.function("closure", functools.partial(lambda _graph: None, graph), [], [])
    graph.run({"x": rows(1)}, [y])
    gone = weakref.ref(graph), weakref.ref(w)
    del graph, y, w, _
    gc.collect()
    assert [one() for one in gone] == [None, None]


EXPRESSIONS: list[Any] = [
    *(lambda w: w * 2, lambda w: 2 - w, lambda w: w**2, lambda w: -w, lambda w: abs(w), lambda w: w @ w.T),
    *(lambda w: w[0], lambda w: w[:, 1:], lambda w: w.mT, lambda w: w.H, lambda w: divmod(w, 0.5)[1], lambda w: +w),
    *(lambda w: (w > 0) | (w < 1), lambda w: [row * 2 for row in w][1], lambda w: np.ones(3) * w, lambda w: w // 0.3),
]


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
@pytest.mark.parametrize("kind", ["parameter", "captured"])
def test_expressions_of_tensors_that_are_no_symbols(kind: str, number: int) -> None:
    """They are computed when the graph runs, from what the tensors hold then."""
    w = lm.nn.Parameter(lm.ones([2, 3]) / 3) if kind == "parameter" else lm.ones([2, 3]) / 3
    expression = EXPRESSIONS[number]
    graph = lm.graph.Graph()
    if kind == "captured":
        graph.capture(w)
    with lm.graph.recording(graph):
        y = expression(w)
    assert isinstance(y, lm.graph.Symbol) or y is w
    with lm.no_grad():
        w.copy_(lm.tensor([[0.5, -0.75, 2.0], [1.5, 3.25, -0.125]]))
        [value] = graph.run({}, [y])
        np.testing.assert_array_equal(value.detach().numpy(), expression(w).detach().numpy())


def test_writes_into_tensors_that_are_no_symbols() -> None:
    table = lm.zeros([3, 2])
    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [2])
    graph.capture(table)
    with lm.graph.recording(graph):
        table[1] = x
        table += 1
        table[0] = 7.0
    assert not table.any()
    graph.run({"x": lm.tensor([2.0, 3.0])}, [])
    np.testing.assert_array_equal(table.numpy(), [[7, 7], [3, 4], [1, 1]])


WRITES: dict[str, Callable[[Any], Any]] = {
    "an element": lambda y: y.__setitem__(0, 9.0),
    "in place": lambda y: y.add_(1),
    "through a view": lambda y: y.T[0].add_(1),
    "through what is off the tape": lambda y: y.detach().mul_(3),
    "through the same dtype": lambda y: y.to(lm.float32).fill_(2),
    "through conj of real numbers": lambda y: lm.conj(y).__setitem__(0, 7.0),
    "through einsum that moves axes": lambda y: lm.einsum("ij->ji", y).__setitem__(0, 4.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_are_part_of_every_form(name: str) -> None:
    """What is pruned, fused, saved as text or made for inference writes where the program did."""

    def program(x: Any) -> Any:
        y = x * 2 + 1
        WRITES[name](y)
        return y * 3 + y[1]

    graph = Graph("writes")
    x = graph.input("x", "float32", [-1, 3])
    with lm.graph.recording(graph):
        y = program(x)
        lm.tanh(y)
    given = lm.asarray(np.arange(9.0).reshape(3, 3).astype("float32"))
    want = program(given).numpy()
    forms = {
        "as it is": graph,
        "pruned": graph.prune([y]),
        "compact": graph.prune([y]).compact([y]),
        "inference": graph.inference().prune([y.name]),
        "text": Graph.parse(graph.text(), graph.captured),
    }
    for form, one in forms.items():
        for fuse in (True, False):
            found = one.run({"x": given}, [y.name], fuse=fuse)[0].numpy()
            np.testing.assert_allclose(found, want, 1e-6, err_msg=f"{form}, fuse={fuse}")
    assert not any("tanh" in node.op for node in graph.prune([y]).nodes)


def test_writes_that_nothing_reads_are_pruned() -> None:
    graph = Graph("writes")
    x = graph.input("x", "float32", [3])
    counter = lm.zeros([3])
    with lm.graph.recording(graph):
        y = x * 2
        graph.capture(counter).add_(x)
    assert [node.op.rpartition(":")[2] for node in graph.prune([y]).nodes] == ["multiply"]


@pytest.mark.parametrize("cuts", [1, 2, [1], [2], [4], [3, 1]])
@pytest.mark.parametrize("function", ["split", "tensor_split", "vsplit"])
def test_a_list_of_one_cut_is_no_number_of_parts(function: str, cuts: Any) -> None:
    def program(x: Any) -> Any:
        return list(getattr(lm, function)(x, cuts))

    given = lm.asarray(np.arange(12.0).reshape(4, 3).astype("float32"))
    try:
        want = [part.tolist() for part in program(given)]
    except ValueError:  # sizes that do not add up to the axis, compiled too
        with pytest.raises(ValueError, match=r"\[\w*split\]"):
            lm.compile(program)(given)
        return
    graph = Graph("cuts")
    x = graph.input("x", "float32", [4, 3])
    with lm.graph.recording(graph):
        parts = program(x)
    read = Graph.parse(graph.text(), graph.captured)
    for one in (graph, read):
        assert [part.tolist() for part in one.run({"x": given}, [part.name for part in parts])] == want
    compiled = lm.compile(program)
    for _ in range(4):
        assert [part.tolist() for part in compiled(given)] == want


@pytest.mark.parametrize("op", ["bitwise_invert", "bitwise_and"])
def test_text_with_operators_of_other_dtypes_is_refused_when_it_runs(op: str) -> None:
    second = ", %a" if op == "bitwise_and" else ""
    text = f"""graph "g"
input %x: float32[3]
%a: float32[3] = lamella::multiply(%x, b=2)
%b: float32[3] = lamella::{op}(%a{second})
%c: float32[3] = lamella::add(%b, b=1)
"""
    graph = Graph.parse(text)
    with pytest.raises(TypeError, match=op):
        graph.run({"x": lm.ones([3])}, ["c"])
