"""Functions of several operations, which Paddle has as one kernel each: here they are their formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module

from ...nn import functional as F  # noqa: N812
from ...nn.functional import swiglu


def fused_matmul_bias(
    x: Tensor,
    y: Tensor,
    bias: Tensor | None = None,
    transpose_x: bool = False,
    transpose_y: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of two matrices, plus a bias."""
    made = lm.matmul(x.mT if transpose_x else x, y.mT if transpose_y else y)
    return made if bias is None else made + bias


def fused_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, transpose_weight: bool = False, name: str | None = None
) -> Tensor:
    """The product with a weight, plus a bias."""
    return fused_matmul_bias(x, weight, bias, False, transpose_weight)


def fused_linear_activation(
    x: Tensor,
    y: Tensor,
    bias: Tensor,
    trans_x: bool = False,
    trans_y: bool = False,
    activation: str | None = None,
) -> Tensor:
    """An activation, "relu" or "gelu", of a product plus a bias."""
    made = fused_matmul_bias(x, y, bias, trans_x, trans_y)
    return made if activation in (None, "none") else _activation("fused_linear_activation", activation)(made)


def _of_halves(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def gated(x: Tensor) -> Tensor:
        first, second = lm.split(x, 2, axis=-1)
        return function(first) * second

    return gated


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": lm.gelu,
    "relu": lm.relu,
    "silu": lm.silu,
    "swish": lm.silu,
    "swiglu": _of_halves(lm.silu),
    "geglu": _of_halves(lm.gelu),
}


def _activation(operator: str, name: str | None) -> Callable[[Tensor], Tensor]:
    if name not in _ACTIVATIONS:
        raise ValueError(f"[{operator}] an activation is one of {', '.join(_ACTIVATIONS)}, not {name!r}")
    return _ACTIVATIONS[name]


def fused_bias_act(
    x: Tensor,
    bias: Tensor | None = None,
    dequant_scales: Tensor | None = None,
    shift: Tensor | None = None,
    smooth: Tensor | None = None,
    act_method: str = "gelu",
    compute_dtype: str = "default",
    quant_scale: float = -1,
    quant_round_type: int = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> Tensor:
    """An activation of ``x + bias``; those of "swiglu" and "geglu" multiply the second half of the last axis.

    Raises:
        NotImplementedError: integers are asked for.
    """
    if dequant_scales is not None or shift is not None or smooth is not None or quant_scale > 0:
        raise NotImplementedError("[fused_bias_act] Lamella's paddle front computes no integers: no scales, no shift")
    return _activation("fused_bias_act", act_method)(x if bias is None else x + bias)


def fused_dropout_add(
    x: Tensor, y: Tensor, p: float = 0.5, training: bool = True, mode: str = "upscale_in_train", name: str | None = None
) -> Tensor:
    """Drops elements of ``x``, and adds ``y``."""
    return F.dropout(x, p, training=training, mode=mode) + y


def _normalized(x: Tensor, scale: Tensor | None, bias: Tensor | None, epsilon: float) -> Tensor:
    return lm.layer_norm(x, (x.shape[-1],), scale, bias, epsilon)


def fused_bias_dropout_residual_layer_norm(
    x: Tensor,
    residual: Tensor,
    bias: Tensor | None = None,
    ln_scale: Tensor | None = None,
    ln_bias: Tensor | None = None,
    dropout_rate: float = 0.5,
    ln_epsilon: float = 1e-5,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """``layer_norm(residual + dropout(x + bias))`` over the last axis."""
    total = fused_dropout_add(x if bias is None else x + bias, residual, dropout_rate, training, mode)
    return _normalized(total, ln_scale, ln_bias, ln_epsilon)


def _plus(operator: str, x: Tensor, bias: Any, residual: Any, alpha: float, axis: int, quant_scale: float) -> Any:
    """Returns what is normalized, as rows, and the sizes of a row."""
    if quant_scale > 0:
        raise NotImplementedError(f"[{operator}] Lamella's paddle front computes no integers: quant_scale is -1")
    axis %= x.ndim
    total = x if bias is None else x + lm.reshape(bias, tuple(x.shape)[axis:])
    total = total if residual is None else total + residual * alpha
    return total, tuple(x.shape)[axis:]


def fused_layer_norm(
    x: Tensor,
    norm_weight: Tensor | None,
    norm_bias: Tensor | None,
    epsilon: float,
    residual_alpha: float = 1.0,
    begin_norm_axis: int = 1,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    quant_scale: float = -1,
    quant_round_type: float = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
    """Normalizes ``x + bias + residual_alpha * residual`` over the axes from ``begin_norm_axis`` on.

    Returns:
        The result, the sum before it where there is a ``residual``, and the means of rows and the reciprocals of their
        deviations. Without ``norm_weight`` and ``norm_bias`` the result is the sum.
    """
    total, sizes = _plus("fused_layer_norm", x, bias, residual, residual_alpha, begin_norm_axis, quant_scale)
    weight, shift = (each if each is None else lm.reshape(each, sizes) for each in (norm_weight, norm_bias))
    rows = lm.reshape(total.detach(), (-1, math.prod(sizes)))
    plain = weight is None and shift is None
    made = total if plain else lm.layer_norm(total, sizes, weight, shift, epsilon)
    inverse = lm.rsqrt(lm.var(rows, axis=1) + epsilon)
    return made, None if residual is None else total, lm.mean(rows, axis=1), inverse


def fused_rms_norm(
    x: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor | None,
    epsilon: float,
    begin_norm_axis: int = 1,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    quant_scale: float = -1,
    quant_round_type: float = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> tuple[Tensor, Tensor | None]:
    """Divides ``x + bias + residual`` by the root of the mean of squares over the axes from ``begin_norm_axis`` on.

    Returns:
        The result, and the sum before it where there is a ``residual``.
    """
    total, sizes = _plus("fused_rms_norm", x, bias, residual, 1.0, begin_norm_axis, quant_scale)
    made = lm.rms_norm(total, sizes, lm.reshape(norm_weight, sizes), epsilon)
    made = made if norm_bias is None else made + lm.reshape(norm_bias, sizes)
    return made, None if residual is None else total


def fused_rotary_position_embedding(
    q: Tensor,
    k: Tensor | None = None,
    v: Tensor | None = None,
    sin: Tensor | None = None,
    cos: Tensor | None = None,
    position_ids: Tensor | None = None,
    use_neox_rotary_style: bool = True,
    time_major: bool = False,
    rotary_emb_base: float = 10000.0,
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Turns pairs of numbers of each head by angles that grow with the position.

    Args:
        q: ``(batch, positions, heads, numbers)``.
        k: as ``q``, or None.
        v: as ``q``, or None.
        sin: sines of all positions, ``(positions, numbers)`` with further axes of length 1; by default those of
            ``position / rotary_emb_base ** (2 * pair / numbers)``.
        cos: the cosines.
        position_ids: ``(batch, positions)``, the place of each position in ``sin`` and ``cos``.
        use_neox_rotary_style: pairs are neighbors; otherwise the halves of the numbers are.
        time_major: the first two axes are exchanged.
        rotary_emb_base: see ``sin``.

    Raises:
        ValueError: there are cosines without sines, or none where halves are turned.
    """
    if (sin is None) != (cos is None):
        raise ValueError("[fused_rotary_position_embedding] sin and cos are given together")
    if sin is None and not use_neox_rotary_style:
        raise ValueError("[fused_rotary_position_embedding] sin and cos are needed where halves are turned")
    count, size = q.shape[0 if time_major else 1], q.shape[-1]
    if sin is None or cos is None:
        steps = lm.arange(0, size, 2, dtype=lm.float32) / size
        places = lm.arange(count, dtype=lm.float32)
        angles = lm.repeat(lm.expand_dims(places, 1) / rotary_emb_base**steps, 2, axis=1)
        sin, cos = lm.sin(angles), lm.cos(angles)
    sin, cos = (lm.reshape(each, (-1, size)) for each in (sin, cos))
    if position_ids is not None:
        sin, cos = (lm.expand_dims(lm.take(each, position_ids, axis=0), 2) for each in (sin, cos))
    else:
        sin, cos = (lm.reshape(each[:count], (1, count, 1, size)) for each in (sin, cos))
    if time_major:
        sin, cos = lm.swapaxes(sin, 0, 1), lm.swapaxes(cos, 0, 1)

    def turned(x: Tensor | None) -> Tensor | None:
        if x is None:
            return None
        if use_neox_rotary_style:
            other = lm.reshape(lm.stack([-x[..., 1::2], x[..., 0::2]], axis=-1), tuple(x.shape))
        else:
            other = lm.concat([-x[..., size // 2 :], x[..., : size // 2]], axis=-1)
        return (x * cos + other * sin).astype(x.dtype)

    return turned(q), turned(k), turned(v)


def fused_feedforward(
    x: Tensor,
    linear1_weight: Tensor,
    linear2_weight: Tensor,
    linear1_bias: Tensor | None = None,
    linear2_bias: Tensor | None = None,
    ln1_scale: Tensor | None = None,
    ln1_bias: Tensor | None = None,
    ln2_scale: Tensor | None = None,
    ln2_bias: Tensor | None = None,
    dropout1_rate: float = 0.5,
    dropout2_rate: float = 0.5,
    activation: str = "relu",
    ln1_epsilon: float = 1e-5,
    ln2_epsilon: float = 1e-5,
    pre_layer_norm: bool = False,
    training: bool = True,
    mode: str = "upscale_in_train",
    ring_id: int = -1,
    add_residual: bool = True,
    name: str | None = None,
) -> Tensor:
    """Two linear layers with an activation and dropout between them; ``x`` is added to what they make.

    The first normalization is in front with ``pre_layer_norm``; the second one is behind without it.
    """
    made = _normalized(x, ln1_scale, ln1_bias, ln1_epsilon) if pre_layer_norm else x
    made = _activation("fused_feedforward", activation)(fused_linear(made, linear1_weight, linear1_bias))
    made = fused_linear(F.dropout(made, dropout1_rate, training=training, mode=mode), linear2_weight, linear2_bias)
    made = F.dropout(made, dropout2_rate, training=training, mode=mode)
    made = x + made if add_residual else made
    return made if pre_layer_norm else _normalized(made, ln2_scale, ln2_bias, ln2_epsilon)


def fused_multi_head_attention(
    x: Tensor,
    qkv_weight: Tensor,
    linear_weight: Tensor,
    pre_layer_norm: bool = False,
    pre_ln_scale: Tensor | None = None,
    pre_ln_bias: Tensor | None = None,
    ln_scale: Tensor | None = None,
    ln_bias: Tensor | None = None,
    pre_ln_epsilon: float = 1e-5,
    qkv_bias: Tensor | None = None,
    linear_bias: Tensor | None = None,
    cache_kv: Tensor | None = None,
    attn_mask: Tensor | None = None,
    dropout_rate: float = 0.5,
    attn_dropout_rate: float = 0.5,
    ln_epsilon: float = 1e-5,
    training: bool = True,
    mode: str = "upscale_in_train",
    ring_id: int = -1,
    add_residual: bool = True,
    num_heads: int = -1,
    transpose_qkv_wb: bool = False,
    name: str | None = None,
) -> Any:
    """Attention of a sequence to itself and a linear layer; ``x`` is added to what they make.

    Args:
        x: ``(batch, positions, numbers)``.
        qkv_weight: ``(3, heads, numbers of a head, numbers)``, or ``(numbers, 3 * numbers)``.
        linear_weight: the weight of the linear layer.
        pre_layer_norm: has a normalization in front, by the first factors, and none behind.
        pre_ln_scale: factors in front.
        pre_ln_bias: terms in front.
        ln_scale: factors behind.
        ln_bias: terms behind.
        pre_ln_epsilon: added to the variances in front.
        qkv_bias: ``(3, heads, numbers of a head)``, or ``(3 * numbers)``.
        linear_bias: the bias of the linear layer.
        cache_kv: keys and values of positions before, ``(2, batch, heads, positions, numbers of a head)``.
        attn_mask: added to the products of queries and keys.
        dropout_rate: share of elements that are dropped behind the linear layer.
        attn_dropout_rate: share of weights that are dropped.
        ln_epsilon: added to the variances behind.
        training: drops elements.
        mode: see :func:`paddle.nn.functional.dropout`.
        ring_id: not used.
        add_residual: adds ``x``.
        num_heads: number of heads, where ``transpose_qkv_wb``.
        transpose_qkv_wb: the weights are a matrix.
        name: not used.

    Returns:
        The result; and the cache that grew, where there is one.

    Raises:
        ValueError: the shape of ``qkv_weight`` is another one, or ``num_heads`` is missing.
    """
    numbers = x.shape[-1]
    if transpose_qkv_wb:
        if num_heads <= 0 or tuple(qkv_weight.shape) != (numbers, 3 * numbers):
            raise ValueError(
                f"[fused_multi_head_attention] with transpose_qkv_wb num_heads is needed, and qkv_weight is "
                f"[{numbers}, {3 * numbers}]; got {num_heads} and {list(qkv_weight.shape)}"
            )
        heads, each = num_heads, numbers // num_heads
        weight = qkv_weight
    else:
        if qkv_weight.ndim != 4 or qkv_weight.shape[0] != 3 or qkv_weight.shape[3] != numbers:
            raise ValueError(
                f"[fused_multi_head_attention] qkv_weight is [3, heads, numbers of a head, {numbers}], not "
                f"{list(qkv_weight.shape)}"
            )
        heads, each = qkv_weight.shape[1], qkv_weight.shape[2]
        weight = lm.reshape(qkv_weight, (-1, numbers)).mT
    made = _normalized(x, pre_ln_scale, pre_ln_bias, pre_ln_epsilon) if pre_layer_norm else x
    made = fused_linear(made, weight, None if qkv_bias is None else lm.reshape(qkv_bias, (-1,)))
    parts = lm.permute_dims(lm.reshape(made, (*tuple(x.shape)[:2], 3, heads, each)), (2, 0, 3, 1, 4))
    query, key, value = parts[0], parts[1], parts[2]
    if cache_kv is not None:
        key, value = lm.concat([cache_kv[0], key], axis=2), lm.concat([cache_kv[1], value], axis=2)
    products = lm.matmul(query * each**-0.5, key.mT)
    weights = lm.softmax(products if attn_mask is None else products + attn_mask, axis=-1)
    weights = F.dropout(weights, attn_dropout_rate, training=training, mode=mode)
    made = lm.reshape(lm.permute_dims(lm.matmul(weights, value), (0, 2, 1, 3)), (*tuple(x.shape)[:2], heads * each))
    made = F.dropout(fused_linear(made, linear_weight, linear_bias), dropout_rate, training=training, mode=mode)
    made = x + made if add_residual else made
    made = made if pre_layer_norm else _normalized(made, ln_scale, ln_bias, ln_epsilon)
    return made if cache_kv is None else (made, lm.stack([key, value]))


__all__ = [
    "fused_bias_act",
    "fused_bias_dropout_residual_layer_norm",
    "fused_dropout_add",
    "fused_feedforward",
    "fused_layer_norm",
    "fused_linear",
    "fused_linear_activation",
    "fused_matmul_bias",
    "fused_multi_head_attention",
    "fused_rms_norm",
    "fused_rotary_position_embedding",
    "swiglu",
]

__getattr__ = close_module(__name__)
