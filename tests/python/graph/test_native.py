"""Fused programs that the system's compiler compiles: results, the folder of compiled programs, and all that fails."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import _C

COMPILER = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler on this machine")


@pytest.fixture(autouse=True)
def settings(tmp_path: Path) -> Iterator[Path]:
    """Compiles each program before it runs, in an empty folder; returns the folder."""
    before = _C._native_settings()
    lm.graph.set_native("wait", cache=tmp_path)
    yield tmp_path / "kernels"
    _C._set_native_settings(*before)


_turn = 0


def fresh(f: Callable[[Any], Any]) -> tuple[lm.graph.Graph, Any, Any, Callable[[Any], Any]]:
    """Records a graph of a program that no test has compiled; returns the graph, its result and gradient, and f."""
    global _turn
    _turn += 1
    count = _turn

    def once(x: Any) -> Any:
        y = f(x)
        for bit in range(8):
            y = y * 1.5 + 0.5 if count >> bit & 1 else lm.maximum(y * 0.75, -3.0)
        return y

    graph = lm.graph.Graph("native")
    x = graph.input("x", "float32", [-1])
    x.stop_gradient = False
    with lm.graph.recording(graph):
        y = once(x)
        total = y.sum()
    return graph, y, graph.gradients(total, x)[0], once


def formula(x: Any) -> Any:
    return lm.tanh(x * 0.5 + 1) * lm.where(x > 0, lm.sigmoid(x), x**2)


def numbers(count: int = 1001) -> Any:
    return lm.asarray(np.random.default_rng(count).normal(size=count).astype("float32"))


def check(graph: lm.graph.Graph, y: Any, grad: Any, f: Callable[[Any], Any], count: int = 1001) -> None:
    """Runs a graph, and compares it with the operators."""
    x = numbers(count)
    leaf = x.detach()
    leaf.stop_gradient = False
    want = f(leaf)
    got = graph.run({"x": x}, [y, grad])
    np.testing.assert_array_equal(got[0].detach().numpy(), want.detach().numpy())
    (slope,) = lm.grad([want.sum()], [leaf])
    np.testing.assert_allclose(got[1].detach().numpy(), slope.numpy(), 2e-6, 1e-6)


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


@needs_compiler
@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 1001, 200_003])
def test_results_are_those_of_the_operators(settings: Path, count: int) -> None:
    before = lm.graph.native_status().compiled
    check(*fresh(formula), count)
    assert count == 0 or lm.graph.native_status().compiled == before + 2
    assert not lm.graph.native_status().problems
    assert all(path.suffix == ".so" and path.stat().st_mode & 0o77 == 0 for path in files(settings))
    assert stat.S_IMODE(settings.stat().st_mode) == 0o700 if count else True


@needs_compiler
def test_a_single_number_and_a_mask_are_operands() -> None:
    graph = lm.graph.Graph("operands")
    x, s = graph.input("x", "float64", [-1, 3]), graph.input("s", "float64", [])
    mask = graph.input("mask", "bool", [-1, 3])
    with lm.graph.recording(graph):
        y = lm.where(mask, lm.exp(x * s), x + s)
        z = y > s
    before = lm.graph.native_status().compiled
    feeds = {"x": lm.asarray(np.arange(15.0).reshape(5, 3)), "s": lm.tensor(0.25, dtype="float64")}
    feeds["mask"] = lm.asarray(np.arange(15).reshape(5, 3) % 2 == 0)
    got = graph.run(feeds, [y, z])
    want = graph.run(feeds, [y, z], fuse=False)
    assert lm.graph.native_status().compiled == before + 1
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@needs_compiler
def test_what_runs_often_is_compiled_in_the_background() -> None:
    lm.graph.set_native("background")
    graph, y, _, f = fresh(formula)
    x = numbers(200_003)
    before = lm.graph.native_status().compiled
    graph.run({"x": x}, [y], prune=True)
    assert lm.graph.native_status(wait=True).compiled == before  # once is not often
    for _ in range(20):
        graph.run({"x": x}, [y], prune=True)
    assert lm.graph.native_status(wait=True).compiled == before + 1
    np.testing.assert_array_equal(graph.run({"x": x}, [y], prune=True)[0].numpy(), f(x).numpy())


@needs_compiler
def test_a_run_may_wait_for_all_that_it_compiles(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\necho "$1" >>{calls}\nsleep 0.2\nexec {COMPILER} "$@"\n')
    wrapper.chmod(0o755)
    lm.graph.set_native("background", compiler=wrapper)
    graph = lm.graph.Graph("several")
    x = graph.input("x", "float32", [-1])
    with lm.graph.recording(graph):
        results = [f(x.reshape([-1, size]) * 2 + 1) for size, f in ((1, lm.tanh), (5, lm.exp), (7, lm.log1p))]
    before = lm.graph.native_status().compiled
    feeds = {"x": lm.arange(35, dtype="float32") / 8}
    want = graph.run(feeds, results, fuse=False)
    for _ in range(2):
        got = graph.run(feeds, results, wait=True)
        assert lm.graph.native_status().compiled == before + 3
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert calls.read_text().count("-x") <= 2  # those that came while it was asked its version go together


def test_off_compiles_nothing(settings: Path) -> None:
    lm.graph.set_native("off")
    before = lm.graph.native_status().compiled
    graph, y, grad, f = fresh(formula)
    check(graph, y, grad, f)
    graph.run({"x": numbers()}, [y], wait=True)
    assert lm.graph.native_status().compiled == before and not files(settings)


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="mode is 'off', 'background' or 'wait', got 'on'"):
        lm.graph.set_native("on")
    for seconds in (0, -1, float("nan"), 1e9):
        with pytest.raises(ValueError, match="seconds is above 0"):
            lm.graph.set_native(seconds=seconds)
    with pytest.raises(TypeError):
        lm.graph.set_native(compiler=3)  # type: ignore[arg-type]
    assert lm.graph.native_status().mode == "wait"


def fake(folder: Path, text: str) -> Path:
    """Returns a compiler: a script that tells its version, and then does `text` with $out, the file to write."""
    path = folder / "fake-compiler"
    path.write_text(
        '#!/bin/sh\nif [ "$1" = --version ]; then echo fake 1.0; exit 0; fi\n'
        'while [ $# -gt 0 ]; do if [ "$1" = -o ]; then out=$2; fi; shift; done\n' + text + "\n"
    )
    path.chmod(0o755)
    return path


FAILING = {
    "fails": ("echo no room for optimizations; exit 1", "no room for optimizations"),
    "ends itself": ("kill -9 $$", "failed"),
    "hangs": ("sleep 1000", "took more than"),
    "ignores the signal": ("trap '' TERM; while :; do sleep 1; done", "took more than"),
    "writes garbage": ("head -c 20000 /dev/urandom >$out", "nothing that can be loaded"),
    "writes nothing": ("exit 0", "nothing that can be loaded"),
    "removes its file": ("rm $out", "nothing that can be loaded"),
    "makes another library": ('echo "int x;" | ' + f'{COMPILER} -x c++ -shared -fPIC -o "$out" -', "cannot be loaded"),
    "cuts its library off": (
        f'{COMPILER} -x c++ -shared -fPIC -o "$out" - </dev/null; head -c 3000 "$out" >"$out.2"; mv "$out.2" "$out"',
        "nothing that can be loaded",
    ),
}


@pytest.mark.parametrize("kind", FAILING)
def test_a_compiler_that_fails_costs_speed_alone(settings: Path, tmp_path: Path, kind: str) -> None:
    text, message = FAILING[kind]
    if "library" in kind and COMPILER is None:
        pytest.skip("there is no C++ compiler on this machine")
    seconds = 0.5 if message == "took more than" else 20
    lm.graph.set_native(compiler=fake(tmp_path, text), seconds=seconds)
    before = lm.graph.native_status().compiled
    with pytest.warns(RuntimeWarning, match=message):
        check(*fresh(formula))
    status = lm.graph.native_status()
    assert status.gave_up and len(status.problems) == 1 and message in status.problems[0]
    assert status.compiled == before and not files(settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was told
        check(*fresh(formula))


@needs_compiler
def test_what_failed_is_tried_again_with_other_settings(tmp_path: Path) -> None:
    lm.graph.set_native(compiler=fake(tmp_path, "exit 1"))
    program = fresh(formula)
    with pytest.warns(RuntimeWarning, match="failed"):
        check(*program)
    before = lm.graph.native_status().compiled
    lm.graph.set_native(compiler="")
    check(*program)
    assert lm.graph.native_status().compiled == before + 2 and not lm.graph.native_status().problems


@pytest.mark.parametrize("name", ["/nowhere/c++", "lamella-no-such-compiler", "/etc"])
def test_no_compiler(name: str) -> None:
    lm.graph.set_native(compiler=name)
    with pytest.warns(RuntimeWarning, match=f"there is no compiler {name}"):
        check(*fresh(formula))


def folder_that_is_a_file(path: Path) -> Path:
    path.write_text("")
    return path


def folder_of_all(path: Path) -> Path:
    (path / "kernels").mkdir(parents=True)
    (path / "kernels").chmod(0o777)
    return path


def folder_elsewhere(path: Path) -> Path:
    path.mkdir()
    (path / "real").mkdir()
    (path / "kernels").symlink_to(path / "real")
    return path


@needs_compiler
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (folder_that_is_a_file, "cannot be made"),
        (lambda _: Path("/proc/1/lamella"), "cannot be made"),
        (folder_of_all, "others may write to it"),
        (folder_elsewhere, "is no folder"),
    ],
)
def test_a_folder_that_cannot_be_used(tmp_path: Path, make: Callable[[Path], Path], message: str) -> None:
    lm.graph.set_native(cache=make(tmp_path / "cache"))
    with pytest.warns(RuntimeWarning, match=message):
        check(*fresh(formula))
    assert lm.graph.native_status().gave_up


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def link(path: Path) -> None:
    path.rename(path.with_suffix(".other"))
    path.symlink_to(path.with_suffix(".other"))


PROGRAM = """
import sys, warnings
import lamella as lm
graph = lm.graph.Graph()
x = graph.input("x", "float32", [-1])
with lm.graph.recording(graph):
    y = lm.exp(x * 2 + 1) - x
warnings.simplefilter("ignore")
a = lm.ones([100]) / 3
for _ in range(2):
    assert (graph.run({"x": a}, [y], wait=True)[0] == lm.exp(a * 2 + 1) - a).all()
status = lm.graph.native_status()
print(status.compiled, status.loaded, *status.problems)
"""


def run(cache: Path | None, program: str = PROGRAM, **variables: str) -> str:
    environment = os.environ | {"LAMELLA_CACHE": str(cache) if cache else ""} | variables
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_compiler
def test_another_process_finds_what_was_compiled(tmp_path: Path) -> None:
    assert run(tmp_path) == "1 0"
    assert run(tmp_path) == "0 1"


@needs_compiler
@pytest.mark.parametrize(
    "damage", [cut, flip, append, link, lambda path: path.write_bytes(b""), lambda p: p.chmod(0o666)]
)
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    run(tmp_path)
    (path,) = files(tmp_path / "kernels")
    damage(path)
    assert run(tmp_path).startswith(f"1 0 {path} is damaged")
    assert run(tmp_path) == "0 1"


@needs_compiler
def test_processes_at_once(tmp_path: Path) -> None:
    environment = os.environ | {"LAMELLA_CACHE": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in started:
        assert process.communicate(timeout=120)[0].strip() in ("1 0", "0 1")
    assert len(files(tmp_path / "kernels")) == 1
    assert run(tmp_path) == "0 1"


@needs_compiler
def test_another_compiler_or_version_makes_its_own(tmp_path: Path) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo mine; exit; fi\nexec {COMPILER} "$@"\n')
    wrapper.chmod(0o755)
    assert run(tmp_path) == "1 0"
    assert run(tmp_path, LAMELLA_COMPILER=str(wrapper)) == "1 0"
    wrapper.write_text(wrapper.read_text().replace("mine", "newer"))
    assert run(tmp_path, LAMELLA_COMPILER=str(wrapper)) == "1 0"
    assert run(tmp_path, LAMELLA_COMPILER=str(wrapper)) == "0 1"


@needs_compiler
def test_the_environment_chooses_the_folder(tmp_path: Path) -> None:
    assert run(None, XDG_CACHE_HOME=str(tmp_path / "xdg")) == "1 0"
    assert len(files(tmp_path / "xdg" / "lamella" / "kernels")) == 1
    assert run(None, XDG_CACHE_HOME="", HOME=str(tmp_path / "home")) == "1 0"
    assert len(files(tmp_path / "home" / ".cache" / "lamella" / "kernels")) == 1
    assert "name no folder" in run(None, XDG_CACHE_HOME="", HOME="")


def test_the_environment_turns_it_off(tmp_path: Path) -> None:
    assert run(tmp_path, LAMELLA_COMPILER="off") == "0 0"


def test_a_full_disk_costs_speed_alone(tmp_path: Path) -> None:
    if COMPILER is None:
        pytest.skip("there is no C++ compiler on this machine")
    limited = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    # The compiler's files still fit; the folder's are longer.
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (15000, 15000))\n"
    told = run(tmp_path, limited + PROGRAM)
    assert "cannot be kept" in told or "failed" in told
    assert not files(tmp_path / "kernels")


def test_the_end_of_the_program_ends_the_compiler(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    compiler = fake(tmp_path, f"echo $$ >{marker}; sleep 1000")
    program = PROGRAM.replace("wait=True", "wait=False").replace("lm.ones([100])", "lm.ones([20_000_000])")
    program += f"\nimport os, time\nwhile not os.path.exists({str(marker)!r}): time.sleep(0.01)\n"
    begin = time.monotonic()
    run(tmp_path, program, LAMELLA_COMPILER=str(compiler))
    assert time.monotonic() - begin < 60
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), signal.SIGCONT)
    assert not files(tmp_path / "kernels")


@needs_compiler
def test_a_child_uses_what_its_parent_compiled_and_compiles_nothing() -> None:
    graph, y, grad, f = fresh(formula)
    check(graph, y, grad, f)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            before = lm.graph.native_status().compiled
            check(graph, y, grad, f)
            check(*fresh(formula))
            status = 0 if lm.graph.native_status().compiled == before else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    check(*fresh(formula))


@needs_compiler
@pytest.mark.parametrize("mode", ["background", "wait"])
def test_threads(mode: str) -> None:
    lm.graph.set_native(mode)
    errors: list[BaseException] = []

    def work(f: Callable[[Any], Any]) -> None:
        try:
            program = fresh(f)
            for _ in range(5):
                check(*program, 300_000)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f,)) for f in (formula, lm.exp, formula, lm.sigmoid)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert lm.graph.native_status(wait=True).waiting == 0


@needs_compiler
def test_second_derivatives_of_compiled_programs() -> None:
    f = fresh(formula)[3]
    x = numbers(33).astype("float64")
    graph = lm.graph.Graph("second")
    a = graph.input("x", "float64", [-1])
    a.stop_gradient = False
    with lm.graph.recording(graph):
        total = f(a).sum()
    slope: Any = graph.gradients(total, a)[0]
    with lm.graph.recording(graph):
        squares = (slope * slope).sum()
    second: Any = graph.gradients(squares, a)[0]
    got = graph.run({"x": x}, [second])[0]
    want = graph.run({"x": x}, [second], fuse=False)[0]
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), 1e-12, 1e-12)
