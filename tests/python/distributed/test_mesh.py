"""Placements: arrays of ranks."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.distributed.mesh import part, placement, sizes_of


@pytest.mark.parametrize(("size", "count"), [(7, 3), (6, 3), (2, 5), (0, 2)])
def test_parts_are_those_of_numpy(size: int, count: int) -> None:
    expected = [list(one) for one in np.array_split(np.arange(size), count)]
    assert [list(range(*part(size, count, i))) for i in range(count)] == expected
    assert sizes_of(size, count) == [len(one) for one in expected]


def test_places_and_groups() -> None:
    mesh = placement("cpu", np.arange(6).reshape(2, 3))
    assert (mesh.type, mesh.shape, mesh.ndim, mesh.size) == ("cpu", (2, 3), 2, 6)
    assert [mesh.coordinate(rank) for rank in range(6)] == [(i, k) for i in range(2) for k in range(3)]
    assert mesh.fibers(0) == [[0, 3], [1, 4], [2, 5]] and mesh.fibers(1) == [[0, 1, 2], [3, 4, 5]]
    assert 5 in mesh and 6 not in mesh
    cube = placement("cpu", np.arange(8).reshape(2, 2, 2))
    assert cube.fibers(1) == [[0, 2], [1, 3], [4, 6], [5, 7]]


def test_equality_printing_and_copies() -> None:
    mesh = lm.placement("cuda", [[0, 1], [2, 3]])
    assert repr(mesh) == "lamella.placement(type='cuda', ranks=[[0, 1], [2, 3]])"
    assert mesh == placement("cuda", np.arange(4).reshape(2, 2)) != placement("cuda", range(4))
    assert hash(mesh) == hash(copy.deepcopy(mesh)) and pickle.loads(pickle.dumps(mesh)) == mesh
    assert placement("cpu", 0) == placement("cpu", [0])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, [0]), TypeError, "type is a str"),
        (("cpu", "01"), TypeError, "nested sequence of ints"),
        (("cpu", []), ValueError, "there are no ranks"),
        (("cpu", [[0, 1], [2]]), ValueError, "differ in length"),
        (("cpu", [0, 0]), ValueError, "different numbers"),
        (("cpu", [-1]), ValueError, "different numbers"),
    ],
)
def test_mistakes(arguments: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        placement(*arguments)


def test_a_process_outside_is_told() -> None:
    with pytest.raises(RuntimeError, match="process 3 is none of"):
        placement("cpu", [0, 1]).coordinate(3)
