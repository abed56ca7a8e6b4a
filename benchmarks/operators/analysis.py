"""Numerical derivatives, positions, runs, histograms and quantiles beside NaN."""

from __future__ import annotations

from benchmarks.operators.rows import Case, Row, case, integers, normal

_MATRICES: tuple[Case, ...] = (
    case("32x32", x=normal(32, 32)),
    case("1000x1000", x=normal(1000, 1000)),
    case("1000x1000 transposed", x=normal(1000, 1000, view="x.mT")),
)
_GRADIENTS = (*_MATRICES, case("1000x1000, gradient", wants="x", x=normal(1000, 1000)))
_VALUES: tuple[Case, ...] = (case("1 thousand", x=normal(1000)), case("1 million", x=normal(1000000)))
_PLACES: tuple[Case, ...] = (
    case("1 thousand", i=integers(1000, 1000)),
    case("1 million", i=integers(1000000, 1000000)),
)
_RUNS: tuple[Case, ...] = (
    case("1 thousand", x=integers(2, 1000)),
    case("1 million", x=integers(2, 1000000)),
)
_POINTS: tuple[Case, ...] = (case("100 points", x=normal(100, 2)), case("100000 points", x=normal(100000, 2)))

ROWS: tuple[Row, ...] = (
    Row("gradient", "lm.gradient(x, axis=1)[0]", "torch.gradient(x, dim=1)[0]", _GRADIENTS),
    Row("frexp", "lm.frexp(x)[0]", "torch.frexp(x)[0]", _GRADIENTS),
    Row("unravel_index", "lm.unravel_index(i, (1000, 1000))[0]", "torch.unravel_index(i, (1000, 1000))[0]", _PLACES),
    Row("ravel_multi_index", "lm.ravel_multi_index((i, i), (2**20, 2**20))", "i * 2**20 + i", _PLACES),
    Row("unique_consecutive", "lm.unique_consecutive(x)", "torch.unique_consecutive(x)", _RUNS),
    Row("histc", "lm.histc(x, 100, -3, 3)", "torch.histc(x, 100, -3, 3)", _VALUES),
    Row(
        "histogramdd",
        "lm.histogramdd(x, [10, 10], range=[-3, 3, -3, 3])[0]",
        "torch.histogramdd(x, [10, 10], range=[-3, 3, -3, 3])[0]",
        _POINTS,
    ),
    Row("nanquantile", "lm.nanquantile(x, 0.3, 1)", "torch.nanquantile(x, 0.3, 1)", _MATRICES),
    Row("percentile", "lm.percentile(x, 30.0, 1)", "torch.quantile(x, 0.3, 1)", _MATRICES),
    Row("nanpercentile", "lm.nanpercentile(x, 30.0, 1)", "torch.nanquantile(x, 0.3, 1)", _MATRICES),
)
