"""The adaptive softmax: its probabilities by hand, and its loss by them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import lamella as lm
from lamella import nn

RNG = np.random.default_rng(14)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def by_hand(layer, x):
    """Log-probabilities of all classes: those of the head, and within each cluster those of the cluster beside."""
    weight = layer.head.weight.detach().numpy()
    head = log_softmax(x @ weight.T + (0 if layer.head.bias is None else layer.head.bias.detach().numpy()))
    first = layer.cutoffs[0]
    parts = [head[:, :first]]
    for i, cluster in enumerate(layer.tail):
        down, up = (part.weight.detach().numpy() for part in cluster)
        parts.append(log_softmax(x @ down.T @ up.T) + head[:, first + i, None])
    return np.concatenate(parts, 1)


@pytest.mark.parametrize("head_bias", [True, False])
@pytest.mark.parametrize("cutoffs", [[3], [2, 5, 9], [1, 2]])
def test_probabilities(cutoffs, head_bias):
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 12, cutoffs, 2.0, head_bias, dtype="float64")
    assert [part.out_features for part, _ in layer.tail] == [8 // 2 ** (i + 1) for i in range(len(cutoffs))]
    x, target = RNG.normal(size=(12, 8)), RNG.permutation(12)
    expected = by_hand(layer, x)
    np.testing.assert_allclose(np.exp(expected).sum(1), 1)
    np.testing.assert_allclose(layer.log_prob(lm.asarray(x)).detach().numpy(), expected, rtol=1e-10)
    np.testing.assert_array_equal(layer.predict(lm.asarray(x)).numpy(), expected.argmax(1))
    output, loss = layer(lm.asarray(x), lm.asarray(target))
    np.testing.assert_allclose(output.detach().numpy(), expected[np.arange(12), target], rtol=1e-10)
    np.testing.assert_allclose(loss.item(), -expected[np.arange(12), target].mean(), rtol=1e-10)
    one = layer(lm.asarray(x[0]), lm.asarray(target[0]))
    assert one.output.shape == () and abs(one.output.item() - output[0].item()) < 1e-12
    twin = copy.deepcopy(layer)
    assert twin(lm.asarray(x), lm.asarray(target)).loss.item() == loss.item()
    twin.reset_parameters()
    assert twin(lm.asarray(x), lm.asarray(target)).loss.item() != loss.item()


def test_gradients():
    layer = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], 2.0, dtype="float64")
    x, target = lm.tensor(RNG.normal(size=(6, 4)), stop_gradient=False), lm.arange(6)
    lm.autograd.gradcheck(lambda x: layer(x, target).loss, (x,))
    layer(x, target).loss.backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())


def test_probabilities_in_a_graph():
    layer = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], 2.0)
    x = lm.asarray(RNG.normal(size=(3, 4)).astype("float32"))
    graph = lm.graph.Graph("probabilities")
    with lm.graph.recording(graph):
        result = layer.log_prob(graph.input("x", "float32", [3, 4]))
    got = graph.run({"x": x}, [result])[0]
    np.testing.assert_allclose(got.detach().numpy(), layer.log_prob(x).detach().numpy(), rtol=1e-5)


def test_what_is_refused():
    layer = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])
    for cutoffs in ([], [0], [6], [3, 2], [2, 2], [1.5]):
        with pytest.raises(ValueError, match=r"\[AdaptiveLogSoftmaxWithLoss\] cutoffs are ascending ints"):
            nn.AdaptiveLogSoftmaxWithLoss(4, 6, cutoffs)
    with pytest.raises(ValueError, match=r"input is \(n, in_features\)"):
        layer(lm.ones((2, 4)), lm.zeros((3,), dtype="int64"))
    for target in (6, -1):
        with pytest.raises(IndexError, match="none of 6 classes"):
            layer(lm.ones((1, 4)), lm.asarray([target]))
