"""Checks that includes follow the layers and rooms: python sees ops and engine, ops sees engine, engine sees neither.

Within the engine, `ROOMS` tells which folder may include which. Run from the root of the tree. Prints each include
that goes the wrong way, and exits with 1 if there is one.
"""

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
    # The operand types are compiled with the kernels and know no operator.
    "ops/simd": ("ops/", "engine/autograd/", "engine/registry/", "engine/runtime/"),
}
#: Exceptions to FORBIDDEN: includes of a folder's own files.
OWN = {"ops/simd": ("ops/simd/",)}
#: The engine's folders, lowest first. One includes itself and those in rows above its own, so there is no cycle.
ROOMS = (
    ("engine/core",),
    ("engine/runtime", "engine/autograd/graph"),
    (
        "engine/runtime/cuda",
        "engine/autograd/autocast",
        "engine/autograd/tangents",
        "engine/autograd/trace",
        "engine/autograd/vmap",
    ),
    ("engine/autograd/saved",),
    ("engine/autograd/backward", "engine/autograd/checkpoint"),
    ("engine/autograd/diagnosis", "engine/autograd/recording"),
    ("engine/autograd/layers",),
    ("engine/autograd/forward_mode", "engine/registry"),
    ("engine/graph",),
)
#: Folders of ops that no operator includes: they are made of operators, and seen by fronts alone. (The families of
#: operators include one another as their formulas do.)
ABOVE_OPERATORS = ("ops/api/lamella", "ops/fusion", "ops/transforms", "ops/user_op")
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
            if name.startswith(forbidden) and not name.startswith(OWN.get(layer, ())):
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


def operator_violations(root: Path) -> Iterator[str]:
    """Yields includes by operators of files that are made of operators."""
    for path, line, name in includes(root, "ops"):
        here, there = folder(path), folder(name)
        if there in ABOVE_OPERATORS and here not in ABOVE_OPERATORS:
            yield f"{path}:{line}: {here} may not include {name}: {there} is made of operators"


def violations(root: Path) -> list[str]:
    """Returns the includes under `root` that violate the layers or the rooms, one line of text each."""
    return [*layer_violations(root), *room_violations(root), *operator_violations(root)]


def main() -> int:
    """Reports on the tree in the current folder."""
    found = violations(Path())
    print("\n".join(found) if found else "The includes follow the layers and rooms.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
