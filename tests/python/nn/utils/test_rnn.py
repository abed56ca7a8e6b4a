"""Packed and padded sequences, and recurrent layers that take packed ones."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.nn.utils import rnn

RNG = np.random.default_rng(17)
LENGTHS = [[3, 2, 2, 1], [2, 4, 1, 4, 3], [1], [3, 3, 3]]


def sequences(lengths, *size):
    return [RNG.normal(size=(n, *size)) for n in lengths]


def tensors(arrays):
    return [lm.asarray(array) for array in arrays]


def padded(arrays, value=0.0, left=False, steps=None):
    steps = steps or max(len(array) for array in arrays)
    rows = []
    for array in arrays:
        filler = np.full((steps - len(array), *array.shape[1:]), value)
        rows.append(np.concatenate([filler, array] if left else [array, filler]))
    return np.stack(rows)


def steps_by_hand(arrays):
    """The first steps of all sequences from the longest to the shortest, then the second ones, ..."""
    order = sorted(range(len(arrays)), key=lambda i: -len(arrays[i]))
    longest = len(arrays[order[0]])
    rows = [arrays[i][t] for t in range(longest) for i in order if t < len(arrays[i])]
    return np.array(rows), [sum(len(array) > t for array in arrays) for t in range(longest)], order


@pytest.mark.parametrize("size", [(), (3,), (2, 3)], ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_packing(lengths, size):
    arrays = sequences(lengths, *size)
    rows, sizes, order = steps_by_hand(arrays)
    packed = rnn.pack_sequence(tensors(arrays), enforce_sorted=False)
    np.testing.assert_array_equal(packed.data.numpy(), rows)
    assert packed.batch_sizes.tolist() == sizes and packed.sorted_indices.tolist() == order
    assert rnn.invert_permutation(packed.sorted_indices).tolist() == packed.unsorted_indices.tolist()
    for got, array in zip(rnn.unpack_sequence(packed), arrays, strict=True):
        np.testing.assert_array_equal(got.numpy(), array)
    for batch_first in (True, False):
        x, counts = rnn.pad_packed_sequence(packed, batch_first, padding_value=7.0, total_length=max(lengths) + 2)
        expected = padded(arrays, 7.0, steps=max(lengths) + 2)
        np.testing.assert_array_equal(x.numpy(), expected if batch_first else expected.swapaxes(0, 1))
        assert counts.tolist() == lengths
        again = rnn.pack_padded_sequence(x, counts, batch_first, enforce_sorted=False)
        np.testing.assert_array_equal(again.data.numpy(), rows)
    if sorted(lengths, reverse=True) == lengths:
        packed = rnn.pack_sequence(tensors(arrays))
        assert packed.sorted_indices is None and packed.unsorted_indices is None
        np.testing.assert_array_equal(packed.data.numpy(), rows)
        np.testing.assert_array_equal(rnn.pad_packed_sequence(packed, True)[0].numpy(), padded(arrays))


@pytest.mark.parametrize("side", ["right", "left"])
def test_padding(side):
    arrays = sequences([2, 0, 3], 2)
    expected = padded(arrays, -1.0, side == "left")
    got = rnn.pad_sequence(tensors(arrays), True, -1.0, side)
    np.testing.assert_array_equal(got.numpy(), expected)
    got = rnn.pad_sequence(tensors(arrays), padding_value=-1.0, padding_side=side)
    np.testing.assert_array_equal(got.numpy(), expected.swapaxes(0, 1))
    if side == "right":
        for each, array in zip(rnn.unpad_sequence(got, [2, 0, 3]), arrays, strict=True):
            np.testing.assert_array_equal(each.numpy(), array)


def test_gradients_go_through_packing():
    x = lm.tensor(RNG.normal(size=(3, 4, 2)), stop_gradient=False)
    lengths = [2, 4, 3]
    packed = rnn.pack_padded_sequence(x, lengths, True, False)
    (rnn.pad_packed_sequence(packed, True)[0] * 3).sum().backward()
    expected = np.where(np.arange(4)[:, None] < np.array(lengths)[:, None, None], 3.0, 0.0)
    np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(expected, (3, 4, 2)))


def test_packed_sequences_move_and_are_copied():
    packed = rnn.pack_sequence(tensors(sequences([2, 1], 3)))
    assert packed.to("float32").data.dtype == lm.float32 and not packed.is_cuda
    for twin in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        assert isinstance(twin, rnn.PackedSequence)
        np.testing.assert_array_equal(rnn.unpack_sequence(twin)[0].numpy(), rnn.unpack_sequence(packed)[0].numpy())


def states_of(layer, n):
    """First states of a batch: one tensor, or the pair of an LSTM."""
    shape = (layer.num_layers * (1 + layer.bidirectional), n, layer.hidden_size)
    made = [lm.asarray(RNG.normal(size=shape)) for _ in range(1 + isinstance(layer, nn.LSTM))]
    return tuple(made) if isinstance(layer, nn.LSTM) else made[0]


def one_of(states, i):
    return tuple(s[:, i] for s in states) if isinstance(states, tuple) else states[:, i]


def arrays_of(states):
    return [s.detach().numpy() for s in (states if isinstance(states, tuple) else (states,))]


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_layers(kind, num_layers, bidirectional, given):
    """Each sequence of a packed batch gives what it gives alone, and so do gradients."""
    layer = kind(3, 2, num_layers, bias=num_layers > 1, bidirectional=bidirectional, dtype="float64")
    for lengths in LENGTHS:
        arrays = sequences(lengths, 3)
        states = states_of(layer, len(arrays)) if given else None
        output, last = layer(rnn.pack_sequence(tensors(arrays), enforce_sorted=False), states)
        assert isinstance(output, rnn.PackedSequence)
        alone = 0.0
        for i, (got, x) in enumerate(zip(rnn.unpack_sequence(output), tensors(arrays), strict=True)):
            expected, final = layer(x, None if states is None else one_of(states, i))
            np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-13)
            for mine, its in zip(arrays_of(last), arrays_of(final), strict=True):
                np.testing.assert_allclose(mine[:, i], its, rtol=1e-10, atol=1e-13)
            alone = alone + (expected**2).sum()
        layer.zero_grad()
        (output.data**2).sum().backward()
        packed_gradients = [p.grad.numpy().copy() for p in layer.parameters()]
        layer.zero_grad()
        alone.backward()
        for mine, parameter in zip(packed_gradients, layer.parameters(), strict=True):
            np.testing.assert_allclose(mine, parameter.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_dropout_between_layers():
    layer = nn.GRU(3, 4, 2, dropout=0.5)
    packed = rnn.pack_sequence([lm.randn((4, 3)), lm.randn((2, 3))])
    assert (layer(packed)[0].data.detach().numpy() != layer(packed)[0].data.detach().numpy()).any()
    layer.eval()
    np.testing.assert_array_equal(layer(packed)[0].data.detach().numpy(), layer(packed)[0].data.detach().numpy())


def test_what_is_refused():
    x = lm.ones((4, 2, 3))
    packed = rnn.pack_padded_sequence(x, [4, 2])
    for call, error, message in (
        (lambda: rnn.pack_padded_sequence(x, [2, 4]), ValueError, r"\[pack_padded_sequence\] .* enforce_sorted=False"),
        (lambda: rnn.pack_padded_sequence(x, [4, 0]), ValueError, "between 1 and 4 steps"),
        (lambda: rnn.pack_padded_sequence(x, [5, 1]), ValueError, "between 1 and 4 steps"),
        (lambda: rnn.pack_padded_sequence(x, [4]), ValueError, "2 sequences and 1 lengths"),
        (lambda: rnn.pack_padded_sequence(x, [4.0, 2.0]), ValueError, "lengths are integers"),
        (lambda: rnn.pack_padded_sequence(x[:, :0], []), ValueError, "between 1 and 4 steps"),
        (lambda: rnn.pack_padded_sequence([1.0], [1]), TypeError, "x is a Tensor, not list"),
        (lambda: rnn.pad_packed_sequence(packed, total_length=3), ValueError, r"total_length is 3"),
        (lambda: rnn.pad_sequence([]), ValueError, r"\[pad_sequence\] there are no sequences"),
        (lambda: rnn.pad_sequence([1]), TypeError, r"\[pad_sequence\] sequences are tensors, got \['int'\]"),
        (lambda: rnn.pad_sequence([lm.ones((2, 3)), lm.ones((2, 4))]), ValueError, "differ in their length only"),
        (lambda: rnn.pad_sequence([lm.ones((2,))], padding_side="top"), ValueError, "'left' or 'right', not 'top'"),
        (lambda: rnn.unpad_sequence(x, [5, 1]), ValueError, r"\[unpad_sequence\] there are 2 sequences of at most 4"),
    ):
        with pytest.raises(error, match=message):
            call()
