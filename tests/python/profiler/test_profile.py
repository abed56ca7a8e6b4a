"""Profiles: what is measured, what it belongs to, and that nothing is left behind."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm


def counts(run: Callable[[], Any], kind: str = "operator") -> Counter[str]:
    with lm.profiler.profile() as profile:
        run()
    return Counter(call.name for call in profile.calls if call.kind == kind)


X = lm.tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
W = lm.nn.Parameter(lm.ones([2, 2]))
MATRIX = X.detach()


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (lambda: lm.exp(MATRIX), "exp"),
        (lambda: MATRIX.tanh(), "tanh"),
        (lambda: MATRIX + 1, "add"),
        (lambda: 1 - W, "subtract"),
        (lambda: W * W, "multiply"),
        (lambda: MATRIX / 2.0, "divide"),
        (lambda: MATRIX @ W, "matmul"),
        (lambda: MATRIX**2, "pow"),
        (lambda: -W, "negative"),
        (lambda: abs(MATRIX), "abs"),
        (lambda: MATRIX > 1, "compare"),
        (lambda: MATRIX[0], "index"),
        (lambda: MATRIX.clone().__setitem__(0, 1.0), "clone"),
        (lambda: MATRIX.clone().add_(1.0), "add_"),
        (lambda: MATRIX.clone().exp_(), "exp_"),
        (lambda: lm.ops.lamella.exp(MATRIX), "lamella::exp"),
        (lambda: lm.ops.lamella.exp.default(MATRIX), "lamella::exp"),
        (lambda: lm.nn.functional.relu(MATRIX), "relu"),
        (lambda: lm.asarray([1.0]), "asarray"),
    ],
)
def test_calls_are_measured_by_their_names(run: Callable[[], Any], name: str) -> None:
    assert counts(run)[name] == 1
    assert counts(lambda: [run(), run(), run()])[name] == 3


class Square(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * dy


class Net(lm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = lm.nn.Sequential(lm.nn.Linear(2, 3), lm.nn.Tanh())
        self.head = lm.nn.Linear(3, 1)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        hidden = self.body(x)
        return self.head(Square.apply(hidden))


def trained(profile: Any, model: Net) -> Any:
    optimizer = lm.optim.SGD(model.parameters(), lr=0.1)
    with profile:
        loss = model(MATRIX).sum()
        loss.backward()
        optimizer.step()
    return profile


def test_gradients_belong_to_their_forward_calls() -> None:
    model = Net()
    profile = trained(lm.profiler.profile(model), model)
    layers = {(call.name, call.kind): call.layer for call in profile.calls}
    assert layers["tanh", "operator"] == layers["tanh", "backward"] == "body.1"
    assert layers["Square", "operator"] == layers["Square", "backward"] == "Net"
    assert layers["sum", "backward"] == layers["sum", "operator"] == ""
    assert {call.layer for call in profile.calls if call.name == "linear"} == {"body.0", "head"}
    assert Counter(call.kind for call in profile.calls if call.name == "linear") == {"operator": 2, "backward": 2}
    lines = {(call.name, call.kind): call.line for call in profile.calls}
    assert lines["tanh", "operator"] == lines["tanh", "backward"] != ""
    assert all(call.line.startswith("test_profile.py:") for call in profile.calls if call.name == "Square")
    scopes = [call.name for call in profile.calls if call.kind == "scope"]
    assert scopes == ["Net", "body", "body.0", "body.1", "head", "SGD.step"]


def test_times_add_up() -> None:
    model = Net()
    profile = trained(lm.profiler.profile(model), model)
    assert all(0 <= call.begin <= call.end <= profile.duration for call in profile.calls)
    assert all(-1e-9 <= call.own <= call.total + 1e-9 for call in profile.calls)
    outermost = sum(call.total for call in profile.calls if call.depth == 0)
    assert sum(call.own for call in profile.calls) == pytest.approx(outermost)
    for by in ("operator", "layer", "line"):
        table = profile.table(by=by, rows=None)  # type: ignore[arg-type]
        assert sum(row.own for row in table) == pytest.approx(outermost)
        assert all(row.own == pytest.approx(row.forward + row.backward) for row in table)
        assert [row.own for row in table] == sorted((row.own for row in table), reverse=True)
    assert [row.name for row in profile.table(by="layer", rows=None)].count("head") == 1


def test_a_table_prints(capsys: pytest.CaptureFixture[str]) -> None:
    model = Net()
    table = trained(lm.profiler.profile(model), model).table(rows=2, sort="calls")
    text = str(table).splitlines()
    assert text[0].split() == ["operator", "calls", "own", "time", "share", "forward", "backward"]
    assert len(text) == 4 and text[3].endswith(f"{table.row_count - 2} more rows") and len(table) == 2
    assert table._repr_html_().count("<tr>") == 3
    print(table)
    assert capsys.readouterr().out == str(table) + "\n"
    assert str(lm.profiler.Table("operator", [], 0, 0.0)).endswith("elsewhere")


def test_a_trace_is_json_that_viewers_read(tmp_path: Path) -> None:
    model = Net()
    profile = trained(lm.profiler.profile(model), model)
    profile.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == len(profile.calls)
    assert all(event["dur"] >= 0 and {"pid", "tid", "ts", "name", "cat"} <= event.keys() for event in spans)
    assert {event["name"] for event in spans} >= {"tanh", "tanh (backward)", "head", "SGD.step"}
    (thread,) = [event for event in events if event["name"] == "thread_name"]
    assert thread["args"] == {"name": threading.current_thread().name} and {s["tid"] for s in spans} == {thread["tid"]}
    # Arrows lead from a forward call to its gradient, and begin where these do.
    begins, ends = ({e["id"]: e["ts"] for e in events if e["ph"] == phase} for phase in "sf")
    names = {(span["ts"], span["cat"]): span["name"] for span in spans}
    assert begins.keys() == ends.keys() and len(begins) > 3
    for arrow, begin in begins.items():
        assert names[begin, "operator"] + " (backward)" == names[ends[arrow], "backward"]
    memory = [event["args"]["tensors"] for event in events if event["ph"] == "C"]
    assert max(memory) == profile.peak_memory > 0


def test_compiled_functions_and_modules_are_scopes() -> None:
    @lm.compile
    def scaled(x: lm.Tensor) -> lm.Tensor:
        return lm.tanh(x * 2) + 1

    net = lm.compile(lm.nn.Linear(3, 2))
    model = lm.nn.Sequential(net)
    x = lm.ones([4, 3])

    def run() -> None:
        for _ in range(5):
            scaled(x)
            model(x)

    assert counts(run, "scope")["scaled"] == 5  # also while it is learned
    with lm.profiler.profile(model) as profile:
        run()
    found = Counter(call.name for call in profile.calls)
    assert found["scaled"] == 5 and found["0"] == 5 and "tanh" not in found
    explanation = lm.compile.explain(scaled)
    assert len(explanation.graphs) == 1 and explanation.breaks == []


def test_runs_of_static_programs_are_scopes() -> None:
    program = lm.static.Program()
    with lm.static.program_guard(program, lm.static.Program()):
        y = lm.tanh(lm.static.data("x", [2]))
    executor = lm.static.Executor()
    found = counts(lambda: executor.run(program, feed={"x": np.ones(2, "float32")}, fetch_list=[y]), "scope")
    assert found == {"Executor.run": 1}


@pytest.mark.parametrize("workers", [0, 1])
def test_waits_for_batches_are_scopes(workers: int) -> None:
    def run() -> None:
        loader = lm.data.DataLoader(lm.data.TensorDataset(lm.ones([6, 2])), batch_size=2, num_workers=workers)
        for (batch,) in loader:
            lm.exp(batch)

    found = counts(run, "scope")
    assert found == {"DataLoader": 4}  # that of the end, too
    assert counts(run)["exp"] == 3


def test_a_scope_of_any_name_is_one_line_of_a_table() -> None:
    with lm.profiler.profile() as profile, lm.profiler.scope("a\nb\tü"):
        lm.exp(MATRIX)
    lines = str(profile.table()).splitlines()
    assert len(lines) == 4 and any(line.startswith("a\\nb\\t") for line in lines)


def test_named_parts() -> None:
    @lm.profiler.scope("decorated")
    def decorated() -> None:
        lm.exp(MATRIX)

    def run() -> None:
        with lm.profiler.scope("part"):
            lm.exp(MATRIX)
            with lm.profiler.scope("part"):
                decorated()

    run()  # without a profile
    assert counts(run, "scope") == {"part": 2, "decorated": 1}
    with lm.profiler.profile() as profile:
        run()
    assert [call.layer for call in profile.calls if call.name == "exp"] == ["part", "decorated"]
    with pytest.raises(TypeError, match=r"\[scope\] name"):
        lm.profiler.scope(3)  # type: ignore[arg-type]


def test_lines_may_be_left_out() -> None:
    with lm.profiler.profile(lines=False) as profile:
        lm.exp(MATRIX)
    assert [call.line for call in profile.calls] == [""]
    assert profile.table(by="line")[0].name == "(elsewhere)"


def test_nothing_is_left_behind() -> None:
    before = (lm.nn.Module.__call__, lm.optim.Optimizer.step)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), lm.profiler.profile(), lm.profiler.scope("part"):
            raise ZeroDivisionError
        assert (lm.nn.Module.__call__, lm.optim.Optimizer.step) == before

    with lm.profiler.profile() as first:

        class Named(lm.nn.Parameter):
            """Made while the slots that it inherits are others."""

        named = Named(MATRIX)
        lm.exp(named)
    calls = len(first.calls)
    lm.exp(named) + named
    assert len(first.calls) == calls and first.calls[-1].name == "exp"
    assert counts(lambda: named + 1) == counts(lambda: W + 1) == {"add": 1}
    with lm.profiler.profile() as second:
        pass
    assert not second.calls and second.duration == 0 and second.peak_memory == 0 and not second.table()


def test_errors_of_operators_pass_through() -> None:
    with lm.profiler.profile() as profile:
        for wrong in (lambda: MATRIX @ lm.ones([3]), lambda: MATRIX + "a", lambda: lm.exp("a"), lambda: MATRIX[9]):
            with pytest.raises((ValueError, TypeError, IndexError)):
                wrong()  # type: ignore[no-untyped-call]
        lm.exp(MATRIX)
    assert [call.name for call in profile.calls][-1] == "exp" and profile.calls[-1].depth == 0


def test_other_threads_are_not_measured_and_may_profile_themselves() -> None:
    found: list[Counter[str]] = []

    def other() -> None:
        lm.tanh(MATRIX)
        found.append(counts(lambda: lm.sin(MATRIX)))

    def run() -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        lm.exp(MATRIX)

    assert counts(run) == {"exp": 1}
    assert found == [{"sin": 1}]


def test_graphs_and_compiled_functions_within_a_profile() -> None:
    graph = lm.graph.Graph()
    x = graph.input("x", "float32", [2, 2])
    function = lm.compile(lambda x: lm.tanh(x * 2) + 1)
    with lm.profiler.profile() as profile:
        with lm.graph.recording(graph):
            y = lm.tanh(x + 1)
        results = [function(MATRIX).tolist() for _ in range(4)]
        lm.exp(MATRIX)
    assert [node.op for node in graph.nodes] == ["lamella::add", "lamella::tanh"] and y is not None
    assert all(result == results[0] for result in results)
    assert profile.calls[-1].name == "exp"
    assert counts(lambda: MATRIX + 1)["add"] == 1


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda p: lm.profiler.profile(3), TypeError, r"\[profile\] model: expected a Module, got int"),
        (lambda p: p.table(by="module"), ValueError, r"\[table\] by: expected"),
        (lambda p: p.table(sort="name"), ValueError, r"\[table\] sort: expected"),
        (lambda p: p.__enter__(), RuntimeError, "a profile measures one block"),
    ],
)
def test_mistakes(call: Callable[[Any], Any], kind: type[Exception], text: str) -> None:
    with lm.profiler.profile() as profile:
        pass
    with pytest.raises(kind, match=text):
        call(profile)


def test_a_thread_is_profiled_once() -> None:
    with lm.profiler.profile() as outer:
        with pytest.raises(RuntimeError, match="profiled already"), lm.profiler.profile():
            pass
        lm.exp(MATRIX)
    assert [call.name for call in outer.calls] == ["exp"]
