"""Loads the compiled part, with OpenMP told how long its threads wait actively.

A thread that waits for others spins before it sleeps: in GNU's OpenMP 300,000 times, about 8 ms. Where two threads are
on one core, as when another process had the other core at the moment that one of them woke, each spins while the other
could work, until its time slice ends: a loop of 0.5 ms takes 8 ms and more, again and again. A thread that sleeps lets
the other one run, and is woken on a core that is idle. The 0.1 to 0.2 ms that are left are longer than most loops are
apart, and than it takes to wake a thread.
"""

from __future__ import annotations

import os

_SPINS = "GOMP_SPINCOUNT"
_DEFAULT = "4000"

# OpenMP reads it once, when it is loaded. Other libraries' OpenMP and child processes have an environment as it was.
_chosen = _SPINS in os.environ or "OMP_WAIT_POLICY" in os.environ
if not _chosen:
    os.environ[_SPINS] = _DEFAULT
try:
    from . import _C  # noqa: F401
finally:
    if not _chosen:
        os.environ.pop(_SPINS, None)
