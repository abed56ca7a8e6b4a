"""Checks that a comment can be read alone: that it does not begin with a word that leans on what stands before it.

Run from the root of the tree. It reads the comments of declarations (`///`) and Python's docstrings, prints each that
begins with one of LEANING where its folder has more of them than LIMITS allows, and exits with 1 if there is such a
folder. A limit may fall and never rise: it is there for comments that are older than the rule.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

LEANING = ("What", "The same", "Of", "Whether", "Those", "How", "Such", "Its", "And", "But", "So")
LIMITS = {
    "engine": 0,
    "ops": 0,
    "python": 0,
    "cmake": 0,
    "benchmarks": 0,
    "docs": 0,
    "tests/cpp": 0,
    "tests/cuda": 0,
    "tests/device": 0,
    "tutorials": 0,
}
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
    failed = False
    for name, limit in LIMITS.items():
        found = leaning(Path(name))
        if len(found) > limit:
            failed = True
            print("\n".join(found))
            print(f"{name}: {len(found)} comments lean on what stands before them, {limit} may (see CONTRIBUTING.md)")
        elif len(found) < limit:
            print(f"{name}: {len(found)} comments lean on what stands before them: lower the limit of {limit}")
    if not failed:
        print("The comments can be read alone.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
