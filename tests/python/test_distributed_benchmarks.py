"""The benchmark of data parallel steps: its processes, its comparison and its table. Nothing here looks at a time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import lamella as lm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import distributed  # noqa: E402

needs_gloo = pytest.mark.skipif(not lm.distributed.is_available("gloo"), reason="built without Gloo")


@needs_gloo
def test_ways_compute_the_same_and_are_told_in_a_table(tmp_path, capsys):
    options = ["conv", "-f", "lamella", "-r", "1", "-b", "0.01", "-o", tmp_path, "--python", sys.executable]
    assert distributed.main(list(map(str, options))) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(any(line.startswith(f"conv: {way.title}") for line in lines) for way in distributed.WAYS.values())
    (record,) = (json.loads(path.read_text()) for path in tmp_path.glob("*-distributed.json"))
    assert {key: len(found) for key, found in record["seconds"]["conv"].items()} == {
        f"lamella {way}": 1 for way in distributed.WAYS
    }
    assert record["failures"] == [] and record["frameworks"]["lamella"]["version"] == lm.__version__


def test_other_losses_are_told():
    same = {"lamella plain": [1.0, 2.0], "lamella both": [1.0, 2.0 + 1e-7]}
    assert distributed.differences(same) == []
    (found,) = distributed.differences({**same, "torch plain": [1.0, 2.1]})
    assert found.startswith("torch plain: losses [1.0, 2.1], those of lamella plain are")


def test_ratios_are_to_the_plain_way_and_to_pytorch():
    times = {"plain": [1.0, 2.0], "alone": [1.0, 2.0], "both": [0.5, 1.0]}
    figures = {
        "n": {
            f"{name} {way}": [t * (1 + (name == "torch")) for t in times[way]]
            for name in ("lamella", "torch")
            for way in times
        }
    }
    rows = distributed.table_of(figures, ["lamella", "torch"])
    assert [row[3:] for row in rows[1:]] == [
        ["1.00", "1.00", "0.50"],
        ["1.00", "1.00", "0.50"],
        ["0.50", "0.50", "0.50"],
    ]


@pytest.mark.parametrize("arguments", [["nosuch"], ["-f", "paddle"]])
def test_unknown_names_are_refused(arguments, capsys):
    with pytest.raises(SystemExit):
        distributed.main(arguments)
    assert "is none of" in capsys.readouterr().err
