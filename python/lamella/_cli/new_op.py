"""``lamella new-op``."""

from __future__ import annotations

import keyword
import re
import shlex
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


def new_op(name: str, folder: Path | None) -> int:
    """Writes a project of an operator, with its kernel, gradient, package and tests."""
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UsageError(f"{name!r} cannot be a name: small letters, digits and underscores, no keyword of Python")
    if name in ("lamella", "torch", "numpy", "test", "tests", "csrc") or name in sys.stdlib_module_names:
        raise UsageError(f"{name!r} is the name of another package or folder")
    folder = folder or Path(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{str(folder)!r} exists already, and is not an empty folder")
    try:
        for source, place in _PLACES.items():
            path = folder / place.replace("@name@", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text((_TEMPLATE / source).read_text(encoding="utf-8").replace("@name@", name), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{str(folder)!r} cannot be written: {error.strerror}") from error
    print(f"{folder}: an operator {name}(x, alpha), its gradient and its tests. Build and test it:")
    print(f"  cd {shlex.quote(str(folder))} && pip install --no-build-isolation . && pytest tests")
    return 0
