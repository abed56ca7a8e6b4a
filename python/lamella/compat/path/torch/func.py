"""Functions of functions: derivatives, and mapping over a batch."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import lamella as lm
from lamella.autograd import jvp, linearize, vjp  # noqa: F401
from lamella.autograd._transforms.functional_call import tensors_replaced
from lamella.compat.front import close_module
from lamella.nn.norm import _BatchNorm


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: Any = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Returns a function that computes ``func``, which is written for one example, for each of a batch.

    Args:
        func: takes one example, and returns tensors. What it gets by name is the same for all examples.
        in_dims: the axis of each argument along which the examples lie, None for what is the same for all.
        out_dims: where they lie in the results; a tuple of one axis may stand for that of a lone tensor.
        randomness: "error", "different" or "same": what random numbers do.
        chunk_size: how many examples are computed at once.
    """
    mapped_plainly = _vmap_of_lone(func, in_dims, out_dims, randomness, chunk_size)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            return mapped_plainly(*args)
        # Keyword arguments are the same for all examples.
        bound = functools.partial(func, **kwargs)
        return _vmap_of_lone(bound, in_dims, out_dims, randomness, chunk_size)(*args)

    return mapped


def _vmap_of_lone(func: Callable[..., Any], in_dims: Any, out_dims: Any, *options: Any) -> Callable[..., Any]:
    """Returns the native vmap of a function, of whose lone tensor a tuple of one axis says where the examples lie."""
    if type(out_dims) is not tuple or len(out_dims) != 1:
        return lm.vmap(func, in_dims, out_dims, *options)

    def mapped(*args: Any) -> Any:
        lone = False

        def listed(*args: Any) -> Any:
            nonlocal lone
            result = func(*args)
            lone = isinstance(result, lm.Tensor)
            return (result,) if lone else result

        results = lm.vmap(listed, in_dims, out_dims, *options)(*args)
        return results[0] if lone else results

    return mapped


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    """Returns :func:`vmap` of a function, by an older name."""
    return vmap(func, in_dims, out_dims)


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Returns a function that gives the gradient of ``func``, whose result is one number, and that result.

    Args:
        func: takes any arguments and returns a tensor of one number; with ``has_aux`` a pair, of which the other part
            is handed through.
        argnums: the positional argument to differentiate with respect to, or several; each may hold tensors in lists,
            tuples and dicts.
        has_aux: see ``func``.

    Raises:
        RuntimeError: when called: an argument is not there, or the result is not one number.
    """

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        if not places or any(not -len(args) <= place < len(args) for place in places):
            raise RuntimeError(f"[grad] argnums is {argnums}, the call has {len(args)} positional arguments")

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
    """Returns a function that gives the gradient of ``func``, whose result is one number; see :func:`grad_and_value`.

    Args:
        func: see there.
        argnums: see there.
        has_aux: see there.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """Returns a function that computes the Jacobian of ``func`` by reverse mode.

    Args:
        func: takes any arguments and returns tensors.
        argnums: which positional argument, or arguments, to differentiate with respect to.
        has_aux: ``func`` returns a pair (output, aux), and the new function (Jacobian, aux).
        chunk_size: at least 1 where it is given; rows are computed one by one here, which needs the least memory.
        _preallocate_and_copy: accepted.
    """
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"[jacrev] chunk_size is a number of at least 1, not {chunk_size}")
    return lm.autograd.jacrev(func, argnums, has_aux=has_aux)


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Returns a function that computes the Jacobian of ``func`` by forward mode.

    Args:
        func: takes any arguments and returns tensors.
        argnums: which positional argument, or arguments, to differentiate with respect to.
        has_aux: ``func`` returns a pair (output, aux), and the new function (Jacobian, aux).
        randomness: accepted: ``func`` runs once for each column.
    """
    return lm.autograd.jacfwd(func, argnums, has_aux=has_aux)


def hessian(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Returns a function that gives the second derivatives of ``func``."""
    return jacfwd(jacrev(func, argnums), argnums)


def functional_call(
    module: lm.nn.Module,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls ``module`` with the given tensors in the place of its parameters and buffers.

    Args:
        module: the module.
        parameter_and_buffer_dicts: tensors by dotted name, or several such mappings. A name that is no parameter's or
            buffer's is an attribute of the module during the call, unless ``strict``.
        args: the positional arguments: a tuple, or the only one; None for none.
        kwargs: the keyword arguments.
        tie_weights: a tensor that the module holds under several names is replaced under all of them.
        strict: exactly the module's parameters and buffers are given, of tied ones at least one.

    Raises:
        RuntimeError: a name is missing or unknown, with ``strict``.
        ValueError: a name is given twice, or names that are tied are given different tensors.
    """
    arguments = args if isinstance(args, tuple) else () if args is None else (args,)
    with reparametrized(module, parameter_and_buffer_dicts, tie_weights=tie_weights, strict=strict):
        return module(*arguments, **(kwargs or {}))


@contextlib.contextmanager
def reparametrized(
    module: lm.nn.Module,
    given: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Iterator[None]:
    """Puts tensors in the place of a module's own for a block; see :func:`functional_call`."""
    names = {
        name for listed in (module.named_parameters, module.named_buffers) for name, _ in listed(remove_duplicate=False)
    }
    mappings = [given] if isinstance(given, Mapping) else list(given)
    unknown = [name for mapping in mappings for name in mapping if name not in names]
    if strict and unknown:
        raise RuntimeError(f"[functional_call] unexpected keys: {', '.join(map(repr, unknown))}")
    known: Any = given
    if unknown:
        known = [{name: value for name, value in mapping.items() if name in names} for mapping in mappings]
    extra = {name: mapping[name] for mapping in mappings for name in unknown if name in mapping}
    replaced = tensors_replaced(module, known, tie_weights=tie_weights, strict=strict)
    try:
        with _attributes_set(module, extra), contextlib.ExitStack() as block:
            try:
                block.enter_context(replaced)
            except ValueError as error:
                if strict and "strict=True" in str(error):
                    raise RuntimeError(str(error)) from None
                raise
            yield
    finally:
        # What forward put in a tensor's place is stored in the mapping.
        for mapping, used in zip(mappings, known, strict=True) if unknown else ():
            if isinstance(mapping, MutableMapping):
                mapping.update(used)


@contextlib.contextmanager
def _attributes_set(module: lm.nn.Module, values: Mapping[str, Any]) -> Iterator[None]:
    """Gives modules attributes, by dotted names, for a block: what forward reads that is no parameter or buffer."""
    places = []
    for name in values:
        path, _, attribute = name.rpartition(".")
        owner = module.get_submodule(path)
        places.append((owner, attribute, attribute in vars(owner), vars(owner).get(attribute)))
    try:
        for (owner, attribute, _, _), value in zip(places, values.values(), strict=True):
            vars(owner)[attribute] = value
        yield
    finally:
        for owner, attribute, was_there, before in places:
            if was_there:
                vars(owner)[attribute] = before
            else:
                vars(owner).pop(attribute, None)


def stack_module_state(models: list[lm.nn.Module]) -> tuple[dict[str, lm.Tensor], dict[str, lm.Tensor]]:
    """Returns the parameters and the buffers of models of one kind, by name, stacked along a first axis.

    Raises:
        RuntimeError: there are no models, they are of several types, some are in training and some not, or a parameter
            wants a gradient in some only.
    """
    if not models or any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("[stack_module_state] expected models, at least one, that are all of one type")

    if len({model.training for model in models}) > 1:
        raise RuntimeError("[stack_module_state] expected models that are all in training, or none of them")

    def stacked(kind: str) -> dict[str, lm.Tensor]:
        each = [dict(getattr(model, kind)()) for model in models]
        wanting = {name: not tensor.stop_gradient for name, tensor in each[0].items()}
        for name, wants in wanting.items():
            if any(tensors[name].stop_gradient == wants for tensors in each):
                raise RuntimeError(f"[stack_module_state] '{name}' wants a gradient in some of the models only")
        made = {name: lm.stack([tensors[name].detach() for tensors in each]) for name in each[0]}
        return {name: tensor.requires_grad_(wanting[name]) for name, tensor in made.items()}

    return stacked("named_parameters"), stacked("named_buffers")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Returns the function itself: transforms here take functions that write in place."""
    return func


def replace_all_batch_norm_modules_(root: lm.nn.Module) -> lm.nn.Module:
    """Has the batch norms of a network normalize by the batch at hand alone, without running statistics.

    These are written to in each call, once for the whole batch, which ``vmap`` cannot do for each example.

    Args:
        root: the network, which is changed and returned.
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


__getattr__ = close_module(__name__)
