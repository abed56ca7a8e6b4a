"""Checks that includes follow the layers: python sees ops and engine, ops sees engine, engine sees neither.

Run from the root of the tree. Prints each include that goes the wrong way, and exits with 1 if there is one.
"""

import re
import sys
from pathlib import Path

FORBIDDEN = {
    "engine": ("ops/", "python/", "lamella/", "pybind11/", "Python.h"),
    "ops": ("python/", "lamella/python.h", "pybind11/", "Python.h"),
    # Kernels are compiled for instruction sets that the machine may lack, and share no symbol with the library.
    "ops/cpu": ("engine/autograd/", "engine/registry/", "engine/runtime/"),
    "ops/*/cpu": ("engine/autograd/", "engine/registry/", "engine/runtime/"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}


def violations(root: Path) -> list[str]:
    """Returns the includes under `root` that violate the layers, one line of text each."""
    found = []
    for layer, forbidden in FORBIDDEN.items():
        files = sorted(path for folder in root.glob(layer) for path in folder.rglob("*") if path.suffix in SUFFIXES)
        if not files:
            found.append(f"{layer}: no sources found under {root.resolve()}")
        for path in files:
            text = path.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                if match[1].startswith(forbidden):
                    line = text.count("\n", 0, match.start(1)) + 1
                    found.append(f"{path.relative_to(root)}:{line}: {layer} may not include {match[1]}")
    return found


def main() -> int:
    """Reports on the tree in the current folder."""
    found = violations(Path())
    print("\n".join(found) if found else "The includes follow the layers.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
