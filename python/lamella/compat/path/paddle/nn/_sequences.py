"""Paddle's recurrent layers and transformers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import lamella as lm

from . import functional
from ._base import Layer
from ._tables import LayerNorm


def _refuse(name: str, **options: Any) -> None:
    """Raises for options that are given and not taken."""
    for option, value in options.items():
        if value is not None:
            raise NotImplementedError(f"[{name}] Lamella's paddle front takes no {option}")


class _Network(Layer):
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        *rest: Any,
        **options: Any,
    ) -> None:
        name = type(self).__name__
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise ValueError(f"[{name}] direction is 'forward', 'bidirect' or 'bidirectional', not {direction!r}")
        given = dict(zip(self._options, rest, strict=False)) | options
        kept = {word: given.pop(option) for option, word in self._taken.items() if option in given}
        given.pop("name", None)
        _refuse(name, **given)
        native: Any = self._native
        native.__init__(
            self,
            input_size,
            hidden_size,
            num_layers,
            batch_first=not time_major,
            dropout=dropout,
            bidirectional=direction != "forward",
            **kept,
        )

    _native: ClassVar[type]
    #: Options by position behind ``dropout``.
    _options: ClassVar[tuple[str, ...]] = ("weight_ih_attr", "weight_hh_attr", "bias_ih_attr", "bias_hh_attr", "name")
    #: Those that are taken, and their native names.
    _taken: ClassVar[dict[str, str]] = {}

    def forward(self, inputs: lm.Tensor, initial_states: Any = None, sequence_length: Any = None) -> Any:
        """Maps ``(n, steps, input_size)`` to outputs ``(n, steps, directions * hidden_size)``, and the last states."""
        _refuse(type(self).__name__, sequence_length=sequence_length)
        native: Any = self._native
        return native.forward(self, inputs, initial_states)


class LSTM(_Network, lm.nn.LSTM):
    """Long short-term memory over sequences; states are pairs ``(h, c)``."""

    _native = lm.nn.LSTM
    _options = (*_Network._options[:4], "proj_size", "name")
    _taken: ClassVar[dict[str, str]] = {"proj_size": "proj_size"}


class GRU(_Network, lm.nn.GRU):
    """Gated recurrent units over sequences."""

    _native = lm.nn.GRU


class SimpleRNN(_Network, lm.nn.RNN):
    """A recurrent network with ``tanh`` or ``relu`` over sequences."""

    _native = lm.nn.RNN
    _options = ("activation", *_Network._options)
    _taken: ClassVar[dict[str, str]] = {"activation": "nonlinearity"}


class RNNCellBase(Layer):
    """The base of cells of one's own, of which ``state_shape`` holds the sizes of states without the batch's."""

    def get_initial_states(
        self, batch_ref: Any, shape: Any = None, dtype: Any = None, init_value: float = 0.0, batch_dim_idx: int = 0
    ) -> Any:
        """Returns states of one value for as many examples as ``batch_ref`` has.

        Args:
            batch_ref: a tensor, or nested ones, of which the first counts.
            shape: sizes without the batch's, nested as the states are; those of the cell by default.
            dtype: of the states, float32 by default.
            init_value: the value.
            batch_dim_idx: the axis of examples in ``batch_ref``.
        """
        first = batch_ref
        while isinstance(first, (list, tuple)):
            first = first[0]
        count = first.shape[batch_dim_idx]

        def filled(sizes: Any) -> Any:
            if isinstance(sizes, int):
                sizes = (sizes,)
            if all(isinstance(size, int) for size in sizes):
                kept = [size for size in sizes if size != -1]
                return lm.full((count, *kept), init_value, dtype=dtype or "float32")
            return type(sizes)(filled(each) for each in sizes)

        return filled(self.state_shape if shape is None else shape)

    @property
    def state_shape(self) -> Any:
        """The sizes of the states, without the batch's.

        Raises:
            NotImplementedError: a subclass defines none.
        """
        raise NotImplementedError(f"[{type(self).__name__}] the cell defines no state_shape")


class _Cell(RNNCellBase):
    _native: ClassVar[type]

    def __init__(self, input_size: int, hidden_size: int, *attributes: Any, name: Any = None, **options: Any) -> None:
        _refuse(type(self).__name__, **dict.fromkeys(map(str, attributes)), **options)
        native: Any = self._native
        native.__init__(self, input_size, hidden_size)

    def forward(self, inputs: lm.Tensor, states: Any = None) -> tuple[lm.Tensor, Any]:
        """Returns the output of a step, and the states after it."""
        native: Any = self._native
        after = native.forward(self, inputs, states)
        return (after[0] if isinstance(after, tuple) else after), after

    @property
    def state_shape(self) -> Any:
        """The sizes of the state."""
        return (self.hidden_size,)


class LSTMCell(_Cell, lm.nn.LSTMCell):
    """One step of :class:`LSTM`."""

    _native = lm.nn.LSTMCell

    @property
    def state_shape(self) -> Any:
        """The sizes of both states."""
        return (self.hidden_size,), (self.hidden_size,)


class GRUCell(_Cell, lm.nn.GRUCell):  # type: ignore[misc]
    """One step of :class:`GRU`."""

    _native = lm.nn.GRUCell


class SimpleRNNCell(_Cell, lm.nn.RNNCell):  # type: ignore[misc]
    """One step of :class:`SimpleRNN`."""

    _native = lm.nn.RNNCell

    def __init__(self, input_size: int, hidden_size: int, activation: str = "tanh", name: Any = None) -> None:
        lm.nn.RNNCell.__init__(self, input_size, hidden_size, nonlinearity=activation)


def _linear(inputs: int, outputs: int, weight_attr: Any, bias_attr: Any) -> Layer:
    from . import Linear

    return Linear(inputs, outputs, weight_attr, bias_attr)


class MultiHeadAttention(Layer):
    """Attention by several heads (Vaswani et al. 2017, "Attention is all you need").

    ``attn_mask`` broadcasts with ``(n, num_heads, queries, keys)``: bools that are true for what is seen, or numbers
    that are added.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"[MultiHeadAttention] {num_heads} heads do not divide a size of {embed_dim}")
        if need_weights:
            raise NotImplementedError("[MultiHeadAttention] Lamella's paddle front returns no weights")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.q_proj = _linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = _linear(kdim or embed_dim, embed_dim, weight_attr, bias_attr)
        self.v_proj = _linear(vdim or embed_dim, embed_dim, weight_attr, bias_attr)
        self.out_proj = _linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def forward(
        self,
        query: lm.Tensor,
        key: lm.Tensor | None = None,
        value: lm.Tensor | None = None,
        attn_mask: lm.Tensor | None = None,
        cache: Any = None,
    ) -> lm.Tensor:
        """Maps ``(n, queries, embed_dim)`` to the same shape; keys and values are the queries where none are given."""
        _refuse("MultiHeadAttention", cache=cache)
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = [
            lm.swapaxes(lm.unflatten(layer(x), 2, (self.num_heads, -1)), 1, 2)
            for layer, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        ]
        dropped = self.dropout if self.training else 0.0
        y = lm.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, dropout_p=dropped)
        result: lm.Tensor = self.out_proj(lm.flatten(lm.swapaxes(y, 1, 2), 2))
        return result


class _Block(Layer):
    _attentions: ClassVar[tuple[str, ...]] = ("self_attn",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.normalize_before = normalize_before
        self.activation: Callable[..., lm.Tensor] = getattr(functional, activation)
        self.rates = dropout, dropout if act_dropout is None else act_dropout
        attributes = weight_attr, bias_attr
        for name in self._attentions:
            attention_rate = dropout if attn_dropout is None else attn_dropout
            attention = MultiHeadAttention(d_model, nhead, attention_rate, None, None, False, *attributes)
            self.add_sublayer(name, attention)
        self.linear1 = _linear(d_model, dim_feedforward, *attributes)
        self.linear2 = _linear(dim_feedforward, d_model, *attributes)
        for number in range(len(self._attentions) + 1):
            self.add_sublayer(f"norm{number + 1}", LayerNorm(d_model, layer_norm_eps))

    def _after(self, x: lm.Tensor, norm: Layer, block: Callable[[lm.Tensor], lm.Tensor]) -> lm.Tensor:
        """Returns ``x`` and what a block makes of it, normalized before or after."""
        y = lm.dropout(block(norm(x) if self.normalize_before else x), self.rates[0], self.training)
        result: lm.Tensor = x + y if self.normalize_before else norm(x + y)
        return result

    def _feed_forward(self, x: lm.Tensor) -> lm.Tensor:
        inner = lm.dropout(self.activation(self.linear1(x)), self.rates[1], self.training)
        y: lm.Tensor = self.linear2(inner)
        return y


class TransformerEncoderLayer(_Block):
    """Attention of a sequence to itself, then a network of each position."""

    def forward(self, src: lm.Tensor, src_mask: lm.Tensor | None = None, cache: Any = None) -> lm.Tensor:
        """Returns a tensor of the shape of ``src``, ``(n, length, d_model)``."""
        _refuse("TransformerEncoderLayer", cache=cache)
        x = self._after(src, self.norm1, lambda x: self.self_attn(x, x, x, src_mask))
        return self._after(x, self.norm2, self._feed_forward)


class TransformerDecoderLayer(_Block):
    """Attention of a sequence to itself, then to a memory, then a network of each position."""

    _attentions = ("self_attn", "cross_attn")

    def forward(
        self,
        tgt: lm.Tensor,
        memory: lm.Tensor,
        tgt_mask: lm.Tensor | None = None,
        memory_mask: lm.Tensor | None = None,
        cache: Any = None,
    ) -> lm.Tensor:
        """Returns a tensor of the shape of ``tgt``, ``(n, length, d_model)``."""
        _refuse("TransformerDecoderLayer", cache=cache)
        x = self._after(tgt, self.norm1, lambda x: self.self_attn(x, x, x, tgt_mask))
        x = self._after(x, self.norm2, lambda x: self.cross_attn(x, memory, memory, memory_mask))
        return self._after(x, self.norm3, self._feed_forward)


class _Stack(Layer):
    def __init__(self, layer: Layer, num_layers: int, norm: Layer | None = None) -> None:
        super().__init__()
        self.layers = lm.nn.ModuleList([layer, *(copy.deepcopy(layer) for _ in range(num_layers - 1))])
        self.norm = norm

    def forward(self, x: lm.Tensor, *arguments: Any) -> lm.Tensor:
        """Applies the layers one after the other, each with the same memory and masks."""
        for layer in self.layers:
            x = layer(x, *arguments)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """Copies of an encoder layer, one after the other."""

    def forward(self, src: lm.Tensor, src_mask: lm.Tensor | None = None, cache: Any = None) -> lm.Tensor:
        """Returns a tensor of the shape of ``src``."""
        return super().forward(src, src_mask, cache)


class TransformerDecoder(_Stack):
    """Copies of a decoder layer, one after the other."""

    def forward(
        self,
        tgt: lm.Tensor,
        memory: lm.Tensor,
        tgt_mask: lm.Tensor | None = None,
        memory_mask: lm.Tensor | None = None,
        cache: Any = None,
    ) -> lm.Tensor:
        """Returns a tensor of the shape of ``tgt``."""
        return super().forward(tgt, memory, tgt_mask, memory_mask, cache)
