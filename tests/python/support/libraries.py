"""Shared libraries of registered operators, compiled for a test."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import lamella.sysconfig


def compile_library(folder: Path, name: str, source: str, *flags: str) -> Path:
    """The library that `source` gives, linked with Lamella."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    path = folder / f"{name}.cc"
    path.write_text("#include <lamella/library.h>\nusing lamella::Tensor;\n#line 1\n" + source)
    target = folder / f"lib{name}.so"
    library = lamella.sysconfig.get_lib()
    command = [compiler, "-std=c++20", "-O0", "-shared", "-fPIC"]
    command += [*(f"-I{path}" for path in lamella.sysconfig.get_include()), *flags, str(path), "-o", str(target)]
    command += [f"-L{library}", "-llamella", f"-Wl,-rpath,{library}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target
