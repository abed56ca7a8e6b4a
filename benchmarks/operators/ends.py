"""Arguments at the ends of a function's domain and beyond, and dtypes and layouts that kernels could have forgotten."""

from __future__ import annotations

from benchmarks.operators.rows import Input, Row, case, integers, normal, uniform

_SIZE = 200_000
#: Functions that have no value for half of all normal numbers, or none for larger ones.
_LIMITED = ("log", "log2", "log10", "log1p", "asin", "acos", "acosh", "atanh", "logit")
#: Functions that leave the range of numbers, or end in a constant: a mask of large numbers under an exponential.
_STEEP = ("exp", "exp2", "expm1", "erfc", "sigmoid")


def _row(op: str, call: str, label: str, **inputs: Input) -> Row:
    """Returns a call that is written in the same way for both."""
    return Row(op, f"lm.{call}", f"torch.{call}", (case(label, **inputs),), tolerance=1e-3)


_DOMAINS = tuple(
    _row(op, f"{op}(x)", f"normal, {dtype}", x=normal(_SIZE, dtype=dtype))
    for op in _LIMITED
    for dtype in ("float32", "float64", "bfloat16")
)
_OVERFLOWS = tuple(
    _row(op, f"{op}(x)", f"from -1e5, {dtype}", x=uniform(-1e5, 50, _SIZE, dtype=dtype))
    for op in _STEEP
    for dtype in ("float32", "float64")
)
_POWERS = tuple(
    _row("pow", "pow(x, y)", f"normal, {dtype}", x=normal(_SIZE, dtype=dtype), y=normal(_SIZE, dtype=dtype))
    for dtype in ("float32", "float64")
)
_GAMMA = tuple(
    _row("lgamma", "lgamma(x)", label, x=x)
    for label, x in (
        ("normal, float64", normal(_SIZE, dtype="float64")),
        ("-30 to 0, float64", uniform(-30, 0, _SIZE, dtype="float64")),
    )
)
#: Functions that pass positive numbers as they are.
_POSITIVE = tuple(
    Row(op, f"lm.nn.functional.{op}(x)", f"F.{op}(x)", (case("positive", x=uniform(0.0, 1.0, 2 * _SIZE)),))
    for op in ("elu", "selu", "celu", "leaky_relu", "softplus")
)
#: Fewer elements than two shares of a thread in full.
_BETWEEN = tuple(
    _row(op, f"{op}({arguments})", f"40 thousand, {dtype}", a=uniform(0.1, 1.0, 40_000, dtype=dtype))
    for op, arguments in (("add", "a, a"), ("exp", "a"), ("sqrt", "a"), ("relu", "a"))
    for dtype in ("float32", "float64")
)
#: Functions of fewer doubles than are worth a second thread where they are only added.
_DOUBLES = tuple(
    _row(op, f"{op}(a)", "20 thousand, float64", a=uniform(0.1, 0.9, 20_000, dtype="float64"))
    for op in (
        *("exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"),
        *("tanh", "asinh", "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma", "sigmoid", "sqrt", "rsqrt", "sinc"),
    )
)

_COMPLEX = tuple(
    Row(op, ours, theirs, (case("600x700, complex64", x=normal(600, 700, dtype="complex64")),), tolerance=1e-3)
    for op, ours, theirs in (
        ("sum", "lm.sum(x, axis=0)", "torch.sum(x, 0)"),
        ("sum", "lm.sum(x, axis=1)", "torch.sum(x, 1)"),
        ("prod", "lm.prod(x / 2, axis=1)", "torch.prod(x / 2, 1)"),
        ("prod", "lm.prod(x / 2, axis=0)", "torch.prod(x / 2, 0)"),
        ("astype", "x.astype(lm.bool)", "x.to(torch.bool)"),
    )
)
_INTEGERS = tuple(
    _row(op, call, "200000, int8", x=integers(50, _SIZE, dtype="int8", low=-50))
    for op, call in (("floor", "floor(x)"), ("round", "round(x)"), ("isnan", "isnan(x)"), ("square", "square(x)"))
)
_CASTS = tuple(
    Row("astype", f"x{view}.astype(lm.{to})", f"x{view}.to(torch.{to})", (case("600x700", x=normal(600, 700)),))
    for to in ("float64", "bfloat16", "bool", "int64")
    for view in (".mT", "[:, 1::2]", "[:, :40]")
) + tuple(
    Row(
        "astype",
        "x.astype(lm.bfloat16)",
        "x.to(torch.bfloat16)",
        (case(f"600x700, {of}", x=integers(9, 600, 700, dtype=of)),),
    )
    for of in ("int32", "uint8")
)
_WIDE = tuple(
    Row(
        "sum",
        "lm.sum(x, axis=0)",
        "torch.sum(x, 0)",
        (case(f"600x700, {of}", x=normal(600, 700, dtype=of)),),
        tolerance=2e-2,
    )
    for of in ("float64", "bfloat16")
)
_SLABS = tuple(
    Row(
        "sum",
        "lm.sum(x, axis=1)",
        "torch.sum(x, 1)",
        (case("x".join(map(str, shape)), x=normal(*shape)),),
        tolerance=1e-3,
    )
    for shape in ((2000, 40, 5), (2000, 20, 9), (4000, 10, 7), (1000, 200, 3))
)
_LONG = (Row("pad", "lm.pad(x, (1, 1))", "F.pad(x, (1, 1))", (case("1 million", x=normal(1_000_000)),)),)

ROWS: tuple[Row, ...] = (
    *_DOMAINS,
    *_OVERFLOWS,
    *_POWERS,
    *_GAMMA,
    *_POSITIVE,
    *_BETWEEN,
    *_DOUBLES,
    *_COMPLEX,
    *_INTEGERS,
    *_CASTS,
    *_WIDE,
    *_SLABS,
    *_LONG,
)
