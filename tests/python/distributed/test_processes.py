"""Global tensors on processes of their own, joined by the library's process groups."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lamella import distributed

TESTS = Path(__file__).resolve().parents[1]


def test_on_four_processes() -> None:
    if not distributed.is_available("gloo"):
        pytest.skip("this build has no Gloo")
    script = Path(__file__).with_name("processes.py")
    paths = [str(Path(distributed.__file__).parents[2]), str(TESTS)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "LAMELLA_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "lamella.distributed.launch", "-n", "4", str(script)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.count("all is well") == 4
