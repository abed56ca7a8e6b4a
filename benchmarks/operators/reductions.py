"""Reductions, scans, sorting and searching: over everything, and over each axis of several shapes."""

from __future__ import annotations

from benchmarks.operators.rows import GOAL, Case, Input, Row, case, integers, mask, normal, uniform


def _axes(*, goal: float = GOAL, whole: bool = True, gradient: bool = True, axes: bool = True) -> tuple[Case, ...]:
    cases = []
    if whole:
        cases += [
            case("1 thousand", x=normal(32, 32), axis=None),
            case("64 thousand", x=normal(256, 256), axis=None),
            case("4 million", goal=goal, x=normal(2000, 2000), axis=None),
        ]
    if not axes:
        return tuple(cases)
    cases += [
        case("32x32, axis 0", x=normal(32, 32), axis=0),
        case("32x32, axis 1", x=normal(32, 32), axis=1),
        case("4096x1024, axis 0", goal=goal, x=normal(4096, 1024), axis=0),
        case("4096x1024, axis 1", goal=goal, x=normal(4096, 1024), axis=1),
        case("64x256x256, axis 1", goal=goal, x=normal(64, 256, 256), axis=1),
        case("100000x8, axis 1", goal=goal, x=normal(100000, 8), axis=1),
        case("100000x8, axis 0", goal=goal, x=normal(100000, 8), axis=0),
        case("1024x4096 transposed, axis 0", goal=goal, x=normal(1024, 4096, view="x.mT"), axis=0),
        case("1024x4096 transposed, axis 1", goal=goal, x=normal(1024, 4096, view="x.mT"), axis=1),
        case("1000x2000 every second, axis 1", x=normal(1000, 2000, view="x[..., ::2]"), axis=1),
        case("1000x1000 float64, axis 0", x=normal(1000, 1000, dtype="float64"), axis=0),
        case("1000x1000 float64, axis 1", x=normal(1000, 1000, dtype="float64"), axis=1),
        case("1000x1000 bfloat16, axis 1", x=normal(1000, 1000, dtype="bfloat16"), axis=1),
    ]
    if gradient:
        cases.append(case("1000x1000, axis 1, gradient", wants="x", x=normal(1000, 1000), axis=1))
        cases.append(case("1000x1000, axis 0, gradient", wants="x", x=normal(1000, 1000), axis=0))
    return tuple(cases)


def _integral() -> tuple[Case, ...]:
    return (
        case("1000x1000 int64, axis 0", x=integers(100, 1000, 1000), axis=0),
        case("1000x1000 int64, axis 1", x=integers(100, 1000, 1000), axis=1),
        case("1000x1000 int32, axis 1", x=integers(100, 1000, 1000, dtype="int32"), axis=1),
    )


def _masks() -> tuple[Case, ...]:
    return (
        case("4 million bool", x=mask(2000, 2000), axis=None),
        case("2000x2000 bool, axis 0", x=mask(2000, 2000), axis=0),
        case("2000x2000 bool, axis 1", x=mask(2000, 2000), axis=1),
    )


def _scans(*, goal: float = GOAL, gradient: bool = True) -> tuple[Case, ...]:
    cases = [
        case("1 thousand", x=normal(1000), axis=0),
        case("1 million", goal=goal, x=normal(1000000), axis=0),
        case("1000x1000, axis 0", goal=goal, x=normal(1000, 1000), axis=0),
        case("1000x1000, axis 1", goal=goal, x=normal(1000, 1000), axis=1),
        case("64x256x64, axis 1", goal=goal, x=normal(64, 256, 64), axis=1),
        case("1000x1000 transposed, axis 1", goal=goal, x=normal(1000, 1000, view="x.mT"), axis=1),
        case("1000x1000 float64, axis 1", goal=goal, x=normal(1000, 1000, dtype="float64"), axis=1),
    ]
    if gradient:
        cases.append(case("1000x1000, axis 1, gradient", wants="x", x=normal(1000, 1000), axis=1))
    return tuple(cases)


def _orders(*, goal: float = GOAL) -> tuple[Case, ...]:
    return (
        case("1 thousand", goal=goal, x=normal(1000), axis=0),
        case("100 thousand", goal=goal, x=normal(100000), axis=0),
        case("1 million", goal=goal, x=normal(1000000), axis=0),
        case("1000x1000, axis 0", goal=goal, x=normal(1000, 1000), axis=0),
        case("1000x1000, axis 1", goal=goal, x=normal(1000, 1000), axis=1),
        case("10000x16, axis 1", goal=goal, x=normal(10000, 16), axis=1),
        case("1 million float64", goal=goal, x=normal(1000000, dtype="float64"), axis=0),
        case("1 million int64", goal=goal, x=integers(1 << 40, 1000000), axis=0),
        case("1 million int64 below 100", goal=goal, x=integers(100, 1000000), axis=0),
        case("1 million uint8", goal=goal, x=integers(256, 1000000, dtype="uint8"), axis=0),
    )


def _choices() -> tuple[Case, ...]:
    return (
        case("1 thousand", goal=1.0, x=normal(1000), k=10, axis=0),
        case("1 million, 10", goal=1.0, x=normal(1000000), k=10, axis=0),
        case("1 million, 10000", goal=1.0, x=normal(1000000), k=10000, axis=0),
        case("1000x1000, 10, axis 1", goal=1.0, x=normal(1000, 1000), k=10, axis=1),
        case("1000x1000, 300, axis 1", goal=1.0, x=normal(1000, 1000), k=300, axis=1),
        case("1000x1000, 10, axis 0", goal=1.0, x=normal(1000, 1000), k=10, axis=0),
        case("1000x1000, 10, axis 1, gradient", wants="x", x=normal(1000, 1000), k=10, axis=1),
    )


_ALL = "lm.{0}(x, axis=axis)", "torch.{0}(x, axis)"
#: Calls that PyTorch writes without an axis for all axes.
_EITHER = "torch.{0}(x) if axis is None else torch.{0}(x, axis)"


def _sum(op: str, *, goal: float = GOAL, extra: tuple[Case, ...] = ()) -> Row:
    return Row(op, _ALL[0].format(op), _ALL[1].format(op), _axes(goal=goal) + extra, tolerance=1e-2)


def _sums() -> list[Row]:
    either = {op: (_ALL[0].format(op), _EITHER.format(op)) for op in ("prod", "argmax", "argmin", "any", "all")}
    log_sum = "torch.logsumexp(x, tuple(range(x.ndim)) if axis is None else axis)"
    extremes = [
        Row(op, f"lm.{op}(x, axis=axis)", f"torch.a{op}(x, dim=() if axis is None else axis)", _axes() + _integral())
        for op in ("max", "min")
    ]
    return [
        _sum("sum", goal=1.0, extra=_integral()),
        _sum("mean"),
        _sum("nansum"),
        _sum("nanmean"),
        *(
            Row(op, f"lm.{op}(x, axis=axis)", f"torch.{op}(x, axis, correction=0)", _axes(), tolerance=1e-2)
            for op in ("var", "std")
        ),
        *(
            Row(op, f"lm.{op}(x, axis=axis)[0]", f"torch.{op}(x, axis, correction=0)[0]", _axes(), tolerance=1e-2)
            for op in ("var_mean", "std_mean")
        ),
        *extremes,
        Row("aminmax", "lm.aminmax(x, axis=axis)[0]", "torch.aminmax(x, dim=axis)[0]", _axes() + _integral()),
        Row("prod", *either["prod"], _axes(), tolerance=1e-2, agrees=False),
        *(Row(op, *either[op], _axes(gradient=False) + _integral()) for op in ("argmax", "argmin")),
        *(Row(op, *either[op], _axes(gradient=False) + _masks()) for op in ("any", "all")),
        Row("count_nonzero", _ALL[0].format("count_nonzero"), _ALL[1].format("count_nonzero"), _axes(gradient=False)),
        Row("logsumexp", _ALL[0].format("logsumexp"), log_sum, _axes(), tolerance=1e-2),
        Row(
            "linalg.vector_norm",
            "lm.linalg.vector_norm(x, axis=axis)",
            "torch.linalg.vector_norm(x, dim=axis)",
            _axes(),
            tolerance=1e-2,
        ),
    ]


def _scan_rows() -> list[Row]:
    call = "lm.{0}(x, axis)", "torch.{0}(x, axis)"
    named = "lm.{0}(x, axis=axis)", "torch.{1}(x, axis)"
    placed = (case("1000x1000", x=normal(1000, 1000), s=Input((1000,), "sorted")),)
    small = (case("1000x100, axis 1", x=uniform(0.9, 1.1, 1000, 100), axis=1),)
    return [
        Row("cumsum", call[0].format("cumsum"), call[1].format("cumsum"), _scans(goal=1.0), tolerance=1e-2),
        Row("cumulative_sum", named[0].format("cumulative_sum"), "torch.cumsum(x, axis)", _scans(), tolerance=1e-2),
        Row("cumprod", call[0].format("cumprod"), call[1].format("cumprod"), _scans(gradient=False), agrees=False),
        Row("cumprod", call[0].format("cumprod"), call[1].format("cumprod"), small),
        Row("cumulative_prod", "lm.cumulative_prod(x, axis=axis)", "torch.cumprod(x, axis)", small),
        Row("logcumsumexp", call[0].format("logcumsumexp"), call[1].format("logcumsumexp"), _scans(), tolerance=1e-2),
        *(
            Row(op, f"lm.{op}(x, axis)[0]", f"torch.{op}(x, axis)[0]", _scans(gradient=False))
            for op in ("cummax", "cummin")
        ),
        Row("diff", "lm.diff(x, axis=axis)", "torch.diff(x, dim=axis)", _scans(), tolerance=1e-2),
        *(
            Row(op, f"lm.{op}(x, axis=axis)", f"torch.{op}(x, dim=axis)", _scans(), tolerance=1e-2)
            for op in ("trapezoid", "cumulative_trapezoid")
        ),
        Row("trapezoid", "lm.trapezoid(x, s)", "torch.trapezoid(x, s)", placed, tolerance=1e-2),
    ]


def _sort_rows() -> list[Row]:
    whole = (
        case("1 million", x=normal(1000000), axis=0),
        case("1000x1000, axis 0", x=normal(1000, 1000), axis=0),
        case("1000x1000, axis 1", x=normal(1000, 1000), axis=1),
    )
    integral = (
        case("1 million of 100", x=integers(100, 1000000)),
        case("1 million", x=integers(1 << 40, 1000000)),
        case("1 million float32", x=normal(1000000)),
        case("1 thousand", x=integers(100, 1000)),
    )
    counts = (
        case("1 million below 100", x=integers(100, 1000000)),
        case("1 million below 1 million", x=integers(1000000, 1000000)),
        case("1 thousand", x=integers(100, 1000)),
    )
    weighted = (case("1 million below 100", x=integers(100, 1000000), w=normal(1000000)),)
    values = (case("1 million", x=normal(1000000)), case("1 thousand", x=normal(1000)))
    found = (
        case("1 million in 1 million", s=Input((1000000,), "sorted"), x=normal(1000000)),
        case("1 million in 100", s=Input((100,), "sorted"), x=normal(1000000)),
        case("1000x1000 in rows of 100", s=Input((1000, 100), "sorted"), x=normal(1000, 1000)),
    )
    members = (
        case("1 million in 1 thousand", x=integers(10000, 1000000), s=integers(10000, 1000)),
        case("1 million in 10", x=integers(100, 1000000), s=integers(100, 10)),
    )
    return [
        Row("sort", "lm.sort(x, axis=axis)", "torch.sort(x, dim=axis, stable=True)[0]", _orders(goal=1.0)),
        Row("argsort", "lm.argsort(x, axis=axis)", "torch.argsort(x, dim=axis, stable=True)", _orders(goal=1.0)),
        Row(
            "sort",
            "lm.sort(x, axis=axis, descending=True)",
            "torch.sort(x, dim=axis, descending=True, stable=True)[0]",
            whole,
        ),
        Row("topk", "lm.topk(x, k, axis)[0]", "torch.topk(x, k, axis)[0]", _choices()),
        Row("kthvalue", "lm.kthvalue(x, 300, axis)[0]", "torch.kthvalue(x, 300, axis)[0]", whole),
        Row("mode", "lm.mode(x, axis)[0]", "torch.mode(x, axis)[0]", whole),
        Row("median", "lm.median(x, axis)", "torch.median(x, axis)[0]", whole),
        Row("nanmedian", "lm.nanmedian(x, axis)", "torch.nanmedian(x, axis)[0]", whole),
        Row("quantile", "lm.quantile(x, 0.3, axis)", "torch.quantile(x, 0.3, axis)", whole),
        Row("unique_values", "lm.unique_values(x)", "torch.unique(x)", integral),
        Row("unique", "lm.unique(x, axis=0)", "torch.unique(x, dim=0)", (case("20000x8", x=integers(3, 20000, 8)),)),
        Row("unique_counts", "lm.unique_counts(x)[1]", "torch.unique(x, return_counts=True)[1]", integral),
        Row("unique_inverse", "lm.unique_inverse(x)[1]", "torch.unique(x, return_inverse=True)[1]", integral),
        Row(
            "unique_all",
            "lm.unique_all(x)[1]",
            "torch.from_numpy(np.unique(x.numpy(), return_index=True, return_inverse=True, return_counts=True)[1])",
            integral,
        ),
        Row("bincount", "lm.bincount(x)", "torch.bincount(x)", counts),
        Row("bincount", "lm.bincount(x, w)", "torch.bincount(x, w)", weighted, tolerance=1e-2, agrees=False),
        Row("histogram", "lm.histogram(x, 100, range=(-3, 3))[0]", "torch.histogram(x, 100, range=(-3, 3))[0]", values),
        Row("searchsorted", "lm.searchsorted(s, x)", "torch.searchsorted(s, x)", found),
        Row("bucketize", "lm.bucketize(x, s)", "torch.bucketize(x, s)", found[:2]),
        Row("isin", "lm.isin(x, s)", "torch.isin(x, s)", members),
        Row("nonzero", "lm.nonzero(x)[0]", "torch.nonzero(x, as_tuple=True)[0]", (*_nonzero(),)),
        Row(
            "nonzero_static",
            "lm.nonzero_static(x, size=1000)",
            "torch.nonzero_static(x, size=1000)",
            (*_nonzero(),),
        ),
        Row("argwhere", "lm.argwhere(x)", "torch.argwhere(x)", (*_nonzero(),)),
    ]


def _nonzero() -> tuple[Case, ...]:
    return (case("4 million", x=mask(2000, 2000)), case("1 thousand", x=mask(32, 32)))


ROWS: tuple[Row, ...] = (*_sums(), *_scan_rows(), *_sort_rows())
