"""What surrounds the compiler: what is built already, locks, jobs, messages. A script stands for the compiler."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lamella.utils._extension import jobs, library, lock, toolchain

HERE = Path(__file__).parent
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "log"
    path.touch()
    monkeypatch.setenv("CXX", f"sh {HERE / 'fake_compiler.sh'}")
    monkeypatch.setenv("FAKE_LOG", str(path))
    monkeypatch.setenv("FAKE_VERSION", "1")
    toolchain._identify.cache_clear()

    def read():
        lines = path.read_text().splitlines()
        path.write_text("")
        return sorted(lines)

    yield read
    toolchain._identify.cache_clear()


def described(tmp_path, *names, **kwargs):
    return library.Library("x.so", [tmp_path / name for name in names], folder=tmp_path, **kwargs)


def test_what_is_built_is_not_built_again(tmp_path, log):
    (tmp_path / "a.cc").write_text('include "h.h"\na\n')
    (tmp_path / "b.cc").write_text("b\n")
    (tmp_path / "h.h").write_text("1")
    build = tmp_path / "build"
    first = library.build(described(tmp_path, "a.cc", "b.cc"), build)
    assert first.read_text() == 'include "h.h"\na\nb\n' and first.name == "x.so"
    assert log() == ["compile a.cc", "compile b.cc", "link"]
    assert library.build(described(tmp_path, "a.cc", "b.cc"), build) == first
    assert log() == []

    # One source, then a header: only what depends on it.
    (tmp_path / "b.cc").write_text("b2\n")
    second = library.build(described(tmp_path, "a.cc", "b.cc"), build)
    assert second != first and log() == ["compile b.cc", "link"]
    (tmp_path / "h.h").write_text("2")
    third = library.build(described(tmp_path, "a.cc", "b.cc"), build)
    assert third not in (first, second) and log() == ["compile a.cc", "link"]

    # Content decides, not time: a touched file is no change, and neither is an earlier text.
    os.utime(tmp_path / "b.cc")
    assert library.build(described(tmp_path, "a.cc", "b.cc"), build) == third
    (tmp_path / "b.cc").write_text("b\n")
    library.build(described(tmp_path, "a.cc", "b.cc"), build)
    assert log() == ["link"]
    # A header that is gone: what included it does not compile from the record.
    (tmp_path / "h.h").unlink()
    (tmp_path / "a.cc").write_text("a\n")
    library.build(described(tmp_path, "a.cc", "b.cc"), build)
    assert log() == ["compile a.cc", "link"]


def test_flags_and_compilers_are_content(tmp_path, log, monkeypatch):
    (tmp_path / "a.cc").write_text("a\n")
    build = tmp_path / "build"
    paths = {library.build(described(tmp_path, "a.cc"), build)}
    paths.add(library.build(described(tmp_path, "a.cc", cxx_flags=["-DX"]), build))
    paths.add(library.build(described(tmp_path, "a.cc", link_flags=["-lm"]), build))
    assert log() == ["compile a.cc", "compile a.cc", "link", "link", "link"]
    monkeypatch.setenv("FAKE_VERSION", "2")
    toolchain._identify.cache_clear()
    paths.add(library.build(described(tmp_path, "a.cc"), build))
    assert len(paths) == 4 and log() == ["compile a.cc", "link"]


def test_objects_can_be_left_out(tmp_path, log):
    (tmp_path / "a.cc").write_text("a\n")
    build = tmp_path / "build"
    made = library.build(described(tmp_path, "a.cc"), build, keep_objects=False)
    assert not list(build.glob("*.o"))
    assert library.build(described(tmp_path, "a.cc"), build, keep_objects=False) == made
    assert log() == ["compile a.cc", "link"]


def test_few_old_ones_are_kept(tmp_path, log):
    build = tmp_path / "build"
    for k in range(8):
        (tmp_path / "a.cc").write_text(f"{k}\n")
        last = library.build(described(tmp_path, "a.cc"), build)
    assert last.exists() and len(list(build.glob("*/x.so"))) == 4


def test_errors_have_the_compilers_text(tmp_path, log):
    (tmp_path / "a.cc").write_text("wrong\n")
    (tmp_path / "b.cc").write_text("b\n")
    with pytest.raises(RuntimeError, match=r"a\.cc: the compiler failed with exit status 1\n.*\n.*: this is wrong"):
        library.build(described(tmp_path, "a.cc", "b.cc"), tmp_path / "build", serial=True)
    assert log() == ["compile a.cc"]  # the other one was not begun
    (tmp_path / "a.cc").write_text("right\n")
    library.build(described(tmp_path, "a.cc", "b.cc"), tmp_path / "build")
    assert not list((tmp_path / "build").glob(".build-*"))


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [((), ValueError, "no sources"), (("none.cc",), FileNotFoundError, "no source '.*none.cc'")],
)
def test_wrong_sources(tmp_path, log, names, error, message):
    with pytest.raises(error, match=message):
        library.build(described(tmp_path, *names), tmp_path / "build")
    (tmp_path / "a.cc").write_text("a")
    with pytest.raises(ValueError, match="named twice"):
        library.build(described(tmp_path, "a.cc", "a.cc"), tmp_path / "build")


def test_there_is_no_compiler(tmp_path, monkeypatch):
    (tmp_path / "a.cc").write_text("a\n")
    monkeypatch.setenv("CXX", str(tmp_path / "no compiler").replace(" ", "-"))
    with pytest.raises(RuntimeError, match=r"cannot run the compiler '.*no-compiler'"):
        library.build(described(tmp_path, "a.cc"), tmp_path / "build")
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"no C\+\+ compiler"):
        library.build(described(tmp_path, "a.cc"), tmp_path / "build")


def test_the_compiler_is_too_old(tmp_path, monkeypatch):
    """One whose headers lack what C++20 brought says so once, in place of pages of errors in Lamella's headers."""
    (tmp_path / "a.cc").write_text("a\n")
    old = tmp_path / "old"
    old.write_text('#!/bin/sh\ncase "$*" in --version) echo "old (Debian) 8.3";; *) cat; exit 1;; esac\n')
    old.chmod(0o755)
    monkeypatch.setenv("CXX", str(old))
    with pytest.raises(RuntimeError, match=r"is too old: .* g\+\+ 11 or clang\+\+ 16, got old \(Debian\) 8.3; set CXX"):
        library.build(described(tmp_path, "a.cc"), tmp_path / "build")
    assert not (tmp_path / "build").exists() or not list((tmp_path / "build").iterdir())


def _build(tmp_path):
    library.build(described(tmp_path, "a.cc"), tmp_path / "build")


def test_many_processes_build_once(tmp_path, log):
    (tmp_path / "a.cc").write_text("slow\n")
    processes = [FORK.Process(target=_build, args=(tmp_path,)) for _ in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert log() == ["compile a.cc", "link"]


def test_a_killed_build_leaves_nothing_to_wait_for(tmp_path, log):
    (tmp_path / "a.cc").write_text("slow\n")
    process = FORK.Process(target=_build, args=(tmp_path,))
    process.start()
    while not list((tmp_path / "build").glob(".build-*")):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    begin = time.monotonic()
    _build(tmp_path)
    assert time.monotonic() - begin < 20
    assert not list((tmp_path / "build").glob(".build-*"))


def test_the_lock_is_for_threads_too(tmp_path):
    import threading

    inside, most = 0, 0

    def work():
        nonlocal inside, most
        for _ in range(20):
            with lock.folder_lock(tmp_path):
                inside += 1
                most = max(most, inside)
                time.sleep(0.0005)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_who_waits_says_for_whom(tmp_path, capfd):
    def hold(folder, sender):
        with lock.folder_lock(folder):
            sender.send(True)
            time.sleep(0.5)

    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=hold, args=(tmp_path, sender))
    process.start()
    receiver.recv()
    with lock.folder_lock(tmp_path, patience=0.1):
        pass
    process.join()
    assert f"waiting for process {process.pid}" in capfd.readouterr().err


def test_a_child_of_fork_takes_locks_of_its_own(tmp_path):
    with lock.folder_lock(tmp_path):
        pid = os.fork()
        if pid == 0:
            other = tmp_path / "other"
            other.mkdir()
            with lock.folder_lock(other):
                os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0


def test_jobs_follow_memory_and_max_jobs(monkeypatch):
    monkeypatch.delenv("MAX_JOBS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    for memory, expected in [(None, 8), (100 << 30, 8), (4_600_000_000, 3), (1, 1), (-5, 1)]:
        monkeypatch.setattr(jobs, "available_memory", lambda memory=memory: memory)
        assert jobs.job_count(20) == expected
    assert jobs.job_count(0) == 1
    monkeypatch.setenv("MAX_JOBS", "5")
    assert (jobs.job_count(20), jobs.job_count(2)) == (5, 2)
    for wrong in ("0", "x", "-1"):
        monkeypatch.setenv("MAX_JOBS", wrong)
        with pytest.raises(ValueError, match="MAX_JOBS"):
            jobs.job_count(2)


def test_available_memory_is_some(monkeypatch):
    memory = jobs.available_memory()
    assert memory is None or memory > 1 << 20


@pytest.mark.parametrize(
    ("rule", "files"),
    [
        ("a.o: b.cc\n", ["b.cc"]),
        ("a.o: b.cc /x/c.h \\\n  d.h\n", ["b.cc", "/x/c.h", "d.h"]),
        ("a.o: with\\ space.h hash\\#.h dollar$$.h\n", ["with space.h", "hash#.h", "dollar$.h"]),
        ("a.o:", []),
    ],
)
def test_rules_for_make(rule, files):
    assert library._prerequisites(rule) == files


def test_architectures():
    assert toolchain.architecture_flags("8.0;9.0+PTX") == [
        *("-gencode", "arch=compute_80,code=sm_80"),
        *("-gencode", "arch=compute_90,code=sm_90"),
        *("-gencode", "arch=compute_90,code=compute_90"),
    ]
    assert toolchain.architecture_flags("9.0a") == ["-gencode", "arch=compute_90a,code=sm_90a"]
    with pytest.raises(ValueError, match="'fast' is no architecture"):
        toolchain.architecture_flags("8.0 fast")


def test_load_does_without_setuptools():
    code = """
import sys
sys.modules["setuptools"] = None
from lamella.utils import cpp_extension
assert cpp_extension.include_paths() and cpp_extension.library_paths()
for use in (lambda: cpp_extension.BuildExtension, lambda: cpp_extension.CppExtension("a", ["a.cc"])):
    try:
        use()
    except ModuleNotFoundError as error:
        assert "setuptools, which is not installed" in str(error), error
    else:
        raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
