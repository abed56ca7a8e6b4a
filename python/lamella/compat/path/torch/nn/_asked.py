"""Layers that ask objects of subclasses of tensors, as functions of ``torch.nn.functional`` do.

Lamella's layers call its operators, which see tensors. Once there is an object of a subclass, a layer asks its inputs
and its own parameters first: about the function that PyTorch's layer calls, where the names of its parameters are
attributes of the layer, and otherwise about what the layer does as a whole.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import lamella as lm

from .. import nn as _front
from . import functional

#: Modules whose layers hand everything on to other layers, or are of programs.
_OTHERS = ("lamella.nn.containers", "lamella.nn.utils", "torch.nn.parallel")
_BY_PLACE = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _below(kind: Any) -> Iterator[Any]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def forwards() -> Iterator[FunctionType]:
    """Yields what the layers of Lamella and of the front do, each once."""
    for name in dir(_front):
        getattr(_front, name)  # layers that are made when they are asked for
    found = {
        id(vars(each)["forward"]): vars(each)["forward"]
        for each in _below(lm.nn.Module)
        if each.__module__.startswith(("lamella.nn", "torch.nn")) and not each.__module__.startswith(_OTHERS)
        if isinstance(vars(each).get("forward"), FunctionType)
    }
    yield from found.values()


@functools.cache
def _names() -> dict[str, str]:
    """Returns the names of the functions by these names without underscores."""
    return {name.replace("_", ""): name for name in dir(functional) if name.strip("_") == name}


@functools.cache
def _name_of(kind: Any) -> str:
    """Returns the name of the function that layers of a class call: ``conv2d``, ``mse_loss``, or their own in small."""
    names = [each.__name__.lower() for each in kind.__mro__ if each.__module__ in ("torch.nn", "lamella.nn")]
    names += [each.__name__.lower() for each in kind.__mro__ if issubclass(each, lm.nn.Module)]
    for name in names:
        for short in (name, name.removesuffix("loss"), name.rstrip("123d")):
            if short in _names():
                return _names()[short]
    return names[0]


@functools.cache
def _parameters(name: str) -> dict[str, Any] | None:
    """Returns the parameters of a function, or None if it has such as a call names no value for."""
    function = getattr(functional, name, None)
    if not inspect.isfunction(function):
        return None
    parameters = inspect.signature(function).parameters
    return dict(parameters) if all(each.kind is _BY_PLACE for each in parameters.values()) else None


def _called(layer: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Returns the arguments with which a layer calls the function of its name, or None if it does something else."""
    parameters = _parameters(_name_of(layer.__class__))
    if parameters is None or layer._modules or any(each is not None for each in layer._buffers.values()):
        return None
    if getattr(layer, "padding_mode", "zeros") != "zeros":
        return None
    given, missing = list(args), False
    for name, parameter in list(parameters.items())[len(args) :]:
        if not hasattr(layer, name) or name.startswith("_"):
            if parameter.default is inspect.Parameter.empty:
                return None
            missing = True  # a default, as those behind it are to be
        elif not missing:
            given.append(getattr(layer, name))
        elif getattr(layer, name) is not parameter.default:
            return None
    return tuple(given)


def _as_whole(layer: Any, body: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what a layer does, ``body(layer, ...)``, as a function of its inputs by the name of PyTorch's."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return body(layer, *args, **kwargs)

    call.__name__ = call.__qualname__ = _name_of(layer.__class__)
    call.__module__ = "torch.nn.functional"
    return call


def function_of(layer: Any, body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the function that a call of a layer is to PyTorch's programs, and its arguments by place."""
    called = None if kwargs else _called(layer, args)
    if called is None:
        return _as_whole(layer, body), args
    return getattr(functional, _name_of(layer.__class__)), called
