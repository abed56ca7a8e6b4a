"""Runs a program of the folder `programs` on several processes."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lamella as lm
import lamella.distributed as dist

PROGRAMS = Path(__file__).parent / "programs"
#: Not resolved: in a package of links, the libraries lie beside the links.
PACKAGES = Path(lm.__file__).absolute().parents[1]
TESTS = Path(__file__).resolve().parents[1]

needs_gloo = pytest.mark.skipif(not dist.is_available("gloo"), reason="built without Gloo")
needs_mpi = pytest.mark.skipif(
    not dist.is_available("mpi") or shutil.which("mpirun") is None, reason="built without MPI, or there is no mpirun"
)


def environment(**variables: Any) -> dict[str, str]:
    """The environment of a process, with one thread, which is enough for what the tests compute."""
    # Unbuffered, a printed line would be several writes, which those of other processes get between.
    foreign = ("LAMELLA_DISTRIBUTED", "MASTER_", "PYTHONUNBUFFERED")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(foreign)},
        "PYTHONPATH": f"{PACKAGES}{os.pathsep}{TESTS}",
        "OMP_NUM_THREADS": "1",
        **{name: str(value) for name, value in variables.items()},
    }


@dataclass
class Done:
    """What processes have said, and the exit status of the first that failed."""

    returncode: int
    stdout: str


def together(program: str, n: int, folder: Path, *arguments: Any, **variables: Any) -> Done:
    """Runs a program on processes that meet in a folder, as the launcher starts them."""
    processes = [started(program, rank, n, folder, *arguments, LOCAL_WORLD_SIZE=n, **variables) for rank in range(n)]
    try:
        said = [process.communicate(timeout=60)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return Done(next((p.returncode for p in processes if p.returncode), 0), "".join(said))


def by_mpirun(program: str, n: int, *arguments: Any, **variables: Any) -> Done:
    """Runs a program by mpirun."""
    mpirun = ["mpirun", "-n", str(n), "--allow-run-as-root", "--oversubscribe", sys.executable]
    command = [*mpirun, str(PROGRAMS / f"{program}.py"), *map(str, arguments)]
    # Copies within a machine by process_vm_readv are not allowed in every container.
    done = subprocess.run(
        command,
        env=environment(OMPI_MCA_btl_vader_single_copy_mechanism="none", **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return Done(done.returncode, done.stdout)


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


def is_free(port: int) -> bool:
    """True if nobody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
