"""Libraries compiled from a few sources, kept by content."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lamella.compat import HEADERS

__all__ = ["library"]


def library(name: str, sources: Sequence[Path]) -> str:
    """The shared library of C++ sources that use Lamella; compiled where the cache has none of that content.

    The cache is the folder ``LAMELLA_EXTENSIONS_DIR``, by default ``lamella/user_ops`` in the user's cache. Several
    processes may ask at once: one compiles, and the others wait.

    Raises:
        RuntimeError: the compiler failed; what it said is in the message.
    """
    from lamella import sysconfig  # not above: it is a program too

    compiler = os.environ.get("CXX", "g++")
    flags = [
        "-O2",
        "-fPIC",
        "-shared",
        f"-I{HEADERS}",
        *sysconfig.get_compile_flags(),
    ]
    digest = hashlib.sha256()
    for text in (compiler, *flags, *(path.name for path in sources)):
        digest.update(text.encode() + b"\0")
    digest.update(_stamp(Path(sysconfig.get_lib())))
    for path in sources:
        digest.update(path.read_bytes())
    folder = _cache()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name}-{digest.hexdigest()[:20]}.so"
    with open(folder / f"{target.stem}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the system drops it where the process dies
        if not target.exists():
            _compile([compiler, *map(str, sources), *flags], sysconfig.get_link_flags(), target, name)
    return str(target)


def _compile(command: list[str], link_flags: list[str], target: Path, name: str) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / target.name
        line = [*command, "-o", str(made), *link_flags]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"[custom_op_module] {name} does not compile: {' '.join(line)}\n{done.stderr.strip()}")
        os.replace(made, target)


def _stamp(folder: Path) -> bytes:
    """Tells one installed Lamella from another: headers belong to the library beside them."""
    state = (folder / "liblamella.so").stat()
    return f"{state.st_size} {state.st_mtime_ns}".encode()


def _cache() -> Path:
    chosen = os.environ.get("LAMELLA_EXTENSIONS_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "lamella" / "user_ops"
