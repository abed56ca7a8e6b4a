"""``torch.autograd.functional``: derivatives of functions at given inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.autograd import hessian, hvp, jacobian, vhp  # noqa: F401


def _call(func: Callable[..., Any], inputs: Any) -> Any:
    return func(*inputs) if isinstance(inputs, tuple) else func(inputs)


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Returns the value of ``func`` at ``inputs``, and ``v`` (1 by default) times its Jacobian there."""
    with lm.set_grad_enabled(create_graph):
        outputs, pull = lm.vjp(lambda x: _call(func, x), inputs)
        return outputs, pull(lm.ones_like(outputs) if v is None else v)[0]


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Returns the value of ``func`` at ``inputs``, and its Jacobian there times ``v`` (1 by default)."""
    with lm.set_grad_enabled(create_graph):
        return lm.jvp(func, inputs, lm.ones_like(inputs) if v is None else v, strict=strict)
