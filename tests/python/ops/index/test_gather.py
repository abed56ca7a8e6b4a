"""gather, scatter and their relatives, against numpy and the definition, in every dtype that they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from support import default_device

from ..fused import check_both
from ..gradcheck import check_gradients

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMPY_DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    values = rng.integers(0, 7, shape).astype(dtype)
    return values + values[::-1] * np.array(1j, dtype) if dtype in COMPLEX else values


def numbers(rng: np.random.Generator, shape: tuple[int, ...], size: int) -> np.ndarray:
    return rng.integers(0, size, shape)


def places(index: np.ndarray, axis: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each place of the index, in the order along the axis, where it leads."""
    return [((*at[:axis], int(index[at]), *at[axis + 1 :]), at) for at in np.ndindex(index.shape)]


def scattered(x: np.ndarray, index: np.ndarray, axis: int, src: np.ndarray, combine: Callable[..., Any]) -> np.ndarray:
    out = x.copy()
    for to, at in places(index, axis):
        out[to] = combine(out[to], src[at])
    return out


# One case for each way in which the loops run: along the last axis and others, one line and many, long lines.
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((7,), (12,), 0),
    ((3, 5), (3, 9), 1),
    ((5, 3), (8, 3), 0),
    ((4, 6, 5), (3, 9, 2), 1),
    ((2, 3, 4, 5), (2, 3, 6, 4), 2),
    ((3, 4), (0, 4), 0),
    ((30, 90), (200, 90), 0),
]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize(("shape", "index_shape", "axis"), SHAPES)
def test_gather_and_scatter(
    dtype: str, shape: tuple[int, ...], index_shape: tuple[int, ...], axis: int, rng: np.random.Generator
) -> None:
    x = draw(rng, shape, dtype)
    src = draw(rng, tuple(n + 1 for n in index_shape), dtype)
    index = numbers(rng, index_shape, shape[axis])
    t, s = lm.asarray(x.copy()), lm.asarray(src)
    for i in (lm.asarray(index), lm.asarray(index.astype("int32"))):
        expected = np.empty(index_shape, x.dtype)
        for to, at in places(index, axis):
            expected[at] = x[to]
        np.testing.assert_array_equal(lm.gather(t, axis, i).numpy(), expected)
    expected = scattered(x, index, axis, src, lambda old, new: new)
    np.testing.assert_array_equal(lm.scatter(t, axis, i, s).numpy(), expected)
    total = scattered(x, index, axis, src, lambda old, new: old | new if dtype == "bool" else old + new)
    np.testing.assert_array_equal(lm.scatter_add(t, axis, i, s).numpy(), total)
    # From and into memory in another order.
    turned = lm.asarray(np.asfortranarray(x))
    np.testing.assert_array_equal(lm.gather(turned, axis - len(shape), i).numpy(), lm.gather(t, axis, i).numpy())
    turned.scatter_add_(axis, i, s)
    np.testing.assert_array_equal(turned.numpy(), total)
    assert t.scatter_(axis, i, s) is t
    np.testing.assert_array_equal(t.numpy(), expected)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda values: sum(values[1:], values[0]),
    "prod": lambda values: np.prod(np.array(values), dtype=np.array(values).dtype),
    "amax": max,
    "amin": min,
}


def reduced(x: np.ndarray, index: np.ndarray, axis: int, src: np.ndarray, reduce: str, own: bool) -> np.ndarray:
    values: dict[tuple[int, ...], list[Any]] = {}
    for to, at in places(index, axis):
        values.setdefault(to, [x[to]] if own else []).append(src[at])
    out = x.copy()
    for to, found in values.items():
        if reduce == "mean":
            total = REDUCTIONS["sum"]([np.float64(v) if x.dtype.kind == "f" else v for v in found])
            out[to] = total / len(found) if x.dtype.kind in "fc" else total // len(found)
        else:
            out[to] = REDUCTIONS[reduce](found)
    return out


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_scatter_reduce(dtype: str, reduce: str, include_self: bool, rng: np.random.Generator) -> None:
    for shape, index_shape, axis in SHAPES[:5]:
        x, src = draw(rng, shape, dtype), draw(rng, index_shape, dtype)
        index = numbers(rng, index_shape, shape[axis])
        got = lm.scatter_reduce(
            lm.asarray(x), axis, lm.asarray(index), lm.asarray(src), reduce, include_self=include_self
        )
        with np.errstate(over="ignore"):
            expected = reduced(x, index, axis, src, reduce, include_self)
        np.testing.assert_allclose(got.numpy(), expected, rtol={"float16": 1e-3, "float32": 1e-6}.get(dtype, 1e-14))


def test_scatter_reduce_of_bools_and_nan() -> None:
    x, index = lm.asarray([True, False, True]), lm.asarray([0, 1, 1])
    src = lm.asarray([False, True, False])
    assert lm.scatter_reduce(x, 0, index, src, "sum").tolist() == [True, True, True]
    assert lm.scatter_reduce(x, 0, index, src, "prod").tolist() == [False, False, True]
    assert lm.scatter_reduce(x, 0, index, src, "amin").tolist() == [False, False, True]
    nan = float("nan")
    for reduce in ("amax", "amin"):
        got = lm.scatter_reduce(
            lm.asarray([1.0, nan, 3.0]), 0, index, lm.asarray([nan, 2.0, 5.0]), reduce, include_self=True
        )
        np.testing.assert_array_equal(got.numpy(), [nan, nan, 3.0])
    low = lm.scatter_reduce(lm.zeros([2]), 0, lm.asarray([0]), lm.asarray([-5.0]), "amax", include_self=False)
    assert low.tolist() == [-5.0, 0.0]


def test_low_precision_is_summed_in_float32() -> None:
    for dtype in ("float16", "bfloat16"):
        ones = lm.ones([4096], dtype=dtype)
        zeros = lm.zeros([4096], dtype="int64")
        target = lm.zeros([1], dtype=dtype)
        assert lm.scatter_add(target, 0, zeros, ones).astype("float32").tolist() == [4096.0]
        assert lm.index_add(target, 0, zeros, ones).astype("float32").tolist() == [4096.0]
        x = lm.zeros([1], dtype=dtype)
        x.stop_gradient = False
        x[zeros].backward(ones)
        assert x.grad.astype("float32").tolist() == [4096.0]


@pytest.mark.parametrize("width", [1, 3, 16, 33, 64, 1000])
@pytest.mark.parametrize("rows", [1, 2, 50, 2000])
def test_sums_do_not_depend_on_the_number_of_threads(rows: int, width: int, rng: np.random.Generator) -> None:
    before = lm.get_num_threads()
    index = lm.asarray(rng.integers(0, rows, 3000))
    src = lm.asarray(rng.normal(size=(3000, width)).astype("float32"))
    spread = lm.broadcast_to(lm.expand_dims(index, 1), [3000, width])
    results: list[list[bytes]] = []
    try:
        for threads in (1, 2, 3):
            lm.set_num_threads(threads)
            x = lm.zeros([rows, width])
            x.stop_gradient = False
            x[index].backward(src)
            put = lm.zeros([rows, width])
            put[index] = src
            ways = [
                lm.index_add(lm.zeros([rows, width]), 0, index, src),
                lm.scatter_add(lm.zeros([rows, width]), 0, spread, src),
                lm.index_put(lm.zeros([rows, width]), [index], src, accumulate=True),
                x.grad,
                put,
            ]
            results.append([way.numpy().tobytes() for way in ways])
    finally:
        lm.set_num_threads(before)
    assert results[0] == results[1] == results[2]
    # On CUDA long sums are joined in float64, and cut where their places are in the order of all.
    on_cpu = default_device.ON_CPU
    assert not on_cpu or len(set(results[0][:4])) == 1
    expected = np.zeros((rows, width), "float32" if on_cpu else "float64")
    np.add.at(expected, index.numpy(), src.numpy())
    for result in results[0][:4]:
        got = np.frombuffer(result, "float32").reshape(rows, width)
        np.testing.assert_allclose(got, expected, rtol=0, atol=0 if on_cpu else 1e-4)
    expected[index.numpy()] = src.numpy()
    np.testing.assert_array_equal(np.frombuffer(results[0][4], "float32").reshape(rows, width), expected)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_put_and_take_along_axis(dtype: str, rng: np.random.Generator) -> None:
    x = draw(rng, (4, 5, 3), dtype)
    for axis in (0, 1, -1):
        shape = list(x.shape)
        shape[axis] = 2
        order = np.stack([rng.permutation(x.shape[axis])[:2] for _ in range(60 // x.shape[axis])])
        index = np.moveaxis(order.reshape([*np.delete(x.shape, axis), 2]), -1, axis) - x.shape[axis]
        values = draw(rng, tuple(shape), dtype)
        expected = x.copy()
        np.put_along_axis(expected, index, values, axis)
        t, i = lm.asarray(x), lm.asarray(index)
        np.testing.assert_array_equal(lm.put_along_axis(t, i, lm.asarray(values), axis).numpy(), expected)
        np.testing.assert_array_equal(lm.take_along_axis(t, i, axis=axis).numpy(), np.take_along_axis(x, index, axis))
    np.testing.assert_array_equal(
        lm.put_along_axis(lm.asarray(x), lm.asarray([[[1]]]), 1, 1).numpy()[:, 1], np.ones((4, 3), dtype)
    )


def test_put_along_axis_with_reductions() -> None:
    x, i = lm.asarray([[1.0, 2.0, 3.0]]), lm.asarray([[0, 0]])
    v = lm.asarray([[10.0, 20.0]])
    assert lm.put_along_axis(x, i, v, 1, "add").tolist() == [[31.0, 2.0, 3.0]]
    assert lm.put_along_axis(x, i, v, 1, "mul", False).tolist() == [[200.0, 2.0, 3.0]]
    assert lm.put_along_axis(x, i, v, 1, "amax").tolist() == [[20.0, 2.0, 3.0]]
    with pytest.raises(ValueError, match=r"\[put_along_axis\] reduce"):
        lm.put_along_axis(x, i, v, 1, "median")


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_slices_by_number(dtype: str, rng: np.random.Generator) -> None:
    x = draw(rng, (4, 5, 3), dtype)
    index = np.array([3, 0, 3, 1])
    i = lm.asarray(index)
    for axis in range(3):
        if x.shape[axis] < 4:
            index, i = index % 3, lm.asarray(index % 3)
        t = lm.asarray(x.copy())
        source = draw(rng, tuple(4 if k == axis else n for k, n in enumerate(x.shape)), dtype)
        s = lm.asarray(source)
        np.testing.assert_array_equal(lm.index_select(t, axis, i).numpy(), np.take(x, index, axis))
        added, copied = np.moveaxis(x.copy(), axis, 0), np.moveaxis(x.copy(), axis, 0)
        for k, number in enumerate(index):
            part = np.moveaxis(source, axis, 0)[k]
            added[number] = added[number] | part if dtype == "bool" else added[number] + part
            copied[number] = part
        added, copied = np.moveaxis(added, 0, axis), np.moveaxis(copied, 0, axis)
        np.testing.assert_array_equal(lm.index_add(t, axis, i, s).numpy(), added)
        np.testing.assert_array_equal(lm.index_copy(t, axis, i, s).numpy(), copied)
        filled = np.moveaxis(x.copy(), axis, 0)
        filled[index] = 1
        np.testing.assert_array_equal(lm.index_fill(t, axis, i, 1).numpy(), np.moveaxis(filled, 0, axis))
        for name, args, expected in [
            ("index_add_", (s,), added),
            ("index_copy_", (s,), copied),
            ("index_fill_", (1,), np.moveaxis(filled, 0, axis)),
        ]:
            changed = lm.asarray(x.copy())
            assert getattr(changed, name)(axis, i, *args) is changed
            np.testing.assert_array_equal(changed.numpy(), expected)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_masks(dtype: str, rng: np.random.Generator) -> None:
    x = draw(rng, (4, 5), dtype)
    for mask in (rng.random((4, 5)) < 0.4, rng.random(5) < 0.5, np.zeros((4, 5), bool), np.array(True)):
        t, m = lm.asarray(x), lm.asarray(mask)
        wide = np.broadcast_to(mask, x.shape)
        np.testing.assert_array_equal(lm.masked_select(t, m).numpy(), x[wide])
        source = draw(rng, (20,), dtype)
        expected = x.copy()
        expected[wide] = source[: wide.sum()]
        np.testing.assert_array_equal(lm.masked_scatter(t, m, lm.asarray(source)).numpy(), expected)
        changed = lm.asarray(x.copy())
        changed[lm.asarray(wide.copy())] = 1
        expected[wide] = 1
        np.testing.assert_array_equal(changed.numpy(), expected)


def test_index_put(rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 5, 3))
    rows, columns = np.array([3, 0, 3]), np.array([1, 2, 1])
    values = rng.normal(size=(3, 3))
    expected = x.copy()
    np.add.at(expected, (rows, columns), values)
    indices = [lm.asarray(rows), lm.asarray(columns)]
    got = lm.index_put(lm.asarray(x), indices, lm.asarray(values), accumulate=True)
    # A device adds what meets in one place in any order.
    np.testing.assert_allclose(got.numpy(), expected, rtol=0 if default_device.ON_CPU else 1e-14)
    expected = x.copy()
    expected[rows, columns] = values
    np.testing.assert_array_equal(lm.index_put(lm.asarray(x), indices, lm.asarray(values)).numpy(), expected)
    changed = lm.asarray(x.copy())
    assert changed.index_put_(indices, lm.asarray(values)) is changed
    np.testing.assert_array_equal(changed.numpy(), expected)


def test_zero_dim() -> None:
    x, zero = lm.asarray(3.0), lm.asarray(0)
    assert lm.gather(x, 0, zero).shape == ()
    assert lm.scatter(x, 0, zero, 5.0).item() == 5.0
    assert lm.scatter_add(x, -1, zero, lm.asarray(2.0)).item() == 5.0
    assert lm.index_select(x, 0, lm.asarray([0])).shape == ()
    assert lm.index_add(x, 0, zero, lm.asarray(2.0)).item() == 5.0
    y = lm.asarray(1.0)
    y.scatter_add_(0, zero, lm.asarray(2.0))
    assert y.item() == 3.0


def test_an_index_that_shares_memory_with_the_target() -> None:
    x = lm.asarray([2, 0, 1])
    x[x] = lm.asarray([10, 20, 30])
    assert x.tolist() == [20, 30, 10]
    y = lm.asarray([2, 0, 1])
    y.scatter_add_(0, y, y)
    assert y.tolist() == [2, 1, 3]


def test_gradients_of_a_product_with_zeros() -> None:
    """The first derivative is the product of the other factors, of which some may be 0."""
    x = lm.tensor([2.0, 0.0, 3.0], stop_gradient=False)
    src = lm.tensor([0.0, 5.0, 0.0, 4.0], stop_gradient=False)
    y = lm.scatter_reduce(x, 0, lm.asarray([0, 1, 1, 2]), src, "prod")
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 4.0]
    assert src.grad.tolist() == [2.0, 0.0, 0.0, 3.0]


@pytest.mark.parametrize("include_self", [True, False])
def test_second_derivatives_of_a_product_with_zeros(include_self: bool) -> None:
    """Cells with none, one, two and three factors that are 0, among them that of x itself."""
    x = lm.tensor([2.0, 0.0, 3.0, -1.5, 0.0, 0.0], dtype="float64", stop_gradient=False)
    values = [0.5, 0.0, 4.0, 5.0, 2.0, 0.0, 3.0, 0.0, 0.0, 7.0, 0.0, 0.0, -2.0]
    src = lm.tensor(values, dtype="float64", stop_gradient=False)
    index = lm.asarray([0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 4, 5, 5])

    def product(a: lm.Tensor, s: lm.Tensor) -> lm.Tensor:
        return lm.scatter_reduce(a, 0, index, s, "prod", include_self=include_self)

    assert lm.autograd.gradcheck(product, (x, src))
    assert lm.autograd.gradgradcheck(product, (x, src))
    (first,) = lm.grad([product(x, src)[0]], [src], create_graph=True)
    (second,) = lm.grad([first[0]], [src])
    # d2 (2 * 0.5 * 0 * 4) by the factors 0.5 and 0: that of the others.
    assert second.tolist()[:3] == [0.0, 8.0 if include_self else 4.0, 0.0]


def test_second_derivatives_of_a_complex_product_with_a_zero() -> None:
    x = lm.tensor([2 + 1j, 0j], stop_gradient=False, dtype="complex128")
    src = lm.tensor([0j, 1 - 1j, 3 + 2j], stop_gradient=False, dtype="complex128")
    index = lm.asarray([0, 0, 1])
    assert lm.autograd.gradgradcheck(lambda a, s: lm.scatter_reduce(a, 0, index, s, "prod"), (x, src))


def test_equal_extrema_share_the_gradient() -> None:
    x = lm.tensor([2.0, 1.0], stop_gradient=False)
    src = lm.tensor([2.0, 2.0, 0.0], stop_gradient=False)
    lm.scatter_reduce(x, 0, lm.asarray([0, 0, 1]), src, "amax").sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1 / 3, 1.0], rtol=1e-6)
    np.testing.assert_allclose(src.grad.numpy(), [1 / 3, 1 / 3, 0.0], rtol=1e-6)


@default_device.cpu_only("numpy's memory is the tensor's on the CPU alone")
def test_numbers_overwritten_before_backward() -> None:
    """Numbers that change behind the tape's back are an error, not a read of memory that is not there."""
    for pick in (lambda x, i: x[i], lambda x, i: lm.gather(x, 0, i), lambda x, i: lm.take(x, i)):
        memory = np.array([0, 1])
        x = lm.tensor([1.0, 2.0], stop_gradient=False)
        y = pick(x, lm.from_numpy(memory))
        memory[:] = 1 << 40
        with pytest.raises(RuntimeError, match="overwritten"):
            y.sum().backward()


BAD: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (lambda x, i: lm.gather(x, 1, i + 3), IndexError, r"\[gather\] index 3 is out of range for axis 1 of size 3"),
    (lambda x, i: lm.gather(x, 1, i - 1), IndexError, r"\[gather\] index -1 is out of range"),
    (lambda x, i: lm.gather(x, 2, i), IndexError, r"\[gather\] axis 2"),
    (lambda x, i: lm.gather(x, 1, i[0]), ValueError, r"\[gather\] x has 2 axes and index 1"),
    (lambda x, i: lm.gather(x, 1, lm.zeros([3, 1], dtype="int64")), ValueError, r"\[gather\] index of shape \[3, 1\]"),
    (lambda x, i: lm.gather(x, 1, x), TypeError, r"\[gather\] indices must be integers"),
    (lambda x, i: lm.scatter(x, 1, i, lm.ones([2, 2], dtype="int64")), TypeError, r"\[scatter\] src has dtype int64"),
    (lambda x, i: lm.scatter_add(x, 1, i, lm.ones([1, 1])), ValueError, r"\[scatter_add\] index .* larger than src"),
    (lambda x, i: lm.scatter_add(x, 1, i, lm.ones([2])), ValueError, r"\[scatter_add\] src has 1 axis"),
    (lambda x, i: lm.scatter_reduce(x, 1, i, x, "max"), ValueError, r"\[scatter_reduce\] reduce must be"),
    (lambda x, i: lm.index_add(x, 0, i, x), ValueError, r"\[index_add\] index must have one axis"),
    (lambda x, i: lm.index_add(x, 0, i[0], x[:1]), ValueError, r"\[index_add\] source must have shape \[2, 3\]"),
    (lambda x, i: lm.index_copy(x, 0, i[0] + 2, x), IndexError, r"\[index_copy\] index 2 is out of range"),
    (lambda x, i: lm.index_select(x, 0, i[0] - 5), IndexError, r"\[index_select\] index -5 is out of range"),
    (lambda x, i: lm.index_fill(x, 0, i[0], lm.ones([2])), ValueError, r"\[index_fill\] value must be a number"),
    (lambda x, i: lm.masked_select(x, i), TypeError, r"\[masked_select\] mask must be bool"),
    (lambda x, i: lm.masked_scatter(x, x > -9, lm.ones([3])), ValueError, r"the mask is true for 6 elements"),
    (lambda x, i: lm.masked_fill(i, i > 0, 1.5), TypeError, r"\[masked_fill\].*float32.*int64"),
    (lambda x, i: lm.take_along_axis(x, i[0]), ValueError, r"\[take_along_axis\]"),
    (lambda x, i: lm.index_put(x, [i[0], i[0], i[0]], x), IndexError, "too many indices: 3"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_errors(call: Callable[..., Any], error: type[Exception], message: str) -> None:
    x, i = lm.asarray(np.arange(6, dtype="float32").reshape(2, 3)), lm.zeros([2, 2], dtype="int64")
    with pytest.raises(error, match=message):
        call(x, i)


def test_meta() -> None:
    x, i = lm.zeros([3, 4], device="meta"), lm.zeros([2, 4], dtype="int64", device="meta")
    assert lm.gather(x, 0, i).shape == (2, 4)
    assert lm.scatter_add(x, 0, i, lm.zeros([2, 4], device="meta")).shape == (3, 4)
    assert x[i[0]].shape == (4, 4)
    assert lm.index_add(x, 0, i[0], lm.zeros([4, 4], device="meta")).shape == (3, 4)


def test_indices_are_checked_wherever_they_are(rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=(3, 5000)))
    x.stop_gradient = False
    for place in ((0, 0), (1, 2500), (2, 4999)):
        for bad in (-1, 5000, 1 << 62, -(1 << 63)):
            index = np.zeros((3, 5000), "int64")
            index[place] = bad
            with pytest.raises(IndexError, match=rf"\[gather\] index {bad} is out of range"):
                lm.gather(x, 1, lm.asarray(index))
    # Negative numbers count from the end where take_along_axis() reads them, for the gradient too.
    index = rng.integers(-5000, 5000, (3, 5000))
    y = lm.take_along_axis(x, lm.asarray(index), axis=1)
    np.testing.assert_array_equal(y.detach().numpy(), np.take_along_axis(x.detach().numpy(), index, 1))
    y.sum().backward()
    counts = np.stack([np.bincount(row % 5000, minlength=5000) for row in index])
    np.testing.assert_array_equal(x.grad.numpy(), counts)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize(("shape", "axis"), [((6, 5), 0), ((5, 6), 1), ((3, 4, 5), 1), ((2, 7, 3), 2), ((40, 130), 0)])
def test_an_index_of_one_line(dtype: str, shape: tuple[int, ...], axis: int, rng: np.random.Generator) -> None:
    x = draw(rng, shape, dtype)
    source = tuple(9 if i == axis else n for i, n in enumerate(shape))
    src = draw(rng, source, dtype)
    line = lm.asarray(rng.integers(0, shape[axis], 9))
    spread = lm.broadcast_to(lm.reshape(line, [9 if i == axis else 1 for i in range(len(shape))]), source)
    dense = lm.asarray(spread.numpy())
    a, b = lm.asarray(x), lm.asarray(src)
    ways: list[Callable[[lm.Tensor], lm.Tensor]] = [
        lambda i: lm.gather(a, axis, i),
        lambda i: lm.scatter(a, axis, i, b),
        lambda i: lm.scatter(lm.contiguous(a.mT).mT, axis, i, lm.contiguous(b.mT).mT),
        lambda i: lm.scatter_add(a, axis, i, b),
        lambda i: lm.scatter_reduce(a, axis, i, b, "prod"),
    ]
    if dtype not in COMPLEX:
        ways += [
            lambda i: lm.scatter_reduce(a, axis, i, b, "amax"),
            lambda i: lm.scatter_reduce(a, axis, i, b, "amin", include_self=False),
        ]
    for way in ways:
        np.testing.assert_array_equal(way(spread).numpy(), way(dense).numpy())
    bad = lm.broadcast_to(lm.asarray([[shape[axis]]]) if len(shape) == 2 else lm.asarray([[[-1]]]), source)
    for call in (lm.gather, lm.scatter, lm.scatter_add):
        with pytest.raises(IndexError, match="out of range"):
            call(a, axis, bad) if call is lm.gather else call(a, axis, bad, b)
    np.testing.assert_array_equal(a.numpy(), x)


def test_gradients_with_an_index_of_one_line(rng: np.random.Generator) -> None:
    x, src = rng.normal(size=(4, 3)), rng.normal(size=(6, 3))
    line = lm.asarray([0, 2, 2, 3, 0, 2])
    spread = lm.broadcast_to(lm.expand_dims(line, 1), [6, 3])
    for how in ("sum", "mean", "amax", "amin", "prod"):
        check_gradients(lambda a, b, how=how: lm.scatter_reduce(a, 0, spread, b, how), x, src)
        check_gradients(lambda a, b, how=how: lm.index_reduce(a, 0, line, b, how), x, src)
    check_gradients(lambda a: lm.gather(a, 0, spread), x)
    check_gradients(lambda a, b: lm.scatter(a, 0, spread, b), x, src)


@pytest.mark.parametrize("how", ["amax", "amin", "prod", "mean"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_index_reduce_does_not_depend_on_the_number_of_threads(how: str, dtype: str, rng: np.random.Generator) -> None:
    before = lm.get_num_threads()
    x = lm.asarray(rng.integers(1, 3, (30, 300))).astype(dtype)
    src = lm.asarray(rng.integers(1, 3, (500, 300))).astype(dtype)
    index = lm.asarray(rng.integers(0, 30, 500))
    results = []
    try:
        for threads in (1, 2, 3):
            lm.set_num_threads(threads)
            results.append(lm.index_reduce(x, 0, index, src, how).astype("float64").numpy().tobytes())
    finally:
        lm.set_num_threads(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_picked_rows(dtype: str, width: int, rng: np.random.Generator) -> None:
    for rows in (1, 20, 700):
        a = rng.integers(0, 100, (rows, width)).astype(dtype)
        numbers = rng.integers(0, rows, 300)
        order = rng.permutation(rows)
        x = lm.asarray(a)
        np.testing.assert_array_equal(lm.take(x, lm.asarray(numbers), axis=0).numpy(), a[numbers])
        np.testing.assert_array_equal(x[lm.asarray(order)].numpy(), a[order])
        np.testing.assert_array_equal(x[:, : width // 2][lm.asarray(order)].numpy(), a[order, : width // 2])
        np.testing.assert_array_equal(x[:, ::2][lm.asarray(order)].numpy(), a[order, ::2])
        written, expected = lm.zeros([rows, width], dtype=x.dtype), np.zeros_like(a)
        written[lm.asarray(order)] = x
        expected[order] = a
        np.testing.assert_array_equal(written.numpy(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 40)])
def test_scatter_of_numbers_that_repeat(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    index = lm.asarray(rng.integers(0, 5, shape))
    x, src = rng.normal(size=(*shape[:-1], 5)), rng.normal(size=shape)
    check_both(lambda x, src: lm.scatter(x, -1, index, src), [x, src], dtype)
    check_both(lambda src: lm.scatter(lm.zeros((*shape[:-1], 5), dtype=dtype), -1, index, src), [src], dtype)
    # Only the last of the values that are written to an element counts.
    last = np.zeros(shape)
    for at in np.ndindex(shape):
        last[at] = not (index.numpy()[at[:-1]][at[-1] + 1 :] == index.numpy()[at]).any()
    a = lm.tensor(src).astype(dtype)
    a.stop_gradient = False
    lm.scatter(lm.asarray(x).astype(dtype), -1, index, a).sum().backward()
    assert a.grad is not None
    np.testing.assert_array_equal(a.grad.astype("float64").numpy(), last)
