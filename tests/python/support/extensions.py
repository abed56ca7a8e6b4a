"""Projects with extensions: building their wheels, and clean environments to install these in."""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import lamella

PACKAGE_HOME = Path(lamella.__file__).parents[1]


def need_compiler():
    """Skips where nothing can be compiled."""
    pytest.importorskip("pybind11", reason="extensions are compiled with pybind11")
    if not (os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("there is no C++ compiler")


def need_wheels():
    """Skips where setuptools cannot make wheels."""
    need_compiler()
    try:
        version = importlib.metadata.version("setuptools")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("setuptools is not installed")
    if tuple(map(int, version.split(".")[:2])) < (70, 1) and importlib.util.find_spec("wheel") is None:
        pytest.skip(f"setuptools {version} makes no wheels: 70.1 is the first that does by itself")


def environment():
    """This process's environment, in which lamella is found from any folder."""
    rest = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE_HOME), *rest])}
    env.pop("PIP_NO_BUILD_ISOLATION", None)
    return env


def run(*command, cwd, python=sys.executable):
    """Runs Python with arguments in a folder; returns the finished process."""
    line = [str(python), *map(str, command)]
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd, env=environment(), timeout=900)


def succeed(*command, cwd, python=sys.executable):
    """The same where it has to succeed; returns what it printed."""
    done = run(*command, cwd=cwd, python=python)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def clean_environment(folder):
    """A virtual environment with nothing in it; returns its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    return Path(folder) / "bin" / "python"


def install(wheel, python):
    """Installs a wheel, and nothing that it needs, with this process's pip."""
    succeed("-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "-q", wheel, cwd="/")


def write(folder, files):
    """Writes files by their paths, and returns the folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder
