"""vmap of every operator equals a loop over the examples: values, gradients, second derivatives."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lamella as lm

from . import assembly_calls, moving, special_calls
from .distributed_calls import DISTRIBUTED_CASES
from .linalg_calls import LINALG_EXAMPLES
from .random_calls import RANDOM_CALLS, RANDOM_WITHOUT_GRADIENT
from .samples import ALL, ELEMENTWISE, Operator, arguments, case_id

EXAMPLES = 3
vmap = lm.autograd.vmap


@dataclass(frozen=True)
class Case:
    """A call of an operator on tensors; shapes (or draws) are those of one example."""

    function: Callable[..., Any]
    shapes: tuple[Any, ...]
    #: Whether it is compared with the loop's derivatives as well.
    smooth: bool = True


def draw(shape: Any, rng: np.random.Generator) -> np.ndarray:
    """One example: floats for a shape, integers for ``(shape, low, high)``, bools for ``(shape, 'bool')``."""
    if len(shape) == 2 and shape[1] == "bool":
        return rng.random(shape[0]) < 0.5
    if len(shape) == 3 and isinstance(shape[0], tuple):
        return rng.integers(shape[1], shape[2], shape[0])
    return rng.uniform(-2, 2, shape)


def flat(result: Any) -> list[lm.Tensor]:
    return list(result) if isinstance(result, tuple | list) else [result]


def loop(function: Callable[..., Any], args: Sequence[lm.Tensor], axes: Sequence[int | None]) -> list[lm.Tensor]:
    """What vmap is to compute, example by example."""

    def example(x: lm.Tensor, axis: int | None, i: int) -> lm.Tensor:
        return x if axis is None else x[i] if axis == 0 else x[..., i]

    rows = [flat(function(*[example(x, axis, i) for x, axis in zip(args, axes, strict=True)])) for i in range(EXAMPLES)]
    return [lm.stack([row[k] for row in rows]) for k in range(len(rows[0]))]


def layouts(results: Sequence[lm.Tensor]) -> list[tuple[int, ...]]:
    """The strides of each tensor, without those that mean nothing."""
    return [tuple(s for s, n in zip(y.strides, y.shape, strict=True) if n > 1) if y.size else () for y in results]


def is_float(x: lm.Tensor) -> bool:
    return x.dtype.name.startswith("float")


def weighted(results: Sequence[lm.Tensor]) -> lm.Tensor:
    """A sum of all results in which each element counts differently."""
    total = lm.asarray(0.0, dtype="float64")
    for y in results:
        if is_float(y) and not y.stop_gradient:
            weights = lm.asarray(np.cos(np.arange(y.size, dtype="float64")).reshape(y.shape) + 1.5)
            total = total + (y * weights).sum()
    return total


def derivatives(run: Callable[..., list[lm.Tensor]], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The gradients of weighted(run(...)), and those of a sum of these."""
    args = [lm.tensor(a, stop_gradient=a.dtype != np.float64) for a in arrays]
    inputs = [x for x in args if not x.stop_gradient]
    total = weighted(run(*args))
    if total.stop_gradient:
        return []
    first = [g for g in lm.grad([total], inputs, create_graph=True, allow_unused=True) if g is not None]
    again = weighted([g * g for g in first])
    second = [] if again.stop_gradient else lm.grad([again], inputs, allow_unused=True)
    return [g.detach().numpy() for g in first] + [np.zeros(1) if g is None else g.numpy() for g in second]


def check(case: Case, arrays: Sequence[Sequence[np.ndarray]]) -> None:
    """`arrays` holds, for each argument, one array for each example."""
    count = len(arrays)
    for mapped in itertools.product([0, -1, None], repeat=count):
        if all(axis is None for axis in mapped):
            continue
        axes = list(mapped)
        given = [
            examples[0] if axis is None else np.stack(examples, axis)
            for examples, axis in zip(arrays, axes, strict=True)
        ]
        mapped_function = vmap(case.function, in_axes=tuple(axes))
        laid_out: list[tuple[int, ...]] = []

        def noted(*args: lm.Tensor, laid_out: list[tuple[int, ...]] = laid_out) -> Any:
            result = case.function(*args)
            laid_out += layouts(flat(result))
            return result

        got = flat(vmap(noted, in_axes=tuple(axes))(*[lm.asarray(a) for a in given]))
        expected = loop(case.function, [lm.asarray(a) for a in given], axes)
        assert len(got) == len(expected)
        # Whether a reshape is a view, and a write through it is seen, must not depend on vmap.
        first = [
            lm.asarray(a) if axis is None else lm.asarray(a).moveaxis(axis, 0)[0]
            for a, axis in zip(given, axes, strict=True)
        ]
        assert laid_out == layouts(flat(case.function(*first)))
        for y, wanted in zip(got, expected, strict=True):
            assert y.shape == wanted.shape and y.dtype == wanted.dtype
            np.testing.assert_allclose(y.numpy(), wanted.numpy(), rtol=1e-12, atol=1e-12)
        if not case.smooth:
            continue
        ours = derivatives(lambda *args, f=mapped_function: flat(f(*args)), given)
        theirs = derivatives(lambda *args, axes=axes: loop(case.function, args, axes), given)
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("op", ELEMENTWISE, ids=case_id)
@pytest.mark.parametrize("shapes", [((2, 4),) * 4, ((4, 1), (3,), (), (1,))], ids=["alike", "broadcast"])
def test_elementwise(op: Operator, shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> None:
    dtype = "float64" if "float64" in op.dtypes else "int64"
    drawn = [arguments(op, list(shapes[: op.inputs]), dtype, rng) for _ in range(EXAMPLES)]
    if op.mask_input and any(a.dtype == np.float64 for a in drawn[0]):
        assert drawn[0][0].dtype == bool
    smooth = any(op.differentiable) and dtype == "float64"
    check(Case(op, (), smooth), [[row[i] for row in drawn] for i in range(op.inputs)])


INTEGERS = ((4,), 0, 3)
SQUARE = (3, 3)


def assign(x: lm.Tensor, value: lm.Tensor, key: Any) -> lm.Tensor:
    y = x * 1
    y[key] = value
    return y


def in_place(name: str) -> Callable[[lm.Tensor, lm.Tensor], lm.Tensor]:
    # The sum makes room for a value for each example, whichever argument has them.
    return lambda x, other: getattr(x + 0 * other.sum(), name)(other)


CASES: dict[str, list[Case]] = {
    "zeros_like": [Case(lambda x: lm.zeros_like(x) + x, ((2, 3),))],
    "ones_like": [Case(lambda x: lm.ones_like(x, dtype="float64"), ((2, 3),))],
    "full_like": [Case(lambda x: lm.full_like(x, 2.5) * x, ((2, 3),))],
    "empty_like": [Case(lambda x: lm.empty_like(x).zero_() + x, ((2, 3),))],
    "tril": [Case(lm.tril, ((3, 4),))],
    "triu": [Case(lambda x: lm.triu(x, k=1), ((2, 3, 4),))],
    "cast": [Case(lambda x: lm.cast(lm.cast(x, "float32"), "float64"), ((2, 3),), smooth=False)],
    "astype": [Case(lambda x: x.astype("int64"), ((2, 3),)), Case(lambda x: x.astype("float64"), ((2, 3),))],
    "clone": [Case(lm.clone, ((2, 3),)), Case(lambda x: x.T.clone(), ((2, 3),))],
    "contiguous": [Case(lm.contiguous, ((2, 3),)), Case(lambda x: x.T.contiguous() * 2, ((2, 3),))],
    "to_device": [Case(lambda x: lm.to_device(x, "cpu") * x, ((2,),))],
    "add_": [Case(in_place("add_"), ((2, 3), (3,)))],
    "sub_": [Case(in_place("sub_"), ((2, 3), (2, 3)))],
    "mul_": [Case(in_place("mul_"), ((2, 3), (2, 1)))],
    "div_": [Case(in_place("div_"), ((2, 3), (2, 1)))],
    "copy_": [Case(in_place("copy_"), ((2, 3), (3,)))],
    "masked_fill_": [
        Case(lambda x, v: (x + 0 * v).masked_fill_(lm.asarray([True, False, True]), v), ((2, 3), ())),
        Case(lambda x: (x * 1).masked_fill_(x > 0, 2.0) * x, ((2, 3),)),
    ],
    "fill_": [Case(lambda x: (x * 1).fill_(2) + x, ((2, 3),))],
    "zero_": [Case(lambda x: (x * 1).zero_() + x, ((2, 3),))],
    "reshape": [Case(lambda x: x.reshape(3, 2), ((2, 3),)), Case(lambda x: x.T.reshape(-1) * 2, ((2, 3),))],
    "flatten": [Case(lambda x: x.flatten(1), ((2, 3, 2),)), Case(lm.flatten, ((),))],
    "squeeze": [Case(lm.squeeze, ((2, 1, 3),)), Case(lambda x: lm.squeeze(x, -1), ((2, 1),))],
    "expand_dims": [Case(lambda x: lm.expand_dims(x, 1), ((2, 3),))],
    "broadcast_to": [Case(lambda x: lm.broadcast_to(x, [4, 2, 3]), ((2, 1),))],
    "sum_to": [Case(lambda x: lm.sum_to(x, [2, 1]), ((4, 2, 3),))],
    "permute_dims": [Case(lambda x: lm.permute_dims(x, [2, 0, 1]), ((2, 3, 4),))],
    "matrix_transpose": [Case(lambda x: x.mT, ((2, 3),))],
    "swapaxes": [Case(lambda x: lm.swapaxes(x, 0, -1), ((2, 3, 4),))],
    "concat": [
        Case(lambda a, b: lm.concat([a, b * a[0]]), ((2, 3), (1, 3))),
        Case(lambda a, b: lm.concat([a, b], axis=-1), ((2, 3), (2, 2))),
    ],
    "stack": [Case(lambda a, b: lm.stack([a, b, a], axis=1), ((2, 3), (2, 3)))],
    "split": [
        Case(lambda x: lm.split(x, 2, axis=1), ((3, 4),)),
        Case(lambda x: lm.split(x, [1, -1])[1] * 2, ((3, 2),)),
    ],
    "flip": [Case(lm.flip, ((2, 3),)), Case(lambda x: lm.flip(x, 0), ((2, 3),))],
    "roll": [Case(lambda x: lm.roll(x, 2), ((2, 3),)), Case(lambda x: lm.roll(x, 1, axis=1), ((2, 3),))],
    "take": [
        Case(lm.take, ((3,), INTEGERS)),
        Case(lambda x, i: lm.take(x, i, axis=1), ((2, 3, 2), ((2, 2), -3, 3))),
    ],
    "take_along_axis": [Case(lambda x, i: lm.take_along_axis(x, i, axis=1), ((2, 3), ((2, 2), 0, 3)))],
    "sum": [Case(lm.sum, ((2, 3),)), Case(lambda x: lm.sum(x, axis=(0, 2), keepdims=True), ((2, 3, 4),))],
    "mean": [Case(lm.mean, ((2, 3),)), Case(lambda x: x.mean(1), ((2, 3),))],
    "prod": [Case(lm.prod, ((2, 3),)), Case(lambda x: lm.prod(x, axis=0), ((3, 2),))],
    "max": [Case(lm.max, ((2, 3),)), Case(lambda x: lm.max(x, axis=1), ((2, 3),))],
    "min": [Case(lm.min, ((2, 3),)), Case(lambda x: lm.min(x, axis=0, keepdims=True), ((2, 3),))],
    "argmax": [Case(lm.argmax, ((2, 3),)), Case(lambda x: lm.argmax(x, axis=1), ((2, 3),))],
    "argmin": [Case(lambda x: lm.argmin(x, keepdims=True), ((2, 3),)), Case(lambda x: x.argmin(0), ((2, 3),))],
    "any": [Case(lm.any, (((2, 3), "bool"),)), Case(lambda x: lm.any(x > 0, axis=1), ((2, 3),))],
    "all": [Case(lm.all, (((2, 3), "bool"),)), Case(lambda x: lm.all(x > -1, axis=0), ((2, 3),))],
    "matmul": [
        Case(lm.matmul, ((2, 3), (3, 4))),
        Case(lm.matmul, ((3,), (3,))),
        Case(lm.matmul, ((3,), (3, 2))),
        Case(lm.matmul, ((2, 3), (3,))),
        Case(lm.matmul, ((2, 2, 3), (3, 4))),
        Case(lm.matmul, ((2, 3), (2, 3, 4))),
        Case(lm.matmul, ((5, 1, 2, 3), (2, 3, 4))),
        Case(lambda a, b: a.mT @ b, ((3, 2), (3, 4))),
        Case(lm.matmul, ((18, 17), (17, 19))),
        Case(lm.matmul, (((2, 3), -5, 6), ((3, 2), -5, 6))),
    ],
    "linear": [
        Case(lm.linear, ((2, 3), (4, 3), (4,))),
        Case(lm.linear, ((3,), (4, 3), (4,))),
        Case(lm.linear, ((2, 5, 3), (4, 3))),
        Case(lm.linear, ((18, 17), (19, 17), (19,))),
    ],
    "positive": [Case(lambda x: lm.positive(x * x), ((2, 3),))],
    "deg2rad": [Case(lm.deg2rad, ((2, 3),))],
    "rad2deg": [Case(lm.rad2deg, ((2, 3),))],
    "logit": [Case(lambda x: lm.logit(lm.sigmoid(x)), ((2, 3),)), Case(lambda x: lm.logit(x, eps=0.3), ((3,),))],
    "polygamma": [Case(lambda x: lm.polygamma(1, x * x + 1), ((2, 3),))],
    "nan_to_num": [Case(lambda x: lm.nan_to_num(lm.log(x), nan=0.5), ((2, 3),), smooth=False)],
    "isclose": [Case(lambda a, b: lm.isclose(a, b, atol=0.5), ((2, 3), (3,)))],
    "allclose": [Case(lambda a, b: lm.allclose(a, b, atol=0.5), ((3,), (3,)))],
    "clip": [
        Case(lambda x: lm.clip(x, -1.05, 1.15), ((2, 3),)),
        Case(lambda x, low: lm.clip(x, low), ((2, 3), (3,))),
        Case(lambda x, high: lm.clip(x, None, high), ((2, 3), ())),
    ],
    "gelu": [Case(lm.gelu, ((2, 3),)), Case(lambda x: lm.gelu(x, approximate="tanh"), ((2, 3),))],
    "softmax": [
        Case(lm.softmax, ((2, 3),)),
        Case(lambda x: lm.softmax(x, 0), ((2, 3),)),
        Case(lm.softmax, ((),)),
    ],
    "log_softmax": [Case(lm.log_softmax, ((2, 3),)), Case(lambda x: lm.log_softmax(x, 0), ((2, 3),))],
    "cross_entropy": [
        Case(lm.cross_entropy, ((4, 3), INTEGERS)),
        Case(lambda x, t: lm.cross_entropy(x, t, reduction="none"), ((3,), ((), 0, 3))),
    ],
    "mse_loss": [Case(lm.mse_loss, ((2, 3), (2, 3)))],
    "one_hot": [Case(lambda x: lm.one_hot(x, 3), (INTEGERS,))],
    "dropout": [Case(lambda x: lm.dropout(x, 0.5, training=False), ((2,),)), Case(lambda x: lm.dropout(x, 1), ((2,),))],
    **{
        name: [Case(f, shapes) for f, shapes in calls]
        for name, calls in (moving.CASES | assembly_calls.CASES | special_calls.CASES).items()
    },
    "conv1d": [
        Case(lm.conv1d, ((2, 2, 4), (3, 2, 2), (3,))),
        Case(lambda x, w: lm.conv1d(x, w, groups=2, padding=1, stride=2), ((4, 5), (2, 2, 2))),
    ],
    "conv2d": [Case(lambda x, w: lm.conv2d(x, w, padding="same", groups=2), ((2, 2, 3, 2), (2, 1, 2, 2)))],
    "conv3d": [Case(lm.conv3d, ((1, 1, 2, 2, 2), (1, 1, 1, 2, 2)))],
    "conv_transpose1d": [
        Case(lm.conv_transpose1d, ((2, 2, 3), (2, 2, 2), (2,))),
        Case(lambda x, w: lm.conv_transpose1d(x, w, stride=2, groups=2), ((2, 3), (2, 2, 2))),
    ],
    "conv_transpose2d": [Case(lm.conv_transpose2d, ((1, 1, 2, 2), (1, 2, 2, 1)))],
    "conv_transpose3d": [Case(lm.conv_transpose3d, ((1, 1, 2, 1, 1), (1, 1, 1, 2, 1)))],
    "max_pool1d": [Case(lambda x: lm.max_pool1d(x * x, 2), ((1, 2, 4),))],
    "max_pool2d": [Case(lambda x: lm.max_pool2d(x * x, 2, 1, 1), ((2, 3, 3),))],
    "max_pool3d": [Case(lambda x: lm.max_pool3d(x * x, 2), ((1, 2, 2, 2),))],
    "max_pool1d_with_indices": [Case(lambda x: lm.max_pool1d_with_indices(x * x, 2), ((1, 2, 4),))],
    "max_pool2d_with_indices": [Case(lambda x: lm.max_pool2d_with_indices(x, 2), ((2, 4, 3),))],
    "max_pool3d_with_indices": [Case(lambda x: lm.max_pool3d_with_indices(x, 2), ((1, 2, 2, 3),))],
    "avg_pool1d": [Case(lambda x: lm.avg_pool1d(x * x, 2), ((1, 2, 4),))],
    "avg_pool2d": [Case(lambda x: lm.avg_pool2d(x * x, 2, 1, 1), ((2, 3, 3),))],
    "avg_pool3d": [Case(lambda x: lm.avg_pool3d(x * x, 2), ((1, 2, 2, 2),))],
    "lp_pool1d": [Case(lambda x: lm.lp_pool1d(x, 2.0, 2), ((1, 2, 4),))],
    "lp_pool2d": [Case(lambda x: lm.lp_pool2d(x, 2.0, 2, 1), ((1, 3, 3),))],
    "lp_pool3d": [Case(lambda x: lm.lp_pool3d(x, 2.0, 2), ((1, 2, 2, 2),))],
    "adaptive_avg_pool1d": [Case(lambda x: lm.adaptive_avg_pool1d(x * x, 2), ((2, 3),))],
    "adaptive_avg_pool2d": [Case(lambda x: lm.adaptive_avg_pool2d(x * x, 2), ((2, 3, 3),))],
    "adaptive_avg_pool3d": [Case(lambda x: lm.adaptive_avg_pool3d(x * x, 1), ((1, 2, 2, 2),))],
    "adaptive_max_pool1d": [Case(lambda x: lm.adaptive_max_pool1d(x * x, 2), ((2, 3),))],
    "adaptive_max_pool2d": [Case(lambda x: lm.adaptive_max_pool2d(x * x, 2), ((2, 3, 3),))],
    "adaptive_max_pool3d": [Case(lambda x: lm.adaptive_max_pool3d(x * x, 1), ((1, 2, 2, 2),))],
    "adaptive_max_pool1d_with_indices": [Case(lambda x: lm.adaptive_max_pool1d_with_indices(x, 2), ((2, 3),))],
    "adaptive_max_pool2d_with_indices": [Case(lambda x: lm.adaptive_max_pool2d_with_indices(x, 2), ((2, 3, 3),))],
    "adaptive_max_pool3d_with_indices": [Case(lambda x: lm.adaptive_max_pool3d_with_indices(x, 1), ((1, 2, 2, 2),))],
    "layer_norm": [
        Case(lambda x, w, b: lm.layer_norm(x, 4, w, b), ((2, 4), (4,), (4,))),
        Case(lambda x: lm.layer_norm(x, (2, 2)), ((3, 2, 2),)),
    ],
    "rms_norm": [Case(lambda x, w: lm.rms_norm(x, 4, w), ((2, 4), (4,)))],
    "group_norm": [Case(lambda x, w: lm.group_norm(x, 2, w), ((2, 4, 2), (4,)))],
    "instance_norm": [
        Case(lambda x, b: lm.instance_norm(x, None, b), ((2, 2, 3), (2,))),
        Case(
            lambda x, m, w: lm.instance_norm(x, w, running_mean=m, running_var=w * w + 1, use_input_stats=False),
            ((2, 2, 3), (2,), (2,)),
        ),
    ],
    "batch_norm": [
        Case(lambda x, w: lm.batch_norm(x, weight=w, training=True), ((3, 2, 2), (2,))),
        Case(lambda x, m, w: lm.batch_norm(x, m, w * w + 1, w), ((2, 2, 2), (2,), (2,))),
    ],
    "local_response_norm": [Case(lambda x: lm.local_response_norm(x, 2, 0.5), ((1, 4, 2),))],
    "count_nonzero": [Case(lambda x: lm.count_nonzero(x > 0, axis=0), ((2, 3),))],
    "var": [Case(lm.var, ((2, 3),)), Case(lambda x: lm.var(x, axis=0, correction=1, keepdims=True), ((3, 2),))],
    "std": [Case(lm.std, ((2, 3),)), Case(lambda x: lm.std(x, axis=(0, 2)), ((2, 3, 2),))],
    "logsumexp": [Case(lm.logsumexp, ((2, 3),)), Case(lambda x: lm.logsumexp(x, axis=0), ((2, 3),))],
    "nansum": [Case(lambda x: lm.nansum(x, axis=1), ((2, 3),))],
    "nanmean": [Case(lambda x: lm.nanmean(x, axis=1), ((2, 3),))],
    "cumulative_sum": [Case(lambda x: lm.cumulative_sum(x, axis=0, include_initial=True), ((3, 2),))],
    "cumulative_prod": [Case(lm.cumulative_prod, ((4,),)), Case(lambda x: lm.cumulative_prod(x, axis=0), ((3, 2),))],
    "cumsum": [Case(lambda x: lm.cumsum(x, 0), ((),)), Case(lambda x: lm.cumsum(x, 1), ((2, 3),))],
    "cumprod": [Case(lambda x: lm.cumprod(x, 1), ((2, 3),))],
    "logcumsumexp": [Case(lambda x: lm.logcumsumexp(x, 0), ((3, 2),))],
    "cummax": [Case(lambda x: lm.cummax(x, 0), ((3, 2),))],
    "cummin": [Case(lambda x: lm.cummin(x, 1), ((2, 3),))],
    "diff": [Case(lm.diff, ((2, 3),)), Case(lambda x, y: lm.diff(x, axis=0, append=y), ((2, 3), (1, 3)))],
    "sort": [Case(lm.sort, ((2, 3),)), Case(lambda x: lm.sort(x, axis=0, descending=True), ((3, 2),))],
    "argsort": [Case(lm.argsort, ((2, 3),)), Case(lm.argsort, ((),)), Case(lambda x: lm.argsort(x, axis=0), ((3, 2),))],
    "topk": [Case(lambda x: lm.topk(x, 2), ((2, 4),)), Case(lambda x: lm.topk(x, 1, 0), ((3, 2),))],
    "kthvalue": [Case(lambda x: lm.kthvalue(x, 2), ((2, 4),)), Case(lambda x: lm.kthvalue(x, 2, 0), ((3, 2),))],
    "mode": [Case(lm.mode, ((2, 4),)), Case(lambda x: lm.mode(x, 0, keepdims=True), ((3, 2),))],
    "median": [Case(lm.median, ((2, 3),)), Case(lambda x: lm.median(x, axis=0), ((4, 2),))],
    "nanmedian": [Case(lambda x: lm.nanmedian(x, axis=1, keepdims=True), ((2, 3),))],
    "quantile": [Case(lambda x: lm.quantile(x, 0.3), ((5,),)), Case(lambda x: lm.quantile(x, 0.7, axis=0), ((4, 2),))],
    "searchsorted": [
        Case(lambda a, b: lm.searchsorted(lm.sort(a), b), ((4,), (2, 3)), smooth=False),
        Case(lambda a, b: lm.searchsorted(lm.sort(a), b, side="right"), ((2, 4), (2, 3)), smooth=False),
    ],
    "isin": [Case(lm.isin, (((2, 3), 0, 5), ((3,), 0, 5)))],
}


def attention(*qkv: lm.Tensor, **settings: Any) -> lm.Tensor:
    return lm.scaled_dot_product_attention(*qkv, **settings)


IMAGE = (2, 4, 3)
CASES |= {
    "relu6": [Case(lm.relu6, ((2, 3),))],
    "prelu": [Case(lm.prelu, ((2, 3), (3,))), Case(lm.prelu, ((2, 3), (1,)))],
    "glu": [Case(lm.glu, ((2, 4),))],
    "softmin": [Case(lambda x: lm.softmin(x, 0), ((3, 2),))],
    "l1_loss": [Case(lm.l1_loss, ((2, 3), (2, 3)))],
    "smooth_l1_loss": [Case(lm.smooth_l1_loss, ((2, 3), (2, 3)))],
    "huber_loss": [Case(lm.huber_loss, ((2, 3), (2, 3)))],
    "binary_cross_entropy": [
        Case(lambda x, y: lm.binary_cross_entropy(lm.sigmoid(x), lm.sigmoid(y)), ((2, 3), (2, 3)))
    ],
    "binary_cross_entropy_with_logits": [
        Case(lambda x, y, w: lm.binary_cross_entropy_with_logits(x, y, pos_weight=w), ((2, 3), (2, 3), (3,)))
    ],
    "kl_div": [Case(lambda x, y: lm.kl_div(x, y, log_target=True), ((2, 3), (2, 3)))],
    "poisson_nll_loss": [Case(lm.poisson_nll_loss, ((2, 3), (2, 3)))],
    "gaussian_nll_loss": [Case(lambda x, y, v: lm.gaussian_nll_loss(x, y, v * v + 0.1), ((2, 3), (2, 3), (2, 1)))],
    "soft_margin_loss": [Case(lm.soft_margin_loss, ((2, 3), (2, 3)))],
    "nll_loss": [
        Case(lambda x, t: lm.nll_loss(x * x, t, ignore_index=1), ((4, 3), INTEGERS)),
        Case(lambda x, t, w: lm.nll_loss(x * x, t, w, reduction="none"), ((2, 3, 4), ((2, 4), 0, 3), (3,))),
    ],
    "ctc_loss": [Case(lambda x: lm.ctc_loss(x, lm.asarray([[1, 2]]), lm.asarray([4]), lm.asarray([2])), ((4, 1, 3),))],
    "hinge_embedding_loss": [Case(lambda x, t: lm.hinge_embedding_loss(x * x, t), ((3,), ((3,), 1, 2)))],
    "margin_ranking_loss": [Case(lambda x, y: lm.margin_ranking_loss(x * x, y, y), ((3,), (3,)))],
    "cosine_embedding_loss": [Case(lambda x, y: lm.cosine_embedding_loss(x, y, lm.asarray([1, -1])), ((2, 3), (2, 3)))],
    "triplet_margin_loss": [
        Case(lambda x, y, z: lm.triplet_margin_loss(x, y, z, margin=9.0), ((2, 3), (2, 3), (2, 3)))
    ],
    "multi_margin_loss": [Case(lambda x, t: lm.multi_margin_loss(x * x, t), ((4, 3), INTEGERS))],
    "cosine_similarity": [Case(lm.cosine_similarity, ((2, 3), (2, 3)))],
    "pairwise_distance": [Case(lm.pairwise_distance, ((2, 3), (3,)))],
    "embedding": [
        Case(lambda w, x: lm.embedding(x, w * w), ((3, 2), INTEGERS)),
        Case(lambda w, x: lm.embedding(x, w * w, padding_idx=1), ((3, 2), INTEGERS)),
    ],
    "embedding_bag": [Case(lambda w, x: lm.embedding_bag(x, w * w, mode="sum"), ((3, 2), ((2, 2), 0, 3)))],
    "scaled_dot_product_attention": [
        Case(attention, ((2, 3), (4, 3), (4, 2))),
        Case(lambda q, k, v: attention(q, k, v, is_causal=True), ((2, 2, 3), (4, 3), (2, 4, 2))),
        Case(lambda q, k, m: attention(q, k, k, attn_mask=m), ((2, 3), (4, 3), ((2, 4), "bool"))),
    ],
    "rnn_cell": [Case(lm.rnn_cell, ((2, 3), (2, 2), (2, 3), (2, 2)))],
    "lstm_cell": [Case(lambda x, h, w: lm.lstm_cell(x, h, h, w, w), ((2, 2), (2, 2), (8, 2)))],
    "gru_cell": [Case(lambda x, h, w: lm.gru_cell(x, h, w, w), ((2, 2), (2, 2), (6, 2)))],
    "rnn": [Case(lambda x, h, w: lm.rnn(x, h, [w, w], has_biases=False), ((3, 2), (1, 2), (2, 2)))],
    "lstm": [Case(lambda x, h, w: lm.lstm(x, h, h, [w, w], has_biases=False), ((2, 2), (1, 2), (8, 2)))],
    "gru": [Case(lambda x, h, w: lm.gru(x, h, [w, w], has_biases=False), ((2, 2), (1, 2), (6, 2)))],
    "pad": [
        Case(lambda x: lm.pad(x, (1, 2)), ((2, 3),)),
        Case(lambda x: lm.pad(x * x, (2, 1, 1, 0), mode="reflect"), ((2, 3),)),
    ],
    "unfold": [Case(lambda x: lm.unfold(x * x, 2), (IMAGE,))],
    "fold": [Case(lambda x: lm.fold(x * x, (3, 4), 2), ((4, 6),))],
    "pixel_shuffle": [Case(lambda x: lm.pixel_shuffle(x, 2), ((4, 2, 1),))],
    "pixel_unshuffle": [Case(lambda x: lm.pixel_unshuffle(x, 2), ((1, 2, 2),))],
    "interpolate": [Case(lambda x: lm.interpolate(x * x, (3, 5), mode="bilinear"), ((1, *IMAGE),))],
    "grid_sample": [Case(lm.grid_sample, ((1, *IMAGE), (1, 2, 2, 2)))],
    "affine_grid": [Case(lambda t: lm.affine_grid(t * t, (1, 1, 2, 2)), ((1, 2, 3),))],
}

CASES |= {name: [Case(*example) for example in examples] for name, examples in LINALG_EXAMPLES.items()}
CASES |= {name: [Case(*example) for example in examples] for name, examples in DISTRIBUTED_CASES.items()}
INDEXING: dict[str, list[Case]] = {
    "basic": [
        Case(lambda x: x[1], ((2, 3),)),
        Case(lambda x: x[..., ::-2], ((2, 3),)),
        Case(lambda x: x[None, :, 1:], ((2, 3),)),
    ],
    "integers": [
        Case(lambda x, i: x[i], ((3, 2), INTEGERS)),
        Case(lambda x, i: x[:, i], ((2, 3), INTEGERS)),
        Case(lambda x, i: x[i, :, i], ((3, 2, 3), INTEGERS)),
        Case(lambda x, i: x[i, 1:], ((3, 3), ((), 0, 3))),
    ],
    "bools": [Case(lambda x: x[lm.asarray([True, False, True])], ((3, 2),))],
    "set basic": [
        Case(lambda x, v: assign(x + 0 * v.sum(), v, 1), ((3, 2), (2,))),
        Case(lambda x, v: assign(x + 0 * v.sum(), v, (slice(None), slice(1, None))), ((2, 3), (2, 1))),
    ],
    "set integers": [
        Case(lambda x, v, i: assign(x + 0 * (v.sum() + i.sum()), v, i), ((3, 2), (2,), INTEGERS)),
        Case(lambda x, i: assign(x + 0 * i.sum(), lm.asarray(2.0), (slice(None), i)), ((2, 3), INTEGERS)),
    ],
    "set bools": [Case(lambda x, v: assign(x + 0 * v, v, lm.asarray([True, False, True])), ((3,), ()))],
}
#: Without a tensor argument: they give the same to all examples; random ones have tests of their own.
WITHOUT_TENSORS = {
    "zeros",
    "ones",
    "full",
    "empty",
    "arange",
    "linspace",
    "logspace",
    "eye",
    "tril_indices",
    "triu_indices",
}
RANDOM = (set(RANDOM_CALLS) | RANDOM_WITHOUT_GRADIENT | {"gumbel_softmax"}) - {"dropout"}
#: The shapes of their results depend on the values.
REFUSED = {
    *("nonzero", "argwhere", "bincount", "histogram", "histc", "histogramdd"),
    *("unique", "unique_consecutive", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
}


def test_every_operator_is_covered() -> None:
    elementwise = {op.name for op in ELEMENTWISE}
    assert {info["name"] for info in ALL} == elementwise | set(CASES) | WITHOUT_TENSORS | RANDOM | REFUSED


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str, rng: np.random.Generator) -> None:
    for case in CASES[name]:
        check(case, [[draw(shape, rng) for _ in range(EXAMPLES)] for shape in case.shapes])


@pytest.mark.parametrize("name", INDEXING)
def test_indexing(name: str, rng: np.random.Generator) -> None:
    for case in INDEXING[name]:
        check(case, [[draw(shape, rng) for _ in range(EXAMPLES)] for shape in case.shapes])


@pytest.mark.parametrize("name", sorted(WITHOUT_TENSORS - {"empty"}))
def test_creation_gives_the_same_to_all_examples(name: str) -> None:
    made = {
        "zeros": lambda: lm.zeros([3]),
        "ones": lambda: lm.ones([3]),
        "full": lambda: lm.full([3], 2.5),
        "arange": lambda: lm.arange(3),
        "linspace": lambda: lm.linspace(0, 1, 3),
        "logspace": lambda: lm.logspace(0, 1, 3),
        "eye": lambda: lm.eye(3)[0],
        "tril_indices": lambda: lm.tril_indices(2, 2)[0],
        "triu_indices": lambda: lm.triu_indices(2, 2)[1],
    }[name]
    x = lm.asarray([1.0, 2.0])
    np.testing.assert_array_equal(vmap(lambda x: x * made())(x).numpy(), x.numpy()[:, None] * made().numpy())
    np.testing.assert_array_equal(vmap(lambda x: made(), out_axes=None)(x).numpy(), made().numpy())
    assert vmap(lambda x: made())(x).shape == (2, 3)


def test_empty_inside_of_vmap() -> None:
    assert vmap(lambda x: lm.empty([3]).zero_() + x)(lm.ones([2])).tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_shape_of_its_own_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=rf"\[{name}\].* vmap"):
        vmap(getattr(lm, name))(lm.asarray([[1, 0], [1, 1]]))


def test_nonzero_is_refused() -> None:
    x = lm.asarray([[1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(RuntimeError, match=r"\[nonzero\] under vmap .* use where"):
        vmap(lm.nonzero)(x)
    with pytest.raises(RuntimeError, match="under vmap"):
        vmap(lambda x: x[x > 0])(x)


@pytest.mark.parametrize("name", sorted(set(CASES) - {"cross_entropy", "one_hot", "dropout"}))
def test_per_example_gradients(name: str, rng: np.random.Generator) -> None:
    """Inside of vmap, grad() gives the gradients of each example, also of what all examples share."""
    for case in CASES[name]:
        if not case.smooth:
            continue
        examples = [[draw(shape, rng) for _ in range(EXAMPLES)] for shape in case.shapes]
        floats = [i for i, e in enumerate(examples) if e[0].dtype == np.float64]

        def gradients(*args: lm.Tensor, case: Case = case, floats: list[int] = floats) -> Any:
            own = [x.detach() for x in args]
            for i in floats:
                own[i].stop_gradient = False
            total = weighted(flat(case.function(*own)))
            inputs = [own[i] for i in floats]
            if total.stop_gradient or not inputs:
                return own[0].detach()
            return tuple(
                lm.zeros_like(x) if g is None else g
                for g, x in zip(lm.grad([total], inputs, allow_unused=True), inputs, strict=True)
            )

        for shared in (False, True):
            axes = [0] * len(examples)
            if shared:
                if len(axes) == 1:
                    continue
                axes[0] = None
            given = [lm.asarray(e[0] if axis is None else np.stack(e)) for e, axis in zip(examples, axes, strict=True)]
            got = flat(vmap(gradients, in_axes=tuple(axes))(*given))
            expected = loop(gradients, given, axes)
            for a, b in zip(got, expected, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", [*CASES, *INDEXING])
def test_nested(name: str, rng: np.random.Generator) -> None:
    """Two calls of vmap, with the first argument mapped by both, the others by one of them each in turn."""
    for case in (CASES | INDEXING)[name]:
        outer = [0] + [0 if i % 2 else None for i in range(1, len(case.shapes))]
        inner = [0] + [None if i % 2 else 0 for i in range(1, len(case.shapes))]
        given = []
        for shape, a, b in zip(case.shapes, outer, inner, strict=True):
            times = (2 if a == 0 else 1) * (EXAMPLES if b == 0 else 1)
            drawn = np.stack([draw(shape, rng) for _ in range(times)])
            lead = ([2] if a == 0 else []) + ([EXAMPLES] if b == 0 else [])
            given.append(lm.asarray(drawn.reshape([*lead, *drawn.shape[1:]])))
        got = flat(vmap(vmap(case.function, in_axes=tuple(inner)), in_axes=tuple(outer))(*given))
        rows = [
            loop(case.function, [x if axis is None else x[i] for x, axis in zip(given, outer, strict=True)], inner)
            for i in range(2)
        ]
        for k, y in enumerate(got):
            expected = np.stack([row[k].numpy() for row in rows])
            np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12, atol=1e-12)
