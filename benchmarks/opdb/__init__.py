"""Lamella beside PyTorch on the samples of PyTorch's own database of operators: values, gradients, bad input.

`benchmarks/run opdb` runs it, in the environment made for PyTorch, whose Python must be that of the build. It compares
what `calls` can translate, and lists the rest.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.environments import ROOT, SetupError, environment


def main(arguments: list[str]) -> int:
    """Runs `compare` with the arguments where PyTorch is."""
    try:
        there = environment("torch", lamella_python=None, renew=False, say=lambda text: print(text, file=sys.stderr))
    except SetupError as error:
        print(error, file=sys.stderr)
        return 2
    variables = there.variables(threads=1)
    variables["PYTHONPATH"] += f":{ROOT / 'python'}"
    command = [str(there.python), "-m", "benchmarks.opdb.compare", *arguments]
    return subprocess.run(command, env=variables, cwd=ROOT, check=False).returncode
