"""``torchrun`` and ``python -m torch.distributed.run``: Lamella's launcher by PyTorch's options."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from lamella.distributed.launch import Launcher

F = TypeVar("F", bound=Callable[..., object])


def record(fn: F, error_handler: object = None) -> F:
    """Returns the function: the launcher says which process has failed, and its traceback is printed."""
    return fn


def get_args_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line; words may be joined by ``-`` or by ``_``."""
    parser = argparse.ArgumentParser(prog="torchrun", description="Starts the processes of a program on this machine.")

    def add(name: str, *short: str, **options: object) -> None:
        parser.add_argument(*short, f"--{name}", f"--{name.replace('-', '_')}", **options)  # type: ignore[arg-type]

    add("nproc-per-node", default="1", help="number of processes; cpu or auto: of processors")
    add("nnodes", default="1", help="1: the processes are of one machine")
    add("node-rank", type=int, default=0, help="0")
    add("master-addr", default=None, help="address at which programs meet that ask for MASTER_ADDR")
    add("master-port", default=None, help="port there; a free one by default")
    add("rdzv-id", default="none", help="value of TORCHELASTIC_RUN_ID")
    add("module", "-m", action="store_true", help="the program is a module, as for python -m")
    add("no-python", action="store_true", help="the program is no script of Python")
    add("run-path", action="store_true", help="accepted; nothing changes")
    add("standalone", action="store_true", help="accepted; nothing changes")
    add("max-restarts", type=int, default=0, help="times that all processes start again after one has failed")
    for name in ("rdzv-backend", "rdzv-endpoint", "rdzv-conf", "monitor-interval", "start-method"):
        add(name, help="accepted; nothing changes")
    for name in ("role", "log-dir", "local-addr", "local-ranks-filter"):
        add(name, help="accepted; nothing changes")
    add("redirects", "-r", help="accepted; nothing changes")
    add("tee", "-t", help="begins each line of output with the rank, whatever the value")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def main(args: Sequence[str] | None = None) -> None:
    """Runs the command line; ends the process unless all processes did well."""
    parser = get_args_parser()
    given = parser.parse_args(args)
    if given.nnodes.partition(":")[0] != "1":
        parser.error(
            f"--nnodes is 1, not {given.nnodes}: on several machines, start each process with RANK, WORLD_SIZE, "
            "MASTER_ADDR and MASTER_PORT"
        )
    if given.nproc_per_node in ("cpu", "auto", "gpu"):
        count = 1 if given.nproc_per_node == "gpu" else os.cpu_count() or 1
    elif given.nproc_per_node.isdigit() and int(given.nproc_per_node):
        count = int(given.nproc_per_node)
    else:
        parser.error(f"--nproc-per-node is a number of at least 1, cpu, gpu or auto, not {given.nproc_per_node}")
    os.environ["TORCHELASTIC_RUN_ID"] = given.rdzv_id
    for name, value in (("MASTER_ADDR", given.master_addr), ("MASTER_PORT", given.master_port)):
        if value is not None:
            os.environ[name] = value
    if count > 1:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    program = [given.training_script, *given.training_script_args]
    python = [] if given.no_python else [sys.executable, "-u"]
    command = [*python, *(["-m"] if given.module else []), *program]
    status = Launcher(command, count, prefix=given.tee is not None, restarts=max(given.max_restarts, 0)).run()
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
