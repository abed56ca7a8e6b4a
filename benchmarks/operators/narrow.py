"""Long matrices of a few columns: what is done once for each row takes longer than the row."""

from __future__ import annotations

from benchmarks.operators.rows import Case, Input, Row, case, integers, mask, normal

_SHAPES = ((133333, 3), (50000, 8), (40000, 10), (12000, 33))
#: Operators, with x and y of such a shape, a row r and a column c of x, a matrix w for its rows, and numbers: k of
#: columns, one for each row, and i of rows; n is like x of integers, s of int8, h of bfloat16, f of float16, z of
#: complex numbers, and b of bools.
_CALLS: dict[str, tuple[tuple[str, str], ...]] = {
    "add": (("x + y[1]", "x + y[1]"), ("x + c", "x + c")),
    "less": (("lm.less(x, r)", "torch.less(x, r)"), ("lm.less(x, c)", "torch.less(x, c)")),
    "where": (("lm.where(c > 0, x, r)", "torch.where(c > 0, x, r)"),),
    "multiply": (("x[:, 1:] * 2", "x[:, 1:] * 2"), ("x[:, 1] * 2", "x[:, 1] * 2"), ("x[:, ::2] * 2", "x[:, ::2] * 2")),
    "contiguous": (("x.mT.contiguous()", "x.mT.contiguous()"),),
    "sum": (("lm.sum(x, axis=0)", "torch.sum(x, 0)"), ("lm.sum(x, axis=1)", "torch.sum(x, 1)"),
            ("lm.sum(h, axis=0)", "torch.sum(h, 0)")),
    "max": (("lm.max(x, axis=0)", "torch.amax(x, 0)"), ("lm.max(x, axis=1)", "torch.amax(x, 1)")),
    "var": (("lm.var(x, axis=0, correction=1.0)", "torch.var(x, 0)"),),
    "argmax": (("lm.argmax(x, axis=1)", "torch.argmax(x, 1)"),),
    "cumsum": (("lm.cumsum(x, axis=1)", "torch.cumsum(x, 1)"), ("lm.cumsum(x, axis=0)", "torch.cumsum(x, 0)"),
               ("lm.cumsum(n, axis=0)", "torch.cumsum(n, 0)"), ("lm.cumsum(h, axis=1)", "torch.cumsum(h, 1)"),
               ("lm.cumsum(f, axis=1)", "torch.cumsum(f, 1)"), ("lm.cumsum(z, axis=1)", "torch.cumsum(z, 1)")),
    "cumprod": (("lm.cumprod(x, axis=0)", "torch.cumprod(x, 0)"), ("lm.cumprod(f, axis=1)", "torch.cumprod(f, 1)")),
    "cummax": (("lm.cummax(x, axis=0)[0]", "torch.cummax(x, 0)[0]"),),
    "softmax": (("lm.softmax(x, 1)", "F.softmax(x, 1)"), ("lm.softmax(x, 0)", "F.softmax(x, 0)")),
    "layer_norm": (("lm.layer_norm(x, r.shape, r, r)", "F.layer_norm(x, r.shape, r, r)"),),
    "sort": (("lm.sort(x, axis=1)", "torch.sort(x, 1)[0]"),),
    "argsort": (("lm.argsort(b, axis=0)", "torch.argsort(b, dim=0, stable=True)"),
                ("lm.argsort(b, axis=1)", "torch.argsort(b, dim=1, stable=True)")),
    "topk": (("lm.topk(n, 2, axis=0)[0]", "torch.topk(n, 2, 0)[0]"),
             ("lm.topk(n, 2, axis=1)[0]", "torch.topk(n, 2, 1)[0]"),
             ("lm.topk(f, 2, axis=0)[0]", "torch.topk(f, 2, 0)[0]"),
             ("lm.topk(s, 2, axis=0)[0]", "torch.topk(s, 2, 0)[0]")),
    "unique_values": (("lm.unique_values(b)", "torch.unique(b)"),),
    "matmul": (("x @ w", "x @ w"), ("x.mT @ y", "x.mT @ y"), ("x @ r", "x @ r")),
    "vecdot": (("lm.vecdot(x, y)", "torch.linalg.vecdot(x, y)"),
               ("lm.vecdot(x, y, axis=0)", "torch.linalg.vecdot(x, y, dim=0)")),
    "einsum": (("lm.einsum('ij,ij->i', x, y)", "torch.einsum('ij,ij->i', x, y)"),),
    "cdist": (("lm.cdist(x[:1000], y[:1000])", "torch.cdist(x[:1000], y[:1000])"),),
    "gather": (("lm.gather(x, 1, k[:, None])", "torch.gather(x, 1, k[:, None])"),),
    "scatter_add": (("lm.scatter_add(x, 1, k[:, None], c)", "torch.scatter_add(x, 1, k[:, None], c)"),),
    "take": (("lm.take(x, i, axis=0)", "torch.index_select(x, 0, i)"),),
    "embedding": (("lm.embedding(k, w)", "F.embedding(k, w)"),),
    "index_add": (("lm.index_add(w, 0, k, x)", "torch.index_add(w, 0, k, x)"),),
    "one_hot": (("lm.one_hot(k, len(w))", "F.one_hot(k, len(w))"),),
    "cross_entropy": (("lm.cross_entropy(x, k)", "F.cross_entropy(x, k)"),),
    "concat": (("lm.concat([x, y], axis=1)", "torch.cat([x, y], 1)"),),
    "stack": (("lm.stack([x, y], axis=2)", "torch.stack([x, y], 2)"),),
    "pad": (("lm.pad(x, (1, 1))", "F.pad(x, (1, 1))"),),
    "diff": (("lm.diff(x, axis=1)", "torch.diff(x, dim=1)"),),
    "roll": (("lm.roll(x, 1, axis=1)", "torch.roll(x, 1, 1)"),),
    "flip": (("lm.flip(x, axis=1)", "torch.flip(x, (1,))"),),
    "tril": (("lm.tril(x)", "torch.tril(x)"),),
}  # fmt: skip


def _operands(rows: int, columns: int) -> dict[str, Input]:
    return {
        "x": normal(rows, columns),
        "y": normal(rows, columns),
        "r": normal(columns),
        "c": normal(rows, 1),
        "w": normal(columns, columns),
        "k": integers(columns, rows),
        "i": integers(rows, rows),
        "n": integers(9, rows, columns),
        "s": integers(50, rows, columns, dtype="int8"),
        "h": normal(rows, columns, dtype="bfloat16"),
        "f": normal(rows, columns, dtype="float16"),
        "z": normal(rows, columns, dtype="complex64"),
        "b": mask(rows, columns),
    }


def _cases(ours: str) -> tuple[Case, ...]:
    def used(operands: dict[str, Input]) -> dict[str, Input]:
        words = "".join(letter if letter.isalnum() or letter in "._" else " " for letter in ours).split()
        return {name: value for name, value in operands.items() if any(w.split(".")[0] == name for w in words)}

    return tuple(case(f"{rows}x{columns}", **used(_operands(rows, columns))) for rows, columns in _SHAPES)


def _tolerance(ours: str) -> float:
    return 1e-2 if "(h," in ours or "(f," in ours else 1e-3


ROWS: tuple[Row, ...] = tuple(
    Row(op, ours, theirs, _cases(ours), tolerance=_tolerance(ours))
    for op, calls in _CALLS.items()
    for ours, theirs in calls
)
