"""The count of instructions per op, and that it fails where an op takes more than on record."""

import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import instructions  # noqa: E402
from benchmarks.callgrind import Counts, read_counts  # noqa: E402

DUMP = """\
desc: Trigger: Client Request: counted
positions: line
events: Ir
summary: 0

ob=(1) /usr/lib/libpython3.11.so
fl=(1) ceval.c
fn=(1) evaluate
10 5
+2 7
cob=(2) /somewhere/python/lamella/_C.cpython-311.so
cfi=(2) call.cc
cfn=(2) call
calls=1 20
* 40

ob=(2)
fl=(2)
fn=(2)
20 30
-4 3
cob=(3) /somewhere/liblamella_not/libc.so.6
cfn=(3) malloc
calls=2 0
21 7

ob=(3)
fn=(3)
0 7

ob=(4) /somewhere/python/lamella/liblamella.so
fn=(4) add
* 100

totals: 152
"""


def test_dump_is_read():
    assert read_counts(DUMP.splitlines()) == Counts(all=152, lamella=133)
    assert Counts(152, 133).less(Counts(12, 0)) == Counts(140, 133)


@pytest.mark.parametrize(
    ("counted", "same_toolchain", "verdict"),
    [
        (Counts(2000, 1000), True, ""),
        (Counts(2039, 1019), True, ""),
        (Counts(2000, 1021), True, "WORSE"),
        (Counts(2041, 1000), True, "WORSE"),
        (Counts(1900, 1021), True, "WORSE"),
        (Counts(2000, 979), True, "better"),
        (Counts(3000, 1099), False, ""),
        (Counts(2000, 1101), False, "WORSE"),
        (Counts(2000, 899), False, "better"),
    ],
)
def test_verdicts(counted, same_toolchain, verdict):
    recorded = {"python add": Counts(2000, 1000)}
    (finding,) = instructions.judge({"python add": counted}, recorded, same_toolchain=same_toolchain)
    assert finding.verdict == verdict


def test_what_is_not_on_record_fails():
    findings = instructions.judge({"python add": Counts(2, 1)}, {}, same_toolchain=True)
    assert findings[0].verdict == "NOT ON RECORD"
    assert instructions._report(findings, "") == 1


def test_table_tells_figures_per_op():
    recorded = {"python chain": Counts(4_000_000, 2_000_000)}
    findings = instructions.judge({"python chain": Counts(4_000_000, 1_000_000)}, recorded, same_toolchain=True)
    row = instructions.table(findings)[1]
    assert row == ["python chain", "4000.0", "4000.0", "1000.0", "2000.0", "-50.00%", "better"]


def test_record_is_complete():
    record = json.loads(instructions.RECORD.read_text())
    assert record["runs"] == instructions.RUNS
    assert list(record["instructions"]) == instructions.names()


COUNTS = (
    shutil.which("valgrind") is not None
    and shutil.which("cmake") is not None
    and (ROOT / f"python/lamella/liblamella_cpu_{instructions.ISA}.so").exists()
)


@pytest.mark.projects
@pytest.mark.skipif(not COUNTS, reason=f"wants valgrind, cmake and {instructions.ISA} kernels")
def test_command_fails_where_an_op_takes_more_than_on_record(tmp_path, capsys, monkeypatch):
    path = tmp_path / "record.json"
    arguments = ["python add", "--python", sys.executable, "--record", str(path)]
    assert instructions.main(arguments) == 1
    assert "NOT ON RECORD" in capsys.readouterr().out
    assert instructions.main([*arguments, "--renew"]) == 0
    first = path.read_text()
    assert instructions.main([*arguments, "--renew"]) == 0
    assert path.read_text() == first  # to the instruction
    capsys.readouterr()
    record = json.loads(first)
    counted = {"python add": Counts(**record["instructions"]["python add"])}
    monkeypatch.setattr(instructions, "count_all", lambda programs, wanted: counted)
    assert instructions.main(arguments) == 0
    record["instructions"]["python add"]["lamella"] -= record["instructions"]["python add"]["lamella"] // 30
    path.write_text(json.dumps(record))
    assert instructions.main(arguments) == 1
    assert "above the record, or not on it: python add" in capsys.readouterr().out
    record["toolchain"]["compiler"] = "another"
    path.write_text(json.dumps(record))
    assert instructions.main(arguments) == 0
    assert "another toolchain than on record (compiler C++" in capsys.readouterr().out
    assert instructions.main([*arguments, "--renew"]) == 2
    assert "renew all workloads together" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["nothing"], ["rust *"]])
def test_command_refuses_what_it_does_not_know(arguments, capsys):
    assert instructions.main(arguments) == 2
    assert "no workload matches" in capsys.readouterr().err
