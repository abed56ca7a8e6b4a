"""Builds a shared library from sources, compiling only what is not built already.

What was built is found by content. An object belongs to the digest of its source, its command and its compiler, and
beside it lies a record of the headers that the compiler read, with their digests; a library belongs to its objects and
the linker's command. So no time stamp is looked at, and going back to an earlier text costs nothing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lamella.utils._extension import jobs, toolchain
from lamella.utils._extension.lock import folder_lock

# Number of libraries and of objects that a folder keeps, the last used ones.
_LIBRARIES_KEPT = 4
_OBJECTS_KEPT = 64

_KEY_LENGTH = 24


@dataclass
class Library:
    """Sources and options of a library to build."""

    #: File name of the library, with its suffix.
    file_name: str
    sources: list[Path]
    include_dirs: list[str] = field(default_factory=list)
    #: Options -D and -U, which come before the flags of one language.
    definitions: list[str] = field(default_factory=list)
    cxx_flags: list[str] = field(default_factory=list)
    nvcc_flags: list[str] = field(default_factory=list)
    library_dirs: list[str] = field(default_factory=list)
    #: Options of the linker, such as -l, which come after the objects.
    link_flags: list[str] = field(default_factory=list)
    #: Folder that relative sources and flags start from.
    folder: Path = field(default_factory=Path.cwd)


def build(
    library: Library, folder: Path, verbose: bool = False, keep_objects: bool = True, serial: bool = False
) -> Path:
    """Builds the library where it is not built already; processes that want the same build it once.

    Args:
        library: what to build.
        folder: where; it is made. Only one process works in it at a time.
        verbose: print the commands.
        keep_objects: keep objects for the next build.
        serial: compile one source at a time.

    Returns:
        The path of the library, in a folder of its own in ``folder``.

    Raises:
        RuntimeError: a compiler failed, with its text; a compiler is missing.
        FileNotFoundError: a source does not exist.
        ValueError: two sources are the same, or there is none.
        OSError: the folder cannot be made or written to.
    """
    sources = _checked_sources(library)
    _make_writable(folder)
    units = [_Unit(library, source, folder) for source in sources]
    with folder_lock(folder):
        for left in folder.glob(".build-*"):  # left by a process that was killed, as nobody else works here now
            shutil.rmtree(left, ignore_errors=True)
        target = _target(library, units, folder)
        if target is not None and target.exists():
            _touch(target.parent)
            return target
        _compile([unit for unit in units if not unit.is_compiled()], verbose, serial)
        target = _target(library, units, folder)
        if target is None:
            raise RuntimeError(f"[cpp_extension] files of {library.file_name} were changed while it was built")
        if not target.exists():
            _link(library, units, target, verbose)
        if not keep_objects:
            for unit in units:
                unit.object.unlink(missing_ok=True)
        _forget_old(folder)
    return target


def _make_writable(folder: Path) -> None:
    """Makes the folder of a build; OSError of the same class where that, or writing to it, is not allowed."""
    error: OSError | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as raised:
        error = raised
    else:
        if not os.access(folder, os.W_OK | os.X_OK):
            error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if error is not None:
        raise type(error)(
            f"[cpp_extension] cannot write to {folder}, where a library is to be built ({error.strerror}): set "
            "LAMELLA_EXTENSIONS_DIR to a folder that this user can write to"
        ) from None


def _checked_sources(library: Library) -> list[Path]:
    sources = [library.folder / source for source in library.sources]
    if not sources:
        raise ValueError(f"[cpp_extension] {library.file_name} has no sources")
    for source in sources:
        if not source.is_file():
            raise FileNotFoundError(f"[cpp_extension] there is no source '{source}'")
    if len(set(sources)) != len(sources):
        raise ValueError(f"[cpp_extension] a source of {library.file_name} is named twice")
    return sources


class _Unit:
    """One source, its object, and the record of what went into it."""

    def __init__(self, library: Library, source: Path, folder: Path) -> None:
        self.source = source
        self.library = library
        is_cuda = source.suffix in toolchain.CUDA_SUFFIXES
        if is_cuda:
            self.compiler = toolchain.nvcc()
            flags = [*toolchain.nvcc_flags(library.nvcc_flags), *library.definitions]
            flags += toolchain.new_enough(library.nvcc_flags)
        else:
            self.compiler = toolchain.cxx()
            flags = [*toolchain.cxx_flags(self.compiler), *library.definitions]
            flags += toolchain.new_enough(library.cxx_flags)
        includes = [f"-I{path}" for path in library.include_dirs]
        self.line = [*self.compiler.line, *flags, *includes, "-c", str(source)]
        self.key = digest(self.compiler.identity, str(library.folder), *self.line, file_digest(source) or "")
        self.object = folder / f"{source.stem}-{self.key}.o"
        self.record = folder / f"{source.stem}-{self.key}.json"

    def content(self) -> str | None:
        """Returns what distinguishes the object from others: digests of all its inputs; None if they are unknown."""
        try:
            headers: dict[str, str] = json.loads(self.record.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        for path, known in headers.items():
            if file_digest(self.library.folder / path) != known:
                return None
        return digest(self.key, *(f"{path} {known}" for path, known in headers.items()))

    def is_compiled(self) -> bool:
        return self.object.exists() and self.content() is not None


def _compile(units: list[_Unit], verbose: bool, serial: bool) -> None:
    """Compiles the units, and leaves their objects and records."""
    if not units:
        return
    with tempfile.TemporaryDirectory(prefix=".build-", dir=units[0].object.parent) as name:
        scratch = Path(name)
        commands = []
        for i, unit in enumerate(units):
            output = ["-MMD", "-MF", str(scratch / f"{i}.d"), "-o", str(scratch / f"{i}.o")]
            commands.append(jobs.Command(unit.source.name, [*unit.line, *output], unit.library.folder))
        begin = time.time_ns()

        def done(i: int) -> None:
            unit = units[i]
            headers = {}
            for path in _prerequisites((scratch / f"{i}.d").read_text("utf-8", "surrogateescape")):
                full = unit.library.folder / path
                if full == unit.source:
                    continue
                if begin <= full.stat().st_mtime_ns <= time.time_ns():
                    raise jobs.BuildError(f"{unit.source.name}: {path} was changed while it was compiled; build again")
                headers[path] = file_digest(full)
            record = scratch / f"{i}.json"
            record.write_text(json.dumps(headers), "utf-8")
            os.replace(scratch / f"{i}.o", unit.object)
            os.replace(record, unit.record)

        jobs.run_all(commands, 1 if serial else jobs.job_count(len(commands)), verbose, done)


def _target(library: Library, units: Iterable[_Unit], folder: Path) -> Path | None:
    """Returns the path of the library of these units; None if a unit has to be compiled first to know it."""
    contents = []
    for unit in units:
        content = unit.content()
        if content is None:
            return None
        contents.append(content)
    key = digest(toolchain.cxx().identity, *library.library_dirs, "", *library.link_flags, "", *contents)
    return folder / key / library.file_name


def _link(library: Library, units: Iterable[_Unit], target: Path, verbose: bool) -> None:
    with tempfile.TemporaryDirectory(prefix=".build-", dir=target.parent.parent) as name:
        made = Path(name) / target.name
        line = [*toolchain.cxx().line, "-shared", *(str(unit.object) for unit in units), "-o", str(made)]
        line += [f"-L{path}" for path in library.library_dirs] + library.link_flags
        jobs.run(jobs.Command(target.name, line, library.folder), verbose)
        target.parent.mkdir(exist_ok=True)
        os.replace(made, target)


def _prerequisites(rule: str) -> list[str]:
    """Returns the files behind the colon of a rule for make, as compilers write it."""
    text = rule.replace("\\\n", " ").partition(": ")[2]
    words: list[str] = []
    word = ""
    escaped = False
    for c in text.replace("$$", "$"):
        if escaped:
            word += c if c in " #\\" else "\\" + c
            escaped = False
        elif c == "\\":
            escaped = True
        elif c.isspace():
            if word:
                words.append(word)
            word = ""
        else:
            word += c
    return [*words, word] if word else words


def _touch(path: Path) -> None:
    with contextlib.suppress(OSError):  # the folder may be another user's: it is enough that it is readable
        os.utime(path)


def _forget_old(folder: Path) -> None:
    """Removes what was not used for longest."""

    def age(path: Path) -> float:
        return -path.stat().st_mtime

    libraries = [path for path in folder.iterdir() if len(path.name) == _KEY_LENGTH]
    for path in sorted(libraries, key=age)[_LIBRARIES_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)
    for path in sorted(folder.glob("*.json"), key=age)[_OBJECTS_KEPT:]:
        path.unlink(missing_ok=True)
        path.with_suffix(".o").unlink(missing_ok=True)


def digest(*parts: str) -> str:
    """Returns a short name for texts in an order."""
    state = hashlib.blake2b(digest_size=_KEY_LENGTH // 2)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape")
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def file_digest(path: Path) -> str | None:
    """Returns a short name for what a file holds; None where it cannot be read."""
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return None
