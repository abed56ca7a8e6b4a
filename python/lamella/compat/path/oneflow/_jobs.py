"""Jobs: functions of numpy arrays whose types are written beside their arguments."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

import lamella as lm

from . import scope
from .typing import Numpy, Placeholder


class FunctionConfig:
    """Settings of a job. All are accepted and none has an effect: a job runs its function as it is."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def function_config() -> FunctionConfig:
    """A :class:`FunctionConfig` under its older name."""
    return FunctionConfig()


def global_function(
    type: str | Callable[..., Any] = "predict", function_config: FunctionConfig | None = None
) -> Callable[..., Any]:
    """Makes a function a job: ``@global_function()`` or ``@global_function(type="predict")``.

    Each argument is annotated with a ``typing.Numpy.Placeholder`` and arrives as a Tensor; the result is annotated with
    ``typing.Numpy``, or a tuple, list or dict of that.

    Raises:
        NotImplementedError: the type is "train".
        TypeError: an argument has no annotation; in a call, an array of another dtype.
        ValueError: in a call, an array of another shape.
    """
    if callable(type):
        return _job(type)
    if type == "train":
        raise NotImplementedError(
            "[global_function] jobs that train are not supported yet: call the function on Tensors, and backward() on "
            "what it returns"
        )
    if type != "predict":
        raise ValueError(f"[global_function] type: expected 'predict', got {type!r}")
    return _job


def _job(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__
    signature = inspect.signature(function, eval_str=True)
    for parameter in signature.parameters.values():
        if not isinstance(parameter.annotation, Placeholder):
            raise TypeError(
                f"[{name}] argument '{parameter.name}' needs an annotation such as "
                f"Numpy.Placeholder((5,), dtype=flow.float32)"
            )

    @functools.wraps(function)
    def job(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        device = scope.current_device()
        for argument, value in bound.arguments.items():
            signature.parameters[argument].annotation.check(value, name, argument)
            x = lm.asarray(value)
            bound.arguments[argument] = x if device is None else x.to_device(device)
        with lm.no_grad():
            result = function(*bound.args, **bound.kwargs)
        return _arrays(result, signature.return_annotation, name)

    return job


def _arrays(result: Any, wanted: Any, job: str) -> Any:
    """The result as its annotation says."""
    if wanted in (None, inspect.Signature.empty, type(None)):
        return None
    if wanted is Numpy:
        if not isinstance(result, lm.Tensor):
            raise TypeError(f"[{job}] returns {type(result).__name__}, and its annotation says Numpy: return a Tensor")
        return result.numpy()
    parts = typing.get_args(wanted)
    kind = typing.get_origin(wanted)
    if kind is tuple and isinstance(result, tuple) and len(parts) == len(result):
        return tuple(_arrays(x, part, job) for x, part in zip(result, parts, strict=True))
    if kind is list and isinstance(result, list) and len(parts) == 1:
        return [_arrays(x, parts[0], job) for x in result]
    if kind is dict and isinstance(result, dict) and len(parts) == 2:
        return {key: _arrays(x, parts[1], job) for key, x in result.items()}
    raise TypeError(f"[{job}] returns {type(result).__name__}, and its annotation says {wanted}")
