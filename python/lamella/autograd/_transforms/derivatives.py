"""Derivatives of functions of tensors: products with Jacobians and Hessians, and these themselves.

Arguments and results may be tensors or nested lists, tuples and dicts of them. No tensor's ``grad`` is touched. The
gradient of a complex tensor is the conjugate Wirtinger derivative, as everywhere on the tape.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import _C
from ..._C import Tensor, enable_grad, grad, is_grad_enabled
from ..._tree import Structure, leaves_of, tensor_leaves_of
from .argnums import ArgNums

_STRATEGIES = {"reverse-mode": False, "forward-mode": True}


class _Function:
    """A function of trees in the form in which the compiled part calls it: a tuple of tensors to a list of them."""

    outputs: Structure
    aux: Any = None

    def __init__(self, op: str, func: Callable[..., Any], inputs: Any, has_aux: bool = False) -> None:
        if not callable(func):
            raise TypeError(f"[{op}] func is {type(func).__name__}: expected a function")
        self.op = op
        self.func = func
        self.has_aux = has_aux
        #: True if a tuple holds the arguments; anything else is the only argument.
        self.several = isinstance(inputs, tuple)
        self.tensors, self.inputs = tensor_leaves_of(inputs, op, "inputs")

    def __call__(self, tensors: tuple[Tensor, ...]) -> list[Tensor]:
        arguments = self.inputs.build(tensors)
        result = self.func(*arguments) if self.several else self.func(arguments)
        if self.has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(f"[{self.op}] with has_aux=True the function returns a pair (output, aux)")
            result, self.aux = result
        leaves, self.outputs = tensor_leaves_of(result, self.op, "the function's result")
        return leaves


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Returns the value of ``func(*primals)``, and the product of a row vector with its Jacobian there as a function.

    Args:
        func: takes the primals and returns tensors.
        *primals: tensors, or nested lists, tuples and dicts of tensors.
        has_aux: ``func`` returns a pair (output, aux), of which ``aux`` is handed through.

    Returns:
        ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents)`` takes one gradient for each tensor
        of the output, in the output's structure (None for no gradient), and returns a tuple of one gradient for each
        primal; it may be called any number of times. Where recording is on, and the output depends on something else
        that wants a gradient, all of this can be differentiated in turn: calls of :func:`vjp` and :func:`jacrev` nest.

    Raises:
        TypeError: a primal or a result is no tensor, or has a dtype without a gradient.
        ValueError: (by ``vjp_fn``) the cotangents do not have the output's structure or shapes.
    """
    if not primals:
        raise TypeError("[vjp] needs at least one primal")
    call = _Function("vjp", func, primals, has_aux)
    recording = is_grad_enabled()
    own = _C._own_inputs(call.tensors, recording, "vjp")
    with enable_grad():
        outputs = call(own)
    # The garbage collector sees a closure in Python, unlike the one of the compiled part's vjp.
    connected = recording and _C._depends_on_others(outputs, own)
    structure, arguments = call.outputs, call.inputs

    def vjp_fn(cotangents: Any) -> tuple[Any, ...]:
        leaves = structure.leaves_of(cotangents)
        if leaves is None:
            raise ValueError("[vjp] the cotangents must have the structure of the function's output")
        seeds: list[Tensor] = []
        starts: list[Tensor] = []
        for i, (y, leaf) in enumerate(zip(outputs, leaves, strict=True)):
            if leaf is None:
                continue
            if not isinstance(leaf, Tensor):
                raise TypeError(f"[vjp] cotangent {i} is {type(leaf).__name__}: expected a Tensor or None")
            if leaf.shape != y.shape:
                raise ValueError(f"[vjp] cotangent {i} has shape {list(leaf.shape)}, the output {list(y.shape)}")
            if not y.stop_gradient:
                starts.append(y)
                seeds.append(leaf)
        create = is_grad_enabled() and (connected or any(not seed.stop_gradient for seed in seeds))
        grads: Any = [None] * len(own)
        if starts:
            grads = grad(starts, own, seeds, retain_graph=True, create_graph=create, allow_unused=True)
        return arguments.build(_C.zeros_like(x.detach()) if g is None else g for g, x in zip(grads, own, strict=True))

    output = structure.build(outputs if connected else (_C._off_tape(y) for y in outputs))
    if not has_aux:
        return output, vjp_fn
    return output, vjp_fn, _released(call.aux, own, recording)


def _released(aux: Any, own: tuple[Tensor, ...], recording: bool) -> Any:
    """``aux`` with its tensors off the tape, but for those that depend on something else that wants a gradient."""
    leaves, structure = leaves_of(aux)
    return structure.build(
        _C._off_tape(leaf)
        if isinstance(leaf, Tensor) and not (recording and _C._depends_on_others([leaf], own))
        else leaf
        for leaf in leaves
    )


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Returns the Jacobian of ``func`` at ``inputs``.

    Args:
        func: takes the inputs and returns tensors.
        inputs: a tuple of arguments, or the only argument; each a tensor, or nested lists and dicts of tensors.
        create_graph: the Jacobian can be differentiated in turn, also with respect to ``inputs``.
        strict: a result that does not depend on an input is an error, in place of zeros.
        vectorize: all backward passes at once, as a batch; without a meaning in forward mode.
        strategy: "reverse-mode", one backward pass for each element of the result, or "forward-mode", one call of the
            function for each element of the inputs.

    Returns:
        A tensor of shape ``(*output.shape, *input.shape)`` for one output and one input. In general the structure of
        the result, with a tree of the inputs' structure in the place of each tensor.

    Raises:
        TypeError: an input or a result is no tensor, or has a dtype without a gradient.
        RuntimeError: ``strict``, and an output does not depend on an input.
        ValueError: ``strategy`` is another one, or ``strict`` comes with ``vectorize``.
    """
    call = _Function("jacobian", func, inputs)
    rows = _C._jacobian(call, call.tensors, create_graph, strict, vectorize, _forward("jacobian", strategy))
    return call.outputs.build(call.inputs.build(row) for row in rows)


def _forward(op: str, strategy: str) -> bool:
    if strategy not in _STRATEGIES:
        raise ValueError(f"[{op}] strategy is {strategy!r}: expected 'reverse-mode' or 'forward-mode'")
    return _STRATEGIES[strategy]


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Returns the second derivatives at ``inputs`` of a function whose result is one tensor with one element.

    The parameters are those of :func:`jacobian`; ``outer_jacobian_strategy`` is how the gradient is differentiated.

    Returns:
        A tensor of shape ``(*input.shape, *input.shape)`` for one input. In general the inputs' structure, with a tree
        of that structure in the place of each tensor.

    Raises:
        ValueError: the function returned more than one element, or as :func:`jacobian`.
        TypeError, RuntimeError: as :func:`jacobian`.
    """
    call = _Function("hessian", func, inputs)
    forward = _forward("hessian", outer_jacobian_strategy)
    rows = _C._hessian(call, call.tensors, create_graph, strict, vectorize, forward)
    return call.inputs.build(call.inputs.build(row) for row in rows)


def _product(
    op: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    call = _Function(op, func, inputs)
    product = _C._hvp if op == "hvp" else _C._vhp
    vector: list[Tensor] = []
    if v is not None:
        tensor_leaves_of(v, op, "v")  # raises for a bad v
        leaves = call.inputs.leaves_of(v)
        if leaves is None:
            raise ValueError(f"[{op}] v must have the structure of the inputs")
        vector = leaves
    output, values = product(call, call.tensors, vector, create_graph, strict)
    return call.outputs.build([output]), call.inputs.build(values)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Returns the Hessian of a function with one result of one element, times a vector, without computing the Hessian.

    Args:
        func: takes the inputs and returns one tensor with one element.
        inputs: a tuple of arguments, or the only argument.
        v: the vector, in the structure of ``inputs``; 1 by default, for one input with one element.
        create_graph: the output and the product can be differentiated in turn.
        strict: an input that the function or its gradient does not depend on is an error, in place of zeros.

    Returns:
        ``(output, product)``, the product in the structure of ``inputs``.

    Raises:
        ValueError: the function returned more than one element, or ``v`` does not fit the inputs.
        RuntimeError: ``strict``, and something does not depend on an input.
    """
    return _product("hvp", func, inputs, v, create_graph, strict)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Returns a vector times the Hessian of a function with one result of one element.

    The numbers of :func:`hvp`, whose parameters it has, at the cost of one pass less; they are the same where the
    second derivatives are continuous.
    """
    return _product("vhp", func, inputs, v, create_graph, strict)


def jacrev(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Returns a function that computes the Jacobian of ``func`` by backward passes.

    Args:
        func: takes any arguments and returns tensors.
        argnums: which positional argument, or arguments, to differentiate with respect to.
        has_aux: ``func`` returns a pair (output, aux), and the new function (Jacobian, aux), the tensors in ``aux``
            off the tape.

    Returns:
        A function of ``func``'s arguments. Its result has the structure of ``func``'s, with the structure of the
        argument (a tuple of them for a tuple ``argnums``) in the place of each tensor. It can be differentiated in
        turn: ``jacrev(jacrev(f))`` is the Hessian.

    Raises:
        TypeError, ValueError: ``argnums`` does not fit (the first at once, the second when called).
    """
    chosen = ArgNums("jacrev", func, argnums)

    @functools.wraps(func)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        of_chosen, primals = chosen.split(args, kwargs)
        call = _Function("jacrev", of_chosen, primals, has_aux)
        rows = _C._jacobian(call, call.tensors, None, False, False, False)
        trees = (call.inputs.build(row) for row in rows)
        result = call.outputs.build(tree if chosen.several else tree[0] for tree in trees)
        if not has_aux:
            return result
        leaves, structure = leaves_of(call.aux)
        return result, structure.build(_C._off_tape(x) if isinstance(x, Tensor) else x for x in leaves)

    return jacobian_of
