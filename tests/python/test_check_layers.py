"""cmake/check_layers.py finds includes that go against the layers and the rooms of the engine, and cycles of stems."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_layers", ROOT / "cmake" / "check_layers.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def findings(check: ModuleType, tmp_path: Path) -> Callable[[str, str], list[str]]:
    """What is found in a tree that is right but for one source with one include."""

    def find(source: str, include: str) -> list[str]:
        for layer in check.FORBIDDEN:
            (tmp_path / layer).mkdir(parents=True, exist_ok=True)
        for room in ("core", "autograd/graph", "autograd/saved"):
            (tmp_path / "engine" / room).mkdir(parents=True, exist_ok=True)
            (tmp_path / "engine" / room / "part.h").write_text("#pragma once\n")
        for layer in ("ops/cpu", "ops/simd", "ops/reduce", "ops/reduce/cpu"):
            (tmp_path / layer).mkdir(parents=True, exist_ok=True)
            (tmp_path / layer / "part.h").write_text('#include "engine/core/part.h"\n')
        path = tmp_path / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#pragma once\n\n#include <{include}>\n")
        return check.violations(tmp_path)

    return find


def test_this_tree_is_right(check: ModuleType) -> None:
    assert check.violations(ROOT) == []


@pytest.mark.parametrize(
    ("source", "include"),
    [
        ("engine/autograd/saved/good.cc", "engine/autograd/graph/part.h"),
        ("engine/autograd/graph/good.h", "engine/autograd/graph/part.h"),
        ("engine/autograd/graph/good.h", "vector"),
        ("ops/reduce/good.cc", "engine/autograd/saved/part.h"),
        ("ops/simd/good.h", "ops/simd/part.h"),
        ("ops/transforms/good.cc", "ops/reduce/part.h"),
        ("ops/linalg/good.cc", "ops/reduce/part.h"),
        ("ops/registration/extension_kernels.cc", "ops/linalg/part.h"),
        ("ops/runtime/good.h", "ops/cpu/part.h"),
        ("ops/api/lamella/good.h", "ops/transforms/part.h"),
    ],
)
def test_what_goes_downwards_is_right(findings: Callable[[str, str], list[str]], source: str, include: str) -> None:
    assert findings(source, include) == []


@pytest.mark.parametrize(
    ("source", "include"),
    [
        ("engine/core/bad.cc", "ops/reduce/part.h"),
        ("engine/core/bad.cc", "engine/autograd/graph/part.h"),
        ("engine/autograd/graph/bad.cc", "engine/autograd/saved/part.h"),
        ("engine/autograd/graph/bad.h", "engine/autograd/saved/part.h"),
        ("engine/autograd/graph/bad.h", "engine/runtime/part.h"),  # beside it
        ("ops/reduce/bad.cc", "Python.h"),
        ("ops/reduce/bad.cc", "ops/transforms/part.h"),
        ("ops/reduce/bad.cc", "ops/linalg/part.h"),
        ("ops/reduce/cpu/bad.cc", "ops/linalg/cpu/part.h"),
        ("ops/extension/bad.cc", "ops/linalg/part.h"),
        ("ops/runtime/bad.h", "ops/reduce/cpu/part.h"),
        ("ops/cpu/bad.cc", "engine/registry/part.h"),
        ("ops/simd/bad.h", "ops/reduce/part.h"),
    ],
)
def test_what_goes_upwards_is_found(findings: Callable[[str, str], list[str]], source: str, include: str) -> None:
    (found,) = findings(source, include)
    assert found.startswith(f"{source}:3: ")
    assert include in found


def test_new_room_is_found(findings: Callable[[str, str], list[str]]) -> None:
    (found,) = findings("engine/attic/new.h", "vector")
    assert "engine/attic" in found
    assert "ROOMS" in found


def test_new_family_of_operators_is_found(findings: Callable[[str, str], list[str]]) -> None:
    (found,) = findings("ops/attic/new.h", "vector")
    assert "ops/attic/new.h" in found
    assert "OPS_ROOMS" in found


@pytest.mark.parametrize(
    ("sources", "cycle"),
    [
        ({"engine/core/a.h": "engine/core/b.h", "engine/core/b.h": "engine/core/a.h"}, "a b a"),
        ({"engine/core/a.cc": "engine/core/b.h", "engine/core/b.h": "engine/core/a.h"}, "a b a"),
        ({"ops/reduce/a.cu": "ops/reduce/b.h", "ops/reduce/b.cc": "ops/reduce/a.h"}, "a b a"),
        ({"python/bindings/a.cc": "python/bindings/b.h", "python/bindings/b.cc": "python/bindings/a.h"}, "a b a"),
        ({f"ops/reduce/{x}.cc": f"ops/reduce/{y}.h" for x, y in ("ab", "bc", "ca")}, "a b c a"),
        ({f"ops/reduce/{x}.cc": f"ops/reduce/{y}.h" for x, y in ("aa", "ab", "bc")}, ""),
    ],
)
def test_cycle_of_stems_is_found(check: ModuleType, tmp_path: Path, sources: dict[str, str], cycle: str) -> None:
    for source, include in sources.items():
        path = tmp_path / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#pragma once\n\n#include "{include}"\n')
    found = list(check.stem_cycles(tmp_path))
    assert len(found) == (1 if cycle else 0)
    for text in found:
        assert all(f"{source}:3" in text for source in sources)
        shown = re.findall(r"/(\w) ?(?:->|;)", text)
        turned = cycle.split()[:-1]
        assert shown[0] == shown[-1]
        assert shown[:-1] in [turned[i:] + turned[:i] for i in range(len(turned))]


def test_each_room_of_ops_holds_a_file(check: ModuleType) -> None:
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "ops").rglob("*") if path.suffix in check.SUFFIXES]
    held = {room[1] for room in map(check.ops_room, files) if room}
    assert held == {pattern for patterns in check.OPS_ROOMS for pattern in patterns}


def test_rooms_are_in_the_docs(check: ModuleType) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = re.findall(r"^\| `(engine/[\w/]+)` \|", text, re.MULTILINE)
    assert sorted(rooms) == sorted(room for row in check.ROOMS for room in row)
    row = {room: i for i, rooms in enumerate(check.ROOMS) for room in rooms}
    assert [row[room] for room in rooms] == sorted(row[room] for room in rooms)
