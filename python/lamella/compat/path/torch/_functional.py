"""``torch.autograd.functional``: derivatives of functions at given inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import autograd

from ._asking import Asking


def _like(y: Any, x: Any) -> Any:
    """Returns a tensor as one of the class of ``x``, with its attributes."""
    if not isinstance(x, Asking):
        return y
    made = y.as_subclass(getattr(type(x), "asks_as", type(x)))
    vars(made).update(vars(x))
    return made


def _of_their_classes(transform: Any) -> Callable[..., Any]:
    """Returns a transform whose function gets tensors of the classes of the inputs."""

    @functools.wraps(transform)
    def call(func: Callable[..., Any], inputs: Any, *args: Any, **kwargs: Any) -> Any:
        given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        if not any(isinstance(x, Asking) for x in given):
            return transform(func, inputs, *args, **kwargs)
        return transform(lambda *plain: func(*map(_like, plain, given)), inputs, *args, **kwargs)

    return call


hessian, hvp, jacobian, vhp = map(_of_their_classes, (autograd.hessian, autograd.hvp, autograd.jacobian, autograd.vhp))


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
        func: takes the inputs, and returns a tensor or a tuple of them.
        inputs: a tensor, or a tuple of them.
        v: of the form of the outputs; 1 by default, where these are one number.
        create_graph: records, so that both can be differentiated.
        strict: an output or input that the other does not depend on is an error, in place of zeros.

    Raises:
        RuntimeError: ``v`` is missing, or ``strict``.
    """
    _, given = _as_tuple(inputs)
    leaves = tuple(x * 1 if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given)
    with lm.enable_grad():
        value = func(*leaves)
    _, outputs = _as_tuple(value)
    if v is None and (len(outputs) != 1 or outputs[0].size != 1):
        raise RuntimeError("[vjp] v is wanted of the form of the outputs, which are more than one number")
    _, seeds = _as_tuple(lm.ones_like(outputs[0]) if v is None else v)
    for i, y in enumerate(outputs):
        if strict and not y.requires_grad:
            raise RuntimeError(f"[vjp] output {i} does not depend on the inputs, which strict=True refuses")
    pairs = [(y, dy) for y, dy in zip(outputs, seeds, strict=True) if y.requires_grad]
    found: list[Any] = [None] * len(leaves)
    if pairs:
        ys, dys = zip(*pairs, strict=True)
        found = lm.autograd.grad(
            list(ys), list(leaves), list(dys), retain_graph=create_graph, create_graph=create_graph, allow_unused=True
        )
    for i, dx in enumerate(found):
        if strict and (dx is None or (create_graph and not dx.requires_grad)):
            what = "outputs do not" if dx is None else "Jacobian does not"
            raise RuntimeError(f"[vjp] the {what} depend on input {i}, which strict=True refuses")
    grads = tuple(lm.zeros_like(x.detach()) if dx is None else dx for x, dx in zip(given, found, strict=True))
    if not create_graph:
        value = tuple(y.detach() for y in outputs) if isinstance(value, tuple) else value.detach()
    return value, grads if isinstance(inputs, tuple) else grads[0]


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
