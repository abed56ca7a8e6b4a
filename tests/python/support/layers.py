"""Custom layers, and how tests make their own of two functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm


class Cube(lm.PyLayer):
    """x * x * x, which saves its input."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * x * dy


def first_gradient(ctx: Any, *grads: lm.Tensor) -> lm.Tensor:
    return grads[0]


def layer(forward: Callable[..., Any], backward: Callable[..., Any] = first_gradient, **members: Any) -> Any:
    """A class named Layer with these functions."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Layer", (lm.PyLayer,), body | members)


def saving(function: Callable[..., Any]) -> Callable[..., Any]:
    """A forward that saves its inputs."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        ctx.save_for_backward(*inputs)
        return function(*inputs)

    return forward
