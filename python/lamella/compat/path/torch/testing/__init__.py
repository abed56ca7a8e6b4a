"""Comparing tensors in tests."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella.compat.front import close_module

# (rtol, atol) by dtype, as in PyTorch.
_TOLERANCES = {
    lm.float16: (1e-3, 1e-5),
    lm.bfloat16: (1.6e-2, 1e-5),
    lm.float32: (1.3e-6, 1e-5),
    lm.float64: (1e-7, 1e-7),
    lm.complex64: (1.3e-6, 1e-5),
    lm.complex128: (1e-7, 1e-7),
}

# Those of assert_allclose().
_TOLERANCES_THEN = {
    **_TOLERANCES,
    lm.float16: (1e-3, 1e-3),
    lm.float32: (1e-4, 1e-5),
    lm.float64: (1e-5, 1e-8),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    check_device: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | None = None,
) -> None:
    """AssertionError where two tensors, numbers, or lists or dicts of these differ by more than the tolerances.

    Without tolerances they are those of the dtype; integers have to be equal. Tensors have one layout here, which is
    the same for all; ``check_stride`` compares their strides.

    Raises:
        ValueError: one of the tolerances is given without the other.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"[assert_close] rtol and atol are given together or not at all, got {rtol} and {atol}")
    if isinstance(actual, (list, tuple)):
        if not isinstance(expected, (list, tuple)) or len(actual) != len(expected):
            raise AssertionError(msg or f"{len(actual)} values, expected {expected}")
        for a, b in zip(actual, expected, strict=True):
            assert_close(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)
        return
    if isinstance(actual, dict):
        assert_close(list(actual.items()), list(expected.items()), rtol=rtol, atol=atol, equal_nan=equal_nan, msg=msg)
        return
    if not isinstance(actual, lm.Tensor):
        if isinstance(actual, str):
            if actual != expected:
                raise AssertionError(msg or f"{actual!r}, expected {expected!r}")
            return
        actual, expected = lm.tensor(actual), lm.tensor(expected)
        check_dtype = False
    if check_dtype and actual.dtype != expected.dtype:
        raise AssertionError(msg or f"dtype {actual.dtype}, expected {expected.dtype}")
    if check_device and actual.device != expected.device:
        raise AssertionError(msg or f"device {actual.device}, expected {expected.device}")
    if check_stride and actual.stride() != expected.stride():  # type: ignore[attr-defined]
        raise AssertionError(msg or f"strides {actual.stride()}, expected {expected.stride()}")  # type: ignore[attr-defined]
    import numpy as np  # imported late: programs that compare nothing do without it

    usual = max(_TOLERANCES.get(x.dtype, (0.0, 0.0)) for x in (actual, expected))
    np.testing.assert_allclose(
        _numpy(actual),
        _numpy(expected),
        rtol=usual[0] if rtol is None else rtol,
        atol=usual[1] if atol is None else atol,
        equal_nan=equal_nan,
        err_msg=msg or "",
    )


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older form of :func:`assert_close`: of tensors or what they are made of, in whatever dtypes.

    Raises:
        ValueError: one of the tolerances is given without the other.
    """
    pair = [x if isinstance(x, lm.Tensor) else lm.tensor(x) for x in (actual, expected)]
    if rtol is None and atol is None:
        rtol, atol = (max(_TOLERANCES_THEN.get(x.dtype, (0.0, 0.0))[i] for x in pair) for i in (0, 1))
    assert_close(*pair, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> lm.Tensor:
    """Returns a tensor of numbers drawn at random in ``[low, high)``: from -9 to 9, or from 0 where none is negative.

    Args:
        shape: the sizes, one by one or as one list or tuple.
        dtype: the dtype.
        device: where the tensor lies.
        low: no number is lower.
        high: all numbers are lower.
        requires_grad: the tensor wants a gradient.
        noncontiguous: elements lie two steps apart in memory.
        exclude_zero: zeros become the smallest number above them.
        memory_format: accepted: tensors have one order of axes in memory.

    Raises:
        ValueError: ``low`` is not below ``high``.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    whole, is_bool = lm.isdtype(dtype, "integral"), dtype == lm.bool
    lowest = 0 if is_bool or lm.isdtype(dtype, "unsigned integer") else -9
    first = lowest if low is None else low
    last = (2 if is_bool else 10 if whole else 9) if high is None else high
    if not first < last:
        raise ValueError(f"[make_tensor] low is below high, got {first} and {last}")
    drawn = (*sizes[:-1], 2 * sizes[-1]) if noncontiguous and sizes else sizes
    if whole or is_bool:
        made = lm.randint(math.ceil(first), math.ceil(last), drawn, device=device).astype(dtype)
    elif lm.isdtype(dtype, "complex floating"):
        real = lm.float32 if dtype == lm.complex64 else lm.float64
        parts = [first + (last - first) * lm.rand(drawn, dtype=real, device=device) for _ in range(2)]
        made = lm.complex(*parts)
    else:
        made = (first + (last - first) * lm.rand(drawn, device=device)).astype(dtype)
    made = made[..., ::2] if drawn != sizes else made
    if exclude_zero:
        made[made == 0] = 1 if whole or is_bool else lm.finfo(dtype).smallest_normal
    return made.requires_grad_() if requires_grad else made


def _numpy(x: lm.Tensor) -> Any:
    x = x.detach().cpu()
    return (x.astype(lm.float32) if x.dtype in (lm.float16, lm.bfloat16) else x).numpy()


__getattr__ = close_module(__name__)
