"""``lamella new-op``."""

from __future__ import annotations

import ast
import keyword
import re
import shlex
import shutil
import sys
from pathlib import Path

from . import UsageError

_TEMPLATE = Path(__file__).parent / "template"
#: Where the files of the template go in the project.
_PLACES = {
    "README.md": "README.md",
    "pyproject.toml": "pyproject.toml",
    "setup.txt": "setup.py",
    "csrc/kernel.txt": "csrc/@name@.cpp",
    "package/init.txt": "@name@/__init__.py",
    "tests/test.txt": "tests/test_@name@.py",
}


def _text(source: str, name: str) -> str:
    return (_TEMPLATE / source).read_text(encoding="utf-8").replace("@name@", name)


def _used() -> set[str]:
    """Returns the names that the project's own files use for something else."""
    found: set[str] = set()
    for source, place in _PLACES.items():
        if not place.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(_text(source, "_"))):
            if isinstance(node, ast.alias):
                found |= {node.asname or "", node.name.partition(".")[0]}
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.Name):
                found.add(node.id)
    return found


def _remove(new: Path | None, folder: Path) -> None:
    """Removes what was written: a folder that was not there before, or all that is in one that was empty."""
    for path in folder.iterdir() if new is None and folder.is_dir() else filter(None, [new]):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def new_op(name: str, folder: Path | None) -> int:
    """Writes a project of an operator, with its kernel, gradient, package and tests."""
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UsageError(f"{name!r} cannot be a name: small letters, digits and underscores, no keyword of Python")
    if name in ("torch", "setup", "build", "test", "tests", "csrc") or name in sys.stdlib_module_names | _used():
        raise UsageError(f"{name!r} is the name of another package or folder, or of something in the project's files")
    folder = folder or Path(name)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{str(folder)!r} exists already, and is not an empty folder")
        new = next((path for path in reversed([folder, *folder.parents]) if not path.exists()), None)
        try:
            for source, place in _PLACES.items():
                path = folder / place.replace("@name@", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(_text(source, name), encoding="utf-8")
        except BaseException:
            _remove(new, folder)
            raise
    except OSError as error:
        raise UsageError(f"{str(folder)!r} cannot be written: {error.strerror}") from error
    print(f"{folder}: an operator {name}(x, alpha), its gradient and its tests. Build and test it:")
    print(f"  cd {shlex.quote(str(folder))} && pip install --no-build-isolation . && pytest tests")
    return 0
