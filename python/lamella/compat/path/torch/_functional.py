"""``torch.autograd.functional``: derivatives of functions at given inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella.autograd import hessian, hvp, jacobian, vhp  # noqa: F401
from lamella.compat.errors import as_runtime_error


def _call(func: Callable[..., Any], inputs: Any) -> Any:
    return func(*inputs) if isinstance(inputs, tuple) else func(inputs)


def _refuse_independence(op: str, func: Callable[..., Any], inputs: Any) -> None:
    """Raises ``RuntimeError`` where a result of a function does not depend on each of its inputs."""
    own = [x.detach().requires_grad_(True) for x in _as_tuple(inputs)[1]]
    with lm.enable_grad():
        outputs = _as_tuple(_call(func, tuple(own) if isinstance(inputs, tuple) else own[0]))[1]
    for i, y in enumerate(outputs):
        if y.stop_gradient:
            raise RuntimeError(f"[{op}] output {i} does not depend on the inputs, which strict=True forbids")
    found = lm.autograd.grad(
        list(outputs), own, [lm.ones_like(y) for y in outputs], allow_unused=True, retain_graph=False
    )
    for i, slope in enumerate(found):
        if slope is None:
            raise RuntimeError(f"[{op}] the outputs do not depend on input {i}, which strict=True forbids")


def _one_for(op: str, what: str, tensors: Any) -> Any:
    """Returns the vector that stands for none, 1 for one tensor of one element."""
    if isinstance(tensors, tuple) or tensors.numel() != 1:
        raise RuntimeError(f"[{op}] v may be left out where {what} one tensor of one element only")
    return lm.ones_like(tensors)


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Returns the value of ``func`` at ``inputs``, and ``v`` times its Jacobian there.

    Args:
        func: takes the inputs and returns tensors.
        inputs: a tensor, or a tuple of tensors.
        v: a gradient for each tensor of the result; None is 1, for a result of one element.
        create_graph: both can be differentiated in turn.
        strict: a result that does not depend on an input is an error, in place of zeros.

    Raises:
        RuntimeError: ``v`` is left out or has another shape; ``strict``, and something does not depend on an input.
    """
    if strict:
        _refuse_independence("vjp", func, inputs)
    with lm.set_grad_enabled(create_graph):
        outputs, pull = lm.vjp(lambda x: _call(func, x), inputs)
        try:
            return outputs, pull(_one_for("vjp", "the function returns", outputs) if v is None else v)[0]
        except ValueError as error:
            raise as_runtime_error(error) from None


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Returns the value of ``func`` at ``inputs``, and its Jacobian there times ``v``, which has their structure.

    The parameters are those of :func:`vjp`.
    """
    if strict:
        _refuse_independence("jvp", func, inputs)
    with lm.set_grad_enabled(create_graph):
        return lm.jvp(func, inputs, _one_for("jvp", "the function takes", inputs) if v is None else v)


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
