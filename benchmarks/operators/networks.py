"""Deep learning: convolution, pooling, normalization, losses, attention, recurrent cells, images."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.operators.rows import GOAL, Case, Input, Row, case, integers, normal, uniform


def _both(label: str, wants: str, goal: float = GOAL, **variables: Any) -> tuple[Case, Case]:
    """Forward alone, and with the gradient."""
    return case(label, goal=goal, **variables), case(f"{label}, gradient", goal=goal, wants=wants, **variables)


def _convolutions() -> list[Row]:
    b = normal(64)
    two = (
        *_both(
            "32x32x28x28 by 3x3x64", "x w b", 1.0, x=normal(32, 32, 28, 28), w=normal(64, 32, 3, 3), b=b, p=1, s=1, g=1
        ),
        *_both(
            "8x3x224x224 by 7x7x64, stride 2",
            "x w b",
            x=normal(8, 3, 224, 224),
            w=normal(64, 3, 7, 7),
            b=b,
            p=3,
            s=2,
            g=1,
        ),
        *_both("16x64x28x28 by 1x1x64", "x w b", x=normal(16, 64, 28, 28), w=normal(64, 64, 1, 1), b=b, p=0, s=1, g=1),
        *_both("16x64x28x28 depthwise", "x w b", x=normal(16, 64, 28, 28), w=normal(64, 1, 3, 3), b=b, p=1, s=1, g=64),
        *_both("1x64x28x28 by 3x3x64", "x w b", x=normal(1, 64, 28, 28), w=normal(64, 64, 3, 3), b=b, p=1, s=1, g=1),
    )
    one = _both("32x64x256 by 3x64", "x w b", x=normal(32, 64, 256), w=normal(64, 64, 3), b=b)
    three = _both("4x16x16x16x16 by 3x3x3x64", "x w b", x=normal(4, 16, 16, 16, 16), w=normal(64, 16, 3, 3, 3), b=b)
    back = {
        1: _both("32x64x128 by 4x64", "x w", x=normal(32, 64, 128), w=normal(64, 64, 4)),
        2: _both("16x64x14x14 by 4x4x32", "x w", x=normal(16, 64, 14, 14), w=normal(64, 32, 4, 4)),
        3: _both("2x16x8x8x8 by 4x4x4x16", "x w", x=normal(2, 16, 8, 8, 8), w=normal(16, 16, 4, 4, 4)),
    }
    call = "conv2d(x, w, b, padding=p, stride=s, groups=g)"
    return [
        Row("conv2d", f"lm.{call}", f"F.{call}", two, tolerance=1e-2),
        Row("conv1d", "lm.conv1d(x, w, b)", "F.conv1d(x, w, b)", one, tolerance=1e-2),
        Row("conv3d", "lm.conv3d(x, w, b)", "F.conv3d(x, w, b)", three, tolerance=1e-2),
        *(
            Row(
                f"conv_transpose{n}d",
                f"lm.conv_transpose{n}d(x, w, stride=2, padding=1)",
                f"F.conv_transpose{n}d(x, w, stride=2, padding=1)",
                cases,
                tolerance=1e-2,
            )
            for n, cases in back.items()
        ),
    ]


def _pools() -> list[Row]:
    inputs = {
        1: _both("32x64x1024", "x", x=normal(32, 64, 1024)),
        2: _both("32x32x28x28", "x", x=normal(32, 32, 28, 28)) + _both("8x64x112x112", "x", x=normal(8, 64, 112, 112)),
        3: _both("4x16x16x32x32", "x", x=normal(4, 16, 16, 32, 32)),
    }
    rows = []
    for n, cases in inputs.items():
        for op in (f"max_pool{n}d", f"avg_pool{n}d"):
            rows.append(Row(op, f"lm.{op}(x, 2)", f"F.{op}(x, 2)", cases))
            rows.append(Row(op, f"lm.{op}(x, 3, 2, 1)", f"F.{op}(x, 3, 2, 1)", cases))
        rows.append(Row(f"lp_pool{n}d", f"lm.lp_pool{n}d(x, 2, 2)", f"F.lp_pool{n}d(x, 2, 2)", cases))
        for op in (f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d"):
            rows.append(Row(op, f"lm.{op}(x, 7)", f"F.{op}(x, 7)", cases))
        rows.append(
            Row(f"adaptive_avg_pool{n}d", f"lm.adaptive_avg_pool{n}d(x, 1)", f"F.adaptive_avg_pool{n}d(x, 1)", cases)
        )
        for op, size in ((f"max_pool{n}d", 2), (f"adaptive_max_pool{n}d", 7)):
            ours = f"lm.{op}_with_indices(x, {size})[1]"
            rows.append(Row(f"{op}_with_indices", ours, f"F.{op}_with_indices(x, {size})[1]", cases[:1]))
    rows += [
        Row(f"max_unpool{n}d", f"lm.max_unpool{n}d(x, i, 2)", f"F.max_unpool{n}d(x, i, 2)", _unpooled(*shape))
        for n, shape in ((1, (32, 64, 512)), (2, (32, 32, 14, 14)), (3, (4, 16, 8, 16, 16)))
    ]
    return rows


def _unpooled(*shape: int) -> tuple[Case, ...]:
    """Each image's values at places of their own."""
    batch, channels, *sizes = shape
    places = Input((batch, channels, math.prod(sizes)), "permutation", "int64", view=f"x.reshape({shape})")
    return _both("x".join(map(str, shape)), "x", x=normal(*shape), i=places)


def _norms() -> list[Row]:
    w, b = normal(1024), normal(1024)
    rows = (
        *_both("4096x1024", "x w b", 1.0, x=normal(4096, 1024), w=w, b=b, n=1024),
        *_both("1000x64", "x w b", x=normal(1000, 64), w=normal(64), b=normal(64), n=64),
    )
    images = _both("32x32x28x28", "x w b", x=normal(32, 32, 28, 28), w=normal(32), b=normal(32))
    trained = images + _both("32x256x7x7", "x w b", x=normal(32, 256, 7, 7), w=normal(256), b=normal(256))
    vectors = _both("1024x256", "x w b", x=normal(1024, 256), w=normal(256), b=normal(256))
    inference = (
        case(
            "32x32x28x28, inference",
            x=normal(32, 32, 28, 28),
            w=normal(32),
            b=normal(32),
            m=normal(32),
            v=uniform(0.5, 2, 32),
        ),
    )
    normalized = _both("4096x1024", "x", x=normal(4096, 1024)) + _both("10000x64", "x", x=normal(10000, 64))
    return [
        Row("layer_norm", "lm.layer_norm(x, n, w, b)", "F.layer_norm(x, (n,), w, b)", rows, tolerance=1e-2),
        Row(
            "rms_norm",
            "lm.rms_norm(x, 1024, w)",
            "F.rms_norm(x, (1024,), w)",
            _both("4096x1024", "x w", x=normal(4096, 1024), w=w),
            tolerance=1e-2,
        ),
        Row("group_norm", "lm.group_norm(x, 8, w, b)", "F.group_norm(x, 8, w, b)", images, tolerance=1e-2),
        Row(
            "instance_norm", "lm.instance_norm(x, w, b)", "F.instance_norm(x, weight=w, bias=b)", images, tolerance=1e-2
        ),
        Row(
            "batch_norm",
            "lm.batch_norm(x, None, None, w, b, training=True)",
            "F.batch_norm(x, None, None, w, b, training=True)",
            trained + vectors,
            tolerance=1e-2,
        ),
        Row("batch_norm", "lm.batch_norm(x, m, v, w, b)", "F.batch_norm(x, m, v, w, b)", inference),
        Row("normalize", "lm.normalize(x)", "F.normalize(x)", normalized, tolerance=1e-2),
        Row(
            "local_response_norm",
            "lm.local_response_norm(x, 5)",
            "F.local_response_norm(x, 5)",
            _both("32x32x28x28", "x", x=normal(32, 32, 28, 28)),
        ),
    ]


def _softmaxes() -> list[Row]:
    cases = (
        case("4096x1024, axis 1", goal=0.4, x=normal(4096, 1024), axis=1),
        case("4096x1024, axis 0", x=normal(4096, 1024), axis=0),
        case("32x32", x=normal(32, 32), axis=1),
        case("100000x10", x=normal(100000, 10), axis=1),
        case("32x64x28x28, axis 1", x=normal(32, 64, 28, 28), axis=1),
        case("4096x1024, axis 1, gradient", wants="x", x=normal(4096, 1024), axis=1),
        case("4096x1024, axis 0, gradient", wants="x", x=normal(4096, 1024), axis=0),
    )
    rows = [
        Row(op, f"lm.{op}(x, axis=axis)", f"F.{op}(x, axis)", cases if op == "softmax" else _plain(cases))
        for op in ("softmax", "log_softmax", "softmin")
    ]
    rows.append(Row("glu", "lm.glu(x)", "F.glu(x)", _both("1000x2000", "x", x=normal(1000, 2000))))
    return rows


def _plain(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """The cases, without goals of their own."""
    return tuple(Case(one.label, one.variables, GOAL, one.wants) for one in cases)


def _losses() -> list[Row]:
    pair = _both("1000x1000", "x", x=normal(1000, 1000), t=normal(1000, 1000))
    chances = _both("1000x1000", "x", x=uniform(0.05, 0.95, 1000, 1000), t=uniform(0, 1, 1000, 1000))
    signs = _both("1 million", "x", x=normal(1000000), t=Input((1000000,), "integers", "float32", 1, 2))
    classes = _both("4096x1000", "x", x=normal(4096, 1000), t=integers(1000, 4096))
    small = _both("64x10", "x", x=normal(64, 10), t=integers(10, 64))
    soft = _both("1024x1000", "x", x=normal(1024, 1000), t=uniform(0, 0.002, 1024, 1000))
    vectors = _both("10000x64", "a b", a=normal(10000, 64), b=normal(10000, 64), c=normal(10000, 64))
    flat = _both(
        "10000x64", "a b", a=normal(10000, 64), b=normal(10000, 64), t=Input((10000,), "integers", "float32", 1, 2)
    )
    lines = _both(
        "1 million", "a b", a=normal(1000000), b=normal(1000000), t=Input((1000000,), "integers", "float32", 1, 2)
    )
    labels = _both("1000x1000", "x", x=normal(1000, 1000), t=Input((1000, 1000), "integers", "float32", 0, 2))
    # The labels of a sample end with its first -1.
    listed = _both("1024x100", "x", x=normal(1024, 100), t=integers(100, 1024, 100, low=-1))
    simple = {
        "mse_loss": pair,
        "l1_loss": pair,
        "smooth_l1_loss": pair,
        "huber_loss": pair,
        "binary_cross_entropy": chances,
        "binary_cross_entropy_with_logits": chances,
        "kl_div": chances,
        "poisson_nll_loss": pair,
        "soft_margin_loss": signs,
        "hinge_embedding_loss": signs,
        "nll_loss": classes + small,
        "cross_entropy": classes + small + soft,
        "multi_margin_loss": classes + small,
        "multilabel_margin_loss": listed,
        "multilabel_soft_margin_loss": labels,
    }
    ctc = _both(
        "100x16x40, 20 labels",
        "x",
        x=normal(100, 16, 40),
        t=integers(40, 16, 20, low=1),
        n=Input((16,), "integers", "int64", 100, 101),
        m=Input((16,), "integers", "int64", 20, 21),
    )
    return [
        *(Row(op, f"lm.{op}(x, t)", f"F.{op}(x, t)", cases, tolerance=1e-2) for op, cases in simple.items()),
        Row(
            "cross_entropy",
            "lm.cross_entropy(x, t, label_smoothing=0.1)",
            "F.cross_entropy(x, t, label_smoothing=0.1)",
            classes,
        ),
        Row(
            "gaussian_nll_loss",
            "lm.gaussian_nll_loss(x, t, t * t + 1)",
            "F.gaussian_nll_loss(x, t, t * t + 1)",
            pair,
            tolerance=1e-2,
        ),
        Row(
            "margin_ranking_loss",
            "lm.margin_ranking_loss(a, b, t)",
            "F.margin_ranking_loss(a, b, t)",
            lines,
            tolerance=1e-2,
        ),
        Row("cosine_embedding_loss", "lm.cosine_embedding_loss(a, b, t)", "F.cosine_embedding_loss(a, b, t)", flat),
        Row("triplet_margin_loss", "lm.triplet_margin_loss(a, b, c)", "F.triplet_margin_loss(a, b, c)", vectors),
        Row("cosine_similarity", "lm.cosine_similarity(a, b)", "F.cosine_similarity(a, b)", vectors, tolerance=1e-2),
        Row("pairwise_distance", "lm.pairwise_distance(a, b)", "F.pairwise_distance(a, b)", vectors, tolerance=1e-2),
        Row(
            "ctc_loss",
            "lm.ctc_loss(lm.log_softmax(x, axis=-1), t, n, m)",
            "F.ctc_loss(torch.log_softmax(x, -1), t, n, m)",
            ctc,
            tolerance=1e-2,
        ),
    ]


def _attention() -> list[Row]:
    def heads(length: int, label: str) -> tuple[Case, Case]:
        return _both(label, "q k v", q=normal(4, 8, length, 64), k=normal(4, 8, length, 64), v=normal(4, 8, length, 64))

    cases = heads(128, "4x8x128x64") + heads(512, "4x8x512x64")
    name = "scaled_dot_product_attention"
    return [
        Row(name, f"lm.{name}(q, k, v)", f"F.{name}(q, k, v)", cases, tolerance=1e-2),
        Row(name, f"lm.{name}(q, k, v, is_causal=True)", f"F.{name}(q, k, v, is_causal=True)", cases, tolerance=1e-2),
    ]


def _recurrent() -> list[Row]:
    rows = []
    for op, gates in (("rnn", 1), ("lstm", 4), ("gru", 3)):
        weights: dict[str, Any] = {
            # Small enough that gradients neither grow nor vanish over the steps.
            "w": uniform(-0.1, 0.1, gates * 128, 64),
            "u": uniform(-0.1, 0.1, gates * 128, 128),
            "b": normal(gates * 128),
            "d": normal(gates * 128),
        }
        start = "(h, h)" if op == "lstm" else "h"
        cell = _both("64x64 to 128", "x w u", x=normal(64, 64), h=normal(64, 128), **weights)
        whole = _both("32 steps of 64x64 to 128", "x w u", x=normal(32, 64, 64), h=normal(1, 64, 128), **weights)
        ours_state = "h, h" if op == "lstm" else "h"
        cell_name = "rnn_tanh_cell" if op == "rnn" else f"{op}_cell"
        pick = "[0]" if op == "lstm" else ""
        rows.append(
            Row(
                f"{op}_cell",
                f"lm.{op}_cell(x, {ours_state}, w, u, b, d){pick}",
                f"torch.{cell_name}(x, {start}, w, u, b, d){pick}",
                cell,
                tolerance=1e-2,
            )
        )
        torch_name = "rnn_tanh" if op == "rnn" else op
        rows.append(
            Row(
                op,
                f"lm.{op}(x, {ours_state}, (w, u, b, d))[0]",
                f"torch.{torch_name}(x, {start}, (w, u, b, d), True, 1, 0.0, True, False, False)[0]",
                whole,
                tolerance=1e-2,
            )
        )
    return rows


def _images() -> list[Row]:
    images = _both("8x16x64x64", "x", x=normal(8, 16, 64, 64))
    sampled: dict[str, Any] = {"x": normal(8, 16, 64, 64), "g": uniform(-1, 1, 8, 64, 64, 2)}
    grids = _both("8x16x64x64 at 64x64", "x g", **sampled)
    steps = _both("8x16x64x64 at 64x64", "x", **sampled)  # constant between pixels: the grid has no gradient
    rows = [
        Row(
            "interpolate",
            f"lm.interpolate(x, size=(128, 96), mode='{mode}')",
            f"F.interpolate(x, size=(128, 96), mode='{mode}')",
            images,
            tolerance=1e-2,
        )
        for mode in ("nearest", "bilinear", "bicubic", "area")
    ]
    rows += [
        Row(
            "grid_sample",
            f"lm.grid_sample(x, g, mode='{mode}')",
            f"F.grid_sample(x, g, mode='{mode}', align_corners=False)",
            steps if mode == "nearest" else grids,
            tolerance=1e-2,
        )
        for mode in ("bilinear", "nearest", "bicubic")
    ]
    lines = _both("8x16x4096", "x", x=normal(8, 16, 4096))
    rows.append(
        Row(
            "interpolate",
            "lm.interpolate(x, size=6000, mode='linear')",
            "F.interpolate(x, size=6000, mode='linear')",
            lines,
            tolerance=1e-2,
        )
    )
    shapes = _both("8x64x64x64", "x", x=normal(8, 64, 64, 64))
    columns = _both("8x144x4096", "x", x=normal(8, 144, 4096))
    theta = _both("8 of 64x64", "x", x=normal(8, 2, 3))
    rows += [
        Row(
            "affine_grid",
            "lm.affine_grid(x, (8, 3, 64, 64))",
            "F.affine_grid(x, (8, 3, 64, 64), align_corners=False)",
            theta,
        ),
        Row("unfold", "lm.unfold(x, 3, padding=1)", "F.unfold(x, 3, padding=1)", images),
        Row("fold", "lm.fold(x, (64, 64), 3, padding=1)", "F.fold(x, (64, 64), 3, padding=1)", columns, tolerance=1e-2),
        Row("channel_shuffle", "lm.channel_shuffle(x, 8)", "torch.channel_shuffle(x, 8)", shapes),
        Row("pixel_shuffle", "lm.pixel_shuffle(x, 2)", "F.pixel_shuffle(x, 2)", shapes),
        Row("pixel_unshuffle", "lm.pixel_unshuffle(x, 2)", "F.pixel_unshuffle(x, 2)", shapes),
    ]
    return rows


ROWS: tuple[Row, ...] = (
    *_convolutions(),
    *_pools(),
    *_norms(),
    *_softmaxes(),
    *_losses(),
    *_attention(),
    *_recurrent(),
    *_images(),
)
