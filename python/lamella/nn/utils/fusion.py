"""A batch norm in evaluation as a part of the layer before it.

Source: Jacob et al. 2018, "Quantization and training of neural networks for efficient integer-arithmetic-only
inference", section 3.2: ``weight * gamma / sqrt(var + eps)`` and ``(bias - mean) * gamma / sqrt(var + eps) + beta``.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import lamella as lm

from ..layers import Linear
from ..module import Module
from ..parameter import Parameter

_Layer = TypeVar("_Layer", bound=Module)


def fuse_conv_bn_eval(conv: _Layer, bn: Module, transpose: bool = False) -> _Layer:
    """Returns a convolution that gives what ``bn(conv(x))`` gives in evaluation.

    Args:
        conv: the convolution.
        bn: the batch norm behind it.
        transpose: whether ``conv`` is a transposed convolution.

    Raises:
        ValueError: one of the two is in training mode, or ``bn`` has no running statistics.
    """
    _check("fuse_conv_bn_eval", conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: lm.Tensor,
    conv_b: lm.Tensor | None,
    bn_rm: lm.Tensor,
    bn_rv: lm.Tensor,
    bn_eps: float,
    bn_w: lm.Tensor | None,
    bn_b: lm.Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Returns the weight and the bias of a convolution with a batch norm in it.

    Args:
        conv_w: the convolution's weight.
        conv_b: its bias, or None for 0.
        bn_rm: the running mean.
        bn_rv: the running variance.
        bn_eps: added to the variance.
        bn_w: the batch norm's weight, or None for 1.
        bn_b: its bias, or None for 0.
        transpose: whether the weight is that of a transposed convolution, ``(in, out // groups, *kernel)``. With
            groups, each channel of the batch norm is of the group in whose part of the weight it lies.
    """
    with lm.no_grad():
        scale, bias = _scale_and_bias(conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
        ones = (1,) * (conv_w.ndim - 2)
        if transpose:
            # Rows of the weight are inputs, in as many parts as there are groups.
            groups = scale.size // conv_w.shape[1]
            factors = lm.repeat(lm.reshape(scale, (groups, -1)), conv_w.shape[0] // groups, axis=0)
        else:
            factors = lm.reshape(scale, (-1, 1))
        weight = conv_w * lm.reshape(factors, (*factors.shape, *ones))
        return _parameter(weight, conv_w), _parameter(bias, conv_w if conv_b is None else conv_b)


def fuse_linear_bn_eval(linear: Linear, bn: Module) -> Linear:
    """Returns a linear layer that gives what ``bn(linear(x))`` gives in evaluation.

    Raises:
        ValueError: one of the two is in training mode, ``bn`` has no running statistics, or has another number of
            features than the layer.
    """
    _check("fuse_linear_bn_eval", linear, bn)
    if bn.num_features != linear.out_features:
        raise ValueError(
            f"[fuse_linear_bn_eval] bn has {bn.num_features} features, the layer before it {linear.out_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: lm.Tensor,
    linear_b: lm.Tensor | None,
    bn_rm: lm.Tensor,
    bn_rv: lm.Tensor,
    bn_eps: float,
    bn_w: lm.Tensor | None,
    bn_b: lm.Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Returns the weight and the bias of a linear layer with a batch norm in it; arguments as for convolutions."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _check(op: str, layer: Module, bn: Module) -> None:
    if layer.training or bn.training:
        raise ValueError(f"[{op}] both layers are in evaluation mode: call eval() first")
    if bn.running_mean is None or bn.running_var is None:
        raise ValueError(f"[{op}] bn has no running statistics: it was made with track_running_stats=False")


def _scale_and_bias(
    bias: lm.Tensor | None,
    mean: lm.Tensor,
    variance: lm.Tensor,
    eps: float,
    weight: lm.Tensor | None,
    shift: lm.Tensor | None,
) -> tuple[lm.Tensor, lm.Tensor]:
    scale = lm.rsqrt(variance + eps)
    if weight is not None:
        scale = scale * weight
    moved = -mean * scale if bias is None else (bias - mean) * scale
    return scale, moved if shift is None else moved + shift


def _parameter(values: lm.Tensor, like: lm.Tensor) -> Parameter:
    made: Any = Parameter(values, dtype=like.dtype, stop_gradient=like.stop_gradient)
    return made
