"""An extension finds the headers, the library and the CMake package."""

import subprocess
import sys
from pathlib import Path

import pytest

from lamella import sysconfig
from support import extensions


def test_folders_hold_what_they_say():
    assert any((Path(folder) / "lamella" / "lamella.h").exists() for folder in sysconfig.get_include())
    assert any((Path(folder) / "engine" / "core" / "tensor.h").exists() for folder in sysconfig.get_include())
    assert (Path(sysconfig.get_lib()) / "liblamella.so").exists()
    assert (Path(sysconfig.get_cmake_dir()) / "lamella-config.cmake").exists()


@pytest.mark.parametrize("option", ["--cmakedir", "--include", "--lib"])
def test_command_prints_one_line(option):
    run = subprocess.run(
        [sys.executable, "-m", "lamella.sysconfig", option], capture_output=True, text=True, check=True, timeout=60
    )
    assert len(run.stdout.splitlines()) == 1


def test_command_wants_an_option():
    run = subprocess.run([sys.executable, "-m", "lamella.sysconfig"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "nothing asked for" in run.stderr


@pytest.mark.parametrize("option", ["--cflags", "--include"])
def test_headers_are_found_by_the_names_of_other_frameworks(option, tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "lamella.sysconfig", option], capture_output=True, text=True, check=True, timeout=60
    )
    extensions.need_compiler()
    (tmp_path / "x.cc").write_text("#include <oneflow/core/framework/framework.h>\n")
    command = ["c++", "-M", "-std=c++20", *run.stdout.split(), "x.cc"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
