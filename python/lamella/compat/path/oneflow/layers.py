"""Layers that make their own variables: ``<name>-weight`` and ``<name>-bias``."""

from __future__ import annotations

import math as _math
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.graph import UnknownValueError

from . import _functions, _record, nn, scope
from ._initializers import constant_initializer, ones_initializer, xavier_uniform_initializer, zeros_initializer
from ._variables import get_variable
from ._windows import pair

__getattr__ = close_module(__name__)

_Activation = Callable[..., Any] | None


def _activated(x: Any, activation: _Activation) -> Any:
    return x if activation is None else activation(x, name="activation")


def _bias(name: str | None, size: int, dtype: Any, initializer: Any, regularizer: Any, trainable: bool) -> Any:
    made = initializer or zeros_initializer()
    return get_variable(name or "bias", (size,), dtype, made, regularizer, trainable, reuse=False)


def dense(
    inputs: Any,
    units: int,
    activation: _Activation = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = None,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    trainable: bool = True,
    name: str = "Dense",
    model_distribute: Any = None,
) -> Any:
    """``activation(inputs @ weight.T + bias)`` along the last axis.

    Args:
        inputs: a value of the job, with at least two axes.
        units: size of the last axis of the result.
        activation: a function such as ``flow.nn.relu``.
        use_bias: False leaves the bias out.
        kernel_initializer: of the weight ``(units, features)``; zeros by default, as in OneFlow.
        bias_initializer: zeros by default.
        kernel_regularizer: see ``flow.regularizers``.
        bias_regularizer: see ``flow.regularizers``.
        trainable: False for variables that optimizers leave alone.
        name: what the variables' names begin with.
        model_distribute: not used.

    Raises:
        ValueError: there are fewer than two axes, or the job has a layer of that name.
    """
    _record.needed("dense")
    shape = tuple(inputs.shape)
    if len(shape) < 2:
        raise ValueError(f"[dense] '{name}': expected at least two axes, got shape {shape}")
    if shape[-1] == -1:
        raise UnknownValueError("shape", f"[dense] '{name}': the last size of {shape} is decided by each call")
    with scope.namespace(name):
        made = kernel_initializer or constant_initializer(0)
        size = (int(units), shape[-1])
        weight = get_variable("weight", size, inputs.dtype, made, kernel_regularizer, trainable, reuse=False)
        out = _functions.matmul(inputs, weight, transpose_b=True)
        if use_bias:
            out = out + _bias(None, int(units), inputs.dtype, bias_initializer, bias_regularizer, trainable)
        return _activated(out, activation)


def conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any = 1,
    strides: Any = 1,
    padding: Any = "VALID",
    data_format: str = "NCHW",
    dilation_rate: Any = None,
    groups: int = 1,
    activation: _Activation = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = None,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    trainable: bool = True,
    name: str = "Conv2d",
    weight_name: str | None = None,
    bias_name: str | None = None,
) -> Any:
    """Convolves images with new filters, see ``flow.nn.conv2d``.

    Args:
        inputs: images ``(n, channels, height, width)``.
        filters: channels of the result.
        kernel_size: height and width of the filters, one number or two.
        strides: one number or two.
        padding: "SAME", "VALID" or a pair of numbers for each axis.
        data_format: "NCHW".
        dilation_rate: one number or two.
        groups: how many groups the channels make.
        activation: a function such as ``flow.nn.relu``.
        use_bias: False leaves the bias out.
        kernel_initializer: Xavier-uniform by default.
        bias_initializer: zeros by default.
        kernel_regularizer: see ``flow.regularizers``.
        bias_regularizer: see ``flow.regularizers``.
        trainable: False for variables that optimizers leave alone.
        name: what the variables' names begin with.
        weight_name: name of the filters, in place of ``<name>-weight``.
        bias_name: name of the bias, in place of ``<name>-bias``.

    Raises:
        ValueError: the groups do not divide the channels, or the job has a layer of that name.
    """
    _record.needed("conv2d")
    shape = tuple(inputs.shape)
    if len(shape) != 4:
        raise ValueError(f"[conv2d] '{name}': images are (n, channels, height, width), got shape {shape}")
    channels = shape[1]
    if channels == -1:
        raise UnknownValueError(
            "shape", f"[conv2d] '{name}': the number of channels of {shape} is decided by each call"
        )
    if groups < 1 or channels % groups or filters % groups:
        raise ValueError(f"[conv2d] '{name}': {groups} groups do not divide {channels} and {filters} channels")
    size = (int(filters), channels // groups, *pair("conv2d", "kernel_size", kernel_size))
    made = kernel_initializer or xavier_uniform_initializer()

    def named(given: str | None, variable: Callable[[], Any]) -> Any:
        if given is not None:
            return variable()
        with scope.namespace(name):
            return variable()

    weight = named(
        weight_name,
        lambda: get_variable(
            weight_name or "weight", size, inputs.dtype, made, kernel_regularizer, trainable, reuse=False
        ),
    )
    bias = None
    if use_bias:
        bias = named(
            bias_name,
            lambda: _bias(bias_name, size[0], inputs.dtype, bias_initializer, bias_regularizer, trainable),
        )
    out = nn.conv2d(inputs, weight, strides, padding, bias, data_format, dilation_rate, groups)
    return _activated(out, activation)


def batch_normalization(
    inputs: Any,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 0.001,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = None,
    gamma_initializer: Any = None,
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    moving_mean_initializer: Any = None,
    moving_variance_initializer: Any = None,
    trainable: bool = True,
    training: bool = True,
    name: str = "BatchNorm",
) -> Any:
    """Normalizes each channel: by the batch in jobs that train, by running statistics in others.

    The variables are ``<name>-beta``, ``<name>-gamma``, ``<name>-moving_mean`` and ``<name>-moving_variance``.

    Args:
        inputs: a value of the job.
        axis: the channels' axis.
        momentum: what remains of the running statistics in each run.
        epsilon: added to the variance.
        center: False leaves the shift out.
        scale: False leaves the scale out.
        beta_initializer: of the shift; zeros by default.
        gamma_initializer: of the scale; ones by default.
        beta_regularizer: see ``flow.regularizers``.
        gamma_regularizer: see ``flow.regularizers``.
        moving_mean_initializer: zeros by default.
        moving_variance_initializer: ones by default.
        trainable: False for variables that optimizers leave alone.
        training: False normalizes by the running statistics.
        name: what the variables' names begin with.
    """
    _record.needed("batch_normalization")
    shape = tuple(inputs.shape)
    at = axis % len(shape)
    size, dtype = (shape[at],), inputs.dtype
    with scope.namespace(name):
        beta = gamma = None
        if center:
            made = beta_initializer or zeros_initializer()
            beta = get_variable("beta", size, dtype, made, beta_regularizer, trainable, reuse=False)
        if scale:
            made = gamma_initializer or ones_initializer()
            gamma = get_variable("gamma", size, dtype, made, gamma_regularizer, trainable, reuse=False)
        made = moving_mean_initializer or zeros_initializer()
        mean = get_variable("moving_mean", size, dtype, made, trainable=False, reuse=False)
        made = moving_variance_initializer or ones_initializer()
        variance = get_variable("moving_variance", size, dtype, made, trainable=False, reuse=False)
    order = [0, at, *(k for k in range(1, len(shape)) if k != at)]
    moved = inputs if at == 1 else lm.permute_dims(inputs, order)
    using = training and trainable and nn.trains()
    out = lm.batch_norm(moved, mean, variance, gamma, beta, using, 1.0 - momentum, epsilon)
    return out if at == 1 else lm.permute_dims(out, [order.index(k) for k in range(len(shape))])


def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-5,
    name: str = "LayerNorm",
) -> Any:
    """Normalizes each example over its axes from ``begin_norm_axis`` on.

    The variables are ``<name>-beta`` and ``<name>-gamma``, of the shape of the axes from ``begin_params_axis`` on.
    """
    _record.needed("layer_norm")
    shape = tuple(inputs.shape)
    sizes = shape[begin_norm_axis:]
    params = shape[begin_params_axis:]
    if -1 in sizes or -1 in params:
        raise UnknownValueError("shape", f"[layer_norm] '{name}': sizes of {shape} are decided by each call")
    out = lm.reshape(
        lm.layer_norm(lm.reshape(inputs, [-1, _math.prod(sizes)]), [_math.prod(sizes)], None, None, epsilon), shape
    )
    with scope.namespace(name):
        if scale:
            out = out * get_variable("gamma", params, inputs.dtype, ones_initializer(), None, trainable, reuse=False)
        if center:
            out = out + get_variable("beta", params, inputs.dtype, zeros_initializer(), None, trainable, reuse=False)
    return out
