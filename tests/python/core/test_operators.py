"""Operators from Python: symbols, arguments, and what they say to wrong ones."""

import inspect
import operator

import numpy as np
import pytest

import lamella as lm

A = np.array([[1.0, -2.0], [3.0, 4.0]], np.float32)
B = np.array([[2.0, 2.0], [2.0, 3.0]], np.float32)
BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.matmul,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]


@pytest.mark.parametrize("op", BINARY)
def test_binary_symbols(op):
    x, y = lm.asarray(A), lm.asarray(B)
    np.testing.assert_allclose(op(x, y).numpy(), op(A, B), rtol=1e-6)
    if op is not operator.matmul:
        np.testing.assert_allclose(op(x, 2).numpy(), op(A, 2), rtol=1e-6)
        np.testing.assert_allclose(op(2.0, y).numpy(), op(np.float32(2), B), rtol=1e-6)


def test_unary_symbols():
    x = lm.asarray(A)
    assert (-x).tolist() == (-A).tolist() and abs(x).tolist() == np.abs(A).tolist() and +x is x
    assert (~(x > 0)).tolist() == (~(A > 0)).tolist() and (~lm.asarray([1])).tolist() == [-2]


def test_logical_symbols():
    a, b = lm.asarray([True, True, False]), lm.asarray([True, False, False])
    assert (a & b).tolist() == [True, False, False] and (a | b).tolist() == [True, True, False]
    assert (a ^ b).tolist() == [False, True, False] and (True & b).tolist() == b.tolist()
    assert (lm.asarray([6]) & 3).tolist() == [2]


@pytest.mark.parametrize("op", [operator.iadd, operator.isub, operator.imul, operator.itruediv])
def test_symbols_in_place(op):
    x = lm.asarray(A.copy())
    address, before = x.data_ptr(), x
    x = op(x, lm.asarray(B))
    assert x is before and x.data_ptr() == address
    np.testing.assert_allclose(x.numpy(), op(A.copy(), B), rtol=1e-6)
    x = op(x, 2)
    np.testing.assert_allclose(x.numpy(), op(op(A.copy(), B), 2), rtol=1e-6)


def test_a_number_takes_part_by_its_kind():
    assert (lm.ones(1, dtype="float64") * 2).dtype is lm.float64 and (lm.ones(1) + 1.5).dtype is lm.float32
    assert (lm.ones(1, dtype="int32") + 1).dtype is lm.int32 and (lm.ones(1, dtype="int32") + 1.5).dtype is lm.float32
    assert (lm.ones(1, dtype="bool") + 1).dtype is lm.int64


@pytest.mark.parametrize("other", ["text", None, [1, 2], object(), {}])
@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.lt, operator.matmul, operator.iadd])
def test_what_is_no_operand(op, other):
    with pytest.raises(TypeError):
        op(lm.asarray(A), other)
    if op is not operator.iadd:
        with pytest.raises(TypeError):
            op(other, lm.asarray(A))


def test_comparison_with_something_else():
    x = lm.asarray(A)
    assert (x == None) is False and (x != "text") is True  # noqa: E711
    assert x in [x, 1] and None not in [x]


def test_another_class_has_the_last_word():
    class Other:
        def __radd__(self, x):
            return "mine"

    class Sub(lm.Tensor):
        def __radd__(self, x):
            return "sub"

    assert lm.ones(1) + Other() == "mine" and lm.ones(1) + Sub([1.0]) == "sub"


def test_huge_numbers():
    with pytest.raises(ValueError, match="64 bits"):
        lm.ones(1) * 2**70
    with pytest.raises(ValueError, match="64 bits"):
        lm.sum(lm.ones(1), axis=2**70)
    assert (lm.ones(1) * 1e300).tolist() == [float("inf")]


def test_a_power_with_a_modulus():
    with pytest.raises(TypeError):
        pow(lm.ones(1), 2, 3)


def test_arguments_by_position_and_by_name():
    x = lm.asarray(A)
    expected = A.sum(0, keepdims=True).tolist()
    for y in (
        lm.sum(x, 0, True),
        lm.sum(x, axis=0, keepdims=True),
        x.sum(0, keepdims=True),
        x.sum(**{"keepdims": True, "ax" + "is": 0}),
    ):
        assert y.tolist() == expected
    assert x.reshape(4).shape == x.reshape((4,)).shape == x.reshape(-1).shape == x.reshape([4]).shape == (4,)
    assert x.reshape(2, 2, 1).shape == (2, 2, 1) and x.permute_dims(1, 0).tolist() == A.T.tolist()
    assert lm.sum(x, axis=(0, 1)).item() == lm.sum(x, axis=[0, -1]).item() == 6
    assert lm.sum(x, axis=np.int64(0)).tolist() == lm.sum(x, axis=lm.asarray(0)).tolist() == [4, 2]
    assert x.sum(keepdims=np.bool_(True)).shape == (1, 1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: lm.add(x), TypeError, r"^\[add\] missing argument 'b'"),
        (lambda x: lm.add(), TypeError, r"^\[add\] missing argument 'a'"),
        (lambda x: lm.add(x, x, x), TypeError, r"^\[add\] takes 2 positional arguments, 3 were given"),
        (lambda x: lm.add(x, b=x), TypeError, r"^\[add\] 'b' is positional only"),
        (lambda x: lm.add(x, "y"), TypeError, r"^\[add\] b: expected a Tensor or a number, got str"),
        (lambda x: lm.add(x, A), TypeError, r"^\[add\] b: .*numpy\.ndarray"),
        (lambda x: lm.sum(x, ax=0), TypeError, r"^\[sum\] got an unexpected argument 'ax'"),
        (lambda x: lm.sum(x, 0, axis=0), TypeError, r"^\[sum\] got two values for 'axis'"),
        (lambda x: x.sum(0, axis=0), TypeError, r"^\[sum\] got two values for 'axis'"),
        (lambda x: lm.sum([1.0]), TypeError, r"^\[sum\] x: expected a Tensor \(lm\.asarray makes one\), got list"),
        (lambda x: lm.sum(A), TypeError, r"^\[sum\] x: expected a Tensor .*numpy\.ndarray"),
        (lambda x: lm.sum(None), TypeError, r"^\[sum\] x: expected a Tensor, got NoneType"),
        (lambda x: x.sum(axis="x"), TypeError, r"^\[sum\] axis: expected an int or a sequence of ints, got str"),
        (lambda x: x.sum(axis=1.0), TypeError, r"^\[sum\] axis: .*got float"),
        (lambda x: x.sum(axis=(0, "x")), TypeError, r"^\[sum\] axis: .*got str"),
        (lambda x: x.sum(axis=True), TypeError, r"^\[sum\] axis: .*got bool"),
        (lambda x: x.sum(axis=7), IndexError, r"^\[sum\] axis 7 "),
        (lambda x: x.sum(keepdims=1), TypeError, r"^\[sum\] keepdims: expected a bool, got int"),
        (lambda x: lm.gelu(x, approximate=3), TypeError, r"^\[gelu\] approximate: expected a str, got int"),
        (lambda x: lm.cast(x, "float99"), ValueError, r"^\[cast\] dtype: there is no dtype 'float99'"),
        (lambda x: lm.cast(x, 3), TypeError, r"^\[cast\] dtype: expected a dtype, got int"),
        (lambda x: lm.zeros(1, device="mars"), ValueError, "mars"),
        (lambda x: lm.zeros(1, device=3), TypeError, r"^\[zeros\] device: expected a str, got int"),
        (lambda x: lm.concat(x), TypeError, r"^\[concat\] .*: expected a list or tuple of tensors"),
        (lambda x: lm.concat([x, 1]), TypeError, r"^\[concat\] .*: item 1 is int"),
        (lambda x: lm.full((2,), "x"), TypeError, r"^\[full\] fill_value: expected a number, got str"),
        (lambda x: x.softmax(axis=0.5), TypeError, r"^\[softmax\] axis: expected an int, got float"),
        (lambda x: lm.matmul(x, lm.ones((3, 3))), ValueError, r"^\[matmul\] inner sizes 2 and 3 differ"),
        (lambda x: x.reshape(3), ValueError, r"^\[reshape\]"),
        (lambda x: x.reshape("ab"), TypeError, r"^\[reshape\] shape"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call(lm.asarray(A))


def test_an_argument_that_raises_keeps_its_exception():
    class Raises:
        def __index__(self):
            raise ZeroDivisionError("mine")

    for call in (lambda: lm.sum(lm.ones(1), axis=Raises()), lambda: lm.ones(3)[Raises()], lambda: lm.ones([Raises()])):
        with pytest.raises(ZeroDivisionError, match="mine"):
            call()


@pytest.mark.parametrize("name", [info["name"] for info in lm._C.operators()])
def test_signatures_and_docs(name):
    function = getattr(lm, name)
    assert function.__doc__ and inspect.signature(function).parameters
    if callable(getattr(lm.Tensor, name, None)):  # x.real and x.imag are attributes
        assert next(iter(inspect.signature(getattr(lm.Tensor, name)).parameters)) == "self"


def test_indexing():
    x = lm.asarray(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    a = x.numpy().copy()
    keys = (
        0,
        -1,
        (1, 2),
        slice(1, None),
        (..., 1),
        None,
        (slice(None, None, -2), 1),
        [0, 2],
        ([0, 1], [1, 2]),
        slice(2**70),
        [],
        np.array([1, 0]),
        (slice(None), [3, 0]),
    )
    for key in keys:
        np.testing.assert_array_equal(x[key].numpy(), a[key])
    np.testing.assert_array_equal(x[x > 3].numpy(), a[a > 3])
    np.testing.assert_array_equal(x[lm.asarray([2, 0])].numpy(), a[[2, 0]])
    np.testing.assert_array_equal(x[np.int64(1), lm.asarray(2)].numpy(), a[1, 2])
    for key, value in [
        (0, 1),
        ((1, 2), np.float32(5)),
        (slice(0, 2), [1, 2, 3, 4]),
        (..., np.ones(4)),
        ([0, 2], lm.zeros((2, 4))),
    ]:
        x[key] = value
        a[key] = value.numpy() if isinstance(value, lm.Tensor) else value
        np.testing.assert_array_equal(x.numpy(), a)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (5, IndexError),
        (-4, IndexError),
        ((0, 0, 0), IndexError),
        (2**70, IndexError),
        ("x", TypeError),
        (1.5, TypeError),
        ({}, TypeError),
        (slice(None, None, 0), ValueError),
        (slice("a"), TypeError),
        ([9], IndexError),
        ([1.5], TypeError),
        (lambda: 0, TypeError),
        ((..., ...), IndexError),
    ],
)
def test_wrong_indices(key, error):
    x = lm.ones((3, 4))
    with pytest.raises(error, match=r"^\[(index|asarray)\]"):
        x[key]
    with pytest.raises(error):
        x[key] = 1


def test_wrong_assignments():
    x = lm.ones((3, 4))
    for value, error in [("text", TypeError), ([1, 2, 3], ValueError), (None, TypeError), ([[1], [2, 3]], ValueError)]:
        with pytest.raises(error):
            x[0] = value
    with pytest.raises(TypeError, match="deleted"):
        del x[0]
    leaf = lm.tensor([1.0], stop_gradient=False)
    with pytest.raises(RuntimeError, match="leaf"):
        leaf[0] = 1
