"""The launcher: exit statuses, output, signals, and nothing left behind."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lamella.distributed import launch

from .running import PROGRAMS, environment, launched


def folders(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("lamella-launch-*"))


def test_all_processes_get_their_place_and_their_output_is_forwarded(tmp_path: Path) -> None:
    done = launched("ending", 3, 0, 0, 0, options=("--prefix",), TMPDIR=tmp_path)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] line of {rank} 3 {rank} 3 127.0.0.1" for rank in range(3)]
    assert sorted(done.stderr.splitlines()) == [f"[{rank}] port True" for rank in range(3)]
    assert not folders(tmp_path)


@pytest.mark.parametrize(
    ("ends", "status", "words"),
    [
        (("wait", 7), 7, "rank 1 of 2 (process "),
        (("abort", "wait"), 128 + signal.SIGABRT, "was ended by SIGABRT"),
        (("deaf", 2), 2, "ended with exit status 2"),
    ],
)
def test_one_that_fails_ends_the_others(ends, status, words, tmp_path) -> None:
    begin = time.monotonic()
    done = launched("ending", 2, *ends, options=("--grace", "0.3"), TMPDIR=tmp_path)
    assert done.returncode == status and words in done.stderr
    assert time.monotonic() - begin < 20 and not folders(tmp_path)


def test_signals_go_to_all_processes(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "lamella.distributed.launch",
        "-n",
        "2",
        str(PROGRAMS / "ending.py"),
        "wait",
        "wait",
    ]
    process = subprocess.Popen(command, env=environment(TMPDIR=tmp_path), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert {process.stdout.readline()[:9] for _ in range(2)} == {"line of 0", "line of 1"}
    process.terminate()
    assert process.wait(timeout=20) == 128 + signal.SIGTERM
    process.stdout.close()
    assert not folders(tmp_path)


def test_a_module_runs_as_with_m(capfd: pytest.CaptureFixture[str]) -> None:
    assert launch.main(["-n", "1", "-m", "this"]) == 0
    assert "Beautiful is better than ugly." in capfd.readouterr().out
    with pytest.raises(SystemExit):
        launch.main(["-n", "0", "x.py"])


def test_the_port_is_free() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", launch._port()))
