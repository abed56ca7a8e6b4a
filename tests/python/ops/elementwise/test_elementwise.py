"""Every elementwise operator in every dtype: values against numpy, derivatives, odd shapes, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import lamella as lm
from lamella import _C

from ..samples import ALL, DIFFERENTIABLE, ELEMENTWISE, EPS, Operator, arguments, case_id, cases, numpy_values, tensor

SHAPES = {
    "matrix": [(3, 5)] * 4,
    "0-d": [()] * 4,
    "empty": [(0, 4)] * 4,
    "one": [(1,)] * 4,
    "long": [(1031,)] * 4,
    "five axes": [(2, 1, 3, 2, 2)] * 4,
    "broadcast rows": [(4, 1), (1, 6), (4, 6), ()],
    "broadcast scalar": [(2, 3), (), (3,), (2, 1)],
    "broadcast empty": [(0, 3), (1, 3), (3,), ()],
}


def reference(op: Operator, arrays: list[np.ndarray]) -> np.ndarray:
    assert op.reference is not None
    names = dict(zip(op.argument_names, arrays, strict=True))
    with np.errstate(all="ignore"):
        return np.asarray(eval(op.reference, {"np": np, "sp": sp}, names))


def widened(array: np.ndarray) -> np.ndarray:
    """What the reference computes in: floating values in float64, complex ones in complex128."""
    if array.dtype.kind == "c":
        return array.astype("complex128")
    return array.astype("float64") if array.dtype.kind == "f" else array


def check_values(op: Operator, dtype: str, got: lm.Tensor, arrays: list[np.ndarray]) -> None:
    # A number's neighbor depends on its dtype.
    expected = reference(op, arrays if op.name == "nextafter" else [widened(a) for a in arrays])
    assert got.shape == expected.shape
    # What is a rounding away from a function's ends is compared by a few roundings of 1.
    tolerance = EPS.get(dtype, 0) * (1 if dtype in ("float16", "bfloat16") else 16)
    np.testing.assert_allclose(
        numpy_values(got).astype(expected.dtype), expected, rtol=tolerance * 4, atol=tolerance * 2
    )


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("op", "dtype"), cases(), ids=case_id)
def test_values_agree_with_numpy(
    op: Operator, dtype: str, shapes: list[tuple[int, ...]], rng: np.random.Generator
) -> None:
    arrays = arguments(op, shapes[: op.inputs], dtype, rng)
    got = op(*[tensor(a, dtype) for a in arrays])
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    assert got.dtype.name in (dtype, real, "bool")
    check_values(op, dtype, got, arrays)


@pytest.mark.parametrize(("op", "dtype"), cases(), ids=case_id)
def test_strided_input(op: Operator, dtype: str, rng: np.random.Generator) -> None:
    arrays = arguments(op, [(6, 10)] * op.inputs, dtype, rng)
    tensors = [tensor(a, dtype) for a in arrays]
    check_values(op, dtype, op(*[t.T for t in tensors]), [a.T for a in arrays])
    check_values(op, dtype, op(*[t[::2, 1::3] for t in tensors]), [a[::2, 1::3] for a in arrays])
    check_values(op, dtype, op(*[t[::-1, ::-2] for t in tensors]), [a[::-1, ::-2] for a in arrays])
    expanded = [lm.broadcast_to(t[:1], [6, 10]) for t in tensors]
    check_values(op, dtype, op(*expanded), [np.broadcast_to(a[:1], (6, 10)) for a in arrays])


@pytest.mark.parametrize(("op", "dtype"), cases(), ids=case_id)
def test_results_do_not_depend_on_their_neighbors(op: Operator, dtype: str, rng: np.random.Generator) -> None:
    """The bits of an element are those that it has alone, whichever ranges the elements beside it are in."""
    arrays = arguments(op, [(96,)] * op.inputs, dtype, rng)
    if arrays[0].dtype.kind == "f":
        sizes = rng.choice([1e-3, 1.0, 30.0], 96).astype(arrays[0].dtype)
        arrays = [(a * sizes * rng.choice([-1, 1], 96)).astype(a.dtype) for a in arrays]
    tensors = [tensor(a, dtype) for a in arrays]
    whole = numpy_values(op(*tensors))
    for i in range(96):
        np.testing.assert_array_equal(numpy_values(op(*[t[i : i + 1] for t in tensors]))[0], whole[i])


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 88.5, -88.5, 710.0, -746.0, 1e30, -1e30]


#: At infinity and minus infinity.
LIMITS = {
    **dict.fromkeys(("silu", "mish", "gelu_erf", "gelu_tanh", "hardswish"), (np.inf, 0.0)),
    "softsign": (1.0, -1.0),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [o for o in ELEMENTWISE if o.inputs == 1 and "float32" in o.dtypes], ids=case_id)
def test_special_values(op: Operator, dtype: str) -> None:
    x = np.array(SPECIAL, dtype)
    if op.name == "lgamma":
        x = x[x != -np.inf]  # infinity, as C has it; scipy gives minus infinity
    if op.name == "angle":
        x = x[~((x == 0) & np.signbit(x))]  # 0, as PyTorch has it; numpy gives pi
    if op.name in LIMITS:
        # numpy's formula is no number at infinities; the operator has its limit there.
        got = op(lm.asarray(np.array([np.inf, -np.inf], dtype))).numpy()
        np.testing.assert_array_equal(got, LIMITS[op.name])
        x = x[~np.isinf(x)]
    got = op(lm.asarray(x)).numpy()
    expected = reference(op, [x])
    assert np.array_equal(np.isnan(got), np.isnan(expected)) if got.dtype != bool else True
    if op.name == "log1p" or op.name.startswith("gelu"):
        finite = np.isfinite(expected)
        np.testing.assert_allclose(got[finite], expected[finite], rtol=1e-5, atol=1e-30)
        return
    if op.name in ("sin", "cos", "tan", "sinc"):
        small = np.abs(x) < 1e4
        np.testing.assert_allclose(got[small], expected[small], rtol=1e-5, atol=1e-7)
        return
    np.testing.assert_allclose(got, expected, rtol=3e-6, atol=1e-37)


#: Operators whose gradient on tensors is a layer of its own, in other terms than the kernel (ops/elementwise/slopes.h).
SLOPES = ("tanh", "sigmoid", "gelu_erf", "mish", "atan", "asinh", "sinc", "hypot")


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=case_id)
def test_fused_and_recorded_gradients_are_equal(op: Operator, rng: np.random.Generator) -> None:
    """The kernel of a gradient and its formula on tensors are compiled from the same line, but for slopes."""
    arrays = arguments(op, [(7, 11)] * op.inputs, "float32", rng)
    wanted = [i for i, differentiable in enumerate(op.differentiable) if differentiable]
    tensors = [lm.tensor(a, stop_gradient=i not in wanted) for i, a in enumerate(arrays)]
    seed = lm.asarray(rng.uniform(0.5, 1.5, (7, 11)).astype("float32"))
    y = op(*tensors)
    fused = lm.grad([y], [tensors[i] for i in wanted], grad_outputs=[seed], retain_graph=True)
    recorded = lm.grad([y], [tensors[i] for i in wanted], grad_outputs=[seed], create_graph=True)
    for a, b in zip(fused, recorded, strict=True):
        if op.name in SLOPES:
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-6)
        else:
            np.testing.assert_array_equal(a.numpy(), b.detach().numpy())


@pytest.mark.parametrize("op", ELEMENTWISE, ids=case_id)
def test_meta_tensors_have_the_same_shape_and_dtype(op: Operator, rng: np.random.Generator) -> None:
    dtype = "float32" if "float32" in op.dtypes else "int32"
    tensors = [lm.asarray(a) for a in arguments(op, SHAPES["broadcast rows"][: op.inputs], dtype, rng)]
    real = op(*tensors)
    meta = op(*[t.to("meta") for t in tensors])
    assert (meta.shape, meta.dtype, str(meta.device)) == (real.shape, real.dtype, "meta")


@pytest.mark.parametrize("op", ELEMENTWISE, ids=case_id)
def test_bad_input_names_the_operator(op: Operator) -> None:
    dtype = "float32" if "float32" in op.dtypes else "int32"
    good = [lm.ones([2, 3], dtype="bool" if op.mask_input and i == 0 else dtype) for i in range(op.inputs)]
    for bad in ("text", None, [1.0, 2.0], object(), {}):
        with pytest.raises(TypeError, match=op.name):
            op(bad, *good[1:])
    with pytest.raises(TypeError, match=op.name):
        op(*good, *good[:1] * 3)
    with pytest.raises(TypeError, match=op.name):
        op()
    if op.inputs > 1:
        with pytest.raises(ValueError, match=rf"\[{op.name}\].*broadcast"):
            op(*good[:-1], lm.ones([5], dtype=dtype))
    if op.mask_input:
        with pytest.raises(TypeError, match="bool"):
            op(lm.ones([2, 3]), 1.0, 2.0)


@pytest.mark.parametrize(
    ("op", "dtype"), [(o, d) for o in ELEMENTWISE for d in ("bool", "int32", "uint8") if d not in o.dtypes], ids=case_id
)
def test_other_dtypes_promote_or_raise(op: Operator, dtype: str) -> None:
    """Functions that give fractions take integers as float32; others refuse what they do not take."""
    args = [
        lm.ones([2], dtype="bool") if op.mask_input and i == 0 else lm.ones([2], dtype=dtype) for i in range(op.inputs)
    ]
    if op.name in ("conj", "sign"):  # numbers on the real axis pass through, and so do the signs of bools
        assert op(*args).dtype.name == dtype
    elif op.name == "square":
        assert op(*args).dtype.name == "int64"
    elif "int32" not in op.dtypes and "float32" in op.dtypes:
        assert op(*args).dtype in (lm.float32, lm.bool)
    else:
        with pytest.raises(TypeError, match=rf"\[{op.name}\].*{dtype}"):
            op(*args)


@pytest.mark.parametrize("info", [i for i in ALL if i["example"]], ids=lambda i: i["name"])
def test_examples_run(info: dict[str, str]) -> None:
    names = {name: getattr(lm, name) for name in dir(lm) if not name.startswith("_")}
    assert eval(info["example"], names) is not None


@pytest.mark.parametrize("info", ALL, ids=lambda i: i["name"])
def test_every_operator_is_documented(info: dict[str, str]) -> None:
    function = getattr(_C, info["name"])
    assert info["doc"] and info["doc"] in function.__doc__
    assert getattr(lm, info["name"]).__doc__
    if info["method"]:
        assert callable(getattr(lm.Tensor, info["name"]))
