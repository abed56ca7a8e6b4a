"""Recurrent cells, and networks of them over sequences.

All weights and biases start uniform in ``±1 / sqrt(hidden_size)``. The gates of a cell stand one below the other in its
weights: input, forget, cell and output for the LSTM, reset, update and new for the GRU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm

from . import init
from ._packed import PackedSequence, segments
from .module import Module
from .parameter import Parameter


def _check_sizes(name: str, **sizes: int) -> None:
    for what, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"[{name}] {what} must be an int above 0, got {size!r}")


class _Recurrent(Module):
    """Base of cells and networks: their sizes, and the initialization of their parameters."""

    _gates = 1
    #: Size to which an LSTM's hidden states are projected; 0 where they are not.
    proj_size = 0

    def __init__(self, input_size: int, hidden_size: int, bias: bool) -> None:
        super().__init__()
        _check_sizes(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias

    def _add_weights(self, suffix: str, input_size: int, device: str | None, dtype: Any) -> list[str]:
        """Registers one cell's parameters, and returns their names."""
        rows = self._gates * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            f"weight_ih{suffix}": (rows, input_size),
            f"weight_hh{suffix}": (rows, self.proj_size or self.hidden_size),
        }
        if self.bias:
            shapes |= {f"bias_ih{suffix}": (rows,), f"bias_hh{suffix}": (rows,)}
        if self.proj_size:
            shapes[f"weight_hr{suffix}"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, name, Parameter(lm.zeros(shape, dtype=dtype, device=device)))
        return list(shapes)

    def reset_parameters(self) -> None:
        """Draws new starting values."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _zeros(self, x: lm.Tensor, *shape: int) -> lm.Tensor:
        """Returns a state; ``shape`` has -1 where only the run of a graph tells the size of that axis of x."""
        if -1 in shape:
            corner = x[tuple(slice(None) if n == -1 else slice(1) for n in shape)]
            return lm.tile(lm.zeros_like(corner), [1 if n == -1 else n for n in shape])
        return lm.zeros(shape, dtype=x.dtype, device=x.device)


class _Cell(_Recurrent):
    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias)
        self._names = self._add_weights("", input_size, device, dtype)
        self.reset_parameters()

    def _weights(self) -> list[lm.Tensor]:
        return [getattr(self, name) for name in self._names]

    def _state(self, x: lm.Tensor) -> lm.Tensor:
        return self._zeros(x, *x.shape[:-1], self.hidden_size)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"{self.input_size}, {self.hidden_size}, bias={self.bias}"


class RNNCell(_Cell):
    """One step of Elman's network, see :func:`lamella.rnn_cell`.

    Args:
        input_size: size of the last axis of ``x``.
        hidden_size: size of the last axis of the state.
        bias: False leaves the biases out.
        nonlinearity: "tanh" or "relu".
        device: of the parameters.
        dtype: of the parameters.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"[RNNCell] nonlinearity is 'tanh' or 'relu', not {nonlinearity!r}")
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, x: lm.Tensor, h: lm.Tensor | None = None) -> lm.Tensor:
        """Returns the next state; the first one is 0 where ``h`` is None."""
        state = self._state(x) if h is None else h
        w_ih, w_hh, *biases = self._weights()
        b_ih, b_hh = biases or (None, None)
        return lm.rnn_cell(x, state, w_ih, w_hh, b_ih, b_hh, nonlinearity=self.nonlinearity)


class LSTMCell(_Cell):
    """One step of a long short-term memory, see :func:`lamella.lstm_cell`. Arguments as for :class:`RNNCell`."""

    _gates = 4

    def forward(self, x: lm.Tensor, state: tuple[lm.Tensor, lm.Tensor] | None = None) -> tuple[lm.Tensor, lm.Tensor]:
        """Returns the next ``(h, c)``; the first ones are 0 where ``state`` is None."""
        h, c = (self._state(x), self._state(x)) if state is None else state
        h, c = lm.lstm_cell(x, h, c, *self._weights())
        return h, c


class GRUCell(_Cell):
    """One step of a gated recurrent unit, see :func:`lamella.gru_cell`. Arguments as for :class:`RNNCell`."""

    _gates = 3

    def forward(self, x: lm.Tensor, h: lm.Tensor | None = None) -> lm.Tensor:
        """Returns the next state; the first one is 0 where ``h`` is None."""
        return lm.gru_cell(x, self._state(x) if h is None else h, *self._weights())


class _Network(_Recurrent):
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias)
        _check_sizes(type(self).__name__, num_layers=num_layers)
        if not 0.0 <= dropout <= 1.0:
            raise ValueError(f"[{type(self).__name__}] dropout is a probability, not {dropout}")
        self.num_layers = num_layers
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        directions = ("", "_reverse") if bidirectional else ("",)
        self._names: list[str] = []
        for layer in range(num_layers):
            size = input_size if layer == 0 else (self.proj_size or hidden_size) * len(directions)
            for direction in directions:
                self._names += self._add_weights(f"_l{layer}{direction}", size, device, dtype)
        self.reset_parameters()

    def _settings(self) -> dict[str, Any]:
        return {
            "num_layers": self.num_layers,
            "bidirectional": self.bidirectional,
            "has_biases": self.bias,
            "dropout": self.dropout,
            "training": self.training,
        }

    def _weights(self) -> list[lm.Tensor]:
        return [getattr(self, name) for name in self._names]

    def _turned(self, x: lm.Tensor) -> lm.Tensor:
        """Returns x with the steps as axis 0, or back in the order of the batch."""
        return lm.swapaxes(x, 0, 1) if self.batch_first and x.ndim == 3 else x

    def _states(self, x: lm.Tensor) -> list[lm.Tensor]:
        """Returns the initial states for an ``x`` with the steps as axis 0."""
        return [self._zeros(x, self.num_layers * (1 + self.bidirectional), *x.shape[1:-1], self.hidden_size)]

    def _run(
        self, function: Callable[..., Any], x: lm.Tensor | PackedSequence, states: Sequence[lm.Tensor] | None
    ) -> tuple[Any, tuple[lm.Tensor, ...]]:
        """Returns the last layer's states, in the layout of ``x``, and the last ones, given the first ones."""
        if isinstance(x, PackedSequence):
            # The steps stand for a batch of one step: of their sizes only that of the batch counts.
            first = lm.expand_dims(x.data[: int(x.batch_sizes[0].item())], 0)
            return self._run_packed(function, x, self._states(first) if states is None else states)
        x = self._turned(x)
        given = self._states(x) if states is None else states
        outputs, *last = function(x, *given, self._weights(), **self._settings())
        return self._turned(outputs), tuple(last)

    def _run_packed(
        self, function: Callable[..., Any], packed: PackedSequence, states: Sequence[lm.Tensor]
    ) -> tuple[PackedSequence, tuple[lm.Tensor, ...]]:
        if packed.sorted_indices is not None:
            states = [lm.take(state, packed.sorted_indices, axis=1) for state in states]
        runs = list(segments(packed.batch_sizes))
        weights = self._weights()
        directions = 1 + self.bidirectional
        each = len(weights) // (self.num_layers * directions)
        data = packed.data
        last: list[list[lm.Tensor]] = []
        for layer in range(self.num_layers):
            if layer:
                data = lm.dropout(data, self.dropout, self.training)
            outputs = []
            for direction in range(directions):
                i = len(last)
                output, final = self._run_direction(
                    function, data, runs, [s[i] for s in states], weights[i * each : (i + 1) * each], direction == 1
                )
                outputs.append(output)
                last.append(final)
            data = lm.concat(outputs, axis=-1)
        finals = [lm.stack(list(parts)) for parts in zip(*last, strict=True)]
        if packed.unsorted_indices is not None:
            finals = [lm.take(final, packed.unsorted_indices, axis=1) for final in finals]
        return packed._replace(data=data), tuple(finals)

    def _run_direction(
        self,
        function: Callable[..., Any],
        data: lm.Tensor,
        runs: Sequence[tuple[int, int, int]],
        states: list[lm.Tensor],
        weights: list[lm.Tensor],
        reverse: bool,
    ) -> tuple[lm.Tensor, list[lm.Tensor]]:
        """Returns one direction of a layer: its states for each row of the data, and the last ones of each sequence.

        A run of steps that as many sequences have is one call. Going forward the shortest sequences end before others,
        going back they begin later.
        """
        settings = {**self._settings(), "num_layers": 1, "bidirectional": False, "dropout": 0.0}
        outputs = []
        current = [state[:0] for state in states] if reverse else states
        ended: list[list[lm.Tensor]] = []
        for row, steps, size in reversed(runs) if reverse else runs:
            before = current[0].shape[0]
            if size < before:
                ended.append([state[size:] for state in current])
                current = [state[:size] for state in current]
            elif size > before:
                current = [lm.concat([now, first[before:size]]) for now, first in zip(current, states, strict=True)]
            x = lm.reshape(data[row : row + steps * size], (steps, size, data.shape[-1]))
            y, *current = function(
                lm.flip(x, axis=0) if reverse else x, *[lm.expand_dims(s, 0) for s in current], weights, **settings
            )
            current = [lm.squeeze(s, 0) for s in current]
            outputs.append(lm.reshape(lm.flip(y, axis=0) if reverse else y, (steps * size, y.shape[-1])))
        final = [lm.concat([now, *(e[i] for e in reversed(ended))]) for i, now in enumerate(current)]
        return lm.concat(outputs[::-1] if reverse else outputs), final

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return (
            f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, bias={self.bias}, "
            f"batch_first={self.batch_first}, dropout={self.dropout}, bidirectional={self.bidirectional}"
            + (f", proj_size={self.proj_size}" if self.proj_size else "")
        )


class RNN(_Network):
    """Elman's network over sequences, see :func:`lamella.rnn`.

    Args:
        input_size: size of the last axis of ``x``.
        hidden_size: size of the last axis of a state.
        num_layers: layers, each of which goes over the states of the one before.
        bias: False leaves the biases out.
        batch_first: whether ``x`` and the result have the batch as axis 0 and the steps as axis 1.
        dropout: the probability with which elements between layers are dropped in training.
        bidirectional: whether each layer goes over its sequence in both directions, with states side by side.
        nonlinearity: "tanh" or "relu".
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, ...: the parameters of each layer.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"[RNN] nonlinearity is 'tanh' or 'relu', not {nonlinearity!r}")
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype)
        self.nonlinearity = nonlinearity

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "nonlinearity": self.nonlinearity}

    def forward(self, x: Any, h: lm.Tensor | None = None) -> tuple[Any, lm.Tensor]:
        """Goes over ``x``, of shape ``(steps, n, input_size)``, or ``(n, steps, input_size)`` with ``batch_first``.

        ``x`` may be a :class:`lamella.nn.utils.rnn.PackedSequence`; the result is then one, too, and sequences end with
        their own last steps.

        Returns:
            The last layer's states, and the last state of each layer's directions, ``(layers * directions, n,
            hidden_size)``, which is also the form of ``h``, the first states (0 for None).
        """
        outputs, (last,) = self._run(lm.rnn, x, None if h is None else (h,))
        return outputs, last


class LSTM(_Network):
    """A long short-term memory over sequences, see :func:`lamella.lstm`.

    Args:
        input_size: size of the last axis of ``x``.
        hidden_size: size of the last axis of a state.
        num_layers: layers, each of which goes over the states of the one before.
        bias: False leaves the biases out.
        batch_first: whether ``x`` and the result have the batch as axis 0 and the steps as axis 1.
        dropout: the probability with which elements between layers are dropped in training.
        bidirectional: whether each layer goes over its sequence in both directions, with states side by side.
        proj_size: a size below ``hidden_size`` to which ``h`` is projected, by ``weight_hr_l0`` and its kin (Sak et
            al. 2014, "Long short-term memory recurrent neural network architectures for large scale acoustic
            modeling"). Steps are then composed of operators, and slower.
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, ...: the parameters of each layer.
    """

    _gates = 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        if proj_size:
            _check_sizes("LSTM", proj_size=proj_size)
            if proj_size >= hidden_size:
                raise ValueError(f"[LSTM] proj_size is below hidden_size, got {proj_size} and {hidden_size}")
        # The shapes of the weights, which the base makes, depend on it.
        self.proj_size = proj_size
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype)

    def forward(
        self, x: Any, state: tuple[lm.Tensor, lm.Tensor] | None = None
    ) -> tuple[Any, tuple[lm.Tensor, lm.Tensor]]:
        """Computes the outputs and the last states, see :meth:`RNN.forward`, from a pair ``(h, c)`` of states."""
        if self.proj_size and not isinstance(x, PackedSequence):
            outputs, (h, c) = self._run_steps(self._turned(x), state)
        else:
            outputs, (h, c) = self._run(_projected if self.proj_size else lm.lstm, x, state)
        return outputs, (h, c)

    def _states(self, x: lm.Tensor) -> list[lm.Tensor]:
        layers = self.num_layers * (1 + self.bidirectional)
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)
        return [self._zeros(x, layers, *x.shape[1:-1], size) for size in sizes]

    def _run_steps(self, x: lm.Tensor, states: Sequence[lm.Tensor] | None) -> tuple[lm.Tensor, tuple[lm.Tensor, ...]]:
        """Runs sequences of one length, ``(steps, n, size)`` or ``(steps, size)``, as packed ones."""
        batch = x if x.ndim == 3 else lm.expand_dims(x, 1)
        steps, n = batch.shape[:2]
        given = self._states(batch)
        if states is not None:
            given = [state if x.ndim == 3 else lm.expand_dims(state, 1) for state in states]
        data = lm.reshape(batch, (steps * n, batch.shape[-1]))
        packed, last = self._run_packed(_projected, PackedSequence(data, lm.full((steps,), n, dtype="int64")), given)
        outputs = lm.reshape(packed.data, (steps, n, packed.data.shape[-1]))
        if x.ndim == 3:
            return self._turned(outputs), last
        return lm.squeeze(outputs, 1), tuple(lm.squeeze(state, 1) for state in last)


def _projected(
    x: lm.Tensor, h: lm.Tensor, c: lm.Tensor, weights: Sequence[lm.Tensor], has_biases: bool, **_: Any
) -> tuple[lm.Tensor, lm.Tensor, lm.Tensor]:
    """One layer of :func:`lamella.lstm` in one direction, whose ``h`` is projected in each step."""
    w_ih, w_hh, *biases, w_hr = weights
    b_ih, b_hh = biases if has_biases else (None, None)
    gates = lm.linear(x, w_ih, b_ih)
    h, c = h[0], c[0]
    outputs = []
    for step in lm.unstack(gates):
        i, f, g, o = lm.split(step + lm.linear(h, w_hh, b_hh), 4, axis=-1)
        c = lm.sigmoid(f) * c + lm.sigmoid(i) * lm.tanh(g)
        h = lm.linear(lm.sigmoid(o) * lm.tanh(c), w_hr)
        outputs.append(h)
    return lm.stack(outputs), lm.expand_dims(h, 0), lm.expand_dims(c, 0)


class GRU(_Network):
    """Gated recurrent units over sequences, see :func:`lamella.gru`.

    Arguments as for :class:`LSTM`, but for ``proj_size``.
    """

    _gates = 3

    def forward(self, x: Any, h: lm.Tensor | None = None) -> tuple[Any, lm.Tensor]:
        """Computes the outputs and the last state, see :meth:`RNN.forward`."""
        outputs, (last,) = self._run(lm.gru, x, None if h is None else (h,))
        return outputs, last
