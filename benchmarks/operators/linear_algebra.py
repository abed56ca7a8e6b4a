"""Products, distances, decompositions and Fourier transforms."""

from __future__ import annotations

from benchmarks.operators.rows import Case, Input, Row, case, normal, uniform


def _matrix(kind: str, *shape: int) -> Input:
    return Input(shape, kind)


def _products() -> list[Row]:
    matmul = (
        *(
            case(f"{n}", goal=0.9 if n >= 256 else 1.5, a=normal(n, n), b=normal(n, n))
            for n in (32, 64, 128, 256, 512, 1024, 2048)
        ),
        case("1024 transposed", a=normal(1024, 1024, view="x.mT"), b=normal(1024, 1024)),
        case("matrix and vector, 2000", a=normal(2000, 2000), b=normal(2000)),
        case("transposed matrix and vector, 2000", a=normal(2000, 2000, view="x.mT"), b=normal(2000)),
        case("64 of 128x128", a=normal(64, 128, 128), b=normal(64, 128, 128)),
        case("1000 of 16x16", a=normal(1000, 16, 16), b=normal(1000, 16, 16)),
        case("64x128x128 by 128x128", a=normal(64, 128, 128), b=normal(128, 128)),
        case("4096x64 by 64x64", a=normal(4096, 64), b=normal(64, 64)),
        case("1x1024 by 1024x1024", a=normal(1, 1024), b=normal(1024, 1024)),
        case("512, gradient", wants="a b", a=normal(512, 512), b=normal(512, 512)),
        *(
            case(f"{n} {dtype}", a=normal(n, n, dtype=dtype), b=normal(n, n, dtype=dtype))
            for dtype in ("float64", "bfloat16", "complex64")
            for n in (64, 512)
        ),
    )
    linear = (
        case("64x784 by 256", x=normal(64, 784), w=normal(256, 784), b=normal(256)),
        case("1024x512 by 512", x=normal(1024, 512), w=normal(512, 512), b=normal(512)),
        case("1024x512 by 512, gradient", wants="x w b", x=normal(1024, 512), w=normal(512, 512), b=normal(512)),
    )
    operands: dict[str, Input] = {"x": normal(256, 64), "v": normal(256, 64), "w": normal(32, 64, 64), "b": normal(32)}
    paired = (
        case("256x64 and 256x64 by 32", **operands),
        case("256x64 and 256x64 by 32, gradient", wants="x v w b", **operands),
    )
    vectors = (
        case("1 thousand", a=normal(1000), b=normal(1000)),
        case("1 million", a=normal(1000000), b=normal(1000000)),
    )
    batches = (
        case("1000x1000", a=normal(1000, 1000), b=normal(1000, 1000)),
        case("1000x1000, gradient", wants="a b", a=normal(1000, 1000), b=normal(1000, 1000)),
    )
    square: dict[str, Input] = {"a": normal(512, 512), "b": normal(512, 512)}
    matrices = (
        case("64", a=normal(64, 64), b=normal(64, 64), x=normal(64, 64)),
        case("512", **square, x=normal(512)),
        case("512, gradient", wants="a b x", **square, x=normal(512)),
    )
    stacks: dict[str, Input] = {"a": normal(64, 128, 128), "b": normal(64, 128, 128)}
    stacked = (
        case("64 of 128x128", **stacks, x=normal(128)),
        case("1000 of 16x16", a=normal(1000, 16, 16), b=normal(1000, 16, 16), x=normal(16)),
        case("64 of 128x128, gradient", wants="a b x", **stacks, x=normal(128)),
    )
    lines = (
        case("1000x1000", a=normal(1000, 1000), b=normal(1000), x=normal(1000)),
        case("1000x1000, gradient", wants="a b x", a=normal(1000, 1000), b=normal(1000), x=normal(1000)),
    )
    updated = (
        case("1000x1000", a=normal(1000), b=normal(1000), x=normal(1000, 1000)),
        case("1000x1000, gradient", wants="a b x", a=normal(1000), b=normal(1000), x=normal(1000, 1000)),
    )
    chained = (
        case("1000x10 by 10x1000 by 1000x50", a=normal(1000, 10), b=normal(10, 1000), c=normal(1000, 50)),
        case("the same, gradient", wants="a b c", a=normal(1000, 10), b=normal(10, 1000), c=normal(1000, 50)),
    )
    added = {"addmm": matrices, "addmv": lines, "addr": updated, "baddbmm": stacked, "addbmm": stacked}
    crossed = (case("300000x3", a=normal(300000, 3), b=normal(300000, 3)),)
    heads = (case("8x16x128x64", a=normal(8, 16, 128, 64), b=normal(8, 16, 128, 64)),)
    return [
        Row("matmul", "lm.matmul(a, b)", "torch.matmul(a, b)", matmul, tolerance=3e-2),
        Row("linear", "lm.linear(x, w, b)", "F.linear(x, w, b)", linear, tolerance=1e-2),
        Row("bilinear", "lm.bilinear(x, v, w, b)", "F.bilinear(x, v, w, b)", paired, tolerance=1e-2),
        Row("dot", "lm.dot(a, b)", "torch.dot(a, b)", vectors, tolerance=1e-2),
        Row("vecdot", "lm.vecdot(a, b)", "torch.linalg.vecdot(a, b)", batches, tolerance=1e-2),
        Row("outer", "lm.outer(a, b)", "torch.outer(a, b)", vectors[:1]),
        Row("kron", "lm.kron(a, b)", "torch.kron(a, b)", (case("32x32", a=normal(32, 32), b=normal(32, 32)),)),
        Row("cross", "lm.cross(a, b)", "torch.linalg.cross(a, b)", crossed),
        Row("tensordot", "lm.tensordot(a, b, axes=1)", "torch.tensordot(a, b, 1)", batches[:1], tolerance=1e-2),
        Row("einsum", "lm.einsum('ij,jk->ik', a, b)", "torch.einsum('ij,jk->ik', a, b)", batches, tolerance=1e-2),
        Row(
            "einsum",
            "lm.einsum('bhid,bhjd->bhij', a, b)",
            "torch.einsum('bhid,bhjd->bhij', a, b)",
            heads,
            tolerance=1e-2,
        ),
        Row("einsum", "lm.einsum('ij,ij->i', a, b)", "torch.einsum('ij,ij->i', a, b)", batches, tolerance=1e-2),
        Row("trace", "lm.trace(a)", "torch.trace(a)", batches[:1]),
        *(
            Row(op, f"lm.{op}(a, b)", f"torch.{op}(a, b)", _without(cases, "x"), tolerance=1e-2)
            for op, cases in (("mm", matrices), ("inner", matrices), ("mv", lines), ("bmm", stacked))
        ),
        *(
            Row(
                op,
                f"lm.{op}(x, a, b, beta=0.5, alpha=2)",
                f"torch.{op}(x, a, b, beta=0.5, alpha=2)",
                cases,
                tolerance=1e-2,
            )
            for op, cases in added.items()
        ),
        Row(
            "linalg.multi_dot",
            "lm.linalg.multi_dot((a, b, c))",
            "torch.linalg.multi_dot((a, b, c))",
            chained,
            tolerance=1e-2,
        ),
    ]


def _without(cases: tuple[Case, ...], unused: str) -> tuple[Case, ...]:
    """The cases less one variable."""
    return tuple(
        case(
            one.label,
            wants=" ".join(name for name in one.wants if name != unused),
            **{name: value for name, value in one.variables.items() if name != unused},
        )
        for one in cases
    )


def _distances() -> list[Row]:
    points = (
        case("1000x64 and 1000x64", a=normal(1000, 64), b=normal(1000, 64)),
        case("16 of 100x8", a=normal(16, 100, 8), b=normal(16, 100, 8)),
        case("300x64 and 300x64, gradient", wants="a b", a=normal(300, 64), b=normal(300, 64)),
    )
    cloud = (
        case("500x64", x=normal(500, 64)),
        case("200x64, gradient", wants="x", x=normal(200, 64)),
    )
    pair = (
        case("1000x1000", a=normal(1000, 1000), b=normal(1000, 1000)),
        case("1000x1000, gradient", wants="a b", a=normal(1000, 1000), b=normal(1000, 1000)),
    )
    rows = (
        case("1000x1000", x=normal(1000, 1000)),
        case("1000x1000, gradient", wants="x", x=normal(1000, 1000)),
    )
    variables = (
        case("100x10000", x=normal(100, 10000)),
        case("100x1000, gradient", wants="x", x=normal(100, 1000)),
    )
    return [
        Row("cdist", "lm.cdist(a, b)", "torch.cdist(a, b)", points, tolerance=1e-2),
        Row("cdist", "lm.cdist(a, b, 1.0)", "torch.cdist(a, b, 1.0)", points, tolerance=1e-2),
        Row("pdist", "lm.pdist(x)", "torch.pdist(x)", cloud, tolerance=1e-2),
        Row("pdist", "lm.pdist(x, 1.0)", "torch.pdist(x, 1.0)", cloud, tolerance=1e-2),
        Row("dist", "lm.dist(a, b)", "torch.dist(a, b)", pair, tolerance=1e-2),
        Row("renorm", "lm.renorm(x, 2.0, 0, 30.0)", "torch.renorm(x, 2.0, 0, 30.0)", rows, tolerance=1e-2),
        Row("cov", "lm.cov(x)", "torch.cov(x)", variables, tolerance=1e-2),
        Row("corrcoef", "lm.corrcoef(x)", "torch.corrcoef(x)", variables, tolerance=1e-2),
    ]


def _sizes(kind: str, *, gradient: bool = True) -> tuple[Case, ...]:
    cases = [
        case("8", x=_matrix(kind, 8, 8)),
        case("64", x=_matrix(kind, 64, 64)),
        case("512", x=_matrix(kind, 512, 512)),
        case("100 of 16x16", x=_matrix(kind, 100, 16, 16)),
    ]
    if gradient:
        cases.append(case("128, gradient", wants="x", x=_matrix(kind, 128, 128)))
    return tuple(cases)


def _decompositions() -> list[Row]:
    def row(
        op: str, kind: str, pick: str = "", *, gradient: bool = True, agrees: bool = True, call: str = "(x)"
    ) -> Row:
        ours, theirs = f"lm.linalg.{op}{call}{pick}", f"torch.linalg.{op}{call}{pick}"
        return Row(f"linalg.{op}", ours, theirs, _sizes(kind, gradient=gradient), agrees, 1e-2)

    systems = (
        case("64 by 8", x=_matrix("invertible", 64, 64), b=normal(64, 8)),
        case("512 by 64", x=_matrix("invertible", 512, 512), b=normal(512, 64)),
        case("100 of 16x16", x=_matrix("invertible", 100, 16, 16), b=normal(100, 16, 1)),
        case("128, gradient", wants="x b", x=_matrix("invertible", 128, 128), b=normal(128, 8)),
    )
    spd = "positive definite"

    def factored(op: str, call: str, cases: tuple[Case, ...]) -> tuple[Row, Row]:
        # PyTorch has gradients in the triangle that is not read; those of tril() are the same.
        ours, theirs = f"lm.linalg.{op}{call}", f"torch.{op}{call}"
        values = tuple(one for one in cases if not one.wants)
        gradients = tuple(one for one in cases if one.wants)
        return (
            Row(f"linalg.{op}", ours.format(x="x"), theirs.format(x="x"), values, tolerance=1e-2),
            Row(
                f"linalg.{op}",
                ours.format(x="lm.tril(x)"),
                theirs.format(x="torch.tril(x)"),
                gradients,
                tolerance=1e-2,
            ),
        )

    def reflected(label: str, *shape: int, wants: str = "") -> Case:
        # Far from orthogonal vectors, or many of them, would make numbers that no float holds.
        x = uniform(-0.05, 0.05, *shape)
        return case(label, wants=wants, x=x, t=uniform(0, 1, *shape[:-1]), b=normal(*shape))

    reflections = (
        reflected("8", 8, 8),
        reflected("64", 64, 64),
        reflected("512", 512, 512),
        reflected("100 of 16x16", 100, 16, 16),
        reflected("128, gradient", 128, 128, wants="x t"),
    )
    triangular = "lm.linalg.solve_triangular(x, b, upper=True)", "torch.linalg.solve_triangular(x, b, upper=True)"
    tall = (
        case("500x50", x=normal(500, 50), b=normal(500, 3)),
        case("100 of 20x5", x=normal(100, 20, 5), b=normal(100, 20, 1)),
        case("500x50, gradient", wants="x b", x=normal(500, 50), b=normal(500, 3)),
    )
    return [
        row("cholesky", spd),
        row("cholesky_ex", spd, "[0]"),
        *factored("cholesky_inverse", "({x})", _sizes("invertible")),
        *factored("cholesky_solve", "(b, {x})", systems),
        row("qr", "invertible", "[1]", agrees=False),
        row("eigh", spd, "[0]"),
        row("eigvalsh", spd),
        row("eig", "invertible", "[0]", gradient=False, agrees=False),
        row("eigvals", "invertible", gradient=False, agrees=False),
        row("svd", "invertible", "[1]"),
        row("svdvals", "invertible"),
        row("inv", "invertible"),
        row("inv_ex", "invertible", "[0]"),
        row("det", "invertible", agrees=False),
        row("slogdet", "invertible", "[1]"),
        row("pinv", "invertible"),
        row("matrix_rank", "invertible", gradient=False),
        row("cond", "invertible"),
        row("norm", "normal"),
        row("matrix_power", "invertible", call="(x, 5)"),
        Row("linalg.solve", "lm.linalg.solve(x, b)", "torch.linalg.solve(x, b)", systems, tolerance=1e-2),
        Row(
            "linalg.solve_ex", "lm.linalg.solve_ex(x, b)[0]", "torch.linalg.solve_ex(x, b)[0]", systems, tolerance=1e-2
        ),
        Row("linalg.solve_triangular", *triangular, systems, tolerance=1e-2),
        Row("linalg.matrix_norm", "lm.linalg.matrix_norm(x)", "torch.linalg.matrix_norm(x)", _sizes("normal")),
        *(
            Row(
                "linalg.lstsq",
                f"lm.linalg.lstsq(x, b, driver='{driver}')[0]",
                f"torch.linalg.lstsq(x, b, driver='{driver}')[0]",
                tall,
                tolerance=1e-2,
            )
            for driver in ("gelsy", "gels", "gelsd")
        ),
        row("lu_factor", "invertible", "[0]"),
        row("lu", "invertible", "[2]"),
        Row(
            "linalg.lu_unpack",
            "lm.linalg.lu_unpack(*lm.linalg.lu_factor(x))[2]",
            "torch.lu_unpack(*torch.linalg.lu_factor(x))[2]",
            tuple(one for one in systems if not one.wants),
            tolerance=1e-2,
        ),
        Row(
            "linalg.lu_solve",
            "lm.linalg.lu_solve(*lm.linalg.lu_factor(x), b)",
            "torch.linalg.lu_solve(*torch.linalg.lu_factor(x), b)",
            tuple(one for one in systems if one.label != "100 of 16x16"),
            tolerance=1e-2,
        ),
        row("matrix_sqrth", spd),
        row("polar", "invertible", "[1]"),
        row("ldl_factor_ex", spd, "[0]", gradient=False),
        Row(
            "linalg.geqrf",
            "lm.linalg.geqrf(x)[0]",
            "torch.geqrf(x)[0]",
            _sizes("normal", gradient=False),
            tolerance=1e-2,
        ),
        Row(
            "linalg.householder_product",
            "lm.linalg.householder_product(x, t)",
            "torch.linalg.householder_product(x, t)",
            reflections,
            tolerance=1e-2,
        ),
        Row("linalg.ormqr", "lm.linalg.ormqr(x, t, b)", "torch.ormqr(x, t, b)", reflections, tolerance=1e-2),
        Row(
            "linalg.vander",
            "lm.linalg.vander(x)",
            "torch.linalg.vander(x)",
            (
                case("64", x=uniform(-1, 1, 64)),
                case("1000", x=uniform(-1, 1, 1000)),
                case("128, gradient", wants="x", x=uniform(-1, 1, 128)),
            ),
        ),
        Row("linalg.logdet", "lm.linalg.logdet(x)", "torch.logdet(x)", _sizes(spd), tolerance=1e-2),
        Row(
            "linalg.ldl_solve",
            "lm.linalg.ldl_solve(*lm.linalg.ldl_factor(x), b)",
            "torch.linalg.ldl_solve(*torch.linalg.ldl_factor(x), b)",
            (
                case("64 by 8", x=_matrix(spd, 64, 64), b=normal(64, 8)),
                case("512 by 64", x=_matrix(spd, 512, 512), b=normal(512, 64)),
            ),
            tolerance=1e-2,
        ),
        Row(
            "linalg.matrix_exp",
            "lm.linalg.matrix_exp(x)",
            "torch.linalg.matrix_exp(x)",
            _sizes("invertible"),
            True,
            1e-2,
        ),
    ]


def _fourier() -> list[Row]:
    def sizes(dtype: str) -> tuple[Case, ...]:
        return (
            case(f"{dtype} 1024", x=normal(1024, dtype=dtype)),
            case(f"{dtype} 1 million", x=normal(1 << 20, dtype=dtype)),
            case(f"{dtype} 1000x1000", x=normal(1000, 1000, dtype=dtype)),
            case(f"{dtype} 1000x1009, prime", x=normal(1000, 1009, dtype=dtype)),
            case(f"{dtype} 10000x64", x=normal(10000, 64, dtype=dtype)),
            case(f"{dtype} 512x512, gradient", wants="x", x=normal(512, 512, dtype=dtype)),
        )

    planes = (
        case("512x512", x=normal(512, 512, dtype="complex64")),
        case("32x64x64", x=normal(32, 64, 64, dtype="complex64")),
    )
    real_planes = (case("512x512", x=normal(512, 512)), case("32x64x64", x=normal(32, 64, 64)))
    columns = (case("1000x1000, axis 0", x=normal(1000, 1000, dtype="complex64")),)
    shifted = (case("1000x1000", x=normal(1000, 1000)),)
    counted = (case("10000"),)
    sound = (
        case("8x16000", x=normal(8, 16000), w=uniform(0.5, 1, 400)),
        case("8x16000, gradient", wants="x", x=normal(8, 16000), w=uniform(0.5, 1, 400)),
    )
    heard = (
        case("8x201x101", x=normal(8, 201, 101, dtype="complex64"), w=uniform(0.5, 1, 400)),
        case("8x201x101, gradient", wants="x", x=normal(8, 201, 101, dtype="complex64"), w=uniform(0.5, 1, 400)),
    )

    def row(op: str, cases: tuple[Case, ...], call: str = "(x)", torch_call: str = "") -> Row:
        ours, theirs = f"lm.fft.{op}{call}", f"torch.fft.{op}{torch_call or call}"
        return Row(f"fft.{op}", ours, theirs, cases, tolerance=1e-2)

    return [
        row("fft", sizes("complex64")),
        row("fft", sizes("float32")),
        row("fft", columns, "(x, axis=0)", "(x, dim=0)"),
        row("ifft", sizes("complex64")),
        row("rfft", sizes("float32")),
        row("irfft", sizes("complex64")),
        row("hfft", sizes("complex64")),
        row("ihfft", sizes("float32")),
        row("fft2", planes),
        row("ifft2", planes),
        row("rfft2", real_planes),
        row("irfft2", planes),
        row("hfft2", planes),
        row("ihfft2", real_planes),
        row("fftn", planes),
        row("ifftn", planes),
        row("rfftn", real_planes),
        row("irfftn", planes),
        row("hfftn", planes),
        row("ihfftn", real_planes),
        row("fftshift", shifted),
        row("ifftshift", shifted),
        row("fftfreq", counted, "(10000)"),
        row("rfftfreq", counted, "(10000)"),
        Row(
            "stft",
            "lm.stft(x, 400, 160, window=w)",
            "torch.stft(x, 400, 160, window=w, return_complex=True)",
            sound,
            tolerance=1e-2,
        ),
        Row("istft", "lm.istft(x, 400, 160, window=w)", "torch.istft(x, 400, 160, window=w)", heard, tolerance=1e-2),
    ]


ROWS: tuple[Row, ...] = (*_products(), *_distances(), *_decompositions(), *_fourier())
