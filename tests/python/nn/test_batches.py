"""Every layer on batches, on one example, and on none: results belong to the example and not to its batch."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import nn

RNG = np.random.default_rng(20)
SIZES = {1: (6,), 2: (5, 6), 3: (4, 5, 6)}

#: Layers and the shape of one example of theirs, without the batch.
CASES = [
    *((nn.Linear(3, 4), (3,)), (nn.Flatten(), (3, 2)), (nn.GroupNorm(2, 4), (4, 3)), (nn.LayerNorm(3), (2, 3))),
    *((nn.RMSNorm(3), (2, 3)), (nn.BatchNorm1d(3), (3,)), (nn.PReLU(3), (3, 2)), (nn.Maxout(2), (4, 3))),
    *((nn.ChannelShuffle(2), (4, 3)), (nn.PixelShuffle(2), (4, 2, 3)), (nn.PixelUnshuffle(2), (3, 2, 4))),
    *((nn.Softmax2d(), (3, 2, 4)), (nn.Upsample((3, 4)), (2, 2, 3)), (nn.LocalResponseNorm(2), (4, 3))),
    *((nn.Unfold(2), (2, 3, 4)), (nn.Fold((2, 3), 2), (4, 2)), (nn.GLU(), (4,)), (nn.Unflatten(-1, (2, 2)), (3, 4))),
    *((nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (3, 4)), (nn.RNN(3, 4, batch_first=True), (5, 3))),
    *((nn.LSTM(3, 4, 2, batch_first=True), (5, 3)), (nn.GRU(3, 4, bidirectional=True, batch_first=True), (5, 3))),
    *((nn.GRUCell(3, 4), (3,)), (nn.LSTMCell(3, 4), (3,)), (nn.RNNCell(3, 4), (3,))),
    *(
        (getattr(nn, f"{name}{axes}d")(*arguments), (2, *size))
        for name, arguments in {
            "Conv": (2, 4, 2, 2, 1),
            "ConvTranspose": (2, 4, 2, 2, 1),
            "MaxPool": (2,),
            "AvgPool": (3, 2, 1),
            "LPPool": (2, 2),
            "AdaptiveAvgPool": (2,),
            "AdaptiveMaxPool": (3,),
            "InstanceNorm": (2,),
            "BatchNorm": (2,),
            "ReflectionPad": (1,),
            "CircularPad": (2,),
            "Dropout": (),
        }.items()
        for axes, size in SIZES.items()
    ),
]
#: Layers whose input is a batch in any case.
BATCHES = (
    *("BatchNorm", "GroupNorm", "PReLU", "Maxout", "ChannelShuffle", "Upsample", "LocalResponseNorm", "Flatten"),
    "LPPool",
)


def arrays(result):
    """The tensors of a result, in order."""
    if isinstance(result, tuple):
        return [array for item in result for array in arrays(item)]
    return [result.detach().numpy()]


def batch_axis(layer, index):
    """Where the batch is in a result: last states of recurrent networks have their layers first."""
    return 1 if isinstance(layer, (nn.RNN, nn.LSTM, nn.GRU)) and index else 0


@pytest.mark.parametrize(
    ("layer", "shape"), [pytest.param(*case, id=f"{i}-{type(case[0]).__name__}") for i, case in enumerate(CASES)]
)
def test_examples_of_a_batch(layer, shape):
    layer = copy.deepcopy(layer).to("float64").eval()
    x = RNG.normal(size=(3, *shape))
    whole = arrays(layer(lm.asarray(x)))
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        for mine, its in zip(whole, arrays(twin(lm.asarray(x))), strict=True):
            np.testing.assert_array_equal(mine, its)
    for i in range(3):
        one = arrays(layer(lm.asarray(x[i : i + 1])))
        alone = None if type(layer).__name__.startswith(BATCHES) else arrays(layer(lm.asarray(x[i])))
        for j, (mine, its) in enumerate(zip(whole, one, strict=True)):
            axis = batch_axis(layer, j)
            np.testing.assert_allclose(np.take(mine, [i], axis), its, rtol=1e-9, atol=1e-12)
            if alone is not None:
                np.testing.assert_allclose(np.take(mine, i, axis), alone[j], rtol=1e-9, atol=1e-12)
    for j, (mine, none) in enumerate(zip(whole, arrays(layer(lm.zeros((0, *shape), dtype="float64"))), strict=True)):
        expected = list(mine.shape)
        expected[batch_axis(layer, j)] = 0
        assert list(none.shape) == expected
