"""Objects that take calls of functions over by a ``__torch_function__``: modes, subclasses of tensors, and others."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any, Self

from lamella import Tensor
from lamella.compat.front import close_module

from . import _seen
from ._asking import asked, begin
from ._exchange import HOMES, Exchanges, functions_of
from ._taking_over import takers, takes_over


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """True if an argument takes calls over."""
    return next(takers(relevant_args), None) is not None


def has_torch_function_unary(argument: Any) -> bool:
    """True if the argument takes calls over."""
    return takes_over(argument)


def has_torch_function_variadic(*arguments: Any) -> bool:
    """True if one of the arguments takes calls over."""
    return has_torch_function(arguments)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Has an argument take a call over; without one that does, calls the function."""
    found = list(takers(relevant_args))
    return asked(public_api, found, args, kwargs) if found else public_api(*args, **kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator of functions whose calls arguments may take over: those that ``dispatcher`` returns."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            found = list(takers(dispatcher(*args, **kwargs)))
            return asked(call, found, args, kwargs) if found else function(*args, **kwargs)

        return call

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """True for tensors, and for objects of classes with ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """True for methods and properties of tensors."""
    return bool(getattr(Tensor, getattr(func, "__name__", ""), None) == func)


class _Modes(threading.local):
    """The modes of a thread, the innermost one last."""

    def __init__(self) -> None:
        self.stack: list[TorchFunctionMode] = []


_modes = _Modes()
_lock = threading.Lock()
_entered = 0
_exchanges = Exchanges()
_HOMES = (*HOMES, "torch.nn.init")


def _handing_over(function: Callable[..., Any], body: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that hands a call to the innermost mode, which may call ``function``."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not _modes.stack:
            return body(*args, **kwargs)
        return _hand(function, args, kwargs)

    return call


def _layer_handing_over(forward: Any, body: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a layer's forward that hands the function which it is to PyTorch's programs to the innermost mode."""
    from .nn._asked import function_of  # which imports the layers

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        if not _modes.stack:
            return body(layer, *args, **kwargs)
        function, given = function_of(layer, forward, args, kwargs)
        return _hand(function, given, kwargs)

    return call


def _hand(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    mode = _modes.stack.pop()
    try:
        return mode.__torch_function__(function, (), args, kwargs)
    finally:
        _modes.stack.append(mode)


def _hand_method(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hands a method, which is not one of the functions that ask by themselves, to the innermost mode."""
    if not _modes.stack:
        return method(*args, **kwargs)
    return _hand(_seen.Within(method, _hand_method) if len(_modes.stack) > 1 else method, args, kwargs)


class TorchFunctionMode:
    """A block in which calls of functions of ``torch``, methods and layers go to its ``__torch_function__``."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Takes a call over; ``func(*args, **kwargs)`` goes to the mode around this one, or is the function itself.

        Raises:
            NotImplementedError: the subclass does not say what to do.
        """
        raise NotImplementedError(f"[{type(self).__name__}] the mode defines no __torch_function__")

    def __enter__(self) -> Self:
        global _entered
        begin()  # or an end of the block would have functions not ask subclasses that came up in it
        with _lock:
            _entered += 1
            if _entered == 1:
                from .nn._asked import forwards  # which imports the layers

                for forward in forwards():
                    _exchanges.replace(forward, _layer_handing_over)
                for function in functions_of(_HOMES):
                    _exchanges.replace(function, _handing_over)
                for home in _HOMES:
                    _exchanges.replace_later(home, _handing_over)
                _seen.begin(lambda: _hand_method if _modes.stack else None)
        _modes.stack.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        global _entered
        _modes.stack.pop()
        with _lock:
            _entered -= 1
            if _entered == 0:
                _seen.end()
                _exchanges.undo()


def resolve_name(f: Any) -> str:
    """Returns the dotted name of a function, or of a method or the getter of an attribute of tensors."""
    if is_tensor_method_or_property(f):
        return f"torch.Tensor.{f.__name__}"
    attribute = getattr(f, "__self__", None)  # of f, if that reads or sets one
    for name, value in vars(Tensor).items() if hasattr(type(attribute), "__set__") else ():
        if getattr(value, "_native", value) is attribute:
            return f"torch.Tensor.{name}.{f.__name__}"
    return f"{getattr(f, '__module__', '')}.{getattr(f, '__qualname__', type(f).__name__)}".lstrip(".")


__getattr__ = close_module(__name__)
