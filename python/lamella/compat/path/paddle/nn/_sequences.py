"""Paddle's recurrent layers and transformers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import lamella as lm
from lamella.static import default_startup_program, in_dynamic_mode, unique_name
from lamella.static.program import paused

from .._attributes import ParamAttr
from . import functional, initializer
from ._base import Layer
from ._dropout import Dropout
from ._lists import LayerList
from ._tables import LayerNorm


def _of_parameters(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Returns the attributes by what the names of their parameters begin with.

    Raises:
        TypeError: an argument is unknown.
    """
    words = {"weight_ih_attr", "weight_hh_attr", "bias_ih_attr", "bias_hh_attr"}
    if not given.keys() <= words:
        raise TypeError(f"[{name}] takes {', '.join(sorted(words))}, not {', '.join(sorted(given.keys() - words))}")
    return {word.removesuffix("_attr"): each for word, each in given.items() if each is not None and each is not True}


def _without_biases(name: str, attributes: dict[str, Any]) -> bool:
    """True if attributes leave out both biases, which are taken away from them.

    Raises:
        NotImplementedError: one bias is left out, and the other is not.
    """
    without = [attributes.get(word) is False for word in ("bias_ih", "bias_hh")]
    if any(without) and not all(without):
        raise NotImplementedError(f"[{name}] Lamella's paddle front leaves out both biases or none")
    return all(without)


def _fill(layer: Any, attributes: dict[str, Any], cell: str | None = None) -> None:
    """Names the parameters, and gives those whose names begin with the keys their starting values and settings.

    While a program is recorded, its start-up program draws the values anew whenever it runs.

    Args:
        layer: the recurrent layer.
        attributes: attributes by the beginning of the parameters' names.
        cell: what a network's cells are called, each of which has a number; a cell's parameters go by its own name.
    """
    cells: dict[str, str] = {}
    bound = layer.hidden_size**-0.5  # as the native layers draw
    for name, parameter in layer.named_parameters():
        attr = next((each for word, each in attributes.items() if name.startswith(word)), None)
        options = ParamAttr.of(type(layer).__name__, None if attr is False else attr)
        fill = options.initializer
        if attr is False:  # there, but of ones, or of zeros for a bias, and never trained
            fill = initializer.Constant(float(not name.startswith("bias")))
        if fill is not None:
            with paused():
                fill(parameter)
        parameter.stop_gradient = attr is False or not options.trainable
        if isinstance(options, ParamAttr):
            options.mark(parameter)
        place = name.partition("_l")[2]
        if place not in cells:
            cells[place] = layer.full_name() if cell is None else unique_name.generate(cell)
        kind = "b" if name.startswith("bias") else "w"
        parameter.name = options.name or unique_name.generate(f"{cells[place]}.{kind}")
        if not in_dynamic_mode():
            default_startup_program().add_module_initializer(parameter, fill or initializer.Uniform(-bound, bound))


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
        attributes = _of_parameters(name, given)
        bias = not _without_biases(name, attributes)
        native: Any = self._native
        native.__init__(
            self,
            input_size,
            hidden_size,
            num_layers,
            batch_first=not time_major,
            dropout=dropout,
            bidirectional=direction != "forward",
            bias=bias,
            **kept,
        )
        _fill(self, attributes, self._cell)

    _native: ClassVar[type]
    #: The beginning of the names of cells.
    _cell: ClassVar[str]
    #: Options by position behind ``dropout``.
    _options: ClassVar[tuple[str, ...]] = ("weight_ih_attr", "weight_hh_attr", "bias_ih_attr", "bias_hh_attr", "name")
    #: Those that are taken, and their native names.
    _taken: ClassVar[dict[str, str]] = {}

    def forward(self, inputs: lm.Tensor, initial_states: Any = None, sequence_length: Any = None) -> Any:
        """Maps ``(n, steps, input_size)`` to outputs ``(n, steps, directions * hidden_size)``, and the last states.

        ``sequence_length`` holds the number of steps of each sequence: outputs behind it are zeros.
        """
        native: Any = self._native
        if sequence_length is None:
            return native.forward(self, inputs, initial_states)
        packing = lm.nn.utils.rnn
        first = self.batch_first
        packed = packing.pack_padded_sequence(inputs, sequence_length, first, enforce_sorted=False)
        outputs, states = native.forward(self, packed, initial_states)
        steps = tuple(inputs.shape)[1 if first else 0]
        return packing.pad_packed_sequence(outputs, first, total_length=steps)[0], states


class LSTM(_Network, lm.nn.LSTM):
    """Long short-term memory over sequences; states are pairs ``(h, c)``."""

    _native = lm.nn.LSTM
    _cell = "lstm_cell"
    _options = (*_Network._options[:4], "proj_size", "name")
    _taken: ClassVar[dict[str, str]] = {"proj_size": "proj_size"}


class GRU(_Network, lm.nn.GRU):
    """Gated recurrent units over sequences."""

    _native = lm.nn.GRU
    _cell = "gru_cell"


class SimpleRNN(_Network, lm.nn.RNN):
    """A recurrent network with ``tanh`` or ``relu`` over sequences."""

    _native = lm.nn.RNN
    _cell = "simple_rnn_cell"
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
    _more: ClassVar[dict[str, Any]] = {}

    def __init__(self, input_size: int, hidden_size: int, *attributes: Any, name: Any = None, **options: Any) -> None:
        kind = type(self).__name__
        given = dict(zip(_Network._options, attributes, strict=False)) | options
        if given.pop("proj_size", 0):
            raise NotImplementedError(f"[{kind}] Lamella's paddle front takes no proj_size")
        found = _of_parameters(kind, given)
        native: Any = self._native
        native.__init__(self, input_size, hidden_size, bias=True, **self._more)
        _fill(self, found)

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

    def __init__(
        self, input_size: int, hidden_size: int, activation: str = "tanh", *attributes: Any, **options: Any
    ) -> None:
        super().__init__(input_size, hidden_size, *attributes, **options)
        self.nonlinearity = activation


def _linear(inputs: int, outputs: int, weight_attr: Any, bias_attr: Any) -> Layer:
    from . import Linear

    return Linear(inputs, outputs, weight_attr, bias_attr)


class Cache(NamedTuple):
    """Keys and values of the steps before, ``(n, heads, steps, features)`` each."""

    k: lm.Tensor
    v: lm.Tensor


class StaticCache(NamedTuple):
    """Keys and values that all steps see."""

    k: lm.Tensor
    v: lm.Tensor


class MultiHeadAttention(Layer):
    """Attention by several heads (Vaswani et al. 2017, "Attention is all you need").

    ``attn_mask`` broadcasts with ``(n, num_heads, queries, keys)``: bools or integers that are true for what is seen,
    or numbers that are added.
    """

    Cache = Cache
    StaticCache = StaticCache

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
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.head_dim, self.need_weights = embed_dim // num_heads, need_weights
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
    ) -> Any:
        """Maps ``(n, queries, embed_dim)`` to the same shape; keys and values are the queries where none are given.

        Behind the result come the weights where ``need_weights``, and the cache of the next step where one is given.
        """
        key = query if key is None else key
        value = key if value is None else value
        q = self._heads(self.q_proj(query))
        if isinstance(cache, self.StaticCache):
            k, v = cache.k, cache.v
        else:
            k, v = self._heads(self.k_proj(key)), self._heads(self.v_proj(value))
        if isinstance(cache, self.Cache):
            k, v = lm.concat([cache.k, k], axis=2), lm.concat([cache.v, v], axis=2)
            cache = self.Cache(k, v)
        if attn_mask is not None and lm.isdtype(attn_mask.dtype, ("bool", "integral")):
            # As in Paddle, a query that sees nothing sees all as before, by what is left of scores beside this number.
            attn_mask = (attn_mask.astype(q.dtype) - 1.0) * 1e9
        dropped = self.dropout if self.training else 0.0
        if self.need_weights:
            scores = lm.matmul(q, k.mT) * tuple(q.shape)[-1] ** -0.5
            weights = lm.softmax(scores if attn_mask is None else scores + attn_mask, axis=-1)
            y = lm.matmul(lm.dropout(weights, dropped, self.training), v)
        else:
            y = lm.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, dropout_p=dropped)
        made = [self.out_proj(lm.flatten(lm.swapaxes(y, 1, 2), 2))]
        if self.need_weights:
            made.append(weights)
        if cache is not None:
            made.append(cache)
        return made[0] if len(made) == 1 else tuple(made)

    def _heads(self, x: lm.Tensor) -> lm.Tensor:
        return lm.swapaxes(lm.unflatten(x, 2, (self.num_heads, -1)), 1, 2)

    def gen_cache(self, key: lm.Tensor, value: lm.Tensor | None = None, type: Any = None) -> Any:
        """Returns what :meth:`forward` takes as ``cache``.

        Args:
            key: for a ``StaticCache``, the keys that all steps see; for a ``Cache``, a tensor of as many examples.
            value: the values; the keys by default. For a ``Cache`` of given contents, these, and ``key`` its keys.
            type: ``MultiHeadAttention.Cache``, to which each step adds, or ``MultiHeadAttention.StaticCache``.
        """
        if type is self.StaticCache:
            given = key if value is None else value
            return self.StaticCache(self._heads(self.k_proj(key)), self._heads(self.v_proj(given)))
        if value is None:
            shape = (key.shape[0], self.num_heads, 0, self.embed_dim // self.num_heads)
            return self.Cache(lm.zeros(shape, dtype=key.dtype), lm.zeros(shape, dtype=key.dtype))
        return self.Cache(key, value)


def _for_parts(name: str, attr: Any, count: int) -> list[Any]:
    """Returns an attribute for each part of a block, of which a list names its own.

    Raises:
        ValueError: the list is longer or shorter.
    """
    if not isinstance(attr, (list, tuple)):
        return [attr] * count
    if len(attr) != count:
        raise ValueError(f"[{name}] a list of attributes has {count}, one for each part, not {len(attr)}")
    return list(attr)


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
        rates = dropout, activation, attn_dropout, act_dropout, normalize_before, weight_attr, bias_attr
        self._made_with = (d_model, nhead, dim_feedforward, *rates, layer_norm_eps)
        self.normalize_before = normalize_before
        self.activation: Callable[..., lm.Tensor] = getattr(functional, activation)
        kind, count = type(self).__name__, len(self._attentions) + 1
        weights, biases = (_for_parts(kind, attr, count) for attr in (weight_attr, bias_attr))
        attributes = list(zip(weights, biases, strict=True))
        for name, own in zip(self._attentions, attributes, strict=False):
            attention_rate = dropout if attn_dropout is None else attn_dropout
            attention = MultiHeadAttention(d_model, nhead, attention_rate, None, None, False, *own)
            self.add_sublayer(name, attention)
        self.linear1 = _linear(d_model, dim_feedforward, *attributes[-1])
        self.dropout = Dropout(dropout if act_dropout is None else act_dropout)
        self.linear2 = _linear(dim_feedforward, d_model, *attributes[-1])
        for number in range(len(self._attentions) + 1):
            self.add_sublayer(f"norm{number + 1}", LayerNorm(d_model, layer_norm_eps))
        for number in range(len(self._attentions) + 1):
            self.add_sublayer(f"dropout{number + 1}", Dropout(dropout))

    def _after(self, x: lm.Tensor, number: int, block: Callable[[lm.Tensor], lm.Tensor]) -> lm.Tensor:
        """Returns ``x`` and what the block of a number makes of it, normalized before or after."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        y = dropout(block(norm(x) if self.normalize_before else x))
        result: lm.Tensor = x + y if self.normalize_before else norm(x + y)
        return result

    @staticmethod
    def _kept(made: Any, caches: list[Any]) -> lm.Tensor:
        """Returns a result of attention, and keeps the cache that comes with it."""
        if isinstance(made, tuple):
            caches.append(made[-1])
            return made[0]
        result: lm.Tensor = made
        return result

    def _feed_forward(self, x: lm.Tensor) -> lm.Tensor:
        y: lm.Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return y


class TransformerEncoderLayer(_Block):
    """Attention of a sequence to itself, then a network of each position."""

    def forward(self, src: lm.Tensor, src_mask: lm.Tensor | None = None, cache: Any = None) -> Any:
        """Returns a tensor of the shape of ``src``, ``(n, length, d_model)``, and the cache after it if given."""
        caches: list[Any] = []
        x = self._after(src, 1, lambda x: self._kept(self.self_attn(x, x, x, src_mask, cache), caches))
        x = self._after(x, 2, self._feed_forward)
        return x if cache is None else (x, caches[0])

    def gen_cache(self, src: lm.Tensor) -> Any:
        """Returns an empty cache, for as many examples as ``src`` has."""
        return self.self_attn.gen_cache(src, type=MultiHeadAttention.Cache)


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
    ) -> Any:
        """Returns a tensor of the shape of ``tgt``, ``(n, length, d_model)``, and the caches after it if given."""
        caches: list[Any] = []
        own, other = (None, None) if cache is None else cache
        x = self._after(tgt, 1, lambda x: self._kept(self.self_attn(x, x, x, tgt_mask, own), caches))
        x = self._after(x, 2, lambda x: self._kept(self.cross_attn(x, memory, memory, memory_mask, other), caches))
        x = self._after(x, 3, self._feed_forward)
        return x if cache is None else (x, (caches[0], other))

    def gen_cache(self, memory: lm.Tensor) -> tuple[Any, Any]:
        """Returns an empty cache of the sequence, and one of the memory."""
        first = self.self_attn.gen_cache(memory, type=MultiHeadAttention.Cache)
        return first, self.cross_attn.gen_cache(memory, memory, type=MultiHeadAttention.StaticCache)


class _Stack(Layer):
    def __init__(self, layer: Layer, num_layers: int, norm: Layer | None = None) -> None:
        super().__init__()
        self.layers = LayerList([layer, *(_another(layer) for _ in range(num_layers - 1))][:num_layers])
        self.norm = norm

    def _run(self, x: lm.Tensor, arguments: tuple[Any, ...], cache: Any) -> Any:
        """Applies the layers one after the other, each with the same memory and masks, and a cache of its own."""
        after = []
        for number, layer in enumerate(self.layers):
            if cache is None:
                x = layer(x, *arguments)
            else:
                x, kept = layer(x, *arguments, cache[number])
                after.append(kept)
        x = x if self.norm is None else self.norm(x)
        return x if cache is None else (x, after)


def _another(layer: Layer) -> Layer:
    """Returns a layer of the same kind with starting values of its own, or a copy of another kind of layer."""
    made_with = layer.__dict__.get("_made_with")
    return copy.deepcopy(layer) if made_with is None else type(layer)(*made_with)


class TransformerEncoder(_Stack):
    """Encoder layers of one kind, one after the other."""

    def __init__(self, encoder_layer: Layer, num_layers: int, norm: Layer | None = None) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src: lm.Tensor, src_mask: lm.Tensor | None = None, cache: Any = None) -> Any:
        """Returns a tensor of the shape of ``src``, and the caches after it where some are given."""
        return self._run(src, (src_mask,), cache)

    def gen_cache(self, src: lm.Tensor) -> list[Any]:
        """Returns an empty cache for each layer."""
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoder(_Stack):
    """Decoder layers of one kind, one after the other."""

    def __init__(self, decoder_layer: Layer, num_layers: int, norm: Layer | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: lm.Tensor,
        memory: lm.Tensor,
        tgt_mask: lm.Tensor | None = None,
        memory_mask: lm.Tensor | None = None,
        cache: Any = None,
    ) -> Any:
        """Returns a tensor of the shape of ``tgt``, and the caches after it where some are given."""
        return self._run(tgt, (memory, tgt_mask, memory_mask), cache)

    def gen_cache(self, memory: lm.Tensor, do_zip: bool = False) -> list[Any]:
        """Returns caches for each layer; with ``do_zip`` those of all layers together, first the empty ones."""
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches, strict=True)) if do_zip else caches
