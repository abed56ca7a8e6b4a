"""Operators and tests in the manner of those that OneFlow and PyTorch have of their own, run through the fronts.

The programs are in the folder samples, with unittest as there. They are not collected here: without the front, there is
nothing under the names that they import.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lamella import sysconfig
from lamella.compat import HEADERS
from support import extensions

SAMPLES = Path(__file__).parent / "samples"


def run(program, folder, **env):
    command = [sys.executable, "-m", "lamella.compat", str(SAMPLES / program)]
    env = extensions.environment() | env
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env, timeout=600)


def compiled(folder, name):
    extensions.need_compiler()
    target = folder / f"{name}.so"
    command = [os.environ.get("CXX", "g++"), "-O0", "-shared", "-fPIC", str(SAMPLES / f"{name}.cpp"), f"-I{HEADERS}"]
    command += [*sysconfig.get_compile_flags(), "-o", str(target), *sysconfig.get_link_flags()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def test_operators_of_oneflow(tmp_path):
    done = run("test_user_ops.py", tmp_path, SAMPLES=str(compiled(tmp_path, "user_ops")))
    assert done.returncode == 0, done.stderr
    assert "OK (skipped=1)" in done.stderr and "it needs 2 nodes" in done.stderr


@pytest.mark.projects
def test_extensions_of_pytorch(tmp_path):
    extensions.need_compiler()
    source = SAMPLES / "extension.cpp"
    done = run("test_extension.py", tmp_path, SAMPLES=str(source), SAMPLES_BUILD=str(tmp_path / "build"))
    assert done.returncode == 0, done.stderr
    assert "OK (skipped=1)" in done.stderr
