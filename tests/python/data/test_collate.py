"""Collating and converting: structure, dtypes, values, and errors that say where."""

from __future__ import annotations

import collections
import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import lamella as lm
from lamella.data import default_collate, default_convert


class Point(NamedTuple):
    x: float
    y: np.ndarray


@dataclasses.dataclass
class Record:
    image: np.ndarray
    name: str


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 1, 3)])
def test_arrays_and_tensors_are_stacked(rng, dtype: str, shape: tuple[int, ...]) -> None:
    arrays = [np.asarray(rng.normal(size=shape)).astype(dtype) for _ in range(4)]
    for samples in (arrays, [lm.asarray(a) for a in arrays], [a[..., ::-1] if a.ndim else a for a in arrays]):
        batch = default_collate(samples)
        expected = np.stack([np.asarray(sample) for sample in samples])
        assert batch.dtype.name == dtype
        np.testing.assert_array_equal(batch.numpy(), expected)
    scalars = default_collate([np.dtype(dtype).type(1)] * 3)
    assert scalars.dtype.name == dtype and tuple(scalars.shape) == (3,)


def test_numbers_and_text() -> None:
    for numbers in ([1, 2], [1.5, 2.0], [True, False], [1j, 2.0]):
        batch = default_collate(numbers)
        assert batch.dtype == lm.tensor(numbers).dtype and batch.tolist() == numbers
    assert default_collate(["a", "b"]) == ["a", "b"] and default_collate([b"a", b"b"]) == [b"a", b"b"]


def test_structures_keep_their_types() -> None:
    ordered = collections.OrderedDict(b=1, a="x")
    samples = [
        (Point(float(i), np.full(2, i)), {"t": lm.full([2], i), "s": "ab"}, [i, (i,)], ordered, Record(np.ones(i), "n"))
        for i in (1, 1, 1)
    ]
    point, named, listed, mapping, record = default_collate(samples)
    assert isinstance(point, Point) and point.x.tolist() == [1, 1, 1] and tuple(point.y.shape) == (3, 2)
    assert named["s"] == ["ab"] * 3 and tuple(named["t"].shape) == (3, 2)
    assert isinstance(listed, list) and listed[0].tolist() == [1, 1, 1] and isinstance(listed[1], tuple)
    assert type(mapping) is collections.OrderedDict and list(mapping) == ["b", "a"] and mapping["a"] == ["x"] * 3
    assert isinstance(record, Record) and tuple(record.image.shape) == (3, 1) and record.name == ["n"] * 3
    assert samples[0][4].name == "n"


def test_keys_may_come_in_another_order() -> None:
    batch = default_collate([{"a": 1, "b": 2}, {"b": 4, "a": 3}])
    assert batch["a"].tolist() == [1, 3] and batch["b"].tolist() == [2, 4]


@pytest.mark.parametrize(
    ("samples", "error", "message"),
    [
        ([], ValueError, "there are no samples"),
        (5, TypeError, "expected a list of samples, got int"),
        ("ab", TypeError, "got str"),
        ([None], TypeError, "samples hold NoneType, which makes no batch"),
        ([{"a": [object()]}], TypeError, r"samples hold object at \['a'\]\[0\]"),
        ([np.ones(2), np.ones(3)], ValueError, r"sample 0 has the shape \[2\], sample 1 has \[3\]"),
        ([(np.ones(2),), (np.ones((1, 2)),)], ValueError, r"shape \[2\] at \[0\], sample 1 has \[1, 2\]"),
        ([(1, 2), (1,)], ValueError, "sample 0 has 2 items, sample 1 has 1"),
        ([{"a": 1}, {"b": 1}], ValueError, "sample 1 has no 'a'"),
        ([(1,), 1], TypeError, "sample 0 holds tuple, sample 1 holds int"),
        ([1, "a"], TypeError, "sample 0 holds int, sample 1 holds str"),
        ([np.ones(2), lm.ones(2)], TypeError, "sample 0 holds ndarray, sample 1 holds Tensor"),
        ([lm.ones(2), lm.ones(3)], ValueError, "sample 1 has"),
        ([np.array(["2020"], "M8[Y]")], TypeError, "datetime64"),
    ],
)
def test_what_makes_no_batch(samples, error, message) -> None:
    with pytest.raises(error, match=message):
        default_collate(samples)


def test_converting_keeps_what_is_no_array(rng) -> None:
    array = rng.normal(size=3)
    data = {"a": array, "p": Point(1.5, array), "s": "text", "n": None, "i": 3, "w": np.array(["x"])}
    made = default_convert(data)
    assert made["a"].numpy() is not array and np.shares_memory(made["a"].numpy(), array)
    assert isinstance(made["p"], Point) and made["p"].x == 1.5 and isinstance(made["p"].y, lm.Tensor)
    assert made["s"] == "text" and made["n"] is None and made["i"] == 3 and made["w"] is data["w"]
    assert default_convert(np.float32(2)).dtype == lm.float32
    assert default_convert(array[::-1]).tolist() == array[::-1].tolist()


@pytest.mark.parametrize("kind", ["plain", "frozen", "strided", "mixed", "swapped"])
def test_large_arrays_become_a_batch_of_their_own(kind):
    arrays = [np.full((300, 1000), number, np.float32) for number in range(4)]
    if kind == "frozen":
        arrays[1].flags.writeable = False
    elif kind == "strided":
        arrays = [np.asfortranarray(array) for array in arrays]
    elif kind == "mixed":
        arrays[2] = arrays[2].astype(np.float64)
    elif kind == "swapped":
        arrays = [array.astype(">f4") for array in arrays]
    batch = lm.data.default_collate(arrays)
    assert batch.dtype == (lm.float64 if kind == "mixed" else lm.float32) and batch.stop_gradient
    np.testing.assert_array_equal(batch.numpy(), np.stack(arrays))
    batch[0] = 7.0
    assert arrays[0].max() == 0
