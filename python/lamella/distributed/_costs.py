"""Prices of collectives: the bytes that each process sends, and the time of the α-β model.

A message of ``b`` bytes takes ``α + b / β``: α is the latency of a link, β its bandwidth (R. Hockney, "The
communication challenge for MPP", Parallel Computing 20, 1994). Collectives are counted as R. Thakur, R. Rabenseifner
and W. Gropp do ("Optimization of collective communication operations in MPICH", IJHPCA 19, 2005): recursive doubling
and halving, and pairwise exchange for all_to_all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


class Link(NamedTuple):
    """Network that joins the processes along one axis of a mesh."""

    #: Seconds before the first byte of a message arrives: α.
    latency: float = 1e-5
    #: Bytes a second that a process sends: β.
    bandwidth: float = 1e10

    def time(self, messages: float, sent: float) -> float:
        """Returns the seconds of ``messages`` messages one after the other, of ``sent`` bytes in all."""
        return messages * self.latency + sent / self.bandwidth


class Collective(NamedTuple):
    """The price of a collective in a group of ``n``, of a tensor whose whole has ``b`` bytes."""

    name: str
    #: Formula of the bytes that each process sends.
    formula: str
    #: Returns those bytes for b and n.
    sent: Callable[[float, int], float]
    #: Returns the messages one after the other for n.
    messages: Callable[[int], int]


def _log2(n: int) -> int:
    return math.ceil(math.log2(n))


#: Seconds that cutting, padding or zeroing takes for each byte, so that what needs no communication still has a price.
LOCAL = 1e-12

COLLECTIVES = {
    one.name: one
    for one in (
        Collective("all_reduce", "2 b (n-1)/n", lambda b, n: 2 * b * (n - 1) / n, lambda n: 2 * _log2(n)),
        Collective("all_gather", "b (n-1)/n", lambda b, n: b * (n - 1) / n, _log2),
        Collective("reduce_scatter", "b (n-1)/n", lambda b, n: b * (n - 1) / n, _log2),
        Collective("all_to_all", "b (n-1)/n²", lambda b, n: b * (n - 1) / n**2, lambda n: n - 1),
        Collective("slice", "0", lambda b, n: 0, lambda n: 0),
        Collective("pad", "0", lambda b, n: 0, lambda n: 0),
        Collective("keep", "0", lambda b, n: 0, lambda n: 0),
        Collective("none", "0", lambda b, n: 0, lambda n: 0),
    )
}


def time_of(name: str, whole: float, n: int, link: Link) -> float:
    """Returns the seconds of a collective in a group of ``n``, of a tensor whose whole has ``whole`` bytes."""
    one = COLLECTIVES[name]
    return link.time(one.messages(n), one.sent(whole, n)) + (0.0 if name == "none" else LOCAL * whole)
