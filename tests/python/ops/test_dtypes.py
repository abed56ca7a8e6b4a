"""Dtypes: promotion, what is known of them, operators of Python, exchange with numpy, rounding, special values."""

from __future__ import annotations

import itertools
import math
import operator
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import lamella as lm

from .samples import DTYPES, EPS, is_integer

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATING = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMPY = tuple(d for d in DTYPES if d != "bfloat16")


def expected_promotion(a: str, b: str) -> str | None:
    """The array API's table and, for mixed kinds, PyTorch's; None where there is no common dtype."""
    if a == b:
        return a
    if a == "bool" or b == "bool":
        return b if a == "bool" else a
    if "bfloat16" in (a, b):
        other = a if b == "bfloat16" else b
        if is_integer(other):
            return "bfloat16"
        return {"float16": "float32"}.get(other, other)
    if is_integer(a) != is_integer(b):
        return b if is_integer(a) else a
    result = np.promote_types(a, b).name
    if is_integer(a):
        return None if result == "float64" else result
    return result


@pytest.mark.parametrize(("a", "b"), list(itertools.product(DTYPES, DTYPES)))
def test_promotion(a: str, b: str) -> None:
    expected = expected_promotion(a, b)
    if expected is None:
        assert not lm.can_cast(a, b)
        with pytest.raises(TypeError, match=f"{a}.*{b}|{b}.*{a}"):
            lm.result_type(a, b)
        with pytest.raises(TypeError):
            lm.zeros([2], dtype=a) + lm.zeros([2], dtype=b)
        return
    assert lm.result_type(a, b).name == lm.promote_types(a, b).name == expected
    assert lm.result_type(lm.zeros([2], dtype=a), b).name == expected
    assert lm.can_cast(a, b) == (expected == b)
    assert (lm.zeros([2], dtype=a) + lm.zeros([2], dtype=b)).dtype.name == expected
    assert lm.where(lm.asarray([True, False]), lm.ones([2], dtype=a), lm.ones([2], dtype=b)).dtype.name == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_count_by_their_kind(dtype: str) -> None:
    x = lm.ones([2], dtype=dtype)
    floating = dtype if dtype in FLOATING + COMPLEX else "float32"
    wide = "complex128" if dtype in ("float64", "complex128") else "complex64"
    kinds = [(True, dtype), (2, "int64" if dtype == "bool" else dtype), (2.5, floating), (1 + 2j, wide)]
    for number, expected in kinds:
        assert lm.result_type(x, number).name == lm.result_type(number, dtype).name == expected
        assert (x + number).dtype.name == (number * x).dtype.name == expected
    # numpy's scalars count as Python's.
    assert (x + np.float64(2.5)).dtype.name == floating
    assert (x + np.complex64(1j)).dtype.name == wide


def test_result_type_of_several() -> None:
    assert lm.result_type("int8", "uint8", 2.5) == lm.float32
    assert lm.result_type(lm.ones([2], dtype="float16"), lm.bfloat16, True) == lm.float32
    with pytest.raises(ValueError, match=r"\[result_type\]"):
        lm.result_type(2, 3.0)
    with pytest.raises(ValueError, match=r"\[result_type\]"):
        lm.result_type()
    with pytest.raises(ValueError, match="no dtype 'text'"):
        lm.result_type("text")
    with pytest.raises(TypeError, match=r"\[result_type\]"):
        lm.result_type([1.0])


def test_integers_beyond_int64() -> None:
    large = 2**64 - 1
    x = lm.asarray([1, large], dtype="uint64")
    assert (x == large).tolist() == [False, True]
    assert (x - large).tolist() == [2, 0]
    assert lm.full([1], large, dtype="uint64").tolist() == [large]
    assert lm.maximum(x, large - 1).tolist() == [large - 1, large]
    assert (lm.ones([1], dtype="float64") * large).item() == float(large)
    with pytest.raises(ValueError, match="does not fit into dtype int64"):
        lm.ones([1], dtype="int64") + large
    with pytest.raises(ValueError, match="64 bits"):
        x + 2**64
    with pytest.raises(ValueError, match="64 bits"):
        x + -(2**63) - 2**63 - 2**64


def test_complex_numbers_need_a_complex_dtype() -> None:
    assert lm.full([2], 1 + 2j).dtype == lm.complex64
    with pytest.raises(TypeError, match=r"complex number .* float32"):
        lm.full([2], 1j, dtype="float32")
    x = lm.zeros([2])
    with pytest.raises(TypeError, match="complex"):
        x += 1j
    with pytest.raises(TypeError, match="complex number"):
        x.fill_(1j)
    with pytest.raises(TypeError, match="complex number"):
        x[0] = 1j


@pytest.mark.parametrize("dtype", FLOATING + COMPLEX)
def test_finfo(dtype: str) -> None:
    info = lm.finfo(dtype)
    assert info == lm.finfo(lm.ones([1], dtype=dtype))
    assert (info.eps, info.min) == (EPS[dtype], -info.max)
    if dtype == "bfloat16":
        assert (info.bits, info.max, info.smallest_normal) == (16, 3.3895313892515355e38, 2**-126)
        return
    theirs = np.finfo(dtype)
    assert info.dtype.name == theirs.dtype.name
    expected = (theirs.bits, float(theirs.max), float(theirs.smallest_normal))
    assert (info.bits, info.max, info.smallest_normal) == expected


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_iinfo(dtype: str) -> None:
    info, theirs = lm.iinfo(dtype), np.iinfo(dtype)
    assert (info.bits, info.min, info.max, info.dtype.name) == (theirs.bits, theirs.min, theirs.max, dtype)
    assert info == lm.iinfo(lm.ones([1], dtype=dtype))


def test_limits_of_other_dtypes() -> None:
    for wrong in ("int32", "bool"):
        with pytest.raises(TypeError, match=r"\[finfo\]"):
            lm.finfo(wrong)
    for wrong in ("float32", "bool", "complex64"):
        with pytest.raises(TypeError, match=r"\[iinfo\]"):
            lm.iinfo(wrong)
    with pytest.raises(TypeError, match=r"\[finfo\]"):
        lm.finfo(3)  # type: ignore[arg-type]


def test_isdtype() -> None:
    kinds = {
        "bool": ("bool",),
        "signed integer": SIGNED,
        "unsigned integer": UNSIGNED,
        "integral": SIGNED + UNSIGNED,
        "real floating": FLOATING,
        "complex floating": COMPLEX,
        "numeric": tuple(d for d in DTYPES if d != "bool"),
    }
    for dtype in DTYPES:
        for kind, members in kinds.items():
            assert lm.isdtype(getattr(lm, dtype), kind) == (dtype in members)
        assert lm.isdtype(dtype, getattr(lm, dtype))
        assert lm.isdtype(dtype, ("bool", "numeric"))
        assert not lm.isdtype(dtype, ())
    assert not lm.isdtype("int8", (lm.int16, "real floating"))
    with pytest.raises(ValueError, match="'floating'"):
        lm.isdtype("int8", "floating")
    with pytest.raises(TypeError, match="kind"):
        lm.isdtype("int8", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [d for d in NUMPY if is_integer(d)])
def test_integer_operators(dtype: str) -> None:
    a = np.array([7, 9, 100, 1, 0, 127], dtype)
    b = np.array([2, 4, 7, 3, 5, 6], dtype)
    for function in (operator.lshift, operator.rshift, operator.floordiv, operator.mod, operator.and_, operator.xor):
        for right in (b, 3):
            ours = function(lm.asarray(a), lm.asarray(right) if isinstance(right, np.ndarray) else right)
            np.testing.assert_array_equal(ours.numpy(), function(a, right))
        in_place = getattr(operator, "i" + function.__name__.strip("_"))
        changed = lm.asarray(a.copy())
        same = in_place(changed, lm.asarray(b))
        assert same is changed and same.dtype.name == dtype
        np.testing.assert_array_equal(changed.numpy(), function(a, b))
    np.testing.assert_array_equal((2 << lm.asarray(b)).numpy(), (np.array(2, dtype) << b))
    quotient, rest = divmod(lm.asarray(a), lm.asarray(b))
    np.testing.assert_array_equal(quotient.numpy(), a // b)
    np.testing.assert_array_equal(rest.numpy(), a % b)
    quotient, rest = divmod(100, lm.asarray(b))
    np.testing.assert_array_equal(quotient.numpy(), 100 // b)
    assert (lm.asarray(a) / lm.asarray(b)).dtype == lm.float32
    power = lm.asarray(b.copy())
    power **= 2
    np.testing.assert_array_equal(power.numpy(), b**2)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64"])
def test_negative_powers_of_integers(dtype: str) -> None:
    """A number is refused in every form of the call; in a tensor of exponents it gives what is left of the fraction."""
    x = lm.asarray(np.array([0, 1, 1]), dtype=dtype)
    calls: list[Callable[[], object]] = [
        lambda: x**-1,
        lambda: lm.pow(x, -3),
        lambda: x.__ipow__(-1),
        lambda: lm.pow(x, -1, out=lm.zeros_like(x)),
        lambda: lm.compile(lambda y: y**-1)(x),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"\[pow\].*-[13]"):
            call()
    assert [int(element) for element in x.tolist()] == [0, 1, 1]
    np.testing.assert_allclose((x[1:] ** -1.0).numpy(), [1, 1])
    if dtype.startswith("int"):
        base = lm.asarray([2, -3, 1, -1, -1], dtype=dtype)
        assert (base ** lm.asarray([-1, -2, -5, -4, -3], dtype=dtype)).tolist() == [0, 0, 1, 1, -1]
        assert ((-2) ** lm.asarray([0, 1, 3], dtype=dtype)).tolist() == [1, -2, -8]


@pytest.mark.parametrize("dtype", [d for d in DTYPES if is_integer(d)])
def test_division_by_zero_and_wide_shifts(dtype: str) -> None:
    bits = 8 * getattr(lm, dtype).itemsize
    info = lm.iinfo(dtype)
    x = lm.asarray([info.min, 5, info.max], dtype=dtype)
    assert (x // 0).tolist() == (x % 0).tolist() == [0, 0, 0]
    assert (x << bits).tolist() == [0, 0, 0]
    assert (x >> bits).tolist() == [-1 if info.min < 0 else 0, 0, 0]
    if info.min < 0:
        assert (x // -1).tolist() == [info.min, -5, -info.max]
        assert (x << -1).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_to_python_numbers(dtype: str) -> None:
    x = lm.ones([], dtype=dtype)
    assert complex(x) == 1
    if dtype in COMPLEX:
        for convert in (float, int, operator.index):
            with pytest.raises(TypeError):
                convert(x)
        assert complex(lm.asarray([1 - 2j], dtype=dtype)) == 1 - 2j
        return
    assert (float(x), int(x)) == (1.0, 1)
    if is_integer(dtype):
        assert operator.index(x) == 1
    else:
        with pytest.raises(TypeError):
            operator.index(x)
    with pytest.raises(ValueError, match=r"\[complex\]"):
        complex(lm.ones([2], dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_exchange_and_repr(dtype: str) -> None:
    x = lm.asarray([[0, 1], [2, 3]]).astype(dtype)
    assert f"dtype={dtype}" in repr(x)
    if dtype in COMPLEX:
        assert "3.+0.j" in repr(x)
    assert lm.from_dlpack(x).tolist() == x.tolist()
    assert lm.from_dlpack(x).dtype == x.dtype
    if dtype == "bfloat16":
        with pytest.raises(TypeError, match="numpy has no bfloat16"):
            x.numpy()
        return
    array = x.numpy()
    assert array.dtype.name == dtype
    assert lm.asarray(array).dtype.name == dtype
    assert np.from_dlpack(x).dtype.name == dtype
    assert lm.from_dlpack(array).tolist() == x.tolist()
    np.testing.assert_array_equal(np.asarray(x.T), array.T)


@pytest.mark.parametrize(("to", "start"), list(itertools.product(NUMPY, NUMPY)))
def test_casts(to: str, start: str) -> None:
    values = np.array([0, 1, 2.75, 100, 3], start) if start != "bool" else np.array([True, False] * 20)
    expected = values != 0 if to == "bool" else values if to in COMPLEX else values.real
    np.testing.assert_array_equal(lm.asarray(values).astype(to).numpy(), expected.astype(to))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_is_rounded_once(dtype: str) -> None:
    """The result of float32, rounded: not the rounded result of rounded steps."""
    bits = np.arange(2**16, dtype=np.uint16)
    if dtype == "float16":
        narrow = lm.asarray(bits.view("float16"))
    else:
        narrow = lm.asarray((bits.astype("uint32") << 16).view("float32")).astype(dtype)
    wide = narrow.astype("float32")
    for function in (lm.exp, lm.tanh, lm.sqrt, lm.sigmoid, lm.square):
        got, expected = function(narrow), function(wide).astype(dtype)
        np.testing.assert_array_equal(got.astype("float32").numpy(), expected.astype("float32").numpy())
    # Every value survives the way to float32 and back.
    back = wide.astype(dtype).astype("float32").numpy()
    np.testing.assert_array_equal(back, wide.numpy())
    assert np.array_equal(np.signbit(back), np.signbit(wide.numpy()))


def test_astype_to_a_device() -> None:
    x = lm.tensor([1.5, -2.0], stop_gradient=False)
    assert lm.astype(x, lm.float32, copy=False, device="cpu") is x
    assert lm.astype(x, lm.float32, device="cpu") is not x
    assert lm.astype(x, lm.int8, device="cpu").tolist() == [1, -2]
    for dtype in (lm.float16, lm.float32, lm.float64):
        shape = x.astype(dtype, device="meta")
        assert (shape.dtype, shape.device, shape.shape) == (dtype, "meta", (2,))
    with pytest.raises(ValueError, match=r"\[device\] expected"):
        x.astype(lm.float32, device="tpu")
    for index in range(lm.cuda.device_count()):
        for dtype in (lm.float16, lm.float64):
            moved = x.astype(dtype, device=f"cuda:{index}")
            assert (moved.device, moved.dtype, moved.tolist()) == (f"cuda:{index}", dtype, [1.5, -2.0])
            (grad,) = lm.grad([moved.sum()], [x])
            assert (grad.device, grad.dtype, grad.tolist()) == ("cpu", lm.float32, [1.0, 1.0])


def test_float16_rounds_to_even() -> None:
    x = np.concatenate([np.linspace(-70000, 70000, 4001), np.linspace(-1e-4, 1e-4, 4001), [65519.9, 65520, 2.0**-25]])
    x = x.astype("float32")
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(lm.asarray(x).astype("float16").numpy(), x.astype("float16"))


def test_gradients_of_casts_between_real_and_complex() -> None:
    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    (grad,) = lm.grad([x.astype("complex64") * (1 + 2j)], [x], grad_outputs=[lm.asarray([1 + 1j, 2 - 1j])])
    assert grad.dtype == lm.float32
    np.testing.assert_allclose(grad.numpy(), (np.array([1 + 1j, 2 - 1j]) * np.conj(1 + 2j)).real)
    w = lm.tensor([1 + 2j, 3 - 1j], stop_gradient=False)
    (grad,) = lm.grad([w.astype("float32") * 2], [w], grad_outputs=[lm.asarray([1.0, 3.0])])
    assert (grad.dtype, grad.tolist()) == (lm.complex64, [2 + 0j, 6 + 0j])
    # A real operand of a complex product gets a real gradient.
    (grad,) = lm.grad([x * w], [x], grad_outputs=[lm.asarray([1j, 1j])])
    np.testing.assert_allclose(grad.numpy(), (1j * np.conj(w.detach().numpy())).real)


def test_complex_gradients_as_pytorch_has_them() -> None:
    z = lm.tensor([3 + 4j, 0j], stop_gradient=False)
    (grad,) = lm.grad([lm.abs(z)], [z], grad_outputs=[lm.ones([2])])
    np.testing.assert_allclose(grad.numpy(), [0.6 + 0.8j, 0])
    (grad,) = lm.grad([lm.angle(z)], [z], grad_outputs=[lm.ones([2])])
    np.testing.assert_allclose(grad.numpy(), [-0.16 + 0.12j, 0], rtol=1e-6)
    (grad,) = lm.grad([lm.exp(z)], [z], grad_outputs=[lm.ones([2], dtype="complex64")])
    np.testing.assert_allclose(grad.numpy(), np.conj(np.exp([3 + 4j, 0])), rtol=1e-6)
    for part, expected in ((z.real, 1), (z.imag, 1j)):
        (grad,) = lm.grad([part], [z], grad_outputs=[lm.ones([2])])
        assert grad.tolist() == [expected] * 2
    signs = lm.sign(lm.tensor([3 + 4j, 0j, -2 + 0j], dtype="complex128"))
    np.testing.assert_allclose(signs.numpy(), [0.6 + 0.8j, 0, -1])
    assert lm.autograd.gradcheck(lm.sign, lm.tensor([3 + 4j, -1 + 1j], dtype="complex128", stop_gradient=False))
    assert lm.autograd.gradgradcheck(lm.sign, lm.tensor([3 + 4j, -1 + 1j], dtype="complex128", stop_gradient=False))


def test_real_tensors_pass_through_the_parts() -> None:
    x = lm.asarray([1.0, -2.0])
    assert lm.real(x) is x and lm.conj(x) is x and x.real is x
    assert lm.imag(x).tolist() == [0.0, 0.0]
    truth = lm.asarray([True])
    assert lm.real(truth) is truth and lm.conj(truth) is truth


PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.0, np.inf, -np.inf, np.nan]
C99 = {
    **{name: name for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "abs", "conj")},
    **{"a" + name: "arc" + name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: name for name in ("negative", "isnan", "isinf", "isfinite")},
}


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", C99)
def test_special_values_of_complex_functions(name: str, dtype: str) -> None:
    """Signed zeros, infinities, NaN and both sides of every branch cut: as numpy, part by part."""
    parts = np.array(PARTS, np.finfo(dtype).dtype)
    z = np.empty((len(parts), len(parts)), dtype)
    z.real, z.imag = parts[:, None], parts[None, :]
    with np.errstate(all="ignore"):
        expected = getattr(np, C99[name])(z)
    # C gives these zeros the sign of sin(2y), the Python array API standard that of y.
    if name == "tanh":
        flat = np.isinf(z.real) & np.isfinite(z.imag)
        expected.imag[flat] = np.copysign(0, z.imag[flat])
    elif name == "tan":
        flat = np.isinf(z.imag) & np.isfinite(z.real)
        expected.real[flat] = np.copysign(0, z.real[flat])
    got = getattr(lm, name)(lm.asarray(z)).numpy()
    assert got.dtype == expected.dtype
    if got.dtype == bool:
        np.testing.assert_array_equal(got, expected)
        return
    tolerance = 8 * EPS[dtype]
    for a, b in ((got.real, expected.real), (got.imag, expected.imag)):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        zero = (a == 0) & (b == 0)
        np.testing.assert_array_equal(np.signbit(a[zero]), np.signbit(b[zero]))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_special_values_of_complex_expm1(dtype: str) -> None:
    """exp(z) - 1 where the real part is infinite or NaN, as the Python array API standard has it."""
    inf, nan = math.inf, math.nan
    cases = {
        (inf, 0.0): (inf, 0.0),
        (inf, 2.0): (-inf, inf),
        (inf, -1.0): (inf, -inf),
        (inf, inf): (inf, nan),
        (inf, nan): (inf, nan),
        (-inf, 2.0): (-1.0, 0.0),
        (-inf, inf): (-1.0, 0.0),
        (-inf, nan): (-1.0, 0.0),
        (nan, 0.0): (nan, 0.0),
        (nan, 1.0): (nan, nan),
        (1.0, inf): (nan, nan),
        (1.0, nan): (nan, nan),
        (0.0, 0.0): (0.0, 0.0),
    }
    zero = lm.expm1(lm.asarray([complex(-0.0, 0.0)], dtype=dtype)).numpy()[0]
    assert zero == 0 and not np.signbit(zero.real) and not np.signbit(zero.imag)
    got = lm.expm1(lm.asarray([complex(*z) for z in cases], dtype=dtype)).numpy()
    np.testing.assert_array_equal(got.real, [re for re, _ in cases.values()])
    np.testing.assert_array_equal(got.imag, [im for _, im in cases.values()])
    conjugate = lm.expm1(lm.asarray([complex(re, -im) for re, im in cases], dtype=dtype)).numpy()
    np.testing.assert_array_equal(conjugate, np.conj(got))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_division(dtype: str) -> None:
    largest = float(np.finfo(dtype).max)
    a = np.array([1 + 2j, largest + 0j, 1e-30 + 1e-30j, 1 + 1j, 0j, 1 + 0j, 0j], dtype)
    b = np.array([3 - 4j, largest * (1 + 1j) / 2, 1e-30 - 1e-30j, np.inf, 1j, 0j, 0j], dtype)
    with np.errstate(all="ignore"):
        expected = a / b
    got = (lm.asarray(a) / lm.asarray(b)).numpy()
    np.testing.assert_allclose(got.real, expected.real, rtol=8 * EPS[dtype], atol=1e-300)
    np.testing.assert_allclose(got.imag, expected.imag, rtol=8 * EPS[dtype], atol=1e-300)


def test_complex_power_special_cases() -> None:
    z = np.array([0j, 0j, 0j, 2 + 0j, 1j, -1 + 1j], "complex128")
    w = np.array([0j, 2 + 0j, -1 + 0j, 3 + 0j, 2 + 0j, -2 + 0j], "complex128")
    with np.errstate(all="ignore"):
        expected = z**w
    got = (lm.asarray(z) ** lm.asarray(w)).numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)
    assert (lm.asarray([1j]) ** 2).tolist() == [-1 + 0j]


def floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As numpy; where an operand is infinite the quotient itself, as the Python array API standard has it."""
    return np.where(np.isinf(a) | np.isinf(b), a / b, np.floor_divide(a, b))


BINARY_SPECIAL: dict[str, Any] = {
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "nextafter": np.nextafter,
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
    "fmod": np.fmod,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "heaviside": np.heaviside,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
    "remainder": np.remainder,
    "floor_divide": floor_divide,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY_SPECIAL)
def test_special_values_of_two_operands(name: str, dtype: str) -> None:
    values = np.array([*PARTS, 3.0, -7.0, 1e30], dtype)
    a, b = (np.ascontiguousarray(x).ravel() for x in np.broadcast_arrays(values[:, None], values))
    with np.errstate(all="ignore"):
        expected = BINARY_SPECIAL[name](a, b)
    got = getattr(lm, name)(lm.asarray(a), lm.asarray(b)).numpy()
    np.testing.assert_allclose(got, expected, rtol=8 * EPS[dtype], atol=0)
    zero = (got == 0) & (name not in ("fmax", "fmin", "maximum", "minimum"))
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("dtype", FLOATING)
def test_special_values_of_floor_division(dtype: str) -> None:
    """An infinite dividend, and an infinite divisor: as a function, as an operator and in place."""
    inf, nan = math.inf, math.nan
    a = [inf, inf, -inf, -inf, 3.0, -3.0, 3.0, -3.0, inf, -inf, 0.0, -0.0, 3.0, -3.0, nan]
    b = [2.0, -2.0, 2.0, -2.0, inf, inf, -inf, -inf, inf, inf, inf, inf, -0.0, 0.0, inf]
    quotients = [inf, -inf, -inf, inf, 0.0, -0.0, -0.0, 0.0, nan, nan, 0.0, -0.0, -inf, -inf, nan]
    rests = [nan, nan, nan, nan, 3.0, inf, -inf, -3.0, nan, nan, 0.0, 0.0, nan, nan, nan]
    x, y = lm.asarray(a).astype(dtype), lm.asarray(b).astype(dtype)
    written, rest = x.clone(), x.clone()
    written //= y
    rest %= y
    for got in (lm.floor_divide(x, y), x // y, written, divmod(x, y)[0]):
        assert got.dtype == x.dtype
        values = got.astype("float64").numpy()
        np.testing.assert_array_equal(values, quotients)
        zero = values == 0
        np.testing.assert_array_equal(np.signbit(values[zero]), np.signbit(np.array(quotients)[zero]))
    for got in (lm.remainder(x, y), x % y, rest, divmod(x, y)[1]):
        np.testing.assert_array_equal(got.astype("float64").numpy(), rests)
    assert (lm.asarray([inf, 5.0]).astype(dtype) // 2).tolist() == [inf, 2.0]


def test_isclose() -> None:
    a = np.array([1.0, np.inf, -np.inf, np.nan, np.inf, 1.0, 0.0])
    b = np.array([1.0 + 1e-9, np.inf, np.inf, np.nan, 1.0, 1.1, 1e-9])
    for nan in (False, True):
        got = lm.isclose(lm.asarray(a), lm.asarray(b), equal_nan=nan)
        assert got.tolist() == np.isclose(a, b, equal_nan=nan).tolist()
    assert not lm.allclose(lm.asarray(a), lm.asarray(b))
    assert lm.allclose(lm.asarray([3, 4], dtype="uint8"), lm.asarray([4, 3], dtype="uint8"), atol=1)
    assert not lm.isclose(lm.asarray([250], dtype="uint8"), lm.asarray([2], dtype="uint8"), rtol=0, atol=10)


def test_nan_to_num() -> None:
    for dtype in FLOATING:
        info = lm.finfo(dtype)
        x = lm.asarray([float("nan"), float("inf"), float("-inf"), 1.5]).astype(dtype)
        assert lm.nan_to_num(x).tolist() == [0.0, info.max, info.min, 1.5]
        assert lm.nan_to_num(x, nan=2.0, posinf=3.0, neginf=-3.0).tolist() == [2.0, 3.0, -3.0, 1.5]
    z = lm.asarray([complex("nan+1j"), complex("1+infj")])
    assert lm.nan_to_num(z, posinf=5.0).tolist() == [1j, 1 + 5j]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma(n: int) -> None:
    special = pytest.importorskip("scipy.special")
    x = np.array([0.3, 1.0, 2.5, 9.5, 40.0])
    np.testing.assert_allclose(lm.polygamma(n, lm.asarray(x)).numpy(), special.polygamma(n, x), rtol=1e-13)
    for wrong in (-1, 171):
        with pytest.raises(ValueError, match=r"\[polygamma\] n"):
            lm.polygamma(wrong, lm.asarray(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_polygamma_of_high_orders_and_below_zero(dtype: str) -> None:
    """Terms beside a pole cancel; factorials and sums are beyond the range where their products are not."""
    cases = [(10, -1.5), (20, -1.5), (21, -1.5), (20, -7.5), (20, 100.0), (20, 1000.0), (40, 100.0), (3, -1000.5)]
    for n, x in cases:
        with mpmath.workdps(400):
            below = max(0, math.ceil(-x))
            terms = [mpmath.mpf(x + k) ** -(n + 1) for k in range(below)]
            want = float(
                (-1) ** (n + 1) * mpmath.factorial(n) * (sum(terms) + mpmath.zeta(n + 1, mpmath.mpf(x + below)))
            )
        got = lm.polygamma(n, lm.asarray(x, dtype=dtype)).item()
        np.testing.assert_allclose(got, want, rtol=8 * EPS[dtype], atol=float(np.finfo(dtype).smallest_subnormal))
    assert math.isinf(lm.zeta(lm.asarray(3.0, dtype=dtype), -2.0).item())
    far = lm.zeta(lm.asarray(3.0, dtype="float64"), -1e12 + 0.5).item()
    np.testing.assert_allclose(far, 0.5e-24, rtol=1e-12)


def test_accuracy_of_special_functions() -> None:
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(-0.9999999, 0.9999999, 2001), 1 - 10.0 ** -np.arange(1, 16), [1.0, -1.0, 0.0, 2.0]])
    np.testing.assert_allclose(lm.erfinv(lm.asarray(x)).numpy(), special.erfinv(x), rtol=1e-14)
    narrow = x.astype("float32")
    np.testing.assert_allclose(lm.erfinv(lm.asarray(narrow)).numpy(), special.erfinv(narrow), rtol=1e-6)
    y = np.concatenate([np.linspace(-6.3, 30, 1001), [1e-5, 1e5, 1e12]])
    np.testing.assert_allclose(lm.digamma(lm.asarray(y)).numpy(), special.digamma(y), rtol=1e-11, atol=1e-13)
    s, q = np.meshgrid([1.5, 2.0, 3.0, 10.0], [0.1, 1.0, 3.7, 25.0, -0.5])
    np.testing.assert_allclose(
        lm.zeta(lm.asarray(s), lm.asarray(q)).numpy(), special.zeta(s, q), rtol=1e-13, equal_nan=True
    )


@pytest.mark.parametrize("isa", ["x86-64-v2", "x86-64-v3"])
def test_special_values_under_other_instruction_sets(isa: str) -> None:
    """The kernels of older processors run on newer ones."""
    if platform.machine() != "x86_64":
        pytest.skip("no x86-64 processor")
    if os.environ.get("LAMELLA_CPU_ISA"):
        pytest.skip("this is a run under another instruction set")
    if not Path(lm._C.__file__).with_name(f"liblamella_cpu_{isa}.so").exists():
        pytest.skip(f"this build has no kernels for {isa}")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        __file__,
        "-k",
        "special or rounds",
    ]
    environment = {**os.environ, "LAMELLA_CPU_ISA": isa}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:]
