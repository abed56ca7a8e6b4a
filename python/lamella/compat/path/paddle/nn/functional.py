"""Paddle's layers as functions."""

from __future__ import annotations

import sys
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.names import Names, serve
from lamella.compat.tables.paddle_nn import FUNCTIONAL as _TABLE

from .. import _words
from .._attributes import give
from .._second_names import checked_axes
from ._classes import (  # noqa: F401
    adaptive_log_softmax_with_loss,
    class_center_sample,
    hsigmoid_loss,
    margin_cross_entropy,
    rnnt_loss,
)
from ._decoding import gather_tree  # noqa: F401
from ._entropy import cross_entropy, softmax_with_cross_entropy  # noqa: F401
from ._fractional import fractional_max_pool2d, fractional_max_pool3d  # noqa: F401
from ._kinks import hardshrink, hardsigmoid, leaky_relu, maxout, multi_margin_loss, rrelu, selu  # noqa: F401
from ._losses import (  # noqa: F401
    cosine_similarity,
    dice_loss,
    hinge_embedding_loss,
    label_smooth,
    log_loss,
    margin_ranking_loss,
    multi_label_soft_margin_loss,
    npair_loss,
    reduced,
    sequence_mask,
    sigmoid_focal_loss,
    temporal_shift,
    thresholded_relu,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from ._normalized import (  # noqa: F401
    batch_norm,
    channel_shuffle,
    group_norm,
    instance_norm,
    interpolate,
    local_response_norm,
    pad,
    pixel_shuffle,
    pixel_unshuffle,
    prelu,
    unfold,
    upsample,
    zeropad2d,
)
from ._windows import (  # noqa: F401
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    lp_pool1d,
    lp_pool2d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
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


def gelu(x: Tensor, approximate: bool | str = False, name: str | None = None) -> Tensor:
    """Returns the Gaussian error linear unit, by the hyperbolic tangent where ``approximate`` is True or "tanh".

    Raises:
        ValueError: ``approximate`` is another word than "tanh" and "none".
    """
    if approximate not in (True, False, "tanh", "none"):
        raise ValueError(f"[gelu] approximate is 'tanh' or 'none', True or False, not {approximate!r}")
    return lm.gelu(x, approximate="tanh" if approximate in (True, "tanh") else "none")


def silu(x: Tensor, inplace: bool = False, name: str | None = None) -> Tensor:
    """``x * sigmoid(x)``, written over ``x`` where ``inplace``."""
    made = lm.silu(x)
    return x.copy_(made) if inplace else made


def kl_div(
    input: Tensor, label: Tensor, reduction: str = "mean", log_target: bool = False, name: str | None = None
) -> Tensor:
    """The divergence of ``label`` from probabilities whose logarithms are ``input``.

    A label that is not above 0 counts nothing. "batchmean" divides the sum by the number of examples.
    """
    if log_target:
        return lm.kl_div(input, label, reduction, True)
    # The place of others is taken by one whose term is 0, and which passes no gradient on.
    counts = lm.greater(label, 0)
    inside = lm.where(counts, label, lm.ones_like(label))
    terms = lm.where(counts, inside * (lm.log(inside) - input), lm.zeros_like(input))
    if reduction == "batchmean":
        return lm.sum(terms) / max(input.shape[0] if input.ndim else 1, 1)
    return reduced("kl_div", terms, reduction)


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


def nll_loss(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The cost of classes by the logarithms of their probabilities; ``label`` may keep the axis of classes."""
    if label.ndim == input.ndim and label.shape[1] == 1:
        label = lm.squeeze(label, 1)
    return lm.nll_loss(input, label, weight, ignore_index, reduction)


def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """The magnitude of the difference of two tensors, which may be broadcast."""
    return reduced("l1_loss", lm.abs(input - label), reduction)


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
    """Zeroes each element with probability ``p`` and divides the others by ``1 - p``, in training.

    ``axis`` names the axes along which elements are zeroed apart from each other: all by default. The mode
    "downscale_in_infer" divides nothing, and multiplies by ``1 - p`` in evaluation. With ``p=0`` the result is ``x``.
    """
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise ValueError(f"[dropout] mode is 'upscale_in_train' or 'downscale_in_infer', not {mode!r}")
    if isinstance(axis, (list, tuple)) and not axis:
        raise ValueError("[dropout] axis is None, a number or numbers, not an empty list")
    later = mode == "downscale_in_infer"
    if p == 0 or not (training or later or axis is None):
        return x  # itself, as in Paddle, which copies it in evaluation if no axis is named
    if not training:
        return x * (1 - p) if later else x.clone()
    if axis is None and not later:
        return lm.dropout(x, p, True)
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    kept = checked_axes("dropout", axes, x.ndim)
    mask = lm.ones(tuple(n if a in kept else 1 for a, n in enumerate(tuple(x.shape))), dtype=x.dtype)
    # The others are divided by 1 - p, unless evaluation multiplies.
    return x * lm.dropout(mask, p, True) * ((1 - p) if later else 1.0)


def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, see :func:`lamella.alpha_dropout`."""
    # As in Paddle, training has memory of its own for any p.
    return x.clone() if training and p == 0 else lm.alpha_dropout(x, p, training)


def feature_alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """:func:`alpha_dropout` of whole channels, see :func:`lamella.feature_alpha_dropout`."""
    return x.clone() if training and p == 0 else lm.feature_alpha_dropout(x, p, training)


def one_hot(x: Tensor, num_classes: Any = -1, name: str | None = None) -> Tensor:
    """Returns 1 at the place of each class and 0 elsewhere, as floats; -1 for as many classes as there are."""
    count = int(lm.max(x)) + 1 if int(num_classes) == -1 else int(num_classes)
    return lm.one_hot(x, count).astype(lm.float32)


def embedding(
    x: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    sparse: bool = False,
    scale_grad_by_freq: bool = False,
    name: str | None = None,
) -> Tensor:
    """Rows of a table; the row ``padding_idx`` counts as zeros, and gets no gradient.

    ``max_norm`` shrinks the rows that are looked up, in the table itself.

    Raises:
        NotImplementedError: ``scale_grad_by_freq`` is set.
    """
    if scale_grad_by_freq:
        raise NotImplementedError("[embedding] Lamella's paddle front takes no scale_grad_by_freq")
    if sparse:
        give(weight, sparse_gradient=True)  # which Adam's lazy_mode asks for
    if max_norm is not None:
        with lm.no_grad():
            rows = lm.unique(x)
            weight[rows] = lm.renorm(weight[rows], norm_type, 0, max_norm)
    if padding_idx is None:
        return lm.embedding(x, weight)
    padding_idx %= weight.shape[0]
    made = lm.embedding(x, weight, padding_idx)
    return lm.where(lm.expand_dims(x == padding_idx, -1), lm.zeros_like(made), made)


def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """Products of two vectors with matrices between them, see :func:`lamella.nn.functional.bilinear`."""
    return lm.nn.functional.bilinear(x1, x2, weight, None if bias is None else lm.reshape(bias, (-1,)))


def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float = 1e-05, name: str | None = None
) -> Any:
    """Divides by the root of the mean of squares over the last axes; returns one over these roots, too."""
    sizes = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    axes = tuple(range(input.ndim - len(sizes), input.ndim))
    inverse = lm.rsqrt(lm.mean(lm.square(input.astype("float32")), axis=axes) + eps)
    return lm.rms_norm(input, sizes, weight, eps), inverse


def smooth_l1_loss(
    input: Tensor,
    label: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    is_huber: bool = True,
    name: str | None = None,
) -> Tensor:
    """Huber's loss; divided by ``delta`` unless ``is_huber``."""
    loss = lm.huber_loss(input, label, reduction, delta)
    return loss if is_huber else loss / delta


def ctc_loss(
    log_probs: Tensor,
    labels: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    norm_by_times: bool = False,
    zero_infinity: bool = False,
) -> Tensor:
    """The cost of all ways to say labels while time goes on (Graves et al. 2006), of unnormalized scores.

    Args:
        log_probs: ``(times, n, classes)``, whose softmax counts.
        labels: ``(n, longest label)``.
        input_lengths: number of times of each example.
        label_lengths: number of its labels.
        blank: the class between labels.
        reduction: "mean" of the costs divided by the numbers of labels, "sum" or "none".
        norm_by_times: divides the gradients of each example by its number of times.
        zero_infinity: counts costs that are infinite as 0.
    """
    scores = lm.log_softmax(log_probs, axis=-1)
    loss = lm.ctc_loss(
        scores, labels, input_lengths, label_lengths, blank, reduction="none", zero_infinity=zero_infinity
    )
    if norm_by_times:
        shares = 1.0 / input_lengths.astype(loss.dtype)
        loss = loss * shares + (loss * (1 - shares)).detach()
    if reduction == "mean":
        return lm.mean(loss / lm.clip(label_lengths.astype(loss.dtype), min=1.0))
    return lm.sum(loss) if reduction == "sum" else loss


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    backend: str | None = None,
    scale: float | None = None,
    enable_gqa: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns the attention of tensors whose axes are batch, places, heads and features."""
    q, k, v = (lm.swapaxes(each, 1, 2) for each in (query, key, value))
    groups = tuple(q.shape)[1] // max(tuple(k.shape)[1], 1)
    if groups > 1 and enable_gqa:
        k, v = lm.repeat(k, groups, axis=1), lm.repeat(v, groups, axis=1)
    if is_causal and attn_mask is not None:
        below = lm.tril(lm.ones((tuple(q.shape)[2], tuple(k.shape)[2]), dtype=lm.bool))
        hidden = lm.zeros_like(attn_mask) if attn_mask.dtype == lm.bool else lm.full_like(attn_mask, -float("inf"))
        attn_mask, is_causal = lm.where(below, attn_mask, hidden), False
    options: Any = (attn_mask, dropout_p if training else 0.0, is_causal)
    found = lm.scaled_dot_product_attention(q, k, v, *options, scale=scale)
    return lm.swapaxes(found, 1, 2)


def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout: float = 0.0,
    causal: bool = False,
    return_softmax: bool = False,
    *,
    fixed_seed_offset: Any = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, None]:
    """Returns the attention of :func:`scaled_dot_product_attention`, and None in the place of its weights.

    Raises:
        NotImplementedError: ``return_softmax`` is True.
    """
    if return_softmax:
        raise NotImplementedError("[flash_attention] Lamella's paddle front keeps no weights of attention")
    return scaled_dot_product_attention(query, key, value, None, dropout, causal, training), None


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

#: Functions of tensors that the module has, too.
_OF_TENSORS = """
diag_embed(input, offset=0, dim1=-2, dim2=-1)
pdist(x, p=2.0)
"""
_TABLES = [("lamella.nn.functional", _TABLE, _words.FUNCTIONS), ("lamella", _OF_TENSORS, _words.FUNCTIONS)]
__getattr__ = serve(Names(__name__, _TABLES))
