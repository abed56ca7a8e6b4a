"""Paddle's collections of parameters and layers, networks of cells, and norms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import lamella as lm

from . import initializer
from ._base import Layer
from ._images import BatchNorm2D
from ._sequences import (
    RNNCellBase,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from ._tables import LayerNorm


class ParameterList(Layer, lm.nn.ParameterList):
    """A list of parameters."""

    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        lm.nn.ParameterList.__init__(self, parameters or ())


class ParameterDict(Layer, lm.nn.ParameterDict):
    """Parameters by name."""

    def __init__(self, parameters: Any = None) -> None:
        lm.nn.ParameterDict.__init__(self, parameters or {})


class LayerDict(Layer):
    """Layers by name."""

    def __init__(self, sublayers: Any = None) -> None:
        super().__init__()
        self.update(sublayers or {})

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, layer: Layer) -> None:
        self.add_module(key, layer)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes all layers out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Takes a layer out and returns it."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """Returns the names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Returns the names and layers."""
        return self._modules.items()

    def values(self) -> Any:
        """Returns the layers."""
        return self._modules.values()

    def update(self, sublayers: Any) -> None:
        """Puts layers in: a mapping, or pairs of names and layers."""
        for key, layer in sublayers.items() if isinstance(sublayers, (Mapping, LayerDict)) else sublayers:
            self[key] = layer


class RNN(Layer):
    """A network that runs a cell over sequences.

    Args:
        cell: called as ``cell(inputs, states)``; returns the output of a step and the states after it.
        is_reverse: runs from the last step to the first.
        time_major: sequences are ``(steps, n, size)`` instead of ``(n, steps, size)``.
    """

    def __init__(self, cell: Layer, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__()
        self.cell, self.is_reverse, self.time_major = cell, is_reverse, time_major

    def forward(self, inputs: lm.Tensor, initial_states: Any = None, sequence_length: Any = None) -> Any:
        """Returns the outputs of all steps, and the last states.

        Args:
            inputs: the sequences.
            initial_states: the cell's own where None.
            sequence_length: number of steps of each sequence, ``(n,)``: states stay as they are behind it.
        """
        axis = 0 if self.time_major else 1
        steps = lm.unstack(inputs, axis=axis)
        order = range(len(steps) - 1, -1, -1) if self.is_reverse else range(len(steps))
        outputs: list[Any] = [None] * len(steps)
        states = initial_states
        if states is None and isinstance(self.cell, RNNCellBase):
            states = self.cell.get_initial_states(inputs, batch_dim_idx=1 - axis)
        for step in order:
            output, after = self.cell(steps[step], states)
            if sequence_length is not None:
                inside = lm.expand_dims(sequence_length > step, -1)
                after = _kept(inside, after, states)
            outputs[step], states = output, after
        return lm.stack(outputs, axis=axis), states


def _kept(inside: lm.Tensor, after: Any, before: Any) -> Any:
    """Returns the states after a step, and those before it for sequences that have ended."""
    if isinstance(after, (tuple, list)):
        given = [None] * len(after) if before is None else before
        return type(after)(_kept(inside, a, b) for a, b in zip(after, given, strict=True))
    return lm.where(inside, after, lm.zeros_like(after) if before is None else before)


class BiRNN(Layer):
    """Two cells over the same sequences, one of them backwards; their outputs are side by side."""

    def __init__(self, cell_fw: Layer, cell_bw: Layer, time_major: bool = False) -> None:
        super().__init__()
        self.cell_fw, self.cell_bw = cell_fw, cell_bw
        # Apart from the sublayers, as the state names each cell once.
        self.__dict__.update(rnn_fw=RNN(cell_fw, False, time_major), rnn_bw=RNN(cell_bw, True, time_major))

    def forward(self, inputs: lm.Tensor, initial_states: Any = None, sequence_length: Any = None) -> Any:
        """Returns the outputs of all steps, and the last states of both."""
        forward, backward = (None, None) if initial_states is None else initial_states
        one, first = self.rnn_fw(inputs, forward, sequence_length)
        two, second = self.rnn_bw(inputs, backward, sequence_length)
        return lm.concat([one, two], axis=-1), (first, second)


def _of_both(name: str, attr: Any) -> tuple[Any, Any]:
    """Returns the attributes of an encoder's parts and of a decoder's: its attentions and the network behind them.

    Raises:
        ValueError: a list has neither one, nor two, nor three attributes.
    """
    if not isinstance(attr, (list, tuple)):
        return attr, attr
    if len(attr) not in (1, 2, 3):
        raise ValueError(f"[{name}] a list of attributes has 1, 2 or 3, not {len(attr)}")
    first, last = attr[0], attr[-1]
    return [first, last], [first, attr[1] if len(attr) == 3 else first, last]


class Transformer(Layer):
    """An encoder and a decoder (Vaswani et al. 2017, "Attention is all you need")."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        custom_encoder: Layer | None = None,
        custom_decoder: Layer | None = None,
    ) -> None:
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout, normalize_before)
        of_encoder, of_decoder = zip(*(_of_both("Transformer", attr) for attr in (weight_attr, bias_attr)), strict=True)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*options, *of_encoder), num_encoder_layers, LayerNorm(d_model)
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*options, *of_decoder), num_decoder_layers, LayerNorm(d_model)
        )
        self.d_model, self.nhead = d_model, nhead

    def forward(
        self, src: lm.Tensor, tgt: lm.Tensor, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None
    ) -> lm.Tensor:
        """Returns a tensor of the shape of ``tgt``, ``(n, length, d_model)``."""
        memory = self.encoder(src, src_mask)
        result: lm.Tensor = self.decoder(tgt, memory, tgt_mask, memory_mask)
        return result

    def generate_square_subsequent_mask(self, length: int) -> lm.Tensor:
        """Returns 0 for what each place sees, itself and those before, and minus infinity elsewhere."""
        return lm.triu(lm.full((length, length), float("-inf")), k=1)


class BatchNorm(BatchNorm2D):
    """Normalizes channels over the batch, whatever axes follow them; ``act`` names a function of the result."""

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        is_test: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: Any = "float32",
        data_layout: str = "NCHW",
        in_place: bool = False,
        moving_mean_name: str | None = None,
        moving_variance_name: str | None = None,
        do_model_average_for_mean_and_var: bool = True,
        use_global_stats: bool = False,
        trainable_statistics: bool = False,
    ) -> None:
        # Statistics that are trainable are those of the batch, in evaluation too.
        chosen = True if use_global_stats else False if trainable_statistics else None
        options = param_attr, bias_attr, data_layout, chosen
        super().__init__(num_channels, momentum, epsilon, *options)
        self.act = act
        if is_test:
            self.eval()

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        from . import functional

        made: lm.Tensor = super().forward(x)
        return made if self.act is None else getattr(functional, self.act)(made)


class SpectralNorm(Layer):
    """Divides weights by their largest singular value, which power iterations follow (Miyato et al. 2018)."""

    def __init__(
        self, weight_shape: Any, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, dtype: Any = "float32"
    ) -> None:
        super().__init__()
        self.dim, self.power_iters, self.eps = dim, power_iters, eps
        sizes = [int(size) for size in weight_shape]
        height = sizes[dim]
        width = 1
        for size in sizes[:dim] + sizes[dim + 1 :]:
            width *= size
        first = initializer.Normal(0.0, 1.0)
        for name, size in (("weight_u", height), ("weight_v", width)):
            vector = self.create_parameter([size], default_initializer=first)
            vector.stop_gradient = True
            setattr(self, name, vector)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns the weight ``x`` divided by its largest singular value."""
        matrix = lm.flatten(lm.moveaxis(x, self.dim, 0), 1)
        with lm.no_grad():
            # Each call begins with the vectors that the layer was made with, as in Paddle.
            u, v = self.weight_u.clone(), self.weight_v.clone()
            for _ in range(self.power_iters):
                v = unit(lm.matmul(matrix.mT, u), self.eps)
                u = unit(lm.matmul(matrix, v), self.eps)
        return x / lm.sum(u * lm.matmul(matrix, v))


def unit(x: lm.Tensor, eps: float) -> lm.Tensor:
    """Returns a vector divided by its length."""
    return x / (lm.linalg.vector_norm(x) + eps)
