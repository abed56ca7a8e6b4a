"""Tensors made from sizes and numbers, in every dtype, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
def test_filled(dtype: str) -> None:
    for shape in ((), (3,), (2, 0, 3), (2, 3, 4)):
        for ours, theirs in [
            (lm.zeros(shape, dtype=dtype), np.zeros(shape, dtype)),
            (lm.ones(shape, dtype=dtype), np.ones(shape, dtype)),
            (lm.full(shape, 1, dtype=dtype), np.full(shape, 1, dtype)),
            (lm.ones_like(lm.zeros(shape), dtype=dtype), np.ones(shape, dtype)),
            (lm.full_like(lm.zeros(shape, dtype=dtype), True), np.ones(shape, dtype)),
        ]:
            np.testing.assert_array_equal(ours.numpy(), theirs)
            assert ours.dtype.name == dtype
        assert lm.empty(shape, dtype=dtype).shape == lm.empty_like(lm.zeros(shape), dtype=dtype).shape == shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_eye(dtype: str) -> None:
    for rows, columns in ((3, None), (2, 5), (5, 2), (0, 3), (3, 0)):
        for k in (0, 1, -1, 4, -4, 1 << 62, -(1 << 62), 1 << 63, -(1 << 90)):
            got = lm.eye(rows, columns, k=k, dtype=dtype)
            near = max(-10, min(10, k))
            np.testing.assert_array_equal(got.numpy(), np.eye(rows, columns, near, dtype=dtype))
    with pytest.raises(ValueError, match=r"\[eye\] sizes must not be negative"):
        lm.eye(-1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(name: str, dtype: str) -> None:
    ours, theirs = getattr(lm, name), getattr(np, name)
    for shape in ((3, 3), (2, 5), (5, 2), (2, 3, 4), (0, 3), (3, 0), (2, 0, 3), (1, 1), (200, 300)):
        x = (np.arange(np.prod(shape)) % 100 + 1).reshape(shape).astype(dtype)
        turned = lm.asarray(np.ascontiguousarray(np.swapaxes(x, -1, -2))).mT
        for k in (0, 1, -1, 3, -3, 1 << 62, -(1 << 62), 1 << 63, -(1 << 90)):
            near = max(-1000, min(1000, k))
            np.testing.assert_array_equal(ours(lm.asarray(x), k=k).numpy(), theirs(x, near))
            np.testing.assert_array_equal(ours(turned, k=k).numpy(), theirs(x, near))
    with pytest.raises(ValueError, match=rf"\[{name}\] needs at least two axes"):
        ours(lm.ones([3]))
    assert ours(lm.ones([3, 4], device="meta")).shape == (3, 4)


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_in_place(name: str) -> None:
    theirs = getattr(np, name)
    for shape in ((3, 5), (5, 3), (2, 3, 4), (100, 300)):
        x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        for k in (0, 2, -2, 1 << 62, -(1 << 62)):
            near = max(-1000, min(1000, k))
            for ours, expected in (
                (lambda t: t, lambda a: a),
                (lambda t: t.mT, lambda a: np.swapaxes(a, -1, -2)),
                (lambda t: t[..., ::-1], lambda a: a[..., ::-1]),
                (lambda t: t[..., ::2, 1:], lambda a: a[..., ::2, 1:]),
            ):
                whole, beside = lm.asarray(x.copy()), x.copy()
                target, part = ours(whole), expected(beside)
                part[...] = theirs(part, near)
                assert getattr(lm, f"{name}_")(target, k=k) is target
                np.testing.assert_array_equal(whole.numpy(), beside)
    assert getattr(lm, f"{name}_")(lm.zeros([2, 0, 3])).shape == (2, 0, 3)
    examples = lm.asarray(np.arange(12.0).reshape(3, 2, 2))
    got = lm.autograd.vmap(lambda m: getattr(lm.clone(m), f"{name}_")())(examples)
    np.testing.assert_array_equal(got.numpy(), theirs(examples.numpy()))


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_indices_of_triangles(name: str) -> None:
    for rows, columns in ((3, 3), (2, 5), (5, 2), (0, 3), (3, 0), (1, 1)):
        for k in (0, 1, -1, 4, -4, 6, -6):
            got = getattr(lm, f"{name}_indices")(rows, columns, k=k)
            expected = np.stack(getattr(np, f"{name}_indices")(rows, k, columns))
            np.testing.assert_array_equal(got.numpy(), expected)
    # Rows without elements are not walked through.
    few = lm.tril_indices(1 << 40, 2, k=-(1 << 40) + 1) if name == "tril" else lm.triu_indices(1 << 40, 2, k=1)
    assert few.tolist() == ([[(1 << 40) - 1], [0]] if name == "tril" else [[0], [1]])


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "float64"])
def test_arange(dtype: str) -> None:
    for arguments in (
        (5,),
        (2, 9),
        (2, 9, 3),
        (9, 2, -3),
        (0,),
        (5, 2),
        (0, 7, 10),
        (3, 40000 if dtype == "int64" else 4),
    ):
        np.testing.assert_array_equal(lm.arange(*arguments, dtype=dtype).numpy(), np.arange(*arguments, dtype=dtype))
    if dtype.startswith("float"):
        for arguments in ((0.5, 2.0, 0.25), (1.0, 0.0, -0.3), (0.0, 1.0, 0.1)):
            got = lm.arange(*arguments, dtype=dtype).numpy()
            np.testing.assert_allclose(
                got, np.arange(*arguments, dtype="float64"), rtol={"float16": 1e-3}.get(dtype, 1e-6)
            )


def test_arange_at_the_ends_of_int64() -> None:
    low, high = -(1 << 63), (1 << 63) - 1
    assert lm.arange(high - 2, high).tolist() == [high - 2, high - 1]
    assert lm.arange(low, high, 1 << 62).tolist() == [low, low // 2, 0, 1 << 62]
    assert lm.arange(high, low, low).tolist() == [high, -1]
    with pytest.raises(ValueError, match=r"\[arange\] step must not be 0"):
        lm.arange(0, 1, 0)
    with pytest.raises(TypeError, match=r"\[arange\] complex"):
        lm.arange(1j)
    for bad in ((float("nan"),), (0.0, float("inf"))):
        with pytest.raises(ValueError, match=r"\[arange\] cannot count"):
            lm.arange(*bad)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_linspace(dtype: str, endpoint: bool) -> None:
    for start, stop, num in ((0, 1, 5), (2.5, -3, 7), (1, 1, 3), (0, 5, 1), (0, 5, 0), (0, 1, 40000)):
        got = lm.linspace(start, stop, num, dtype=dtype, endpoint=endpoint)
        expected = np.linspace(start, stop, num, endpoint=endpoint)
        np.testing.assert_allclose(got.numpy(), expected, rtol={"float16": 2e-3}.get(dtype, 1e-6), atol=1e-4)
        if endpoint and num > 1:
            assert got[-1].item() == stop
    huge = lm.linspace(-1.7e308, 1.7e308, 5, dtype="float64")
    np.testing.assert_allclose(huge.numpy(), [-1.7e308, -0.85e308, 0, 0.85e308, 1.7e308], atol=1e292)
    spiral = lm.linspace(1j, 2 - 3j, 5, endpoint=endpoint)
    assert spiral.dtype is lm.complex64
    np.testing.assert_allclose(spiral.numpy(), np.linspace(1j, 2 - 3j, 5, endpoint=endpoint), rtol=1e-6)
    with pytest.raises(TypeError, match=r"\[linspace\] complex numbers do not fit into dtype float32"):
        lm.linspace(0, 1j, 3, dtype="float32")
    with pytest.raises(ValueError, match=r"\[linspace\] num must not be negative"):
        lm.linspace(0, 1, -1)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64", "complex64"])
def test_logspace(dtype: str, endpoint: bool) -> None:
    tolerance = {"bfloat16": 4e-3, "float32": 1e-6, "complex64": 1e-6}.get(dtype, 1e-13)
    for start, stop, num, base in ((0, 3, 4, 10.0), (2.5, -3, 7, 2), (1, 1, 3, 10), (0, 5, 1, 3), (0, 5, 0, 3)):
        got = lm.logspace(start, stop, num, base, dtype=dtype, endpoint=endpoint)
        assert got.dtype.name == dtype
        expected = np.logspace(start, stop, num, base=base, endpoint=endpoint)
        values = (got.astype("float32") if dtype == "bfloat16" else got).numpy()
        np.testing.assert_allclose(values, expected, rtol=tolerance)


def test_logspace_of_integers_and_complex_numbers() -> None:
    assert lm.logspace(0, 9, 10, dtype="int64").tolist() == [10**i for i in range(10)]
    assert lm.logspace(0, 7, 8, base=2, dtype="uint8").tolist() == [2**i for i in range(8)]
    spiral = lm.logspace(0, 1j, 5, base=2.0)
    assert spiral.dtype is lm.complex64
    np.testing.assert_allclose(spiral.numpy(), 2.0 ** np.linspace(0, 1j, 5), rtol=1e-6)
    assert np.isnan(lm.logspace(0.5, 1.5, 2, base=-2.0).numpy()).all()
    with pytest.raises(TypeError, match=r"\[logspace\] complex numbers do not fit into dtype float32"):
        lm.logspace(0, 1j, 3, dtype="float32")
    with pytest.raises(ValueError, match=r"\[logspace\] num must not be negative"):
        lm.logspace(0, 1, -1)


BAD: list[tuple[Callable[..., Any], type[Exception]]] = [
    (lambda: lm.zeros([-1]), ValueError),
    (lambda: lm.zeros([1 << 40, 1 << 40]), ValueError),
    (lambda: lm.ones([1 << 62]), ValueError),
    (lambda: lm.zeros("ab"), TypeError),
    (lambda: lm.zeros([2], dtype="float8"), ValueError),
    (lambda: lm.zeros([2], device="tpu"), ValueError),
    (lambda: lm.arange(1 << 61), ValueError),
    (lambda: lm.eye(1 << 40), ValueError),
]


@pytest.mark.parametrize(("call", "error"), BAD)
def test_errors(call: Callable[..., Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
