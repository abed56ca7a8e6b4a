"""Tables of a network's layers: their inputs, their outputs and the numbers of their parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import lamella as lm
from lamella import Tensor
from lamella.nn._modes import in_evaluation

_MEGABYTE = 1024.0**2
_HEADS = ("Layer (type)", "Input Shape", "Output Shape", "Param #")
#: Least widths of the columns.
_WIDTHS = (15, 20, 20, 15)


def _is_shape(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and all(each is None or isinstance(each, int) for each in given)


def _shapes(given: Any) -> list[list[int]]:
    """Returns the shapes of the inputs, with 1 in the place of sizes that are left open.

    Raises:
        TypeError: a shape is something else than ints, or a description of an input.
        ValueError: a size is 0 or below.
    """
    if isinstance(given, lm.static.InputSpec):
        given = tuple(given.shape)
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"[summary] a shape is a tuple of ints or an InputSpec, not {type(given).__name__}")
    if not _is_shape(given):
        return [shape for each in given for shape in _shapes(each)]
    sizes = [1 if size in (None, -1) else int(size) for size in given]
    if any(size <= 0 for size in sizes):
        raise ValueError(f"[summary] the sizes of an input are above 0, not {list(given)}")
    return [sizes]


def _described(value: Any) -> Any:
    """Returns the shape of a tensor, and a list of those of several."""
    if isinstance(value, Tensor):
        return list(value.shape)
    if isinstance(value, dict):
        value = list(value.values())
    return [_described(each) for each in value] if isinstance(value, (list, tuple)) else []


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)


class _Row:
    """Describes a layer at its first call."""

    def __init__(self, layer: Any, inputs: Any, output: Any) -> None:
        number = int(layer.full_name().rsplit("_", 1)[-1]) + 1 if hasattr(layer, "full_name") else 1
        own = [each for table in (layer._parameters, layer._buffers) for each in table.values() if each is not None]
        self.elements = sum(each.size for each in _tensors(output))
        self.parameters = sum(each.size for each in own)
        self.trained = sum(
            each.size for each in layer._parameters.values() if each is not None and not each.stop_gradient
        )
        self.texts = (
            f"{type(layer).__name__}-{number}",
            str(_described(list(inputs))),
            str(_described(output)),
            f"{self.parameters:,}",
        )


def _rows(net: Any, inputs: tuple[Any, ...]) -> list[_Row]:
    """Runs a network in evaluation, and returns a row for each layer that it calls, in the order of their ends."""
    from . import nn

    rows: dict[int, _Row] = {}

    def hook(layer: Any, given: Any, output: Any) -> None:
        if id(layer) not in rows:
            rows[id(layer)] = _Row(layer, given, output)

    parts = list(net.modules())
    shown = [
        layer
        for layer in parts
        if not isinstance(layer, (nn.Sequential, nn.LayerList)) and (layer is not net or len(parts) == 1)
    ]
    handles = [layer.register_forward_hook(hook) for layer in shown]
    try:
        with in_evaluation(net), lm.no_grad():
            net(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return list(rows.values())


def summary(net: Any, input_size: Any = None, dtypes: Any = None, input: Any = None) -> dict[str, np.int64]:
    """Prints a table of the layers that a network calls, and what it holds.

    Args:
        net: the network.
        input_size: the shape of the input, an ``InputSpec``, or a list of these; None and -1 stand for 1.
        dtypes: the dtype of the inputs, or a list with that of each; float32 by default.
        input: a tensor, or a list or dict of them, in the place of inputs that are made.

    Returns:
        The numbers of parameters, and of those that are trained.

    Raises:
        ValueError: neither a shape nor an input is given.
    """
    if input is not None:
        inputs = tuple(input) if isinstance(input, (list, tuple)) else (input,)
    elif input_size is None:
        raise ValueError("[summary] takes input_size or input: both are None")
    else:
        shapes = _shapes(input_size)
        kinds = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes or "float32"] * len(shapes)
        inputs = tuple(lm.zeros(shape, dtype=kind) for shape, kind in zip(shapes, kinds, strict=True))
    rows = _rows(net, inputs)
    widths = [max(least, *(len(row.texts[i]) for row in rows), 0) for i, least in enumerate(_WIDTHS)]
    dashes, thick = ("-" * (sum(widths) + 5), "=" * (sum(widths) + 5))
    total, trained = sum(row.parameters for row in rows), sum(row.trained for row in rows)
    sizes = (
        sum(math.prod(each.shape) for each in _tensors(list(inputs))) * 4 / _MEGABYTE,
        sum(row.elements for row in rows) * 8 / _MEGABYTE,
        total * 4 / _MEGABYTE,
    )
    lines = [
        dashes,
        *(" ".join(f"{text:^{width}}" for text, width in zip(texts, widths, strict=True)) for texts in [_HEADS]),
        thick,
        *(" ".join(f"{text:^{width}}" for text, width in zip(row.texts, widths, strict=True)) for row in rows),
        thick,
        f"Total params: {total:,}",
        f"Trainable params: {trained:,}",
        f"Non-trainable params: {total - trained:,}",
        dashes,
        f"Input size (MB): {sizes[0]:0.2f}",
        f"Forward/backward pass size (MB): {sizes[1]:0.2f}",
        f"Params size (MB): {sizes[2]:0.2f}",
        f"Estimated Total Size (MB): {sum(sizes):0.2f}",
        dashes,
        "",
    ]
    print("\n".join(lines))
    return {"total_params": np.int64(total), "trainable_params": np.int64(trained)}
