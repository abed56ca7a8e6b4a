"""``torch.autograd.functional``: derivatives of functions at given inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[bool, tuple[Any, ...]]:
    """Returns whether tensors came in a tuple, and them in one."""
    return isinstance(inp, tuple), inp if isinstance(inp, tuple) else (inp,)


def _tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """Returns results as their arguments came: in tuples, or alone."""
    if isinstance(to_unpack, tuple):
        found = tuple(each[0] for each in res) if not to_unpack[1] else res
        return found if to_unpack[0] else found[0]
    return res if to_unpack else res[0]


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Returns tensors off the tape, unless a graph is wanted."""
    if isinstance(inputs, tuple):
        return tuple(_grad_postprocess(each, create_graph) for each in inputs)
    return inputs if create_graph else inputs.detach()


def _construct_standard_basis_for(tensors: Sequence[Any], tensor_numels: Sequence[int]) -> tuple[Any, ...]:
    """Returns, for each tensor, the part that it has in the unit vectors of all elements together."""
    total, found, before = sum(tensor_numels), [], 0
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        found.append(lm.eye(total, count, k=-before, dtype=tensor.dtype, device=str(tensor.device)))
        before += count
    return tuple(found)
