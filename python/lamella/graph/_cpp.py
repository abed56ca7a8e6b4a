"""Writes a graph as a C++ program that runs it with nothing but Lamella's library."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import lamella as lm

if TYPE_CHECKING:
    from ._graph import Graph
    from ._symbol import Symbol

_MAIN = """\
// The graph "{name}". Reads inputs and writes results as files in numpy's format NPY; run it without arguments for
// its usage.

#include <lamella/program.h>

int main(int argc, char** argv) {{
  const lamella::ExportedProgram program{{
      .name = {name_literal},
      .text = R"{delimiter}({text}){delimiter}",
      .weights = {{{weights}}},
      .inputs = {{{inputs}}},
      .outputs = {{{outputs}}},
  }};
  return lamella::run_program(program, argc, argv);
}}
"""

_CMAKE = """\
cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES CXX)

find_package(lamella REQUIRED)
add_executable(program main.cc)
target_link_libraries(program PRIVATE lamella::lamella)
"""


def _literal(text: str) -> str:
    """Returns a C++ string literal."""
    plain = {chr(code) for code in range(32, 127)} - {'"', "\\"}
    escaped = "".join(c if c in plain else "".join(f"\\{byte:03o}" for byte in c.encode()) for c in text)
    return f'"{escaped}"'


def save_cpp(graph: Graph, folder: str | os.PathLike[str], fetches: Sequence[Symbol | str]) -> None:
    """Implements :meth:`Graph.save_cpp`."""
    part = graph.inference().prune(fetches).compact(fetches)
    functions = [node for node in part.nodes if node.kind != "operator"]
    if functions:
        raise ValueError(
            f"[save_cpp] the node {functions[0].op!r} ({functions[0].where}) calls Python: only operators have a place "
            "in a C++ program; register the function as an operator of a library in C++"
        )
    names = [x if isinstance(x, str) else x.name for x in fetches]
    path = Path(folder)
    (path / "weights").mkdir(parents=True, exist_ok=True)
    weights = []
    for i, (name, tensor) in enumerate(part.captured.items()):
        array = tensor.detach()
        bfloat16 = array.dtype == lm.bfloat16
        bits = _bits(array) if bfloat16 else array.numpy()
        np.save(path / "weights" / f"{i}.npy", np.ascontiguousarray(bits).reshape(bits.shape))
        weights.append(f"{{{_literal(name)}, {_literal(f'{i}.npy')}, {str(bfloat16).lower()}}}")
    outputs = []
    for i, name in enumerate(names):
        file = f"{name}.npy" if re.fullmatch(r"\w[\w.-]*", name, re.ASCII) else f"output{i}.npy"
        outputs.append(f"{{{_literal(name)}, {_literal(file)}}}")
    text = part.text()
    delimiter = "graph"
    while f"){delimiter}" in text:
        delimiter += "_"
    source = _MAIN.format(
        name=part.name.replace("\n", " "),
        name_literal=_literal(part.name),
        delimiter=delimiter,
        text=text,
        weights=", ".join(weights),
        inputs=", ".join(_literal(x.name) for x in part.inputs),
        outputs=", ".join(outputs),
    )
    (path / "main.cc").write_text(source, "utf-8")
    (path / "CMakeLists.txt").write_text(_CMAKE, "utf-8")


def _bits(x: lm.Tensor) -> np.ndarray:
    """Returns the bits of bfloat16 numbers: the upper half of those of float32."""
    halves: np.ndarray = np.asarray(x.astype(lm.float32).numpy()).view(np.uint32) >> 16
    return halves.astype(np.uint16)
