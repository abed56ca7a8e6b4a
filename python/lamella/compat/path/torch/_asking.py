"""Subclasses of tensors whose ``__torch_function__`` takes over what is done with their objects.

Attributes, methods and operators of such an object ask it: its class has a base that lies between itself and the type
of all tensors, so that tensors of the type itself pay nothing. Functions of ``torch`` ask their arguments from the
first object of such a class on. Lamella's own modules, and a block of ``DisableTorchFunctionSubclass``, see tensors.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any, Self

import lamella as lm
from lamella._names import Elsewhere
from lamella.compat.methods import Later

from ._exchange import HOMES, Exchanges, functions_of

_Tensor: Any = lm.Tensor


class _Off(threading.local):
    """Number of blocks of a thread in which nothing asks."""

    depth = 0


OFF = _Off()


class Disabled:
    """A block in which nothing asks the objects of subclasses: they are the tensors that they are."""

    def __enter__(self) -> Self:
        OFF.depth += 1
        return self

    def __exit__(self, *error: Any) -> None:
        OFF.depth -= 1


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Calls a function as it is: the ``__torch_function__`` of classes that take none over."""
    with Disabled():
        return func(*args, **(kwargs or {}))


disabled.__name__ = disabled.__qualname__ = "_disabled_torch_function_impl"


def asks(kind: type) -> bool:
    """True for a subclass of tensors that takes over what is done with its objects."""
    if kind is _Tensor or not issubclass(kind, Asking):
        return False
    found = kind.__torch_function__  # type: ignore[attr-defined]
    return getattr(found, "__func__", found) is not disabled


def askers(arguments: Iterable[Any]) -> Iterator[Any]:
    """Yields the objects of such classes among arguments, and in lists and tuples of them."""
    for each in arguments:
        kind = type(each)
        if kind is list or kind is tuple:
            yield from askers(each)
        elif kind is not _Tensor and isinstance(each, Asking) and asks(kind):
            yield each


def asked(function: Any, found: Iterable[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns what the objects that are asked make of a call: those of subclasses before those of their base classes.

    Raises:
        TypeError: none of them takes it over.
    """
    order: list[Any] = []  # of classes; a parameter asks as what it is made of
    for each in found:
        kind = getattr(type(each), "asks_as", type(each))
        if kind not in order:
            order.insert(next((i for i, other in enumerate(order) if issubclass(kind, other)), len(order)), kind)
    types = tuple(order)
    for kind in order:
        made = kind.__torch_function__(function, types, args, kwargs)
        if made is not NotImplemented:
            return made
    raise TypeError(
        f"[{getattr(function, '__name__', function)}] no argument takes the call over: "
        f"{', '.join(kind.__name__ for kind in types)}"
    )


@functools.cache
def _unwrapped() -> frozenset[Any]:
    """Returns the attributes whose values keep their type, as a gradient does."""
    return frozenset(_getter(name) for name in ("_base", "grad", "_grad"))


def of_class(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Calls a function with the tensors that the arguments are, and makes tensors of the result ones of the class."""
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    with Disabled():
        made = func(*args, **(kwargs or {}))
        return made if func in _unwrapped() else _converted(made, cls)


def _converted(made: Any, cls: type) -> Any:
    if isinstance(made, _Tensor):
        return made if isinstance(made, cls) else made.as_subclass(cls)
    if isinstance(made, (tuple, list)):
        parts = [_converted(each, cls) for each in made]
        return type(made)._make(parts) if hasattr(made, "_make") else type(made)(parts)  # type: ignore[call-arg]
    return made


#: Operators by the names of the methods that do the same.
_OPERATORS = {
    **{f"__{name}__": name for name in ("add", "sub", "mul", "matmul", "pow", "neg", "abs", "lt", "le", "gt", "ge")},
    "__truediv__": "div",
    "__mod__": "remainder",
    "__ne__": "ne",
    "__iadd__": "add_",
    "__isub__": "sub_",
    "__imul__": "mul_",
    "__itruediv__": "div_",
}
_REFLECTED = {f"__{name}__": f"__{name[1:]}__" for name in ("radd", "rsub", "rmul", "rtruediv", "rfloordiv", "rmod")}
_REFLECTED |= {f"__{name}__": f"__{name[1:]}__" for name in ("rpow", "rmatmul", "rand", "ror", "rxor", "rdivmod")}
_REFLECTED |= {"__rlshift__": "__lshift__", "__rrshift__": "__rshift__"}
#: Those that are the operator itself where the other operand is a number.
_COMMUTING = frozenset({"__radd__", "__rmul__"})
#: Functions that make tensors of tensors and do not ask.
_MAKING = frozenset({"as_tensor", "asarray", "tensor"})
#: Attributes that do not ask: those of any object, and those by which other libraries read the memory.
_PLAIN = frozenset(
    {
        *("__new__", "__init__", "__hash__", "__setattr__", "__delattr__", "__dir__", "__doc__", "__module__"),
        *("__reduce_ex__", "__copy__", "__deepcopy__", "__array__", "__array_namespace__", "__array_priority__"),
        *("__dlpack__", "__dlpack_device__", "__cuda_array_interface__"),
        *("__index__", "__int__", "__float__", "__complex__", "__delitem__", "as_subclass"),
    }
)


def _of_lamella(frame: Any) -> bool:
    return bool(frame.f_globals.get("__name__", "").startswith("lamella."))


def _native(name: str, x: Any) -> Any:
    return vars(_Tensor)[name].__get__(x, type(x))


def _getter(name: str) -> Any:
    return vars(_Tensor)[name].__get__


#: Lamella's modules that hand a state's tensors on, which stay what they are.
_HANDING_ON = frozenset({"lamella.nn._moving", "lamella.nn._state"})
_HANDED_ON = frozenset({"detach", "to"})


def as_method(name: str, x: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Returns the method that a call of a method or an operator of ``x`` is to those that take it over.

    Its arguments come along: ``2 - x`` is ``Tensor.__rsub__(x, 2)``, and ``x - y`` is ``Tensor.sub(x, y)``.
    """
    given = (x, *args)
    if name in _REFLECTED and isinstance(args[0], _Tensor):
        name, given = _REFLECTED[name], (args[0], x)
    elif name in _COMMUTING:
        name = _REFLECTED[name]
    name = _OPERATORS.get(name, name)
    function = getattr(_Tensor, name)
    if isinstance(function, FunctionType) and function.__name__ not in vars(_Tensor):
        function.__name__ = name  # by which programs tell functions
    return function, given


class _Method:
    """A method, or an operator, that asks the object that it is called on, and the arguments."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            found = getattr(_Tensor, self._name)
            # Python compares the operands' reflected methods to learn whether the right one's goes first.
            return functools.partial(found) if self._name in _REFLECTED else found
        frame = sys._getframe(1)
        handed_on = self._name in _HANDED_ON and frame.f_globals.get("__name__") in _HANDING_ON
        if OFF.depth or (_of_lamella(frame) and not handed_on) or not asks(type(x)):
            return _native(self._name, x)
        return functools.partial(self._call, x)

    def _call(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        function, given = as_method(self._name, x, args)
        return asked(function, askers((*given, *kwargs.values())), given, kwargs)


class _Iteration(_Method):
    """Iteration, over parts that are of the class, too."""

    def _call(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return iter(x.unbind(0))


class _Property:
    """An attribute that asks its object when it is read or set; optimizers ask for gradients, too."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            return getattr(_Tensor, self._name)
        if not self._asks(x, sys._getframe(1)):
            return _native(self._name, x)
        return asked(_getter(self._name), (x,), (x,), {})

    def __set__(self, x: Any, value: Any) -> None:
        write = vars(_Tensor)[self._name].__set__
        if self._asks(x, sys._getframe(1)):
            asked(write, (x,), (x, value), {})
        else:
            write(x, value)

    def _asks(self, x: Any, frame: Any) -> bool:
        module = frame.f_globals.get("__name__", "")
        own = module.startswith("lamella.") and not (self._name == "grad" and module.startswith("lamella.optim"))
        return not OFF.depth and not own and asks(type(x))


class Asking(lm.Tensor):
    """Base of subclasses of tensors: what is done with their objects asks their ``__torch_function__``."""

    __torch_function__ = classmethod(of_class)


def methods() -> Iterator[tuple[str, Any]]:
    """Yields the names and values of the attributes of tensors that others may take over."""
    for name, value in list(vars(_Tensor).items()):
        private = name.startswith("_") and not name.endswith("__") and name not in ("_base", "_version", "_grad")
        if not (private or name in _PLAIN or isinstance(value, (Elsewhere, staticmethod, str))):
            if isinstance(value, Later):
                getattr(_Tensor, name, None)  # which makes it what it is, if there is such a function
            found = vars(_Tensor)[name]
            if not isinstance(found, Later):
                yield name, found


def _fill() -> None:
    for name, value in methods():
        if name == "__iter__":
            setattr(Asking, name, _Iteration(name))
        elif hasattr(type(value), "__set__"):
            setattr(Asking, name, _Property(name))
        else:
            setattr(Asking, name, _Method(name))


_lock = threading.Lock()
_exchanges: Exchanges | None = None


def _asking(function: FunctionType, body: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that asks the arguments before it does what it did."""
    if function.__name__ in _MAKING:
        return body

    def call(*args: Any, **kwargs: Any) -> Any:
        if not OFF.depth and (found := list(askers((*args, *kwargs.values()) if kwargs else args))):
            return asked(function, found, args, kwargs)
        return body(*args, **kwargs)

    return call


#: Types whose objects are never asked.
_SILENT = frozenset({_Tensor, lm.nn.Parameter, type(None), bool, int, float})


def _are_silent(layer: Any) -> bool:
    """True of layers whose parameters and buffers are never asked."""
    own = map(type, layer._parameters.values())
    return _SILENT.issuperset(own) and _SILENT.issuperset(map(type, layer._buffers.values()))


def _asking_layer(forward: FunctionType, body: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a layer's forward that asks the inputs, and the layer's own parameters, before it does what it did."""
    from .nn._asked import function_of  # which imports the layers

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        if (kwargs or not _SILENT.issuperset(map(type, args)) or not _are_silent(layer)) and not OFF.depth:
            own = [*layer._parameters.values(), *layer._buffers.values()]
            if found := list(askers((*args, *kwargs.values(), *own))):
                function, given = function_of(layer, body, args, kwargs)
                return asked(function, found, given, kwargs)
        return body(layer, *args, **kwargs)

    return call


def _operator_asks(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Has the objects of subclasses among a registered operator's arguments asked; NotImplemented without any."""
    found = [] if OFF.depth else list(askers((*args, *kwargs.values())))
    return asked(operator, found, args, kwargs) if found else NotImplemented


def begin() -> None:
    """Has functions and layers ask their arguments from now on, and fills the base of the classes that are asked."""
    global _exchanges
    if _exchanges is not None:
        return
    with _lock:
        if _exchanges is None:
            _fill()
            made = Exchanges()
            for function in functions_of(HOMES):
                made.replace(function, _asking)
            for home in HOMES:
                made.replace_later(home, _asking)
            from .nn._asked import forwards  # which imports the layers

            for forward in forwards():
                made.replace(forward, _asking_layer)
            lm._C._set_operator_taker(_operator_asks)
            _exchanges = made
