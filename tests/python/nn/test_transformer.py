"""Transformers against their formulas in numpy."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import nn

RNG = np.random.default_rng(13)
SIZE, HEADS, HIDDEN = 6, 2, 5


def array(x):
    return x.detach().numpy()


def linear(layer, x):
    return x @ array(layer.weight).T + (0 if layer.bias is None else array(layer.bias))


def norm(layer, x):
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + layer.eps)
    return y * array(layer.weight) + (0 if layer.bias is None else array(layer.bias))


def attend(layer, q, k, hidden):
    """Attention of one sequence [L, size] to another [S, size]; `hidden` [L, S] is true where a key is not seen."""
    heads = []
    parts = [linear(p, x) for p, x in ((layer.q_proj, q), (layer.k_proj, k), (layer.v_proj, k))]
    for q, k, v in zip(*[np.split(part, layer.num_heads, axis=-1) for part in parts], strict=True):
        scores = np.where(hidden, -np.inf, q @ k.T / np.sqrt(q.shape[-1]))
        e = np.exp(scores - scores.max(-1, keepdims=True))
        heads.append(e / e.sum(-1, keepdims=True) @ v)
    return linear(layer.out_proj, np.concatenate(heads, -1))


def relu(x):
    return np.maximum(x, 0)


def blocks(layer, x, steps):
    """Residual blocks, each a norm and a function, in the layer's order."""
    for each, function in steps:
        x = x + function(norm(each, x)) if layer.norm_first else norm(each, x + function(x))
    return x


def feed_forward(layer):
    return lambda x: linear(layer.linear2, relu(linear(layer.linear1, x)))


def encoder_layer(layer, x, hidden):
    return blocks(
        layer, x, [(layer.norm1, lambda x: attend(layer.self_attn, x, x, hidden)), (layer.norm2, feed_forward(layer))]
    )


def decoder_layer(layer, x, memory, hidden, hidden_memory):
    return blocks(
        layer,
        x,
        [
            (layer.norm1, lambda x: attend(layer.self_attn, x, x, hidden)),
            (layer.norm2, lambda x: attend(layer.multihead_attn, x, memory, hidden_memory)),
            (layer.norm3, feed_forward(layer)),
        ],
    )


def causal(length):
    return np.triu(np.ones((length, length), bool), 1)


def stirred(module):
    """Gives norms and biases values of their own, too."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, 0.0, 0.5)
    return module


def make(kind, **settings):
    return stirred(kind(SIZE, HEADS, HIDDEN, dtype="float64", **settings)).eval()


def turned(x, batch_first):
    """A batch [n, length, size] in a module's layout."""
    return lm.asarray(x if batch_first else x.swapaxes(0, 1).copy())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_encoder_layer(norm_first, batch_first, bias):
    layer = make(nn.TransformerEncoderLayer, norm_first=norm_first, batch_first=batch_first, bias=bias)
    x = RNG.normal(size=(3, 4, SIZE))
    padding = np.zeros((3, 4), bool)
    padding[1, 3:] = padding[2, 2:] = True
    mask = np.zeros((4, 4), bool)
    mask[0, 1] = mask[2, 0] = True
    for pairs, padded, options in (
        (np.zeros((4, 4), bool), None, {}),
        (causal(4), None, {"is_causal": True}),
        (mask, None, {"src_mask": lm.asarray(mask)}),
        (mask, None, {"src_mask": lm.asarray(np.where(mask, -np.inf, 0.0))}),
        (
            mask | causal(4),
            padding,
            {"src_mask": lm.asarray(mask), "src_key_padding_mask": lm.asarray(padding), "is_causal": True},
        ),
        (mask, padding, {"src_mask": lm.asarray(mask), "src_key_padding_mask": lm.asarray(padding)}),
        (causal(4), padding, {"is_causal": True, "src_key_padding_mask": lm.asarray(padding)}),
    ):
        got = layer(turned(x, batch_first), **options)
        for i in range(3):
            expected = encoder_layer(layer, x[i], pairs if padded is None else pairs | padded[i])
            each = array(got)[i] if batch_first else array(got)[:, i]
            np.testing.assert_allclose(each, expected, rtol=1e-9, atol=1e-11)
    alone = encoder_layer(layer, x[0], np.zeros((4, 4), bool))
    np.testing.assert_allclose(array(layer(lm.asarray(x[0]))), alone, rtol=1e-9, atol=1e-11)
    assert layer(turned(x[:0], batch_first)).shape == turned(x[:0], batch_first).shape
    assert (layer.linear1.bias is None) == (layer.norm1.bias is None) == (not bias)


@pytest.mark.parametrize("norm_first", [True, False])
def test_decoder_layer(norm_first):
    layer = make(nn.TransformerDecoderLayer, norm_first=norm_first, batch_first=True)
    x, memory = RNG.normal(size=(3, 4, SIZE)), RNG.normal(size=(3, 5, SIZE))
    padding = np.zeros((3, 5), bool)
    padding[1, 3:] = True
    unseen = np.zeros((4, 5), bool)
    unseen[1, 2] = True
    for pairs, hidden, padded, options in (
        (np.zeros((4, 4), bool), np.zeros((4, 5), bool), None, {}),
        (causal(4), unseen, None, {"tgt_is_causal": True, "memory_mask": lm.asarray(unseen)}),
        (causal(4), unseen, padding, {"tgt_mask": lm.asarray(causal(4)), "memory_mask": lm.asarray(unseen),
                                      "memory_key_padding_mask": lm.asarray(padding)}),
    ):  # fmt: skip
        got = array(layer(lm.asarray(x), lm.asarray(memory), **options))
        for i in range(3):
            expected = decoder_layer(layer, x[i], memory[i], pairs, hidden if padded is None else hidden | padded[i])
            np.testing.assert_allclose(got[i], expected, rtol=1e-9, atol=1e-11)


def test_transformer():
    net = stirred(nn.Transformer(SIZE, HEADS, 2, 2, HIDDEN, batch_first=True, dtype="float64")).eval()
    src, tgt = RNG.normal(size=(2, 5, SIZE)), RNG.normal(size=(2, 4, SIZE))
    mask = nn.Transformer.generate_square_subsequent_mask(4, dtype="float64")
    np.testing.assert_array_equal(mask.numpy(), np.where(causal(4), -np.inf, 0.0))
    got = array(net(lm.asarray(src), lm.asarray(tgt), tgt_mask=mask))
    np.testing.assert_allclose(array(net(lm.asarray(src), lm.asarray(tgt), tgt_is_causal=True)), got, rtol=1e-9)
    for i in range(2):
        memory, x = src[i], tgt[i]
        for layer in net.encoder.layers:
            memory = encoder_layer(layer, memory, np.zeros((5, 5), bool))
        memory = norm(net.encoder.norm, memory)
        for layer in net.decoder.layers:
            x = decoder_layer(layer, x, memory, causal(4), np.zeros((4, 5), bool))
        np.testing.assert_allclose(got[i], norm(net.decoder.norm, x), rtol=1e-9, atol=1e-11)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        np.testing.assert_array_equal(array(twin(lm.asarray(src), lm.asarray(tgt), tgt_mask=mask)), got)
    other = nn.Transformer(SIZE, HEADS, 2, 2, HIDDEN, batch_first=True, dtype="float64").eval()
    other.load_state_dict(net.state_dict())
    np.testing.assert_array_equal(array(other(lm.asarray(src), lm.asarray(tgt), tgt_mask=mask)), got)


def test_layers_of_a_stack_share_nothing():
    layer = nn.TransformerEncoderLayer(SIZE, HEADS, HIDDEN)
    stack = nn.TransformerEncoder(layer, 2)
    first, second = stack.layers
    assert first.linear1.weight.tolist() == second.linear1.weight.tolist() == layer.linear1.weight.tolist()
    assert len({id(p) for p in stack.parameters()}) == 2 * len(list(layer.parameters()))
    assert stack.norm is None


def test_starting_values():
    net = nn.Transformer(SIZE, HEADS, 1, 1, 64)
    bound = np.sqrt(6 / (SIZE + 64))
    weight = array(net.encoder.layers[0].linear1.weight)
    assert 0.9 * bound < np.abs(weight).max() <= bound
    encoder, decoder = nn.Identity(), nn.Identity()
    custom = nn.Transformer(SIZE, HEADS, custom_encoder=encoder, custom_decoder=decoder)
    assert custom.encoder is encoder and custom.decoder is decoder


def test_dropout_is_of_training_only():
    layer = make(nn.TransformerEncoderLayer, dropout=0.5)
    x = lm.asarray(RNG.normal(size=(4, 2, SIZE)))
    np.testing.assert_array_equal(array(layer(x)), array(layer(x)))
    layer.train()
    assert (array(layer(x)) != array(layer(x))).any()


def test_gradients():
    x, memory = (lm.tensor(RNG.normal(size=(2, 3, SIZE)), stop_gradient=False) for _ in range(2))
    layer = make(nn.TransformerDecoderLayer, dropout=0.0, norm_first=True, activation=lm.tanh)
    lm.autograd.gradcheck(lambda x, m: layer(x, m, tgt_is_causal=True), (x, memory), fast_mode=True)
    layer(x, memory).sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())


def test_activations():
    x = lm.asarray(RNG.normal(size=(2, 3, SIZE)))
    named, given = (make(nn.TransformerEncoderLayer, activation=f) for f in ("gelu", lm.gelu))
    given.load_state_dict(named.state_dict())
    np.testing.assert_array_equal(array(named(x)), array(given(x)))


def test_what_is_refused():
    layer = nn.TransformerEncoderLayer(SIZE, HEADS, HIDDEN)
    net = nn.Transformer(SIZE, HEADS, 1, 1, HIDDEN)
    for call, error, message in (
        (lambda: nn.TransformerEncoderLayer(SIZE, 4), ValueError, r"\[MultiheadAttention\] embed_dim"),
        (lambda: nn.TransformerEncoderLayer(SIZE, HEADS, activation="sinus"), ValueError,
         r"\[TransformerEncoderLayer\] activation is 'relu', 'gelu' or a function, not 'sinus'"),
        (lambda: nn.TransformerEncoder(layer, 0), ValueError, r"\[TransformerEncoder\] num_layers is an int"),
        (lambda: nn.TransformerDecoder(3, 1), TypeError, r"\[TransformerDecoder\] a layer is a Module, not int"),
        (lambda: net(lm.ones((3, 2, SIZE)), lm.ones((3, 1, SIZE))), ValueError, r"\[Transformer\] src and tgt have"),
        (lambda: net(lm.ones((3, 2, 5)), lm.ones((3, 2, SIZE))), ValueError, r"\[Transformer\] .* vectors of size 6"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            call()
