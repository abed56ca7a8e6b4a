"""Checks that a comment can be read alone: that it does not begin with a word that leans on what stands before it.

Run from the root of the tree. It reads the comments of declarations (`///`) and Python's docstrings, prints each that
begins with one of LEANING, and exits with 1 if there is one.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

LEANING = ("What", "The same", "Of", "Whether", "Those", "How", "Such", "Its", "And", "But", "So")
FOLDERS = (
    "engine",
    "ops",
    "python",
    "cmake",
    "benchmarks",
    "docs",
    "tests/cpp",
    "tests/cuda",
    "tests/device",
    "tutorials",
)
BEGINNING = re.compile(rf"({'|'.join(LEANING)})\b")
#: A comment of a declaration, before it or behind it.
COMMENT = re.compile(r"(?:^|\s)///<?(?: (.*))?$")
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the line number and the first line of each comment in a C++ file."""
    within = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = COMMENT.search(line)
        if match and not within:
            yield number, match[1] or ""
        within = bool(match) and line.lstrip().startswith("///")


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the line number and the first line of each docstring in a Python file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text.splitlines()[0]


def leaning(folder: Path) -> list[str]:
    """Returns the comments under a folder that begin with one of LEANING, one line of text each."""
    found = []
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in path.parts):  # an environment of the benchmarks
            continue
        read = comments if path.suffix in SUFFIXES else docstrings if path.suffix == ".py" else None
        if read:
            found += [f"{path}:{line}: {text}" for line, text in read(path) if BEGINNING.match(text)]
    return found


def main() -> int:
    """Reports on the tree in the current folder."""
    found = [line for folder in FOLDERS for line in leaning(Path(folder))]
    if found:
        print("\n".join(found))
        print(f"{len(found)} comments lean on what stands before them: see CONTRIBUTING.md")
        return 1
    print("The comments can be read alone.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
