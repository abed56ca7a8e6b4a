"""Paddle's layers as functions."""

from __future__ import annotations

import sys
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.names import Names, serve
from lamella.compat.tables.paddle_nn import FUNCTIONAL as _TABLE

from .. import _words
from ._classes import (  # noqa: F401
    adaptive_log_softmax_with_loss,
    class_center_sample,
    hsigmoid_loss,
    margin_cross_entropy,
    rnnt_loss,
)
from ._decoding import gather_tree  # noqa: F401
from ._fractional import fractional_max_pool2d, fractional_max_pool3d  # noqa: F401
from ._losses import (  # noqa: F401
    dice_loss,
    label_smooth,
    log_loss,
    maxout,
    multi_label_soft_margin_loss,
    npair_loss,
    sequence_mask,
    sigmoid_focal_loss,
    temporal_shift,
    thresholded_relu,
    zeropad2d,
)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """``x @ weight + bias`` with a weight of shape ``(in_features, out_features)``."""
    y = lm.matmul(x, weight)
    return y if bias is None else y + bias


def relu(x: Tensor, name: str | None = None) -> Tensor:
    """``max(x, 0)``."""
    return lm.relu(x)


def tanh(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the hyperbolic tangent."""
    return lm.tanh(x)


def sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return lm.sigmoid(x)


def gelu(x: Tensor, approximate: bool = False, name: str | None = None) -> Tensor:
    """Returns the Gaussian error linear unit."""
    return lm.gelu(x, approximate="tanh" if approximate else "none")


def softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns the softmax along ``axis``."""
    return lm.softmax(x if dtype is None else lm.cast(x, dtype), axis=axis)


def log_softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns the logarithm of the softmax along ``axis``."""
    return lm.log_softmax(x if dtype is None else lm.cast(x, dtype), axis=axis)


def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Returns the squared difference of two tensors, which may be broadcast."""
    if tuple(input.shape) == tuple(label.shape):
        return lm.mse_loss(input, label, reduction=reduction)
    loss = lm.square(input - label)
    return loss if reduction == "none" else lm.mean(loss) if reduction == "mean" else lm.sum(loss)


def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """Returns the squared difference of two tensors, element by element."""
    return lm.square(input - label)


def dropout(
    x: Tensor,
    p: float = 0.5,
    axis: Any = None,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """Zeroes each element with probability ``p`` and divides the others by ``1 - p``, in training."""
    if axis is not None or mode != "upscale_in_train":
        raise NotImplementedError("[dropout] Lamella's paddle front takes neither an axis nor another mode")
    return lm.dropout(x, p, training)


def cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Returns the cross entropy of scores, or without ``use_softmax`` of probabilities, and classes.

    Classes are integers in the shape of ``input`` without ``axis``, or with 1 for its size; where ``soft_label``, they
    are probabilities in the shape of ``input``.
    """
    axis = axis % input.ndim
    if soft_label:
        if weight is not None or label_smoothing:
            raise NotImplementedError("[cross_entropy] Lamella's paddle front takes soft labels without weights")
        logarithm = lm.log_softmax(input, axis=axis) if use_softmax else lm.log(input)
        loss = -lm.sum(label * logarithm, axis=axis, keepdims=True)
        return loss if reduction == "none" else lm.mean(loss) if reduction == "mean" else lm.sum(loss)
    keeps_axis = label.ndim == input.ndim
    if keeps_axis:
        label = lm.squeeze(label, axis)
    if use_softmax:
        loss = lm.cross_entropy(input, label, weight, ignore_index, reduction, label_smoothing, axis)
    elif label_smoothing:
        raise NotImplementedError("[cross_entropy] Lamella's paddle front smooths the labels of scores only")
    else:
        loss = lm.nll_loss(lm.log(input), label, weight, ignore_index, reduction, axis)
    return lm.expand_dims(loss, axis) if keeps_axis and reduction == "none" else loss


def batch_norm(
    x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Normalizes channels by the batch, in evaluation by the running mean and variance, which training moves."""
    by_batch = training and not use_global_stats
    return lm.batch_norm(x, running_mean, running_var, weight, bias, by_batch, 1.0 - momentum, epsilon)


def instance_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-05,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Normalizes each channel of each example."""
    return lm.instance_norm(x, weight, bias, eps)


def one_hot(x: Tensor, num_classes: int, name: str | None = None) -> Tensor:
    """Returns 1 at the place of each class and 0 elsewhere, as floats."""
    return lm.one_hot(x, num_classes).astype(lm.float32)


def avg_pool2d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: int | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Returns the mean of each window; of its elements in the image where ``exclusive``."""
    if data_format != "NCHW":
        raise NotImplementedError("[avg_pool2d] Lamella's paddle front takes NCHW")
    return lm.avg_pool2d(x, kernel_size, stride, padding, ceil_mode, not exclusive, divisor_override)


def _max_pool(axes: int) -> Any:
    name = f"max_pool{axes}d"
    native, with_indices = getattr(lm, name), getattr(lm, f"{name}_with_indices")

    def pool(
        x: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str | None = None,
        name: str | None = None,
    ) -> Any:
        if data_format is not None and not data_format.startswith("NC"):
            raise NotImplementedError("[max_pool] in Lamella's paddle front channels are the second axis")
        return (with_indices if return_mask else native)(x, kernel_size, stride, padding, 1, ceil_mode)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = native.__doc__
    return pool


max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))


def pad(
    x: Tensor, pad: Any, mode: str = "constant", value: float = 0.0, data_format: str = "NCHW", name: Any = None
) -> Tensor:
    """Returns ``x`` with more elements around it: pairs for the last axis first, or for all axes from the first on."""
    sizes = [int(each) for each in (pad.tolist() if isinstance(pad, Tensor) else pad)]
    if len(sizes) == 2 * x.ndim:
        pairs = [sizes[i : i + 2] for i in range(0, len(sizes), 2)]
        sizes = [each for pair in reversed(pairs) for each in pair]
    return lm.pad(x, sizes, mode, value)


def softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """Returns the cross entropy of each example, with 1 for the size of ``axis``."""
    loss = cross_entropy(logits, label, ignore_index=ignore_index, reduction="none", soft_label=soft_label, axis=axis)
    if loss.ndim < logits.ndim:
        loss = lm.expand_dims(loss, axis)
    return (loss, lm.softmax(logits, axis=axis)) if return_softmax else loss


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns the attention of tensors whose axes are batch, places, heads and features."""
    q, k, v = (lm.swapaxes(each, 1, 2) for each in (query, key, value))
    found = lm.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p if training else 0.0, is_causal)
    return lm.swapaxes(found, 1, 2)


def flash_attn_qkvpacked(
    qkv: Tensor,
    dropout: float = 0.0,
    causal: bool = False,
    return_softmax: bool = False,
    *,
    fixed_seed_offset: Any = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, None]:
    """Returns the attention of queries, keys and values in one tensor, and None in the place of its weights.

    Args:
        qkv: ``(n, places, groups + 2, key heads, features)``: ``groups`` query heads for each key head, then the key,
            then the value.
        dropout: share of the weights that are zeroed in training.
        causal: each place sees itself and those before.
        return_softmax: must be False.
        fixed_seed_offset: not used.
        rng_name: not used.
        training: False leaves dropout out.
        name: not used.

    Raises:
        NotImplementedError: ``return_softmax`` is True.
    """
    if return_softmax:
        raise NotImplementedError("[flash_attn_qkvpacked] Lamella's paddle front keeps no weights of attention")
    groups = tuple(qkv.shape)[2] - 2
    query = lm.flatten(qkv[:, :, :groups], 2, 3)
    key, value = (lm.tile(qkv[:, :, groups + i], (1, 1, groups, 1)) for i in (0, 1))
    return scaled_dot_product_attention(query, key, value, None, dropout, causal, training), None


def swiglu(x: Tensor, y: Tensor | None = None, name: str | None = None) -> Tensor:
    """``silu(x) * y``; without ``y``, of both halves of the last axis (Shazeer 2020, "GLU variants")."""
    if y is None:
        x, y = lm.split(x, 2, axis=-1)
    return lm.silu(x) * y


def _in_place(name: str) -> Any:
    def function(x: Tensor, *args: Any, **named: Any) -> Tensor:
        owner: Any = sys.modules[__name__]
        made: Tensor = getattr(owner, name)(x.clone(), *args, **named)
        return x.copy_(made)

    function.__name__ = function.__qualname__ = f"{name}_"
    function.__doc__ = f"{name}(), written over its argument."
    return function


relu_, tanh_, softmax_ = map(_in_place, ("relu", "tanh", "softmax"))
hardtanh_, leaky_relu_, thresholded_relu_ = map(_in_place, ("hardtanh", "leaky_relu", "thresholded_relu"))

__getattr__ = serve(Names(__name__, [("lamella.nn.functional", _TABLE, _words.FUNCTIONS)]))
