"""Recurrent layers with all options, packed sequences, attention and transformers."""

import torch
from recording import add, layer, tensor, x
from torch import nn
from torch.nn.utils import rnn


def settings(kind):
    """Yields options of a recurrent layer."""
    yield from [{}, {"num_layers": 2}, {"bidirectional": True}, {"batch_first": True}, {"bias": False}]
    yield {"num_layers": 2, "bidirectional": True, "batch_first": True, "dropout": 0.0}
    if kind == "LSTM":
        yield from [{"proj_size": 2}, {"proj_size": 3, "num_layers": 2, "bidirectional": True}]
    if kind == "RNN":
        yield {"nonlinearity": "relu", "num_layers": 2}


for kind in ("RNN", "GRU", "LSTM"):
    for number, options in enumerate(settings(kind)):
        make = lambda k=kind, o=options: getattr(nn, k)(3, 4, **o)  # noqa: E731
        add(f"rnn.{kind}/{number}", layer(make, x(5, 2, 3)))
        add(f"rnn.{kind}/{number}/unbatched", layer(make, x(5, 3)))
        rows = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        state = x(rows, 5 if options.get("batch_first") else 2, options.get("proj_size") or 4)
        if kind == "LSTM":
            cell = x(rows, 5 if options.get("batch_first") else 2, 4)
            add(
                f"rnn.{kind}/{number}/state", layer(make, x(5, 2, 3), state, cell, call=lambda m, a, h, c: m(a, (h, c)))
            )
        else:
            add(f"rnn.{kind}/{number}/state", layer(make, x(5, 2, 3), state))
        for ordered in (True, False):
            lengths = [5, 3, 2, 1] if ordered else [2, 5, 1, 3]

            def packed(module, values, lengths=lengths, ordered=ordered):
                first = module.batch_first
                sequence = rnn.pack_padded_sequence(values, lengths, batch_first=first, enforce_sorted=ordered)
                output, state = module(sequence)
                padded, sizes = rnn.pad_packed_sequence(output, batch_first=first, padding_value=-1.0)
                return padded, state, sizes

            add(
                f"rnn.{kind}/{number}/packed{ordered}",
                layer(make, x(4, 5, 3) if options.get("batch_first") else x(5, 4, 3), call=packed),
            )
add("rnn.RNNCell", layer(lambda: nn.RNNCell(3, 4), x(2, 3), x(2, 4)))
add("rnn.RNNCell/relu", layer(lambda: nn.RNNCell(3, 4, nonlinearity="relu", bias=False), x(2, 3)))
add("rnn.GRUCell", layer(lambda: nn.GRUCell(3, 4), x(2, 3), x(2, 4)))
add("rnn.GRUCell/alone", layer(lambda: nn.GRUCell(3, 4), x(3)))
add("rnn.LSTMCell", layer(lambda: nn.LSTMCell(3, 4), x(2, 3)))
add(
    "rnn.LSTMCell/state",
    layer(lambda: nn.LSTMCell(3, 4, bias=False), x(2, 3), x(2, 4), x(2, 4), call=lambda m, a, h, c: m(a, (h, c))),
)


def packing(rng):
    """Returns what packing functions make of sequences."""
    rows = [tensor(rng, n, 2) for n in (4, 2, 3)]
    packed = rnn.pack_sequence(rows, enforce_sorted=False)
    return {
        "packed": [packed.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices],
        "padded": [
            rnn.pad_sequence(rows),
            rnn.pad_sequence(rows, True, 7.0),
            rnn.pad_sequence(rows, batch_first=True, padding_side="left"),
        ],
        "back": rnn.unpack_sequence(packed),
        "total": rnn.pad_packed_sequence(packed, total_length=6),
        "unpadded": rnn.unpad_sequence(rnn.pad_sequence(rows), torch.tensor([4, 2, 3])),
    }


add("rnn.packing", packing)

PADDING = torch.tensor([[False, False, False, True], [False, False, True, True]])
CAUSAL = torch.ones(3, 4, dtype=torch.bool).triu(1)
for number, (options, call) in enumerate(
    [
        ({}, lambda m, q, k, v: m(q, k, v)),
        ({"bias": False}, lambda m, q, k, v: m(q, k, v, need_weights=False)),
        ({"add_bias_kv": True, "add_zero_attn": True}, lambda m, q, k, v: m(q, k, v)),
        ({}, lambda m, q, k, v: m(q, k, v, key_padding_mask=PADDING)),
        ({}, lambda m, q, k, v: m(q, k, v, attn_mask=CAUSAL)),
        ({}, lambda m, q, k, v: m(q, k, v, attn_mask=CAUSAL.float() * -2.0, key_padding_mask=PADDING.float() * -3.0)),
        ({}, lambda m, q, k, v: m(q, k, v, attn_mask=CAUSAL.expand(4, 3, 4), average_attn_weights=False)),
        ({"add_bias_kv": True}, lambda m, q, k, v: m(q, k, v, key_padding_mask=PADDING, attn_mask=CAUSAL)),
    ]
):
    add(
        f"attention/{number}",
        layer(lambda o=options: nn.MultiheadAttention(6, 2, **o), x(3, 2, 6), x(4, 2, 6), x(4, 2, 6), call=call),
    )
add(
    "attention/sizes",
    layer(lambda: nn.MultiheadAttention(6, 3, kdim=4, vdim=5, batch_first=True), x(2, 3, 6), x(2, 4, 4), x(2, 4, 5)),
)
add("attention/unbatched", layer(lambda: nn.MultiheadAttention(6, 3), x(3, 6), x(4, 6), x(4, 6)))
add(
    "attention/self",
    layer(
        lambda: nn.MultiheadAttention(6, 3, batch_first=True),
        x(2, 4, 6),
        call=lambda m, q: m(q, q, q, is_causal=True, attn_mask=torch.ones(4, 4).triu(1).bool()),
    ),
)
for number, options in enumerate(
    [{}, {"norm_first": True, "activation": "gelu"}, {"batch_first": True, "bias": False}]
):
    common = {"dropout": 0.0, "dim_feedforward": 8, **options}
    add(
        f"transformer.encoder_layer/{number}", layer(lambda o=common: nn.TransformerEncoderLayer(6, 2, **o), x(3, 2, 6))
    )
    add(
        f"transformer.decoder_layer/{number}",
        layer(
            lambda o=common: nn.TransformerDecoderLayer(6, 2, **o),
            x(3, 2, 6),
            x(3, 4, 6) if options.get("batch_first") else x(4, 2, 6),
        ),
    )
    add(
        f"transformer.whole/{number}",
        layer(
            lambda o=common: nn.Transformer(6, 2, 2, 2, **o),
            x(3, 3, 6),
            x(3, 3, 6),
            call=lambda m, a, b: m(a, b, tgt_mask=nn.Transformer.generate_square_subsequent_mask(3)),
        ),
    )
add(
    "transformer.encoder",
    layer(
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, 0.0, batch_first=True), 2, nn.LayerNorm(6)),
        x(2, 4, 6),
        call=lambda m, a: m(a, src_key_padding_mask=PADDING)[~PADDING],
    ),
)
add(
    "transformer.encoder/mask",
    layer(
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, 0.0), 2, enable_nested_tensor=False),
        x(4, 2, 6),
        call=lambda m, a: m(a, mask=nn.Transformer.generate_square_subsequent_mask(4), is_causal=True),
    ),
)
add(
    "transformer.decoder",
    layer(
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8, 0.0, batch_first=True), 2),
        x(2, 3, 6),
        x(2, 4, 6),
        call=lambda m, a, b: m(a, b, memory_key_padding_mask=PADDING, tgt_mask=torch.ones(3, 3).triu(1).bool()),
    ),
)
