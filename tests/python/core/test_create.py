"""Tensors from numbers, lists, arrays and buffers."""

import array
import threading

import numpy as np
import pytest

import lamella as lm


@pytest.mark.parametrize(
    ("data", "dtype", "expected"),
    [
        (3, "int64", 3),
        (2.5, "float32", 2.5),
        (True, "bool", True),
        (1j, "complex64", 1j),
        ([], "float32", []),
        ([[], []], "float32", [[], []]),
        ([1, 2], "int64", [1, 2]),
        ((1, 2.5), "float32", [1, 2.5]),
        ([True, 2], "int64", [1, 2]),
        ([[1, 2], (3, 4)], "int64", [[1, 2], [3, 4]]),
        ([1, 1j], "complex64", [1, 1j]),
        ([np.float64(1.5), np.int8(2)], "float32", [1.5, 2]),
        ([np.bool_(True), False], "bool", [True, False]),
        (np.float16(1.5), "float16", 1.5),
        (np.arange(3, dtype=np.uint8), "uint8", [0, 1, 2]),
        (range(4), "int64", [0, 1, 2, 3]),
        ([lm.asarray(1.0), 2.0], "float32", [1, 2]),
        ([np.ones(2), np.zeros(2)], "float64", [[1, 1], [0, 0]]),
        (array.array("h", [1, 2]), "int16", [1, 2]),
        (bytearray(b"ab"), "uint8", [97, 98]),
        (memoryview(b"abcd").cast("H"), "uint16", [25185, 25699]),
        (-(2**63), "int64", -(2**63)),
    ],
)
def test_asarray(data, dtype, expected):
    x = lm.asarray(data)
    assert x.dtype.name == dtype and x.tolist() == expected
    assert lm.tensor(data).tolist() == expected


@pytest.mark.parametrize("name", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("data", [[0, 1], [0.0, 1.9], [False, True], [-0.0, np.float32(1)]])
def test_lists_in_integer_dtypes(name, data):
    x = lm.asarray(data, dtype=name)
    assert x.dtype.name == name and x.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_lists_in_floating_dtypes(name):
    x = lm.asarray([1, 2.5, True], dtype=name)
    assert x.dtype.name == name and x.tolist() == [1, 2.5, 1]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([[1, 2], [3]], r"item \[1\] has 1 items, where 2"),
        ([[1], 2], r"item \[1\] is int, where a list of 1"),
        ([1, [2]], r"item \[1\] is a list"),
        ([[[1], [2]], [[3], [4, 5]]], r"item \[1\]\[1\] has 2 items"),
        ([np.ones(2), np.ones(3)], r"item \[1\] has shape \[3\]"),
    ],
)
def test_ragged_lists(data, place):
    with pytest.raises(ValueError, match=r"\[asarray\] ragged: " + place):
        lm.asarray(data)


@pytest.mark.parametrize(
    "data",
    ["text", None, {1: 2}, {1}, object(), lm.asarray, int, [None], ["a"], [1, "a"], [[1], [object()]], (x for x in ())],
)
def test_what_is_no_array(data):
    with pytest.raises(TypeError, match=r"^\[asarray\]"):
        lm.asarray(data)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (2**63, None),
        ([2**64], "uint64"),
        ([-1], "uint8"),
        ([300], "uint8"),
        ([10**400], "float64"),
        ([float("nan")], "int32"),
    ],
)
def test_values_that_do_not_fit(data, dtype):
    with pytest.raises(ValueError, match="does not fit"):
        lm.asarray(data, dtype=dtype)


def test_items_that_misbehave():
    class Raises:
        def __index__(self):
            raise ZeroDivisionError("mine")

    class Shrinks:
        def __init__(self, items):
            self.items = items

        def __index__(self):
            self.items.clear()
            return 1

    class Number(float):
        def __float__(self):
            victims.clear()
            return 1.0

    with pytest.raises(ZeroDivisionError):
        lm.zeros([Raises()])
    shape = []
    shape.extend([Shrinks(shape), 2, 3])
    assert lm.zeros(shape).shape == (1,)
    victims = []
    victims.extend([Number(1.0), 2.0, 3.0])
    lm.asarray(victims)
    victims = [[np.float32(1)], [np.float32(2)]]
    assert lm.asarray(victims).tolist() == [[1], [2]]
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested deeper"):
        lm.asarray(loop)


def test_memory_is_shared_where_it_can_be():
    a = np.zeros(4, np.float32)
    x = lm.asarray(a)
    x += 1
    assert a.tolist() == [1, 1, 1, 1]
    a[:] = 5
    assert x.tolist() == [5] * 4
    assert lm.from_numpy(a).data_ptr() == a.ctypes.data
    assert lm.asarray(a.reshape(2, 2).T).strides == (1, 2)
    for own in (lm.tensor(a), lm.asarray(a, copy=True), lm.asarray(a, dtype="float64")):
        own += 1
        assert a.tolist() == [5] * 4
    assert lm.asarray(a, copy=False).data_ptr() == a.ctypes.data
    with pytest.raises(ValueError, match="copy=False"):
        lm.asarray(a, dtype="float64", copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        lm.asarray([1.0], copy=False)


def test_an_array_outlives_its_name():
    x = lm.asarray(np.arange(100_000.0))
    assert x[-1].item() == 99_999
    n = lm.arange(100_000).numpy()
    assert n[-1] == 99_999


def test_arrays_that_cannot_be_shared_are_copied():
    frozen = np.arange(4.0)
    frozen.flags.writeable = False
    x = lm.asarray(frozen)
    x += 1
    assert frozen.tolist() == [0, 1, 2, 3] and x.tolist() == [1, 2, 3, 4]
    assert lm.asarray(np.arange(6)[::-2]).tolist() == [5, 3, 1]
    unaligned = np.frombuffer(b"\0" + np.float32([1, 2]).tobytes(), np.uint8)[1:].view(np.float32)
    assert lm.asarray(unaligned).tolist() == [1, 2]
    assert lm.asarray(b"ab").tolist() == [97, 98]
    fields = np.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i1"), ("b", "f4")])
    assert lm.asarray(fields["b"]).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros(2, ">f4"), "order"),
        (np.zeros(2, "datetime64[s]"), "no dtype"),
        (np.array(["a"]), "format"),
        (np.array([object()]), "format"),
        (np.zeros(2, [("a", "f4")]), "format"),
        (np.zeros(2, np.longdouble), "format"),
    ],
)
def test_arrays_of_other_dtypes(data, message):
    with pytest.raises(TypeError, match=message):
        lm.asarray(data)


def test_objects_with_array_methods():
    class Arrays:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0])

    class Fails:
        def __array__(self, dtype=None, copy=None):
            raise ZeroDivisionError

    assert lm.asarray(Arrays()).tolist() == [1, 2]
    with pytest.raises(ZeroDivisionError):
        lm.asarray(Fails())


def test_a_tensor_stays_itself():
    x = lm.tensor([1.0], stop_gradient=False)
    assert lm.asarray(x) is x
    y = lm.tensor(x)
    assert y is not x and y.is_leaf and y.stop_gradient and y.data_ptr() != x.data_ptr()
    assert lm.asarray(x, dtype="float64").grad_fn.name == "cast"


def test_options():
    assert lm.tensor([1.0], stop_gradient=False).requires_grad
    assert lm.asarray([1.0], device="meta").device == "meta"
    with pytest.raises(TypeError, match="stop_gradient"):
        lm.tensor([1.0], stop_gradient=0)
    with pytest.raises(RuntimeError, match="int64"):
        lm.tensor([1], stop_gradient=False)
    with pytest.raises(ValueError, match="float31"):
        lm.asarray([1], dtype="float31")
    with pytest.raises(TypeError, match="ndarray"):
        lm.from_numpy([1])


def test_sizes_that_cannot_be():
    for shape in ((2, -3), 2**62, (2**40, 2**40)):
        with pytest.raises(ValueError):
            lm.zeros(shape)
    with pytest.raises(MemoryError, match="bytes"):
        lm.empty(2**44)
    with pytest.raises(ValueError, match="64 bits"):
        lm.zeros(2**64)
    for shape in (2.5, "ab", [1.0], [True], None):
        with pytest.raises(TypeError, match=r"\[zeros\] shape"):
            lm.zeros(shape)


def test_the_default_device_is_a_thread_s_own():
    assert lm.get_default_device() == "cpu" or lm.cuda.is_available()
    before = lm.get_default_device()
    lm.set_default_device("meta")
    try:
        assert {x.device for x in (lm.zeros([2]), lm.tensor([1, 2]), lm.arange(3), lm.rand([2]))} == {"meta"}
        with pytest.raises(RuntimeError):
            lm.set_default_device("cuda:63")
        assert lm.get_default_device() == "meta"
        seen = []
        thread = threading.Thread(target=lambda: seen.append(lm.get_default_device()))
        thread.start()
        thread.join()
        assert seen == ["cpu"]
    finally:
        lm.set_default_device(before)
