"""Jobs: functions of numpy arrays whose types are written beside their arguments.

A job runs its function as it is, with the types checked. One of the type "train" records what it does for gradients, so
that ``backward()`` works on what it makes; one of the type "predict" does not.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

import lamella as lm

from . import scope
from .typing import ListNumpy, Numpy, Placeholder


class FunctionConfig:
    """Settings of a job. All are accepted and none has an effect: a job runs its function as it is."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def function_config() -> FunctionConfig:
    """Returns a :class:`FunctionConfig` under its older name."""
    return FunctionConfig()


class Future:
    """Result of a job without an annotation of its result; it is computed already."""

    def __init__(self, result: Any) -> None:
        self._result = result

    def get(self) -> Any:
        """Returns the Tensor, or a list of them."""
        return self._result

    def async_get(self, callback: Callable[[Any], Any]) -> None:
        """Calls a function with the result."""
        callback(self._result)


def global_function(
    type: str | Callable[..., Any] | FunctionConfig = "predict", function_config: FunctionConfig | None = None
) -> Callable[..., Any]:
    """Makes a function a job: ``@global_function()`` or ``@global_function(type="train")``.

    Each argument is annotated with a ``typing.Numpy.Placeholder`` and arrives as a Tensor; the result is annotated with
    ``typing.Numpy``, or a tuple, list or dict of that. Without an annotation a job gives an object whose ``get()`` has
    the result.

    Raises:
        TypeError: an argument has no annotation; in a call, an array of another dtype.
        ValueError: the type is neither "predict" nor "train"; in a call, an array of another shape.
    """
    if isinstance(type, FunctionConfig):
        type = "predict"
    if callable(type):
        return _job(type, train=False)
    if type not in ("predict", "train"):
        raise ValueError(f"[global_function] type: expected 'predict' or 'train', got {type!r}")
    return functools.partial(_job, train=type == "train")


def _placeholders(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Placeholder]:
    """Returns the types of a function's arguments: their annotations, or in the older style their defaults."""
    found = {}
    for name, parameter in signature.parameters.items():
        for written in (parameter.annotation, parameter.default):
            if isinstance(written, Placeholder):
                found[name] = written
        if name not in found:
            raise TypeError(
                f"[{function.__name__}] argument '{name}' needs an annotation such as "
                f"Numpy.Placeholder((5,), dtype=flow.float32)"
            )
    return found


def _job(function: Callable[..., Any], train: bool) -> Callable[..., Any]:
    name = function.__name__
    signature = inspect.signature(function, eval_str=True)
    placeholders = _placeholders(function, signature)

    @functools.wraps(function)
    def job(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        device = scope.current_device()
        for argument, placeholder in placeholders.items():
            if argument not in bound.arguments:
                raise TypeError(f"[{name}] missing argument '{argument}'")
            value = bound.arguments[argument]
            placeholder.check(value, name, argument)
            x = placeholder.tensor(value)
            bound.arguments[argument] = x if device is None else x.to_device(device)
        with lm.enable_grad() if train else lm.no_grad():
            result = function(*bound.args, **bound.kwargs)
        return _arrays(result, signature.return_annotation, name)

    return job


def _arrays(result: Any, wanted: Any, job: str) -> Any:
    """Returns the result as its annotation says."""
    if wanted in (None, type(None)):
        return None
    if wanted is inspect.Signature.empty:
        return Future(list(result) if isinstance(result, tuple) else result)
    if wanted in (Numpy, ListNumpy):
        if not isinstance(result, lm.Tensor):
            raise TypeError(
                f"[{job}] returns {type(result).__name__}, and its annotation says {wanted.__name__}: return a Tensor"
            )
        array = result.detach().numpy()
        return array if wanted is Numpy else [array]
    parts = typing.get_args(wanted)
    kind = typing.get_origin(wanted)
    if kind is tuple and isinstance(result, tuple) and len(parts) == len(result):
        return tuple(_arrays(x, part, job) for x, part in zip(result, parts, strict=True))
    if kind is list and isinstance(result, list) and len(parts) == 1:
        return [_arrays(x, parts[0], job) for x in result]
    if kind is dict and isinstance(result, dict) and len(parts) == 2:
        return {key: _arrays(x, parts[1], job) for key, x in result.items()}
    raise TypeError(f"[{job}] returns {type(result).__name__}, and its annotation says {wanted}")
