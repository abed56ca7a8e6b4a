"""DataLoader: which batches come, in which order, for any number of workers, and from the middle of an epoch."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
    WeightedRandomSampler,
    get_worker_info,
)

X = np.arange(46, dtype=np.float32).reshape(23, 2)


class Plain(Dataset[Any]):
    """Samples one by one, of several kinds."""

    def __len__(self) -> int:
        return 23

    def __getitem__(self, index: int) -> Any:
        return {"x": X[index], "i": index, "name": f"n{index}", "t": lm.full([3], index, dtype="bfloat16")}


class Noisy(Plain):
    """Samples with random numbers of all three kinds."""

    def __getitem__(self, index: int) -> Any:
        return index, random.random(), np.random.rand(), lm.rand(2)


class Stream(IterableDataset[Any]):
    """Numbers up to a length, dealt out among the workers."""

    def __init__(self, length: int, sized: bool = False) -> None:
        self.length = length
        self.sized = sized

    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for number in range(first, self.length, step):
            yield number, np.random.rand()


def plain(value: Any) -> Any:
    if isinstance(value, lm.Tensor):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def epochs(loader: Any, count: int = 2) -> list[Any]:
    return [[plain(batch) for batch in loader] for _ in range(count)]


def generator() -> lm.random.Generator:
    return lm.Generator("cpu", 11)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("dataset", [Plain(), TensorDataset(X), X], ids=["plain", "rows", "array"])
def test_workers_change_nothing(workers: int, persistent: bool, dataset: Any) -> None:
    options: dict[str, Any] = {"batch_size": 4, "shuffle": True}
    expected = epochs(DataLoader(dataset, generator=generator(), **options), 3)
    assert expected[0] != expected[1]
    loader = DataLoader(
        dataset, generator=generator(), num_workers=workers, persistent_workers=persistent, prefetch_factor=3, **options
    )
    assert epochs(loader, 3) == expected


def test_random_numbers_do_not_depend_on_the_number_of_workers() -> None:
    runs = [
        epochs(DataLoader(Noisy(), 4, generator=generator(), num_workers=workers, persistent_workers=workers == 3))
        for workers in (1, 2, 3)
    ]
    assert runs[0] == runs[1] == runs[2] and runs[0][0] != runs[0][1]
    batches = runs[0][0]
    assert len({batch[1][1][0] for batch in batches}) == len(batches)


def test_the_default_generators_are_drawn_from_in_the_same_way() -> None:
    after = []
    for workers in (0, 2):
        lm.seed(3)
        batches = epochs(DataLoader(X, 4, shuffle=True, num_workers=workers))
        after.append((batches, lm.rand(2).tolist()))
    assert after[0] == after[1]


OPTIONS = {
    "order": {"batch_size": 4},
    "shuffled": {"batch_size": 4, "shuffle": True},
    "last dropped": {"batch_size": 4, "shuffle": True, "drop_last": True},
    "a sampler": {"batch_size": 4, "sampler": lambda g: RandomSampler(X, True, 30, generator=g)},
    "weights": {"batch_size": 4, "sampler": lambda g: WeightedRandomSampler(range(23), 19, generator=g)},
    "batches": {"batch_sampler": lambda g: BatchSampler(RandomSampler(X, generator=g), 5, True)},
    "lists": {"batch_sampler": lambda g: [[1, 2], [5], [7, 7, 3], [2], [1]]},
    "numbers": {"batch_size": 3, "sampler": lambda g: [5, 5, 1, 2, 22, 7, 8]},
    "single": {"batch_size": None, "shuffle": True},
}


def loader_of(name: str, dataset: Any, workers: int, **options: Any) -> DataLoader:
    made = generator()
    given = {key: value(made) if callable(value) else value for key, value in OPTIONS[name].items()}
    return DataLoader(dataset, **given, num_workers=workers, generator=made, **options)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", OPTIONS)
def test_an_epoch_goes_on_where_its_state_was(name: str, workers: int) -> None:
    dataset = Noisy() if workers else Plain()
    whole = loader_of(name, dataset, workers)
    expected = epochs(whole)
    assert len(whole) == len(expected[0])
    for stop in (1, len(expected[0])) if workers else (0, 1, len(expected[0]) - 1, len(expected[0])):
        loader = loader_of(name, dataset, workers)
        iterator = iter(loader)
        given = [plain(batch) for batch in itertools.islice(iterator, stop)]
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        other = loader_of(name, dataset, workers)
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert [given + epochs(other, 1)[0], epochs(other, 1)[0]] == expected
        copied = copy.deepcopy(loader)
        assert [given + epochs(copied, 1)[0], epochs(copied, 1)[0]] == expected


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("batch_size", [None, 1, 4])
@pytest.mark.parametrize("length", [0, 2, 11])
def test_streams(workers: int, batch_size: int | None, length: int) -> None:
    def loader() -> DataLoader:
        return DataLoader(Stream(length), batch_size, num_workers=workers, generator=generator())

    np.random.seed(5)
    expected = epochs(loader(), 1)[0]
    numbers = [number for i, _ in expected for number in (i[1] if batch_size else [i])]
    assert sorted(numbers) == list(range(length))
    for stop in range(0, len(expected) + 1, 4 if workers else 1):
        first = loader()
        iterator = iter(first)
        np.random.seed(5)
        given = [plain(batch) for batch in itertools.islice(iterator, stop)]
        state = first.state_dict()
        second = loader()
        second.load_state_dict(state)
        np.random.seed(5)
        assert given + epochs(second, 1)[0] == expected
    if workers:
        with pytest.raises(ValueError, match=f"the state is of {workers} workers, the loader has 0"):
            DataLoader(Stream(3), generator=generator()).load_state_dict(first.state_dict())


class Resumable(IterableDataset[Any]):
    """Numbers up to a length that differs between workers, which knows its place, and how often it was asked."""

    def __init__(self) -> None:
        self.place = 0
        self.fetched = 0

    def __iter__(self):
        info = get_worker_info()
        number = info.id if info else 0
        while self.place < 5 + 4 * number:
            self.place += 1
            self.fetched += 1
            yield number, self.place, self.fetched, random.random()
        self.place = 0

    def state_dict(self) -> dict[str, int]:
        return {"place": self.place}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.place = state["place"]


@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (1, True), (3, False), (3, True)])
@pytest.mark.parametrize("batch_size", [None, 2])
def test_streams_that_know_their_place(workers: int, persistent: bool, batch_size: int | None) -> None:
    def loader() -> DataLoader:
        return DataLoader(
            Resumable(), batch_size, num_workers=workers, generator=generator(), persistent_workers=persistent
        )

    def without_count(batches: list[Any]) -> list[Any]:
        return [[*batch[:2], *(batch[3:] if workers else [])] for batch in batches]

    expected = [without_count(epoch) for epoch in epochs(loader())]
    for stop in range(0, len(expected[0]) + 1, 4 if workers == 3 else 1):
        first, second = loader(), loader()
        iterator = iter(first)
        given = without_count([plain(batch) for batch in itertools.islice(iterator, stop)])
        second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
        rest = [plain(batch) for batch in second]
        assert given + without_count(rest) == expected[0]
        if rest and workers < 2:
            count = rest[0][2] if batch_size is None else rest[0][2][1][0]
            assert count == 1  # it was not gone through again
        assert without_count(epochs(second, 1)[0]) == expected[1]
    with pytest.raises(ValueError, match="of an iterable dataset with a state of its own, unlike this one"):
        DataLoader(Stream(3), num_workers=workers, generator=generator()).load_state_dict(
            {**first.state_dict(), "stream": {}}
        )


def test_streams_that_end_early_leave_their_turn() -> None:
    class Uneven(IterableDataset[int]):
        def __iter__(self):
            number = get_worker_info().id
            return iter([number] * (1 + 3 * (number == 1)))

    loader = DataLoader(Uneven(), None, num_workers=3)
    assert list(loader) == [0, 1, 2, 1, 1, 1]
    short = DataLoader(Uneven(), 2, num_workers=3, drop_last=True)
    assert [batch.tolist() for batch in short] == [[1, 1], [1, 1]]


def test_lengths() -> None:
    class Sized(Stream):
        def __len__(self) -> int:
            return self.length

    assert [len(DataLoader(Sized(10), 4, drop_last=drop)) for drop in (False, True)] == [3, 2]
    assert len(DataLoader(Sized(10), None)) == 10 == len(DataLoader(range(10), None))
    with pytest.raises(TypeError, match="Stream does not know its length"):
        len(DataLoader(Stream(10)))


def test_sources_without_ceremony() -> None:
    assert [batch.tolist() for batch in DataLoader([1.5, 2.5, 3.5], 2)] == [[1.5, 2.5], [3.5]]
    batch = next(iter(DataLoader({"x": X, "y": lm.arange(23)}, 2)))
    assert batch["x"].tolist() == X[:2].tolist() and batch["y"].tolist() == [0, 1]
    assert [sample.tolist() for sample in DataLoader(X[:2], None)] == X[:2].tolist()
    assert [batch for batch in DataLoader(Stream(3), 2, collate_fn=lambda samples: len(samples))] == [2, 1]
    assert list(DataLoader(range(5), 2, collate_fn=list, num_workers=1)) == [[0, 1], [2, 3], [4]]
    assert [batch.tolist() for batch in DataLoader((i for i in range(3)), 2)] == [[0, 1], [2]]


def test_a_copy_of_a_loader_has_its_own_position() -> None:
    loader = DataLoader(X, 4, shuffle=True, generator=generator())
    iterator = iter(loader)
    next(iterator)
    copied = pickle.loads(pickle.dumps(loader))
    rest = [plain(batch) for batch in iterator]
    assert [plain(batch) for batch in copied] == rest
    assert epochs(copied) == epochs(loader)


def test_a_dropped_iterator_ends_its_epoch() -> None:
    loader = DataLoader(X, 4, generator=generator())
    for _ in loader:
        break
    assert loader.state_dict()["position"] is None
    iterator = iter(loader)
    next(iterator)
    assert loader.state_dict()["position"] == 1
    list(iterator)
    assert loader.state_dict()["position"] is None and list(iterator) == []


def test_errors_do_not_end_an_epoch() -> None:
    class Holes(Plain):
        def __getitem__(self, index: int) -> int:
            if index in (2, 5):
                raise LookupError(f"no {index}")
            return index

    for workers in (0, 2):
        iterator = iter(DataLoader(Holes(), 2, num_workers=workers))
        found: list[Any] = []
        while True:
            try:
                found.append(next(iterator).tolist())
            except LookupError as error:
                found.append(str(error))
            except StopIteration:
                break
        assert found[:4] == [[0, 1], "no 2", "no 5", [6, 7]] and len(found) == 12


@pytest.mark.parametrize("workers", [0, 2])
def test_a_datasets_stop_iteration_is_no_end(workers: int) -> None:
    class Stops(Plain):
        def __getitem__(self, index: int) -> int:
            raise StopIteration

    with pytest.raises(RuntimeError, match="the dataset raised StopIteration"):
        list(DataLoader(Stops(), num_workers=workers))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"batch_size": 0}, ValueError, "batch_size is a positive int, not 0"),
        ({"batch_size": "x"}, TypeError, "batch_size is an int, not 'x'"),
        ({"batch_size": 2.0}, TypeError, "batch_size is an int, not 2.0"),
        ({"num_workers": -1}, ValueError, "num_workers is an int of at least 0, not -1"),
        ({"num_workers": True}, ValueError, "not True"),
        ({"timeout": -1, "num_workers": 1}, ValueError, "timeout is a number of seconds"),
        ({"timeout": 1}, ValueError, "timeout is for workers: set num_workers"),
        ({"prefetch_factor": 2}, ValueError, "prefetch_factor is for workers"),
        ({"prefetch_factor": 0, "num_workers": 1}, ValueError, "prefetch_factor is a positive int"),
        ({"persistent_workers": True}, ValueError, "persistent_workers is for workers"),
        ({"multiprocessing_context": "fork"}, ValueError, "is for workers"),
        ({"multiprocessing_context": "knife", "num_workers": 1}, ValueError, "'knife' is none of fork"),
        ({"multiprocessing_context": 3, "num_workers": 1}, TypeError, "expected a name or a context, got int"),
        ({"shuffle": 1}, TypeError, "shuffle: expected a bool, got int"),
        ({"pin_memory": None}, TypeError, "pin_memory: expected a bool"),
        ({"shuffle": True, "sampler": [1]}, ValueError, "sampler and shuffle exclude"),
        ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "batch_sampler excludes"),
        ({"batch_sampler": [[1]], "drop_last": True}, ValueError, "batch_sampler excludes"),
        ({"batch_size": None, "drop_last": True}, ValueError, "drop_last needs a batch_size"),
        ({"dataset": {0: X}}, TypeError, "a dict holds arrays by their names"),
        ({"dataset": {}}, TypeError, "a dict holds arrays by their names"),
        ({"dataset": 3}, TypeError, "int has neither __getitem__ nor __iter__"),
        ({"dataset": Stream(3), "shuffle": True}, ValueError, "have no numbers"),
        ({"dataset": Stream(3), "sampler": [1]}, ValueError, "have no numbers"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error, message) -> None:
    with pytest.raises(error, match=message):
        DataLoader(**{"dataset": X, **options})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: None, "a mapping that holds position, seed"),
        (lambda state: {"position": 1}, "a mapping that holds position, seed"),
        (lambda state: {**state, "generator": None}, "only one of the state and the loader has a generator"),
    ],
)
def test_states_that_do_not_fit_change_nothing(change, message: str) -> None:
    loader = DataLoader(X, 4, shuffle=True, generator=generator())
    before = loader.state_dict()
    with pytest.raises(ValueError, match=message):
        loader.load_state_dict(change(dict(before)))
    assert loader.state_dict() == before


def test_pinning_is_accepted_and_single_numbers_are_taken() -> None:
    assert len(list(DataLoader(X, 23, pin_memory=True))) == 1
    assert list(DataLoader([1, 2], None, sampler=SequentialSampler([1, 2]))) == [1, 2]
