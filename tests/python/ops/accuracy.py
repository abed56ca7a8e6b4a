"""How far every operator and its derivatives are from the truth, in units in the last place, and what is tolerated.

The truth is a function of 90-digit numbers (``accuracy_references.py``) on a grid that holds zeros, the smallest
normal and denormal numbers, powers of ten to the largest, ties, and infinities. Numbers of the grid have 8 significant
bits, so that they are the same in every dtype.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

import lamella as lm
from lamella.autograd import jvp

from . import accuracy_references as references
from .jets import DIGITS, ORDER, Jet


@dataclass(frozen=True)
class Format:
    """A floating dtype: the bits of its significand, its smallest normal exponent, its largest number."""

    digits: int
    lowest: int
    largest: float

    @property
    def tiny(self) -> float:
        return 2.0**self.lowest

    @property
    def smallest(self) -> float:
        return 2.0 ** (self.lowest - self.digits + 1)


FORMATS = {
    "float16": Format(11, -14, 65504.0),
    "bfloat16": Format(8, -126, 3.3895313892515355e38),
    "float32": Format(24, -126, 3.4028234663852886e38),
    "float64": Format(53, -1022, 1.7976931348623157e308),
}
NARROW = ("float16", "bfloat16")
#: From the value to the third derivative, each in reverse mode (R), forward mode (F), and all mixtures.
MODES = ["", *("".join(m) for n in range(1, ORDER + 1) for m in itertools.product("RF", repeat=n))]

Tensors = tuple[lm.Tensor, ...]


def short(value: float) -> float:
    """The nearest number with 8 significant bits."""
    m, e = math.frexp(value)
    return math.ldexp(round(m * 256) / 256, e)


ORDINARY = (
    *(
        0.1,
        0.25,
        0.3,
        0.5,
        0.7,
        0.75,
        0.9,
        1 - 2**-8,
        1,
        1 + 2**-7,
        1.5,
        2,
        2.5,
        3,
        4,
        5,
        6,
        7,
        8,
        10,
        12,
        15,
        16.5,
        18,
    ),
    *(20, 25, 30, 35, 40, 50, 60, 75, 88, 90, 100, 104, 150, 300, 700, 720, 745, 1000, 1024, 1500),
)


@functools.cache
def grid() -> tuple[float, ...]:
    """Zeros, normal and denormal numbers and powers of ten of each dtype, and what is usual; both signs."""
    values = {0.0, *map(short, ORDINARY), *(short(10.0**k) for k in range(-45, 39))}
    values |= {short(10.0**k) for k in (*range(-320, -45, 25), *range(50, 309, 25))}
    for form in FORMATS.values():
        values |= {form.smallest, form.tiny, 2.0**-form.digits, short(form.largest * 0.98)}
    return tuple(sign * value for sign in (1, -1) for value in sorted(values))


#: Beyond, the references of these take long, and nothing new is to be seen.
NEAR = dict.fromkeys(("i0", "i0e", "i1", "i1e", "bessel_j0", "bessel_j1", "airy_ai", "erfcx", "log_ndtr"), 2000.0)
#: References that take long get every so many-th number.
SPARSE = dict.fromkeys(
    (
        *("bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1"),
        *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "ndtri"),
    ),
    9,
)
NEAR |= dict.fromkeys(SPARSE, 2000.0)

#: Where the operators are defined as real numbers, as the condition that a number must meet.
DOMAIN: dict[str, Callable[[float], bool]] = {
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2", "log10"), lambda x: x >= 0 and math.copysign(1, x) > 0),
    "log1p": lambda x: x >= -1,
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), lambda x: -1 <= x <= 1),
    "acosh": lambda x: x >= 1,
    **dict.fromkeys(("logit", "ndtri"), lambda x: 0 <= x <= 1 and math.copysign(1, x) > 0),
    **dict.fromkeys(
        ("entr", "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1"),
        lambda x: x >= 0 and math.copysign(1, x) > 0,
    ),
    **dict.fromkeys(
        ("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"), lambda x: x >= 0 and math.copysign(1, x) > 0
    ),
    # The poles have values of their own, and no derivative.
    **dict.fromkeys(("lgamma", "digamma"), lambda x: x > 0 or (x != math.floor(x) and x > -1e6)),
    # Jumps and kinks: the convention is in the operator's documentation, and in its reference.
    **dict.fromkeys(("frac",), lambda x: x != math.floor(x) or abs(x) > 2**52 or x == 0),
}

#: Values and derivatives at infinity and minus infinity; None where there is none to be had.
Limits = tuple[tuple[float, ...] | None, tuple[float, ...] | None]
INF = math.inf
FLAT = (0.0, 0.0, 0.0)
AT_INFINITY: dict[str, Limits] = {
    "exp": ((INF,) * 4, (0.0,) * 4),
    "exp2": ((INF,) * 4, (0.0,) * 4),
    "expm1": ((INF,) * 4, (-1.0, *FLAT)),
    **dict.fromkeys(("log", "log1p", "log2", "log10", "sqrt", "acosh"), ((INF, *FLAT), None)),
    "rsqrt": ((0.0, *FLAT), None),
    "reciprocal": ((0.0, *FLAT), (-0.0, *FLAT)),
    **dict.fromkeys(("tanh", "softsign", "erf"), ((1.0, *FLAT), (-1.0, *FLAT))),
    "sigmoid": ((1.0, *FLAT), (0.0, *FLAT)),
    "erfc": ((0.0, *FLAT), (2.0, *FLAT)),
    "ndtr": ((1.0, *FLAT), (0.0, *FLAT)),
    "atan": ((math.pi / 2, *FLAT), (-math.pi / 2, *FLAT)),
    "asinh": ((INF, *FLAT), (-INF, *FLAT)),
    **dict.fromkeys(("silu", "mish", "gelu_erf", "gelu_tanh"), ((INF, 1.0, 0.0, 0.0), (0.0, *FLAT))),
    "tanhshrink": ((INF, 1.0, 0.0, 0.0), (-INF, 1.0, 0.0, 0.0)),
    "log_sigmoid": ((0.0, *FLAT), (-INF, 1.0, 0.0, 0.0)),
    "softplus": ((INF, 1.0, 0.0, 0.0), (0.0, *FLAT)),
    **dict.fromkeys(("relu", "hardswish"), ((INF, 1.0, 0.0, 0.0), (0.0, *FLAT))),
    "hardsigmoid": ((1.0, *FLAT), (0.0, *FLAT)),
    "elu": ((INF, 1.0, 0.0, 0.0), (-1.0, *FLAT)),
    **dict.fromkeys(("i0e", "i1e"), ((0.0, *FLAT), (0.0, *FLAT))),
    "erfcx": ((0.0, *FLAT), None),
    "log_ndtr": ((0.0, *FLAT), None),
    "scaled_modified_bessel_k0": ((0.0, *FLAT), None),
    "scaled_modified_bessel_k1": ((0.0, *FLAT), None),
}

#: What the operators of one number that need a setting are called with.
SETTINGS: dict[str, tuple[float, ...]] = {
    "threshold": (-0.5, 2.0),
    "clip_between": (-1.0, 2.0),
    "replace_nonfinite": (0.5, 9.0),
    "smooth_l1": (1.0,),
}


def operator(name: str) -> Callable[..., lm.Tensor]:
    function = getattr(lm, name)
    settings = SETTINGS.get(name, ())
    return lambda *args: function(*args, *settings)


# Derivatives by the engine.


def by_reverse(f: Callable[..., lm.Tensor], i: int) -> Callable[..., lm.Tensor]:
    def derivative(*args: lm.Tensor) -> lm.Tensor:
        x = args[i]
        if x.stop_gradient:
            x = x * 1
            x.stop_gradient = False
        y = f(*args[:i], x, *args[i + 1 :])
        if y.stop_gradient:
            return lm.zeros_like(y)
        (gradient,) = lm.grad([y], [x], [lm.ones_like(y)], create_graph=True, allow_unused=True)
        return lm.zeros_like(y) if gradient is None else gradient

    return derivative


def by_forward(f: Callable[..., lm.Tensor], i: int) -> Callable[..., lm.Tensor]:
    def derivative(*args: lm.Tensor) -> lm.Tensor:
        return jvp(lambda x: f(*args[:i], x, *args[i + 1 :]), (args[i],), (lm.ones_like(args[i]),))[1]

    return derivative


def derived(f: Callable[..., lm.Tensor], mode: str, variables: Iterable[int]) -> Callable[..., lm.Tensor]:
    """The derivative by these variables, the first of which is the innermost one; the mode's last letter is its."""
    for letter, i in zip(reversed(mode), variables, strict=True):
        f = (by_reverse if letter == "R" else by_forward)(f, i)
    return f


# The truth.


def as_floats(value: Any) -> tuple[float, float]:
    """A number as the sum of a float and a smaller one."""
    if isinstance(value, mp.mpc) or mp.isnan(value):
        return math.nan, 0.0
    if mp.isinf(value):
        return (math.inf if value > 0 else -math.inf), 0.0
    try:
        high = float(value)
    except OverflowError:
        high = math.inf if value > 0 else -math.inf
    return (high, 0.0) if math.isinf(high) else (high, float(value - mp.mpf(high)))


def limit_of(at: Callable[[Any], list[Any]], point: float, side: float) -> list[Any]:
    """The one-sided limits at a point where a function is singular."""
    near, nearer = (at(mp.mpf(point) + side * mp.mpf(10) ** -k) for k in (60, 75))
    limits = []
    for a, b in zip(near, nearer, strict=True):
        if isinstance(b, mp.mpc) or mp.isnan(b):
            limits.append(mp.nan)
        elif abs(b) > abs(a) * 1.1 and abs(b) > 1:
            limits.append(mp.sign(b) * mp.inf)
        else:
            limits.append(b if abs(b) > mp.mpf(10) ** -25 else mp.mpf(0))
    return limits


#: References that subtract what is nearly equal get so many digits that nothing is lost at any number of float64.
DEEP = {
    **dict.fromkeys(("asin", "acos", "atan", "atanh", "tanhshrink", "mish", "softsign"), 700),
    **dict.fromkeys(("sinc", "sin", "cos", "tan"), 420),
}


def truth_at(name: str, x: float) -> list[Any]:
    with mp.workdps(DEEP.get(name, DIGITS)):
        return truth_in_these_digits(name, x)


def truth_in_these_digits(name: str, x: float) -> list[Any]:
    reference = references.UNARY[name]

    def at(u: Any) -> list[Any]:
        jet = reference(Jet.variables([u])[0])
        return [jet.derivative((k,)) for k in range(ORDER + 1)]

    try:
        values = at(mp.mpf(x))
        if not any(isinstance(v, mp.mpc) or mp.isnan(v) or mp.isinf(v) for v in values):
            return values
    except (ZeroDivisionError, ValueError, OverflowError):
        pass
    side = math.copysign(1, x) if x == 0 else -math.copysign(1, x) if abs(x) == 1 and name != "acosh" else 1
    if name in ("log1p",):
        side = 1
    if name in ("logit", "ndtri"):
        side = 1 if x == 0 else -1
    return limit_of(at, x, side)


@functools.cache
def unary_truth(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the grid, and [number, order, 2]: the truth there as two floats."""
    within, domain = NEAR.get(name, math.inf), DOMAIN.get(name, lambda x: True)
    points = [x for x in grid() if abs(x) <= within and domain(x)]
    if op := references.DESCRIBED.get(name):
        points = [x for x in points if op.sample_low <= x <= op.sample_high]
    if name in SPARSE:
        points = [x for i, x in enumerate(points) if i % SPARSE[name] == 0 or 0.2 < abs(x) < 40]
    rows = [[as_floats(v) for v in truth_at(name, x)] for x in points]
    for x, limits in zip((INF, -INF), AT_INFINITY.get(name, (None, None)), strict=True):
        if limits is not None:
            points.append(x)
            rows.append([(v, 0.0) for v in limits])
    return np.array(points), np.array(rows)


BINARY_POINTS = (0.0, 2.0**-126, 1e-20, 1e-8, 0.125, 0.5, 1.0, 2.5, 40.0, 1e8, 1e18)
#: Operands of operators of two numbers that are not for all of the grid.
BINARY_DOMAIN: dict[str, Callable[[float, float], bool]] = {
    # By b it has derivatives where a is above 0 only; powers of the smallest numbers overflow before a factor b makes
    # them small.
    "pow": lambda a, b: a > 1e-9 and abs(b) < 50 and b not in (0, 1),
    "xlogy": lambda a, b: b > 0,
    "xlog1py": lambda a, b: -1 < b < 1e10,
    "log_loss": lambda p, t: 1e-3 < p < 1 and 0 <= t <= 1 and p != t,
    "zeta": lambda a, b: 1.2 < a < 50 and b > 0 and b < 1e9,
    "divide": lambda a, b: b != 0 and (a != 0 or abs(b) > 1e-9),
    **dict.fromkeys(("floor_divide", "remainder", "fmod"), lambda a, b: b != 0 and abs(a) < 1e6 * abs(b)),
    # Where both are smaller the higher derivatives overflow on their way to 0; test_accuracy_edges.py has the first.
    **dict.fromkeys(("hypot", "atan2"), lambda a, b: max(abs(a), abs(b)) > 1e-9),
    "copysign": lambda a, b: a != 0 and b != 0,
    "heaviside": lambda a, b: a != 0,
    # Next to the kink the difference is rounded to it.
    "smooth_l1": lambda a, b: abs(abs(a - b) - 1) > 1e-6 or 0 in (a, b),
}


@functools.cache
def binary_truth(name: str) -> tuple[np.ndarray, dict[tuple[int, int], np.ndarray]]:
    """[pair, 2] operands, and for each order by a and by b [pair, 2]: the truth as two floats."""
    values = [short(v) * sign for v in BINARY_POINTS for sign in (1, -1) if v != 0 or sign == 1]
    domain = BINARY_DOMAIN.get(name, lambda a, b: True)
    pairs = [(a, b) for a, b in itertools.product(values, repeat=2) if domain(a, b)]
    orders = [(i, k - i) for k in range(ORDER + 1) for i in range(k + 1)]
    truth: dict[tuple[int, int], list[tuple[float, float]]] = {order: [] for order in orders}
    for a, b in pairs:
        try:
            with mp.workdps(DIGITS if name == "zeta" else 420):
                jet = references.BINARY[name](*Jet.variables([mp.mpf(a), mp.mpf(b)]))
                found = [as_floats(jet.derivative(order)) for order in orders]
        except (ZeroDivisionError, ValueError, OverflowError):
            found = [(math.nan, 0.0)] * len(orders)
        for order, value in zip(orders, found, strict=True):
            truth[order].append(value)
    return np.array(pairs), {order: np.array(rows) for order, rows in truth.items()}


# The distance from the truth.


def ulps(got: np.ndarray, truth: np.ndarray, dtype: str, least: float = 0.0) -> np.ndarray:
    """Errors in units in the last place of the truth, or of the smallest normal number where the truth is below it.

    Where it is below `least`, they are in units in the last place of that.
    """
    form = FORMATS[dtype]
    high, low = truth[..., 0], truth[..., 1]
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.clip(np.abs(high), max(form.tiny, least), form.largest)))
        unit = np.ldexp(1.0, (exponent - form.digits + 1).astype(int))
        error = np.abs((got - high) - low) / unit
        below = np.abs(high) < form.tiny
        # Whether denormal results are kept is not promised.
        error = np.where(below, np.where(np.abs(got) <= form.tiny * (1 + 2.0 ** (3 - form.digits)), 0, error), error)
        over = np.abs(high) > form.largest
        error = np.where(over, np.where((got == np.sign(high) * np.inf), 0, np.inf), error)
        # The largest number, and infinity beside it, are one step apart.
        edge = (np.abs(high) > form.largest * (1 - 2.0**-6)) & (np.abs(got) >= form.largest * (1 - 2.0**-5))
        error = np.where(edge & (np.sign(got) == np.sign(high)), np.minimum(error, 1), error)
    error = np.where(np.isnan(got) | np.isnan(high), np.where(np.isnan(got) & np.isnan(high), 0, np.inf), error)
    return np.where(np.isinf(high) & (got == high), 0, error)


def held(points: np.ndarray, dtype: str) -> np.ndarray:
    """Which rows of numbers the dtype holds exactly."""
    form = FORMATS[dtype]
    sizes = np.abs(points).reshape(len(points), -1)
    fits = np.isinf(sizes) | (sizes <= form.largest) & ((sizes == 0) | (sizes >= form.smallest))
    with np.errstate(all="ignore"):
        steps = sizes / form.smallest
        fits &= np.isinf(sizes) | (sizes >= form.tiny * 256) | (steps == np.floor(steps))
    return fits.all(1)


def as_numpy(y: lm.Tensor) -> np.ndarray:
    return y.detach().astype("float64").numpy()


def unary_errors(name: str, dtype: str, mode: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The numbers, what was got, the truth, and the errors."""
    points, truth = unary_truth(name)
    chosen = held(points, dtype)
    x = lm.asarray(points[chosen]).astype(dtype)
    got = as_numpy(derived(operator(name), mode, [0] * len(mode))(x))
    wanted = truth[chosen][:, len(mode)]
    # Derivatives of a formula that nobody has looked at yet have zeros, beside which all digits are lost.
    return points[chosen], got, wanted, ulps(got, wanted, dtype, 1.0 if name in references.DESCRIBED else 0.0)


def binary_errors(
    name: str, dtype: str, mode: str, order: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    points, truth = binary_truth(name)
    chosen = held(points, dtype)
    a, b = (lm.asarray(np.ascontiguousarray(points[chosen][:, i])).astype(dtype) for i in range(2))
    variables = [0] * order[0] + [1] * order[1]
    got = as_numpy(derived(operator(name), mode, variables)(a, b))
    wanted = truth[order][chosen]
    return points[chosen], got, wanted, ulps(got, wanted, dtype)


def is_differentiable(name: str, i: int) -> bool:
    info = next((info for info in lm._C.operators() if info["name"] == name), None)
    return info is None or not info.get("elementwise") or bool(info["differentiable"][i])
