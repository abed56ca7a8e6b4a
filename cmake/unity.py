"""Prints which source files are compiled together: a line "group file" for each that shares a compile unit.

Usage: unity.py LINES FILE...

Most of the cost of compiling a small file is that of its headers, which files that are compiled together pay once. A
unit holds files of one folder, up to LINES lines in all; small units of different folders are joined. No two files of a
unit define the same name in a namespace, as the unnamed namespaces of one unit are one; and none has a name in its
unnamed namespace that a header of another declares.
"""

from __future__ import annotations

import functools
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)
ATTRIBUTES = re.compile(r"\[\[.*?\]\]")
# A kernel's name may follow on a line of its own.
LAUNCH_BOUNDS = re.compile(r"__launch_bounds__\([^)]*\)\s*")
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?|concept) +(\w+)")
ALIAS = re.compile(r"^(?:using|namespace) +(\w+) *=")
MACRO = re.compile(r"^#define +(\w+)")
# Matches the last word before a parameter list, an initializer or a body.
VALUE = re.compile(r"([\w:~]+) *(?:\(|=|\{|;|\[)")
NO_NAME = ("}", "//", "template", "requires", "using ", "namespace ", "extern ", "static_assert", "TEST", "#")


def names(source: str, unnamed: bool = False) -> set[str]:
    """Returns the names that a formatted file defines in namespaces, or in unnamed ones alone: they begin a line."""
    found: set[str] = set()
    inside = False
    for line in LAUNCH_BOUNDS.sub("", source).splitlines():
        if not line or line[0].isspace():
            continue
        inside = line.startswith("namespace {") or (inside and line != "}  // namespace")
        line = ATTRIBUTES.sub("", line).strip()
        if line.startswith("template <") and line.count("<") == line.count(">"):
            line = line[line.rindex(">") + 1 :].strip()
        match = TYPE.match(line) or ALIAS.match(line) or MACRO.match(line)
        if match is None and not line.startswith(NO_NAME):
            match = VALUE.search(line)
        if match and (inside or not unnamed):
            found.add(match.group(1))
    return found


@functools.cache
def header(path: str) -> tuple[set[str], list[str]]:
    """Returns the names that a header of the project declares, and its includes; nothing for other headers."""
    file = ROOT / path
    if not file.exists():
        return set(), []
    source = file.read_text(encoding="utf-8")
    return names(source), INCLUDE.findall(source)


def headers(source: str) -> set[str]:
    """Returns the project's headers that a source file includes, directly or not."""
    seen: set[str] = set()
    left = INCLUDE.findall(source)
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            left += header(path)[1]
    return seen


@dataclass
class Unit:
    """Files that are compiled together, and the names that further files must not clash with."""

    files: list[str]
    lines: int
    names: set[str]
    unnamed: set[str]
    headers: set[str]

    def takes(self, other: Unit, limit: int) -> bool:
        """True if the other unit's files can be compiled with these."""
        if self.lines + other.lines > limit or self.names & other.names:
            return False
        return not (self.hidden_by(other) or other.hidden_by(self))

    def hidden_by(self, other: Unit) -> bool:
        """True if a name that only the other unit's headers declare is in an unnamed namespace of this one."""
        return any(self.unnamed & header(path)[0] for path in other.headers - self.headers)

    def add(self, other: Unit) -> None:
        """Adds the other unit's files to this one."""
        self.files += other.files
        self.lines += other.lines
        self.names |= other.names
        self.unnamed |= other.unnamed
        self.headers |= other.headers


def packed(units: list[Unit], limit: int) -> list[Unit]:
    """Returns fewer units of up to so many lines: each is added to the first one that takes it."""
    result: list[Unit] = []
    for unit in units:
        fitting = next((other for other in result if other.takes(unit, limit)), None)
        if fitting:
            fitting.add(unit)
        else:
            result.append(unit)
    return result


def main() -> None:
    """Groups the files in the order of their names, so that a new one changes few units."""
    limit, files = int(sys.argv[1]), sorted(sys.argv[2:])
    folders: dict[Path, list[Unit]] = {}
    for file in files:
        source = Path(file).read_text(encoding="utf-8")
        alone = Unit([file], source.count("\n"), names(source), names(source, unnamed=True), headers(source))
        folders.setdefault(Path(file).parent, []).append(alone)
    units = [unit for alone in folders.values() for unit in packed(alone, limit)]
    large = [unit for unit in units if unit.lines > limit // 2]
    small = [unit for unit in units if unit.lines <= limit // 2]
    counts: dict[str, int] = {}
    for unit in large + packed(small, limit):
        if len(unit.files) > 1:
            folder = "_".join(Path(unit.files[0]).parts[-3:-1])
            counts[folder] = counts.get(folder, -1) + 1
            print(*(f"{folder}_{counts[folder]} {file}" for file in unit.files), sep="\n")


if __name__ == "__main__":
    main()
