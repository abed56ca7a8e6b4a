"""Tensors as numpy arrays, buffers and DLPack capsules."""

from typing import Any

import numpy as np
import pytest

import lamella as lm

NUMPY_DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_every_dtype_there_and_back(dtype):
    a = np.array([[0, 1, 3], [4, 5, 1]]).astype(dtype)
    x = lm.asarray(a)
    assert x.dtype.name == dtype
    b = x.numpy()
    assert b.dtype == a.dtype and b.dtype.name == dtype and b.ctypes.data == a.ctypes.data
    np.testing.assert_array_equal(a, b)
    c = lm.from_dlpack(np.from_dlpack(x)) if dtype != "bool" or np.lib.NumpyVersion(np.__version__) >= "1.25.0" else x
    assert c.dtype.name == dtype and c.data_ptr() == x.data_ptr()


def test_memory_is_shared():
    x = lm.zeros((2, 3))
    a = x.numpy()
    a[0, 1] = 5
    assert x[0, 1].item() == 5
    x.add_(1)
    assert a[0, 1] == 6
    assert x.T.numpy().strides == (4, 12) and x.T.numpy().ctypes.data == a.ctypes.data


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1), (2, 0, 2)])
def test_shapes(shape):
    a = lm.ones(shape).numpy()
    assert a.shape == shape and a.sum() == a.size


def test_bfloat16_has_to_be_cast():
    x = lm.asarray([1.5], dtype="bfloat16")
    for convert in (x.numpy, lambda: np.asarray(x), lambda: memoryview(x)):
        with pytest.raises(TypeError, match=r"bfloat16.*astype"):
            convert()


def test_a_gradient_must_not_get_lost():
    x = lm.tensor([1.0], stop_gradient=False)
    for convert in (x.numpy, lambda: np.asarray(x), lambda: memoryview(x), (x * 2).numpy, x.__dlpack__):
        with pytest.raises(RuntimeError, match=r"detach\(\)"):
            convert()
    assert x.detach().numpy()[0] == 1 and x.item() == 1 and x.tolist() == [1]
    with lm.no_grad():
        assert x.numpy()[0] == 1


def test_inputs_of_a_layer_can_be_converted():
    class NumpyTanh(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            y = lm.asarray(np.tanh(x.numpy()))
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, dy):
            (y,) = ctx.saved_tensor()
            return lm.asarray(dy.numpy() * (1 - y.numpy() ** 2))

    x = lm.tensor([0.5], stop_gradient=False)
    NumpyTanh.apply(x).backward()
    assert x.grad.item() == pytest.approx(1 - np.tanh(0.5) ** 2)


def test_array_method():
    x = lm.asarray([[1.5, 2.5]])
    assert np.asarray(x).ctypes.data == x.data_ptr()
    assert np.array(x).ctypes.data != x.data_ptr()
    assert np.asarray(x, dtype="int32").tolist() == [[1, 2]]
    assert x.__array__(np.float64).dtype == np.float64 and x.__array__(copy=True).ctypes.data != x.data_ptr()
    with pytest.raises(ValueError, match="copy"):
        x.__array__(np.float64, copy=False)
    np.testing.assert_array_equal(np.tanh(x), np.tanh(x.numpy()))
    np.testing.assert_array_equal(np.concatenate([x, x]), np.concatenate([x.numpy()] * 2))


def test_arithmetic_with_arrays_is_the_tensors():
    x, a = lm.asarray([1.0, 2.0]), np.array([3.0, 4.0], np.float32)
    for y, expected in [
        (x + a, [4, 6]),
        (a + x, [4, 6]),
        (a - x, [2, 2]),
        (a / x, [3, 2]),
        (a**x, [3, 16]),
        (x @ a, 11),
        (a @ x, 11),
    ]:
        assert isinstance(y, lm.Tensor) and y.dtype is lm.float32 and y.tolist() == expected
    assert (a > x).tolist() == [True, True] and isinstance(x < a, lm.Tensor)
    x += a
    assert x.tolist() == [4, 6]
    assert (np.float64(2) * x).dtype is lm.float32 and (x * np.float32(2)).tolist() == [8, 12]
    assert (np.int64(2) * x).dtype is lm.float32


def test_buffer_protocol():
    x = lm.asarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    view = memoryview(x)
    assert (
        view.format == "i"
        and view.shape == (2, 3)
        and view.strides == (12, 4)
        and not view.readonly
        and view[1, 2] == 5
    )
    view[0, 0] = 9
    assert x[0, 0].item() == 9
    del x
    assert view[0, 0] == 9
    assert bytes(memoryview(lm.asarray([1, 2], dtype="uint8"))) == b"\x01\x02"


def test_dlpack():
    x = lm.asarray([[1.0, 2.0]])
    assert x.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(np.from_dlpack(x), x.numpy())
    for options in ({}, {"max_version": (1, 0)}, {"max_version": (0, 8)}, {"dl_device": (1, 0), "copy": False}):
        y = lm.from_dlpack(x.__dlpack__(**options))
        assert y.data_ptr() == x.data_ptr() and y.strides == x.strides
    assert lm.from_dlpack(x.__dlpack__(copy=True)).data_ptr() != x.data_ptr()
    bf16 = lm.asarray([1.5], dtype="bfloat16")
    assert lm.from_dlpack(bf16).dtype is lm.bfloat16
    assert lm.from_dlpack(np.arange(6.0)[::-1]).tolist() == [5, 4, 3, 2, 1, 0]
    assert lm.asarray(OnlyDlpack(x)).data_ptr() == x.data_ptr()


class OnlyDlpack:
    """As libraries had it before the protocol knew versions."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def test_dlpack_wrongly_used():
    capsule = lm.zeros(2).__dlpack__()
    lm.from_dlpack(capsule)
    with pytest.raises(ValueError, match="taken already"):
        lm.from_dlpack(capsule)
    for wrong in (3, None, [1], "text"):
        with pytest.raises(TypeError, match="__dlpack__"):
            lm.from_dlpack(wrong)
    with pytest.raises(BufferError):
        lm.zeros(2).__dlpack__(dl_device=(2, 0))

    class Fails:
        def __dlpack__(self, **options):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lm.from_dlpack(Fails())
    lm.zeros(2).__dlpack__()  # a capsule that nobody takes frees what it holds


TRUE_BYTES = np.array([0, 255, 0, 254, 1, 2], "u1")


@pytest.mark.parametrize(
    "make",
    [
        lm.asarray,
        lm.tensor,
        lm.from_numpy,
        lm.from_dlpack,
        lambda array: lm.asarray(array, copy=True),
        lambda array: lm.asarray(memoryview(array)),
        lambda array: lm.asarray(np.repeat(array, 2)[::2]),
        lambda array: lm.asarray(np.frombuffer(array.tobytes(), bool)),
    ],
)
def test_true_bytes_other_than_1_are_true(make: Any) -> None:
    array = TRUE_BYTES.view(bool)
    mask = make(array)
    want = TRUE_BYTES != 0
    assert mask.sum().item() == 4 and (mask == True).tolist() == want.tolist()  # noqa: E712
    assert (~mask).tolist() == (~want).tolist() and mask.astype("int32").tolist() == want.astype(int).tolist()
    assert lm.nonzero(mask)[0].tolist() == np.nonzero(want)[0].tolist()
    assert lm.arange(6)[mask].tolist() == np.arange(6)[want].tolist()
    assert lm.cumulative_sum(mask).tolist() == np.cumsum(want).tolist()


def test_memory_of_bools_that_is_not_shared() -> None:
    array = TRUE_BYTES.view(bool)
    with pytest.raises(ValueError, match="copy=False"):
        lm.asarray(array, copy=False)
    with pytest.raises(BufferError, match="neither 0 nor 1"):
        lm.from_dlpack(array, copy=False)
    clean = np.array([True, False])
    shared = lm.from_numpy(clean)
    clean[0] = False
    assert shared.tolist() == [False, False]


def test_bytes_that_a_mask_gets_later_do_no_harm() -> None:
    """Numpy may write any byte into memory that a mask shares: as many elements are found as there are results."""
    memory = np.zeros(16384 + 7, "u1")
    memory[:100] = 1
    mask = lm.from_numpy(memory.view(bool))
    memory[-7:] = 255
    memory[200:300] = 254
    assert 100 <= lm.arange(memory.size)[mask].shape[0] <= 207
    assert 100 <= lm.nonzero(mask)[0].shape[0] <= 207


def test_numpy_bools_are_indices() -> None:
    x = lm.asarray([1.0, 2.0])
    array = x.numpy()
    for truth in (np.True_, np.False_):
        assert x[truth].shape == array[truth].shape and x[truth, ...].shape == array[truth, ...].shape
    x[np.False_] = 7.0
    x[np.True_] = 5.0
    assert x.tolist() == [5.0, 5.0]
