"""The names of the packages: loaded when they are asked for, known to type checkers, and stable in pickles."""

from __future__ import annotations

import ast
import importlib
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lamella as lm

PACKAGE = Path(lm.__file__).parent


@pytest.mark.parametrize("package", ["lamella", "lamella.autograd", "lamella.nn"])
def test_type_checkers_see_every_name_that_is_loaded_later(package: str) -> None:
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname: node.module for node in block.body for alias in node.names}
    (table,) = (node for node in ast.walk(tree) if isinstance(node, ast.Dict))
    homes = ast.literal_eval(table)
    assert seen.keys() == {name for home, names in homes.items() for name in names or [home]}
    for name, home in seen.items():
        assert name in module.__all__
        loaded = importlib.import_module(f"{package}.{home or name}")
        assert getattr(module, name) is (getattr(loaded, name) if home else loaded)


def test_all_that_is_listed_is_there() -> None:
    parts = ("autograd", "linalg", "library", "nn", "nn.functional", "nn.utils")
    for package in ("lamella", *(f"lamella.{part}" for part in parts)):
        module = importlib.import_module(package)
        assert len(set(module.__all__)) == len(module.__all__)
        assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_importing_the_package_loads_what_it_needs_alone() -> None:
    code = "import lamella, sys; print(*sorted(name for name in sys.modules if name.startswith('lamella.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    rooms = {"lamella.amp", "lamella.library", "lamella.linalg", "lamella.nn", "lamella.optim"}
    assert "lamella.autograd" in loaded and not rooms & set(loaded)


def test_a_module_that_one_package_uses_is_in_it() -> None:
    for module in PACKAGE.glob("_*.py"):
        if module.stem == "__init__":
            continue
        pattern = re.compile(rf"^\s*from \.+{module.stem} import|^\s*from \.+ import .*\b{module.stem}\b", re.MULTILINE)
        users = {
            path.relative_to(PACKAGE).parts[0]
            for path in PACKAGE.rglob("*.py")
            if pattern.search(path.read_text("utf-8"))
        }
        assert len(users) != 1 or users == {"__init__.py"}, (module.stem, users)


def test_pickles_name_the_public_module() -> None:
    result = lm.linalg.qr(lm.eye(2))
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is lm.linalg.QRResult and again.Q.tolist() == result.Q.tolist()
    assert type(result).__module__ == "lamella.linalg" and b"_results" not in pickle.dumps(result)
