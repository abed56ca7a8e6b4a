"""Builds the programs of benchmarks/cpp, for Lamella as the source tree holds it or for an installed libtorch."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmarks.environments import ROOT, SetupError

SOURCES = ROOT / "benchmarks" / "cpp"
#: Lamella's CMake package, as ./dev builds it.
PACKAGE = ROOT / "python" / "lamella" / "cmake"
BUILDS = ROOT / "build" / "benchmarks-cpp"


def build(target: str, *, torch: Path | None = None) -> Path:
    """Builds a target and returns its file; with the folder of a `torch` package for libtorch.

    Raises SetupError, in words that tell what to install, where something is missing.
    """
    if torch is None and not (PACKAGE / "lamella-config.cmake").is_file():
        raise SetupError(f"no Lamella in {PACKAGE.parent.relative_to(ROOT)}: build it first (./dev build)")
    if shutil.which("cmake") is None:
        raise SetupError("cmake is needed to build the C++ programs (Debian: cmake)")
    folder = BUILDS / ("lamella" if torch is None else "torch")
    choice = [f"-Dlamella_DIR={PACKAGE}"] if torch is None else ["-DFRAMEWORK=torch", f"-DTORCH_FOLDER={torch}"]
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    _run(["cmake", *generator, "-S", str(SOURCES), "-B", str(folder), *choice])
    _run(["cmake", "--build", str(folder), "--target", target])
    return folder / target


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        needs = "Google Benchmark (Debian: libbenchmark-dev) or callgrind's header (Debian: valgrind) may be missing"
        raise SetupError(f"{' '.join(command)} failed; {needs}:\n{done.stdout[-2000:]}")
