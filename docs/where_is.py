"""Finds where each operator of the list lies: its formula, gradient, kernels and tests. See docs/where-is.md."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OPS = ROOT / "ops"
TESTS = ROOT / "tests" / "python" / "ops"
#: A use of the CPU's table of kernels, or of the table of a device.
USE = re.compile(r"cpu_kernels\(\)\.(\w+)|DeviceKernels::(\w+)")
#: A class that holds a derivative, a `Function` or a layer made of one, or a chain of derivatives.
LAYER = re.compile(r": (?:Function|\w*Layer)<|\bSlopeChain \w+\{")
INCLUDE = re.compile(r'^#include "(ops/\w+/\w+)\.h"$', re.MULTILINE)


@functools.cache
def text(path: Path) -> str:
    """Returns a file's text, empty where there is none."""
    return path.read_text("utf-8") if path.exists() else ""


@functools.cache
def headers() -> dict[str, Path]:
    """Returns the header of each operator by the operator's name."""
    found: dict[str, Path] = {}
    for path in sorted(OPS.rglob("*.h")):
        for match in re.finditer(r'\.name\s*=\s*"(\w+)"', text(path)):
            found[match[1]] = path
        # Operators of 1, 2 and 3 dimensions are a template, with a list of names.
        for match in re.finditer(r"\bkNames\w*\[\d*\] = \{([^}]+)\}", text(path)):
            found |= dict.fromkeys(re.findall(r'"(\w+)"', match[1]), path)
    return found


@functools.cache
def sources(stem: Path) -> tuple[Path, ...]:
    """Returns the .cc files of a stem: its own, those named after it, and those of its family that they include."""
    found: set[Path] = set()
    waiting = [stem, *(path.with_suffix("") for path in stem.parent.glob(f"{stem.name}_*.cc"))]
    while waiting:
        source = waiting.pop().with_suffix(".cc")
        if source in found or source.parent != stem.parent or not source.exists():
            continue
        found.add(source)
        for suffix in (".h", ".cc"):
            waiting += [ROOT / name for name in INCLUDE.findall(text(source.with_suffix(suffix)))]
    return tuple(sorted(found))


@functools.cache
def kernels(stem: Path) -> tuple[str, ...]:
    """Returns the kernel files that a stem of ops calls, or their folders where they are many."""
    family = stem.parent
    calls = {a or b for source in sources(stem) for a, b in USE.findall(text(source))}
    calls = {family.name if call == "index" else call for call in calls} | {stem.name}
    files: dict[Path, list[Path]] = {}
    for path in [*family.glob("cpu/*.cc"), *family.glob("cuda/*.c[cu]")]:
        if family.name in calls or any(path.stem == call or path.stem.startswith(f"{call}_") for call in calls):
            files.setdefault(path.parent, []).append(path)
    few = 3
    names = [paths if len(paths) <= few else [folder] for folder, paths in sorted(files.items())]
    libraries = [path for path in sources(stem) if path.stem.endswith("_onednn") or path.stem == "lapack"]
    return tuple(within(family, path) for path in [*(path for paths in names for path in sorted(paths)), *libraries])


def within(folder: Path, path: Path) -> str:
    """Returns a path as seen from a folder that it is in, and from the root of the repository where it is elsewhere."""
    return path.relative_to(folder if path.is_relative_to(folder) else ROOT).as_posix()


def gradient(info: dict[str, Any], header: Path) -> str:
    """Returns where the derivative of an operator is told."""
    if info["elementwise"]:
        return "with the formula" if any(info["differentiable"]) else "none"
    stem = header.with_suffix("")
    own = [source for source in sources(stem) if source.stem.startswith(stem.name) and LAYER.search(text(source))]
    return ", ".join(within(header.parent, source) for source in own) or "composed, or none"


def tests(header: Path) -> str:
    """Returns the file or the folder of an operator's tests; that of the tables for all operators if it has neither."""
    family, stem = header.parent.name, header.stem
    places = (TESTS / family / f"test_{stem}.py", TESTS / family, ROOT / "tests" / "cpp" / "ops" / family, TESTS)
    return next(place for place in places if place.exists()).relative_to(ROOT).as_posix()


def table() -> str:
    """Returns the rows of docs/where-is.md, by the operators' names."""
    operators: list[dict[str, Any]] = importlib.import_module("lamella._C").operators()
    rows = ["| operator | formula | gradient | kernels | tests |", "|---|---|---|---|---|"]
    for info in sorted(operators, key=lambda each: each["name"]):
        # Operators of several ranks, as conv2d, are one template.
        header = headers().get(info["name"]) or headers().get(re.sub(r"\dd", "", info["name"]))
        if header is None:
            header = next(path for path in sorted((OPS / "nn").glob("*.h")) if info["name"] in text(path))
        if info["elementwise"]:
            loops = OPS / "elementwise"
            files = ", ".join(within(header.parent, loops / device / "kernel.h") for device in ("cpu", "cuda"))
        else:
            files = ", ".join(kernels(header.with_suffix(""))) or "those of the operators it is composed of"
        place = header.relative_to(ROOT).as_posix()
        rows.append(f"| `{info['name']}` | {place} | {gradient(info, header)} | {files} | {tests(header)} |")
    return "\n".join(rows)
