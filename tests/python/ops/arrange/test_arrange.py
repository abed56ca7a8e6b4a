"""Operators that move whole parts of tensors about, against numpy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

DTYPES = ("bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "complex64", "complex128")


@pytest.fixture(params=DTYPES)
def x(request: pytest.FixtureRequest) -> np.ndarray:
    return np.arange(24).reshape(2, 3, 4).astype(request.param)


def agree(got: Any, expected: Any) -> None:
    if isinstance(expected, (list, tuple)):
        assert isinstance(got, (list, tuple)) and len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            agree(a, b)
        return
    assert got.shape == expected.shape and got.dtype.name == expected.dtype.name
    np.testing.assert_array_equal(got.numpy(), expected)


CALLS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda t: lm.moveaxis(t, 0, -1), lambda a: np.moveaxis(a, 0, -1)),
    (lambda t: lm.moveaxis(t, (0, -1), (1, 0)), lambda a: np.moveaxis(a, (0, -1), (1, 0))),
    (lambda t: lm.repeat(t, 2), lambda a: np.repeat(a, 2)),
    (lambda t: lm.repeat(t, 3, axis=1), lambda a: np.repeat(a, 3, axis=1)),
    (lambda t: lm.repeat(t, 0, axis=-1), lambda a: np.repeat(a, 0, axis=-1)),
    (lambda t: lm.repeat(t, 1, axis=0), lambda a: np.repeat(a, 1, axis=0)),
    (lambda t: lm.repeat(t, lm.asarray([2, 0, 1]), axis=1), lambda a: np.repeat(a, [2, 0, 1], axis=1)),
    (lambda t: lm.repeat(t, lm.asarray([2])), lambda a: np.repeat(a, [2])),
    (lambda t: lm.tile(t, (2,)), lambda a: np.tile(a, (2,))),
    (lambda t: lm.tile(t, (2, 1, 1, 3)), lambda a: np.tile(a, (2, 1, 1, 3))),
    (lambda t: lm.tile(t, ()), lambda a: np.tile(a, ())),
    (lambda t: lm.tile(t, (0, 2)), lambda a: np.tile(a, (0, 2))),
    (lambda t: t.tile(2, 2), lambda a: np.tile(a, (2, 2))),
    (lambda t: lm.unstack(t, axis=-1), lambda a: [a[..., i] for i in range(4)]),
    (lambda t: lm.unstack(t[:0]), lambda a: []),
    (lambda t: lm.chunk(t, 3, axis=2), lambda a: [a[..., :2], a[..., 2:]]),
    (lambda t: lm.chunk(t, 9, axis=1), lambda a: np.split(a, 3, axis=1)),
    (lambda t: lm.chunk(t[:0], 2), lambda a: [a[:0]]),
    (lambda t: lm.tensor_split(t, 3, axis=2), lambda a: np.array_split(a, 3, axis=2)),
    (lambda t: lm.tensor_split(t, [3], axis=2), lambda a: np.array_split(a, [3], axis=2)),
    (lambda t: lm.tensor_split(t, lm.asarray(3), axis=2), lambda a: np.array_split(a, 3, axis=2)),
    (lambda t: lm.tensor_split(t, lm.asarray([3]), axis=2), lambda a: np.array_split(a, [3], axis=2)),
    (lambda t: lm.split(t, np.array(2), axis=2), lambda a: np.split(a, 2, axis=2)),
    (lambda t: lm.split(t, [4], axis=2), lambda a: [a]),
    (lambda t: lm.split(t, [-1], axis=2), lambda a: [a]),
    (lambda t: lm.tensor_split(t, (1, -1, 9), axis=2), lambda a: [a[..., :1], a[..., 1:3], a[..., 3:], a[..., 4:]]),
    (lambda t: lm.narrow(t, 2, -3, 2), lambda a: a[..., 1:3]),
    (lambda t: lm.narrow(t, 0, 2, 0), lambda a: a[2:]),
    (lambda t: lm.select(t, 1, -1), lambda a: a[:, -1]),
    (lambda t: lm.hstack([t, t[:, :1]]), lambda a: np.hstack([a, a[:, :1]])),
    (lambda t: lm.hstack([t[0, 0], t[0, 0, 0]]), lambda a: np.hstack([a[0, 0], a[0, 0, 0]])),
    (lambda t: lm.vstack([t[0], t[0, 0]]), lambda a: np.vstack([a[0], a[0, 0]])),
    (lambda t: lm.atleast_1d(t[0, 0, 0]), lambda a: np.atleast_1d(a[0, 0, 0])),
    (lambda t: lm.atleast_2d(t[0, 0]), lambda a: np.atleast_2d(a[0, 0])),
    (lambda t: lm.atleast_3d(t[0, 0]), lambda a: np.atleast_3d(a[0, 0])),
    (lambda t: lm.atleast_3d(t[0]), lambda a: np.atleast_3d(a[0])),
    (lambda t: lm.roll(t, (1, -2), (0, 2)), lambda a: np.roll(a, (1, -2), (0, 2))),
    (lambda t: lm.roll(t, 1, (0, 1)), lambda a: np.roll(a, 1, (0, 1))),
    (lambda t: lm.roll(t, (1, 1), (2, 2)), lambda a: np.roll(a, (1, 1), (2, 2))),
    (lambda t: lm.roll(t, 5), lambda a: np.roll(a, 5)),
    (lambda t: lm.roll(t, 0, 1), lambda a: a),
    (lambda t: lm.expand_dims(t, (0, -1)), lambda a: np.expand_dims(a, (0, -1))),
    (lambda t: lm.concat([t, t[:1]], axis=None), lambda a: np.concatenate([a, a[:1]], axis=None)),
    (lambda t: lm.broadcast_arrays(t, t[:1, :, :1]), lambda a: np.broadcast_arrays(a, a[:1, :, :1])),
    (lambda t: lm.meshgrid(t[0, 0], t[0, :, 0]), lambda a: np.meshgrid(a[0, 0], a[0, :, 0])),
    (
        lambda t: lm.meshgrid(t[0, 0], t[0, :, 0], t[:, 0, 0], indexing="ij"),
        lambda a: np.meshgrid(a[0, 0], a[0, :, 0], a[:, 0, 0], indexing="ij"),
    ),
    (lambda t: lm.meshgrid(t[0, 0]), lambda a: np.meshgrid(a[0, 0])),
    (lambda t: lm.meshgrid(), lambda a: []),
    (lambda t: lm.reshape(t, (6, 4), copy=False), lambda a: a.reshape(6, 4)),
    (lambda t: lm.reshape(t.T, (6, 4), copy=True), lambda a: a.T.reshape(6, 4)),
]


@pytest.mark.parametrize(("ours", "theirs"), CALLS)
def test_as_in_numpy(ours: Callable[..., Any], theirs: Callable[..., Any], x: np.ndarray) -> None:
    agree(ours(lm.asarray(x)), theirs(x))
    flipped = np.ascontiguousarray(x.transpose(2, 0, 1))
    agree(ours(lm.permute_dims(lm.asarray(flipped), (1, 2, 0))), theirs(x))


@pytest.mark.parametrize(
    "copy",
    [
        lambda t: lm.repeat(t, 1, axis=0),
        lambda t: lm.repeat(t[:1], 3, axis=0),
        lambda t: lm.tile(t, 1),
        lambda t: lm.tile(t[:1], 3),
        lambda t: lm.roll(t, 0, 0),
        lambda t: lm.roll(t, 0),
        lambda t: lm.reshape(t, (4,), copy=True),
    ],
)
def test_copies_have_memory_of_their_own(copy: Callable[..., lm.Tensor]) -> None:
    t = lm.asarray([1.0, 2.0, 3.0, 4.0])
    copy(t).fill_(0)
    assert t.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_lists_and_tuples() -> None:
    """What the Python array API standard (2024.12) has as a list is one, other parts are a tuple."""
    x = lm.arange(4)
    for parts in (lm.broadcast_arrays(x, x), lm.broadcast_arrays(), lm.meshgrid(x, x), lm.meshgrid()):
        assert type(parts) is list
    for part in (lm.unstack(x), lm.split(x, 2), lm.nonzero(x)):
        assert type(part) is tuple


def test_broadcast_shapes() -> None:
    assert lm.broadcast_shapes() == ()
    assert lm.broadcast_shapes((2, 1), 3, (1, 1, 1)) == (1, 2, 3)
    assert lm.broadcast_shapes((0, 1), [5]) == (0, 5)
    with pytest.raises(ValueError, match=r"\[broadcast_shapes\] shapes \[2\] and \[3\] do not broadcast"):
        lm.broadcast_shapes((2,), (3,))
    with pytest.raises(ValueError, match="negative"):
        lm.broadcast_shapes((-1,))
    with pytest.raises(TypeError, match=r"\[broadcast_shapes\] shapes"):
        lm.broadcast_shapes("a")


HUGE = 1 << 62
BAD: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (lambda t: lm.moveaxis(t, 0, 2), IndexError, r"\[moveaxis\] axis 2"),
    (lambda t: lm.moveaxis(t, (0, 0), (0, 1)), ValueError, r"\[moveaxis\] an axis is named twice"),
    (lambda t: lm.moveaxis(t, (0, 1), 1), ValueError, r"\[moveaxis\] source .* of the same length"),
    (lambda t: lm.repeat(t, -1), ValueError, r"\[repeat\] repeats must not be negative"),
    (lambda t: lm.repeat(t, 1.5), TypeError, r"\[repeat\] repeats must be an integer"),
    (lambda t: lm.repeat(t, lm.asarray([1, -1]), axis=0), ValueError, r"\[repeat\] repeats must not be negative"),
    (lambda t: lm.repeat(t, lm.asarray([1, 2, 3]), axis=0), ValueError, r"\[repeat\] repeats has 3 numbers"),
    (lambda t: lm.repeat(t, HUGE), ValueError, r"\[repeat\] the result has too many elements"),
    (lambda t: lm.repeat(t, lm.asarray([HUGE, HUGE]), axis=0), ValueError, "too many elements"),
    (lambda t: lm.tile(t, (-1,)), ValueError, r"\[tile\] repetitions must not be negative"),
    (lambda t: lm.tile(t, (HUGE, HUGE)), ValueError, r"\[tile\] the result has too many|63 bits"),
    (lambda t: lm.unstack(t, axis=2), IndexError, r"\[unstack\] axis 2"),
    (lambda t: lm.chunk(t, 0), ValueError, r"\[chunk\] chunks must be at least 1"),
    (lambda t: lm.tensor_split(t, 0), ValueError, r"\[tensor_split\] needs at least 1 part"),
    (lambda t: lm.tensor_split(t, 2**40), ValueError, r"\[tensor_split\] makes at most 16777216 parts, got 1099"),
    (lambda t: lm.split(t[..., :0], 2**32 + 1, axis=-1), ValueError, r"\[split\] makes at most 16777216 parts"),
    (
        lambda t: lm.unstack(lm.zeros((2**33, 0))),
        ValueError,
        r"\[unstack\] makes at most 16777216 parts, got 8589934592",
    ),
    (lambda t: lm.chunk(lm.zeros((0, 2**33)), 2**33, 1), ValueError, r"\[chunk\] makes at most 16777216 parts"),
    (lambda t: lm.hsplit(t[..., :0], 2**62), ValueError, r"\[hsplit\] makes at most 16777216 parts"),
    (lambda t: lm.narrow(t, 0, 1, 2), IndexError, r"\[narrow\] 2 elements from 1"),
    (lambda t: lm.narrow(t, 0, 3, 0), IndexError, r"\[narrow\] start 3"),
    (lambda t: lm.narrow(t, 0, 0, -1), ValueError, r"\[narrow\] length"),
    (lambda t: lm.select(t, 0, 2), IndexError, "index 2 is out of range"),
    (lambda t: lm.hstack([]), ValueError, r"\[hstack\] needs at least one"),
    (lambda t: lm.roll(t, (1, 2)), ValueError, r"\[roll\] several shifts"),
    (lambda t: lm.roll(t, (1, 2), (0, 1, 1)), ValueError, r"\[roll\] shift and axis must have the same length"),
    (lambda t: lm.meshgrid(t), ValueError, r"\[meshgrid\] the tensors must have one axis"),
    (lambda t: lm.meshgrid(t[0], t[0].astype("int32")), ValueError, r"\[meshgrid\] the tensors must have one dtype"),
    (lambda t: lm.meshgrid(t[0], indexing="yx"), ValueError, r"\[meshgrid\] indexing"),
    (lambda t: lm.meshgrid(t[0], index="ij"), TypeError, r"\[meshgrid\] got an unexpected argument"),
    (lambda t: lm.broadcast_arrays(t, 1), TypeError, r"\[broadcast_arrays\] arrays: item 1"),
    (lambda t: lm.broadcast_arrays(arrays=[t]), TypeError, "positional only"),
    (lambda t: lm.broadcast_arrays(t, lm.ones([5])), ValueError, r"\[broadcast_arrays\].*do not broadcast"),
    (lambda t: lm.reshape(t.T, (6,), copy=False), ValueError, r"\[reshape\] copy=False"),
    (lambda t: lm.to_device(t, "cpu", stream=3), NotImplementedError, r"\[to_device\] only the current stream"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_errors(call: Callable[..., Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(lm.ones([2, 3]))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
def test_transposed_copies_of_all_widths(dtype: str, rng: np.random.Generator) -> None:
    for m, n in itertools.product((1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 66, 130), repeat=2):
        whole = rng.integers(0, 100, (m + 1, n + 2)).astype(dtype)
        for part in (whole, whole[1:, 1:-1]):
            np.testing.assert_array_equal(lm.asarray(part).mT.contiguous().numpy(), part.T)
        out = lm.zeros([n + 1, m], dtype=dtype)
        out[:n] = lm.asarray(whole[1:, 2:]).mT
        np.testing.assert_array_equal(out.numpy(), np.pad(whole[1:, 2:].T, ((0, 1), (0, 0))))
    for shape in ((3, 70_000), (70_000, 5), (4, 3, 40_000), (2, 40_000, 9)):  # threads share the long axis
        x = rng.integers(0, 100, shape).astype(dtype)
        np.testing.assert_array_equal(lm.asarray(x).mT.contiguous().numpy(), np.swapaxes(x, -1, -2))
        np.testing.assert_array_equal(lm.asarray(x).mT.astype("float32").numpy(), np.swapaxes(x, -1, -2).real)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_narrow_rows(dtype: str, width: int, rng: np.random.Generator) -> None:
    for rows in (1, 5, 300):
        a = rng.integers(0, 100, (rows, width)).astype(dtype)
        b = rng.integers(0, 100, (rows, 3)).astype(dtype)
        x, y = lm.asarray(a), lm.asarray(b)
        agree(lm.concat([x, y, x], axis=1), np.concatenate([a, b, a], axis=1))
        agree(lm.stack([x, x], axis=1), np.stack([a, a], axis=1))
        agree(lm.stack([x, x, x], axis=2), np.stack([a, a, a], axis=2))
        agree(lm.repeat(x, 3, axis=1), np.repeat(a, 3, axis=1))
        agree(lm.tile(x, (1, 2)), np.tile(a, (1, 2)))
        agree(lm.roll(x, 2, axis=1), np.roll(a, 2, axis=1))
        for k in (-2, 0, 3):
            agree(lm.tril(x, k=k), np.tril(a, k))
            agree(lm.triu(x, k=k), np.triu(a, k))
        for part in (slice(1, None), slice(None, None, 2), slice(None, None, -1), slice(None, None, 3)):
            agree(lm.clone(x[:, part]), np.array(a[:, part]))
            target, expected = lm.tensor(a), a.copy()
            target[:, part] = 7
            expected[:, part] = 7
            agree(target, expected)
            target[:, part] = x[:, part]
            expected[:, part] = a[:, part]
            agree(target, expected)
        agree(lm.clone(lm.asarray(np.ascontiguousarray(a.T)).T), a)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_joined_narrow_rows(dtype: str, rng: np.random.Generator) -> None:
    for rows, widths in ((20_000, (1, 2)), (9_000, (1, 0, 7)), (1_000, (3, 40, 1)), (50, (100, 3)), (3_000, (1,) * 9)):
        parts = [rng.integers(0, 100, (rows, 2 * width)).astype(dtype) for width in widths]
        whole = [lm.asarray(a) for a in parts]
        agree(lm.concat(whole, axis=1), np.concatenate(parts, axis=1))
        # Rows that lie apart, elements that do, rows along two axes, and one row that is repeated.
        for part in (slice(1, None), slice(None, None, 2)):
            agree(lm.concat([x[:, part] for x in whole], axis=1), np.concatenate([a[:, part] for a in parts], axis=1))
        deep = [a.reshape(10, rows // 10, -1, 2) for a in parts]
        for kept in (slice(None), slice(1, None)):
            cut = [a[:, kept] for a in deep]
            tensors = [lm.asarray(a)[:, kept] for a in deep]
            agree(lm.concat(tensors, axis=2), np.concatenate(cut, axis=2))
        one = lm.broadcast_to(whole[0][:1], [rows, 2 * widths[0]])
        agree(lm.concat([one, *whole], axis=1), np.concatenate([parts[0][:1].repeat(rows, 0), *parts], axis=1))
    a = rng.integers(0, 100, (60_000, 3)).astype(dtype)
    x = lm.asarray(a)
    agree(lm.clone(x[:, 1]), a[:, 1].copy())
    agree(lm.stack([x[:, 0], x[:, 2], x[:, 1]], axis=1), a[:, [0, 2, 1]])
    agree(lm.stack([x[:, 0], x[:, 2]], axis=1), a[:, ::2].copy())


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 10, 17, 64, 100])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padded_narrow_rows(mode: str, dtype: str, width: int, rng: np.random.Generator) -> None:
    names = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    for shape in ((width,), (1, width), (900, width), (2, 70, width), (3, 4, 5, width)):
        a = rng.integers(0, 100, shape).astype(dtype)
        for sizes in ((1, 1), (0, 1), (2, 0), (-1, 1), (1, 0, 2, 1), (0, 0, 1, 2), (1, 2, -1, 1, 1, 0)):
            pads = np.zeros((max(a.ndim, len(sizes) // 2), 2), int)
            for k in range(len(sizes) // 2):
                pads[-1 - k] = sizes[2 * k : 2 * k + 2]
            if len(pads) > a.ndim:
                continue
            cut = a[tuple(slice(max(0, -p), n - max(0, -q)) for n, (p, q) in zip(a.shape, pads, strict=True))]
            added = np.maximum(pads, 0)
            if (added.max(axis=1) > np.array(cut.shape) - (mode == "reflect")).any():
                continue
            extra = {"constant_values": 3} if mode == "constant" else {}
            value = {"value": 3} if mode == "constant" else {}
            agree(lm.pad(lm.asarray(a), sizes, mode=mode, **value), np.pad(cut, added, names[mode], **extra))
