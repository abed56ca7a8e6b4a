"""Refuses, when it is imported, to have the compiled part loaded where a limit of memory leaves no room for it.

OpenBLAS maps a buffer of 128 MiB for each of its threads as it is loaded, and tries again for ever where the system
refuses; so room for them is looked for first.
"""

from __future__ import annotations

import os

_BUFFER = 129 << 20
_LIBRARIES = 112 << 20
_MOST_THREADS = 128


def _openblas_threads() -> int:
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "").split(",")[0].strip()
        if value.isdecimal() and int(value) > 0:
            return min(int(value), _MOST_THREADS)
    return min(len(os.sched_getaffinity(0)), _MOST_THREADS)


def _require_room() -> None:
    """MemoryError where RLIMIT_AS or RLIMIT_DATA leave no room for the libraries; nothing where there is no limit."""
    import resource

    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    if all(limit == resource.RLIM_INFINITY for limit in limits):
        return
    import mmap

    needed = _LIBRARIES + _BUFFER * _openblas_threads()
    try:
        mmap.mmap(-1, needed, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, MemoryError) as error:
        raise MemoryError(
            f"[import] lamella's libraries take {needed} bytes of addresses as they are loaded, which the limits of "
            f"this process do not leave (ulimit -v, ulimit -d): raise them, or set OPENBLAS_NUM_THREADS=1"
        ) from error


_require_room()
