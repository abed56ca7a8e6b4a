"""The benchmarks' own machinery, and that Lamella computes the right thing in each. Nothing here looks at a time."""

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import network_references
from lamella import _C
from network_references import normal

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import agreement, driver, figures, memory, networks, report, timing  # noqa: E402
from benchmarks.environments import SetupError, environment  # noqa: E402
from benchmarks.opdb.judged import Finding, judged  # noqa: E402
from benchmarks.operators import ROWS  # noqa: E402
from benchmarks.operators.rows import Input  # noqa: E402
from benchmarks.operators.workloads import SWEEP  # noqa: E402
from benchmarks.process import WorkerError, WorkerProcess, import_seconds, peak_bytes  # noqa: E402
from benchmarks.worker import describe_result  # noqa: E402
from benchmarks.workloads import WORKLOADS, Work  # noqa: E402

PYTHON = Path(sys.executable)


def expected_large(function, derivative):
    x, dy = normal(4_000_000), normal(4_000_000, seed=1)
    return [function(x), dy * derivative(x)]


def sech_squared(x):
    return 1 - np.tanh(x) ** 2


def expected_tanh_layers(count):
    y, derivative = SMALL[0].astype(np.float64), 1.0
    for _ in range(count):
        derivative = derivative * sech_squared(y)
        y = np.tanh(y)
    return [y, SMALL[1] * derivative]


SMALL = normal(2, 3), normal(2, 3, seed=1), normal(2, 3, seed=2)
EXPECTED = {
    "add": lambda: [SMALL[0] + SMALL[1]],
    "add_recorded": lambda: [SMALL[0] + SMALL[1]],
    "relu": lambda: [np.maximum(SMALL[0], 0)],
    "reshape": lambda: [SMALL[0].reshape(3, 2)],
    "index": lambda: [SMALL[0][0]],
    "sum": lambda: [SMALL[0].sum()],
    "matmul8": lambda: [normal(8, 8) @ normal(8, 8, seed=1)],
    "schema_op": lambda: [2 * SMALL[0]],
    "custom_op": lambda: [SMALL[0]],
    "chain": lambda: [SMALL[0] + 100 * SMALL[1], SMALL[2]],
    "chain_shared": lambda: [SMALL[0] + 100 * SMALL[1], SMALL[2], 100 * SMALL[2]],
    "pylayer_identity": lambda: [SMALL[0], SMALL[1]],
    "pylayer_tanh": lambda: expected_tanh_layers(100),
    "pylayer_identity_one": lambda: [SMALL[0], SMALL[1]],
    "pylayer_tanh_one": lambda: expected_tanh_layers(1),
    "mlp1": lambda: network_references.mlp(1),
    "mlp64": lambda: network_references.mlp(64),
    "mlp1024": lambda: network_references.mlp(1024),
    "convolutional": network_references.convolutional,
    "transformer": network_references.transformer,
    "convolutional_memory": network_references.convolutional,
    "transformer_memory": network_references.transformer,
    "relu4m": lambda: expected_large(lambda x: np.maximum(x, 0), lambda x: x > 0),
    "tanh4m": lambda: expected_large(np.tanh, sech_squared),
}


@pytest.fixture(scope="module")
def worker():
    where = environment("lamella", lamella_python=PYTHON, renew=False, say=print)
    with WorkerProcess(where, 1) as process:
        process.start()
        yield process


@pytest.mark.parametrize("name", [name for name, workload in WORKLOADS.items() if workload.prepare])
def test_lamella_does_the_work(worker, name):
    expected = [describe_result(np.asarray(value, np.float32)) for value in EXPECTED[name]()]
    assert agreement.difference(worker.ask("check", workload=name)["results"], expected) is None


def test_every_op_is_counted_and_repeated(worker):
    count = worker.ask("calibrate", workload="add", seconds=0.001)["count"]
    assert count >= 1
    assert worker.ask("time", workload="add", count=count)["seconds"] > 0


#: The transforms behind those of lamella.fft, which the sweep calls, and what only recorded programs call.
BEHIND_OTHERS = {
    *("fft_c2c", "fft_r2c", "fft_c2r", "shape_of", "dynamic_shape", "dynamic_reshape", "dynamic_broadcast"),
    *("dynamic_slice", "dynamic_interpolate"),
}


def test_sweep_has_every_operator():
    swept = {row.op.replace("linalg.", "linalg_") for row in ROWS}
    # Collectives are timed by programs of several processes.
    alone = {info["name"] for info in _C.operators() if not info["name"].startswith("distributed_")}
    assert alone - swept == BEHIND_OTHERS


def smallest_cases():
    """Of each row the case with the fewest elements; of few only, as each is a call of its own."""
    for row in ROWS:
        sizes = {
            f"{row.ours.removeprefix('lm.')}: {case.label}": sum(
                int(np.prod(value.shape)) for value in case.variables.values() if isinstance(value, Input)
            )
            for case in row.cases
        }
        yield min(sizes, key=sizes.get)


@pytest.mark.projects
def test_rows_of_the_sweep_run(worker):
    # What takes long takes it in the preparation of large inputs.
    for name in smallest_cases():
        assert "results" in worker.ask("check", workload=name), name


def test_sweep_is_ranked_by_what_exceeds_its_goal():
    names = [name for name in SWEEP if SWEEP[name].goal == 1.5][:3]
    times = {
        names[0]: {"lamella": [2.0, 1.0], "torch": [2.0, 1.0]},
        names[1]: {"lamella": [6.0, 3.0], "torch": [2.0, 1.5]},
        names[2]: {"torch": [1.0]},
    }
    table = driver.OPERATORS.table(times, ["lamella", "torch"])
    assert table[0] == ["work", "lamella", "torch", "lamella / torch", "of minima", "goal"]
    assert [row[0] for row in table[1:]] == [names[2], names[1], names[0]]
    assert table[2][4] == "2.000"


def test_inputs_are_the_same_for_every_framework():
    for kind in ("normal", "uniform", "integers", "sorted", "permutation", "positive definite", "invertible"):
        wanted = Input((5, 5), kind, low=0, high=5)
        assert np.array_equal(wanted.array(3), wanted.array(3))
        assert wanted.array(3).dtype == np.float32
    assert Input((), dtype="complex64").array(0).shape == ()
    with pytest.raises(ValueError, match="unknown kind"):
        Input((2,), "strange").array(0)


def test_failed_request_is_told_and_survived(worker):
    with pytest.raises(WorkerError, match="KeyError: 'nothing'") as caught:
        worker.ask("check", workload="nothing")
    assert not caught.value.died
    assert "Traceback" in caught.value.details
    assert worker.ask("hello")["version"]


def test_worker_that_dies_is_told_and_started_again():
    where = environment("lamella", lamella_python=PYTHON, renew=False, say=print)
    with WorkerProcess(where, 1) as process:
        process.start()
        process._process.kill()
        with pytest.raises(WorkerError, match="ended by SIGKILL") as caught:
            process.ask("hello")
        assert caught.value.died
        assert process.start()["version"]


def test_import_of_a_module_that_is_missing(tmp_path):
    where = environment("lamella", lamella_python=PYTHON, renew=False, say=print)
    assert import_seconds(where, 1) > 0
    with pytest.raises(WorkerError, match="No module named 'lamella_that_is_not'"):
        import_seconds(type(where)("lamella_that_is_not", where.python, where.path), 1)
    with pytest.raises(SetupError, match="no Python at"):
        environment("lamella", lamella_python=tmp_path / "python", renew=False, say=print)


def test_peak_of_memory_holds_what_a_step_keeps():
    where = environment("lamella", lamella_python=PYTHON, renew=False, say=print)
    peak = peak_bytes(where, 1, "transformer_memory")
    # Weights, gradients and two running means; not more than what all results of the step would take again.
    parameters = 4 * sum(weight.size for weight in networks.transformer_weights())
    assert 4 * parameters < peak < 16 * parameters
    with pytest.raises(WorkerError, match="nothing to run in a loop"):
        peak_bytes(where, 1, "import")


def test_loop_repeats_the_statement():
    seen = []
    timing.compile_loop(Work("n = len(seen)\nif n < 5: seen.append(n)", {"seen": seen}, ()))(8)
    assert seen == [0, 1, 2, 3, 4]


def test_calibration_fills_the_time(monkeypatch):
    clock = [0]
    monkeypatch.setattr(timing.time, "perf_counter_ns", lambda: clock[0])

    def loop(count):
        clock[0] += 1000 * count

    assert timing.calibrate(loop, 0.1) == 100_000
    assert timing.calibrate(loop, 1e-9) == 1


def test_quartiles_and_ratios():
    assert figures.spread([4, 1, 3, 2, 5]) == (2, 3, 4)
    assert figures.spread([7]) == (7, 7, 7)
    with pytest.raises(ValueError, match="no figures"):
        figures.spread([])
    assert figures.ratios([1, 2], [2, 8]) == [0.5, 0.25]
    with pytest.raises(ValueError):
        figures.ratios([1], [1, 2])


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ([], "1 results against 0"),
        ([np.ones((3, 2), np.float32)], "shape"),
        ([np.ones((2, 3))], "dtype"),
        ([np.full((2, 3), 1.01, np.float32)], "sum"),
        ([np.float32([[1, 1, 1], [1, 1.5, 0.5]])], "value 4"),
        ([np.full((2, 3), np.nan, np.float32)], "not finite"),
    ],
)
def test_other_results_are_noticed(other, words):
    ours = [describe_result(np.ones((2, 3), np.float32))]
    assert agreement.difference(ours, ours) is None
    assert words in agreement.difference(ours, [describe_result(x) for x in other])
    assert words.split(" ")[0] in agreement.difference([describe_result(x) for x in other], ours) or not other


def test_figures_are_readable():
    assert [report.format_seconds(x) for x in (1.5, 0.0152, 3.456e-6, 9.9e-8, 9.996e-4)] == [
        "1.50 s",
        "15.2 ms",
        "3.46 µs",
        "99.0 ns",
        "1000 µs",
    ]
    stem = report.file_stem("2025-03-01", "Intel(R) Xeon(R) Gold 6430 CPU @ 2.10GHz")
    assert stem == "2025-03-01-intel-xeon-gold-6430"
    assert report.file_stem("2025-03-01", "AMD EPYC 9354 32-Core Processor") == "2025-03-01-amd-epyc-9354"


def test_table_tells_medians_ratios_and_failures():
    times = {
        "add": {"lamella": [1e-7, 2e-7, 3e-7], "torch": [1e-6, 1e-6, 1e-6]},
        "chain": {"torch": [1e-4], "paddle": [2e-4]},
    }
    times["transformer_memory"] = {"lamella": [2**20, 2**21], "torch": [2**22, 2**22], "paddle": [2**22, 2**22]}
    header, add, chain, peak = report.rows(times, ["lamella", "torch", "paddle"])
    assert header == ["work", "lamella", "torch", "paddle", "lamella / torch", "lamella / paddle", "goal"]
    assert add[1:] == ["200 ns [-25% +25%]", "1.00 µs [+0% +0%]", "failed", "0.200 [0.150 0.250]", "", "0.15"]
    assert chain[1:] == ["failed", "1.00 µs [+0% +0%]", "2.00 µs [+0% +0%]", "", "", "0.12"]
    assert peak[1] == "1.50 MiB [-17% +17%]"
    assert peak[4] == "0.375 [0.312 0.438]"
    assert report.markdown_table([header, add]).count("\n") == 2
    assert report.markdown_table([["Function<T>"]]).startswith("| Function&lt;T> |\n")


def test_workloads_are_chosen_by_pattern():
    assert [workload.name for workload in driver.choose(["mlp*", "add"])] == ["add", "mlp1", "mlp64", "mlp1024"]
    assert len(driver.choose([])) == len(WORKLOADS)
    assert {workload.group for workload in driver.choose(["topk"], SWEEP)} == {"topk"}
    with pytest.raises(SetupError, match="no workload matches 'x'"):
        driver.choose(["x"])


@pytest.mark.projects
def test_command_writes_its_record(tmp_path, capsys):
    arguments = [
        "add",
        "import",
        "convolutional_memory",
        "-q",
        "-f",
        "lamella",
        "--python",
        str(PYTHON),
        "-o",
        str(tmp_path),
    ]
    assert driver.main(arguments) == 0
    assert "a + b, 2x3" in capsys.readouterr().out
    (path,) = tmp_path.glob("*.json")
    record = json.loads(path.read_text())
    assert len(record["seconds"]["add"]["lamella"]) == record["rounds"] == 3
    assert record["seconds"]["import"]["lamella"]
    assert len(record["bytes"]["convolutional_memory"]["lamella"]) == 3
    assert record["machine"]["cores"] >= 1
    assert "a + b, 2x3" in path.with_suffix(".md").read_text()


def test_sweep_writes_its_record(tmp_path, capsys):
    arguments = ["sweep", "atleast_2d", "-q", "-f", "lamella", "--python", str(PYTHON), "-o", str(tmp_path)]
    assert driver.main(arguments) == 0
    assert "atleast_2d(x): 256x256" in capsys.readouterr().out
    (path,) = tmp_path.glob("*-sweep.json")
    assert "atleast_2d(x): 256x256" in json.loads(path.read_text())["seconds"]


@pytest.mark.parametrize("arguments", [["-f", "jax"], ["nothing"], ["sweep", "nothing"]])
def test_command_refuses_what_it_does_not_know(arguments, capsys):
    assert driver.main(arguments) == 2
    assert ("unknown framework 'jax'" if "jax" in arguments else "no workload matches") in capsys.readouterr().err


def test_memory_that_grows_is_noticed():
    few = memory.Memory(1000, 50_000_000)
    assert memory.within_tolerance(few, memory.Memory(1000, 50_500_000))
    assert not memory.within_tolerance(few, memory.Memory(1004, 50_000_000))
    assert not memory.within_tolerance(few, memory.Memory(1000, 52_000_000))


def test_goals_are_those_of_the_table():
    """Ratios to PyTorch's times, by the workloads' names."""
    goals = {
        0.1: ["import"],
        0.12: ["chain", "chain_shared"],
        0.15: ["add", "add_recorded", "pylayer_identity", "pylayer_tanh"],
        0.2: ["relu", "reshape", "index", "sum", "matmul8", "mlp1"],
        0.5: ["mlp64", "relu4m", "tanh4m"],
        0.6: ["convolutional"],
        0.65: ["transformer"],
        0.75: ["mlp1024"],
        0.9: ["convolutional_memory", "transformer_memory"],
    }
    assert {name: goal for goal, names in goals.items() for name in names}.items() <= {
        name: workload.goal for name, workload in WORKLOADS.items()
    }.items()


def test_findings_are_held_against_judgements() -> None:
    """A finding is explained by its operator, kind, dtype and text together."""
    finding = Finding("dtype", "uint8", "uint8[5], dim=0: dtype uint64 for int64")
    assert judged("sum", finding) == "sums and products of unsigned integers are uint64"
    assert judged("sort", finding) is None
    assert judged("sum", dataclasses.replace(finding, kind="values")) is None
    assert judged("sum", dataclasses.replace(finding, dtype="int8")) is None
    assert judged("sum", dataclasses.replace(finding, text="uint8[5], dim=0: dtype int32 for int64")) is None
    # What is not of halves is no matter of rounding.
    overflow = Finding("gradient values", "float16", "float16[5]: values: 3e4 for -inf at 2 of 5")
    assert judged("pow", overflow) is not None
    assert judged("pow", dataclasses.replace(overflow, dtype="float32")) is None
    # Brackets are meant as such.
    number = Finding("bad input taken", "", "2, int64[3]: add(): received an invalid combination of arguments")
    assert judged("add", number) is not None and judged("add", dataclasses.replace(number, text="2, int64[4]")) is None
