"""Parameters as one vector, and modules without starting values."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.nn import utils


def test_there_and_back():
    net = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    vector = utils.parameters_to_vector(net.parameters())
    parts = np.concatenate([p.detach().numpy().reshape(-1) for p in net.parameters()])
    np.testing.assert_array_equal(vector.detach().numpy(), parts)
    (vector * lm.arange(11, dtype="float32")).sum().backward()
    assert net[0].weight.grad.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    parameters = list(net.parameters())
    utils.vector_to_parameters(lm.arange(11, dtype="float32"), net.parameters())
    assert all(a is b and a.is_leaf for a, b in zip(parameters, net.parameters(), strict=True))
    assert net[0].bias.tolist() == [6.0, 7.0] and net[1].bias.tolist() == [10.0]


def test_what_is_refused():
    net = nn.Linear(2, 1)
    before = net.weight.tolist()
    for call, error, message in (
        (lambda: utils.vector_to_parameters(lm.ones((4,)), net.parameters()), ValueError, r"3 elements, .* \[4\]"),
        (lambda: utils.vector_to_parameters(lm.ones((1, 3)), net.parameters()), ValueError, r"3 elements, .* \[1, 3\]"),
        (lambda: utils.vector_to_parameters([1.0], net.parameters()), TypeError, "vector is a Tensor, not list"),
        (lambda: utils.parameters_to_vector([]), ValueError, r"\[parameters_to_vector\] .* got no parameters"),
        (lambda: utils.parameters_to_vector([net.weight, lm.ones((1,), device="meta")]), ValueError, "cpu, meta"),
    ):
        with pytest.raises(error, match=message):
            call()
    assert net.weight.tolist() == before
