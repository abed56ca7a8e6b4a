"""The tutorial of a layer with CUDA kernels prints what its text says: in the emulation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lamella as lm
from support import emulation

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")
def test_the_layer_is_built_checked_and_trained(tmp_path):
    folder = ROOT / "tutorials" / "08_cuda_layer"
    (printed,) = re.findall(r"^```text\n(.*?)^```", (folder / "README.md").read_text("utf-8"), re.M | re.S)
    package = Path(lm.__file__).parents[1]
    environment = {
        **os.environ,
        "CUDA_HOME": str(package / "cuda"),
        "PYTHONPATH": str(package),
        "LAMELLA_EXTENSIONS_DIR": str(tmp_path),
    }
    done = subprocess.run([sys.executable, folder / "layer.py"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed


@pytest.mark.skipif(lm.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_it_says_so():
    program = ROOT / "tutorials" / "08_cuda_layer" / "layer.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "this tutorial needs a GPU, or the emulation of one: see README.md\n")
