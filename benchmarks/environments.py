"""Environments of the frameworks: the source tree, or for the peers environments made on demand."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / "benchmarks" / ".envs"
#: Folder in which `import torch` finds Lamella's front.
FRONTS = ROOT / "python" / "lamella" / "compat" / "path"
#: Packages of PyPI that are installed for each peer.
PACKAGES = {
    "torch": ("torch", "numpy", "expecttest"),
    "paddle": ("paddlepaddle", "numpy"),
    "jax": ("jax", "numpy"),
}
#: Whose environment a framework has that is another one in a different way of use.
SHARED = {"lamella-compiled": "lamella", "torch-compiled": "torch"}


class SetupError(Exception):
    """An environment that could not be made; the message says what to do."""


@dataclass(frozen=True)
class Environment:
    """Command and environment that start Python with one framework."""

    framework: str
    python: Path
    path: tuple[Path, ...]

    def variables(self, threads: int) -> dict[str, str]:
        """Returns the environment variables of a process: the same number of threads for every library.

        What chooses a library's kernels for it is left out.
        """
        pins = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
        pins += ("NPROC", "TORCHINDUCTOR_COMPILE_THREADS")
        own = ("PYTHON", "OMP_", "KMP_", "MKL_", "OPENBLAS_", "ONEDNN_", "DNNL_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        path = os.pathsep.join(str(entry) for entry in self.path)
        return {**kept, **dict.fromkeys(pins, str(threads)), "PYTHONPATH": path, "PYTHONHASHSEED": "0"}


def environment(framework: str, *, lamella_python: Path | None, renew: bool, say: Callable[[str], None]) -> Environment:
    """Returns the framework's environment; makes it first if it is missing (or `renew`ed)."""
    if framework in SHARED:
        shared = environment(SHARED[framework], lamella_python=lamella_python, renew=renew, say=say)
        return dataclasses.replace(shared, framework=framework)
    if framework == "lamella":
        return _lamella(lamella_python)
    if framework == "lamella-front":
        native = _lamella(lamella_python)
        return Environment(framework, native.python, (FRONTS, *native.path))
    folder = ENVIRONMENTS / framework
    packages = PACKAGES[framework]
    stamp = folder / "installed.txt"
    python = folder / "bin" / "python"
    if renew or not stamp.is_file() or stamp.read_text().split() != list(packages):
        say(f"making {folder.relative_to(ROOT)} with {' and '.join(packages)} from PyPI (minutes, and up to 6 GB)")
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(folder)], "make a virtual environment (on Debian: python3-venv)")
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        _run(install, f"install {' '.join(packages)} (no network?)")
        stamp.write_text("\n".join(packages) + "\n")
    return Environment(framework, python, (ROOT,))


def _lamella(python: Path | None) -> Environment:
    python = python or ROOT / ".venv" / "bin" / "python"
    if not python.exists():
        raise SetupError(f"lamella: no Python at {python}; build Lamella first (README.md), or name one with --python")
    return Environment("lamella", python, (ROOT, ROOT / "python"))


def _run(command: list[str], purpose: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SetupError(f"could not {purpose}:\n{done.stdout[-2000:]}")
