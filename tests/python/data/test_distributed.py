"""The share of a dataset that each process visits."""

from __future__ import annotations

import copy
import pickle

import pytest

import lamella as lm
from lamella.data import DataLoader, DistributedSampler


def shares(size: int, n: int, epoch: int = 0, **settings: object) -> list[list[int]]:
    samplers = [DistributedSampler(range(size), n, rank, **settings) for rank in range(n)]
    for sampler in samplers:
        sampler.set_epoch(epoch)
    found = [list(sampler) for sampler in samplers]
    assert [len(share) for share in found] == [len(sampler) for sampler in samplers]
    return found


@pytest.mark.parametrize("size", [0, 1, 2, 7, 12])
@pytest.mark.parametrize("n", [1, 3, 4])
def test_shares_are_equally_long_and_cover_all(size: int, n: int) -> None:
    for shuffle in (False, True):
        found = shares(size, n, shuffle=shuffle)
        assert len({len(share) for share in found}) == 1
        assert sorted({i for share in found for i in share}) == list(range(size))
        dropped = [i for share in shares(size, n, shuffle=shuffle, drop_last=True) for i in share]
        assert len(dropped) == len(set(dropped)) == size // n * n
    assert shares(size, n, shuffle=False) == [
        [i % size for i in range(rank, -(-size // n) * n, n)] if size else [] for rank in range(n)
    ]


def test_orders_depend_on_seed_and_epoch_alone() -> None:
    orders = {(seed, epoch): str(shares(20, 2, epoch, seed=seed)) for seed in range(3) for epoch in range(3)}
    assert len(set(orders.values())) == 9
    lm.seed(99)
    assert str(shares(20, 2, 2, seed=1)) == orders[1, 2]


def test_a_state_goes_on_in_the_middle_of_an_epoch() -> None:
    def loader() -> DataLoader:
        return DataLoader(list(range(20)), batch_size=3, sampler=DistributedSampler(range(20), 2, 1, seed=4))

    first, second = loader(), loader()
    first.sampler.set_epoch(5)
    batches = iter(first)
    next(batches)
    state = first.state_dict()
    rest = [batch.tolist() for batch in batches]
    second.load_state_dict(state)
    assert [batch.tolist() for batch in second] == rest
    for other in (copy.deepcopy(first.sampler), pickle.loads(pickle.dumps(first.sampler))):
        assert list(other) == list(first.sampler)


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="rank is from 0 to 1, not 2"):
        DistributedSampler(range(3), 2, 2)
    sampler = DistributedSampler(range(3))
    assert (sampler.num_replicas, sampler.rank) == (1, 0)
    with pytest.raises(ValueError, match="at least 0, not -1"):
        sampler.set_epoch(-1)
    with pytest.raises(ValueError, match="ints 'epoch' and 'seed'"):
        sampler.load_state_dict({"epoch": 1})
