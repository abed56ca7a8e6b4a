"""Refuses, when it is imported, to have the compiled part loaded where a limit of memory leaves no room for it.

The loader and the libraries' own beginnings do not tell what they lack where the system refuses memory, and some end
the process; so room for them is looked for first.
"""

from __future__ import annotations

_LIBRARIES = 112 << 20


def _require_room() -> None:
    """MemoryError where RLIMIT_AS or RLIMIT_DATA leave no room for the libraries; nothing where there is no limit."""
    import resource

    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    if all(limit == resource.RLIM_INFINITY for limit in limits):
        return
    import mmap

    needed = _LIBRARIES
    try:
        mmap.mmap(-1, needed, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, MemoryError) as error:
        raise MemoryError(
            f"[import] lamella's libraries take {needed} bytes of addresses as they are loaded, which the limits of "
            f"this process do not leave (ulimit -v, ulimit -d): raise them"
        ) from error


_require_room()
