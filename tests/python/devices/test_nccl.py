"""Tensors of CUDA devices between processes, over a stand-in for NCCL on the emulation of CUDA."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lamella as lm
import lamella.distributed as dist
from distributed.running import started, together
from support import default_device, emulation

PACKAGE = Path(lm.__file__).parent
NCCL = PACKAGE / "libnccl.so.2"

pytestmark = pytest.mark.skipif(
    emulation.library() is None
    or default_device.DEVICE != "cuda"
    or not NCCL.exists()
    or not dist.is_available("gloo"),
    reason="this is no build on the emulation of CUDA, with Gloo",
)

VARIABLES = {"LAMELLA_EMULATION_DEVICES": 4, "LAMELLA_NCCL_LIBRARY": NCCL, "LAMELLA_TEST_BACKEND": "nccl"}


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Shared memory of the library is gone when the processes have ended, however they have."""
    before = set(os.listdir("/dev/shm"))
    yield
    assert {name for name in os.listdir("/dev/shm") if name.startswith("lamella-nccl")} <= before


@pytest.mark.parametrize(("backend", "n", "deferred"), [("nccl", 2, 0), ("nccl", 4, 0), ("nccl", 2, 1), ("gloo", 2, 0)])
def test_operations(backend: str, n: int, deferred: int, tmp_path: Path) -> None:
    done = together("collectives", n, tmp_path, backend, **VARIABLES, LAMELLA_EMULATION_DEFERRED=deferred)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == n


@pytest.mark.parametrize(
    ("program", "checks"),
    [("training", []), ("sharded", ["as_one_process"]), ("pipeline", ["interleaved"])],
)
def test_processes_train_as_one_does(program: str, checks: list[str], tmp_path: Path) -> None:
    done = together(program, 2, tmp_path, *checks, **VARIABLES)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == 2


@pytest.mark.parametrize(
    ("what", "seconds", "words"),
    [
        ("kill", 20, ["missing: rank 1 ended (killed, crashed or exited) after operation"]),
        (
            "stall",
            1,
            ["no answer within 1 s; missing: rank 1 is after operation", "nccl: the other processes have not"],
        ),
    ],
)
def test_a_process_that_ends_or_stalls_is_named(what: str, seconds: float, words: list[str], tmp_path: Path) -> None:
    processes = [started("failures", rank, 2, tmp_path, what, seconds, **VARIABLES) for rank in range(2)]
    try:
        said, _ = processes[0].communicate(timeout=20)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert processes[0].returncode == 3, said
    assert "[all_gather] group 'world': operation" in said
    for text in words:
        assert text in said


def programs(code: str, folder: Path, **variables: Any) -> list[str]:
    """What two processes say that run the same code."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LAMELLA_TEST")}
    environment |= {
        "PYTHONPATH": str(PACKAGE.parent),
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
    }
    environment |= {"LAMELLA_DISTRIBUTED_STORE": f"file://{folder}", "LAMELLA_NCCL_LIBRARY": str(NCCL)}
    environment |= {name: str(value) for name, value in variables.items()}
    command = [sys.executable, "-c", "import lamella as lm\nimport lamella.distributed as dist\n" + code]
    both = [
        subprocess.Popen(
            command,
            env=environment | {"RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    return [process.communicate(timeout=60)[0] for process in both]


SUM = """
group = dist.init_process_group({backend!r}, timeout=20)
y = dist.all_reduce(lm.ones([2], device={device}))
print(y.device[:4], y.tolist(), group.backend, repr(group.device_backend))
"""


@pytest.mark.parametrize(
    ("backend", "device", "variables", "expected"),
    [
        (None, "f'cuda:{group.rank}'", {}, "cuda [2.0, 2.0] gloo 'nccl'"),
        ("nccl", "f'cuda:{group.rank}'", {}, "cuda [2.0, 2.0] gloo 'nccl'"),
        ("nccl", "'cpu'", {}, "cpu [2.0, 2.0] gloo ''"),
        ("gloo", "f'cuda:{group.rank}'", {}, "cuda [2.0, 2.0] gloo ''"),
        # Where NCCL cannot connect them, tensors go through the host's memory, unless it was asked for.
        (None, "'cuda:0'", {}, "cuda [2.0, 2.0] gloo ''"),
        (None, "f'cuda:{group.rank}'", {"LAMELLA_NCCL_LIBRARY": "/none.so"}, "cuda [2.0, 2.0] gloo ''"),
        ("nccl", "'cuda:0'", {}, "ranks 0 and 1 have one device (0000:01:00.0 of"),
        ("nccl", "'cuda:0'", {"LAMELLA_NCCL_LIBRARY": "/none.so"}, "[distributed] the backend 'nccl' does not load: "),
    ],
)
def test_who_carries_what(backend, device, variables, expected, tmp_path: Path) -> None:
    for said in programs(SUM.format(backend=backend, device=device), tmp_path, **variables):
        assert expected in said, said


def test_a_process_has_one_device_in_a_group(tmp_path: Path) -> None:
    code = """
group = dist.init_process_group(timeout=20)
dist.all_reduce(lm.ones([2], device=f"cuda:{group.rank}"))
try:
    dist.all_reduce(lm.ones([2], device=f"cuda:{1 - group.rank}"))
except ValueError as error:
    print(error)
print(dist.all_reduce(lm.ones([2], device=f"cuda:{group.rank}")).tolist())
"""
    for rank, said in enumerate(programs(code, tmp_path)):
        assert f"is connected on cuda:{rank} of this process, and the tensor is on cuda:{1 - rank}" in said, said
        assert said.endswith("[2.0, 2.0]\n")


def test_calls_of_different_devices_are_named(tmp_path: Path) -> None:
    code = """
group = dist.init_process_group("nccl", timeout=20, debug=True)
device = f"cuda:{group.rank}"
dist.all_reduce(lm.ones([2], device=device))
try:
    dist.all_reduce(lm.ones([2], device=device if group.rank else "cpu"))
except dist.DistributedError as error:
    print(error)
print(dist.all_reduce(lm.ones([2], device=device)).tolist())
"""
    for said in programs(code, tmp_path):
        assert "rank 0: all_reduce(float32 [2], op=sum); rank 1: all_reduce(float32 [2] on cuda, op=sum)" in said
        assert said.endswith("[2.0, 2.0]\n")
