"""Every operator in ONNX: the eager numbers in onnxruntime, or an error that names the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.onnx._aliases import VIEWS, _symbols
from ops.calls import CALLS, KEYS, get_item, index, leaf, set_item
from ops.distributed_calls import DISTRIBUTED_CALLS
from ops.random_calls import RANDOM_CALLS
from ops.samples import ELEMENTWISE, GRADIENT_SHAPES, OTHERS, Operator, arguments, case_id

from .running import check, single

#: Elementwise operators that ONNX's operators do not make up, to rounding.
ELEMENTWISE_WITHOUT = {"zeta", "nextafter"}
#: Others: those that need factorizations, series without a simple form, or numbers that ONNX cannot draw.
WITHOUT = {
    *("polygamma", "gradient", "frexp", "erfcx", "log_ndtr", "gammainc", "gammaincc", "airy_ai", "spherical_bessel_j0"),
    *("i0", "i0e", "i1", "i1e", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"),
    *("modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1"),
    *("linalg_cholesky", "linalg_cholesky_ex", "linalg_cholesky_solve", "linalg_cholesky_inverse", "linalg_qr"),
    *("linalg_eigh", "linalg_eigvalsh", "linalg_svd", "linalg_svdvals", "linalg_solve", "linalg_solve_ex"),
    *("linalg_inv", "linalg_inv_ex", "linalg_solve_triangular", "linalg_pinv", "linalg_lu_factor", "linalg_lu"),
    *("linalg_lu_unpack", "linalg_lu_solve", "linalg_householder_product", "linalg_ormqr", "linalg_ldl_solve"),
    *("linalg_lstsq", "linalg_matrix_exp", "linalg_matrix_sqrth", "linalg_polar"),
    *DISTRIBUTED_CALLS,
}
#: Operators on complex numbers, for which ONNX has none.
COMPLEX = {
    *("complex", "polar", "real", "imag", "view_as_real", "view_as_complex", "linalg_eig", "linalg_eigvals"),
    *("fft_c2c", "fft_r2c", "fft_c2r", "stft", "istft"),
}
#: Calls that ONNX cannot express of operators that it can otherwise, by operator and number.
CALLS_WITHOUT = {
    ("cast", 0),
    ("linalg_matrix_power", 2),
    ("instance_norm", 2),
    *(("linalg_matrix_norm", i) for i in (1, 2, 3)),
}
#: Calls with closed-over float64, for which onnxruntime has no convolution.
NOT_RUN = {("conv1d", 2)}
#: Results that are random; test_drawn_numbers has those that ONNX can draw.
RANDOM = {*RANDOM_CALLS, "gumbel_softmax"}
RANDOM_CALLS_OF_OTHERS = {("scaled_dot_product_attention", 3), ("dropout", 0)}

WHOLE = index([3, 0, 2], [0, 1, 1])
ROWS = lm.asarray([[1.0, 5.0, 2.0, 5.0], [4.0, 4.0, 1.0, 0.0]])
SPARSE = lm.asarray([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
ODD = lm.asarray([1.0, float("nan"), float("inf"), -float("inf")])

#: Calls of operators that have no gradient, and of those whose other arguments ONNX writes in another way.
MORE: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    "zeros_like": [(lambda a: lm.zeros_like(a) + a, [ROWS])],
    "ones_like": [(lambda a: lm.ones_like(a, dtype="int64"), [ROWS])],
    "full_like": [(lambda a: lm.full_like(a, 2.5), [ROWS])],
    "empty_like": [(lambda a: lm.empty_like(a) * 0, [ROWS])],
    "shape_of": [(lm.shape_of, [ROWS])],
    "dynamic_interpolate": [
        (lambda a: lm.dynamic_interpolate(a[None, None], lm.asarray([5, 2]), mode="bilinear"), [ROWS]),
        (lambda a: lm.dynamic_interpolate(a[None], lm.asarray([7])), [ROWS]),
    ],
    "dynamic_shape": [(lambda a: lm.dynamic_shape([lm.shape_of(a)[0], lm.asarray(2)], [-2, 4, -2]), [ROWS])],
    "argmax": [(lambda a: lm.argmax(a, axis=1, keepdims=True), [ROWS]), (lm.argmax, [ROWS])],
    "argmin": [(lambda a: lm.argmin(a, axis=0), [ROWS]), (lambda a: lm.argmin(a, keepdims=True), [ROWS])],
    "any": [(lambda a: lm.any(a, axis=1), [SPARSE])],
    "all": [(lambda a: lm.all(a), [SPARSE]), (lambda a: lm.all(a > 0, axis=0, keepdims=True), [SPARSE])],
    "count_nonzero": [(lambda a: lm.count_nonzero(a, axis=1), [SPARSE])],
    "one_hot": [(lambda a: lm.one_hot(a, 4), [WHOLE])],
    "argsort": [(lambda a: lm.argsort(a, axis=0), [ROWS]), (lambda a: lm.argsort(a, descending=True), [ROWS])],
    "searchsorted": [
        (lm.searchsorted, [lm.asarray([0.0, 1.0, 3.0]), ROWS]),
        (lambda a, b: lm.searchsorted(a, b, side="right"), [lm.asarray([0.0, 1.0, 4.0]), ROWS]),
    ],
    "bucketize": [(lm.bucketize, [ROWS, lm.asarray([0.0, 1.0, 4.0])])],
    "isin": [(lambda a, b: lm.isin(a, b, invert=True), [ROWS, lm.asarray([5.0, 0.0])])],
    "unique_all": [(lm.unique_all, [ROWS])],
    "unique_counts": [(lm.unique_counts, [WHOLE])],
    "unique_inverse": [(lm.unique_inverse, [ROWS])],
    "unique_values": [(lm.unique_values, [ROWS])],
    "unique": [(lambda a: lm.unique(a, return_inverse=True, return_counts=True), [WHOLE])],
    "unique_consecutive": [
        (lambda a: lm.unique_consecutive(a, return_inverse=True, return_counts=True), [index(1, 1, 2, 2, 2, 1)])
    ],
    "bincount": [
        (lm.bincount, [index(0, 2, 2, 1)]),
        (lambda a, w: lm.bincount(a, w, minlength=5), [index(0, 2, 2), lm.asarray([0.5, 1.0, 2.0])]),
    ],
    "nonzero": [(lm.nonzero, [SPARSE])],
    "argwhere": [(lm.argwhere, [SPARSE])],
    "isposinf": [(lm.isposinf, [ODD])],
    "isneginf": [(lm.isneginf, [ODD])],
    "isreal": [(lm.isreal, [ODD])],
    "isclose": [(lm.isclose, [ODD, ODD]), (lambda a, b: lm.isclose(a, b, equal_nan=True), [ODD, ODD])],
    "allclose": [(lm.allclose, [ROWS, ROWS])],
    "nan_to_num": [(lm.nan_to_num, [ODD]), (lambda a: lm.nan_to_num(a, 1.0, 2.0, 3.0), [ODD])],
    "unravel_index": [(lambda a: lm.unravel_index(a, (2, 3)), [index(5, 1, 3)])],
    "ravel_multi_index": [(lambda a, b: lm.ravel_multi_index([a, b], (2, 3)), [index(1, 0), index(2, 1)])],
    "nansum": [(lambda a: lm.nansum(a[:3]), [ODD])],
    "nanmean": [(lambda a: lm.nanmean(a[:2]), [ODD])],
    "nanmedian": [(lambda a: lm.nanmedian(a[:2]), [ODD])],
    "median": [(lambda a: lm.median(a[:2]), [ODD])],
    "quantile": [
        (lambda a, how=how: lm.quantile(a, 0.4, 1, True, interpolation=how), [ROWS])
        for how in ("lower", "higher", "nearest", "midpoint")
    ],
    "sum": [(lambda a: lm.sum(a > 0), [ROWS]), (lambda a: lm.sum(a, axis=(0, 1), keepdims=True), [WHOLE])],
    "clip": [(lambda a, b: lm.clip(a, b, 4.0), [ROWS, lm.asarray([1.0, 2.0, 3.0, 4.0])])],
    "cummax": [(lambda a: lm.cummax(a, 1), [ROWS]), (lambda a: lm.cummax(a, 0), [WHOLE])],
    "cummin": [(lambda a: lm.cummin(a, 1), [ROWS])],
    "mode": [(lambda a: lm.mode(a, 1), [ROWS])],
    "topk": [(lambda a: lm.topk(a, 3), [ROWS])],
    "kthvalue": [(lambda a: lm.kthvalue(a, 2, 1, True), [ROWS])],
    "round": [(lambda a: lm.round(a * 1.234, decimals=1), [ROWS])],
    "divide": [(lm.divide, [WHOLE, WHOLE + 1]), (lambda a: 3 / (a + 1), [ROWS])],
    "remainder": [(lambda a: lm.remainder(a, -3), [WHOLE]), (lambda a: (a - 2.5) % 2, [ROWS])],
    "bitwise_left_shift": [(lambda a: a << 2, [WHOLE])],
    "bitwise_invert": [(lambda a: ~a, [WHOLE]), (lambda a: ~(a > 0), [WHOLE])],
    "reshape": [(lambda a: lm.reshape(a[:, 4:], (0, 2)), [ROWS])],
    "pad": [(lambda a: lm.pad(a, (-1, 1)), [ROWS]), (lambda a: lm.pad(a > 0, (1, 1), value=1), [ROWS])],
    "repeat": [(lambda a: lm.repeat(a, 2), [ROWS])],
    "roll": [(lambda a: lm.roll(a, 5), [ROWS]), (lambda a: lm.roll(a, (1, -1), (0, 1)), [ROWS])],
    "flip": [(lm.flip, [ROWS])],
    "split": [(lambda a: lm.split(a, 2, axis=1), [ROWS])],
    "masked_fill": [(lambda a: lm.masked_fill(a > 0, a > 4, False), [ROWS])],
    "gru": [
        (
            lambda a, h, *w: lm.gru(a, h, list(w), num_layers=2, bidirectional=True, has_biases=False),
            [leaf(4, 2, 3), leaf(4, 2, 2)] + [leaf(6, k) for k in (3, 2, 3, 2, 4, 2, 4, 2)],
        )
    ],
    "lstm": [
        (
            lambda a, h, c, *w: lm.lstm(a, h, c, list(w), bidirectional=True),
            [leaf(4, 3), leaf(2, 2), leaf(2, 2)] + [leaf(*shape) for shape in [(8, 3), (8, 2), (8,), (8,)] * 2],
        )
    ],
    "rnn": [
        (
            lambda a, h, *w: lm.rnn(a, h, list(w), nonlinearity="relu"),
            [leaf(4, 2, 3), leaf(1, 2, 2), leaf(2, 3), leaf(2, 2), leaf(2), leaf(2)],
        )
    ],
    "scaled_dot_product_attention": [
        (
            lambda q, k, v: lm.scaled_dot_product_attention(q, k, v, enable_gqa=True),
            [leaf(1, 4, 2, 3), leaf(1, 2, 5, 3), leaf(1, 2, 5, 3)],
        ),
        (
            lambda q: lm.scaled_dot_product_attention(q, q, q, attn_mask=index([False, False], [True, True])),
            [leaf(1, 2, 3)],
        ),
    ],
    "cross_entropy": [
        (
            lambda a: lm.cross_entropy(a, index(1, -100, 3), lm.asarray([1.0, 2.0, 3.0, 4.0]), label_smoothing=0.2),
            [leaf(3, 4)],
        ),
        (lambda a, t: lm.cross_entropy(a, lm.softmax(t, axis=1), label_smoothing=0.1), [leaf(3, 4), leaf(3, 4)]),
        (lambda a: lm.cross_entropy(a, index([1, 0], [2, 2], [0, 1]), reduction="none"), [leaf(3, 4, 2)]),
    ],
    "embedding_bag": [
        (lambda w: lm.embedding_bag(index(0, 2, 1, 1), w, index(0, 1, 1), "max"), [leaf(3, 2)]),
        (lambda w: lm.embedding_bag(index([0, 2], [2, 1]), w, padding_idx=2), [leaf(3, 2)]),
        (lambda w: lm.embedding_bag(index(0, 2, 1, 1), w, index(0, 3, 4), include_last_offset=True), [leaf(3, 2)]),
    ],
    "avg_pool2d": [
        (lambda a: lm.avg_pool2d(a, 3, 2, 1, ceil_mode=True), [leaf(1, 2, 4, 6)]),
        (lambda a: lm.avg_pool2d(a, 3, 2, 1, ceil_mode=True, count_include_pad=False), [leaf(2, 4, 6)]),
    ],
    "lp_pool2d": [(lambda a: lm.lp_pool2d(a, 2.0, 2, ceil_mode=True), [leaf(1, 2, 3, 3)])],
    "max_pool2d_with_indices": [(lambda a: lm.max_pool2d_with_indices(a, 2, ceil_mode=True), [leaf(2, 2, 3, 5)])],
    "adaptive_max_pool2d_with_indices": [
        (lambda a: lm.adaptive_max_pool2d_with_indices(a, (2, 3)), [leaf(2, 2, 3, 5)])
    ],
    "adaptive_avg_pool2d": [(lambda a: lm.adaptive_avg_pool2d(a, 1), [leaf(2, 2, 3, 5)])],
    "interpolate": [
        (lambda a: lm.interpolate(a, scale_factor=2, mode="nearest-exact"), [leaf(1, 2, 3)]),
        (lambda a: lm.interpolate(a, 7, mode="linear", align_corners=True), [leaf(1, 2, 3)]),
        (lambda a: lm.interpolate(a, (2, 3, 4), mode="trilinear"), [leaf(1, 1, 3, 2, 3)]),
        (lambda a: lm.interpolate(a, scale_factor=(1.3, 2.6), mode="bicubic"), [leaf(1, 1, 5, 4)]),
        (
            lambda a: lm.interpolate(a, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
            [leaf(1, 1, 5, 4)],
        ),
    ],
    "batch_norm": [(lambda a: lm.batch_norm(a, lm.zeros(2), lm.ones(2) * 2), [leaf(3, 2, 2)])],
    "local_response_norm": [(lambda a: lm.local_response_norm(a, 3, 0.5), [leaf(2, 5, 2, 2)])],
    "linalg_vector_norm": [
        (lambda a, p=p: lm.linalg.vector_norm(a, axis=1, ord=p), [ROWS])
        for p in (0, 1, 2, 3, float("inf"), -float("inf"))
    ],
    "linalg_matrix_norm": [
        (lambda a, p=p: lm.linalg.matrix_norm(a, ord=p), [ROWS]) for p in ("fro", 1, -1, float("inf"))
    ],
    "diagonal": [(lambda a: lm.linalg.diagonal(a, offset=1), [leaf(2, 3, 4)])],
    "diag": [(lm.diag, [lm.asarray([1.0, 2.0])])],
    "prelu": [(lm.prelu, [leaf(2, 3, 2), leaf(3, low=0.1)])],
    "grid_sample": [(lambda a, g: lm.grid_sample(a, g, align_corners=True), [leaf(1, 2, 3, 3), leaf(1, 2, 2, 2)])],
    "ctc_loss": [
        (lambda a, r=r: lm.ctc_loss(a, index([1, 2], [2, 2]), index(6, 5), index(2, 1), reduction=r), [leaf(6, 2, 3)])
        for r in ("mean", "sum")
    ],
}
#: Operators without tensors, which run while a model is recorded: their results are constants of it.
CONSTANT = {
    *("zeros", "ones", "full", "empty", "arange", "linspace", "logspace", "eye", "tril_indices", "triu_indices"),
}
#: Operators that are in no list here, as nothing that draws no numbers calls them: their errors are tested.
REFUSED: dict[str, tuple[Callable[..., Any], list[lm.Tensor]]] = {
    "gcd": (lm.gcd, [WHOLE, WHOLE]),
    "lcm": (lm.lcm, [WHOLE, WHOLE]),
    "histogram": (lm.histogram, [ROWS]),
    "histogramdd": (lambda a: lm.ops.lamella.histogramdd(a, [lm.asarray([0.0, 1.0])] * 4), [ROWS]),
    "histc": (lm.histc, [ROWS]),
    "nonzero_static": (lambda a: lm.nonzero_static(a, size=3), [SPARSE]),
    "linalg_geqrf": (lm.ops.lamella.linalg_geqrf, [leaf(3, 2)]),
    "linalg_ldl_factor_ex": (lm.ops.lamella.linalg_ldl_factor_ex, [lm.eye(2)]),
    "linalg_matrix_rank": (lm.linalg.matrix_rank, [ROWS]),
}

FAILS = (NotImplementedError, ValueError)


def cases() -> list[Any]:
    found = []
    for calls in (CALLS, MORE):
        for name, each in calls.items():
            for i, (call, inputs) in enumerate(each):
                place = (name, i) if calls is CALLS else (name, -1)
                known = WITHOUT | COMPLEX | RANDOM
                if name not in known and place not in CALLS_WITHOUT | NOT_RUN | RANDOM_CALLS_OF_OTHERS:
                    found.append(pytest.param(call, inputs, id=f"{name}-{i}" + ("" if calls is CALLS else "-more")))
    return found


@pytest.mark.parametrize(("call", "inputs"), cases())
def test_the_eager_numbers(call: Callable[..., Any], inputs: list[lm.Tensor]) -> None:
    check(call, [single(x) for x in inputs], input_names=[f"x{i}" for i in range(len(inputs))])


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("op", [op for op in ELEMENTWISE if op.name not in ELEMENTWISE_WITHOUT], ids=case_id)
def test_elementwise(op: Operator, dtype: str, rng: np.random.Generator) -> None:
    shapes: Any = GRADIENT_SHAPES["broadcast"]
    arrays = arguments(op, shapes[: op.inputs], dtype, rng)
    names = [f"x{i}" for i in range(op.inputs)]
    try:
        op(*(lm.asarray(a) for a in arrays))
    except TypeError:
        with pytest.raises(TypeError):
            lm.onnx.export(op, tuple(lm.asarray(a) for a in arrays), input_names=names)
        return
    if op.name == "fmod" and dtype == "int64":
        arrays[1] = np.where(arrays[1] == 0, 3, arrays[1])
    newer = op.name.startswith("bitwise") and dtype == "int64"
    check(op, [lm.asarray(a) for a in arrays], input_names=names, opset_version=18 if newer else 17)


@pytest.mark.parametrize("opset", [18, 20, 23])
def test_newer_operator_sets(opset: int) -> None:
    names = ["mean", "max", "pad", "split", "scatter_reduce", "grid_sample", "interpolate", "gelu", "group_norm"]
    for name in [*names, "avg_pool2d", "lp_pool2d", "logsumexp", "std", "layer_norm", "gru"]:
        for call, inputs in CALLS[name]:
            xs = [single(x) for x in inputs]
            check(call, xs, input_names=[f"x{i}" for i in range(len(xs))], opset_version=opset)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing(key: Any) -> None:
    check(get_item(key), [single(leaf(2, 3))])
    check(set_item(key), [single(leaf(2, 3)), single(leaf(1, low=1.5))], input_names=["a", "b"])


@pytest.mark.parametrize(
    "key",
    [
        *((slice(None, None, 2), -1), (slice(-2, None), None, ...), (..., [0, 1]), ([[0], [1]], slice(None), [2, 0])),
        *((slice(None), [1, 0], [2, 0]), (0, [1, 0], slice(1, None)), (slice(None, None, -1), slice(3, 0, -2))),
    ],
    ids=str,
)
def test_more_indexing(key: Any) -> None:
    check(lambda x: x[key], [single(leaf(2, 2, 3))])
    check(set_item(key), [single(leaf(2, 2, 3)), single(leaf(1, low=1.5))], input_names=["a", "b"])


def test_indexing_by_tensors() -> None:
    x = single(leaf(3, 4))
    check(lambda x, i: x[i, 1:], [x, index(2, 0)])
    check(lambda x, m: x[m], [x, index(True, False, True)])
    check(lambda x: x[x > 0], [x])

    def assigned(x: lm.Tensor) -> lm.Tensor:
        y = x * 1
        y[y > 0] = 0.0
        return y

    check(assigned, [x])


@pytest.mark.parametrize("name", sorted((WITHOUT | COMPLEX) & CALLS.keys()))
def test_operators_that_onnx_has_not(name: str) -> None:
    for call, inputs in CALLS[name]:
        xs = tuple(single(x) for x in inputs)
        with pytest.raises(FAILS, match=r"lamella::\w+.*(no counterpart in ONNX|no operators for complex)"):
            lm.onnx.export(call, xs, input_names=[f"x{i}" for i in range(len(xs))])


@pytest.mark.parametrize("name", REFUSED)
def test_operators_without_gradient_that_onnx_has_not(name: str) -> None:
    call, inputs = REFUSED[name]
    with pytest.raises(NotImplementedError):
        lm.onnx.export(call, tuple(single(x) for x in inputs), input_names=[f"x{i}" for i in range(len(inputs))])


@pytest.mark.parametrize(("name", "i"), sorted(CALLS_WITHOUT))
def test_calls_that_onnx_cannot_express(name: str, i: int) -> None:
    call, inputs = CALLS[name][i]
    with pytest.raises(FAILS):
        lm.onnx.export(call, tuple(single(x) for x in inputs))


@pytest.mark.parametrize("name", sorted(ELEMENTWISE_WITHOUT))
def test_elementwise_operators_that_onnx_has_not(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"lamella::{name}"):
        lm.onnx.export(getattr(lm, name), (lm.ones([2]), lm.ones([2])), input_names=["a", "b"])


def test_drawn_numbers() -> None:
    x = lm.full([200, 100], 0.25)

    def draws(x: lm.Tensor) -> list[lm.Tensor]:
        return [
            lm.rand_like(x) + 1,
            lm.randn_like(x) * 2,
            lm.uniform([50, 200], 2.0, 4.0) + x.sum() * 0,
            lm.normal(None, x, 2.0),
            lm.exponential([100, 100], 2.0),
            lm.bernoulli(x),
            lm.randint_like(x, 0, 4, dtype="int64").astype("float32"),
            lm.dropout(x + 1, 0.5),
            lm.laplace(None, x, 0.5),
            lm.log_normal([100, 200], 0.0, 0.25),
            (x * 1).uniform_(1.0, 3.0),
            (x * 1).normal_(1.0, 0.5, generator=lm.Generator(seed=3)),
            (x * 1).exponential_(2.0),
            (x * 1).bernoulli_(0.75),
            lm.clip(lm.cauchy([100, 200], x[0, 0]), -1.0, 1.5),
        ]

    from .running import run

    got = run(lm.onnx.export(draws, (x,)), [x])
    assert [y.shape for y in got] == [tuple(y.shape) for y in draws(x)]
    means = [1.5, 0.0, 3.0, 0.25, 0.5, 0.25, 1.5, 1.25]
    means += [0.25, 1.0317, 2.0, 1.0, 0.5, 0.75, 0.25]
    assert np.allclose([float(y.mean()) for y in got], means, atol=0.05)
    deviations = [12**-0.5, 2.0, 2 / 12**0.5, 2.0, 0.5, 3**0.5 / 4, 1.25**0.5, 1.25]
    deviations += [0.5**0.5, 0.262, 3**-0.5, 0.5, 0.5, 0.433, 0.9467]
    assert np.allclose([float(y.std()) for y in got], deviations, atol=0.05)


def test_every_operator_is_in_a_list() -> None:
    """What a new operator needs: a call here, in CALLS, or its name among those that ONNX has not."""
    known = {*CALLS, *MORE, *CONSTANT, *REFUSED, *RANDOM, *WITHOUT, *COMPLEX}
    drawing = {info for info in OTHERS if info in {"poisson", "multinomial", "randperm", "rand", "randn", "randint"}}
    drawing |= {"uniform", "normal", "bernoulli", "rand_like", "randn_like", "randint_like", "geometric", "gamma"}
    assert not set(OTHERS) - known - drawing - {"truncated_normal"}
    with_converter = {name.removeprefix("lamella::") for name in lm.onnx.supported_operators()}
    assert not (WITHOUT | ELEMENTWISE_WITHOUT | REFUSED.keys()) & with_converter
    assert len(with_converter & {*OTHERS, *(op.name for op in ELEMENTWISE)}) > 400


def memory(x: lm.Tensor) -> tuple[int, int]:
    """Where a tensor's elements begin and end, for those in row-major order at least."""
    return x.data_ptr(), x.data_ptr() + max(x.size, 1) * x.numpy().itemsize


@pytest.mark.parametrize("name", CALLS)
def test_results_that_share_memory_are_known(name: str) -> None:
    """A write to one of two values that share memory is refused: the exporter has to know the operators that share."""
    for call, inputs in CALLS[name]:
        graph = lm.graph.Graph()
        symbols = [graph.input(f"x{i}", x.dtype, x.shape) for i, x in enumerate(inputs)]
        with lm.graph.recording(graph):
            call(*symbols)
        kept = [x for x in graph.symbols if not x.dtype.name.startswith("complex")]
        run = graph.run({f"x{i}": x.detach() for i, x in enumerate(inputs)}, kept)
        values = {x.name: y.detach() for x, y in zip(kept, run, strict=True)}
        for node in graph.nodes:
            if node.op in VIEWS or node.op.endswith("_"):
                continue
            given = [x.name for _, value in node.arguments for x in _symbols(value) if x.name in values]
            for result in node.results:
                if result is None or result.name not in values:
                    continue
                begin, end = memory(values[result.name])
                for other in given:
                    low, high = memory(values[other])
                    assert end <= low or high <= begin, f"{node.op} shares memory"


OF_OPEN_SIZES: dict[str, Callable[[Any], Any]] = {
    "split": lambda x: lm.split(x, 2)[1],
    "split of sizes": lambda x: lm.split(x, [1, -1, 1])[1],
    "tensor_split": lambda x: lm.concat([part + i for i, part in enumerate(lm.tensor_split(x, 3))]),
    "tensor_split at places": lambda x: lm.tensor_split(x, [1, 3])[2],
    "chunk": lambda x: lm.chunk(x, 2)[0],
    "vsplit": lambda x: lm.vsplit(x, 2)[0],
    "flatten": lambda x: lm.flatten(x, 1),
    "flatten of the first axes": lambda x: lm.flatten(x, 0, 1),
    "unflatten": lambda x: lm.unflatten(x, 2, (2, -1)),
    "reshape": lambda x: lm.reshape(x, [-1, 4]),
}


@pytest.mark.parametrize("name", OF_OPEN_SIZES)
def test_sizes_of_open_axes_are_computed_when_the_model_runs(name: str) -> None:
    import onnxruntime

    f = OF_OPEN_SIZES[name]
    model = lm.onnx.export(f, lm.ones([4, 6, 4]), input_names=["x"], dynamic_axes={"x": [0, 1]})
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for shape in ((4, 6, 4), (8, 3, 4), (6, 1, 4)):
        x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], f(lm.asarray(x)).numpy())


def test_squeeze_without_axes_needs_sizes() -> None:
    with pytest.raises(NotImplementedError, match="squeeze"):
        lm.onnx.export(lambda x: lm.squeeze(x), lm.ones([2, 1, 3]), input_names=["x"], dynamic_axes={"x": [0]})


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 4), (7, 3), (12, 13)])
def test_antialiased_images(mode: str, size: tuple[int, int]) -> None:
    x = lm.asarray(np.random.default_rng(1).normal(size=(1, 2, 8, 9)).astype("float32"))
    check(lambda x: lm.nn.functional.interpolate(x, size, mode=mode, antialias=True), (x,), opset_version=18)


def test_scans_of_integers_that_give_floats() -> None:
    check(lambda x: lm.logcumsumexp(x, 1), (lm.asarray([[1, 2, 5], [0, 3, 1]]),))
