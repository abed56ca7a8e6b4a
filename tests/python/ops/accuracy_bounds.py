"""What errors are tolerated, in units in the last place: the table of docs/accuracy.md.

    ./dev doc

writes it there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    LeftOut(
        ("gelu_erf",), (3,), lambda x: abs(x) == 2, "2, -2", "the derivative is 0 there: no relative error is defined"
    ),
    LeftOut(("ndtr",), (3,), lambda x: abs(x) == 1, "1, -1", "the derivative is 0 there: no relative error is defined"),
    LeftOut(
        ("sinc",),
        (3,),
        lambda x: 1e38 < abs(x) < 1e39 or abs(x) > 5e307,
        "above a third of the largest",
        "pi * x overflows",
    ),
)

TAIL = "the tail is an exponential of a square; the relative error of the square is multiplied by the square"
BETWEEN = "in float64, between the series near 0 and those far from it, differences of nearly equal values"
ZERO = "near a zero, terms cancel: their rounding errors are large beside what is left"
RESULT = "the slope of sigmoid is computed from its result, which is rounded to 16 bits"
PHASE = "it oscillates: the relative error of a large argument is multiplied by the argument"

#: Twice what was measured on a processor with AVX-512, rounded up to a power of 2, and at least 4, or 1 in 16 bits.
BOUNDS: dict[str, Bound] = {
    "negative": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "abs": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "sign": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "square": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "reciprocal": Bound((4, 4, 8, 16), (1, 4, 8, 16)),
    "sqrt": Bound((4, 4, 8, 16), (1, 4, 8, 16)),
    "rsqrt": Bound((4, 8, 16, 32), (1, 8, 16, 16)),
    "exp": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "exp2": Bound((4, 4, 8, 8), (1, 4, 8, 8)),
    "expm1": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "log": Bound((4, 4, 4, 4), (1, 1, 4, 4)),
    "log1p": Bound((4, 4, 4, 8), (1, 2, 4, 8)),
    "log2": Bound((4, 4, 4, 4), (1, 2, 4, 8)),
    "log10": Bound((8, 4, 4, 4), (1, 2, 4, 4)),
    "sin": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "cos": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "tan": Bound((4, 8, 8, 16), (1, 4, 8, 8)),
    "asin": Bound((4, 4, 16, 16), (1, 1, 1, 1)),
    "acos": Bound((4, 4, 16, 16), (1, 1, 1, 1)),
    "atan": Bound((4, 8, 8, 16), (1, 1, 1, 1)),
    "sinh": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "cosh": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "tanh": Bound((4, 8, 8, 16), (1, 1, 1, 1)),
    "asinh": Bound((4, 4, 8, 16), (1, 1, 1, 1)),
    "acosh": Bound((4, 8, 16, 16), (1, 1, 1, 1)),
    "atanh": Bound((4, 4, 8, 8), (1, 1, 1, 1)),
    "erf": Bound((4, 4, 4, 4), (1, 4, 4, 4)),
    "erfc": Bound((4, 4, 4, 4), (1, 4, 4, 4)),
    "erfinv": Bound((8, 32, 32, 64), (1, 16, 32, 64)),
    "lgamma": Bound((8, 128, 16, 8192), (1, 1, 1, 2), ZERO),
    "digamma": Bound((128, 16, 8192, 64), (1, 1, 2, 4), ZERO),
    "sinc": Bound((4, 8, 64, 8), (1, 1, 1, 1)),
    "floor": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "ceil": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "trunc": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "round": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "frac": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "angle": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "relu": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "sigmoid": Bound((4, 4, 8, 16), (1, 2.5, 1, 1), RESULT),
    "gelu_erf": Bound((1024, 1024, 8, 4), (1, 1, 1, 1), TAIL),
    "gelu_tanh": Bound((1024, 512, 1024, 512), (1, 1, 1, 1), TAIL),
    "selu": Bound((4, 4, 4, 4), (1, 4, 4, 4)),
    "tanhshrink": Bound((16, 8, 8, 16), (1, 1, 1, 1)),
    "silu": Bound((16, 16, 16, 16), (1, 1, 1, 1)),
    "mish": Bound((16, 16, 512, 256), (1, 1, 1, 1), ZERO),
    "hardsigmoid": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "hardswish": Bound((4, 4, 4, 4), (1, 4, 1, 1)),
    "log_sigmoid": Bound((4, 4, 4, 8), (1, 1, 2.5, 1), RESULT),
    "softsign": Bound((4, 4, 8, 16), (1, 4, 8, 8)),
    "i0": Bound((8, 8, 8, 8), (1, 1, 1, 1)),
    "i0e": Bound((8, 128, 4096, 131072), (1, 1, 1, 1), BETWEEN),
    "i1": Bound((8, 8, 8, 8), (1, 1, 1, 1)),
    "i1e": Bound((4, 128, 4096, 131072), (1, 1, 1, 1), BETWEEN),
    "bessel_j0": Bound((128, 64, 256, 16), (1, 1, 1, 2), PHASE),
    "bessel_j1": Bound((64, 256, 16, 1024), (1, 1, 2, 1), PHASE),
    "bessel_y0": Bound((128, 32, 16, 128), (1, 1, 1, 1), PHASE),
    "bessel_y1": Bound((32, 16, 128, 64), (1, 1, 1, 1), PHASE),
    "modified_bessel_k0": Bound((16, 8, 4, 4), (1, 1, 1, 1)),
    "modified_bessel_k1": Bound((8, 4, 4, 8), (1, 1, 1, 1)),
    "scaled_modified_bessel_k0": Bound((8, 256, 8192, 131072), (1, 1, 1, 1), BETWEEN),
    "scaled_modified_bessel_k1": Bound((8, 256, 4096, 65536), (1, 1, 1, 1), BETWEEN),
    "spherical_bessel_j0": Bound((8, 4, 32, 32), (1, 1, 1, 1)),
    "airy_ai": Bound((524288, 131072, 262144, 131072), (1, 1, 1, 1), PHASE),
    "erfcx": Bound((8, 64, 4096, 65536), (1, 1, 1, 1), BETWEEN),
    "ndtr": Bound((1024, 1024, 1024, 1024), (128, 128, 128, 512), TAIL),
    "ndtri": Bound((8, 2048, 1024, 2048), (1, 1, 1, 1), TAIL),
    "log_ndtr": Bound((1024, 1024, 512, 524288), (1, 1, 1, 1), f"{TAIL}; {BETWEEN}"),
    "logit": Bound((4, 4, 8, 16), (1, 1, 1, 1)),
    "entr": Bound((4, 4, 4, 4), (1, 4, 1, 4)),
    "deg2rad": Bound((4, 4, 4, 4), (2, 1, 1, 1)),
    "rad2deg": Bound((4, 4, 4, 4), (2, 1, 1, 1)),
    "leaky_relu": Bound((4, 4, 4, 4), (2, 1, 1, 1)),
    "elu": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "celu": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "hardtanh": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "hardshrink": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "softshrink": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "softplus": Bound((4, 4, 4, 8), (1, 1, 2.5, 1), RESULT),
    "threshold": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "clip_between": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "replace_nonfinite": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "add": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "subtract": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "multiply": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "divide": Bound((4, 4, 4, 8), (1, 4, 1, 1)),
    "floor_divide": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "remainder": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "fmod": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "pow": Bound((4, 16, 32, 16), (1, 4, 1, 1)),
    "atan2": Bound((4, 4, 8, 8), (1, 1, 1, 1)),
    "hypot": Bound((4, 4, 8, 16), (1, 2, 1, 1)),
    "logaddexp": Bound((8, 4, 4, 8), (1, 64, 1, 1)),
    "logaddexp2": Bound((4, 64, 64, 64), (1, 128, 1, 1), ZERO),
    "xlogy": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "xlog1py": Bound((4, 4, 4, 4), (2, 2, 1, 1)),
    "maximum": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "minimum": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "fmax": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "fmin": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "squared_difference": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "smooth_l1": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "log_loss": Bound((4, 4, 16, 64), (1, 1, 1, 1)),
    "copysign": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
    "zeta": Bound((8, 8, 8, 16), (1, 2, 1, 1)),
    "heaviside": Bound((4, 4, 4, 4), (1, 1, 1, 1)),
}


def is_left_out(name: str, order: int, dtype: str, x: float) -> bool:
    return any(
        name in each.names and order in each.orders and dtype in each.dtypes and each.where(x) for each in LEFT_OUT
    )


def bound_of(name: str) -> Bound:
    """The bound of an operator; a wide one for operators that are compared with their descriptions."""
    return BOUNDS.get(name, Bound((USUAL,) * 4, (4, 8, 16, 32)))


def table() -> str:
    """The table of docs/accuracy.md."""
    lines = ["| operator | value, 1st, 2nd, 3rd derivative | in 16 bits | why |", "|---|---|---|---|"]
    for name, bound in sorted(BOUNDS.items()):
        wide, narrow = (", ".join(f"{u:g}" for u in ulps) for ulps in (bound.ulps, bound.narrow))
        lines.append(f"| `{name}` | {wide} | {narrow} | {bound.reason} |")
    lines += ["", "Not measured:", ""]
    for each in LEFT_OUT:
        names = ", ".join(f"`{name}`" for name in each.names)
        orders = ", ".join(("value", "1st", "2nd", "3rd")[order] for order in each.orders)
        lines.append(f"- {names}, {orders} derivative at {each.numbers}: {each.reason}.")
    return "\n".join(lines)
