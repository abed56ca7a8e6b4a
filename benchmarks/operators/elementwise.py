"""Elementwise operators: in three sizes, several dtypes, transposed, strided, broadcast, with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.operators.rows import GOAL, Case, Row, case, integers, mask, normal, uniform

#: A thousand, 64 thousand, 4 million elements.
SMALL, MEDIUM, LARGE = (32, 32), (256, 256), (2000, 2000)
_MILLION = (1000, 1000)


def _inputs(
    count: int, shape: tuple[int, ...], low: float, high: float, dtype: str = "float32", view: str = ""
) -> dict[str, Any]:
    return {name: uniform(low, high, *shape, dtype=dtype, view=view) for name in "abc"[:count]}


def _floating(count: int, low: float, high: float, *, gradient: bool = True, goal: float = GOAL) -> tuple[Case, ...]:
    cases = [
        case("1 thousand", **_inputs(count, SMALL, low, high)),
        case("64 thousand", **_inputs(count, MEDIUM, low, high)),
        case("4 million", goal=goal, **_inputs(count, LARGE, low, high)),
        case("1 million float64", **_inputs(count, _MILLION, low, high, "float64")),
        case("1 million bfloat16", **_inputs(count, _MILLION, low, high, "bfloat16")),
        case("1000x1000 transposed", **_inputs(count, _MILLION, low, high, view="x.mT")),
        case("1000x1000 every second", **_inputs(count, (1000, 2000), low, high, view="x[..., ::2]")),
    ]
    if count == 2:
        row: dict[str, Any] = {"a": uniform(low, high, *_MILLION), "b": uniform(low, high, 1000)}
        column: dict[str, Any] = {"a": uniform(low, high, 1000, 1), "b": uniform(low, high, *_MILLION)}
        mixed: dict[str, Any] = {"a": uniform(low, high, *_MILLION), "b": uniform(low, high, *_MILLION, view="x.mT")}
        cases += [case("1000x1000 and a row", **row), case("a column and 1000x1000", **column)]
        cases += [case("1000x1000 and transposed", **mixed)]
    if gradient:
        wanted = " ".join("abc"[:count])
        cases.append(case("1 million, gradient", wants=wanted, **_inputs(count, _MILLION, low, high)))
    return tuple(cases)


def _integral(count: int, dtypes: Sequence[str] = ("int64", "int32", "uint8")) -> tuple[Case, ...]:
    cases = []
    for dtype in dtypes:
        drawn: dict[str, Any] = {name: integers(9, *_MILLION, dtype=dtype, low=1) for name in "abc"[:count]}
        cases.append(case(f"1 million {dtype}", **drawn))
    return tuple(cases)


def _complex(count: int) -> tuple[Case, ...]:
    drawn: dict[str, Any] = {name: normal(*_MILLION, dtype="complex64") for name in "abc"[:count]}
    return (case("1 million complex64", **drawn),)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: The arguments' range, where a function has no value, or no representative one, outside.
_RANGES = {
    **dict.fromkeys(("log", "log2", "log10", "rsqrt", "sqrt", "reciprocal", "lgamma", "digamma"), (0.1, 4.0)),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv", "log1p"), (-0.9, 0.9)),
    "tan": (-1.2, 1.2),
    "acosh": (1.1, 4.0),
    "logit": (0.05, 0.95),
    "entr": (0.1, 3.0),
    "mvlgamma": (1.1, 4.0),
}
#: Goals for 4 million elements, as ratios to PyTorch's time.
_GOALS = {**dict.fromkeys(("relu", "exp", "tanh", "add", "multiply"), 1.05), "sigmoid": 0.3}

#: Unary ones that PyTorch has under the same name, with a gradient and without.
_SMOOTH = _names(
    "negative abs sign square reciprocal sqrt exp expm1 log log1p log2 log10 erf sin cos relu tanh sigmoid "
    "selu tan asin acos atan sinh cosh asinh acosh atanh exp2 rsqrt sinc erfc erfinv lgamma digamma frac "
    "deg2rad rad2deg logit "
)
_STEPS = _names("floor ceil trunc round isnan isinf isfinite isposinf isneginf isreal signbit logical_not ")
#: Functions of torch.nn.functional.
_ACTIVATIONS = {
    "gelu_erf": "F.gelu(a)",
    "gelu_tanh": "F.gelu(a, approximate='tanh')",
    "gelu": "F.gelu(a)",
    "tanhshrink": "F.tanhshrink(a)",
    "silu": "F.silu(a)",
    "mish": "F.mish(a)",
    "hardsigmoid": "F.hardsigmoid(a)",
    "hardswish": "F.hardswish(a)",
    "log_sigmoid": "F.logsigmoid(a)",
    "softsign": "F.softsign(a)",
    "leaky_relu": "F.leaky_relu(a)",
    "elu": "F.elu(a)",
    "celu": "F.celu(a)",
    "hardshrink": "F.hardshrink(a)",
    "softshrink": "F.softshrink(a)",
    "hardtanh": "F.hardtanh(a)",
    "softplus": "F.softplus(a)",
    "relu6": "F.relu6(a)",
}
_WITH_SETTINGS = {
    "threshold": ("lm.threshold(a, 0.5, 0.1)", "F.threshold(a, 0.5, 0.1)"),
    "clip_between": ("lm.clip_between(a, -0.5, 0.5)", "torch.clamp(a, -0.5, 0.5)"),
    "clip": ("lm.clip(a, -0.5, 0.5)", "torch.clamp(a, -0.5, 0.5)"),
    "positive": ("lm.positive(a)", "torch.positive(a)"),
    "nan_to_num": ("lm.nan_to_num(a)", "torch.nan_to_num(a)"),
    "replace_nonfinite": ("lm.replace_nonfinite(a, 0.0, 9.0)", "torch.nan_to_num(a, 0.0, 9.0, -9.0)"),
    "entr": ("lm.entr(a)", "torch.special.entr(a)"),
    "ndtr": ("lm.ndtr(a)", "torch.special.ndtr(a)"),
    "mvlgamma": ("lm.mvlgamma(a, 3)", "torch.mvlgamma(a, 3)"),
}
_BINARY = _names(
    "add subtract multiply divide maximum minimum atan2 logaddexp logaddexp2 hypot xlogy fmax fmin pow float_power "
)
_BINARY_STEPS = ["floor_divide", "remainder", "fmod", "copysign", "nextafter", "heaviside"]
_COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
_TORCH_NAMES = {"equal": "eq", "not_equal": "ne", "bitwise_invert": "bitwise_not"}
_LOGICAL = ["logical_and", "logical_or", "logical_xor"]
_BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]


def _same(op: str, count: int, cases: tuple[Case, ...]) -> Row:
    operands = ", ".join("abc"[:count])
    return Row(op, f"lm.{op}({operands})", f"torch.{_TORCH_NAMES.get(op, op)}({operands})", cases, tolerance=1e-2)


def _unary() -> list[Row]:
    rows = []
    for op in _SMOOTH:
        cases = _floating(1, *_RANGES.get(op, (-3.0, 3.0)), goal=_GOALS.get(op, GOAL))
        if op in ("negative", "abs", "sign", "square"):
            cases += _integral(1, ("int64", "int32"))
        if op in ("exp", "log", "sqrt", "abs", "tanh", "sin"):
            cases += _complex(1)
        rows.append(_same(op, 1, cases))
    rows += [_same(op, 1, _floating(1, -3.0, 3.0, gradient=False)) for op in _STEPS]
    rows += [
        Row(op, f"lm.{op}(a)", theirs, _floating(1, -3.0, 3.0), tolerance=1e-2) for op, theirs in _ACTIVATIONS.items()
    ]
    rows += [
        Row(op, ours, theirs, _floating(1, *_RANGES.get(op, (-3.0, 3.0))), tolerance=1e-2)
        for op, (ours, theirs) in _WITH_SETTINGS.items()
    ]
    rows.append(_same("bitwise_invert", 1, _integral(1)))
    rows += [_same(op, 1, _complex(1)) for op in ("real", "imag", "angle")]
    # torch.conj leaves the work to whoever reads the result.
    rows.append(Row("conj", "lm.conj(a)", "torch.conj_physical(a)", _complex(1), tolerance=1e-2))
    return rows


def _binary() -> list[Row]:
    rows = []
    for op in _BINARY:
        low = 0.2 if op in ("pow", "float_power", "atan2", "xlogy") else -3.0
        cases = _floating(2, low, 3.0, goal=_GOALS.get(op, GOAL))
        if op in ("add", "subtract", "multiply", "maximum", "minimum"):
            cases += _integral(2)
        if op in ("add", "multiply", "divide", "pow"):
            cases += _complex(2)
        rows.append(_same(op, 2, cases))
    rows += [_same(op, 2, _floating(2, 0.2, 3.0, gradient=False)) for op in _BINARY_STEPS[3:]]
    rows += [_same(op, 2, _floating(2, 0.2, 3.0, gradient=False) + _integral(2)) for op in _BINARY_STEPS[:3]]
    rows += [_same(op, 2, _floating(2, -3.0, 3.0, gradient=False) + _integral(2)) for op in _COMPARISONS]
    masks = (case("1 million", a=mask(*_MILLION), b=mask(*_MILLION)),)
    rows += [_same(op, 2, masks + _integral(2, ("int32",))) for op in _LOGICAL]
    rows += [_same(op, 2, _integral(2)) for op in (*_BITS, "gcd", "lcm")]
    # PyTorch has no other dtypes.
    wide = tuple(x for x in _floating(2, 1.2, 5.0, gradient=False) if "bfloat16" not in x.label)
    rows.append(Row("zeta", "lm.zeta(a, b)", "torch.special.zeta(a, b)", wide, tolerance=1e-2))
    rows.append(
        Row("xlog1py", "lm.xlog1py(a, b)", "torch.special.xlog1py(a, b)", _floating(2, 0.2, 3.0), tolerance=1e-2)
    )
    # In bfloat16 PyTorch rounds twice.
    squared = _floating(2, -3.0, 3.0)
    rows.append(Row("squared_difference", "lm.squared_difference(a, b)", "(a - b) ** 2", squared, tolerance=1e-2))
    logs = "-b * torch.log(a) - (1 - b) * torch.log1p(-a)"
    rows.append(Row("log_loss", "lm.log_loss(a, b)", logs, _floating(2, 0.05, 0.95), tolerance=1e-2))
    return rows


def _ternary() -> list[Row]:
    sizes = {"1 thousand": SMALL, "64 thousand": MEDIUM, "4 million": LARGE}
    choices = (
        *(case(label, c=mask(*shape), a=normal(*shape), b=normal(*shape)) for label, shape in sizes.items()),
        case("4 million and a number", c=mask(*LARGE), a=normal(*LARGE), b=0.0),
        case("1 million, gradient", wants="a b", c=mask(*_MILLION), a=normal(*_MILLION), b=normal(*_MILLION)),
        case("1000x1000 transposed", c=mask(*_MILLION), a=normal(*_MILLION, view="x.mT"), b=normal(*_MILLION)),
    )
    number = tuple(case(label, a=normal(*shape), b=normal(*shape)) for label, shape in sizes.items())
    three = _floating(3, -3.0, 3.0)
    scaled = tuple(
        case(label, a=normal(*shape), b=integers(9, *shape, dtype="int32")) for label, shape in sizes.items()
    )
    parts = (
        *(case(label, a=uniform(0.1, 3.0, *shape), b=uniform(-3.0, 3.0, *shape)) for label, shape in sizes.items()),
        case("1 million, gradient", wants="a b", a=uniform(0.1, 3.0, *_MILLION), b=uniform(-3.0, 3.0, *_MILLION)),
    )
    integer_power = tuple(case(label, a=uniform(0.1, 3.0, *shape)) for label, shape in sizes.items())
    return [
        Row("where", "lm.where(c, a, b)", "torch.where(c, a, b)", choices),
        Row("masked_scale", "lm.masked_scale(c, a, 1.25)", "torch.where(c, a * 1.25, 0.0)", choices),
        Row("lerp", "lm.lerp(a, b, c)", "torch.lerp(a, b, c)", three, tolerance=1e-2),
        Row("addcmul", "lm.addcmul(a, b, c, value=0.5)", "torch.addcmul(a, b, c, value=0.5)", three, tolerance=1e-2),
        Row(
            "addcdiv",
            "lm.addcdiv(a, b, c, value=0.5)",
            "torch.addcdiv(a, b, c, value=0.5)",
            _floating(3, 0.5, 3.0),
            tolerance=1e-2,
        ),
        Row("smooth_l1", "lm.smooth_l1(a, b, 1.0)", "F.smooth_l1_loss(a, b, reduction='none')", number),
        Row("isclose", "lm.isclose(a, b)", "torch.isclose(a, b)", number),
        Row("allclose", "lm.allclose(a, a)", "torch.allclose(a, a)", number, agrees=False),
        Row("prelu", "lm.prelu(a, b)", "F.prelu(a, b)", (case("1000x1000", a=normal(*_MILLION), b=normal(1000)),)),
        Row("ldexp", "lm.ldexp(a, b)", "torch.ldexp(a, b)", scaled),
        Row("complex", "lm.complex(a, b)", "torch.complex(a, b)", parts),
        Row("polar", "lm.polar(a, b)", "torch.polar(a, b)", parts, tolerance=1e-2),
        Row("polygamma", "lm.polygamma(1, a)", "torch.polygamma(1, a)", integer_power),
        Row("pow", "a ** 2", "a ** 2", integer_power),
        Row("pow", "a ** 3", "a ** 3", integer_power),
        Row("pow", "a ** 0.5", "a ** 0.5", integer_power),
        Row("pow", "a ** 2.5", "a ** 2.5", integer_power),
        Row("add", "a + 1.5", "a + 1.5", number),
        Row("multiply", "2.0 * a", "2.0 * a", number),
        Row("divide", "a / 3.0", "a / 3.0", number),
        Row("less", "a < 0.5", "a < 0.5", number),
    ]


def _in_place() -> list[Row]:
    """Over 4 million elements, over and over: only those that keep their argument in range."""
    unary = tuple(case("4 million", a=uniform(0.2, 0.8, *LARGE)) for _ in range(1))
    binary = (case("4 million", a=normal(*LARGE), b=normal(*LARGE)),)
    row = (case("2000x2000 and a row", a=normal(*LARGE), b=normal(2000)),)
    names = ["abs", "relu", "sigmoid", "tanh", "sin", "cos", "floor", "sqrt", "negative", "clip"]
    rows = [
        Row(f"{op}_", f"lm.{op}_(a{limits})", f"a.{torch}_({limits[2:]})", unary, agrees=False)
        for op, torch, limits in (
            (name, {"clip": "clamp"}.get(name, name), ", 0.1, 0.9" if name == "clip" else "") for name in names
        )
    ]
    names = ["add_", "sub_", "mul_"]
    rows += [Row(op, f"lm.{op}(a, b)", f"a.{op}(b)", binary + row, agrees=False) for op in names]
    rows.append(Row("div_", "lm.div_(a, 1.0)", "a.div_(1.0)", binary, agrees=False))
    rows.append(Row("copy_", "lm.copy_(a, b)", "a.copy_(b)", binary + row))
    rows.append(Row("fill_", "lm.fill_(a, 2.0)", "a.fill_(2.0)", unary))
    rows.append(Row("zero_", "lm.zero_(a)", "a.zero_()", unary))
    chosen = (case("4 million", a=normal(*LARGE), b=mask(*LARGE)),)
    rows.append(Row("masked_fill_", "lm.masked_fill_(a, b, 1.0)", "a.masked_fill_(b, 1.0)", chosen))
    rows.append(Row("add", "lm.add(a, b, out=a)", "torch.add(a, b, out=a)", binary, agrees=False))
    return rows


ROWS: tuple[Row, ...] = (*_unary(), *_binary(), *_ternary(), *_in_place())
