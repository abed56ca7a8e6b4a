"""The LSTM whose hidden states are projected, step by step."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.nn.utils import rnn

RNG = np.random.default_rng(21)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(layer, x, h, c):
    """Outputs and last states of one sequence [steps, size], all layers and directions in numpy."""
    last_h, last_c = [], []
    for k in range(layer.num_layers):
        outputs = []
        for d in range(1 + layer.bidirectional):
            suffix = f"_l{k}" + "_reverse" * d
            own = {name: array(p) for name, p in layer.named_parameters()}
            w_ih, w_hh, w_hr = (own[f"{name}{suffix}"] for name in ("weight_ih", "weight_hh", "weight_hr"))
            bias = own[f"bias_ih{suffix}"] + own[f"bias_hh{suffix}"] if layer.bias else 0
            i = len(last_h)
            now_h, now_c, found = h[i], c[i], []
            for step in x[::-1] if d else x:
                gates = w_ih @ step + w_hh @ now_h + bias
                a, f, g, o = np.split(gates, 4)
                now_c = sigmoid(f) * now_c + sigmoid(a) * np.tanh(g)
                now_h = w_hr @ (sigmoid(o) * np.tanh(now_c))
                found.append(now_h)
            outputs.append(np.array(found[::-1] if d else found))
            last_h.append(now_h)
            last_c.append(now_c)
        x = np.concatenate(outputs, -1)
    return x, np.array(last_h), np.array(last_c)


def array(x):
    return x.detach().numpy()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("num_layers", "bidirectional"), [(1, False), (2, True), (3, False)])
def test_projections(num_layers, bidirectional, bias):
    layer = nn.LSTM(3, 4, num_layers, bias, bidirectional=bidirectional, proj_size=2, dtype="float64")
    count = num_layers * (1 + bidirectional)
    x, h, c = RNG.normal(size=(5, 2, 3)), RNG.normal(size=(count, 2, 2)), RNG.normal(size=(count, 2, 4))
    y, (last_h, last_c) = layer(lm.asarray(x), (lm.asarray(h), lm.asarray(c)))
    packed, last = layer(rnn.pack_padded_sequence(lm.asarray(x), [5, 3]), (lm.asarray(h), lm.asarray(c)))
    for i in range(2):
        expected = by_hand(layer, x[:, i], h[:, i], c[:, i])
        for got, its in zip((y, last_h, last_c), expected, strict=True):
            np.testing.assert_allclose(array(got)[:, i], its, rtol=1e-10, atol=1e-13)
        alone, states = layer(lm.asarray(x[:, i]), (lm.asarray(h[:, i]), lm.asarray(c[:, i])))
        for got, its in zip((alone, *states), expected, strict=True):
            np.testing.assert_allclose(array(got), its, rtol=1e-10, atol=1e-13)
        short = by_hand(layer, x[: (5, 3)[i], i], h[:, i], c[:, i])
        ended = (array(rnn.unpack_sequence(packed)[i]), *(array(state)[:, i] for state in last))
        for got, its in zip(ended, short, strict=True):
            np.testing.assert_allclose(got, its, rtol=1e-10, atol=1e-13)
    y.sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
    first = layer(lm.asarray(x))
    zeros = layer(lm.asarray(x), (lm.zeros_like(last_h), lm.zeros_like(last_c)))
    np.testing.assert_array_equal(array(first[0]), array(zeros[0]))


def test_layouts_and_copies():
    layer = nn.LSTM(3, 4, batch_first=True, proj_size=2, dtype="float64")
    assert [tuple(p.shape) for p in layer.parameters()] == [(16, 3), (16, 2), (16,), (16,), (2, 4)]
    assert list(layer.state_dict())[-1] == "weight_hr_l0" and "proj_size=2" in repr(layer)
    x = lm.asarray(RNG.normal(size=(2, 5, 3)))
    y, (h, c) = layer(x)
    assert (y.shape, h.shape, c.shape) == ((2, 5, 2), (1, 2, 2), (1, 2, 4))
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        np.testing.assert_array_equal(array(twin(x)[0]), array(y))
    assert layer(x[:0])[0].shape == (0, 5, 2)
    lm.autograd.gradcheck(lambda x: layer(x)[0], (lm.tensor(x.numpy(), stop_gradient=False),), fast_mode=True)


def test_what_is_refused():
    for size in (4, 5):
        with pytest.raises(ValueError, match=r"\[LSTM\] proj_size is below hidden_size"):
            nn.LSTM(3, 4, proj_size=size)
    with pytest.raises(ValueError, match=r"\[LSTM\] proj_size must be an int above 0"):
        nn.LSTM(3, 4, proj_size=-1)
    for kind in (nn.GRU, nn.RNN):
        with pytest.raises(TypeError, match="proj_size"):
            kind(3, 4, proj_size=2)
