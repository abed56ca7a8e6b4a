"""Objects that take calls of functions over: those of classes with ``__torch_function__``, most without being tensors.

A function is called as it is first. Where it refuses its arguments, those that take calls over are looked for: calls
with tensors only cost nothing more.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.errors import as_runtime_error

from ._asking import OFF, asked, asks
from ._writing import written

#: Dtypes that PyTorch means by Python's types: Lamella's are half as wide.
DOUBLE: dict[Any, Any] = {float: lm.float64, complex: lm.complex128}
_PLAIN = (int, float, str, type(None))
_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


def takes_over(argument: Any) -> bool:
    """True for an object of a class with ``__torch_function__``, but for tensors whose class has PyTorch's own."""
    if isinstance(argument, Tensor):
        return not OFF.depth and asks(type(argument))
    return not isinstance(argument, _PLAIN) and hasattr(type(argument), "__torch_function__")


def takers(arguments: Iterable[Any]) -> Iterator[Any]:
    """Yields the objects among arguments, and in lists and tuples of them, that take calls over."""
    for each in arguments:
        if isinstance(each, (list, tuple)) and not hasattr(type(each), "__torch_function__"):
            yield from takers(each)
        elif takes_over(each):
            yield each


def taken_over(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns what the first argument that takes the call over makes of it; NotImplemented where none does.

    In autocast, a function that refused the dtypes of its arguments gets those of 16 bits in float32. A result that
    does not fit into the tensors of ``out`` as it is, is made by itself and written over them.
    """
    given = (*args, *kwargs.values())
    found = list(takers(given))
    if not found:
        if (out := kwargs.get("out")) is None:
            refused = isinstance(sys.exception(), TypeError)
            return _in_float32(function, args, kwargs) if refused and lm.amp.is_autocast_enabled() else NotImplemented
        return written(function(*args, **{name: value for name, value in kwargs.items() if name != "out"}), out)
    args, kwargs = _as_given(function, *handed_on(function, args, kwargs))
    return asked(function, found, args, kwargs)


#: Functions of ``torch`` that name what they hand on, but for arguments that have no defaults.
_NAMING = frozenset({"norm", "split", "tensordot", "unique"})


def handed_on(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    body: Callable[..., Any] | None = None,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns a call's arguments as PyTorch's function hands them to what takes it over.

    Passes over graphs read them there: operands of ``einsum`` one by one, ``dims`` of ``tensordot`` by its name.
    ``body`` is what the function does otherwise, where another body is exchanged for it.
    """
    name = getattr(function, "__name__", "")
    if getattr(function, "__module__", "") != "torch":
        return args, kwargs
    if name == "einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)):
        return (args[0], *args[1]), kwargs
    if name not in _NAMING:
        return args, kwargs
    known = function if body is None or hasattr(function, "__wrapped__") else body
    parameters = inspect.signature(known).parameters
    named = dict(zip(parameters, args, strict=False)) | kwargs
    required = [each for each, one in parameters.items() if one.default is inspect.Parameter.empty]
    if not named.keys() >= set(required) or not named.keys() <= parameters.keys():
        return args, kwargs  # which the function refuses
    defaults = {each: one.default for each, one in parameters.items() if each not in required}
    return tuple(named[each] for each in required), defaults | {x: named[x] for x in named if x not in required}


def otherwise(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns what another makes of a call that was refused.

    What Lamella's Python code refuses is a RuntimeError, too, as what its compiled part refuses is.
    """
    made = taken_over(function, args, kwargs)
    error = sys.exception()
    if made is NotImplemented and type(error) is ValueError:
        raise as_runtime_error(error) from error.__cause__
    return made


def _in_float32(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns what a function makes of 16-bit numbers in float32, as autocast has it compute what takes no others.

    NotImplemented where there are none.
    """

    def raised(x: Any) -> Any:
        if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
            return type(x)(map(raised, x))
        narrow = isinstance(x, Tensor) and x.dtype in (lm.float16, lm.bfloat16)
        found.append(narrow)
        return x.astype(lm.float32) if narrow else x

    found: list[bool] = []
    given, named = raised(args), {name: raised(x) for name, x in kwargs.items()}
    return function(*given, **named) if any(found) else NotImplemented


def _as_given(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns arguments without those that are the function's defaults."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # a function in C
        return args, kwargs
    by_place = [each for each in parameters.values() if each.kind is _EITHER]
    if len(by_place) >= len(args):
        while args and args[-1] is by_place[len(args) - 1].default:
            args = args[:-1]
    kept = {
        name: value for name, value in kwargs.items() if name not in parameters or value is not parameters[name].default
    }
    return args, kept


def opened(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose calls arguments may take over, and which writes its result where ``out`` says."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and kwargs.get("dtype") in DOUBLE:
            kwargs["dtype"] = DOUBLE[kwargs["dtype"]]
        try:
            return function(*args, **kwargs)
        except Exception:
            made = otherwise(call, args, kwargs)
            if made is not NotImplemented:
                return made
            if kwargs.get("out", written) is not None:
                raise
        del kwargs["out"]  # None, to a function that writes nowhere
        return function(*args, **kwargs)

    return call


def open_functions(names: dict[str, Any], homes: Iterable[str]) -> None:
    """Opens the functions of a module that are written out in other modules; they are this one's then."""
    modules = set(homes)
    made: dict[Any, Any] = {}
    for name, value in list(names.items()):
        if inspect.isfunction(value) and value.__module__ in modules:
            if value not in made:
                made[value] = opened(value)
                made[value].__module__ = names["__name__"]
            names[name] = made[value]
