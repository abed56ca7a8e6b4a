"""The launcher: exit statuses, output, signals, and nothing left behind."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from lamella.distributed import launch

from .running import PROGRAMS, environment

ENDING = str(PROGRAMS / "ending.py")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The folder for temporary files, in which nothing is left behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    assert not list(tmp_path.iterdir())


def test_all_processes_get_their_place_and_their_output_is_forwarded(folder, capfd) -> None:
    assert launch.main(["-n", "3", "--prefix", ENDING, "0", "0", "0"]) == 0
    said, errors = capfd.readouterr()
    assert sorted(said.splitlines()) == [f"[{rank}] line of {rank} 3 {rank} 3 127.0.0.1" for rank in range(3)]
    assert sorted(errors.splitlines()) == [f"[{rank}] port True" for rank in range(3)]


@pytest.mark.parametrize(
    ("ends", "status", "words"),
    [
        (("wait", "7"), 7, "rank 1 of 2 (process "),
        (("abort", "wait"), 128 + signal.SIGABRT, "was ended by SIGABRT"),
        (("deaf", "2"), 2, "ended with exit status 2"),
    ],
)
def test_one_that_fails_ends_the_others(ends, status, words, folder, capfd) -> None:
    begin = time.monotonic()
    assert launch.main(["-n", "2", "--grace", "0.3", ENDING, *ends]) == status
    assert words in capfd.readouterr().err
    assert time.monotonic() - begin < 20


#: Fails until its third attempt, on one process.
AGAIN = """
import os, sys
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
if os.environ["RANK"] == "1":
    print("attempt", attempt, "of", os.environ["TORCHELASTIC_MAX_RESTARTS"], flush=True)
    sys.exit(5 if attempt < 2 else 0)
"""


@pytest.mark.parametrize(("restarts", "status"), [(3, 0), (2, 0), (1, 5), (0, 5)])
def test_processes_start_again_after_a_failure(restarts, status, folder, tmp_path_factory, capfd) -> None:
    program = tmp_path_factory.mktemp("program") / "again.py"
    program.write_text(AGAIN)
    assert launch.main(["-n", "2", "--restarts", str(restarts), str(program)]) == status
    said, errors = capfd.readouterr()
    tries = range(min(restarts, 2) + 1)
    assert said.splitlines() == [f"attempt {i} of {restarts}" for i in tries]
    assert [line for line in errors.splitlines() if "again" in line] == [
        f"[launch] starts again: {i} of {restarts}" for i in tries if i
    ]


def test_children_of_a_process_that_was_killed_are_ended(folder, capfd) -> None:
    assert launch.main(["-n", "2", "--grace", "0.3", ENDING, "parent", "0"]) == 128 + signal.SIGKILL
    child = int(capfd.readouterr().out.partition("child ")[2].split()[0])
    deadline = time.monotonic() + 10
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_launcher_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lamella.distributed.launch", "-n", "2", ENDING, "wait", "parent"]
    process = subprocess.Popen(
        command, env=environment(TMPDIR=tmp_path, LAST="wait"), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = ""
    while said.count("line of") < 2 or "child" not in said:
        said += process.stdout.readline()
    assert list(tmp_path.iterdir())
    process.kill()
    assert process.wait(timeout=20) == -signal.SIGKILL
    said += process.stdout.read()  # as long as one of them has it open
    process.stdout.close()
    child = int(said.partition("child ")[2].split()[0])
    deadline = time.monotonic() + 20
    while _runs(child) or list(tmp_path.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _runs(process: int) -> bool:
    """True if a process is there that has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


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
    assert not list(tmp_path.iterdir())


def test_an_early_signal_ends_a_launcher_that_still_starts_processes(
    folder, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    launcher = launch.Launcher([sys.executable, ENDING, "wait"], 1000)
    started = launcher._start

    def start(rank: int, place: str) -> None:
        assert rank < 2
        started(rank, place)
        if rank == 1:
            launcher._on_signal(signal.SIGTERM, None)

    monkeypatch.setattr(launcher, "_start", start)
    assert launcher.run() == 128 + signal.SIGTERM


def test_what_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert launch.main(["x.py"]) == 1
    assert capsys.readouterr().err.startswith("[launch] the processes cannot be started: ")
    for grace in ("nan", "-1", "inf"):
        with pytest.raises(SystemExit):
            launch.main(["--grace", grace, "x.py"])
        assert "--grace is a number of seconds, at least 0, not" in capsys.readouterr().err


def test_a_module_runs_as_with_m(capfd: pytest.CaptureFixture[str]) -> None:
    assert launch.main(["-n", "1", "-m", "this"]) == 0
    assert "Beautiful is better than ugly." in capfd.readouterr().out
    with pytest.raises(SystemExit):
        launch.main(["-n", "0", "x.py"])


def test_the_port_is_free() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", launch._port()))
