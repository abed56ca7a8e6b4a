"""Layers of several operations, which Paddle has as one kernel each."""

from __future__ import annotations

from typing import Any

from lamella import Tensor
from lamella.compat.front import close_module

from ... import nn
from . import functional


class FusedLinear(nn.Layer):
    """A linear layer, whose weight may be kept transposed."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        transpose_weight: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        shape = [out_features, in_features] if transpose_weight else [in_features, out_features]
        self.weight = self.create_parameter(shape, weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)
        self.transpose_weight, self.name = transpose_weight, name

    def forward(self, input: Tensor) -> Tensor:
        """Returns the products with the weight, plus the bias."""
        return functional.fused_linear(input, self.weight, self.bias, self.transpose_weight)


class FusedDropoutAdd(nn.Layer):
    """Drops elements of the first tensor, and adds the second."""

    def __init__(self, p: float = 0.5, mode: str = "upscale_in_train", name: str | None = None) -> None:
        super().__init__()
        self.p, self.mode, self.name = p, mode, name

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns the sum."""
        return functional.fused_dropout_add(x, y, self.p, self.training, self.mode)

    def extra_repr(self) -> str:
        """Returns the settings as text."""
        return f"p={self.p}, mode={self.mode}{_named(self.name)}"


class FusedBiasDropoutResidualLayerNorm(nn.Layer):
    """Adds a bias, drops elements, adds what came before, and normalizes over the last axis."""

    def __init__(
        self,
        embed_dim: int,
        dropout_rate: float = 0.5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        epsilon: float = 1e-5,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.embed_dim, self.dropout_rate, self.name = embed_dim, dropout_rate, name
        self._epsilon = epsilon
        self.linear_bias = self.create_parameter([embed_dim], bias_attr, is_bias=True)
        self.ln_scale = _scale(self, embed_dim, weight_attr)
        self.ln_bias = self.create_parameter([embed_dim], bias_attr, is_bias=True)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        """Returns the normalized sum."""
        return functional.fused_bias_dropout_residual_layer_norm(
            x,
            residual,
            self.linear_bias,
            self.ln_scale,
            self.ln_bias,
            self.dropout_rate,
            self._epsilon,
            self.training,
        )

    def extra_repr(self) -> str:
        """Returns the settings as text."""
        settings = f"embed_dim={self.embed_dim}, dropout_rate={self.dropout_rate}, epsilon={self._epsilon}"
        return f"{settings}{_named(self.name)}"


class FusedMultiHeadAttention(nn.Layer):
    """Attention of a sequence to itself, with what came before added, and a normalization before or behind.

    Raises:
        ValueError: the sizes do not fit, or there is a setting that the kernel does not have.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout_rate: float = 0.5,
        attn_dropout_rate: float = 0.5,
        kdim: int | None = None,
        vdim: int | None = None,
        normalize_before: bool = False,
        need_weights: bool = False,
        qkv_weight_attr: Any = None,
        qkv_bias_attr: Any = None,
        linear_weight_attr: Any = None,
        linear_bias_attr: Any = None,
        pre_ln_scale_attr: Any = None,
        pre_ln_bias_attr: Any = None,
        ln_scale_attr: Any = None,
        ln_bias_attr: Any = None,
        epsilon: float = 1e-5,
        nranks: int = 1,
        ring_id: int = -1,
        transpose_qkv_wb: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"[FusedMultiHeadAttention] embed_dim is a multiple of num_heads, not {embed_dim} of {num_heads}"
            )
        if need_weights or nranks != 1:
            raise ValueError("[FusedMultiHeadAttention] need_weights is False and nranks 1: weights are not returned")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.normalize_before, self.need_weights, self.kdim, self.vdim = normalize_before, need_weights, kdim, vdim
        self.dropout_rate, self.attn_dropout_rate, self.name = dropout_rate, attn_dropout_rate, name
        self.transpose_qkv_wb, self._epsilon = transpose_qkv_wb, epsilon
        heads = [3, num_heads, self.head_dim]
        self.qkv_weight = self.create_parameter(
            [embed_dim, 3 * embed_dim] if transpose_qkv_wb else [*heads, embed_dim], qkv_weight_attr
        )
        self.qkv_bias = self.create_parameter(
            [3 * embed_dim] if transpose_qkv_wb else heads, qkv_bias_attr, is_bias=True
        )
        self.linear_weight = self.create_parameter([embed_dim, embed_dim], linear_weight_attr)
        self.linear_bias = self.create_parameter([embed_dim], linear_bias_attr, is_bias=True)
        before, behind = normalize_before, not normalize_before
        self.pre_ln_scale = _scale(self, embed_dim, pre_ln_scale_attr) if before else None
        self.pre_ln_bias = self.create_parameter([embed_dim], pre_ln_bias_attr, is_bias=True) if before else None
        self.ln_scale = _scale(self, embed_dim, ln_scale_attr) if behind else None
        self.ln_bias = self.create_parameter([embed_dim], ln_bias_attr, is_bias=True) if behind else None

    def forward(
        self, query: Tensor, key: Any = None, value: Any = None, attn_mask: Tensor | None = None, cache: Any = None
    ) -> Any:
        """Returns the attention of ``query`` to itself; ``key`` and ``value`` are not used."""
        return functional.fused_multi_head_attention(
            query,
            self.qkv_weight,
            self.linear_weight,
            self.normalize_before,
            self.pre_ln_scale,
            self.pre_ln_bias,
            self.ln_scale,
            self.ln_bias,
            self._epsilon,
            self.qkv_bias,
            self.linear_bias,
            cache,
            attn_mask,
            self.dropout_rate,
            self.attn_dropout_rate,
            self._epsilon,
            self.training,
            num_heads=self.num_heads,
            transpose_qkv_wb=self.transpose_qkv_wb,
        )

    def extra_repr(self) -> str:
        """Returns the settings as text."""
        first, last = (
            ", ".join(f"{word}={getattr(self, word)}" for word in words)
            for words in (
                ["embed_dim", "num_heads", "dropout_rate", "attn_dropout_rate"],
                ["kdim", "vdim", "normalize_before", "need_weights"],
            )
        )
        return f"{first}, epsilon={self._epsilon}, {last}{_named(self.name)}"


class FusedFeedForward(nn.Layer):
    """Two linear layers with an activation between them, with what came before added, and a normalization."""

    def __init__(
        self,
        d_model: int,
        dim_feedforward: int,
        dropout_rate: float = 0.1,
        epsilon: float = 1e-05,
        activation: str = "relu",
        act_dropout_rate: float | None = None,
        normalize_before: bool = False,
        linear1_weight_attr: Any = None,
        linear1_bias_attr: Any = None,
        linear2_weight_attr: Any = None,
        linear2_bias_attr: Any = None,
        ln1_scale_attr: Any = None,
        ln1_bias_attr: Any = None,
        ln2_scale_attr: Any = None,
        ln2_bias_attr: Any = None,
        nranks: int = 1,
        ring_id: int = -1,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if d_model <= 0 or dim_feedforward <= 0 or nranks != 1:
            raise ValueError(
                f"[FusedFeedForward] sizes are at least 1, and nranks is 1; got d_model {d_model}, dim_feedforward "
                f"{dim_feedforward} and nranks {nranks}"
            )
        self._dropout_rate, self._epsilon, self._act_method = dropout_rate, epsilon, activation
        self._act_dropout_rate = dropout_rate if act_dropout_rate is None else act_dropout_rate
        self._normalize_before, self.name = normalize_before, name
        self._linear1_weight = self.create_parameter([d_model, dim_feedforward], linear1_weight_attr)
        self._linear1_bias = self.create_parameter([dim_feedforward], linear1_bias_attr, is_bias=True)
        self._linear2_weight = self.create_parameter([dim_feedforward, d_model], linear2_weight_attr)
        self._linear2_bias = self.create_parameter([d_model], linear2_bias_attr, is_bias=True)
        before, behind = normalize_before, not normalize_before
        self._ln1_scale = _scale(self, d_model, ln1_scale_attr) if before else None
        self._ln1_bias = self.create_parameter([d_model], ln1_bias_attr, is_bias=True) if before else None
        self._ln2_scale = _scale(self, d_model, ln2_scale_attr) if behind else None
        self._ln2_bias = self.create_parameter([d_model], ln2_bias_attr, is_bias=True) if behind else None

    def forward(self, src: Tensor, cache: Any = None) -> Tensor:
        """Returns what the layers make of ``src``."""
        return functional.fused_feedforward(
            src,
            self._linear1_weight,
            self._linear2_weight,
            self._linear1_bias,
            self._linear2_bias,
            self._ln1_scale,
            self._ln1_bias,
            self._ln2_scale,
            self._ln2_bias,
            self._act_dropout_rate,
            self._dropout_rate,
            self._act_method,
            self._epsilon,
            self._epsilon,
            self._normalize_before,
            self.training,
        )


class FusedTransformerEncoderLayer(nn.Layer):
    """Attention and a feed-forward network, see :class:`paddle.nn.TransformerEncoderLayer`."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout_rate: float = 0.1,
        activation: str = "relu",
        attn_dropout_rate: float | None = None,
        act_dropout_rate: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        weights, biases = (
            list(each) if isinstance(each, (list, tuple)) else [each] * 2 for each in (weight_attr, bias_attr)
        )
        self.normalize_before = normalize_before
        self.fused_attn = FusedMultiHeadAttention(
            d_model,
            nhead,
            dropout_rate=dropout_rate,
            attn_dropout_rate=dropout_rate if attn_dropout_rate is None else attn_dropout_rate,
            normalize_before=normalize_before,
            **dict.fromkeys(("qkv_weight_attr", "linear_weight_attr"), weights[0]),
            **dict.fromkeys(("pre_ln_scale_attr", "ln_scale_attr"), weights[0]),
            **dict.fromkeys(("qkv_bias_attr", "linear_bias_attr", "pre_ln_bias_attr", "ln_bias_attr"), biases[0]),
        )
        self.ffn = FusedFeedForward(
            d_model,
            dim_feedforward,
            dropout_rate=dropout_rate,
            activation=activation,
            act_dropout_rate=dropout_rate if act_dropout_rate is None else act_dropout_rate,
            normalize_before=normalize_before,
            linear1_weight_attr=weights[1],
            linear1_bias_attr=biases[1],
            linear2_weight_attr=weights[1],
            linear2_bias_attr=biases[1],
        )

    def forward(self, src: Tensor, src_mask: Tensor | None = None, cache: Any = None) -> Any:
        """Returns what the layer makes of a sequence, with the cache that grew where there is one."""
        if cache is None:
            return self.ffn(self.fused_attn(src, attn_mask=src_mask))
        made, grown = self.fused_attn(src, attn_mask=src_mask, cache=cache)
        return self.ffn(made), grown


def _scale(layer: nn.Layer, size: int, attr: Any) -> Any:
    """Returns the factors of a normalization, which begin as ones."""
    return layer.create_parameter([size], attr, default_initializer=nn.initializer.Constant(1.0))


def _named(name: str | None) -> str:
    return f", name={name}" if name else ""


__getattr__ = close_module(__name__)
