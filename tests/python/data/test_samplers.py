"""Samplers: which numbers come, how often, in which order, and that an order can come again."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

SEEDED = {
    "permutation": lambda g: RandomSampler(range(50), generator=g),
    "more than all": lambda g: RandomSampler(range(7), num_samples=20, generator=g),
    "with replacement": lambda g: RandomSampler(range(50), True, 30, generator=g),
    "subset": lambda g: SubsetRandomSampler([3, 9, 27, 81], g),
    "weighted": lambda g: WeightedRandomSampler(np.arange(20), 30, generator=g),
    "weighted without replacement": lambda g: WeightedRandomSampler(np.arange(20), 19, False, generator=g),
}


@pytest.fixture
def elsewhere():
    """Makes tensors without values where no device is named."""
    before = lm.get_default_device()
    lm.set_default_device("meta")
    yield
    lm.set_default_device(before)


@pytest.mark.parametrize("make", SEEDED.values(), ids=SEEDED)
@pytest.mark.parametrize("seeded", [True, False])
def test_numbers_are_drawn_on_the_cpu_whatever_the_default_device_is(make, seeded, elsewhere) -> None:
    drawn = list(make(lm.random.Generator("cpu", 5) if seeded else None))
    assert len(drawn) > 0
    if seeded:
        lm.set_default_device("cpu")
        assert drawn == list(make(lm.random.Generator("cpu", 5)))


def test_sequential() -> None:
    assert list(SequentialSampler(range(4))) == [0, 1, 2, 3] and len(SequentialSampler("abc")) == 3


def test_each_sample_comes_as_often_as_it_should() -> None:
    order = list(RandomSampler(range(50)))
    assert sorted(order) == list(range(50)) and order != sorted(order)
    assert all(type(number) is int for number in order)
    twenty = list(RandomSampler(range(7), num_samples=20))
    assert sorted(twenty[:7]) == sorted(twenty[7:14]) == list(range(7)) and len(set(twenty[14:])) == 6
    drawn = np.bincount(list(RandomSampler(range(5), True, 20000)), minlength=5)
    assert (abs(drawn - 4000) < 6 * np.sqrt(20000 * 0.2 * 0.8)).all()
    assert sorted(SubsetRandomSampler([5, 3, 8])) == [3, 5, 8]
    assert list(RandomSampler([])) == []


@pytest.mark.parametrize("replacement", [True, False])
def test_weights_are_the_probabilities_of_the_first_draw(replacement: bool) -> None:
    weights = np.array([0.0, 1.0, 5.0, 0.0, 4.0])
    runs = 400
    sampler = WeightedRandomSampler(weights, 3, replacement)
    first = np.bincount([next(iter(sampler)) for _ in range(runs)], minlength=5)
    expected = weights / weights.sum()
    assert (abs(first - runs * expected) <= 6 * np.sqrt(runs * expected * (1 - expected))).all()
    if not replacement:
        assert all(sorted(sampler) == [1, 2, 4] for _ in range(20))


@pytest.mark.parametrize("name", SEEDED)
def test_seeds_decide_and_states_bring_an_epoch_back(name: str) -> None:
    make = SEEDED[name]
    sampler, twin = make(lm.Generator("cpu", 9)), make(lm.Generator("cpu", 9))
    first, second = list(sampler), list(sampler)
    assert [first, second] == [list(twin), list(twin)] and first != second and len(first) == len(sampler)
    state = sampler.state_dict()
    third = list(sampler)
    other = make(lm.Generator("cpu", 1234))
    other.load_state_dict(state)
    assert list(other) == second and list(other) not in (second, third)
    for made in (copy.deepcopy(sampler), pickle.loads(pickle.dumps(sampler))):
        ahead = make(lm.Generator("cpu", 9))
        for _ in range(3):
            list(ahead)
        assert list(made) == list(ahead)
    with pytest.raises(ValueError, match="a mapping with a 'seed'"):
        sampler.load_state_dict({"seed": "1"})


def test_the_default_generator_is_used() -> None:
    lm.seed(4)
    first = list(RandomSampler(range(30)))
    lm.seed(4)
    assert list(RandomSampler(range(30))) == first


@pytest.mark.parametrize("size", [0, 1, 7, 9, 10])
@pytest.mark.parametrize("drop_last", [False, True])
def test_batches(size: int, drop_last: bool) -> None:
    sampler = BatchSampler(SequentialSampler(range(size)), 3, drop_last)
    expected = [list(range(size))[i : i + 3] for i in range(0, size, 3)]
    if drop_last:
        expected = [batch for batch in expected if len(batch) == 3]
    assert list(sampler) == expected == [list(batch) for batch in sampler._batches()]
    assert len(sampler) == len(expected)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RandomSampler(range(3), 1), TypeError, "replacement: expected a bool, got int"),
        (lambda: RandomSampler(range(3), num_samples=0), ValueError, "num_samples is a positive int, not 0"),
        (lambda: list(RandomSampler([], num_samples=2)), ValueError, "cannot draw 2 samples from an empty"),
        (lambda: WeightedRandomSampler([1.0, -1.0], 1), ValueError, "of at least 0"),
        (lambda: WeightedRandomSampler([0.0], 1), ValueError, "not all 0"),
        (lambda: WeightedRandomSampler([np.nan], 1), ValueError, "finite"),
        (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, "one axis"),
        (lambda: WeightedRandomSampler([1.0], 0), ValueError, "a positive int, not 0"),
        (lambda: WeightedRandomSampler([1.0, 0.0], 2, False), ValueError, "without replacement: 1 have a weight"),
        (lambda: BatchSampler([1], 0), ValueError, r"\[BatchSampler\] batch_size is a positive int, not 0"),
        (lambda: BatchSampler([1], True), TypeError, "batch_size is an int, not True"),
        (lambda: BatchSampler([1], 1, 1), TypeError, "drop_last: expected a bool"),
        (lambda: iter(Sampler()), NotImplementedError, "defines no __iter__"),
    ],
)
def test_what_is_refused(make, error, message) -> None:
    with pytest.raises(error, match=message):
        make()


def test_more_samples_than_memory_holds_are_drawn_in_pieces() -> None:
    """One by one and in batches, which may end within a piece or another one, the same numbers come."""
    sampler = RandomSampler(range(1000), replacement=True, num_samples=10**12)
    assert len(sampler) == 10**12
    first = list(itertools.islice(sampler, 140_000))
    state = sampler.state_dict()
    again = RandomSampler(range(1000), replacement=True, num_samples=10**12)
    again.load_state_dict(state)
    loader = DataLoader(np.arange(1000), batch_size=999, sampler=again)
    batches = [batch.numpy() for batch in itertools.islice(loader, 140)]
    np.testing.assert_array_equal(np.concatenate(batches), first[: 140 * 999])
    counts = np.bincount(first, minlength=1000)
    assert counts.min() > 80 and counts.max() < 220
    few = RandomSampler(range(5), replacement=True, num_samples=3)
    assert len(list(few)) == 3 and few._order()[1:9].shape == (2,) and few._order()[3:3].shape == (0,)
    order = few._order()
    assert [order[0], order[1], order[-1]] == list(order)
