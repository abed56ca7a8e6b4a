"""Files that are saved: whole or not at all, with the permissions of those that they replace, and without remains."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lamella as lm

PYTHON = Path(lm.__file__).resolve().parents[1]
KINDS = [".safetensors", ".npz"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PYTHON)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o664])
def test_a_file_keeps_its_permissions(tmp_path, kind: str, mode: int) -> None:
    path = tmp_path / f"a{kind}"
    lm.io.save({"x": lm.zeros(2)}, path)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(mode)
    lm.io.save({"x": lm.ones(2)}, path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert lm.io.load(path)["x"].tolist() == [1, 1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes for others")
def test_a_file_keeps_its_owner(tmp_path) -> None:
    path = tmp_path / "a.npz"
    lm.io.save({"x": lm.zeros(2)}, path)
    os.chown(path, 1234, 2345)
    path.chmod(0o600)
    lm.io.save({"x": lm.ones(2)}, path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 2345, 0o600)


@pytest.mark.parametrize("kind", KINDS)
def test_names_may_be_as_long_as_the_system_has_them(tmp_path, kind: str) -> None:
    for name in ("x" * (255 - len(kind)), "ü" * ((255 - len(kind)) // 2)):
        path = tmp_path / f"{name}{kind}"
        for value in (1.0, 2.0):
            lm.io.save({"x": lm.full([2], value)}, path)
        assert lm.io.load(path)["x"].tolist() == [2, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_abandoned_drafts_are_removed_and_others_are_not(tmp_path, kind: str) -> None:
    source = (
        "import os, sys, signal, lamella as lm\n"
        "lm.io.save({'x': lm.zeros(2)}, sys.argv[1])\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "lm.io.save({'x': lm.ones(2)}, sys.argv[1])\n"
    )
    path, other = tmp_path / f"a{kind}", tmp_path / f"b{kind}"
    for each in (path, other):
        done = subprocess.run([sys.executable, "-c", source, str(each)], env=environment(), check=False)
        assert done.returncode == -signal.SIGKILL
    drafts = {entry.name for entry in tmp_path.iterdir()} - {path.name, other.name}
    assert len(drafts) == 2 and lm.io.load(path)["x"].tolist() == [0, 0]
    lm.io.save({"x": lm.full([2], 2.0)}, path)
    left = {entry.name for entry in tmp_path.iterdir()} - {path.name, other.name}
    assert len(left) == 1 and left < drafts and lm.io.load(path)["x"].tolist() == [2, 2]
    [draft] = left
    with (tmp_path / draft).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as one who writes it
        lm.io.save({"x": lm.ones(2)}, other)
        assert (tmp_path / draft).exists()
    lm.io.save({"x": lm.ones(2)}, other)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [path.name, other.name]


def test_savers_of_one_file_do_not_disturb_each_other(tmp_path) -> None:
    source = (
        "import sys, lamella as lm\n"
        "for i in range(30): lm.io.save({'x': lm.full([1000], float(sys.argv[2]))}, sys.argv[1])\n"
    )
    path = tmp_path / "a.safetensors"
    savers = [
        subprocess.Popen([sys.executable, "-c", source, str(path), str(number)], env=environment()) for number in (1, 2)
    ]
    while any(saver.poll() is None for saver in savers):
        if path.exists():
            values = set(lm.io.load(path)["x"].tolist())
            assert values in ({1.0}, {2.0})
        time.sleep(0.01)
    assert [saver.returncode for saver in savers] == [0, 0]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", KINDS)
def test_too_little_memory_is_no_damage(tmp_path, kind: str) -> None:
    path = tmp_path / f"a{kind}"
    lm.io.save({"small": lm.ones(3), "large": lm.zeros([64 << 20], dtype="uint8")}, path)
    source = (
        "import resource, sys, lamella as lm, numpy, zipfile, hashlib, lamella.io\n"
        "lm.io.save({'a': lm.ones(3)}, sys.argv[2]); lm.io.load(sys.argv[2])\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20), resource.RLIM_INFINITY))\n"
        "try: lm.io.load(sys.argv[1])\n"
        "except MemoryError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source, str(path), str(tmp_path / f"b{kind}")],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "" and done.stdout.startswith("["), done.stderr


def test_a_full_disk_leaves_the_old_file(tmp_path) -> None:
    path = tmp_path / "a.safetensors"
    lm.io.save({"x": lm.ones(2)}, path)
    source = (
        "import resource, signal, sys, lamella as lm\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
        "try: lm.io.save({'x': lm.zeros([1 << 20])}, sys.argv[1])\n"
        "except OSError as error: print(error.errno)\n"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", source, str(path)], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stdout == "27\n" and done.stderr == ""
    assert lm.io.load(path)["x"].tolist() == [1, 1] and [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_reader_sees_one_file_or_the_other(tmp_path) -> None:
    """A process that saves again and again is killed at random moments; the file is whole every time."""
    path = tmp_path / "a.npz"
    source = (
        "import sys, itertools, numpy as np, lamella as lm\n"
        "for i in itertools.count(): lm.io.save({'x': np.full(30000, float(i)), 'i': np.array(i)}, sys.argv[1])\n"
    )
    rng = np.random.default_rng(7)
    for _ in range(6):
        process = subprocess.Popen([sys.executable, "-c", source, str(path)], env=environment())
        while not path.exists():
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.wait()
        state = lm.io.load(path)
        assert set(state["x"].tolist()) == {float(state["i"].item())}
        path.unlink()
    lm.io.save({"x": lm.ones(1)}, path)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
