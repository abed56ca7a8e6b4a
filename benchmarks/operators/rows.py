"""Rows of the sweep: the calls, and the cases they are timed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

#: No operator is to take longer than this many times PyTorch's time, where no narrower goal is set.
GOAL = 1.5


@dataclass(frozen=True)
class Input:
    """A tensor that a case asks for."""

    shape: tuple[int, ...]
    #: Distribution of the values: see `array`.
    kind: str = "normal"
    dtype: str = "float32"
    low: float = 0.0
    high: float = 1.0
    #: An expression for a tensor that is not contiguous, "x.mT" or "x[..., ::2]", of a contiguous `x` of that shape.
    view: str = ""

    def array(self, seed: int) -> np.ndarray:
        """Returns the values, in a dtype that numpy has: the same for every framework."""
        import numpy as np

        draw = np.random.default_rng(seed)
        dtype = "float32" if self.dtype == "bfloat16" else self.dtype
        values: np.ndarray
        match self.kind:
            case "normal":
                values = draw.standard_normal(self.shape, np.float32)
                if dtype.startswith("complex"):
                    values = values + 1j * draw.standard_normal(self.shape, np.float32)
            case "uniform":
                values = draw.uniform(self.low, self.high, self.shape)
            case "integers":
                values = draw.integers(int(self.low), int(self.high), self.shape)
            case "sorted":
                values = np.sort(draw.standard_normal(self.shape), axis=-1)
            case "permutation":  # along the last axis
                values = draw.permuted(np.broadcast_to(np.arange(self.shape[-1]), self.shape), axis=-1)
            case "positive definite":
                factor = draw.standard_normal(self.shape)
                values = factor @ factor.swapaxes(-1, -2) / self.shape[-1] + np.eye(self.shape[-1])
            case "invertible":
                values = draw.standard_normal(self.shape) / self.shape[-1] ** 0.5 + 2 * np.eye(self.shape[-1])
            case other:
                raise ValueError(f"unknown kind of input {other!r}")
        return np.asarray(values, dtype, order="C")


def normal(*shape: int, dtype: str = "float32", view: str = "") -> Input:
    """Standard normal."""
    return Input(shape, dtype=dtype, view=view)


def uniform(low: float, high: float, *shape: int, dtype: str = "float32", view: str = "") -> Input:
    """Between two bounds."""
    return Input(shape, "uniform", dtype, low, high, view)


def integers(high: int, *shape: int, dtype: str = "int64", low: int = 0, view: str = "") -> Input:
    """Integers below `high`."""
    return Input(shape, "integers", dtype, low, high, view)


def mask(*shape: int) -> Input:
    """True or False, evenly."""
    return Input(shape, "integers", "bool", 0, 2)


@dataclass(frozen=True)
class Case:
    """One size that a row is timed on."""

    label: str
    #: Tensors, and plain values that are passed as they are.
    variables: Mapping[str, Any]
    goal: float = GOAL
    #: The variables that want a gradient: forward and backward are timed together then.
    wants: tuple[str, ...] = ()


def case(label: str, *, goal: float = GOAL, wants: str = "", **variables: Any) -> Case:
    """Returns a case; `wants` lists variables, separated by spaces."""
    return Case(label, variables, goal, tuple(wants.split()))


@dataclass(frozen=True)
class Row:
    """An operator: the same work in Lamella, on `lm`, and in PyTorch or numpy, on `torch`, `F` and `np`."""

    op: str
    ours: str
    theirs: str
    cases: tuple[Case, ...] = field(default=())
    #: True if results must agree: not if they are random, known up to a sign, or made of rounding errors.
    agrees: bool = True
    #: Relative to the largest value.
    tolerance: float = 1e-4
