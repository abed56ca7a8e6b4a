"""Comparing tensors in tests."""

from __future__ import annotations

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
    """
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


def _numpy(x: lm.Tensor) -> Any:
    x = x.detach().cpu()
    return (x.astype(lm.float32) if x.dtype in (lm.float16, lm.bfloat16) else x).numpy()


__getattr__ = close_module(__name__)
