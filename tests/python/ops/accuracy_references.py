"""What every operator of real numbers is, in 90 digits: the references of the accuracy tests.

A reference is a function of jets (see ``jets.py``), one for each operand, so that it has all derivatives up to the
third. What an operator's documentation says of a kink or a tie is in the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mpmath as mp

from . import jets
from .jets import Jet
from .samples import ELEMENTWISE, Operator

Reference = Callable[..., Jet]
HALF_PI = mp.pi / 2


def isnan(x: Jet) -> bool:
    return bool(mp.isnan(x.value))


def pick(condition: bool, a: Any, b: Any) -> Any:
    return a if condition else b


def zero(x: Jet) -> Jet:
    return x.constant(0)


def step(value: Callable[[Any], Any]) -> Reference:
    """A function that is constant but for its jumps."""
    return lambda x: x.constant(value(x.value))


def sign_of(u: Any) -> int:
    return (u > 0) - (u < 0)


def absolute(x: Jet) -> Jet:
    return x * sign_of(x.value)


def rounded_even(u: Any) -> Any:
    down = mp.floor(u)
    rest = u - down
    if rest != 0.5:
        return down + (rest > 0.5)
    return down + (down % 2)


def truncated(u: Any) -> Any:
    return mp.floor(u) if u >= 0 else mp.ceil(u)


def sinc(x: Jet) -> Jet:
    return sine_ratio(x * mp.pi)


def sine_ratio(x: Jet) -> Jet:
    """sin(x) / x."""
    if abs(x.value) < 1e-4:
        return jets.series(lambda k: mp.mpf(0) if k % 2 else (-1) ** (k // 2) / mp.factorial(k + 1), 16)(x)
    return jets.sin(x) / x


def logaddexp(a: Jet, b: Jet) -> Jet:
    if a.value >= b.value:
        return a + jets.softplus(b - a)
    return b + jets.softplus(a - b)


def logaddexp2(a: Jet, b: Jet) -> Jet:
    ln2 = mp.log(2)
    return logaddexp(a * ln2, b * ln2) * (1 / ln2)


def atan2(a: Jet, b: Jet) -> Jet:
    if a.value == 0 and b.value == 0:
        return a.constant(0)
    if abs(a.value) <= abs(b.value):
        turned = 0 if b.value > 0 else (mp.pi if a.value >= 0 else -mp.pi)
        return jets.atan(a / b) + turned
    return -jets.atan(b / a) + (HALF_PI if a.value > 0 else -HALF_PI)


def hypot(a: Jet, b: Jet) -> Jet:
    if a.value == 0 and b.value == 0:
        return a.constant(0)
    return jets.sqrt(a * a + b * b)


def maximum(a: Jet, b: Jet) -> Jet:
    return (a + b) * 0.5 if a.value == b.value else pick(a.value > b.value, a, b)


def minimum(a: Jet, b: Jet) -> Jet:
    return (a + b) * 0.5 if a.value == b.value else pick(a.value < b.value, a, b)


def xlogy(a: Jet, b: Jet) -> Jet:
    return a.constant(0) if a.value == 0 and b.value <= 0 else a * jets.log(b)


def clip(x: Jet, low: Any, high: Any) -> Jet:
    if low <= x.value <= high:
        return x
    return x.constant(low if x.value < low else high)


def gelu(x: Jet) -> Jet:
    return x * jets.erfc(x * (-mp.sqrt(0.5))) * 0.5


def gelu_tanh(x: Jet) -> Jet:
    # (1 + tanh(z)) / 2 is sigmoid(2 z).
    return x * jets.sigmoid((x + x * x * x * mp.mpf("0.044715")) * (2 * mp.sqrt(2 / mp.pi)))


def mish(x: Jet) -> Jet:
    e = jets.exp(x)
    if x.value > 1000:
        return x
    n = e * (e + 2)
    return x * (n / (n + 2))


def softsign(x: Jet) -> Jet:
    return x / (absolute(x) + 1) if x.value != 0 else x


digamma = jets.lifted(lambda u: [mp.psi(k, u) for k in range(4)])
lgamma = jets.lifted(
    lambda u: [mp.log(abs(mp.gamma(u))) if u < 1e6 else mp.loggamma(u), *(mp.psi(k, u) for k in range(3))]
)


def zeta(s: float) -> Reference:
    def derivatives(u: Any) -> list[Any]:
        out, factor = [], mp.mpf(1)
        for k in range(4):
            out.append(factor * mp.zeta(s + k, u))
            factor *= -(s + k)
        return out

    return jets.lifted(derivatives)


def _erfinv(u: Any) -> list[Any]:
    y = mp.erfinv(u)
    first = mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return [y, first, 2 * y * first**2, first**3 * (2 + 8 * y * y)]


def _bessel(function: Callable[[Any, Any], Any], n: int, signs: tuple[int, int]) -> Reference:
    """J, Y, I or K of order n, whose derivative is (signs[0] f_{n-1} + signs[1] f_{n+1}) / 2."""

    def derivatives(u: Any) -> list[Any]:
        orders = {m: function(m, u) for m in range(n + 4)}
        mirrored = signs == (1, -1)  # J and Y: f_-m is (-1)^m f_m

        def of(m: int) -> Any:
            return orders[m] if m >= 0 else (orders[-m] * ((-1) ** m if mirrored else 1))

        out = []
        combination = {n: mp.mpf(1)}
        for _ in range(4):
            out.append(mp.fsum(c * of(m) for m, c in combination.items()))
            following: dict[int, Any] = {}
            for m, c in combination.items():
                following[m - 1] = following.get(m - 1, 0) + c * signs[0] / mp.mpf(2)
                following[m + 1] = following.get(m + 1, 0) + c * signs[1] / mp.mpf(2)
            combination = following
        return out

    return jets.lifted(derivatives)


bessel_j0 = _bessel(mp.besselj, 0, (1, -1))
bessel_j1 = _bessel(mp.besselj, 1, (1, -1))
bessel_y0 = _bessel(mp.bessely, 0, (1, -1))
bessel_y1 = _bessel(mp.bessely, 1, (1, -1))
bessel_i0 = _bessel(mp.besseli, 0, (1, 1))
bessel_i1 = _bessel(mp.besseli, 1, (1, 1))
bessel_k0 = _bessel(mp.besselk, 0, (-1, -1))
bessel_k1 = _bessel(mp.besselk, 1, (-1, -1))


def decayed(function: Reference) -> Reference:
    """exp(-|x|) f(x)."""
    return lambda x: function(x) * jets.exp(-absolute(x)) if x.value != 0 else _decayed_at_zero(function, x)


def _decayed_at_zero(function: Reference, x: Jet) -> Jet:
    # |x| has the derivative 0 there.
    return function(x)


def airy(x: Jet) -> Jet:
    u = x.value
    ai, slope = mp.airyai(u), mp.airyai(u, derivative=1)
    return x.compose([ai, slope, u * ai, ai + u * slope])


def _erfcx(u: Any) -> list[Any]:
    y, c = mp.exp(u * u) * mp.erfc(u), 2 / mp.sqrt(mp.pi)
    return [y, 2 * u * y - c, (2 + 4 * u * u) * y - 2 * u * c, (12 * u + 8 * u**3) * y - (4 + 4 * u * u) * c]


erfcx = jets.lifted(_erfcx)


def ndtr(x: Jet) -> Jet:
    return jets.erfc(x * (-mp.sqrt(0.5))) * 0.5


def ndtri(x: Jet) -> Jet:
    # The tail of small shares is found where erfc has its digits: Newton's method from mpmath's float.
    p = x.value
    y = _ndtri(p)
    first = mp.sqrt(2 * mp.pi) * mp.exp(y * y / 2)
    return x.compose([y, first, y * first**2, first**3 * (1 + 2 * y * y)])


def _ndtri(p: Any) -> Any:
    if p > 0.5:
        return -_ndtri(1 - p)
    if p == 0.5:
        return mp.mpf(0)
    t = mp.sqrt(-2 * mp.log(p))
    y = -t if p < 0.1 else mp.mpf(-0.5)
    for _ in range(60):
        f = mp.log(mp.erfc(-y / mp.sqrt(2)) / 2) - mp.log(p)
        slope = mp.exp(-y * y / 2) / mp.sqrt(2 * mp.pi) / (mp.erfc(-y / mp.sqrt(2)) / 2)
        change = f / slope
        y -= change
        if abs(change) < mp.mpf(10) ** -70:
            break
    return y


def log_ndtr(x: Jet) -> Jet:
    return jets.log(ndtr(x)) if x.value < 6 else jets.log1p(-(jets.erfc(x * mp.sqrt(0.5)) * 0.5))


def entr(x: Jet) -> Jet:
    if x.value < 0:
        return x.constant(mp.ninf)
    return -(x * jets.log(x))


def leaky(x: Jet, slope: Any) -> Jet:
    return x if x.value > 0 else x * slope


ALPHA = mp.mpf("1.6732632423543772848170429916717")
SCALE = mp.mpf("1.0507009873554804934193349852946")


def elu(x: Jet, alpha: Any = 1) -> Jet:
    return x if x.value > 0 else jets.expm1(x) * alpha


def smooth_l1(a: Jet, b: Jet) -> Jet:
    d = a - b
    return d * d * 0.5 if abs(d.value) < 1 else absolute(d) - 0.5


def log_loss(p: Jet, t: Jet) -> Jet:
    one = p.constant(1)
    return -(t * jets.log(p) + (one - t) * jets.log1p(-p))


def fraction(x: Jet) -> Jet:
    return x - truncated(x.value)


def remainder(a: Jet, b: Jet) -> Jet:
    return a - b * mp.floor(a.value / b.value)


def fmod(a: Jet, b: Jet) -> Jet:
    return a - b * truncated(a.value / b.value)


LN2 = mp.log(2)
LN10 = mp.log(10)

#: Operators of one number.
UNARY: dict[str, Reference] = {
    "negative": lambda x: -x,
    "abs": absolute,
    "sign": step(sign_of),
    "square": lambda x: x * x,
    "reciprocal": jets.reciprocal,
    "sqrt": jets.sqrt,
    "rsqrt": jets.rsqrt,
    "exp": jets.exp,
    "exp2": lambda x: jets.exp(x * LN2),
    "expm1": jets.expm1,
    "log": jets.log,
    "log1p": jets.log1p,
    "log2": lambda x: jets.log(x) * (1 / LN2),
    "log10": lambda x: jets.log(x) * (1 / LN10),
    "sin": jets.sin,
    "cos": jets.cos,
    "tan": jets.tan,
    "asin": jets.asin,
    "acos": jets.acos,
    "atan": jets.atan,
    "sinh": jets.sinh,
    "cosh": jets.cosh,
    "tanh": jets.tanh,
    "asinh": jets.asinh,
    "acosh": jets.acosh,
    "atanh": jets.atanh,
    "erf": jets.erf,
    "erfc": jets.erfc,
    "erfinv": jets.lifted(_erfinv),
    "lgamma": lgamma,
    "digamma": digamma,
    "sinc": sinc,
    "floor": step(mp.floor),
    "ceil": step(mp.ceil),
    "trunc": step(truncated),
    "round": step(rounded_even),
    "frac": fraction,
    "angle": step(lambda u: mp.pi if u < 0 else mp.mpf(0)),
    "relu": lambda x: x if x.value > 0 else zero(x),
    "sigmoid": jets.sigmoid,
    "gelu_erf": gelu,
    "gelu_tanh": gelu_tanh,
    "selu": lambda x: elu(x, ALPHA) * SCALE,
    "tanhshrink": lambda x: x - jets.tanh(x),
    "silu": lambda x: x * jets.sigmoid(x),
    "mish": mish,
    "hardsigmoid": lambda x: x * (mp.mpf(1) / 6) + 0.5 if -3 < x.value < 3 else x.constant(int(x.value > 0)),
    "hardswish": lambda x: x if x.value >= 3 else zero(x) if x.value <= -3 else x * (x + 3) * (mp.mpf(1) / 6),
    "log_sigmoid": lambda x: -jets.softplus(-x),
    "softsign": softsign,
    # Special functions.
    "i0": bessel_i0,
    "i0e": decayed(bessel_i0),
    "i1": bessel_i1,
    "i1e": decayed(bessel_i1),
    "bessel_j0": bessel_j0,
    "bessel_j1": bessel_j1,
    "bessel_y0": bessel_y0,
    "bessel_y1": bessel_y1,
    "modified_bessel_k0": bessel_k0,
    "modified_bessel_k1": bessel_k1,
    "scaled_modified_bessel_k0": lambda x: bessel_k0(x) * jets.exp(x),
    "scaled_modified_bessel_k1": lambda x: bessel_k1(x) * jets.exp(x),
    "spherical_bessel_j0": sine_ratio,
    "airy_ai": airy,
    "erfcx": erfcx,
    "ndtr": ndtr,
    "ndtri": ndtri,
    "log_ndtr": log_ndtr,
    "logit": lambda x: jets.log(x) - jets.log1p(-x),
    "entr": entr,
    "deg2rad": lambda x: x * (mp.pi / 180),
    "rad2deg": lambda x: x * (180 / mp.pi),
    # With a setting, at its default.
    "leaky_relu": lambda x: leaky(x, mp.mpf(0.01)),
    "elu": elu,
    "celu": elu,
    "hardtanh": lambda x: x if -1 < x.value < 1 else x.constant(sign_of(x.value)),
    "hardshrink": lambda x: zero(x) if -0.5 <= x.value <= 0.5 else x,
    "softshrink": lambda x: zero(x) if -0.5 <= x.value <= 0.5 else x - 0.5 * sign_of(x.value),
    "softplus": lambda x: x if x.value > 20 else jets.softplus(x),
    "threshold": lambda x: x if x.value > -0.5 else x.constant(2),
    "clip_between": lambda x: clip(x, -1, 2),
    "replace_nonfinite": lambda x: x,
}

#: Operators of two numbers.
BINARY: dict[str, Reference] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "floor_divide": lambda a, b: a.constant(mp.floor(a.value / b.value)),
    "remainder": remainder,
    "fmod": fmod,
    "pow": lambda a, b: jets.exp(jets.log(a) * b),
    "atan2": atan2,
    "hypot": hypot,
    "logaddexp": logaddexp,
    "logaddexp2": logaddexp2,
    "xlogy": xlogy,
    "xlog1py": lambda a, b: a.constant(0) if a.value == 0 and b.value <= -1 else a * jets.log1p(b),
    "maximum": maximum,
    "minimum": minimum,
    "fmax": lambda a, b: pick(a.value >= b.value, a, b),
    "fmin": lambda a, b: pick(a.value <= b.value, a, b),
    "squared_difference": lambda a, b: (a - b) * (a - b),
    "smooth_l1": smooth_l1,
    "log_loss": log_loss,
    "copysign": lambda a, b: a * (sign_of(a.value) * (1 if b.value >= 0 else -1)),
    "zeta": lambda a, b: zeta(a.value)(b),
    "heaviside": lambda a, b: a.constant(0 if a.value < 0 else 1 if a.value > 0 else b.value),
}

#: Operators of three and four numbers.
MORE: dict[str, Reference] = {
    "lerp": lambda a, b, c: a + c * (b - a),
    "addcmul": lambda x, a, b, value: x + value * a * b,
    "addcdiv": lambda x, a, b, value: x + value * a / b,
}

#: Elementwise operators that compute nothing, or a product: they compare, choose, or handle bits.
EXACT = frozenset(
    {
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf", "isfinite"),
        *("signbit", "nextafter", "where", "masked_scale", "logical_and", "logical_or", "logical_xor", "logical_not"),
    }
)

#: numpy's functions by the names that operators' descriptions call them.
NUMPY = SimpleNamespace(
    **{
        name: getattr(jets, name)
        for name in ("exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "log", "log1p")
    },
    **{f"arc{name[1:]}": getattr(jets, name) for name in ("atan", "asin", "acos", "asinh", "acosh", "atanh")},
    abs=absolute,
    square=lambda x: x * x,
    pi=mp.pi,
)


def described(op: Operator) -> Reference:
    """What an operator of one number is by its own description, a formula of numpy's."""
    return lambda x: eval(op.reference or "", {"np": NUMPY, op.argument_names[0]: x})


#: Operators that no table lists: they are compared with their descriptions, where their samples come from.
DESCRIBED = {
    op.name: op
    for op in ELEMENTWISE
    if "float32" in op.dtypes and op.inputs == 1 and op.reference and op.name not in {*UNARY, *EXACT}
}
UNARY |= {name: described(op) for name, op in DESCRIBED.items()}
