"""Every signature becomes every other, as numpy says, forward and backward; the cheapest collectives are taken."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.distributed import _carrier, sbp
from lamella.distributed._costs import COLLECTIVES, Link
from lamella.distributed.global_tensor import adjoint
from lamella.distributed.mesh import placement
from lamella.distributed.redistribute import redistribute, redistribution_table, route

from .ranks import run
from .wholes import joined, random_parts

KINDS = ["S(0)", "S(1)", "B", "P", "P(max)"]
SHAPE = (5, 7)


def _signature(texts: Any) -> tuple[sbp.Sbp, ...]:
    return tuple(map(sbp.parse, texts))


@pytest.mark.parametrize("mesh", [(3,), (2, 2), (2, 3)], ids=str)
def test_every_pair_of_signatures(mesh: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    size = int(np.prod(mesh))
    kinds = [*KINDS, "P(min)"] if len(mesh) == 1 else KINDS
    signatures = list(itertools.product(kinds, repeat=len(mesh)))
    pairs = list(itertools.product(signatures, repeat=2))
    if mesh == (2, 3):
        pairs = [pairs[i] for i in rng.permutation(len(pairs))[:150]]
    cases = []
    for source, target in pairs:
        whole = rng.integers(-50, 50, SHAPE).astype("float64")
        gradient = rng.integers(-50, 50, SHAPE).astype("float64")
        parts = random_parts(whole, mesh, source, rng)
        back = [one.short for one in adjoint(_signature(target))]
        cases.append((source, target, whole, gradient, parts, random_parts(gradient, mesh, back, rng)))

    def work(rank: int) -> list[Any]:
        place = placement("cpu", np.arange(size).reshape(mesh))
        at = place.coordinate()
        found = []
        for source, target, _, _, parts, gradients in cases:
            x = lm.tensor(parts[at], stop_gradient=False)
            y = redistribute(x, SHAPE, place, _signature(source), _signature(target))
            value = y.detach().numpy()
            y.backward(lm.asarray(gradients[at]))
            assert x.grad is not None
            found.append((at, value, x.grad.numpy()))
        return found

    results = run(size, work)
    for i, (source, target, whole, gradient, _, _) in enumerate(cases):
        values = {one[i][0]: one[i][1] for one in results}
        np.testing.assert_array_equal(joined(values, mesh, target), whole, f"{source} -> {target}")
        if any("(m" in one for one in (*source, *target)):
            continue  # what an extreme's gradient is depends on which process has it
        back = [one.short for one in adjoint(_signature(source))]
        gradients = {one[i][0]: one[i][2] for one in results}
        np.testing.assert_array_equal(joined(gradients, mesh, back), gradient, f"gradient of {source} -> {target}")


def test_the_gradient_of_an_extreme_goes_to_who_has_it() -> None:
    def work(rank: int) -> Any:
        mesh = placement("cpu", [0, 1])
        x = lm.tensor([[1.0, 5.0, 3.0], [4.0, 5.0, 2.0]][rank], stop_gradient=False)
        for target in ("B", "S(0)"):
            y = redistribute(x, (3,), mesh, (sbp.partial_max,), _signature([target]))
            y.backward(lm.ones([3]) * (1.0 - rank if target == "B" else 1.0) if target == "B" else lm.ones(y.shape))
        return x.grad.numpy().tolist()

    assert run(2, work) == [[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]


LINKS = (Link(1e-5, 1e10), Link(1e-5, 1e10))

# For a tensor of two axes, the collectives of the cheapest way.
WAYS = [
    (["S(0)"], ["S(1)"], ["all_to_all"]),
    (["S(0)"], ["B"], ["all_gather"]),
    (["P"], ["B"], ["all_reduce"]),
    (["P"], ["S(1)"], ["reduce_scatter"]),
    (["B"], ["S(1)"], ["slice"]),
    (["B"], ["P"], ["keep"]),
    (["S(1)"], ["P"], ["pad"]),
    (["B"], ["P(max)"], ["none"]),
    (["P(max)"], ["P"], ["all_reduce", "keep"]),
    (["S(0)", "B"], ["S(0)", "S(1)"], ["slice"]),
    (["P", "P"], ["B", "B"], ["reduce_scatter", "all_reduce", "all_gather"]),
    (["S(0)", "S(0)"], ["B", "B"], ["all_gather", "all_gather"]),
    (["P", "S(1)"], ["S(0)", "S(1)"], ["reduce_scatter"]),
]


@pytest.mark.parametrize(("source", "target", "expected"), WAYS, ids=str)
def test_the_cheapest_way(source: list[str], target: list[str], expected: list[str]) -> None:
    mesh = (2, 4)[: len(source)]
    _, steps = route(1 << 30, 2, mesh, _signature(source), _signature(target), LINKS[: len(mesh)])
    assert [step.collective for step in steps] == expected


def test_no_way_costs_more_than_through_broadcast() -> None:
    mesh, nbytes = (2, 4), 1 << 24
    for source, target in itertools.product(itertools.product(KINDS, repeat=2), repeat=2):
        whole = (sbp.broadcast, sbp.broadcast)
        direct, _ = route(nbytes, 2, mesh, _signature(source), _signature(target), LINKS)
        there, _ = route(nbytes, 2, mesh, _signature(source), whole, LINKS)
        back, _ = route(nbytes, 2, mesh, whole, _signature(target), LINKS)
        assert direct <= there + back + 1e-12


def test_the_table_prints_what_is_done() -> None:
    table = redistribution_table()
    assert {row.collective for row in table} <= set(COLLECTIVES)
    lines = repr(table).splitlines()
    assert lines[0].split() == ["from", "to", "collective", "bytes", "sent", "gradient"]
    assert len(lines) == len(table) + 2


def test_a_split_changes_axis_without_being_gathered() -> None:
    def work(rank: int) -> Any:
        mesh = placement("cpu", [0, 1])
        x = lm.zeros([2, 6] if rank == 0 else [1, 6])
        redistribute(x, (3, 6), mesh, (sbp.split(0),), (sbp.split(1),))
        return [name for name, _ in _carrier.current().log]  # type: ignore[attr-defined]

    assert run(2, work) == [["all_to_all"]] * 2
