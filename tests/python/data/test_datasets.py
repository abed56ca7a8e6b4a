"""Datasets: samples, whole batches and what is refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.data import (
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)

X = np.arange(24, dtype=np.float32).reshape(8, 3)
Y = np.arange(8)


class Squares(Dataset[int]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        return index * index


class Stream(IterableDataset[int]):
    def __init__(self, first: int, last: int) -> None:
        self.range = range(first, last)

    def __iter__(self):
        return iter(self.range)

    def __len__(self) -> int:
        return len(self.range)


def plain(value: Any) -> Any:
    """Tensors and arrays as lists, in the same containers."""
    if isinstance(value, (lm.Tensor, np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    return value


def one_by_one(dataset: Any) -> Any:
    """The same samples in a dataset that knows none but its samples."""

    class Plain(Dataset[Any]):
        def __len__(self) -> int:
            return len(dataset)

        def __getitem__(self, index: int) -> Any:
            return dataset[index]

    return Plain()


DATASETS = {
    "arrays": lambda: TensorDataset(X, Y),
    "tensors": lambda: TensorDataset(lm.asarray(X), lm.asarray(Y)),
    "half": lambda: TensorDataset(lm.asarray(X).astype("bfloat16")),
    "foreign order": lambda: TensorDataset(X.astype(">f4"), Y.astype(">i8")),
    "read-only": lambda: TensorDataset(np.broadcast_to(X[:1], X.shape)),
    "text": lambda: TensorDataset(np.array(list("abcdefgh"))),
    "an array": lambda: X,
    "a tensor": lambda: lm.asarray(X),
    "a strided array": lambda: np.asfortranarray(X)[::-1],
    "subset": lambda: Subset(TensorDataset(X, Y), [5, 1, 1, 7]),
    "subset of an array": lambda: Subset(X, np.array([5, 1, 1, 7])),
    "subset by a range": lambda: Subset(X, range(6, 0, -2)),
    "stack": lambda: StackDataset(X, TensorDataset(Y)),
    "named stack": lambda: StackDataset(x=X, y=Y),
    "stack of others": lambda: StackDataset(X, Squares()),
    "concatenation": lambda: ConcatDataset([X, X[:3]]),
    "sum": lambda: Squares() + Squares(),
}


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("batch_size", [1, 3, 20])
def test_a_whole_batch_is_that_of_its_samples(name: str, shuffle: bool, batch_size: int) -> None:
    dataset = DATASETS[name]()
    batches = []
    for each in (dataset, one_by_one(dataset)):
        loader = DataLoader(each, batch_size, shuffle=shuffle, generator=lm.Generator("cpu", 3))
        batches.append([(plain(batch), str(getattr(batch, "dtype", ""))) for batch in loader])
    assert batches[0] == batches[1]
    assert len(batches[0]) == -(-len(dataset) // batch_size)


def test_a_batch_is_a_copy() -> None:
    for source in (X.copy(), lm.asarray(X)):
        for shuffle in (False, True):
            for batch in DataLoader(source, 4, shuffle=shuffle):
                batch.zero_()
        assert source.tolist() == X.tolist()


def test_a_subclass_that_replaces_getitem_is_asked_for_samples() -> None:
    class Doubled(TensorDataset):
        def __getitem__(self, index: int) -> Any:
            return 2 * super().__getitem__(index)[0]

    class Shifted(Subset):
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index) + 1

    assert next(iter(DataLoader(Doubled(Y), 3))).tolist() == [0, 2, 4]
    assert next(iter(DataLoader(Shifted(Squares(), [3, 2]), 2))).tolist() == [10, 5]


def test_getitems_gets_all_numbers_at_once() -> None:
    calls = []

    class Many(Squares):
        def __getitems__(self, numbers: list[int]) -> list[int]:
            calls.append(numbers)
            return [number * number for number in numbers]

    assert [batch.tolist() for batch in DataLoader(Many(), 5)] == [[0, 1, 4, 9, 16], [25, 36, 49]]
    assert plain(next(iter(DataLoader(StackDataset(Subset(Many(), [2, 1]), X[:2]), 2)))[0]) == [4, 1]
    assert calls == [[0, 1, 2, 3, 4], [5, 6, 7], [2, 1]]
    joined = DataLoader(ConcatDataset([Many(), [100, 200], Many()]), batch_sampler=[[17, 9, 3, 10, 8, 1]])
    assert [batch.tolist() for batch in joined] == [[49, 200, 9, 0, 100, 1]] and calls[3:] == [[7, 0], [3, 1]]

    class Short(Squares):
        def __getitems__(self, numbers: list[int]) -> list[int]:
            return numbers[1:]

    with pytest.raises(ValueError, match=r"Short.__getitems__ gave 4 samples for 5"):
        next(iter(DataLoader(Short(), 5)))
    with pytest.raises(ValueError, match=r"Subset.__getitems__ gave 4 samples for 5"):
        next(iter(DataLoader(Subset(Short(), range(5)), 5)))


def test_a_collate_of_ones_own_gets_what_getitems_gave() -> None:
    class Columns(Squares):
        def __getitems__(self, numbers: list[int]) -> tuple[Any, Any]:
            return X[numbers], Y[numbers]

    for dataset in (Columns(), Subset(Columns(), range(8))):
        inputs, labels = next(iter(DataLoader(dataset, 3, collate_fn=lambda given: given)))
        assert type(inputs) is type(X) and len(inputs) == len(labels) == 3


def test_a_memory_map_is_read_where_it_is_asked_for(tmp_path) -> None:
    X.tofile(tmp_path / "x.bin")
    mapped = np.memmap(tmp_path / "x.bin", np.float32, "r", shape=X.shape)
    for workers in (0, 2):
        batches = list(DataLoader(TensorDataset(mapped), 4, num_workers=workers))
        assert [batch.tolist() for (batch,) in batches] == [X[:4].tolist(), X[4:].tolist()]


def test_concatenation_counts_from_both_ends() -> None:
    dataset = ConcatDataset([[], [1, 2], [], [3], []])
    assert len(dataset) == 3 and [dataset[i] for i in range(-3, 3)] == [1, 2, 3, 1, 2, 3]
    for index in (-4, 3):
        with pytest.raises(IndexError, match=rf"index {index} is out of range for 3 samples"):
            dataset[index]


def test_streams_in_a_row() -> None:
    chain = Stream(0, 3) + Stream(5, 7)
    assert isinstance(chain, ChainDataset) and len(chain) == 5 and list(chain) == [0, 1, 2, 5, 6] == list(chain)


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [([3, 5], [3, 5]), ([0.5, 0.5], [4, 4]), ([0.34, 0.33, 0.33], [3, 3, 2]), ([0.1] * 10, [1] * 8 + [0] * 2)],
)
def test_random_split_deals_every_sample_once(lengths, sizes) -> None:
    parts = random_split(Squares(), lengths, lm.Generator("cpu", 1))
    assert [len(part) for part in parts] == sizes
    assert sorted(part[i] for part in parts for i in range(len(part))) == [i * i for i in range(8)]
    again = random_split(Squares(), lengths, lm.Generator("cpu", 1))
    assert [list(part.indices) for part in parts] == [list(part.indices) for part in again]


@pytest.mark.parametrize("name", DATASETS)
def test_copies_and_pickles_have_the_same_samples(name: str) -> None:
    dataset = DATASETS[name]()
    for made in (copy.copy(dataset), copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert [plain(made[i]) for i in range(len(dataset))] == [plain(dataset[i]) for i in range(len(dataset))]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: TensorDataset(), ValueError, r"\[TensorDataset\] expected at least one"),
        (lambda: TensorDataset([1]), TypeError, r"tensors\[0\] is list"),
        (lambda: TensorDataset(X, np.array(1)), ValueError, r"tensors\[1\] has no axes"),
        (lambda: TensorDataset(X, Y[1:]), ValueError, r"tensors\[0\] has 8 rows, tensors\[1\] has 7"),
        (lambda: ConcatDataset([]), ValueError, r"\[ConcatDataset\] expected at least one"),
        (lambda: ConcatDataset([Stream(0, 1)]), TypeError, r"datasets\[0\] is a stream: use ChainDataset"),
        (lambda: StackDataset(), ValueError, r"\[StackDataset\] expected datasets"),
        (lambda: StackDataset(X, y=Y), ValueError, "all with names or all without"),
        (lambda: StackDataset(x=X, y=Y[1:]), ValueError, "differ in length: x: 8, y: 7"),
        (lambda: random_split(X, [3, 4]), ValueError, "add up to 7, the dataset has 8"),
        (lambda: random_split(X, [0.3, 0.4]), ValueError, r"fractions add up to 1, these to 0\.7"),
        (lambda: random_split(X, [9, -1]), ValueError, "at least 0"),
        (lambda: Dataset()[0], NotImplementedError, r"\[Dataset\] the dataset defines no __getitem__"),
        (lambda: iter(IterableDataset()), NotImplementedError, "defines no __iter__"),
    ],
)
def test_what_is_refused(make, error, message) -> None:
    with pytest.raises(error, match=message):
        make()


def test_parts_give_ints_and_lists() -> None:
    kinds: list[type] = []

    class Asked(lm.data.Dataset[Any]):
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: Any) -> Any:
            kinds.append(type(index))
            return index

    part = lm.data.random_split(Asked(), [4, 2])[0]
    assert len({part[i] for i in range(4)}) == 4 and set(kinds) == {int}
    rows = lm.arange(10)
    nested = Subset(Subset(rows, list(range(5, 10))), [4, 0])
    assert nested[[0, 1]].tolist() == [9, 5] and int(nested[1]) == 5
