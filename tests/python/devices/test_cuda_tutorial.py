"""The programs of the tutorial of a layer with CUDA kernels print what its text says: in the emulation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lamella as lm
from support import emulation

FOLDER = Path(__file__).resolve().parents[3] / "tutorials" / "08_cuda_layer"
#: What each program prints, in the order of the text.
PRINTED = dict(
    zip(
        ("layer.py", "kernels.py"),
        re.findall(r"^```text\n(.*?)^```", (FOLDER / "README.md").read_text("utf-8"), re.M | re.S),
        strict=True,
    )
)


@pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")
@pytest.mark.parametrize("program", PRINTED)
def test_the_programs_print_what_the_text_says(program, tmp_path):
    package = Path(lm.__file__).parents[1]
    environment = {
        **os.environ,
        "CUDA_HOME": str(package / "cuda"),
        "PYTHONPATH": str(package),
        "LAMELLA_EXTENSIONS_DIR": str(tmp_path),
        "LAMELLA_CACHE": str(tmp_path),
    }
    done = subprocess.run([sys.executable, FOLDER / program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == PRINTED[program]


@pytest.mark.skipif(lm.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize("program", PRINTED)
def test_without_a_device_they_say_so(program):
    done = subprocess.run([sys.executable, FOLDER / program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "this tutorial needs a GPU, or the emulation of one: see README.md\n")
