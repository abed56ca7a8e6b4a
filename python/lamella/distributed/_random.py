"""Random numbers of several processes."""

from __future__ import annotations

from .. import _C
from .._C import _ProcessGroup as ProcessGroup
from ._groups import get_rank, get_world_size


def seed(n: int, *, replicated: bool = True, group: ProcessGroup | str | None = None) -> None:
    """Starts the random numbers of this process anew: the same as the other processes', or its own.

    Args:
        n: The seed, the same on all processes.
        replicated: True for the same numbers on all processes: for the weights of a model, and for dropout of
            activations that all of them have. False for a stream of its own on each, for the dropout of its own samples
            or of its part of an activation. The streams are forks of the one of seed `n`, independent of one another;
            the one of a process is always the same.
        group: The processes, or their group's name; None is the default group.

    Raises:
        ValueError: The seed is not in [-2**63, 2**64).
    """
    if replicated:
        _C.seed(n)
        return
    streams = _C.Generator(seed=n).split(get_world_size(group))
    _C.seed(streams[get_rank(group)].initial_seed())
