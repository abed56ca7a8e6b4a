"""Layers that make their parameters in the program that is recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import lamella as lm
from lamella import graph as graphs
from lamella.graph import Symbol
from lamella.nn import init

from . import unique_name
from .control_flow import cond as cond
from .control_flow import while_loop as while_loop
from .parameters import ParamAttr, layer_parameter, layer_statistic, xavier_uniform
from .program import need_recording
from .py_func import py_func as py_func
from .spec import checked_dtype
from .unique_name import node_name


def fc(
    x: Any,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: str | None = None,
) -> Symbol:
    """``activation(x @ weight + bias)``, with the axes of ``x`` from ``num_flatten_dims`` on joined to one.

    Args:
        x: a variable, or several with a weight each, whose products are added.
        size: size of the last axis of the result.
        num_flatten_dims: number of axes that stay as they are.
        weight_attr: see :class:`ParamAttr`; for several ``x`` a list may give one for each.
        bias_attr: see :class:`ParamAttr`; False leaves the bias out.
        activation: name of an operator, such as "tanh".
        name: what the names of the parameters begin with.

    Returns:
        A variable of shape ``(*x.shape[:num_flatten_dims], size)``. The weight starts Xavier-uniform, the bias at 0.

    Raises:
        ValueError: a size of the joined axes is not known.
    """
    need_recording("fc")
    inputs = list(x) if isinstance(x, (list, tuple)) else [x]
    _check_variables("fc", inputs)
    size = _positive("fc", "size", size)
    layer = name or unique_name.generate("fc")
    attrs = list(weight_attr) if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(inputs)
    if len(attrs) != len(inputs):
        raise ValueError(f"[fc] {len(attrs)} weight_attr for {len(inputs)} variables")
    result: Any = None
    for index, (each, attr) in enumerate(zip(inputs, attrs, strict=True)):
        shape = tuple(each.shape)
        axes = len(shape) - 1 if num_flatten_dims == -1 else num_flatten_dims
        if not 1 <= axes < len(shape):
            raise ValueError(
                f"[fc] num_flatten_dims is {num_flatten_dims}; '{each.name}' of shape {list(shape)} takes -1 or 1 to "
                f"{len(shape) - 1}"
            )
        features = _known("fc", each, shape[axes:])
        weight = layer_parameter("fc", layer, f"w_{index}", (features, size), each.dtype, attr, xavier_uniform)
        flat = each if axes == len(shape) - 1 else lm.flatten(each, axes, -1)
        product = lm.matmul(flat, weight)
        result = product if result is None else result + product
    if bias_attr is not False:
        result = result + layer_parameter("fc", layer, "b_0", (size,), inputs[0].dtype, bias_attr, init.zeros_)
    return _activated("fc", result, activation)


def conv2d(
    input: Symbol,
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
    data_format: str = "NCHW",
) -> Symbol:
    """Convolves images ``(n, channels, height, width)`` with new filters, see :func:`lamella.conv2d`.

    Args:
        input: the images.
        num_filters: channels of the result.
        filter_size: one number, or height and width.
        stride: as filter_size.
        padding: as filter_size, or "SAME" or "VALID".
        dilation: as filter_size.
        groups: how many groups the channels make.
        param_attr: of the filters, see :class:`ParamAttr`; they start normal with deviation ``sqrt(2 / inputs)``, where
            ``inputs`` is the number of elements that a filter is multiplied with.
        bias_attr: of the bias, which starts at 0; False leaves it out.
        use_cudnn: not used.
        act: name of an operator that the result goes through.
        name: what the names of the parameters begin with.
        data_format: "NCHW".
    """
    need_recording("conv2d")
    _check_variables("conv2d", [input])
    _check_layout("conv2d", data_format)
    groups = 1 if groups is None else _positive("conv2d", "groups", groups)
    num_filters = _positive("conv2d", "num_filters", num_filters)
    shape = tuple(input.shape)
    if len(shape) != 4:
        raise ValueError(f"[conv2d] '{input.name}' has shape {list(shape)}; images are (n, channels, height, width)")
    channels = _known("conv2d", input, shape[1:2])
    if channels % groups or num_filters % groups:
        raise ValueError(f"[conv2d] groups is {groups}, which does not divide {channels} and {num_filters} channels")
    window = tuple(filter_size) if isinstance(filter_size, (list, tuple)) else (filter_size,) * 2
    deviation = math.sqrt(2.0 / max(math.prod(window) * channels, 1))

    def fill(tensor: lm.Tensor) -> lm.Tensor:
        return init.normal_(tensor, 0.0, deviation)

    layer = name or unique_name.generate("conv2d")
    sizes = (num_filters, channels // groups, *window)
    weight = layer_parameter("conv2d", layer, "w_0", sizes, input.dtype, param_attr, fill)
    bias = None
    if bias_attr is not False:
        bias = layer_parameter("conv2d", layer, "b_0", (num_filters,), input.dtype, bias_attr, init.zeros_)
    if isinstance(padding, str):
        padding = padding.lower()
    result = lm.conv2d(
        input, weight, bias, stride=_pair(stride), padding=_pair(padding), dilation=_pair(dilation), groups=groups
    )
    return _activated("conv2d", result, act)


def batch_norm(
    input: Symbol,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Symbol:
    """Normalizes each channel over the batch, see :func:`lamella.batch_norm`.

    Every run moves the running mean and variance: they are ``momentum`` times themselves plus ``1 - momentum`` times
    those of the batch, whose variance is the mean of squares. A program's ``clone(for_test=True)`` normalizes by them,
    and leaves them as they are.

    Args:
        input: shape ``(n, channels, ...)``.
        act: name of an operator that the result goes through.
        is_test: True normalizes by the running statistics.
        momentum: what remains of the running statistics.
        epsilon: added to the variance.
        param_attr: of the scale, which starts at 1; see :class:`ParamAttr`.
        bias_attr: of the shift, which starts at 0; see :class:`ParamAttr`.
        data_layout: "NCHW".
        in_place: not used.
        name: what the names of the parameters begin with.
        moving_mean_name: name of the running mean.
        moving_variance_name: name of the running variance.
        do_model_average_for_mean_and_var: not used.
        use_global_stats: as is_test.
    """
    need_recording("batch_norm")
    _check_variables("batch_norm", [input])
    _check_layout("batch_norm", data_layout)
    shape = tuple(input.shape)
    if len(shape) < 2:
        raise ValueError(f"[batch_norm] '{input.name}' has shape {list(shape)}, which has no channels")
    channels = (_known("batch_norm", input, shape[1:2]),)
    layer = name or unique_name.generate("batch_norm")
    dtype = input.dtype
    scale = layer_parameter("batch_norm", layer, "w_0", channels, dtype, param_attr, init.ones_)
    shift = layer_parameter("batch_norm", layer, "b_0", channels, dtype, bias_attr, init.zeros_)
    mean = layer_statistic("batch_norm", moving_mean_name or f"{layer}.mean", channels, dtype, init.zeros_)
    variance = layer_statistic("batch_norm", moving_variance_name or f"{layer}.var", channels, dtype, init.ones_)
    if is_test or use_global_stats:
        result = lm.batch_norm(input, mean, variance, scale, shift, False, 1.0 - momentum, epsilon)
    else:
        result = normalized_by_batch(input, mean, variance, scale, shift, momentum, epsilon)
    return _activated("batch_norm", result, act)


def normalized_by_batch(
    x: lm.Tensor,
    mean: lm.Tensor,
    variance: lm.Tensor,
    scale: lm.Tensor | None,
    shift: lm.Tensor | None,
    momentum: float,
    epsilon: float,
) -> lm.Tensor:
    """Records a norm by the batch that moves ``variance`` by the mean of squares, not by the unbiased estimate.

    ``momentum`` is what remains of the statistics. Copies of the program for inference normalize by them. Where nothing
    is recorded, as while the results of a function are tried, it is Lamella's own norm.
    """
    graph = graphs.recorded_graph()
    if graph is None:
        return lm.batch_norm(x, mean, variance, scale, shift, True, 1.0 - momentum, epsilon)
    kept = graph._recorder.of_each_run(variance)
    with lm.no_grad():
        moved = lm.stack([kept])[0]
    y = lm.batch_norm(x, mean, moved, scale, shift, True, 1.0 - momentum, epsilon)
    with lm.no_grad():
        count = lm.asarray(math.prod([size for axis, size in enumerate(x.shape) if axis != 1]))
        both = lm.stack([moved, kept])
        wanted = both[0] + (both[1] * momentum - both[0]) / count.astype(kept.dtype)
        # A norm of a batch whose mean is the wanted value: in copies for inference it leaves the variance as it is.
        lm.batch_norm(lm.stack([wanted, wanted]), kept, lm.ones_like(wanted), None, None, True, 1.0)
        graph._core.mark_required()
    return y


def layer_norm(
    input: Symbol,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Symbol:
    """Normalizes each example over its axes from ``begin_norm_axis`` on, see :func:`lamella.layer_norm`.

    Args:
        input: a variable; the sizes of these axes have to be known.
        scale: False leaves the scale out, which starts at 1 and has these axes joined to one.
        shift: False leaves the shift out, which starts at 0.
        begin_norm_axis: the first of the axes.
        epsilon: added to the variance.
        param_attr: of the scale, see :class:`ParamAttr`.
        bias_attr: of the shift, see :class:`ParamAttr`.
        act: name of an operator that the result goes through.
        name: what the names of the parameters begin with.
    """
    need_recording("layer_norm")
    _check_variables("layer_norm", [input])
    shape = tuple(input.shape)
    if not 0 <= begin_norm_axis < len(shape):
        raise ValueError(
            f"[layer_norm] begin_norm_axis is {begin_norm_axis}; '{input.name}' of shape {list(shape)} has "
            f"{len(shape)} axes"
        )
    sizes = shape[begin_norm_axis:]
    count = (_known("layer_norm", input, sizes),)
    layer = name or unique_name.generate("layer_norm")
    weight = bias = None
    if scale:
        flat = layer_parameter("layer_norm", layer, "w_0", count, input.dtype, param_attr, init.ones_)
        weight = lm.reshape(flat, sizes)
    if shift:
        flat = layer_parameter("layer_norm", layer, "b_0", count, input.dtype, bias_attr, init.zeros_)
        bias = lm.reshape(flat, sizes)
    return _activated("layer_norm", lm.layer_norm(input, sizes, weight, bias, epsilon), act)


def embedding(
    input: Symbol,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
) -> Symbol:
    """Rows of a new table, which starts Xavier-uniform, see :func:`lamella.embedding`.

    Args:
        input: integers.
        size: number of rows, and size of a row.
        is_sparse: not used.
        is_distributed: must be False.
        padding_idx: a row that is 0, and stays so; one below 0 counts from the end.
        param_attr: of the table, see :class:`ParamAttr`.
        dtype: of the table.
        name: what the table's name begins with.
    """
    need_recording("embedding")
    _check_variables("embedding", [input])
    if is_distributed:
        raise NotImplementedError("[embedding] is_distributed is not supported")
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise ValueError(f"[embedding] size is the number of rows and the size of a row, not {size!r}")
    rows, width = (_positive("embedding", "size", each) for each in size)
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError(f"[embedding] padding_idx {padding_idx} is none of {rows} rows")
    options = ParamAttr.of("embedding", param_attr)
    first: Callable[..., Any] = options.initializer or xavier_uniform

    def fill(tensor: lm.Tensor) -> None:
        first(tensor)
        if padding_idx is not None:
            with lm.no_grad():
                tensor[padding_idx] = 0

    layer = name or unique_name.generate("embedding")
    attr = ParamAttr(options.name, fill, trainable=options.trainable)
    kind = checked_dtype("embedding", dtype)
    weight = layer_parameter("embedding", layer, "w_0", (rows, width), kind, attr, fill)
    return cast(Symbol, lm.embedding(input, weight, padding_idx))


def dropout(x: Symbol, p: float = 0.5) -> Symbol:
    """Zeroes each element with probability ``p`` and divides the others by ``1 - p``.

    A program's ``clone(for_test=True)`` leaves ``x`` as it is.
    """
    need_recording("dropout")
    _check_variables("dropout", [x])
    return cast(Symbol, lm.dropout(x, p, True))


def static_pylayer(
    forward_fn: Callable[..., Any],
    inputs: Sequence[Any],
    backward_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Calls a function of variables whose gradient is another function: a :class:`lamella.PyLayer` in two functions.

    Args:
        forward_fn: called with the inputs; returns a variable, or a list or tuple of them.
        inputs: the variables.
        backward_fn: called with the gradients of the results; returns those of the inputs. Without it, none flow.
        name: not used.
    """
    need_recording("static_pylayer")
    _check_variables("static_pylayer", inputs)
    for argument, function in (("forward_fn", forward_fn), ("backward_fn", backward_fn)):
        if not callable(function) and (argument == "forward_fn" or function is not None):
            raise TypeError(f"[static_pylayer] {argument} is a function, not {type(function).__name__}")
    if backward_fn is None:
        with lm.no_grad():
            return forward_fn(*inputs)
    backward_of = backward_fn

    class StaticPyLayer(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, *xs: lm.Tensor) -> Any:
            return forward_fn(*xs)

        @staticmethod
        def backward(ctx: Any, *gradients: lm.Tensor) -> Any:
            return backward_of(*gradients)

    return StaticPyLayer.apply(*inputs)


def printed(
    input: Symbol, first_n: int = -1, message: str | None = None, summarize: int = 20, **options: Any
) -> Symbol:
    """Prints a variable whenever the program runs, and returns it; gradients flow through.

    Args:
        input: the variable.
        first_n: how many runs print; -1 for all.
        message: a text before the values.
        summarize: how many elements are printed; -1 for all.
        options: ``print_tensor_name``, ``print_tensor_type`` and ``print_tensor_shape`` say what else is; others of
            Paddle's are not used.
    """
    program = need_recording("Print")
    _check_variables("Print", [input])
    name, left = input.name, [first_n]

    def show(x: lm.Tensor) -> None:
        if left[0] == 0:
            return
        left[0] -= 1
        values = x.detach().cpu().numpy().reshape(-1)
        parts = [message] if message else []
        if options.get("print_tensor_name", True):
            parts.append(f"Variable: {name}")
        if options.get("print_tensor_shape", True):
            parts.append(f"shape: {list(x.shape)}")
        if options.get("print_tensor_type", True):
            parts.append(f"dtype: {x.dtype}")
        shown = values if summarize < 0 else values[:summarize]
        dots = " ..." if len(shown) < len(values) else ""
        parts.append(f"data: [{' '.join(map(str, shown))}{dots}]")
        print("  ".join(parts), flush=True)

    program.graph.function(node_name("print"), show, [input], [])
    return input


def accuracy(input: Symbol, label: Symbol, k: int = 1) -> Symbol:
    """Share of the rows of ``input``, scores of classes, whose ``k`` largest are at the class that ``label`` names.

    Args:
        input: shape ``(n, classes)``.
        label: integers of shape ``(n,)`` or ``(n, 1)``.
        k: how many classes are looked at.
    """
    need_recording("accuracy")
    _check_variables("accuracy", [input, label])
    best = lm.topk(input, k, axis=-1)[1]
    wanted = label if len(label.shape) == 2 else lm.expand_dims(label, -1)
    hit = lm.any(lm.equal(best, wanted), axis=-1)
    return cast(Symbol, lm.mean(lm.cast(hit, "float32")))


def _check_variables(op: str, variables: Sequence[Any]) -> None:
    for each in variables:
        if not isinstance(each, Symbol):
            raise TypeError(f"[{op}] the input is a variable of the program, not {type(each).__name__}")


def _check_layout(op: str, layout: str) -> None:
    if layout != "NCHW":
        raise NotImplementedError(f"[{op}] the layout is 'NCHW', not {layout!r}: transpose the variable")


def _positive(op: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"[{op}] {name} is an int, not {type(value).__name__}")
    if int(value) < 1:
        raise ValueError(f"[{op}] {name} is at least 1, not {value}")
    return int(value)


def _known(op: str, variable: Symbol, sizes: Sequence[int]) -> int:
    """Returns the number of elements of these axes, on which the size of a parameter depends."""
    if -1 in sizes:
        raise ValueError(
            f"[{op}] '{variable.name}' has shape {list(variable.shape)}: a parameter's size depends on one that is not "
            "known; declare it"
        )
    return math.prod(sizes)


def _pair(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _activated(op: str, x: Any, activation: str | None) -> Symbol:
    if activation is None:
        return cast(Symbol, x)
    if not isinstance(activation, str):
        raise TypeError(f"[{op}] an activation is the name of an operator, not {type(activation).__name__}")
    function = getattr(lm, activation, None)
    if not callable(function) or activation.startswith("_"):
        raise ValueError(f"[{op}] there is no activation '{activation}'; 'relu', 'tanh' and 'softmax' are some")
    return cast(Symbol, function(x))
