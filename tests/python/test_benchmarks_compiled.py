"""The benchmarks of compiled functions: that Lamella computes the right thing in each. Nothing here looks at a time."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import agreement, driver, report, timing  # noqa: E402
from benchmarks.adapters import load  # noqa: E402
from benchmarks.compiled import COMPILED  # noqa: E402
from benchmarks.environments import SetupError, environment  # noqa: E402
from benchmarks.operators.workloads import SWEEP  # noqa: E402
from benchmarks.process import WorkerError, WorkerProcess, first_runs_seconds  # noqa: E402
from benchmarks.worker import describe_result  # noqa: E402
from benchmarks.workloads import WORKLOADS  # noqa: E402

PYTHON = Path(sys.executable)
#: Workloads whose tensors are too large for a test.
LARGE = {"softmax_cross_entropy"}
ELEMENTS = 4_000_000


def process(framework, threads=1):
    return WorkerProcess(environment(framework, lamella_python=PYTHON, renew=False, say=print), threads)


@pytest.fixture(scope="module")
def workers():
    with process("lamella") as eager, process("lamella-compiled") as compiled:
        eager.start()
        compiled.start()
        yield eager, compiled


def drawn(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(np.float64)


def sums(x, w, b):
    return (((x * w + b) * 0.5 + x) * w - b) * 2 + 1, (w * 0.5 + 1) * w * 2


def functions(x, w, b):
    t = np.tanh(x * w + b)
    e = np.exp(t / 2)
    s = 1 / (1 + np.exp(b - e))
    return s * w, w * s * (1 - s) * e / 2 * (1 - t * t) * w


@pytest.mark.parametrize("chain", [sums, functions])
def test_chains_are_what_numpy_computes(workers, chain):
    x, w, b, dy = (drawn(ELEMENTS, seed=i) for i in range(4))
    y, slope = chain(x, w, b)
    expected = [describe_result(np.asarray(value, np.float32)) for value in (y, slope * dy)]
    for worker in workers:
        forward = worker.ask("check", workload=chain.__name__)["results"]
        both = worker.ask("check", workload=f"{chain.__name__}_backward")["results"]
        assert agreement.difference(forward, expected[:1]) is None
        assert agreement.difference(both, expected) is None


@pytest.mark.parametrize("name", [name for name in COMPILED if name.startswith("step_")])
def test_compiled_steps_are_those_of_eager_ones(workers, name):
    eager, compiled = (worker.ask("check", workload=name)["results"] for worker in workers)
    assert len(eager) > 2
    assert agreement.difference(compiled, eager, COMPILED[name].tolerance) is None


def test_statements_run_until_compiled_code_has_run():
    # A call is watched, one observed; the third runs the graph.
    work = COMPILED["step_mlp1"].prepare(load("lamella"))
    assert work.runs > 2


def test_a_function_that_is_not_compiled_fails():
    script = (
        "from benchmarks.adapters import load\n"
        "seen = []\n"
        "f = load('lamella-compiled').compiled(lambda x: seen.append(x))\n"
        "for _ in range(5): f(load('lamella').tensor([1.0]))\n"
    )
    where = environment("lamella-compiled", lamella_python=PYTHON, renew=False, say=print)
    from benchmarks.process import _figure

    with pytest.raises(WorkerError, match="calls of <lambda> run as they are"):
        _figure(where, 1, ["-c", script], "seconds")


def test_first_runs_compile_and_leave_what_later_processes_find(tmp_path):
    where = environment("lamella-compiled", lamella_python=PYTHON, renew=False, say=print)
    assert first_runs_seconds(where, 1, "functions_cold", "wall", tmp_path / "cache") > 0
    kernels = sorted((tmp_path / "cache" / "kernels").rglob("*.so"))
    assert kernels
    stamps = [kernel.stat().st_mtime_ns for kernel in kernels]
    assert first_runs_seconds(where, 1, "functions_cached", "cpu", tmp_path / "cache") > 0
    assert sorted((tmp_path / "cache" / "kernels").rglob("*.so")) == kernels
    assert [kernel.stat().st_mtime_ns for kernel in kernels] == stamps
    with pytest.raises(WorkerError, match="KeyError"):
        first_runs_seconds(where, 1, "nothing", "wall", tmp_path)


def test_cpu_time_is_of_this_process_alone(monkeypatch):
    clock = [0]
    monkeypatch.setattr(timing.time, "process_time_ns", lambda: clock[0])

    def loop(count):
        clock[0] += 1000 * count

    assert timing.time_loop(loop, 5, timing.CLOCKS["cpu"]) == pytest.approx(5e-6)
    assert timing.time_loop(lambda count: None, 5, timing.CLOCKS["cpu"]) == 0


def test_names_are_those_of_one_table():
    assert not COMPILED.keys() & WORKLOADS.keys() and not COMPILED.keys() & SWEEP.keys()
    assert all(name == workload.name for name, workload in COMPILED.items())


def test_goals_are_those_of_the_table():
    """Ratios to PyTorch's eager times, but for the MLP at batch 1."""
    goals = {
        "sums": 0.25,
        "sums_backward": 0.17,
        "functions": 0.25,
        "functions_backward": 0.17,
        "softmax_cross_entropy": 0.5,
        "step_mlp1": 0.4,
        "step_mlp64": 0.8,
        "step_transformer": 0.8,
        "step_convolutional": 0.8,
        "step_lstm": 0.6,
    }
    assert {name: workload.goal for name, workload in COMPILED.items() if workload.goal is not None} == goals
    assert [name for name, workload in COMPILED.items() if workload.against != "torch"] == ["step_mlp1"]


def test_table_tells_goals_and_what_they_are_about():
    times = {
        "step_mlp1": {"lamella-compiled": [1.0], "lamella": [2.0], "torch": [4.0]},
        "step_mlp64": {"lamella-compiled": [1.0], "torch": [2.0]},
        "gpt_cold": {"lamella-compiled": [1.0]},
    }
    header, one, many, cold = report.rows(times, ["lamella-compiled", "lamella", "torch"], COMPILED)
    assert header[4:] == ["lamella-compiled / lamella", "lamella-compiled / torch", "goal"]
    assert [row[-1] for row in (one, many, cold)] == ["0.4 of lamella", "0.8", ""]
    assert one[4].startswith("0.500") and many[2] == "failed"
    assert cold[2:4] == ["", ""]  # what does not compile has no time to do it in


def test_environments_are_shared(tmp_path, monkeypatch):
    compiled = environment("lamella-compiled", lamella_python=PYTHON, renew=False, say=print)
    eager = environment("lamella", lamella_python=PYTHON, renew=False, say=print)
    assert (compiled.python, compiled.path) == (eager.python, eager.path)
    assert compiled.framework == "lamella-compiled"
    assert compiled.variables(3)["NPROC"] == compiled.variables(3)["OMP_NUM_THREADS"] == "3"


@pytest.mark.projects
def test_a_peer_that_cannot_be_installed_is_left_out(tmp_path, monkeypatch, capsys):
    def missing(framework, **options):
        if framework in ("torch", "torch-compiled", "jax"):
            raise SetupError(f"could not install {framework}")
        return environment(framework, **options)

    monkeypatch.setattr(driver, "environment", missing)
    arguments = ["compiled", "step_mlp1", "functions_cached", "-q", "--python", str(PYTHON), "-o", str(tmp_path)]
    assert driver.main(arguments) == 0
    told = capsys.readouterr()
    assert all(f"{name} is left out" in told.err for name in ("torch", "torch-compiled", "jax"))
    (path,) = tmp_path.glob("*-compiled.json")
    record = json.loads(path.read_text())
    assert list(record["seconds"]["step_mlp1"]) == ["lamella-compiled", "lamella"]
    assert list(record["seconds"]["functions_cached"]) == ["lamella-compiled"]
    assert "MLP 784-256-256-10" in path.with_suffix(".md").read_text()


@pytest.mark.parametrize("missing", ["lamella", "lamella-compiled"])
def test_lamella_is_never_left_out(missing, tmp_path):
    assert driver.main(["compiled", "step_mlp1", "-f", missing, "--python", str(tmp_path / "python")]) == 2


@pytest.mark.parametrize("arguments", [["compiled", "-f", "paddle"], ["compiled", "nothing"], ["-f", "torch-compiled"]])
def test_command_refuses_what_it_does_not_know(arguments, capsys):
    assert driver.main(arguments) == 2
    assert "no workload matches" in (told := capsys.readouterr().err) or "unknown framework" in told


def test_a_run_in_cpu_time_says_so(tmp_path, capsys):
    arguments = ["compiled", "step_mlp1", "-q", "-t", "1", "--cpu-time", "-f", "lamella-compiled,lamella"]
    assert driver.main([*arguments, "--python", str(PYTHON), "-o", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*-compiled.json")
    assert json.loads(path.read_text())["clock"] == "cpu"
    assert "1 threads each, CPU time" in path.with_suffix(".md").read_text()
