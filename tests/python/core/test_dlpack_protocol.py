"""__dlpack__ and from_dlpack with all that the array API standard lets callers ask for."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pytest

import lamella as lm


class Kind(IntEnum):
    CPU = 1
    CUDA = 2


def test_memory_is_shared_unless_a_copy_is_asked_for() -> None:
    a = np.arange(6.0).reshape(2, 3)
    shared, copied = lm.from_dlpack(a), lm.from_dlpack(a, copy=True)
    a[0, 0] = 9
    assert (shared[0, 0].item(), copied[0, 0].item()) == (9.0, 0.0)
    assert lm.from_dlpack(a, copy=False).data_ptr() == shared.data_ptr()
    assert lm.from_dlpack(shared, device="cpu").data_ptr() == shared.data_ptr()


def test_what_cannot_be_shared() -> None:
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    backwards = np.arange(3.0)[::-1]
    for array in (frozen, backwards):
        assert lm.from_dlpack(array).tolist() == array.tolist()
        with pytest.raises(BufferError, match=r"\[from_dlpack\] copy=False"):
            lm.from_dlpack(array, copy=False)
    with pytest.raises(BufferError, match=r"\[from_dlpack\] copy=False, but the array is on another device"):
        lm.from_dlpack(np.arange(3.0), device="meta", copy=False)
    assert lm.from_dlpack(np.arange(3.0), device="meta").shape == (3,)


def test_export() -> None:
    x = lm.asarray([1.0, 2.0])
    for arguments in ({}, {"max_version": (1, 0)}, {"dl_device": (Kind.CPU, 0), "copy": False}, {"stream": None}):
        y = lm.from_dlpack(x.__dlpack__(**arguments))
        assert y.data_ptr() == x.data_ptr()
    y = lm.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True))
    assert y.tolist() == [1.0, 2.0] and y.data_ptr() != x.data_ptr()
    assert x.__dlpack_device__() == (Kind.CPU, 0)
    with pytest.raises(BufferError, match="copied to the CPU only"):
        x.__dlpack__(dl_device=(Kind.CUDA, 0))
    with pytest.raises(TypeError, match=r"\[__dlpack__\] dl_device: expected a tuple of two ints"):
        x.__dlpack__(dl_device=1)
    with pytest.raises(TypeError, match=r"\[__dlpack__\] max_version"):
        x.__dlpack__(max_version=(1, 2, 3))
    with pytest.raises(ValueError, match=r"\[__dlpack__\] dl_device"):
        x.__dlpack__(dl_device=(-1, 0))
    np.testing.assert_array_equal(np.from_dlpack(lm.asarray([[1, 2]]).T), [[1], [2]])
