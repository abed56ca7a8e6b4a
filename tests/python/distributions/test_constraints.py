"""Constraints: what lies in each set, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from lamella.distributions import constraints as C

SPD = [[2.0, 0.5], [0.5, 1.0]]
ROTATED = [[1.0, 0.0], [0.6, 0.8]]
INFINITE = [[np.inf, 0.0], [0.0, np.inf]]

#: A constraint, and events with the answer for each.
CASES = [
    (C.boolean, [(0, True), (1, True), (0.5, False)]),
    (C.corr_cholesky, [(np.eye(2), True), (ROTATED, True), ([[1.0, 0], [0.6, 0.9]], False)]),
    (C.greater_than(1.0), [(1.5, True), (1.0, False), (np.nan, False)]),
    (C.greater_than_eq(1.0), [(1.0, True), (0.5, False)]),
    (C.half_open_interval(0.0, 1.0), [(0.0, True), (1.0, False)]),
    (C.independent(C.positive, 1), [([1.0, 2.0], True), ([1.0, -2.0], False)]),
    (C.integer_interval(0, 3), [(3, True), (4, False), (1.5, False), (-1, False)]),
    (C.interval(0.0, 1.0), [(0.0, True), (1.0, True), (1.5, False)]),
    (C.less_than(1.0), [(0.5, True), (1.0, False)]),
    (C.lower_cholesky, [(ROTATED, True), (SPD, False), ([[1.0, 0.0], [2.0, -1.0]], False)]),
    (C.lower_triangular, [([[1.0, 0.0], [2.0, -1.0]], True), (SPD, False)]),
    (C.multinomial(3), [([1, 2], True), ([2, 2], False), ([1.5, 1], False), ([-1, 2], False)]),
    (C.nonnegative, [(0.0, True), (-1e-9, False)]),
    (C.nonnegative_integer, [(0, True), (2, True), (-1, False), (0.5, False), (np.inf, False)]),
    (C.one_hot, [([0, 1, 0], True), ([0, 1, 1], False), ([0.5, 0.5, 0], False)]),
    (C.open_interval(0.0, 1.0), [(0.5, True), (0.0, False), (1.0, False)]),
    (C.positive, [(1e-9, True), (0.0, False)]),
    (
        C.positive_definite,
        [(SPD, True), *((matrix, False) for matrix in ([[1, 2], [2, 1.0]], [[1, 0.5], [0.4, 1]], INFINITE))],
    ),
    (C.positive_integer, [(1, True), (0, False), (1.5, False), (np.inf, False)]),
    (C.positive_semidefinite, [(np.ones((2, 2)), True), ([[1.0, 2.0], [2.0, 1.0]], False), (INFINITE, False)]),
    (C.real, [(-1e300, True), (np.inf, True), (np.nan, False)]),
    (C.real_vector, [([1.0, 2.0], True), ([1.0, np.nan], False)]),
    (C.simplex, [([0.2, 0.8], True), ([0.2, 0.7], False), ([1.2, -0.2], False)]),
    (C.square, [(SPD, True), (np.ones((2, 3)), False)]),
    (C.symmetric, [(SPD, True), ([[1.0, 0.5], [0.4, 1.0]], False), (np.ones((2, 3)), False)]),
    (C.unit_interval, [(0.0, True), (1.0, True), (-0.1, False)]),
    (C.stack([C.positive, C.real], axis=-1), [([1.0, -1.0], [True, True]), ([-1.0, -1.0], [False, True])]),
    (C.cat([C.positive, C.real], axis=-1, lengths=[2, 1]), [([1.0, -1.0, -1.0], [True, False, True])]),
]


def test_every_constraint_is_among_the_cases():
    tried = {type(constraint) for constraint, _ in CASES}
    others = {"Constraint", "dependent", "dependent_property", "is_dependent"}
    for name in set(C.__all__) - others:
        found = getattr(C, name)
        assert (found if isinstance(found, type) else type(found)) in tried, name


@pytest.mark.parametrize("index", range(len(CASES)), ids=[repr(constraint) for constraint, _ in CASES])
def test_check(index):
    constraint, events = CASES[index]
    for value, wanted in events:
        got = constraint.check(lm.asarray(np.asarray(value, dtype="float64")))
        assert got.tolist() == wanted, value
        assert got.dtype.name == "bool"
        if (np.abs(value) < 100).all() and (np.asarray(value) == np.floor(value)).all():
            assert constraint.check(lm.asarray(np.asarray(value, dtype="int64"))).tolist() == wanted, value


def test_sums_of_long_vectors_may_be_rounded(rng):
    for count in (10, 1000, 100000):
        assert C.simplex.check(lm.softmax(lm.asarray(rng.normal(size=count).astype("float32")))).item()


def test_what_depends_on_parameters():
    assert C.is_dependent(C.dependent) and C.is_dependent(lm.distributions.Uniform.support)
    assert not C.is_dependent(C.real) and not C.is_dependent(lm.distributions.Uniform(0.0, 1.0).support)
    with pytest.raises(ValueError, match="checked on an instance"):
        C.dependent.check(lm.zeros([1]))


def test_bad_arguments():
    with pytest.raises(ValueError, match="at least 0, not -1"):
        C.independent(C.real, -1)
    with pytest.raises(ValueError, match="at least 1 axes"):
        C.real_vector.check(lm.tensor(0.5))
    with pytest.raises(ValueError, match="a length for each of 1 constraints"):
        C.cat([C.real], lengths=[1, 2])
