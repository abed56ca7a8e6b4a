"""Layers of static programs that are made of functions of ``paddle.nn.functional`` and of parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella.nn import init
from lamella.static import ParamAttr, unique_name
from lamella.static.control_flow import cond
from lamella.static.parameters import layer_parameter, xavier_uniform
from lamella.static.program import need_recording

from ...nn import functional as F  # noqa: N812
from ...nn._sets import unit


class _Made:
    """Makes the parameters of one layer.

    Args:
        op: the function's name.
        name: what the names of the parameters begin with; a new name by default.
    """

    def __init__(self, op: str, name: str | None) -> None:
        need_recording(op)
        self.op, self.name = op, name or unique_name.generate(op)

    def __call__(self, suffix: str, shape: Sequence[int], dtype: Any, attr: Any, fill: Any) -> Any:
        """Returns a parameter, or None where its attributes are False."""
        if attr is False:
            return None
        return layer_parameter(self.op, self.name, suffix, tuple(shape), dtype, attr, fill)


def _through(act: str | None, x: Any) -> Any:
    return x if act is None else getattr(F, act)(x)


def _normal(window: Sequence[int], channels: int) -> Callable[[lm.Tensor], lm.Tensor]:
    deviation = math.sqrt(2.0 / max(math.prod(window) * channels, 1))
    return lambda tensor: init.normal_(tensor, 0.0, deviation)


def conv3d(
    input: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
) -> Any:
    """Convolves volumes with new filters."""
    made = _Made("conv3d", name)
    channels = input.shape[1 if data_format == "NCDHW" else -1]
    window = (filter_size,) * 3 if isinstance(filter_size, int) else tuple(filter_size)
    parts = groups or 1
    shape = (num_filters, channels // parts, *window)
    weight = made("w_0", shape, input.dtype, param_attr, _normal(window, channels))
    bias = made("b_0", (num_filters,), input.dtype, bias_attr, init.zeros_)
    return _through(act, F.conv3d(input, weight, bias, stride, padding, dilation, parts, data_format))


def _transposed(axes: int) -> Any:
    op = f"conv{axes}d_transpose"
    layout = "NCHW" if axes == 2 else "NCDHW"

    def layer(
        input: Any,
        num_filters: int,
        output_size: Any = None,
        filter_size: Any = None,
        padding: Any = 0,
        stride: Any = 1,
        dilation: Any = 1,
        groups: int | None = None,
        param_attr: Any = None,
        bias_attr: Any = None,
        use_cudnn: bool = True,
        act: str | None = None,
        name: str | None = None,
        data_format: str = layout,
    ) -> Any:
        made = _Made(op, name)
        if filter_size is None:
            raise ValueError(f"[{op}] filter_size: give the sizes of the filters")
        channels = input.shape[1 if data_format == layout else -1]
        window = (filter_size,) * axes if isinstance(filter_size, int) else tuple(filter_size)
        parts = groups or 1
        shape = (channels, num_filters // parts, *window)
        weight = made("w_0", shape, input.dtype, param_attr, xavier_uniform)
        bias = made("b_0", (num_filters,), input.dtype, bias_attr, init.zeros_)
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": parts}
        options |= {"output_size": output_size, "data_format": data_format}
        return _through(act, getattr(F, op)(input, weight, bias, **options))

    layer.__name__ = layer.__qualname__ = op
    layer.__doc__ = f"The transpose of a convolution with new filters, see :func:`paddle.nn.functional.{op}`."
    return layer


conv2d_transpose, conv3d_transpose = _transposed(2), _transposed(3)


def group_norm(
    input: Any,
    groups: int,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    data_layout: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Normalizes groups of channels of each example, then scales and shifts channels."""
    made = _Made("group_norm", name)
    channels = (input.shape[1 if data_layout == "NCHW" else -1],)
    weight = made("w_0", channels, input.dtype, param_attr, init.ones_)
    bias = made("b_0", channels, input.dtype, bias_attr, init.zeros_)
    return _through(act, F.group_norm(input, groups, epsilon, weight, bias, data_layout))


def instance_norm(
    input: Any, epsilon: float = 1e-05, param_attr: Any = None, bias_attr: Any = None, name: str | None = None
) -> Any:
    """Normalizes each channel of each example, then scales and shifts channels."""
    made = _Made("instance_norm", name)
    channels = (input.shape[1],)
    weight = made("w_0", channels, input.dtype, param_attr, init.ones_)
    bias = made("b_0", channels, input.dtype, bias_attr, init.zeros_)
    return F.instance_norm(input, weight=weight, bias=bias, eps=epsilon)


def prelu(x: Any, mode: str, param_attr: Any = None, data_format: str = "NCHW", name: str | None = None) -> Any:
    """``x``, and new weights times ``x`` below 0: one ("all"), one for each channel, or one for each "element".

    Raises:
        ValueError: ``mode`` is another word.
    """
    made = _Made("prelu", name)
    if mode not in ("all", "channel", "element"):
        raise ValueError(f"[prelu] mode is 'all', 'channel' or 'element', not {mode!r}")
    sizes = list(x.shape)
    if mode == "element":
        weight = made("w_0", [1, *sizes[1:]], x.dtype, param_attr, lambda t: init.constant_(t, 0.25))
        return lm.where(x > 0, x, x * weight)
    count = 1 if mode == "all" else sizes[1 if data_format == "NCHW" else -1]
    weight = made("w_0", [count], x.dtype, param_attr, lambda t: init.constant_(t, 0.25))
    return F.prelu(x, weight, data_format)


def bilinear_tensor_product(
    x: Any,
    y: Any,
    size: int,
    act: str | None = None,
    name: str | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
) -> Any:
    """Products of two vectors with ``size`` new matrices between them, ``(n, size)``."""
    made = _Made("bilinear_tensor_product", name)
    weight = made("w_0", [size, x.shape[1], y.shape[1]], x.dtype, param_attr, xavier_uniform)
    bias = made("b_0", [1, size], x.dtype, bias_attr, init.zeros_)
    return _through(act, F.bilinear(x, y, weight, bias))


def row_conv(input: Any, future_context_size: int, param_attr: Any = None, act: str | None = None) -> Any:
    """Sums of each step of ``(n, steps, features)`` and those behind it, with new weights for each feature.

    Amodei et al. 2016, "Deep speech 2".
    """
    made = _Made("row_conv", None)
    features = input.shape[-1]
    weight = made("w_0", [future_context_size + 1, features], input.dtype, param_attr, xavier_uniform)
    padded = F.pad(input, [0, 0, 0, future_context_size])
    total: Any = None
    for ahead in range(future_context_size + 1):
        part = lm.narrow(padded, 1, ahead, input.shape[1]) * weight[ahead]
        total = part if total is None else total + part
    return _through(act, total)


def deform_conv2d(
    x: Any,
    offset: Any,
    mask: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    deformable_groups: int = 1,
    im2col_step: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Any:
    """Convolves images with new filters that read at places of their own, see ``paddle.vision.ops.deform_conv2d``."""
    from ...vision.ops import deform_conv2d as convolve

    made = _Made("deformable_conv", name)
    channels = x.shape[1]
    window = (filter_size,) * 2 if isinstance(filter_size, int) else tuple(filter_size)
    shape = (num_filters, channels // groups, *window)
    weight = made("w_0", shape, x.dtype, weight_attr, _normal(window, channels))
    bias = made("b_0", (num_filters,), x.dtype, bias_attr, init.zeros_)
    return convolve(x, offset, weight, bias, stride, padding, dilation, deformable_groups, groups, mask)


def spectral_norm(weight: Any, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, name: str | None = None) -> Any:
    """Divides a weight by its largest singular value, which power iterations follow from drawn vectors.

    Miyato et al. 2018, "Spectral normalization for generative adversarial networks".
    """
    made = _Made("spectral_norm", name)
    matrix = lm.flatten(lm.moveaxis(weight, dim, 0), 1)
    u, v = (
        made(f"w_{place}", (size,), weight.dtype, ParamAttr(trainable=False), lambda t: init.normal_(t, 0.0, 1.0))
        for place, size in enumerate(matrix.shape)
    )
    with lm.no_grad():
        for _ in range(power_iters):
            v = unit(lm.matmul(matrix.mT, u), eps)
            u = unit(lm.matmul(matrix, v), eps)
    return weight / lm.sum(u * lm.matmul(matrix, v))


def case(pred_fn_pairs: Any, default: Any = None, name: str | None = None) -> Any:
    """Returns what the function of the first condition that holds gives, else what ``default``, or the last one, gives.

    Raises:
        TypeError: the pairs are no pairs of a condition and a function.
    """
    pairs = list(pred_fn_pairs)
    if not pairs or any(not isinstance(each, (tuple, list)) or len(each) != 2 for each in pairs):
        raise TypeError("[case] pred_fn_pairs holds pairs of a condition and a function")
    if default is None:
        *pairs, (_, default) = pairs
    chosen = default
    for condition, function in reversed(pairs):
        chosen = _either(condition, function, chosen)
    return chosen()


def _either(condition: Any, first: Any, second: Any) -> Any:
    return lambda: cond(condition, first, second)


def switch_case(branch_index: Any, branch_fns: Any, default: Any = None, name: str | None = None) -> Any:
    """Returns what the function of a number gives, else what ``default``, or the one of the largest number, gives."""
    listed = branch_fns.items() if isinstance(branch_fns, dict) else branch_fns
    pairs = [each if isinstance(each, (tuple, list)) else (place, each) for place, each in enumerate(listed)]
    ordered = sorted(pairs, key=lambda pair: pair[0])
    if default is None:
        default = ordered[-1][1]
    return case([(branch_index == number, function) for number, function in ordered], default)
