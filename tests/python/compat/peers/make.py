"""Writes ``references.npz``: what PyTorch computes in the cases of ``cases``.

    python make.py                     with PyTorch: writes references.npz beside it
    python make.py OUT.npz             writes another file; through the front: python -m lamella.compat make.py OUT.npz
    python make.py --whole OUT.npz     all elements in place of digests, to look into a difference

Lamella's tests need the file, not PyTorch. Run it after a change of the cases, in an environment that has PyTorch and
numpy; the version that wrote the file is in it.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "programs")]

from recording import CASES, add, computed, digest  # noqa: E402


def load_cases():
    """Imports all modules of cases."""
    for path in sorted((HERE / "cases").glob("[a-z]*.py")):
        importlib.import_module(f"cases.{path.stem}")
    for path in sorted((HERE / "programs").glob("[a-z]*.py")):
        program = importlib.import_module(path.stem)
        if hasattr(program, "main"):
            add(f"program.{path.stem}", lambda rng, program=program: program.main())


def as_text(lines):
    """Returns lines as bytes, which take less room than an array of strings."""
    return np.frombuffer("\n".join(lines).encode(), np.uint8)


def main(arguments):
    """Runs all cases, and writes them down."""
    whole = "--whole" in arguments
    target = next((each for each in arguments if not each.startswith("--")), HERE / "references.npz")
    load_cases()
    torch.set_num_threads(1)
    names, kinds, numbers = [], [], []
    for name in CASES:
        for path, kind, array in computed(name):
            names.append(f"{name}|{path}")
            kinds.append(f"{kind}|{list(array.shape)}")
            numbers.append(array if whole else digest(array))
    facts = {"names": as_text(names), "kinds": as_text(kinds), "version": np.array(torch.__version__)}
    if whole:
        facts |= {f"_{number}": array for number, array in enumerate(numbers)}
    else:
        facts["digests"] = np.array(numbers, np.float32)
    np.savez_compressed(target, **facts)


if __name__ == "__main__":
    main(sys.argv[1:])
