"""torch.distributed in the manner of PyTorch's tutorials: layers in parts, models in parts, states over processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lamella.distributed as dist
from support import extensions

PROGRAMS = Path(__file__).parent / "samples" / "processes"
needs_gloo = pytest.mark.skipif(not dist.is_available("gloo"), reason="built without Gloo")


@needs_gloo
@pytest.mark.parametrize("program", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_programs_of_several_processes(program, tmp_path):
    count = 4 if program == "two_axes" else 2
    torchrun = [sys.executable, "-m", "lamella.compat", "torchrun", "--standalone", f"--nproc-per-node={count}"]
    env = extensions.environment() | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*torchrun, str(PROGRAMS / f"{program}.py"), str(tmp_path / "states")],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("checked") == count
