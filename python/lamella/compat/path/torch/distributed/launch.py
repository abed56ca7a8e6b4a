"""``python -m torch.distributed.launch``: ``torchrun`` that also gives each process ``--local-rank=N``."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence

from .run import main as _run

#: Words that leave the number to the environment.
_USE_ENV = ("--use-env", "--use_env")


def main(args: Sequence[str] | None = None) -> None:
    """Runs the command line; ends the process unless all processes did well."""
    given = list(sys.argv[1:] if args is None else args)
    if any(word in given for word in _USE_ENV):
        _run([word for word in given if word not in _USE_ENV])
        return
    at = next((i for i, word in enumerate(given) if word.endswith(".py") and not word.startswith("-")), None)
    if at is None:
        _run(given)
        return
    # Each process runs this module, which adds its number to the script's arguments.
    _run([*given[:at], "--module", __name__ if __name__ != "__main__" else "torch.distributed.launch", *given[at:]])


def _start(script: str, arguments: list[str]) -> None:
    """Runs the script in this process."""
    sys.argv = [script, f"--local-rank={os.environ['LOCAL_RANK']}", *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    if "LOCAL_RANK" in os.environ:
        _start(sys.argv[1], sys.argv[2:])
    else:
        main()
