"""Compilation of joined operators by the system's C++ compiler."""

from __future__ import annotations

import os
from typing import NamedTuple

from lamella import _C


class NativeStatus(NamedTuple):
    """Settings of compilation, and its counts and failures since the process began."""

    #: "off", "background" or "wait".
    mode: str
    #: Path and version of the compiler; empty before it was needed.
    compiler: str
    #: Folder of compiled programs.
    cache: str
    #: Time limit of the compiler.
    seconds: float
    #: Number of programs that were compiled.
    compiled: int
    #: Number of programs that were found compiled.
    loaded: int
    #: Number of programs that are being compiled.
    waiting: int
    #: Failures, each kind once; a RuntimeWarning tells each too.
    problems: list[str]
    #: True if a problem ended compiling. Fused programs then run as before, block by block.
    gave_up: bool


def native_status(*, wait: bool = False) -> NativeStatus:
    """Returns how joined operators are compiled, and what has happened so far.

    Args:
        wait: wait until what is being compiled is done.
    """
    if wait:
        _C._wait_for_native()
    mode, _, _, seconds = _C._native_settings()
    compiler, cache, compiled, loaded, waiting, problems, gave_up = _C._native_status()
    return NativeStatus(mode, compiler, cache, seconds, compiled, loaded, waiting, problems, gave_up)


def set_native(
    mode: str | None = None,
    *,
    compiler: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    seconds: float | None = None,
) -> None:
    """Sets how joined operators are compiled, for the whole process. What is None stays as it is.

    Problems of the past are forgotten, and what failed is tried again. What is compiled stays in use, unless the mode
    is "off".

    Args:
        mode: "background" compiles what has run often enough, or on large tensors, in a thread; "wait" compiles all
            before it runs; "off" compiles nothing.
        compiler: path or name of a C++ compiler that understands g++'s options; "" for the first of ``c++``, ``g++``
            and ``clang++`` that is found.
        cache: folder of compiled programs; "" for ``$LAMELLA_CACHE``, or ``lamella`` in the user's cache.
        seconds: how long the compiler may take.

    Raises:
        ValueError: there is no such mode, or ``seconds`` is not between 0 and 3600.
    """
    old_mode, old_compiler, old_cache, old_seconds = _C._native_settings()
    _C._set_native_settings(
        old_mode if mode is None else mode,
        old_compiler if compiler is None else os.fspath(compiler),
        old_cache if cache is None else os.path.abspath(cache) if cache else "",
        old_seconds if seconds is None else seconds,
    )
