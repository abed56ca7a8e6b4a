"""Transport: what a worker sends arrives as it was, on memory that lives as long as it is looked at."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import lamella as lm
from lamella.data import _transport
from lamella.data._transport import Receiver, Sender

BIG = 1 << 16


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Record:
    x: Any


class Line:
    """Both ends of a socket in one process."""

    def __init__(self) -> None:
        ours, self.theirs = multiprocessing.Pipe()
        self.sender = Sender(self.theirs.send_bytes, self.theirs)
        self.receiver = Receiver(ours)

    def carry(self, value: Any) -> Any:
        """Sends and receives at once, as a socket holds no more than so much."""
        thread = threading.Thread(target=self.sender.send, args=("tag", value))
        thread.start()
        try:
            tag, carried = self.receiver.receive()
        finally:
            thread.join()
        assert tag == "tag"
        return carried

    def give_back(self) -> None:
        """Tells the sender which segments are free, as a loader does with its next task."""
        self.sender.release(self.receiver.released[:])
        self.receiver.released.clear()


def same(a: Any, b: Any) -> bool:
    if isinstance(a, lm.Tensor):
        wide = [x.astype("float32") if x.dtype == lm.bfloat16 else x for x in (a, b)]
        return type(b) is lm.Tensor and a.dtype == b.dtype and np.array_equal(wide[0].numpy(), wide[1].numpy())
    if isinstance(a, np.ndarray):
        return type(b) is np.ndarray and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return type(a) is type(b) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return same(vars(a), vars(b)) if dataclasses.is_dataclass(a) else bool(a == b)


@pytest.mark.parametrize("length", [0, 3, BIG])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"])
def test_tensors_and_arrays(dtype: str, length: int) -> None:
    line = Line()
    flat = lm.arange(2 * length).astype(dtype)
    for tensor in (flat, flat.reshape(2, length).T, flat[::2], flat[1:], lm.full([], 1, dtype=dtype)):
        value = [tensor, {"k": tensor}]
        if dtype != "bfloat16" and tensor.ndim:
            value += [tensor.numpy(), Pair(tensor.numpy()[::-1], 1)]
        carried = line.carry(value)
        assert same(value, carried)
        carried[0].fill_(1)  # the memory may be written


def test_structures_text_and_objects() -> None:
    line = Line()
    for value in (
        {"text": "x" * BIG, "bytes": b"y" * BIG, "none": None},
        [Pair(1, lm.ones([BIG])), Record(np.ones(5)), ("a", 2.5)],
        [np.array(["text", "more"]), np.array([{"object": 1}], object)],
        np.zeros(3, [("a", "f4"), ("b", "i8")]),
        range(5),
    ):
        assert same(value, line.carry(value))
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        line.sender.send("tag", [lm.ones(3), threading.Lock()])
    assert same([1], line.carry([1]))


def test_gradients_stay_behind() -> None:
    weight = lm.ones([BIG])
    weight.stop_gradient = False
    carried = Line().carry(weight * 2)
    assert carried.stop_gradient and carried[0].item() == 2


def test_a_segment_is_used_again_once_nothing_lives_on_it() -> None:
    line = Line()
    first = line.carry(lm.full([BIG], 1.0))
    part = first[5:7]
    view = part.numpy()
    second = line.carry(lm.full([BIG], 2.0))
    del first, part
    line.give_back()
    third = line.carry(lm.full([BIG], 3.0))
    assert view.tolist() == [1, 1] and second[0].item() == 2 and third[0].item() == 3
    assert len(line.sender._segments) == 3
    del view, second, third
    line.give_back()
    for number in range(10):
        batch = line.carry([np.full(BIG - number, number), "x"])
        assert batch[0][-1] == number
        del batch
        line.give_back()
    assert len(line.sender._segments) <= 4


def test_segments_that_are_held_are_few(monkeypatch) -> None:
    monkeypatch.setattr(_transport, "_HELD", 3)
    line = Line()
    batches = []
    for number in range(10):
        batches.append(line.carry(lm.full([BIG], float(number))))
        line.give_back()
    assert [batch[-1].item() for batch in batches] == list(range(10))
    assert len(line.sender._segments) <= 4


def test_no_file_and_no_descriptor_stays() -> None:
    before = (sorted(os.listdir("/dev/shm")), len(os.listdir("/proc/self/fd")))
    line = Line()
    batches = [line.carry(lm.full([BIG], 1.0)) for _ in range(5)]
    assert sorted(os.listdir("/dev/shm")) == before[0]
    del line
    assert [batch[0].item() for batch in batches] == [1] * 5
    del batches
    assert len(os.listdir("/proc/self/fd")) == before[1]


def test_what_is_allocated_for_a_batch_is_not_copied(monkeypatch) -> None:
    line = Line()
    copies: list[Any] = []
    monkeypatch.setattr(_transport, "_copy", lambda memory, parts, buffers: copies.extend(buffers))
    for number in range(1, 6):
        line.sender.begin()
        array = line.sender.allocate((number, BIG), "float32")
        array[...] = number
        tensor = lm.from_numpy(array)
        carried = line.carry({"x": tensor, "y": array[0], "n": number})
        assert np.array_equal(carried["x"].numpy(), array) and carried["y"].tolist() == [number] * BIG
        carried["x"].zero_()
        assert array[0, 0] == 0 == carried["y"][0] and not copies
        del carried, array, tensor
        line.give_back()


def test_allocations_that_do_not_fit_or_are_not_sent(rng) -> None:
    line = Line()
    for _ in range(30):
        line.sender.begin()
        shapes = [tuple(int(n) for n in rng.integers(1, 200, 2)) for _ in range(rng.integers(1, 6))]
        arrays = [line.sender.allocate(shape, "float64") for shape in shapes]
        for array in arrays:
            array[...] = rng.normal(size=array.shape)
        chosen = [array for array in arrays if rng.random() < 0.7] + [rng.normal(size=int(rng.integers(1, 30000)))]
        if rng.random() < 0.3:
            continue  # as where a sample raised
        expected = [array.copy() for array in chosen]
        del arrays
        assert same(expected, line.carry(chosen))
        line.give_back()
    assert len(line.sender._segments) < 12


def test_what_the_worker_keeps_is_not_written_over() -> None:
    line = Line()
    kept = []
    for number in range(5):
        line.sender.begin()
        array = line.sender.allocate((BIG,), "float32")
        array[...] = number
        kept.append(array)
        line.carry(array)
        line.give_back()
    assert [array[7] for array in kept] == list(range(5)) and len(line.sender._segments) == 5
    del kept[1:], array
    for _ in range(5):
        line.sender.begin()
        line.carry(line.sender.allocate((BIG,), "float32"))
        line.give_back()
    assert kept[0][7] == 0 and len(line.sender._segments) == 5
