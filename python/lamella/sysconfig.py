"""Tells a build where Lamella is: ``python -m lamella.sysconfig --cflags --ldflags``, or ``--cmakedir``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
# Folder of headers with the names of other frameworks, such as oneflow/core/framework/framework.h. A framework's own
# headers, in a folder named by -I, come before them.
_DIALECTS = _PACKAGE / "compat" / "include"

__all__ = ["get_cmake_dir", "get_compile_flags", "get_include", "get_lib", "get_link_flags"]


def get_cmake_dir() -> str:
    """Returns the folder of the CMake package, for ``-Dlamella_DIR=``; RuntimeError if this installation has none."""
    folder = _PACKAGE / "cmake"
    if not (folder / "lamella-config.cmake").exists():
        raise RuntimeError(f"[sysconfig] {folder} holds no CMake package")
    return str(folder)


def get_include() -> list[str]:
    """Returns the folders in which a compiler looks for ``<lamella/lamella.h>`` and what it includes."""
    installed = _PACKAGE / "include"
    if installed.exists():
        return [str(installed), str(installed / "lamella")]
    tree = _PACKAGE.parent.parent  # a source tree that is used in place
    return [str(tree), str(tree / "ops" / "api"), str(tree / "python" / "include")]


def get_lib() -> str:
    """Returns the folder of ``liblamella.so``."""
    return str(_PACKAGE)


def get_compile_flags() -> list[str]:
    """Returns the flags of g++, clang++ and nvcc for the headers; the last is the C++ standard that they need."""
    return [*_include_flags(), "-std=c++20"]


def _include_flags() -> list[str]:
    return [*(f"-I{folder}" for folder in get_include()), "-isystem", str(_DIALECTS)]


def get_link_flags() -> list[str]:
    """Returns the flags to link with the library, which a running Python has loaded already."""
    return [f"-L{get_lib()}", "-llamella"]


def main(argv: list[str]) -> int:
    """Prints what is asked for, one line each, and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m lamella.sysconfig", description=__doc__)
    parser.add_argument("--cmakedir", action="store_true", help="the folder of the CMake package")
    parser.add_argument("--include", action="store_true", help="compiler options for the headers")
    parser.add_argument("--lib", action="store_true", help="the folder of the library")
    parser.add_argument("--cflags", action="store_true", help="all options for the compiler")
    parser.add_argument("--ldflags", action="store_true", help="all options for the linker")
    options = parser.parse_args(argv)
    if not any(vars(options).values()):
        parser.error("nothing asked for")
    if options.cmakedir:
        try:
            print(get_cmake_dir())
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
    if options.include:
        print(" ".join(_include_flags()))
    if options.lib:
        print(get_lib())
    if options.cflags:
        print(" ".join(get_compile_flags()))
    if options.ldflags:
        print(" ".join(get_link_flags()))
    return 0


if __name__ == "__main__":
    from lamella._console import ended

    sys.exit(ended("lamella.sysconfig", lambda: main(sys.argv[1:])))
