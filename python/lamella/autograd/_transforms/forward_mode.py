"""Derivatives of functions by forward mode: along a direction, and whole Jacobians."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ... import _C
from ..._C import Tensor, enable_grad, grad
from ..._tree import Structure, leaves_of, tensor_leaves_of
from ..forward_ad import dual_level, make_dual, unpack_dual
from .argnums import ArgNums


def _push(
    op: str, func: Callable[..., Any], primals: Any, tangents: list[Any], strict: bool, has_aux: bool
) -> tuple[Any, list[Tensor], Structure, Any]:
    """Returns the output of one run of ``func``, its tangents, how they stand in it, and the auxiliary output."""
    leaves, arguments = tensor_leaves_of(primals, op, "primals")
    aux: Any = None
    with dual_level() as level:
        inputs = arguments.build(
            x if tangent is None else make_dual(x, tangent, level=level)
            for x, tangent in zip(leaves, tangents, strict=True)
        )
        result = func(*inputs) if isinstance(primals, (list, tuple)) else func(inputs)
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(f"[{op}] with has_aux=True the function returns a pair (output, aux)")
            result, aux = result
            parts, aux_structure = leaves_of(aux)
            aux = aux_structure.build(
                unpack_dual(part, level=level).primal if isinstance(part, Tensor) else part for part in parts
            )
        outputs, structure = tensor_leaves_of(result, op, "the function's result")
        values: list[Tensor] = []
        derivatives: list[Tensor] = []
        for i, y in enumerate(outputs):
            value, derivative = unpack_dual(y, level=level)
            if derivative is None:
                if strict:
                    raise RuntimeError(f"[{op}] strict: output {i} does not depend on the primals")
                derivative = _C.zeros_like(value)
            values.append(value)
            derivatives.append(derivative)
    return structure.build(values), derivatives, structure, aux


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """Returns the value of ``func`` at ``primals``, and its derivative in the direction of ``tangents``, in one run.

    With the Jacobian J of ``func`` this is ``(func(primals), J @ tangents)``. Calls nest, with each other and with
    reverse mode: ``jvp(lambda x: grad(f(x), x), ...)`` is the product with a Hessian.

    Args:
        func: takes the primals and returns tensors, in nested lists, tuples and dicts.
        primals: a tuple or list of arguments, or the only argument; tensors, or nested lists, tuples and dicts of them.
        tangents: in the structure of ``primals``: a tensor of the same shape, dtype and device for each, or None for
            zeros.
        strict: an output that does not depend on the primals is an error, in place of a tangent of zeros.
        has_aux: ``func`` returns a pair (output, aux), of which ``aux`` is handed through.

    Returns:
        ``(output, tangent_out)`` or ``(output, tangent_out, aux)``; ``tangent_out`` has the output's structure. Where
        recording is on, both can be differentiated in turn.

    Raises:
        TypeError: a primal or a result is no tensor, or has a dtype without a derivative.
        ValueError: the tangents do not have the structure or the shapes of the primals.
        RuntimeError: ``strict``, and an output does not depend on the primals; a layer on the way has a
            ``once_differentiable`` backward and no ``jvp``.
    """
    if not callable(func):
        raise TypeError(f"[jvp] func is {type(func).__name__}: expected a function")
    directions = leaves_of(primals)[1].leaves_of(tangents)
    if directions is None:
        raise ValueError("[jvp] the tangents must have the structure of the primals")
    output, derivatives, structure, aux = _push("jvp", func, primals, directions, strict, has_aux)
    tangent_out = structure.build(derivatives)
    return (output, tangent_out, aux) if has_aux else (output, tangent_out)


def jacfwd(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Returns a function that computes the Jacobian of ``func`` by forward mode, one run per element of the arguments.

    It is the better choice where the result has more elements than the arguments. ``jacfwd(jacrev(f))`` is the Hessian.

    Args:
        func: takes any arguments and returns tensors.
        argnums: which positional argument, or arguments, to differentiate with respect to.
        has_aux: ``func`` returns a pair (output, aux), and the new function (Jacobian, aux).

    Returns:
        A function of ``func``'s arguments. Its result has the structure of ``func``'s, with the structure of the
        argument (a tuple of them for a tuple ``argnums``) in the place of each tensor; there, the derivatives are of
        shape ``(*output.shape, *argument.shape)``.

    Raises:
        TypeError, ValueError: ``argnums`` does not fit (the first at once, the second when called).
    """
    chosen = ArgNums("jacfwd", func, argnums)

    @functools.wraps(func)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        of_chosen, primals = chosen.split(args, kwargs)
        inputs, arguments = tensor_leaves_of(primals, "jacfwd", "the arguments")
        none: list[Any] = [None] * len(inputs)
        output, _, structure, aux = _push("jacfwd", of_chosen, primals, none, False, has_aux)
        outputs, _ = leaves_of(output)
        blocks: list[list[Tensor]] = [[] for _ in outputs]
        for i, x in enumerate(inputs):
            columns: list[list[Tensor]] = []
            for k in range(x.size):
                direction = _C.zeros([x.size], dtype=x.dtype, device=x.device)
                direction[k] = 1
                tangents = [*none[:i], direction.reshape(x.shape), *none[i + 1 :]]
                columns.append(_push("jacfwd", of_chosen, primals, tangents, False, has_aux)[1])
            for j, y in enumerate(outputs):
                shape = (*y.shape, *x.shape)
                block = (
                    _C.stack([column[j] for column in columns], -1)
                    if columns
                    else _C.zeros([math.prod(shape)], dtype=y.dtype, device=y.device)
                )
                blocks[j].append(block.reshape(shape))
        trees = (arguments.build(row) for row in blocks)
        jacobian = structure.build(tree if chosen.several else tree[0] for tree in trees)
        return (jacobian, aux) if has_aux else jacobian

    return jacobian_of


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Returns the value of ``func(*primals)``, and its derivative there as a function of a direction.

    ``func`` runs once, and is recorded: each call of the derivative costs two passes through that record, and nothing
    of ``func`` is run again. The derivative is the transpose of the backward pass, which is linear in what it is given.

    Args:
        func: takes the primals and returns tensors, in nested lists, tuples and dicts.
        *primals: tensors, or nested lists, tuples and dicts of them. They are constants to what is returned.

    Returns:
        ``(output, jvp_fn)``. ``jvp_fn(*tangents)`` takes a tangent for each primal, in its structure (None for zeros),
        and returns those of the output.

    Raises:
        TypeError: a primal or a result is no tensor, or has a dtype without a derivative.
        ValueError: (by ``jvp_fn``) the tangents do not have the structure or the shapes of the primals.
        RuntimeError: (by ``jvp_fn``) a layer on the way has a ``once_differentiable`` backward.
    """
    if not callable(func):
        raise TypeError(f"[linearize] func is {type(func).__name__}: expected a function")
    leaves, arguments = tensor_leaves_of(primals, "linearize", "primals")
    own = []
    for leaf in leaves:
        x = leaf.detach()
        x.stop_gradient = False
        own.append(x)
    with enable_grad():
        outputs, structure = tensor_leaves_of(func(*arguments.build(own)), "linearize", "the function's result")
        recorded = [i for i, y in enumerate(outputs) if not y.stop_gradient]
        seeds = []
        for i in recorded:
            seed = _C.zeros_like(outputs[i].detach())
            seed.stop_gradient = False
            seeds.append(seed)
        grads: Any = [None] * len(own)
        if recorded:
            grads = grad([outputs[i] for i in recorded], own, seeds, create_graph=True, allow_unused=True)

    def jvp_fn(*tangents: Any) -> Any:
        directions = arguments.leaves_of(tangents)
        if directions is None:
            raise ValueError("[linearize] the tangents must have the structure of the primals")
        starts: list[Tensor] = []
        weights: list[Tensor] = []
        for i, (x, g, tangent) in enumerate(zip(own, grads, directions, strict=True)):
            if tangent is None:
                continue
            if not isinstance(tangent, Tensor):
                raise TypeError(f"[linearize] tangent {i} is {type(tangent).__name__}: expected a Tensor or None")
            if tangent.shape != x.shape:
                raise ValueError(f"[linearize] tangent {i} has shape {tangent.shape}, the primal {x.shape}")
            if g is not None and not g.stop_gradient:
                starts.append(g)
                weights.append(tangent)
        found: dict[int, Tensor] = {}
        if starts:
            values = grad(starts, seeds, weights, retain_graph=True, allow_unused=True)
            found = {i: value for i, value in zip(recorded, values, strict=True) if value is not None}
        return structure.build(found[i] if i in found else _C.zeros_like(y.detach()) for i, y in enumerate(outputs))

    return structure.build(y.detach() for y in outputs), jvp_fn
