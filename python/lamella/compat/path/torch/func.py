"""Functions of functions: derivatives, and mapping over a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import lamella as lm
from lamella.autograd import functional_call as _functional_call
from lamella.autograd import jacfwd, jacrev, jvp, linearize, vjp  # noqa: F401
from lamella.compat.front import close_module


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with tensors in the place of its own, see :func:`lamella.autograd.functional_call`.

    Args:
        module: the module.
        parameter_and_buffer_dicts: tensors by dotted name, or several such mappings. Without ``strict``, names that the
            module does not have are attributes during the call.
        args: the positional arguments: a tuple, or the only one.
        kwargs: the keyword arguments.
        tie_weights: a tensor that the module holds under several names is replaced under all of them.
        strict: every parameter and buffer must be given, and no other name.
    """
    if strict:
        return _functional_call(module, parameter_and_buffer_dicts, args, kwargs, tie_weights=tie_weights, strict=True)
    given = parameter_and_buffer_dicts
    dicts = [dict(each) for each in ([given] if isinstance(given, Mapping) else given)]
    added = []
    for each in dicts:
        for name in list(each):
            path, _, last = name.rpartition(".")
            owner = module.get_submodule(path)
            if last not in owner._parameters and last not in owner._buffers:
                added.append((vars(owner), last, each.pop(name)))
    kept = [(place, name, place[name]) for place, name, _ in added if name in place]
    for place, name, value in added:
        place[name] = value
    try:
        return _functional_call(module, dicts, args, kwargs, tie_weights=tie_weights)
    finally:
        for place, name, _ in added:
            place.pop(name, None)
        for place, name, value in kept:
            place[name] = value


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: Any = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Returns a function that computes ``func``, which is written for one example, for each of a batch."""
    return lm.vmap(func, in_dims, out_dims, randomness, chunk_size)


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    """Returns :func:`vmap` of a function, by an older name."""
    return vmap(func, in_dims, out_dims)


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Returns a function that gives the gradient of ``func``, whose result is one number, and that result."""

    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        places = (argnums,) if isinstance(argnums, int) else argnums

        def of_chosen(*chosen: Any) -> Any:
            given = list(args)
            for place, value in zip(places, chosen, strict=True):
                given[place] = value
            return func(*given, **kwargs)

        value, pull, *aux = vjp(of_chosen, *(args[place] for place in places), has_aux=has_aux)
        if value.size != 1:
            raise RuntimeError(f"[grad] the function must return one number, got a tensor of shape {list(value.shape)}")
        gradients = pull(lm.ones_like(value))
        return gradients[0] if isinstance(argnums, int) else gradients, (value, *aux) if has_aux else value

    return gradient_and_value


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Returns a function that gives the gradient of ``func``, whose result is one number."""
    both = grad_and_value(func, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def hessian(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Returns a function that gives the second derivatives of ``func``."""
    return jacfwd(jacrev(func, argnums), argnums)


def stack_module_state(models: list[lm.nn.Module]) -> tuple[dict[str, lm.Tensor], dict[str, lm.Tensor]]:
    """Returns the parameters and the buffers of models of one kind, by name, stacked along a first axis.

    Raises:
        RuntimeError: there are no models, or they are of several types.
    """
    if not models or any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("[stack_module_state] expected models, at least one, that are all of one type")

    def stacked(kind: str) -> dict[str, lm.Tensor]:
        each = [dict(getattr(model, kind)()) for model in models]
        wanting = {name: not tensor.stop_gradient for name, tensor in each[0].items()}
        made = {name: lm.stack([tensors[name].detach() for tensors in each]) for name in each[0]}
        return {name: tensor.requires_grad_(wanting[name]) for name, tensor in made.items()}

    return stacked("named_parameters"), stacked("named_buffers")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Returns the function itself: transforms here take functions that write in place."""
    return func


__getattr__ = close_module(__name__)
