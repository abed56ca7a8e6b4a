"""Attention and transformers with PyTorch's parameters: three projections are one matrix where their sizes agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat.classes import finishing
from lamella.compat.dialect import AdaptedType
from lamella.compat.tables import torch_nn as _tables
from lamella.nn import init

from .. import _words, backends

_NAMES = _words.Names("torch.nn", [("lamella.nn", _tables.LAYERS["transformer"], _words.LAYERS)])


def _get_activation_fn(activation: str) -> Callable[[lm.Tensor], lm.Tensor]:
    """Returns the function between the layers of a transformer's block.

    Raises:
        RuntimeError: it is neither "relu" nor "gelu".
    """
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"[Transformer] activation is relu or gelu, not {activation}")
    found: Callable[[lm.Tensor], lm.Tensor] = getattr(lm.nn.functional, activation)
    return found


def _agree(one: list[int], other: list[int]) -> bool:
    """True of equal shapes; a size of -1 is one that only the run of a graph tells."""
    return len(one) == len(other) and all(-1 in (a, b) or a == b for a, b in zip(one, other, strict=True))


class MultiheadAttention(lm.nn.MultiheadAttention, metaclass=AdaptedType):
    """Attention by several heads side by side; arguments as for :class:`lamella.nn.MultiheadAttention`.

    Attributes:
        in_proj_weight: the three projections, ``(3 * embed_dim, embed_dim)``, or None where keys or values have sizes
            of their own.
        q_proj_weight, k_proj_weight, v_proj_weight: the projections in that case.
        in_proj_bias: ``(3 * embed_dim,)``, or None.
        bias_k, bias_v: ``(1, 1, embed_dim)``, or None.
        out_proj: the last projection.
    """

    __module__ = "torch.nn"

    @finishing
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if num_heads > 0 and embed_dim % num_heads:
            raise AssertionError(
                f"[MultiheadAttention] embed_dim must be a multiple of num_heads, got {embed_dim} and {num_heads}"
            )
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__(embed_dim, num_heads, dropout, bias, False, add_zero_attn, kdim, vdim, batch_first, **place)
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.head_dim = embed_dim // num_heads
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        out = self.out_proj
        for name in ("q_proj", "k_proj", "v_proj", "out_proj", "bias_k", "bias_v"):
            delattr(self, name)
        sizes = {"in": (3 * embed_dim, embed_dim)}
        if not self._qkv_same_embed_dim:
            sizes = {"q": (embed_dim, embed_dim), "k": (embed_dim, self.kdim), "v": (embed_dim, self.vdim)}
        for name in ("q", "k", "v", "in"):
            shape = sizes.get(name)
            weight = None if shape is None else lm.nn.Parameter(lm.zeros(shape, **place))
            self.register_parameter(f"{name}_proj_weight", weight)
        self.register_parameter("in_proj_bias", lm.nn.Parameter(lm.zeros((3 * embed_dim,), **place)) if bias else None)
        for name in ("bias_k", "bias_v"):
            extra = lm.nn.Parameter(lm.zeros((1, 1, embed_dim), **place)) if add_bias_kv else None
            self.register_parameter(name, extra)
        self.out_proj = out
        self._reset_parameters()

    def reset_parameters(self) -> None:
        """Leaves the parameters of the native class, which go away, as they are."""

    def _reset_parameters(self) -> None:
        for name, parameter in self.named_parameters(recurse=False):
            if name.endswith("_weight"):
                init.xavier_uniform_(parameter)
            elif name == "in_proj_bias":
                init.zeros_(parameter)
            else:
                init.normal_(parameter, 0.0, math.sqrt(2 / (1 + self.embed_dim)))
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(  # type: ignore[override]  # PyTorch's order
        self,
        query: lm.Tensor,
        key: lm.Tensor,
        value: lm.Tensor,
        key_padding_mask: lm.Tensor | None = None,
        need_weights: bool = True,
        attn_mask: lm.Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[lm.Tensor, lm.Tensor | None]:
        """Lets each query look at the keys; see :meth:`lamella.nn.MultiheadAttention.forward`.

        ``is_causal`` says of ``attn_mask`` that it hides later keys. It replaces the mask where nothing else needs one;
        with padding, where weights are wanted, or in evaluation off the tape, the mask alone counts.
        """
        self._check_inputs(query, key, value, key_padding_mask, attn_mask)
        is_causal = is_causal and not self._overlooks_hints(query, key, value, key_padding_mask, attn_mask)
        if is_causal and attn_mask is None:
            raise RuntimeError(
                "[MultiheadAttention] is_causal says of attn_mask that it hides later keys, and is no mask by itself: "
                "give both, such as nn.Transformer.generate_square_subsequent_mask(n)"
            )
        replaced = is_causal and key_padding_mask is None and not need_weights
        masks = key_padding_mask, None if replaced else attn_mask, replaced
        found: tuple[lm.Tensor, lm.Tensor | None] = super().forward(
            query, key, value, *masks, need_weights, average_attn_weights
        )
        return found

    def _overlooks_hints(self, query: lm.Tensor, key: lm.Tensor, value: lm.Tensor, *masks: lm.Tensor | None) -> bool:
        """True of a call that PyTorch hands to its kernel of all of attention, which is told masks only."""
        if self.training or query.ndim != 3 or not (query is key is value) or lm.amp.is_autocast_enabled():
            return False
        if any(mask is not None and mask.dtype != lm.bool for mask in masks) or not backends.mha.get_fastpath_enabled():
            return False
        fits = self.batch_first and self._qkv_same_embed_dim and self.in_proj_bias is not None
        fits = fits and self.bias_k is None and not self.add_zero_attn and self.num_heads % 2 == 0
        return fits and _is_off_tape(query, self)

    def _check_inputs(self, query: lm.Tensor, key: lm.Tensor, value: lm.Tensor, *masks: lm.Tensor | None) -> None:
        """Refuses inputs of other shapes, and masks of integers.

        Raises:
            AssertionError: something does not fit.
        """

        def expect(fits: bool, what: str) -> None:
            if not fits:
                raise AssertionError(f"[MultiheadAttention] {what}")

        padding, mask = masks
        names = ("query", "key", "value")
        shapes = [list(x.shape) for x in (query, key, value)]
        ndim = query.ndim
        expect(ndim in (2, 3), f"query has three axes, or two without a batch, got the shape {shapes[0]}")
        for name, shape in zip(names[1:], shapes[1:], strict=True):
            expect(len(shape) == ndim, f"{name} has as many axes as query, {ndim}, got the shape {shape}")
        for name, shape, size in zip(names, shapes, (self.embed_dim, self.kdim, self.vdim), strict=True):
            expect(shape[-1] == size, f"the last axis of {name} has the size {size}, got the shape {shape}")
        expect(_agree(shapes[1][:-1], shapes[2][:-1]), f"key and value differ in length: {shapes[1]} and {shapes[2]}")
        batch, steps = (0, 1) if self.batch_first else (1, 0)
        keys = shapes[1][:1] if ndim == 2 else [shapes[1][batch], shapes[1][steps]]
        for name, each in (("key_padding_mask", padding), ("attn_mask", mask)):
            is_mask = each is None or each.dtype == lm.bool or lm.isdtype(each.dtype, "real floating")
            expect(is_mask, f"{name} is of bools or floating, got {getattr(each, 'dtype', None)}")
        if padding is not None:
            expect(
                _agree(list(padding.shape), keys), f"key_padding_mask has the shape {keys}, got {list(padding.shape)}"
            )
        if mask is not None:
            expect(mask.ndim in (2, 3), f"attn_mask has two or three axes, got the shape {list(mask.shape)}")

    def _projected(self, query: lm.Tensor, key: lm.Tensor, value: lm.Tensor) -> tuple[lm.Tensor, ...]:
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if weight is not None and query is key and key is value:
            return tuple(lm.split(lm.linear(query, weight, bias), 3, -1))
        weights = (
            lm.split(weight, 3) if weight is not None else (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        )
        biases = (None,) * 3 if bias is None else lm.split(bias, 3)
        parts = zip((query, key, value), weights, biases, strict=True)
        return tuple(lm.linear(x, weight, bias) for x, weight, bias in parts)

    def _before_own_load(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Gives a state that Lamella has written the names of this class."""
        lm.nn.Module._before_own_load(self, state, prefix, *rest)
        for kind in ("weight", "bias"):
            parts = [state.pop(f"{prefix}{name}_proj.{kind}", None) for name in "qkv"]
            if all(part is not None for part in parts):
                if kind == "bias" or self._qkv_same_embed_dim:
                    state[f"{prefix}in_proj_{kind}"] = lm.concat([lm.asarray(part) for part in parts])
                else:
                    state |= {f"{prefix}{n}_proj_weight": part for n, part in zip("qkv", parts, strict=True)}
        for name in ("bias_k", "bias_v"):
            if (extra := state.get(prefix + name)) is not None:
                state[prefix + name] = extra.reshape(1, 1, -1)


class TransformerEncoderLayer(_NAMES.make("TransformerEncoderLayer")):  # type: ignore[misc]
    """See :class:`lamella.nn.TransformerEncoderLayer`."""

    __module__ = "torch.nn"
    _attention = MultiheadAttention

    def forward(
        self,
        src: lm.Tensor,
        src_mask: lm.Tensor | None = None,
        src_key_padding_mask: lm.Tensor | None = None,
        is_causal: bool = False,
    ) -> lm.Tensor:
        """Returns a tensor of the shape of ``src``; in evaluation off the tape, the masks alone count."""
        if is_causal and _runs_fused(self, src) and _is_one_kernel(self) and _is_off_tape(src, self):
            is_causal = False
        made: lm.Tensor = super().forward(src, src_mask, src_key_padding_mask, is_causal)
        return made


class TransformerEncoder(lm.nn.TransformerEncoder, metaclass=AdaptedType):
    """Encoder layers one after the other; arguments as for :class:`lamella.nn.TransformerEncoder`.

    Args:
        enable_nested_tensor: in evaluation off the tape, positions that ``src_key_padding_mask`` hides behind the
            others are zeros in what the layers make (and what ``norm`` makes of zeros).
        mask_check: False has all hidden positions be zeros, wherever they are.
    """

    __module__ = "torch.nn"

    @finishing
    def __init__(
        self,
        encoder_layer: lm.nn.Module,
        num_layers: int,
        norm: lm.nn.Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        self.use_nested_tensor = enable_nested_tensor and _leaves_padding_out(encoder_layer)

    def forward(
        self,
        src: lm.Tensor,
        mask: lm.Tensor | None = None,
        src_key_padding_mask: lm.Tensor | None = None,
        is_causal: bool | None = None,
    ) -> lm.Tensor:
        """Returns a tensor of the shape of ``src``."""
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        if mask is None and src_key_padding_mask is not None and self._leaves_out(src):
            hidden = _hides(src_key_padding_mask)
            if self.mask_check:  # without a question whose answer a recorded program would keep
                hidden = hidden & ~lm.any(hidden[:, :-1] & ~hidden[:, 1:])
            x = lm.where(lm.expand_dims(hidden, -1), lm.zeros((), dtype=x.dtype, device=x.device), x)
        return self._normalized(x)

    def _leaves_out(self, src: lm.Tensor) -> bool:
        """True of a call in which PyTorch's layers do not see hidden positions at all."""
        first = self.layers[0]
        return getattr(self, "use_nested_tensor", False) and _runs_fused(first, src) and _is_off_tape(src, first)


def _hides(padding: lm.Tensor) -> lm.Tensor:
    """Returns a mask of padding, which may be of numbers that are added, as bools."""
    return padding if padding.dtype == lm.bool else padding == -math.inf


def _is_off_tape(x: lm.Tensor, layer: lm.nn.Module) -> bool:
    return not (lm.is_grad_enabled() and any(each.requires_grad for each in (x, *layer.parameters())))


def _runs_fused(layer: Any, src: lm.Tensor) -> bool:
    """True where PyTorch runs an encoder layer that allows it by one kernel, unless a gradient is wanted."""
    fits = not layer.training and src.ndim == 3 and not lm.amp.is_autocast_enabled()
    return fits and bool(backends.mha.get_fastpath_enabled())


def _leaves_padding_out(layer: Any) -> bool:
    """True of encoder layers which PyTorch runs on sequences without their padding, where no gradient is wanted."""
    return isinstance(layer, TransformerEncoderLayer) and not layer.norm_first and _is_one_kernel(layer)


def _is_one_kernel(layer: Any) -> bool:
    """True of encoder layers that PyTorch has one kernel for."""
    attention, activation = layer.self_attn, layer.activation
    known = isinstance(activation, (lm.nn.ReLU, lm.nn.GELU)) or getattr(activation, "__name__", "") in ("relu", "gelu")
    fits = attention.batch_first and attention._qkv_same_embed_dim and attention.in_proj_bias is not None
    return known and fits and layer.norm1.eps == layer.norm2.eps and attention.num_heads % 2 == 0


class TransformerDecoderLayer(_NAMES.make("TransformerDecoderLayer")):  # type: ignore[misc]
    """See :class:`lamella.nn.TransformerDecoderLayer`."""

    __module__ = "torch.nn"
    _attention = MultiheadAttention


class Transformer(_NAMES.make("Transformer")):  # type: ignore[misc]
    """See :class:`lamella.nn.Transformer`."""

    __module__ = "torch.nn"
    _layers = TransformerEncoderLayer, TransformerDecoderLayer
    _encoder = TransformerEncoder

    def reset_parameters(self) -> None:
        """Draws new starting values for the matrices."""
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        super().reset_parameters()


def multi_head_attention_forward(
    query: lm.Tensor,
    key: lm.Tensor,
    value: lm.Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: lm.Tensor | None,
    in_proj_bias: lm.Tensor | None,
    bias_k: lm.Tensor | None,
    bias_v: lm.Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: lm.Tensor,
    out_proj_bias: lm.Tensor | None,
    training: bool = True,
    key_padding_mask: lm.Tensor | None = None,
    need_weights: bool = True,
    attn_mask: lm.Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: lm.Tensor | None = None,
    k_proj_weight: lm.Tensor | None = None,
    v_proj_weight: lm.Tensor | None = None,
    static_k: lm.Tensor | None = None,
    static_v: lm.Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[lm.Tensor, lm.Tensor | None]:
    """Attention by several heads with these weights; :class:`MultiheadAttention` says what they are.

    Raises:
        ValueError: the queries have another size than ``embed_dim_to_check``.
        NotImplementedError: keys or values that are projected already are given.
    """
    if query.shape[-1] != embed_dim_to_check:
        raise ValueError(
            f"[multi_head_attention_forward] embed_dim_to_check is {embed_dim_to_check}, queries have the size "
            f"{query.shape[-1]}"
        )
    if static_k is not None or static_v is not None:
        raise NotImplementedError("[multi_head_attention_forward] static_k and static_v are not taken: give keys")
    layer = MultiheadAttention(
        embed_dim_to_check,
        num_heads,
        dropout_p,
        add_zero_attn=add_zero_attn,
        kdim=key.shape[-1],
        vdim=value.shape[-1],
        device="meta",
    )
    layer.train(training)
    weights = {"q_proj_weight": q_proj_weight, "k_proj_weight": k_proj_weight, "v_proj_weight": v_proj_weight}
    given = {
        "in_proj_weight": None if use_separate_proj_weight else in_proj_weight,
        **(weights if use_separate_proj_weight else {}),
        "in_proj_bias": in_proj_bias,
        "bias_k": bias_k,
        "bias_v": bias_v,
    }
    layer._parameters.clear()
    layer._modules.clear()
    layer.__dict__.update(given, out_proj=lambda x: lm.linear(x, out_proj_weight, out_proj_bias))
    return layer(query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal)
