"""Special functions: PyTorch has most of them in float32 and float64 only, and without a gradient."""

from __future__ import annotations

from benchmarks.operators.rows import Case, Row, case, uniform

SMALL, MILLION = (32, 32), (1000, 1000)

#: The range of the arguments; those that PyTorch differentiates too, and those that it does not.
_SMOOTH = {
    **dict.fromkeys(("i0", "i0e", "i1", "i1e", "log_ndtr"), (-10.0, 10.0)),
    "ndtri": (0.01, 0.99),
    "erfcx": (-2.0, 8.0),
}
_PLAIN = {
    **dict.fromkeys(("bessel_j0", "bessel_j1", "spherical_bessel_j0", "airy_ai"), (-20.0, 20.0)),
    **dict.fromkeys(("bessel_y0", "bessel_y1"), (0.1, 20.0)),
    **{f"{scaled}modified_bessel_k{n}": (0.1, 10.0) for scaled in ("", "scaled_") for n in (0, 1)},
}
_POLYNOMIALS = [
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
]


def _cases(low: float, high: float, *, gradient: bool = False) -> tuple[Case, ...]:
    cases = [
        case("1 thousand", a=uniform(low, high, *SMALL)),
        case("1 million", a=uniform(low, high, *MILLION)),
        case("1 million float64", a=uniform(low, high, *MILLION, dtype="float64")),
        case("1000x1000 transposed", a=uniform(low, high, *MILLION, view="x.mT")),
    ]
    if gradient:
        cases.append(case("1 million, gradient", wants="a", a=uniform(low, high, *MILLION)))
    return tuple(cases)


def _pairs() -> tuple[Case, ...]:
    return (
        case("1 thousand", a=uniform(0.1, 10.0, *SMALL), b=uniform(0.1, 10.0, *SMALL)),
        case("1 million", a=uniform(0.1, 10.0, *MILLION), b=uniform(0.1, 10.0, *MILLION)),
        case("1 million of float64", **{x: uniform(0.1, 10.0, *MILLION, dtype="float64") for x in "ab"}),
        case("1 million, large", a=uniform(20.0, 200.0, *MILLION), b=uniform(20.0, 200.0, *MILLION)),
        case("1 million, gradient", wants="b", a=uniform(0.1, 10.0, *MILLION), b=uniform(0.1, 10.0, *MILLION)),
    )


def _same(op: str, arguments: str, cases: tuple[Case, ...]) -> Row:
    return Row(op, f"lm.{op}({arguments})", f"torch.special.{op}({arguments})", cases, tolerance=1e-2)


ROWS: tuple[Row, ...] = (
    *(_same(op, "a", _cases(*limits, gradient=True)) for op, limits in _SMOOTH.items()),
    *(_same(op, "a", _cases(*limits)) for op, limits in _PLAIN.items()),
    *(_same(op, "a, b", _pairs()) for op in ("gammainc", "gammaincc")),
    *(_same(op, "a, 5", _cases(0.0, 1.0)) for op in _POLYNOMIALS),
)
