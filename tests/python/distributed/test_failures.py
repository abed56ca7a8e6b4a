"""Processes that die, stall or call something else: the others say so in time, and name who is missing."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from lamella.distributed import launch

from .running import needs_gloo, started, together

pytestmark = needs_gloo


def survivors(what: str, seconds: float, folder: Path, n: int = 3, **variables: Any) -> list[str]:
    """What all processes but rank 1 say, once they have ended by themselves."""
    processes = [started("failures", rank, n, folder, what, seconds, **variables) for rank in range(n)]
    try:
        said = [processes[rank].communicate(timeout=20)[0] for rank in range(n) if rank != 1]
        assert [processes[rank].returncode for rank in range(n) if rank != 1] == [3] * (n - 1), said
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return said


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("kill", "rank 1 ended (killed, crashed or exited) after operation 2, barrier"),
        ("exit", "rank 1 left the group after operation 2, barrier"),
    ],
)
def test_a_process_that_ends_is_named_at_once(what: str, reason: str, tmp_path: Path) -> None:
    for text in survivors(what, 20, tmp_path):
        assert "[all_gather] group 'world': operation 3, all_gather, failed on rank" in text
        assert reason in text or "rank 1 ended" in text, text
        assert float(text.partition("after ")[2].partition(" s")[0]) < 5


def test_processes_that_meet_at_an_address_know_who_is_missing_too(tmp_path: Path) -> None:
    """The store is empty, so that the variables of torchrun count: there is no folder that the processes share."""
    variables = {"LAMELLA_DISTRIBUTED_STORE": "", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": launch._port()}
    for text in survivors("kill", 20, tmp_path, LOCAL_WORLD_SIZE=3, **variables):
        assert "missing: rank 1 ended (killed, crashed or exited)" in text, text


def test_a_process_that_stalls_is_named_when_the_time_has_passed(tmp_path: Path) -> None:
    first, last = survivors("stall", 2, tmp_path)
    for text in (first, last):
        assert "missing: rank 1 is after operation 2, barrier" in text, text
    assert "no answer within 2 s" in first + last


def test_calls_that_do_not_fit_together_are_named(tmp_path: Path) -> None:
    done = together("failures", 2, tmp_path, "mismatch", 10)
    assert done.returncode == 0, done.stdout
    assert "rank 0: all_reduce(float32 [10], op=sum); rank 1: all_reduce(float32 [11], op=sum)" in done.stdout
    assert "rank 0: broadcast(float32 [1000], root=0); rank 1: all_reduce(float32 [1000], op=sum)" in done.stdout
    assert "rank 0: all_reduce(float32 [1000], op=min); rank 1: all_reduce(float32 [1000], op=max)" in done.stdout
    assert done.stdout.count("still good") == 2


def test_a_process_that_does_not_come_is_named(tmp_path: Path) -> None:
    alone = started("failures", 0, 3, tmp_path, "stall", 1)
    said, _ = alone.communicate(timeout=20)
    assert alone.returncode == 1
    assert "[init_process_group] gloo: these of 3 processes have not come within 1 s: rank 1, 2" in said
    assert not list(tmp_path.iterdir())


def test_a_process_that_does_not_come_does_not_bar_the_next_ones(tmp_path: Path) -> None:
    """One gives up, another one is killed while it waits: what they leave is not taken for processes that are there."""
    killed = started("failures", 1, 2, tmp_path, "stall", 60)
    try:
        deadline = time.monotonic() + 20
        while not (tmp_path / "rendezvous" / "addresses-1").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        killed.kill()
        killed.communicate()
    begin = time.monotonic()
    late = started("failures", 0, 2, tmp_path, "stall", 1)
    said, _ = late.communicate(timeout=20)
    assert "[init_process_group] gloo: these of 2 processes have not come within 1 s: rank 1" in said
    assert time.monotonic() - begin < 15
    done = together("hello", 2, tmp_path)
    assert done.returncode == 0, done.stdout
    assert not list(tmp_path.iterdir())


def test_an_interrupt_ends_the_wait(tmp_path: Path) -> None:
    processes = [started("failures", rank, 2, tmp_path, "stall", 60) for rank in range(2)]
    try:
        assert processes[0].stdout is not None
        assert processes[0].stdout.readline() == "waits\n"
        time.sleep(0.2)
        processes[0].send_signal(signal.SIGINT)
        said, _ = processes[0].communicate(timeout=10)
        assert "KeyboardInterrupt" in said
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_a_killed_process_leaves_no_survivor_waiting_in_training(tmp_path: Path) -> None:
    processes = [started("training", rank, 2, tmp_path, "forever") for rank in range(2)]
    try:
        assert processes[1].stdout is not None
        assert "step" in processes[1].stdout.readline()
        processes[1].kill()
        said, _ = processes[0].communicate(timeout=10)
        assert "DistributedError" in said and "rank 1 ended" in said
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert isinstance(processes[0], subprocess.Popen) and processes[0].returncode == 1
