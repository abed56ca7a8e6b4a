"""Transformers: stacks of attention and of networks that see one position at a time.

Source: Vaswani et al. 2017, "Attention is all you need"; ``norm_first`` is the order of Xiong et al. 2020, "On layer
normalization in the transformer architecture".

Sequences are ``(length, n, d_model)``, with ``batch_first`` ``(n, length, d_model)``, or ``(length, d_model)``. Masks
are those of :class:`MultiheadAttention`: ``(L, S)`` or ``(n * nhead, L, S)``, bool and true for pairs that do not see
each other, or numbers that are added to the scores; padding masks are ``(n, S)``, true for positions that are not to be
seen.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import lamella as lm

from . import init
from .attention import MultiheadAttention
from .containers import ModuleList
from .layers import Dropout, Linear
from .module import Module
from .norm import LayerNorm

Activation = str | Callable[[lm.Tensor], lm.Tensor]


def _function_of(layer: str, activation: Activation) -> Callable[[lm.Tensor], lm.Tensor]:
    if activation == "relu":
        return lm.relu
    if activation == "gelu":
        return lm.gelu
    if callable(activation):
        return activation
    raise ValueError(f"[{layer}] activation is 'relu', 'gelu' or a function, not {activation!r}")


def _attended(
    attention: Module,
    x: lm.Tensor,
    memory: lm.Tensor,
    padding: lm.Tensor | None,
    mask: lm.Tensor | None,
    is_causal: bool,
) -> lm.Tensor:
    """Returns what an attention sees of a memory, without weights."""
    y: lm.Tensor = attention(
        x, memory, memory, key_padding_mask=padding, attn_mask=mask, is_causal=is_causal, need_weights=False
    )[0]
    return y


class _Layer(Module):
    """Base of layers: attention to the sequence itself (and to a memory), and the network of each position."""

    _to_memory: ClassVar[bool] = False
    #: Class of the attention; a front has one of its own.
    _attention: ClassVar[type[MultiheadAttention]] = MultiheadAttention

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self.activation = _function_of(type(self).__name__, activation)
        self.norm_first = norm_first
        for name in ("self_attn", "multihead_attn") if self._to_memory else ("self_attn",):
            attention = self._attention(d_model, nhead, dropout, bias=bias, batch_first=batch_first, **place)
            self.add_module(name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        blocks = range(1, 3 + self._to_memory)
        for i in blocks:
            self.add_module(f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for i in blocks:
            self.add_module(f"dropout{i}", Dropout(dropout))

    def _residual(self, x: lm.Tensor, norm: Module, block: Callable[[lm.Tensor], lm.Tensor]) -> lm.Tensor:
        """Returns ``x`` and what a block makes of it, normalized before or after."""
        y: lm.Tensor = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return y

    # Parts of a layer, which subclasses replace. The last dropout of each is the last one of the block.

    def _sa_block(
        self, x: lm.Tensor, attn_mask: lm.Tensor | None, key_padding_mask: lm.Tensor | None, is_causal: bool = False
    ) -> lm.Tensor:
        y: lm.Tensor = self.dropout1(_attended(self.self_attn, x, x, key_padding_mask, attn_mask, is_causal))
        return y

    def _ff_block(self, x: lm.Tensor) -> lm.Tensor:
        last = self.dropout3 if self._to_memory else self.dropout2
        y: lm.Tensor = last(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return y


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then a network of each position, both with residual and normalization.

    Args:
        d_model: size of the vectors.
        nhead: heads of the attention; they divide ``d_model``.
        dim_feedforward: size of the network's hidden layer.
        dropout: the probability with which elements are dropped in training.
        activation: "relu", "gelu" or a function of a tensor.
        layer_norm_eps: added to the variance by the normalizations.
        batch_first: whether the batch is axis 0 and the sequence axis 1, rather than the other way round.
        norm_first: True normalizes what goes into a block, False what comes out.
        bias: False leaves all biases out.
        device: of the parameters.
        dtype: of the parameters.
    """

    def forward(
        self,
        src: lm.Tensor,
        src_mask: lm.Tensor | None = None,
        src_key_padding_mask: lm.Tensor | None = None,
        is_causal: bool = False,
    ) -> lm.Tensor:
        """Returns a tensor of the shape of ``src``.

        Args:
            src: the sequence.
            src_mask: pairs of positions that do not see each other.
            src_key_padding_mask: positions that are not to be seen.
            is_causal: each position sees those up to its own only, and of these what masks leave.
        """
        masks = src_mask, src_key_padding_mask
        x = self._residual(src, self.norm1, lambda x: self._sa_block(x, *masks, is_causal=is_causal))
        return self._residual(x, self.norm2, self._ff_block)


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence to itself, then to a memory, then a network of each position.

    Arguments as for :class:`TransformerEncoderLayer`.
    """

    _to_memory = True

    def forward(
        self,
        tgt: lm.Tensor,
        memory: lm.Tensor,
        tgt_mask: lm.Tensor | None = None,
        memory_mask: lm.Tensor | None = None,
        tgt_key_padding_mask: lm.Tensor | None = None,
        memory_key_padding_mask: lm.Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> lm.Tensor:
        """Returns a tensor of the shape of ``tgt``.

        Args:
            tgt: the sequence.
            memory: what the encoder has made of its own.
            tgt_mask: pairs of positions of ``tgt`` that do not see each other.
            memory_mask: positions of ``tgt`` that do not see those of ``memory``.
            tgt_key_padding_mask: positions of ``tgt`` that are not to be seen.
            memory_key_padding_mask: positions of ``memory`` that are not to be seen.
            tgt_is_causal: each position of ``tgt`` sees those up to its own only, and of these what masks leave.
            memory_is_causal: the same for ``memory`` and ``memory_mask``.
        """
        own, other = (tgt_mask, tgt_key_padding_mask), (memory_mask, memory_key_padding_mask)
        x = self._residual(tgt, self.norm1, lambda x: self._sa_block(x, *own, tgt_is_causal))
        x = self._residual(x, self.norm2, lambda x: self._mha_block(x, memory, *other, memory_is_causal))
        return self._residual(x, self.norm3, self._ff_block)

    def _mha_block(
        self,
        x: lm.Tensor,
        mem: lm.Tensor,
        attn_mask: lm.Tensor | None,
        key_padding_mask: lm.Tensor | None,
        is_causal: bool = False,
    ) -> lm.Tensor:
        y: lm.Tensor = self.dropout2(_attended(self.multihead_attn, x, mem, key_padding_mask, attn_mask, is_causal))
        return y


class _Stack(Module):
    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        if not isinstance(layer, Module):
            raise TypeError(f"[{type(self).__name__}] a layer is a Module, not {type(layer).__name__}")
        if not isinstance(num_layers, int) or num_layers < 1:
            raise ValueError(f"[{type(self).__name__}] num_layers is an int of at least 1, not {num_layers!r}")
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.norm = norm

    def _normalized(self, x: lm.Tensor) -> lm.Tensor:
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """Encoder layers one after the other.

    Args:
        encoder_layer: a layer, of which the stack has copies, which begin with the same values.
        num_layers: how many.
        norm: a module for the result, or None.
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: lm.Tensor,
        mask: lm.Tensor | None = None,
        src_key_padding_mask: lm.Tensor | None = None,
        is_causal: bool = False,
    ) -> lm.Tensor:
        """Returns a tensor of the shape of ``src``; arguments as for :meth:`TransformerEncoderLayer.forward`."""
        x = src
        for layer in self.layers:
            x = layer(x, mask, src_key_padding_mask, is_causal)
        return self._normalized(x)


class TransformerDecoder(_Stack):
    """Decoder layers one after the other.

    Args:
        decoder_layer: a layer, of which the stack has copies, which begin with the same values.
        num_layers: how many.
        norm: a module for the result, or None.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: lm.Tensor,
        memory: lm.Tensor,
        tgt_mask: lm.Tensor | None = None,
        memory_mask: lm.Tensor | None = None,
        tgt_key_padding_mask: lm.Tensor | None = None,
        memory_key_padding_mask: lm.Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> lm.Tensor:
        """Returns a tensor of the shape of ``tgt``; arguments as for :meth:`TransformerDecoderLayer.forward`."""
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask,
                memory_mask,
                tgt_key_padding_mask,
                memory_key_padding_mask,
                tgt_is_causal,
                memory_is_causal,
            )
        return self._normalized(x)


class Transformer(Module):
    """An encoder of one sequence, and a decoder of another that sees what the encoder made.

    Args:
        d_model: size of the vectors.
        nhead: heads of each attention; they divide ``d_model``.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        dim_feedforward: size of the hidden layer of the networks of each position.
        dropout: the probability with which elements are dropped in training.
        activation: "relu", "gelu" or a function of a tensor.
        custom_encoder: a module in the place of the encoder.
        custom_decoder: a module in the place of the decoder.
        layer_norm_eps: added to the variance by the normalizations.
        batch_first: whether the batch is axis 0 and the sequence axis 1, rather than the other way round.
        norm_first: True normalizes what goes into a block, False what comes out.
        bias: False leaves all biases out.
        device: of the parameters.
        dtype: of the parameters.

    Matrices start Xavier-uniform.
    """

    #: Classes of the layers; a front has its own.
    _layers: ClassVar[tuple[type[_Layer], type[_Layer]]] = (TransformerEncoderLayer, TransformerDecoderLayer)
    #: Class of the encoder; a front has one of its own.
    _encoder: ClassVar[type[TransformerEncoder]] = TransformerEncoder

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **place)

        self.encoder: Module = custom_encoder or self._encoder(
            self._layers[0](*settings, **place), num_encoder_layers, norm()
        )
        self.decoder: Module = custom_decoder or TransformerDecoder(
            self._layers[1](*settings, **place), num_decoder_layers, norm()
        )
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new starting values for the matrices."""
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: lm.Tensor,
        tgt: lm.Tensor,
        src_mask: lm.Tensor | None = None,
        tgt_mask: lm.Tensor | None = None,
        memory_mask: lm.Tensor | None = None,
        src_key_padding_mask: lm.Tensor | None = None,
        tgt_key_padding_mask: lm.Tensor | None = None,
        memory_key_padding_mask: lm.Tensor | None = None,
        src_is_causal: bool = False,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> lm.Tensor:
        """Returns a tensor of the shape of ``tgt``.

        Args:
            src: the encoder's sequence.
            tgt: the decoder's sequence.
            src_mask: pairs of positions of ``src`` that do not see each other.
            tgt_mask: pairs of positions of ``tgt`` that do not see each other.
            memory_mask: positions of ``tgt`` that do not see those of ``src``.
            src_key_padding_mask: positions of ``src`` that its own do not see.
            tgt_key_padding_mask: positions of ``tgt`` that are not to be seen.
            memory_key_padding_mask: positions of ``src`` that ``tgt`` does not see.
            src_is_causal: each position of ``src`` sees those up to its own only.
            tgt_is_causal: each position of ``tgt`` sees those up to its own only.
            memory_is_causal: each position of ``tgt`` sees those of ``src`` up to its own only.

        Raises:
            ValueError: the batches or the sizes differ.
        """
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and tgt.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise ValueError(
                f"[Transformer] src and tgt have one batch, got {src.shape[batch]} and {tgt.shape[batch]} sequences"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ValueError(
                f"[Transformer] src and tgt have vectors of size {self.d_model}, got the shapes {list(src.shape)} and "
                f"{list(tgt.shape)}"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        result: lm.Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )
        return result

    @staticmethod
    def generate_square_subsequent_mask(size: int, device: str | None = None, dtype: Any = None) -> lm.Tensor:
        """Returns a mask to add, ``(size, size)``: minus infinity for positions behind one's own, 0 elsewhere."""
        return lm.triu(lm.full((size, size), float("-inf"), dtype=dtype or lm.float32, device=device), k=1)
