"""Checks that includes follow the layers and rooms: python sees ops and engine, ops sees engine, engine sees neither.

Within the engine, `ROOMS` tells which folder may include which, and `OPS_ROOMS` within ops. A stem, x.h with x.cc and
x.cu, may not include itself by way of others. Run from the root of the tree. Prints each include that goes the wrong
way and each cycle, and exits with 1 if there is one.
"""

import fnmatch
import graphlib
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

FORBIDDEN = {
    "engine": ("ops/", "python/", "lamella/", "pybind11/", "Python.h"),
    "ops": ("python/", "lamella/python.h", "pybind11/", "Python.h"),
    # Kernels are compiled for instruction sets that the machine may lack, and share no symbol with the library.
    "ops/cpu": ("engine/autograd/", "engine/registry/", "engine/runtime/"),
    "ops/*/cpu": ("engine/autograd/", "engine/registry/", "engine/runtime/"),
    # The operand types are compiled with the kernels.
    "ops/simd": ("engine/autograd/", "engine/registry/", "engine/runtime/"),
}
#: The engine's folders, lowest first. One includes itself and those in rows above its own, so there is no cycle.
ROOMS = (
    ("engine/core",),
    ("engine/drawing", "engine/runtime", "engine/distributed", "engine/autograd/graph"),
    (
        "engine/runtime/cuda",
        "engine/autograd/autocast",
        "engine/autograd/tangents",
        "engine/autograd/trace",
    ),
    ("engine/autograd/vmap",),
    ("engine/autograd/saved",),
    ("engine/autograd/backward", "engine/autograd/checkpoint"),
    ("engine/autograd/diagnosis", "engine/autograd/recording"),
    ("engine/autograd/layers",),
    ("engine/autograd/forward_mode", "engine/registry"),
    ("engine/graph",),
)
#: The rooms of ops, lowest first: folders with what is in them, and files. A file includes those of its own room and of
#: the rooms above it in this table.
OPS_ROOMS = (
    ("ops/simd",),
    ("ops/op_info.h",),
    # The tables of kernels, and the loops that families share.
    ("ops/cpu", "ops/cpu/tables"),
    ("ops/runtime",),
    ("ops/operand.*", "ops/support"),
    ("ops/cuda",),
    ("ops/extension",),
    ("ops/movement",),
    ("ops/creation",),
    ("ops/shape",),
    ("ops/elementwise",),
    ("ops/scan",),
    ("ops/reduce",),
    ("ops/index",),
    ("ops/arrange",),
    ("ops/sort",),
    ("ops/linalg",),
    ("ops/random",),
    ("ops/special",),
    ("ops/optim",),
    ("ops/nn",),
    ("ops/fft",),
    ("ops/distributed",),
    # The list of all operators, and what names the kernels and operators of all families.
    ("ops/registration",),
    ("ops/transforms", "ops/fusion"),
    ("ops/program",),
    ("ops/user_op",),
    ("ops/api",),
)
#: The folders whose stems form no cycle.
WITHOUT_CYCLES = ("engine", "ops", "python/bindings")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}


def includes(root: Path, layer: str) -> Iterator[tuple[Path, int, str]]:
    """Yields each include of the layer's sources: the file, relative to `root`, the line, and what is included."""
    for path in sorted(p for base in root.glob(layer) for p in base.rglob("*") if p.suffix in SUFFIXES):
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            yield path.relative_to(root), text.count("\n", 0, match.start(1)) + 1, match[1]


def folder(path: str | Path) -> str:
    """Returns the folder that a source lies in, as the tables above name it."""
    return Path(path).parent.as_posix()


def layer_violations(root: Path) -> Iterator[str]:
    """Yields includes that violate the layers, and layers without a source."""
    for layer, forbidden in FORBIDDEN.items():
        if not any(path.suffix in SUFFIXES for base in root.glob(layer) for path in base.rglob("*")):
            yield f"{layer}: no sources found under {root.resolve()}"
        for path, line, name in includes(root, layer):
            if name.startswith(forbidden):
                yield f"{path}:{line}: {layer} may not include {name}"


def room_violations(root: Path) -> Iterator[str]:
    """Yields includes between the engine's rooms that do not go downwards, and rooms that the table does not name."""
    row = {room: i for i, rooms in enumerate(ROOMS) for room in rooms}
    for room in sorted({folder(path) for path, _, _ in includes(root, "engine")} - set(row)):
        yield f"{room}: not among the rooms of the engine; give it a place in ROOMS (cmake/check_layers.py)"
    for path, line, name in includes(root, "engine"):
        here, there = folder(path), folder(name)
        if here in row and there in row and here != there and row[there] >= row[here]:
            yield f"{path}:{line}: {here} may not include {name}: {there} lies above it or beside it"


def ops_room(path: str) -> tuple[int, str] | None:
    """Returns the place of a file's room in OPS_ROOMS and the pattern that fits the file."""
    fits = [
        (len(pattern), row, pattern)
        for row, patterns in enumerate(OPS_ROOMS)
        for pattern in patterns
        if path.startswith(pattern + "/") or fnmatch.fnmatchcase(path, pattern)
    ]
    return max(fits)[1:] if fits else None


def ops_violations(root: Path) -> Iterator[str]:
    """Yields includes between the rooms of ops that go upwards, and files that no room holds."""
    homeless = set()
    for path, line, name in includes(root, "ops"):
        here, there = ops_room(path.as_posix()), ops_room(name)
        if here is None:
            homeless.add(path.as_posix())
        elif there is not None and there[0] > here[0]:
            yield f"{path}:{line}: {here[1]} may not include {name}: {there[1]} lies above it"
    for name in sorted(homeless):
        yield f"{name}: in no room of ops; give it a place in OPS_ROOMS (cmake/check_layers.py)"


def stem(path: str | Path) -> str:
    """Returns the name that a header shares with its sources."""
    return Path(path).with_suffix("").as_posix()


def stem_cycles(root: Path) -> Iterator[str]:
    """Yields cycles of stems that include each other, with the includes that form them."""
    edges: dict[str, dict[str, str]] = {}
    for layer in WITHOUT_CYCLES:
        for path, line, name in includes(root, layer):
            if stem(name) != stem(path):
                edges.setdefault(stem(path), {}).setdefault(stem(name), f"{path}:{line}")
    while True:
        try:
            graphlib.TopologicalSorter(edges).prepare()
            return
        except graphlib.CycleError as error:
            cycle = error.args[1][::-1]
            pairs = list(itertools.pairwise(cycle))
            places = ", ".join(edges[here][there] for here, there in pairs)
            yield f"{places}: stems form a cycle, {' -> '.join(cycle)}; move what they share into a stem below them"
            del edges[cycle[0]][cycle[1]]


def violations(root: Path) -> list[str]:
    """Returns the includes under `root` that violate the layers or the rooms, and cycles, one line of text each."""
    return [*layer_violations(root), *room_violations(root), *ops_violations(root), *stem_cycles(root)]


def main() -> int:
    """Reports on the tree in the current folder."""
    found = violations(Path())
    print("\n".join(found) if found else "The includes follow the layers and rooms, and no stems form a cycle.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
