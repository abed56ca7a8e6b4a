"""Convolutions."""

from __future__ import annotations

from typing import Any

from .._builder import Value, cast, op, squeeze, unsqueeze
from .._registry import builtin


def numbers(value: Any, count: int) -> list[int]:
    """Returns one number for each axis."""
    listed = [value] if isinstance(value, int) else list(value)
    return listed * count if len(listed) == 1 else listed


def with_batch(x: Value, spatial: int) -> tuple[Value, bool]:
    """Returns a value with an axis of samples, and true if it had none."""
    alone = x.ndim == spatial + 1
    return (unsqueeze(x, 0) if alone else x), alone


def _convolution(name: str, spatial: int) -> None:
    @builtin(name)
    def convert(
        x: Value,
        weight: Value,
        bias: Value | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        meta_outputs: Any = None,
    ) -> Value:
        dtype = meta_outputs.dtype
        steps = numbers(dilation, spatial)
        if isinstance(padding, str):
            whole = [d * (k - 1) if padding == "same" else 0 for d, k in zip(steps, weight.shape[2:], strict=True)]
            before = [total // 2 for total in whole]
            after = [total - half for total, half in zip(whole, before, strict=True)]
        else:
            before = after = numbers(padding, spatial)
        batched, alone = with_batch(cast(x, dtype), spatial)
        y = op(
            "Conv",
            batched,
            cast(weight, dtype),
            None if bias is None else cast(bias, dtype),
            kernel_shape=list(weight.shape[2:]),
            strides=numbers(stride, spatial),
            pads=[*before, *after],
            dilations=steps,
            group=groups,
        )
        return squeeze(y, 0) if alone else y


def _transposed(name: str, spatial: int) -> None:
    @builtin(name)
    def convert(
        x: Value,
        weight: Value,
        bias: Value | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
        meta_outputs: Any = None,
    ) -> Value:
        dtype = meta_outputs.dtype
        batched, alone = with_batch(cast(x, dtype), spatial)
        y = op(
            "ConvTranspose",
            batched,
            cast(weight, dtype),
            None if bias is None else cast(bias, dtype),
            kernel_shape=list(weight.shape[2:]),
            strides=numbers(stride, spatial),
            pads=numbers(padding, spatial) * 2,
            output_padding=numbers(output_padding, spatial),
            dilations=numbers(dilation, spatial),
            group=groups,
        )
        return squeeze(y, 0) if alone else y


for _spatial in (1, 2, 3):
    _convolution(f"conv{_spatial}d", _spatial)
    _transposed(f"conv_transpose{_spatial}d", _spatial)
