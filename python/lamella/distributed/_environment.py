"""Reads from the environment the place of this process among the others, and where they meet."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

#: Variables of those who start processes: the rank, the number of processes, and both on this machine. The first row
#: whose first two are there counts. Slurm sets the last of its four for processes that srun started alone.
_STARTERS = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    "Open MPI": (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    "PMI": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    "Slurm": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"),
}

#: Ports at which the steps of Slurm's jobs meet: below those that systems give to whoever asks for any.
_FIRST_PORT, _PORTS = 20_000, 10_000


@dataclass(frozen=True)
class Place:
    """The place of a process among those of its program.

    Attributes:
        rank: Its number, from 0.
        world_size: Number of processes.
        local_rank: Its number among those of this machine.
        local_world_size: Number of processes of this machine; None where it is not known.
        starter: Who has started it, a name of the table above; "" for a process on its own.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int | None = 1
    starter: str = ""


def place(environ: Mapping[str, str] = os.environ) -> Place:
    """Returns the place that the environment gives this process, a program on its own where it says nothing.

    Raises:
        ValueError: A variable is not a number, or the rank is not less than the number of processes.
    """
    for starter, (rank, size, local_rank, local_size) in _STARTERS.items():
        if rank not in environ or size not in environ:
            continue
        found = Place(
            _number(environ, rank),
            _number(environ, size),
            _number(environ, local_rank) if local_rank in environ else 0,
            _first_number(environ.get(local_size, "")),
            starter,
        )
        if not 0 <= found.rank < found.world_size:
            raise ValueError(
                f"[init_process_group] the environment has {rank}={found.rank} and {size}={found.world_size}: a rank "
                f"is at least 0 and less than the number of processes"
            )
        return found
    return Place()


def meeting_point(where: Place, environ: Mapping[str, str] = os.environ) -> str:
    """Returns the address at which the processes meet: ``file:///folder`` or ``http://host:port``.

    Raises:
        RuntimeError: The environment names none.
    """
    if store := environ.get("LAMELLA_DISTRIBUTED_STORE"):
        return store
    folder = machine_folder(where, environ)
    # torchrun serves that port itself, in a language of its own.
    is_taken = environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    if "MASTER_ADDR" in environ and "MASTER_PORT" in environ and not (is_taken and folder):
        host, port = environ["MASTER_ADDR"], environ["MASTER_PORT"]
        if is_taken:
            port = str(_number(environ, "MASTER_PORT") + 1)
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if folder:
        return f"file://{folder}"
    if where.starter == "Slurm" and "SLURM_JOB_ID" in environ:
        return _slurm_address(where, environ)
    raise RuntimeError(
        f"[init_process_group] {where.world_size} processes have no place to meet: start them by "
        f"`python -m lamella.distributed.launch`, set MASTER_ADDR and MASTER_PORT, or give "
        f"init_method='file:///folder', a folder that all of them see"
    )


def machine_folder(where: Place, environ: Mapping[str, str] = os.environ) -> str:
    """Returns a folder that a program's processes on one machine share, and that goes when it ends; "" for none."""
    if where.local_world_size != where.world_size:
        return ""
    # mpirun makes a folder for each job, and torchrun one for each attempt, in which each process has its own.
    session = environ.get("PMIX_SERVER_TMPDIR", "")
    if error_file := environ.get("TORCHELASTIC_ERROR_FILE", ""):
        session = os.path.dirname(os.path.dirname(error_file))
    return os.path.join(session, "lamella") if os.path.isdir(session) else ""


def _slurm_address(where: Place, environ: Mapping[str, str]) -> str:
    """Returns an address on the first machine of a step of Slurm's, of a port that follows from the step's number."""
    job, step = _number(environ, "SLURM_JOB_ID"), environ.get("SLURM_STEP_ID", "0")
    port = _FIRST_PORT + (job * 31 + (int(step) if step.isdigit() else 0)) % _PORTS
    if where.local_world_size == where.world_size:
        return f"http://127.0.0.1:{port}"
    # "node[07-12,15]-a,other3" begins with node07-a.
    found = re.match(r"([^,\[]+)(?:\[(\d+)[^\]]*\]([^,]*))?", environ.get("SLURM_STEP_NODELIST", ""))
    if found is None:
        raise RuntimeError("[init_process_group] Slurm names no machines (SLURM_STEP_NODELIST): set MASTER_ADDR")
    return f"http://{''.join(part or '' for part in found.groups())}:{port}"


def _number(environ: Mapping[str, str], name: str) -> int:
    try:
        return int(environ[name])
    except ValueError:
        raise ValueError(
            f"[init_process_group] the environment has {name}={environ[name]!r}, which is no number"
        ) from None


def _first_number(text: str) -> int | None:
    """Returns the number of "4" or of "4(x2)", Slurm's list of nodes that have equally many; None for other texts."""
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    return int(digits) if digits and "," not in text else None
