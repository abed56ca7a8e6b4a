"""Recurrent cells and networks against loops in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import lamella as lm
from lamella import nn

from ..gradcheck import check_gradients

GATES = {"rnn": 1, "lstm": 4, "gru": 3}
State = list[np.ndarray]


def step(kind: str, x: np.ndarray, state: State, w: list[np.ndarray]) -> State:
    """The next state of a cell; `w` has the weights, and the biases where there are any."""
    biases = w[2:] or [0.0, 0.0]
    a, b = x @ w[0].T + biases[0], state[0] @ w[1].T + biases[1]
    if kind == "rnn":
        return [np.tanh(a + b)]
    if kind == "lstm":
        i, f, g, o = np.split(a + b, 4, -1)
        c = sp.expit(f) * state[1] + sp.expit(i) * np.tanh(g)
        return [sp.expit(o) * np.tanh(c), c]
    (ra, za, na), (rb, zb, nb) = np.split(a, 3, -1), np.split(b, 3, -1)
    n = np.tanh(na + sp.expit(ra + rb) * nb)
    z = sp.expit(za + zb)
    return [(1 - z) * n + z * state[0]]


def run(kind: str, x: np.ndarray, states: State, params: list[list[np.ndarray]], directions: int) -> list[np.ndarray]:
    last: list[State] = []
    for layer in range(len(params) // directions):
        sides = []
        for d in range(directions):
            at = layer * directions + d
            state = [s[at] for s in states]
            outputs = []
            for t in range(len(x))[:: -1 if d else 1]:
                state = step(kind, x[t], state, params[at])
                outputs.append(state[0])
            sides.append(np.stack(outputs[:: -1 if d else 1]))
            last.append(state)
        x = np.concatenate(sides, -1)
    return [x, *(np.stack([s[i] for s in last]) for i in range(len(states)))]


def weights(kind: str, inputs: int, hidden: int, bias: bool, rng: np.random.Generator) -> list[np.ndarray]:
    rows = GATES[kind] * hidden
    shapes = [(rows, inputs), (rows, hidden)] + [(rows,)] * 2 * bias
    return [rng.normal(size=shape) * 0.7 for shape in shapes]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", GATES)
def test_cells(kind: str, bias: bool, rng: np.random.Generator) -> None:
    w = weights(kind, 3, 4, bias, rng)
    state = [rng.normal(size=(5, 4)) for _ in range(2 if kind == "lstm" else 1)]
    x = rng.normal(size=(5, 3))
    call = getattr(lm, f"{kind}_cell")
    tensors = [lm.asarray(a) for a in (x, *state, *w)]
    got = call(*tensors)
    for a, b in zip(got if isinstance(got, tuple) else [got], step(kind, x, state, w), strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-12, atol=1e-14)
    one = call(*(t[0] for t in tensors[: 1 + len(state)]), *tensors[1 + len(state) :])
    first = one[0] if isinstance(one, tuple) else one
    np.testing.assert_allclose(first.numpy(), step(kind, x[0], [s[0] for s in state], w)[0], rtol=1e-12)


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", GATES)
def test_networks(kind: str, layers: int, directions: int, rng: np.random.Generator) -> None:
    hidden = 3
    params = [
        weights(kind, 2 if layer == 0 else hidden * directions, hidden, True, rng)
        for layer in range(layers)
        for _ in range(directions)
    ]
    x = rng.normal(size=(4, 5, 2))
    states = [rng.normal(size=(layers * directions, 5, hidden)) for _ in range(2 if kind == "lstm" else 1)]
    flat = [lm.asarray(a) for cell in params for a in cell]
    settings: dict[str, Any] = {"num_layers": layers, "bidirectional": directions == 2}
    tensors = [lm.asarray(a) for a in (x, *states)]
    got = getattr(lm, kind)(*tensors, flat, **settings)
    expected = run(kind, x, states, params, directions)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-11, atol=1e-13)
    one = getattr(lm, kind)(*(lm.asarray(a[:, 1]) for a in (x, *states)), flat, **settings)
    np.testing.assert_allclose(one[0].numpy(), expected[0][:, 1], rtol=1e-11, atol=1e-13)

    layer = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind](
        2, hidden, layers, batch_first=True, bidirectional=directions == 2, dtype="float64"
    )
    for parameter, value in zip(layer.parameters(), flat, strict=True):
        with lm.no_grad():
            parameter.copy_(value)
    state = tuple(tensors[1:]) if kind == "lstm" else tensors[1]
    y, _ = layer(lm.swapaxes(tensors[0], 0, 1), state)
    np.testing.assert_allclose(y.detach().numpy(), expected[0].swapaxes(0, 1), rtol=1e-11, atol=1e-13)


def test_a_network_learns_through_time(rng: np.random.Generator) -> None:
    w = weights("lstm", 2, 2, True, rng)
    check_gradients(
        lambda x, h, c, *w: lm.lstm(x, h, c, list(w))[0], rng.normal(size=(3, 2)), *rng.normal(size=(2, 1, 2)), *w
    )


def test_layers() -> None:
    lm.seed(0)
    layer = nn.LSTM(3, 5, num_layers=2, bidirectional=True, dropout=0.5)
    names = [name for name, _ in layer.named_parameters()]
    assert names[:4] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    assert names[4] == "weight_ih_l0_reverse" and len(names) == 16
    assert layer.weight_ih_l1.shape == (20, 10)
    bound = 1 / np.sqrt(5)
    assert all(np.abs(p.detach().numpy()).max() <= bound for p in layer.parameters())
    y, (h, c) = layer(lm.ones([6, 2, 3]))
    assert (y.shape, h.shape, c.shape) == ((6, 2, 10), (4, 2, 5), (4, 2, 5))
    assert (y.detach().numpy() != layer(lm.ones([6, 2, 3]))[0].detach().numpy()).any()
    layer.eval()
    again = [layer(lm.ones([6, 2, 3]))[0].detach().numpy() for _ in range(2)]
    np.testing.assert_array_equal(*again)
    assert nn.GRU(3, 5)(lm.ones([6, 3]))[0].shape == (6, 5)
    for cell in (nn.RNNCell(3, 5, nonlinearity="relu"), nn.GRUCell(3, 5)):
        assert cell(lm.ones([2, 3])).shape == (2, 5)
    h, c = nn.LSTMCell(3, 5, bias=False)(lm.ones([2, 3]))
    assert h.shape == c.shape == (2, 5)
    assert "LSTM(3, 5, num_layers=2" in repr(layer)


def test_errors() -> None:
    w = [lm.ones([4, 3]), lm.ones([4, 4])]
    x, h = lm.ones([5, 2, 3]), lm.zeros([1, 2, 4])
    for call in (
        lambda: lm.rnn(x, h, w),
        lambda: lm.rnn(x, h, w, has_biases=False, num_layers=2),
        lambda: lm.rnn(x, h, w, has_biases=False, num_layers=0),
        lambda: lm.rnn(x, h, w, has_biases=False, num_layers=2**62),
        lambda: lm.rnn(x, h, w, has_biases=False, dropout=2.0),
        lambda: lm.rnn(x, h, w, has_biases=False, nonlinearity="sigmoid"),
        lambda: lm.rnn(x, lm.zeros([2, 4]), w, has_biases=False),
        lambda: lm.rnn(x[:0], h, w, has_biases=False),
        lambda: lm.rnn(lm.zeros([2**33, 0, 3]), lm.zeros([1, 0, 4]), w, has_biases=False),
        lambda: lm.rnn(lm.ones([5]), h, w, has_biases=False),
        lambda: lm.gru(x, h, w, has_biases=False),
        lambda: lm.lstm(x, h, lm.zeros([1, 2, 3]), w, has_biases=False),
        lambda: lm.rnn_cell(x[0], h[0], w[1], w[1]),
        lambda: lm.rnn_cell(x[0], h[0, :1], *w),
        lambda: lm.lstm_cell(x[0], h[0], h[0, :1], *w),
        lambda: lm.gru_cell(x[0], h[0], *w),
        lambda: nn.LSTM(0, 3),
        lambda: nn.RNN(2, 3, nonlinearity="elu"),
        lambda: nn.GRU(2, 3, dropout=1.5),
    ):
        with pytest.raises(ValueError, match=r"^\[\w+\]"):
            call()


def by_cells(kind: str, x: lm.Tensor, states: list[lm.Tensor], w: list[lm.Tensor]) -> list[lm.Tensor]:
    """A network of one layer, by operators that are not recurrent."""
    parts, gate = [], lm.sigmoid
    for i in range(x.shape[0]):
        a, b = x[i] @ w[0].T + w[2], states[0] @ w[1].T + w[3]
        hidden = states[0].shape[-1]
        ga = [a[..., k * hidden : (k + 1) * hidden] for k in range(GATES[kind])]
        gb = [b[..., k * hidden : (k + 1) * hidden] for k in range(GATES[kind])]
        if kind == "rnn":
            states = [lm.tanh(a + b)]
        elif kind == "lstm":
            c = gate(ga[1] + gb[1]) * states[1] + gate(ga[0] + gb[0]) * lm.tanh(ga[2] + gb[2])
            states = [gate(ga[3] + gb[3]) * lm.tanh(c), c]
        else:
            n = lm.tanh(ga[2] + gate(ga[0] + gb[0]) * gb[2])
            states = [n + gate(ga[1] + gb[1]) * (states[0] - n)]
        parts.append(states[0])
    return [lm.stack(parts), *states]


@pytest.mark.parametrize("hidden", [1, 7, 16, 37])
@pytest.mark.parametrize("used", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("kind", GATES)
def test_gradients_of_all_operands(kind: str, used: tuple[bool, bool], hidden: int, rng: np.random.Generator) -> None:
    """Whichever results count, in rows of vectors and of what remains, from operands of any layout."""
    operands = [
        rng.normal(size=(3, 5, 4)).swapaxes(0, 1),
        *(rng.normal(size=(hidden, 3)).T for _ in range(2 if kind == "lstm" else 1)),
        *weights(kind, 4, hidden, True, rng),
    ]
    states = 2 if kind == "lstm" else 1
    made = {}
    for name in ("network", "cells"):
        x, *rest = (lm.tensor(a, stop_gradient=False) for a in operands)
        if name == "cells":
            results = by_cells(kind, x, rest[:states], rest[states:])
            results = [results[0], *(r[None] for r in results[1:])]
        else:
            results = list(getattr(lm, kind)(x, *(s[None] for s in rest[:states]), rest[states:]))
        chosen = [r for r, wanted in zip(results, (used[0], *[used[1]] * states), strict=True) if wanted]
        total = sum(((r * lm.cos(r + k)).sum() for k, r in enumerate(chosen)), lm.asarray(0.0))
        made[name] = [total, *lm.grad([total], [x, *rest])]
    for got, expected in zip(made["network"], made["cells"], strict=True):
        np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_a_weight_of_two_products_counts_twice_in_second_derivatives(rng: np.random.Generator) -> None:
    x, h, w = (lm.tensor(rng.normal(size=s), stop_gradient=False) for s in ((2, 3), (2, 3), (9, 3)))

    def second(call: Any) -> list[np.ndarray]:
        first = lm.grad([(call() ** 2).sum()], [x, h, w], create_graph=True)
        return [g.numpy() for g in lm.grad([sum((g**2).sum() for g in first)], [x, h, w])]

    zeros = lm.zeros([9], dtype="float64")
    ours = second(lambda: lm.gru_cell(x, h, w, w))
    theirs = second(lambda: by_cells("gru", x[None], [h], [w, w, zeros, zeros])[1])
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_results_may_be_written_to_before_backward(rng: np.random.Generator) -> None:
    params = [lm.tensor(a, stop_gradient=False) for a in weights("lstm", 2, 3, False, rng)]
    x, state = lm.tensor(rng.normal(size=(4, 1, 2))), lm.zeros([1, 1, 3], dtype="float64")

    def gradients(write: bool) -> list[np.ndarray]:
        y, h, c = lm.lstm(x, state, state, params, has_biases=False)
        total = y.sum() + c.sum()
        if write:
            for result in (y, h, c):
                result.mul_(0.0)
        return [g.numpy() for g in lm.grad([total], params)]

    for a, b in zip(gradients(True), gradients(False), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_weight_that_is_written_to_before_backward_is_told(rng: np.random.Generator) -> None:
    params = [lm.tensor(a, stop_gradient=False) for a in weights("gru", 2, 3, False, rng)]
    y, _ = lm.gru(lm.ones([4, 1, 2], dtype="float64"), lm.zeros([1, 1, 3], dtype="float64"), params, has_biases=False)
    with lm.no_grad():
        params[1].mul_(2.0)
    with pytest.raises(RuntimeError, match="mul_"):
        y.sum().backward()


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("layout", ["broadcast", "every other", "backwards"])
def test_biases_of_any_layout(name: str, layout: str) -> None:
    """Products of this size go to a library that reads a row of numbers."""
    rng = np.random.default_rng(0)
    gates = {"rnn": 1, "lstm": 4, "gru": 3}[name] * 16

    def table(*shape: int) -> lm.Tensor:
        return lm.asarray(rng.uniform(-1, 1, shape).astype("float32"))

    numbers = table(2 * gates)
    bias = {
        "broadcast": lm.broadcast_to(numbers[:1], [gates]),
        "every other": numbers[::2],
        "backwards": numbers[:gates][::-1],
    }[layout]
    x, h = table(2, 32, 5), table(1, 32, 16)
    weights = [table(gates, 5), table(gates, 16), table(gates)]
    given = [h, h] if name == "lstm" else [h]

    def results(bias: lm.Tensor) -> list[np.ndarray]:
        leaf = lm.tensor(x, stop_gradient=False)
        y = getattr(lm, name)(leaf, *given, [*weights, bias])[0]
        return [y.detach().numpy(), lm.grad([y.sum()], [leaf])[0].numpy()]

    for found, want in zip(results(bias), results(bias.contiguous().clone()), strict=True):
        np.testing.assert_array_equal(found, want)
