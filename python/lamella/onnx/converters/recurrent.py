"""Recurrent cells and networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._builder import (
    Value,
    cast,
    concat,
    constant,
    op,
    ops,
    reshape,
    size,
    slice_axis,
    squeeze,
    swap,
    transpose,
    unsqueeze,
)
from .._registry import builtin


def _gates(x: Value, weight: Value, bias: Value | None, dtype: Any) -> Value:
    y = op("MatMul", cast(x, dtype), swap(cast(weight, dtype), 0, 1))
    return y if bias is None else y + cast(bias, dtype)


def _parts(x: Value, count: int) -> tuple[Value, ...]:
    width = x.shape[-1] // count
    if width < 0:
        raise NotImplementedError("[rnn] an exported model needs the sizes of the weights")
    return ops("Split", x, [width] * count, outputs=count, axis=-1)


@builtin("rnn_cell")
def rnn_cell(
    x: Value,
    h: Value,
    weight_ih: Value,
    weight_hh: Value,
    bias_ih: Value | None = None,
    bias_hh: Value | None = None,
    nonlinearity: str = "tanh",
    meta_outputs: Any = None,
) -> Value:
    """One step of Elman's network."""
    dtype = meta_outputs.dtype
    total = _gates(x, weight_ih, bias_ih, dtype) + _gates(h, weight_hh, bias_hh, dtype)
    return op("Relu" if nonlinearity == "relu" else "Tanh", total)


@builtin("lstm_cell")
def lstm_cell(
    x: Value,
    h: Value,
    c: Value,
    weight_ih: Value,
    weight_hh: Value,
    bias_ih: Value | None = None,
    bias_hh: Value | None = None,
    meta_outputs: Any = None,
) -> list[Value]:
    """One step of a long short-term memory."""
    dtype = meta_outputs[0].dtype
    total = _gates(x, weight_ih, bias_ih, dtype) + _gates(h, weight_hh, bias_hh, dtype)
    i, f, g, o = _parts(total, 4)
    state = op("Sigmoid", f) * cast(c, dtype) + op("Sigmoid", i) * op("Tanh", g)
    return [op("Sigmoid", o) * op("Tanh", state), state]


@builtin("gru_cell")
def gru_cell(
    x: Value,
    h: Value,
    weight_ih: Value,
    weight_hh: Value,
    bias_ih: Value | None = None,
    bias_hh: Value | None = None,
    meta_outputs: Any = None,
) -> Value:
    """One step of a gated recurrent unit."""
    dtype = meta_outputs.dtype
    h = cast(h, dtype)
    r_x, z_x, n_x = _parts(_gates(x, weight_ih, bias_ih, dtype), 3)
    r_h, z_h, n_h = _parts(_gates(h, weight_hh, bias_hh, dtype), 3)
    n = op("Tanh", n_x + op("Sigmoid", r_x + r_h) * n_h)
    return n + op("Sigmoid", z_x + z_h) * (h - n)


#: The order of ONNX's gates among Lamella's.
_ORDER = {"RNN": [0], "LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2]}


def _reordered(x: Value, kind: str, hidden: int) -> Value:
    """Returns weights with their gates in ONNX's order."""
    order = _ORDER[kind]
    if order == list(range(len(order))):
        return x
    rows = np.concatenate([np.arange(gate * hidden, (gate + 1) * hidden) for gate in order])
    return op("Gather", x, constant(rows.astype("int64")), axis=0)


def _network(
    kind: str,
    x: Value,
    states: Sequence[Value],
    params: Sequence[Value],
    num_layers: int,
    bidirectional: bool,
    has_biases: bool,
    dtype: Any,
    **settings: Any,
) -> list[Value]:
    directions = 1 + bidirectional
    alone = x.ndim == 2
    x = cast(x, dtype)
    states = [cast(s, dtype) for s in states]
    if alone:
        x, states = unsqueeze(x, 1), [unsqueeze(s, 1) for s in states]
    hidden = params[1].shape[-1]
    if hidden < 0:
        raise NotImplementedError("[rnn] an exported model needs the sizes of the weights")
    each = 4 if has_biases else 2
    lasts: list[list[Value]] = [[] for _ in states]
    for layer in range(num_layers):
        groups = []
        for direction in range(directions):
            first = (layer * directions + direction) * each
            groups.append([_reordered(cast(p, dtype), kind, hidden) for p in params[first : first + each]])
        w, r = (concat([unsqueeze(group[i], 0) for group in groups], 0) for i in (0, 1))
        b = None
        if has_biases:
            b = concat([unsqueeze(concat([group[2], group[3]], 0), 0) for group in groups], 0)
        place = layer * directions
        begin = [s if num_layers == 1 else slice_axis(s, 0, place, place + directions) for s in states]
        y, *ends = ops(
            kind,
            *(x, w, r, b, None, *begin),
            outputs=1 + len(states),
            hidden_size=hidden,
            direction="bidirectional" if bidirectional else "forward",
            **settings,
        )
        for last, end in zip(lasts, ends, strict=True):
            last.append(end)
        # [steps, directions, n, hidden] with the directions side by side.
        if bidirectional:
            x = reshape(transpose(y, [0, 2, 1, 3]), [size(x, 0), size(x, 1), 2 * hidden])
        else:
            x = squeeze(y, 1)
    results = [x, *(concat(last, 0) for last in lasts)]
    return [squeeze(part, 1) for part in results] if alone else results


@builtin("rnn")
def rnn(
    x: Value,
    h: Value,
    params: list[Value],
    nonlinearity: str = "tanh",
    num_layers: int = 1,
    bidirectional: bool = False,
    has_biases: bool = True,
    dropout: float = 0.0,
    training: bool = False,
    meta_outputs: Any = None,
) -> list[Value]:
    """Elman's network over sequences."""
    _check_dropout("rnn", dropout, training)
    activation = "Relu" if nonlinearity == "relu" else "Tanh"
    return _network(
        "RNN",
        x,
        [h],
        params,
        num_layers,
        bidirectional,
        has_biases,
        meta_outputs[0].dtype,
        activations=[activation] * (1 + bidirectional),
    )


def _check_dropout(name: str, dropout: float, training: bool) -> None:
    if training and dropout > 0.0:
        raise NotImplementedError(f"[{name}] dropout between layers is exported in eval mode only")


@builtin("lstm")
def lstm(
    x: Value,
    h: Value,
    c: Value,
    params: list[Value],
    num_layers: int = 1,
    bidirectional: bool = False,
    has_biases: bool = True,
    dropout: float = 0.0,
    training: bool = False,
    meta_outputs: Any = None,
) -> list[Value]:
    """A long short-term memory over sequences."""
    _check_dropout("lstm", dropout, training)
    return _network("LSTM", x, [h, c], params, num_layers, bidirectional, has_biases, meta_outputs[0].dtype)


@builtin("gru")
def gru(
    x: Value,
    h: Value,
    params: list[Value],
    num_layers: int = 1,
    bidirectional: bool = False,
    has_biases: bool = True,
    dropout: float = 0.0,
    training: bool = False,
    meta_outputs: Any = None,
) -> list[Value]:
    """Gated recurrent units over sequences."""
    _check_dropout("gru", dropout, training)
    dtype = meta_outputs[0].dtype
    return _network("GRU", x, [h], params, num_layers, bidirectional, has_biases, dtype, linear_before_reset=1)
