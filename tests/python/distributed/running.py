"""Runs a program of the folder `programs` on several processes."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lamella.distributed as dist

PROGRAMS = Path(__file__).parent / "programs"
PACKAGES = Path(dist.__file__).resolve().parents[2]

needs_gloo = pytest.mark.skipif(not dist.is_available("gloo"), reason="built without Gloo")
needs_mpi = pytest.mark.skipif(
    not dist.is_available("mpi") or shutil.which("mpirun") is None, reason="built without MPI, or there is no mpirun"
)


def environment(**variables: Any) -> dict[str, str]:
    """The environment of a process, with one thread, which is enough for what the tests compute."""
    return {
        **{
            name: value for name, value in os.environ.items() if not name.startswith(("LAMELLA_DISTRIBUTED", "MASTER_"))
        },
        "PYTHONPATH": f"{PACKAGES}",
        "OMP_NUM_THREADS": "1",
        **{name: str(value) for name, value in variables.items()},
    }


def launched(program: str, n: int, *arguments: Any, options: tuple[str, ...] = (), **variables: Any) -> Any:
    """Runs a program by the launcher; the result has its exit status and what it wrote."""
    return _ran(
        [sys.executable, "-m", "lamella.distributed.launch", *options, "-n", str(n)], program, arguments, variables
    )


def by_mpirun(program: str, n: int, *arguments: Any, **variables: Any) -> Any:
    """Runs a program by mpirun."""
    mpirun = ["mpirun", "-n", str(n), "--allow-run-as-root", "--oversubscribe", sys.executable]
    return _ran(mpirun, program, arguments, {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", **variables})


def started(program: str, rank: int, n: int, folder: Path, *arguments: Any, **variables: Any) -> subprocess.Popen[str]:
    """Starts one process of a program, which nobody else looks after."""
    place = {"RANK": rank, "WORLD_SIZE": n, "LAMELLA_DISTRIBUTED_STORE": f"file://{folder}"}
    return subprocess.Popen(
        [sys.executable, PROGRAMS / f"{program}.py", *map(str, arguments)],
        env=environment(**{**place, **variables}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _ran(start: list[str], program: str, arguments: tuple[Any, ...], variables: dict[str, Any]) -> Any:
    command = [*start, str(PROGRAMS / f"{program}.py"), *map(str, arguments)]
    return subprocess.run(command, env=environment(**variables), capture_output=True, text=True, timeout=60)


def is_free(port: int) -> bool:
    """True if nobody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
