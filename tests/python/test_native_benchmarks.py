"""The C++ programs' workloads as the driver knows them, and the plots. Nothing here looks at a time."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import native_run, plots  # noqa: E402
from benchmarks.native import NATIVE  # noqa: E402

RESULTS = {"add": [1.0, -2.0], "chain": [3.0]}


def test_table_has_every_workload_of_the_programs():
    source = (ROOT / "benchmarks/cpp/workloads.h").read_text()
    visited = re.findall(r'visit\("(\w+)", (\d+),', source)
    assert [(name, workload.ops) for name, workload in NATIVE.items()] == [(name, int(ops)) for name, ops in visited]


def test_goals_are_those_of_the_table():
    with_goals = {name for name, workload in NATIVE.items() if workload.goal == 0.12}
    assert with_goals == {"add", "add_recorded", "chain", "chain_shared", "function_identity", "function_tanh"}


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        ({"add": [1.0, -2.0]}, "other workloads: add, chain and add"),
        ({"add": [1.0, -2.1], "chain": [3.0]}, "add: "),
        ({"add": [1.0, -2.0], "chain": [3.0, 3.0]}, "chain: "),
        ({"add": [1.0, float("nan")], "chain": [3.0]}, "add: "),
    ],
)
def test_other_results_are_noticed(theirs, words):
    assert native_run.compare(RESULTS, RESULTS) == []
    assert native_run.compare(RESULTS, {"add": [1.0, -2.00001], "chain": [3.0]}) == []
    (found,) = native_run.compare(RESULTS, theirs)
    assert words in found


def test_command_refuses_what_it_does_not_know(capsys):
    assert native_run.main(["nothing"]) == 2
    assert "no workload matches 'nothing'" in capsys.readouterr().err


RECORD = {
    "date": "2026-01-31",
    "machine": {"cpu": "Some CPU"},
    "frameworks": {"lamella": {"version": "1"}, "torch": {"version": "2"}},
    "seconds": {
        "add": {"lamella": [1.0, 2.0, 3.0], "torch": [8.0, 8.0, 8.0], "paddle": [16.0, 16.0, 16.0]},
        "chain": {"lamella": [1.0]},
    },
    "bytes": {"transformer_memory": {"lamella": [5.0], "torch": [10.0]}},
}


def test_plot_shows_what_can_be_compared():
    add, memory = plots.rows(RECORD, native=False)
    assert add == ("a + b, 2x3", 0.15, {"torch": (0.1875, 0.25, 0.3125), "paddle": (0.09375, 0.125, 0.15625)})
    assert (memory.goal, memory.ratios["torch"].median) == (0.9, 0.5)
    assert [row.title for row in plots.rows(RECORD, native=True)] == ["add(a, b), 2x3"]


def test_plot_is_drawn_and_the_same_again(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    record = tmp_path / "2026-01-31.json"
    record.write_text(json.dumps(RECORD))
    assert plots.main([str(record)]) == 0
    picture = record.with_suffix(".svg")
    assert capsys.readouterr().out.strip() == str(picture)
    first = picture.read_text()
    assert "a + b, 2x3" in first
    assert "Lamella / paddle" in first
    plots.main([str(record)])
    assert picture.read_text() == first
    record.write_text(json.dumps({**RECORD, "seconds": {}, "bytes": {}}))
    with pytest.raises(ValueError, match="no figures of Lamella beside another"):
        plots.main([str(record)])
    assert plots.main([]) == 2
