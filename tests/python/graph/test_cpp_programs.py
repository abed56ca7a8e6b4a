"""Graphs written as C++ programs: they compute what the graph does, and say what is wrong with what they are given."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import sysconfig
from support.extensions import need_compiler


def build(folder: Path) -> Path:
    need_compiler()
    program = folder / "program"
    flags = [*sysconfig.get_compile_flags(), str(folder / "main.cc"), "-o", str(program), *sysconfig.get_link_flags()]
    flags.append(f"-Wl,-rpath,{sysconfig.get_lib()}")
    done = subprocess.run(["c++", "-std=c++20", *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, cwd=program.parent)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, lm.graph.Graph, list[Any]]:
    folder = tmp_path_factory.mktemp("program")
    lm.random.seed(0)
    conv = lm.nn.Sequential(
        lm.nn.Conv2d(1, 4, 3, padding=1), lm.nn.BatchNorm2d(4), lm.nn.ReLU(), lm.nn.Flatten(), lm.nn.Dropout(0.5)
    )
    head = lm.nn.Linear(4 * 36, 5)
    table = lm.arange(6).astype(lm.bfloat16)
    graph = lm.graph.Graph('digits ")graph"')
    x = graph.input("x", lm.float32, [-1, 1, 6, 6])
    ids = graph.input("ids", lm.int64, [-1])
    with lm.graph.recording(graph):
        y = lm.softmax(head(conv(x)), axis=1)
        graph.gradients([y.sum()], [head.weight])
        z = lm.nn.functional.embedding(ids, graph.capture(table, "table of rows").reshape(3, 2)).astype(lm.float32)
        w = z * 2 + 1j
    graph.save_cpp(folder, [y, z, w])
    return build(folder), graph.inference(), [y, z, w]


def test_the_numbers_of_the_graph(exported: Any, tmp_path: Path) -> None:
    program, graph, fetches = exported
    for examples in (1, 3):
        x = np.random.default_rng(examples).normal(size=(examples, 1, 6, 6)).astype(np.float32)
        ids = np.arange(examples + 1) % 3
        np.save(tmp_path / "x.npy", x)
        np.save(tmp_path / "ids.npy", ids)
        done = run(program, f"x={tmp_path}/x.npy", f"ids={tmp_path}/ids.npy", "--to", str(tmp_path))
        assert done.returncode == 0, done.stderr
        names = [value.name for value in fetches]
        for name, expected in zip(names, graph.run({"x": lm.asarray(x), "ids": lm.asarray(ids)}, names), strict=True):
            got = np.load(tmp_path / f"{name}.npy")
            assert got.dtype == expected.numpy().dtype
            # Another process may divide products among other threads.
            np.testing.assert_allclose(got, expected.detach().numpy(), 1e-5)


def test_sizes_that_a_run_determines(tmp_path: Path) -> None:
    places = lm.arange(32, dtype="float32").reshape(1, 8, 4)

    def function(x: Any) -> Any:
        batch, length, width = x.shape
        heads = lm.reshape(x + places[:, :length], [batch, length, 2, width // 2])
        return lm.permute_dims(heads, [0, 2, 1, 3]) / length + lm.arange(length)[:, None]

    graph = lm.graph.Graph("sizes")
    x = graph.input("x", "float32", [-1, -1, 4])
    with lm.graph.recording(graph):
        y = function(x)
    graph.save_cpp(tmp_path, [y])
    program = build(tmp_path)
    for sizes in ((2, 3), (1, 8)):
        given = np.random.default_rng(0).normal(size=(*sizes, 4)).astype(np.float32)
        np.save(tmp_path / "x.npy", given)
        to = tmp_path / "results" / str(sizes)
        done = run(program, f"x={tmp_path}/x.npy", "--to", str(to))
        assert done.returncode == 0, done.stderr
        np.testing.assert_allclose(np.load(to / f"{y.name}.npy"), function(lm.asarray(given)).numpy(), 1e-6)


def damaged(folder: Path, kind: str) -> np.ndarray | bytes:
    np.save(folder / "good.npy", np.zeros((1, 1, 6, 6), np.float32))
    good = (folder / "good.npy").read_bytes()
    return {
        "cut off": good[:-5],
        "no array": b"PK\x03\x04" + good,
        "empty": b"",
        "header that does not end": good.replace(b"6, 6), }", b"6, 6  , "),
        "huge shape": good.replace(b"(1, 1, 6, 6)", b"(9999999999999999, 9999, 6, 6)"),
        "negative size": good.replace(b"(1, 1, 6, 6)", b"(1, 1,-6, 6)"),
        "columns": np.asfortranarray(np.zeros((2, 1, 6, 6), np.float32)),
        "big-endian": np.zeros((1, 1, 6, 6), ">f4"),
        "objects": np.zeros((1, 1, 6, 6), "U3"),
        "fields": np.zeros((1, 1, 6, 6), [("a", "f4")]),
        "another dtype": np.zeros((1, 1, 6, 6)),
        "another shape": np.zeros((1, 1, 6, 5), np.float32),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("cut off", "bytes of elements, not 144"),
        ("no array", "is no array of numpy"),
        ("empty", "is cut off"),
        ("header that does not end", "is no array of numpy"),
        ("huge shape", "is larger than any tensor"),
        ("negative size", "its shape has no sizes"),
        ("columns", "ascontiguousarray"),
        ("big-endian", "of the kind '>f4'"),
        ("objects", "of the kind '<U3'"),
        ("fields", "several fields"),
        ("another dtype", "'x' is float32[-1, 1, 6, 6], got"),
        ("another shape", "'x' is float32[-1, 1, 6, 6], got"),
    ],
)
def test_files_that_are_wrong(exported: Any, tmp_path: Path, kind: str, text: str) -> None:
    contents = damaged(tmp_path, kind)
    if isinstance(contents, bytes):
        (tmp_path / "x.npy").write_bytes(contents)
    else:
        np.save(tmp_path / "x.npy", contents)
    np.save(tmp_path / "ids.npy", np.zeros(1, np.int64))
    done = run(exported[0], f"x={tmp_path}/x.npy", f"ids={tmp_path}/ids.npy", "--to", str(tmp_path))
    assert done.returncode == 1 and text in done.stderr, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("t")) == []


def test_arguments_that_are_wrong(exported: Any, tmp_path: Path) -> None:
    program = exported[0]
    for arguments, text in [
        ((), "the input 'x' is not given\nusage:"),
        (("y=1.npy",), "'y=1.npy' is no input\nusage:"),
        (("--to",), "--to wants a path"),
        (("x=missing.npy",), "missing.npy' cannot be opened"),
        (("--weights", str(tmp_path)), "0.npy' cannot be opened"),
    ]:
        done = run(program, *arguments)
        assert done.returncode == 1 and text in done.stderr, (arguments, done.stderr)


def test_functions_in_python_are_refused(tmp_path: Path) -> None:
    class Twice(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: lm.Tensor) -> lm.Tensor:
            return grad * 2

    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [3])
    with lm.graph.recording(graph):
        y = Twice.apply(x)
    with pytest.raises(ValueError, match=r"the node 'Twice' \(test_cpp_programs.py:\d+\) calls Python"):
        graph.save_cpp(tmp_path / "program", [y])
    assert not (tmp_path / "program").exists()
