"""Gradients of convolutions, as functions."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module


def _gradient(name: str, of_input: bool) -> Any:
    convolution = getattr(lm, name)

    def call(
        first: Any,
        second: Any,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        size, given = (first, second) if of_input else (second, first)
        wanted = lm.zeros(tuple(size), dtype=given.dtype, device=str(given.device)).requires_grad_()
        pair = (wanted, given) if of_input else (given, wanted)
        with lm.enable_grad():
            y = convolution(*pair, None, stride, padding, dilation, groups)
        needs_graph = lm.is_grad_enabled()
        found: Tensor = lm.autograd.grad([y], [wanted], [grad_output], create_graph=needs_graph)[0]
        return found

    what = "input" if of_input else "weight"
    call.__name__ = call.__qualname__ = f"{name}_{what}"
    call.__doc__ = (
        f"The gradient of {name}'s {what} of a size, from "
        + ("(input_size, weight" if of_input else "(input, weight_size")
        + ", grad_output) and the convolution's settings."
    )
    return call


conv1d_input, conv1d_weight = _gradient("conv1d", True), _gradient("conv1d", False)
conv2d_input, conv2d_weight = _gradient("conv2d", True), _gradient("conv2d", False)
conv3d_input, conv3d_weight = _gradient("conv3d", True), _gradient("conv3d", False)

__getattr__ = close_module(__name__)
