"""Creation, random numbers, copies, shapes and indexing."""

from __future__ import annotations

from benchmarks.operators.rows import Case, Input, Row, case, integers, mask, normal, uniform

_VIEWS = (case("256x256", x=normal(256, 256)),)
_SHAPE = "(1000, 1000)"


def _sizes(*, small: bool = True) -> tuple[Case, ...]:
    cases = (case("1000x1000", shape=(1000, 1000)), case("2000x2000", shape=(2000, 2000)))
    return (case("32x32", shape=(32, 32)), *cases) if small else cases


def _creation() -> list[Row]:
    like = (case("2000x2000", x=normal(2000, 2000)),)
    counts = (case("1 thousand", n=1000), case("1 million", n=1000000))
    triangles = (
        case("1000x1000", x=normal(1000, 1000)),
        case("64x128x128", x=normal(64, 128, 128)),
        case("1000x1000 transposed", x=normal(1000, 1000, view="x.mT")),
    )
    diagonals = (
        case("1 thousand", x=normal(1000)),
        case("1 thousand, gradient", wants="x", x=normal(1000)),
        case("64x128", x=normal(64, 128)),
    )
    return [
        *(Row(op, f"lm.{op}(shape)", f"torch.{op}(shape)", _sizes()) for op in ("zeros", "ones")),
        Row("empty", "lm.empty(shape)", "torch.empty(shape)", _sizes(), agrees=False),
        Row("full", "lm.full(shape, 2.5)", "torch.full(shape, 2.5)", _sizes()),
        *(Row(op, f"lm.{op}(x)", f"torch.{op}(x)", like) for op in ("zeros_like", "ones_like")),
        Row("empty_like", "lm.empty_like(x)", "torch.empty_like(x)", like, agrees=False),
        Row("full_like", "lm.full_like(x, 2.0)", "torch.full_like(x, 2.0)", like),
        Row("arange", "lm.arange(n)", "torch.arange(n)", counts),
        Row("linspace", "lm.linspace(0.0, 1.0, n)", "torch.linspace(0.0, 1.0, n)", counts),
        Row("logspace", "lm.logspace(0.0, 1.0, n)", "torch.logspace(0.0, 1.0, n)", counts),
        Row("eye", "lm.eye(1000)", "torch.eye(1000)", (case("1000x1000"),)),
        Row("tril", "lm.tril(x)", "torch.tril(x)", triangles),
        Row("triu", "lm.triu(x)", "torch.triu(x)", triangles),
        Row("diag", "lm.diag(x)", "torch.diag(x)", (*diagonals[:2], *triangles[:1])),
        Row("diagflat", "lm.diagflat(x)", "torch.diagflat(x)", diagonals[:2]),
        Row("diag_embed", "lm.diag_embed(x)", "torch.diag_embed(x)", diagonals),
        *(
            Row(op, f"lm.{op}(1000, 1000)", f"torch.{op}(1000, 1000)", (case("1000x1000"),))
            for op in ("tril_indices", "triu_indices")
        ),
        Row("tril_", "lm.tril_(x)", "x.tril_()", triangles),
    ]


def _random() -> list[Row]:
    rate = (case("1000x1000", x=uniform(0.1, 0.9, 1000, 1000)),)
    row = (case("100 of 10000", x=uniform(0.1, 0.9, 10000)), case("1000x100", x=uniform(0.1, 0.9, 1000, 100)))
    vector = (case("1 million", x=normal(1000000)), case("1000x1000", x=normal(1000, 1000)))
    images = (case("32x64x28x28", x=normal(32, 64, 28, 28)),)
    volumes = (case("8x32x16x16x16", x=normal(8, 32, 16, 16, 16)),)
    counts = (case("2000x2000", x=integers(9, 2000, 2000)), case("1 thousand", x=integers(9, 1000)))
    large = (case("2000x2000", x=normal(2000, 2000)), case("1 thousand", x=normal(1000)))
    trained = (*large, case("1000x1000, gradient", wants="x", x=normal(1000, 1000)))
    in_place = {
        "uniform_": "uniform_()",
        "normal_": "normal_()",
        "exponential_": "exponential_()",
        "bernoulli_": "bernoulli_(0.5)",
        "random_": "random_(0, 100)",
        "cauchy_": "cauchy_()",
        "log_normal_": "log_normal_()",
        "geometric_": "geometric_(0.5)",
    }
    drawn = {
        "rand": ("lm.rand(shape)", "torch.rand(shape)"),
        "randn": ("lm.randn(shape)", "torch.randn(shape)"),
        "uniform": ("lm.uniform(shape, -1.0, 1.0)", "torch.empty(shape).uniform_(-1.0, 1.0)"),
        "normal": ("lm.normal(shape, 1.0, 2.0)", "torch.normal(1.0, 2.0, shape)"),
        "randint": ("lm.randint(0, 100, shape)", "torch.randint(0, 100, shape)"),
        "exponential": ("lm.exponential(shape)", "torch.empty(shape).exponential_()"),
        "laplace": ("lm.laplace(shape)", "torch.distributions.Laplace(0.0, 1.0).sample(shape)"),
        "cauchy": ("lm.cauchy(shape)", "torch.empty(shape).cauchy_()"),
        "log_normal": ("lm.log_normal(shape)", "torch.empty(shape).log_normal_()"),
        "geometric": ("lm.geometric(shape)", "torch.empty(shape).geometric_(0.5)"),
        "truncated_normal": ("lm.truncated_normal(shape)", "torch.nn.init.trunc_normal_(torch.empty(shape))"),
        "gamma": ("lm.gamma(shape, 2.5)", "torch._standard_gamma(torch.full(shape, 2.5))"),
    }
    dropouts = {
        "dropout": ("lm.dropout(x, 0.3)", "F.dropout(x, 0.3)", trained),
        "alpha_dropout": ("lm.alpha_dropout(x, 0.3)", "F.alpha_dropout(x, 0.3, training=True)", large),
        "dropout1d": ("lm.dropout1d(x, 0.3)", "F.dropout1d(x, 0.3)", (case("64x64x256", x=normal(64, 64, 256)),)),
        "dropout2d": ("lm.dropout2d(x, 0.3)", "F.dropout2d(x, 0.3)", images),
        "dropout3d": ("lm.dropout3d(x, 0.3)", "F.dropout3d(x, 0.3)", volumes),
        "feature_alpha_dropout": (
            "lm.feature_alpha_dropout(x, 0.3)",
            "F.feature_alpha_dropout(x, 0.3, training=True)",
            images,
        ),
    }
    return [
        *(Row(op, ours, theirs, _sizes(small=False), agrees=False) for op, (ours, theirs) in drawn.items()),
        *(
            Row(op, f"lm.{call[: len(op)]}(x{_rest(call)})", f"x.{call}", large, agrees=False)
            for op, call in in_place.items()
        ),
        *(Row(op, ours, theirs, cases, agrees=False) for op, (ours, theirs, cases) in dropouts.items()),
        Row("rand_like", "lm.rand_like(x)", "torch.rand_like(x)", large, agrees=False),
        Row("randn_like", "lm.randn_like(x)", "torch.randn_like(x)", large, agrees=False),
        Row("randint_like", "lm.randint_like(x, 0, 9)", "torch.randint_like(x, 0, 9)", counts, agrees=False),
        Row("randperm", "lm.randperm(1000000)", "torch.randperm(1000000)", (case("1 million"),), agrees=False),
        Row("permutation", "lm.permutation(x)", "x[torch.randperm(len(x))]", vector, agrees=False),
        Row("bernoulli", "lm.bernoulli(x)", "torch.bernoulli(x)", rate, agrees=False),
        Row("poisson", "lm.poisson(x)", "torch.poisson(x)", rate, agrees=False),
        Row("multinomial", "lm.multinomial(x, 50)", "torch.multinomial(x, 50)", row, agrees=False),
        Row("multinomial", "lm.multinomial(x, 1000, True)", "torch.multinomial(x, 1000, True)", row, agrees=False),
        Row("gumbel_softmax", "lm.gumbel_softmax(x)", "F.gumbel_softmax(x)", large, agrees=False),
    ]


def _rest(call: str) -> str:
    """Returns the arguments of a method's call, behind the tensor."""
    arguments = call.partition("(")[2].removesuffix(")")
    return f", {arguments}" if arguments else ""


def _copies() -> list[Row]:
    copied = (
        case("1 thousand", x=normal(32, 32)),
        case("4096x1024", x=normal(4096, 1024)),
        case("4096x1024, gradient", wants="x", x=normal(4096, 1024)),
    )
    transposed = (
        case("4096x1024 transposed", goal=0.4, x=normal(4096, 1024, view="x.mT")),
        case("1024x4096 transposed", goal=0.4, x=normal(1024, 4096, view="x.mT")),
        case("64x256x256 transposed", x=normal(64, 256, 256, view="x.mT")),
        case("64x64 transposed", x=normal(64, 64, view="x.mT")),
        case("2000x1000 float64 transposed", x=normal(2000, 1000, dtype="float64", view="x.mT")),
        case("2000x1000 bfloat16 transposed", x=normal(2000, 1000, dtype="bfloat16", view="x.mT")),
        case("2000x1000 uint8 transposed", x=integers(200, 2000, 1000, dtype="uint8", view="x.mT")),
        case("1000x2000 every second", x=normal(1000, 2000, view="x[..., ::2]")),
        case("32x28x28x64 channels last", x=normal(32, 28, 28, 64, view="permute(x, (0, 3, 1, 2))")),
        case("32x64x28x28 channels first", x=normal(32, 64, 28, 28, view="permute(x, (0, 2, 3, 1))")),
    )
    casts = tuple(
        case(f"1 million {source} to {target}", x=integers(100, 1000000, dtype=source), target=target)
        for source, target in (
            ("float32", "float64"),
            ("float64", "float32"),
            ("float32", "bfloat16"),
            ("float32", "float16"),
            ("float16", "float32"),
            ("float32", "int64"),
            ("int64", "float32"),
            ("int32", "int64"),
            ("uint8", "float32"),
            ("float32", "bool"),
        )
    )
    complex_numbers = (
        case("1000x1000", x=normal(1000, 1000, dtype="complex64")),
        case("1000x1000, gradient", wants="x", x=normal(1000, 1000, dtype="complex64")),
    )
    parts = (
        case("1000x1000", x=normal(1000, 1000, 2)),
        case("1000x1000, gradient", wants="x", x=normal(1000, 1000, 2)),
    )
    theirs = "x.to(getattr(torch, target))"
    return [
        Row("clone", "lm.clone(x)", "torch.clone(x)", copied),
        Row("contiguous", "lm.contiguous(x)", "x.contiguous()", transposed),
        Row("cast", "lm.cast(x, target)", theirs, casts, tolerance=1e-2),
        Row("astype", "lm.astype(x, target)", theirs, casts[:2]),
        Row("view_as_real", "lm.view_as_real(x)", "torch.view_as_real(x)", complex_numbers),
        Row("view_as_complex", "lm.view_as_complex(x)", "torch.view_as_complex(x)", parts),
        Row("to_device", "lm.to_device(x, 'cpu')", "x.to('cpu')", _VIEWS),
    ]


def _shapes() -> list[Row]:
    views = {
        "reshape": ("lm.reshape(x, (-1, 32))", "torch.reshape(x, (-1, 32))"),
        "ravel": ("lm.ravel(x)", "torch.ravel(x)"),
        "unflatten": ("lm.unflatten(x, 1, (8, -1))", "torch.unflatten(x, 1, (8, -1))"),
        "sliding_window": ("lm.sliding_window(x, 1, 16, 8)", "x.unfold(1, 16, 8)"),
        "flatten": ("lm.flatten(x)", "torch.flatten(x)"),
        "squeeze": ("lm.squeeze(x)", "torch.squeeze(x)"),
        "expand_dims": ("lm.expand_dims(x, 0)", "torch.unsqueeze(x, 0)"),
        "broadcast_to": ("lm.broadcast_to(x, (4, 256, 256))", "torch.broadcast_to(x, (4, 256, 256))"),
        "permute_dims": ("lm.permute_dims(x, (1, 0))", "torch.permute(x, (1, 0))"),
        "matrix_transpose": ("lm.matrix_transpose(x)", "x.mT"),
        "swapaxes": ("lm.swapaxes(x, 0, 1)", "torch.swapaxes(x, 0, 1)"),
        "moveaxis": ("lm.moveaxis(x, 0, 1)", "torch.moveaxis(x, 0, 1)"),
        "narrow": ("lm.narrow(x, 0, 3, 100)", "torch.narrow(x, 0, 3, 100)"),
        "select": ("lm.select(x, 0, 3)", "torch.select(x, 0, 3)"),
        "atleast_1d": ("lm.atleast_1d(x)", "torch.atleast_1d(x)"),
        "atleast_2d": ("lm.atleast_2d(x)", "torch.atleast_2d(x)"),
        "atleast_3d": ("lm.atleast_3d(x)[:, :, 0]", "torch.atleast_3d(x)[:, :, 0]"),
        "diagonal": ("lm.diagonal(x)", "torch.diagonal(x)"),
        "split": ("lm.split(x, 4)[1]", "torch.split(x, 64)[1]"),
        "chunk": ("lm.chunk(x, 4)[1]", "torch.chunk(x, 4)[1]"),
        "tensor_split": ("lm.tensor_split(x, 5)[1]", "torch.tensor_split(x, 5)[1]"),
        "hsplit": ("lm.hsplit(x, 4)[1]", "torch.hsplit(x, 4)[1]"),
        "vsplit": ("lm.vsplit(x, 4)[1]", "torch.vsplit(x, 4)[1]"),
        "dsplit": ("lm.dsplit(x[None], 4)[1]", "torch.dsplit(x[None], 4)[1]"),
        "unstack": ("lm.unstack(x)[1]", "torch.unbind(x)[1]"),
        "broadcast_arrays": ("lm.broadcast_arrays(x, x[0])[1]", "torch.broadcast_tensors(x, x[0])[1]"),
        "index": ("x[1:200:3, None, ..., 5]", "x[1:200:3, None, ..., 5]"),
    }
    pair = (
        case("32x32", a=normal(32, 32), b=normal(32, 32)),
        case("1000x1000", a=normal(1000, 1000), b=normal(1000, 1000)),
        case("1000x1000, gradient", wants="a b", a=normal(1000, 1000), b=normal(1000, 1000)),
    )
    moved = (
        case("32x32", x=normal(32, 32)),
        case("1000x1000", x=normal(1000, 1000)),
        case("64x64x256", x=normal(64, 64, 256)),
    )
    grids = (case("1000 by 1000", a=normal(1000), b=normal(1000)),)
    few = (case("100", x=normal(100)), case("500", x=normal(500)))
    padded = (
        case("32x16x56x56", x=normal(32, 16, 56, 56)),
        case("32x16x56x56, gradient", wants="x", x=normal(32, 16, 56, 56)),
    )
    return [
        *(Row(op, ours, theirs, _VIEWS) for op, (ours, theirs) in views.items()),
        Row("sum_to", "lm.sum_to(x, (1, 1000))", "x.sum_to_size((1, 1000))", moved[1:2], tolerance=1e-2),
        Row("concat", "lm.concat((a, b), axis=0)", "torch.concat((a, b), 0)", pair),
        Row("concat", "lm.concat((a, b), axis=1)", "torch.concat((a, b), 1)", pair),
        Row("stack", "lm.stack((a, b), axis=0)", "torch.stack((a, b), 0)", pair),
        Row("stack", "lm.stack((a, b), axis=-1)", "torch.stack((a, b), -1)", pair),
        Row("hstack", "lm.hstack((a, b))", "torch.hstack((a, b))", pair),
        Row("vstack", "lm.vstack((a, b))", "torch.vstack((a, b))", pair),
        Row("dstack", "lm.dstack((a, b))", "torch.dstack((a, b))", pair),
        Row("column_stack", "lm.column_stack((a, b))", "torch.column_stack((a, b))", pair),
        Row("block_diag", "lm.block_diag(a, b)", "torch.block_diag(a, b)", pair),
        Row("cartesian_prod", "lm.cartesian_prod(a, b)", "torch.cartesian_prod(a, b)", grids),
        Row("combinations", "lm.combinations(x)", "torch.combinations(x)", few),
        Row("combinations", "lm.combinations(x, 3)", "torch.combinations(x, 3)", few[:1]),
        Row("flip", "lm.flip(x, axis=0)", "torch.flip(x, (0,))", moved),
        Row("flip", "lm.flip(x, axis=-1)", "torch.flip(x, (-1,))", moved),
        Row("fliplr", "lm.fliplr(x)", "torch.fliplr(x)", moved),
        Row("flipud", "lm.flipud(x)", "torch.flipud(x)", moved),
        Row("rot90", "lm.rot90(x)", "torch.rot90(x)", moved),
        Row("rot90", "lm.rot90(x, 2)", "torch.rot90(x, 2)", moved),
        Row("roll", "lm.roll(x, 5, axis=0)", "torch.roll(x, 5, 0)", moved),
        Row("roll", "lm.roll(x, 5, axis=-1)", "torch.roll(x, 5, -1)", moved),
        Row("roll", "lm.roll(x, 5)", "torch.roll(x, 5)", moved),
        Row("repeat", "lm.repeat(x, 3, axis=0)", "torch.repeat_interleave(x, 3, 0)", moved),
        Row("repeat", "lm.repeat(x, 3, axis=-1)", "torch.repeat_interleave(x, 3, -1)", moved),
        Row("tile", "lm.tile(x, (2, 3))", "torch.tile(x, (2, 3))", moved),
        Row("meshgrid", "lm.meshgrid(a, b)[0] + 0", "torch.meshgrid(a, b, indexing='xy')[0] + 0", grids),
        Row("pad", "lm.pad(x, (2, 2, 2, 2))", "F.pad(x, (2, 2, 2, 2))", padded),
        *(
            Row("pad", f"lm.pad(x, (2, 2, 2, 2), '{mode}')", f"F.pad(x, (2, 2, 2, 2), '{mode}')", padded)
            for mode in ("reflect", "replicate", "circular")
        ),
    ]


def _along(shape: tuple[int, ...], high: int) -> Input:
    return integers(high, *shape)


def _inserted(*shape: int) -> tuple[Case, ...]:
    return (
        case("1000x1000", x=normal(1000, 1000), s=normal(*shape)),
        case("1000x1000, gradient", wants="x s", x=normal(1000, 1000), s=normal(*shape)),
    )


def _indexing() -> list[Row]:
    flat = (
        case("1 million of 1 million", x=normal(1000000), i=integers(1000000, 1000000)),
        case("1 thousand", x=normal(1000), i=integers(1000, 1000)),
    )
    rows = (
        case("10000 rows of 64", x=normal(10000, 64), i=integers(10000, 10000)),
        case("4096 rows of 512", x=normal(50000, 512), i=integers(50000, 4096)),
        case("100000 rows of 4", x=normal(100000, 4), i=integers(100000, 100000)),
        case("10000 rows of 64, gradient", wants="x", x=normal(10000, 64), i=integers(10000, 10000)),
    )
    columns = (case("1000 columns", x=normal(1000, 1000), i=integers(1000, 1000)),)
    gathered = (
        case("1000x1000, axis 0", goal=1.0, x=normal(1000, 1000), i=integers(1000, 1000, 1000), axis=0),
        case("1000x1000, axis 1", goal=1.0, x=normal(1000, 1000), i=integers(1000, 1000, 1000), axis=1),
        case("1 million", goal=1.0, x=normal(1000000), i=integers(1000000, 1000000), axis=0),
        case("32x32", goal=1.0, x=normal(32, 32), i=integers(32, 32, 32), axis=1),
        case(
            "1000x1000, axis 1, gradient",
            goal=1.0,
            wants="x",
            x=normal(1000, 1000),
            i=integers(1000, 1000, 1000),
            axis=1,
        ),
    )
    scattered = tuple(
        case(label, x=normal(*shape), i=Input(shape, "permutation", "int64"), s=normal(*shape), axis=axis)
        for label, shape, axis in (
            ("1000x1000, axis 1", (1000, 1000), 1),
            ("1000x1000, axis 0", (1000, 1000), 0),
            ("1 million", (1000000,), 0),
            ("32x32", (32, 32), 1),
        )
    )
    added = (
        case("10000 rows of 64", x=normal(10000, 64), i=Input((10000,), "permutation", "int64"), s=normal(10000, 64)),
        case("1 million", x=normal(1000000), i=Input((1000000,), "permutation", "int64"), s=normal(1000000)),
    )
    masked = (
        case("1000x1000", x=normal(1000, 1000), m=mask(1000, 1000), s=normal(1000, 1000)),
        case("32x32", x=normal(32, 32), m=mask(32, 32), s=normal(32, 32)),
    )
    pairs = (
        case(
            "100000 of 1000x1000",
            x=normal(1000, 1000),
            i=integers(1000, 100000),
            j=integers(1000, 100000),
            s=normal(100000),
        ),
    )
    reduced = scattered[:3]
    numbered = (
        case("1 million", x=normal(1000, 1000), i=Input((1000000,), "permutation", "int64"), s=normal(1000000)),
        case("100000 of 1000x1000", x=normal(1000, 1000), i=Input((100000,), "permutation", "int64"), s=normal(100000)),
    )
    return [
        Row("take", "lm.take(x, i, axis=0)", "torch.index_select(x, 0, i)", flat + rows),
        Row("index_select", "lm.index_select(x, 0, i)", "torch.index_select(x, 0, i)", flat + rows),
        Row("index_select", "lm.index_select(x, 1, i)", "torch.index_select(x, 1, i)", columns),
        Row("index", "x[i]", "x[i]", flat + rows),
        Row("index", "x[:, i]", "x[:, i]", columns),
        Row("index", "x[m]", "x[m]", masked),
        Row("index", "x[i, j]", "x[i, j]", pairs),
        Row("gather", "lm.gather(x, axis, i)", "torch.gather(x, axis, i)", gathered),
        Row("take_along_axis", "lm.take_along_axis(x, i, axis=axis)", "torch.take_along_dim(x, i, axis)", gathered),
        Row("scatter", "lm.scatter(x, axis, i, s)", "torch.scatter(x, axis, i, s)", scattered),
        Row("scatter_add", "lm.scatter_add(x, axis, i, s)", "torch.scatter_add(x, axis, i, s)", scattered),
        *(
            Row(
                "scatter_reduce",
                f"lm.scatter_reduce(x, axis, i, s, '{how}')",
                f"torch.scatter_reduce(x, axis, i, s, '{how}')",
                reduced,
            )
            for how in ("sum", "mean", "amax", "prod")
        ),
        Row("put_along_axis", "lm.put_along_axis(x, i, s, axis)", "torch.scatter(x, axis, i, s)", scattered),
        Row("index_add", "lm.index_add(x, 0, i, s)", "torch.index_add(x, 0, i, s)", added),
        Row("index_copy", "lm.index_copy(x, 0, i, s)", "torch.index_copy(x, 0, i, s)", added),
        Row("index_fill", "lm.index_fill(x, 0, i, 1.0)", "torch.index_fill(x, 0, i, 1.0)", added),
        Row("index_put", "lm.index_put(x, (i, j), s)", "torch.index_put(x, (i, j), s)", pairs, agrees=False),
        Row("index_put", "lm.index_put(x, (i, j), s, True)", "torch.index_put(x, (i, j), s, True)", pairs),
        *(
            Row(
                "index_reduce",
                f"lm.index_reduce(x, 0, i, s, '{how}')",
                f"torch.index_reduce(x, 0, i, s, '{how}')",
                added,
            )
            for how in ("mean", "amax", "prod")
        ),
        Row("put", "lm.put(x, i, s)", "torch.put(x, i, s)", numbered),
        Row("put", "lm.put(x, i, s, True)", "torch.put(x, i, s, True)", numbered),
        Row("select_scatter", "lm.select_scatter(x, s, 1, 3)", "torch.select_scatter(x, s, 1, 3)", _inserted(1000)),
        Row("diagonal_scatter", "lm.diagonal_scatter(x, s)", "torch.diagonal_scatter(x, s)", _inserted(1000)),
        Row(
            "slice_scatter",
            "lm.slice_scatter(x, s, 0, 100, 900, 2)",
            "torch.slice_scatter(x, s, 0, 100, 900, 2)",
            _inserted(400, 1000),
        ),
        Row("masked_select", "lm.masked_select(x, m)", "torch.masked_select(x, m)", masked),
        Row("masked_fill", "lm.masked_fill(x, m, 1.0)", "torch.masked_fill(x, m, 1.0)", masked),
        Row("masked_scatter", "lm.masked_scatter(x, m, s)", "torch.masked_scatter(x, m, s)", masked),
        Row(
            "embedding",
            "lm.embedding(i, x)",
            "F.embedding(i, x)",
            (
                case("4096 rows of 512", goal=1.0, x=normal(50000, 512), i=integers(50000, 4096)),
                case("32x128 rows of 64", goal=1.0, x=normal(10000, 64), i=integers(10000, 32, 128)),
                case("4096 rows of 512, gradient", goal=1.0, wants="x", x=normal(5000, 512), i=integers(5000, 4096)),
            ),
        ),
        Row(
            "embedding_bag",
            "lm.embedding_bag(i, x)",
            "F.embedding_bag(i, x)",
            (
                case("512 bags of 16 rows of 64", x=normal(10000, 64), i=integers(10000, 512, 16)),
                case("the same, gradient", wants="x", x=normal(10000, 64), i=integers(10000, 512, 16)),
            ),
        ),
        Row("one_hot", "lm.one_hot(i, 100)", "F.one_hot(i, 100)", (case("10000 of 100", i=integers(100, 10000)),)),
    ]


ROWS: tuple[Row, ...] = (*_creation(), *_random(), *_copies(), *_shapes(), *_indexing())
