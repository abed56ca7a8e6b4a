"""What errors are tolerated, in units in the last place: the table of docs/accuracy.md.

    python -m tests.python.ops.accuracy_bounds

writes it there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: Above this a bound needs a reason.
USUAL = 64


@dataclass(frozen=True)
class Bound:
    """Of the value and the first, second and third derivative: in float32 and float64, and in 16 bits."""

    ulps: tuple[float, float, float, float] = (4, 8, 16, 32)
    narrow: tuple[float, float, float, float] = (1, 2, 4, 8)
    reason: str = ""

    def of(self, dtype: str, order: int) -> float:
        return (self.narrow if dtype.endswith("16") else self.ulps)[order]


@dataclass(frozen=True)
class LeftOut:
    """Numbers at which a derivative of some orders is not measured, and why."""

    names: tuple[str, ...]
    orders: tuple[int, ...]
    where: Callable[[float], bool]
    numbers: str
    reason: str
    dtypes: tuple[str, ...] = ("float16", "bfloat16", "float32", "float64")


LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(("gelu_erf",), (3,), lambda x: abs(x) == 2, "2, -2", "a zero of the derivative, of which nothing is a share"),
    LeftOut(("ndtr",), (3,), lambda x: abs(x) == 1, "1, -1", "a zero of the derivative, of which nothing is a share"),
    LeftOut(("sinc",), (3,), lambda x: abs(x) > 1e38, "above 1e38", "pi times that overflows", ("float32", "bfloat16")),
)

BOUNDS: dict[str, Bound] = {}


def is_left_out(name: str, order: int, dtype: str, x: float) -> bool:
    return any(
        name in each.names and order in each.orders and dtype in each.dtypes and each.where(x) for each in LEFT_OUT
    )


def is_pair_left_out(name: str, order: int, dtype: str, a: float, b: float) -> bool:
    return False
