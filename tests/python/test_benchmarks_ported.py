"""The benchmarks of programs written for PyTorch: that the front does their work. Nothing here looks at a time."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import driver  # noqa: E402
from benchmarks.compiled import COMPILED  # noqa: E402
from benchmarks.environments import environment  # noqa: E402
from benchmarks.operators.workloads import SWEEP  # noqa: E402
from benchmarks.ported import PORTED  # noqa: E402
from benchmarks.process import WorkerProcess  # noqa: E402
from benchmarks.workloads import WORKLOADS  # noqa: E402

PYTHON = Path(sys.executable)


@pytest.fixture(scope="module")
def worker():
    where = environment("lamella-front", lamella_python=PYTHON, renew=False, say=print)
    with WorkerProcess(where, 1) as process:
        assert "lamella" in process.start()["version"]
        yield process


def rows():
    """The rows of the benchmark's arrays, as numpy draws them."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((8192, 32), np.float32).astype(np.float64).sum(), rng.integers(0, 10, 8192).sum()


@pytest.mark.parametrize("workers", ["0", "2", "2_kept"])
@pytest.mark.parametrize("name", ["arrays", "tensors", "tensor_dataset", "stream"])
def test_an_epoch_has_every_row(worker, name, workers):
    (found,) = worker.ask("check", workload=f"loader_{name}_{workers}")["results"]
    assert found["first"] == pytest.approx([*rows(), 0, 128], rel=1e-5)


def test_an_epoch_of_dicts_and_of_sentences(worker):
    (found,) = worker.ask("check", workload="loader_records_2")["results"]
    assert found["first"] == pytest.approx([*rows(), 8192, 128], rel=1e-5)
    rng = np.random.default_rng(2)
    lengths = rng.integers(5, 41, 4096)
    words = sum(rng.integers(1, 1000, length).sum() for length in lengths)
    (found,) = worker.ask("check", workload="loader_sentences_0")["results"]
    assert found["first"] == [words, lengths.sum(), 2048, 64]


@pytest.mark.parametrize(("name", "cost"), [("digits", np.log(10)), ("characters", np.log(65))])
def test_a_model_without_knowledge_guesses(worker, name, cost):
    (found,) = worker.ask("check", workload=f"ported_{name}")["results"]
    assert found["not_finite"] == [0, 0, 0] and found["first"][0] == pytest.approx(cost, rel=0.1)
    assert min(found["first"]) > 0


def test_names_are_those_of_no_other_suite():
    others = WORKLOADS.keys() | COMPILED.keys() | SWEEP.keys()
    assert not PORTED.keys() & others and all(name == workload.name for name, workload in PORTED.items())


def test_the_suite_runs_on_the_front_alone(capsys, tmp_path):
    arguments = ["ported", "ported_variational", "-q", "-t", "1", "-f", "lamella-front", "--python", str(PYTHON)]
    assert driver.main([*arguments, "-o", str(tmp_path)]) == 0
    assert "vae" in capsys.readouterr().out and len(list(tmp_path.glob("*-ported.json"))) == 1
