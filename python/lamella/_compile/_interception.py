"""Shows an observer what Python does with tensors beside calling operators: arithmetic, subscripts, attributes.

While a call is observed, the class of tensors has other special methods and attributes, which ask whether their thread
is the one that is observed; afterwards it has its own again. So nothing is slower while nobody observes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm
from lamella import _C, optim
from lamella._C import Tensor

from ._observer import Observer

_current = threading.local()

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_IN_PLACE = {**_BINARY, "sub": "sub", "mul": "mul", "truediv": "div"}
_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_UNARY = {"neg": "negative", "abs": "abs", "invert": "bitwise_invert"}

#: Attributes and methods that tell what an observation knows: shapes, dtypes and the like.
_KNOWN = frozenset(
    [
        "__new__",
        "__init__",
        "__hash__",
        "__len__",
        "__doc__",
        "__module__",
        "__array_priority__",
        "__array_namespace__",
        "shape",
        "strides",
        "ndim",
        "size",
        "itemsize",
        "nbytes",
        "dtype",
        "device",
        "is_contiguous",
        "is_leaf",
        "is_inference",
    ]
)
#: Methods that replays call again, each as one step.
_STEPS = frozenset(["backward", "clear_grad", "retain_grad", "requires_grad_", "detach_"])
_VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "T": lambda x: _C.permute_dims(x, tuple(reversed(range(x.ndim)))),
    "mT": lambda x: _C.matrix_transpose(x),
    "H": lambda x: _C.conj(_C.permute_dims(x, tuple(reversed(range(x.ndim))))),
    "mH": lambda x: _C.matrix_transpose(_C.conj(x)),
    "real": lambda x: _C.real(x),
    "imag": lambda x: _C.imag(x),
}


def observer() -> Observer | None:
    """Returns the observer of this thread, if it has one that is not busy."""
    found: Observer | None = getattr(_current, "observer", None)
    return None if found is None or found._watch.paused else found


def _either(original: Any, seen: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that calls `seen(observer, ...)` while this thread is observed, `original` otherwise."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        found = observer()
        result = NotImplemented if found is None else seen(found, *args, **kwargs)
        return original(*args, **kwargs) if result is NotImplemented else result

    return function


def _binary(original: Any, name: str, reflected: bool) -> Callable[..., Any]:
    operator = getattr(_C, name)

    def seen(_found: Observer, x: Tensor, other: Any, *_modulus: Any) -> Any:
        if isinstance(other, np.ndarray):
            other = lm.asarray(other)
        if not _modulus and isinstance(other, (Tensor, int, float, complex, np.generic)):
            return operator(other, x) if reflected else operator(x, other)
        return NotImplemented

    return _either(original, seen)


def _in_place(original: Any, name: str) -> Callable[..., Any]:
    def seen(_found: Observer, x: Tensor, other: Any, *_modulus: Any) -> Any:
        if isinstance(other, np.ndarray):
            other = lm.asarray(other)
        if not _modulus and isinstance(other, (Tensor, int, float, complex, np.generic)):
            return getattr(x, name + "_")(other)
        return NotImplemented

    return _either(original, seen)


def _refusing(original: Any, what: str) -> Callable[..., Any]:
    def seen(found: Observer, *_args: Any, **_kwargs: Any) -> Any:
        found.refuse(f"{what} is asked of a tensor")
        return NotImplemented

    return _either(original, seen)


def _number(original: Any) -> Callable[..., Any]:
    """A conversion to a number of Python: a bool or an int decides the course of the program."""

    def seen(found: Observer, x: Tensor) -> Any:
        if x.size == 1 and (original.__name__ == "__bool__" or "float" not in x.dtype.name) and x.device != "meta":
            return found.decide(x, original)
        found.refuse("Python reads a number of a tensor")
        return NotImplemented

    return _either(original, seen)


def _attribute(original: Any, name: str) -> property:
    """An attribute whose reads and writes an observer sees."""

    def get(x: Tensor) -> Any:
        found = observer()
        if found is not None:
            if name in _VIEWS:
                return _VIEWS[name](x)
            if name == "grad":
                return _read_grad(found, original, x)
            if name not in ("stop_gradient", "requires_grad"):
                found.refuse(f"{name} is asked of a tensor")
        return original.__get__(x)

    def set_(x: Tensor, value: Any) -> None:
        found = observer()
        if found is not None:
            if name in ("grad", "stop_gradient", "requires_grad"):
                result = found.call(f"set {name}", lambda x, value: original.__set__(x, value), (x, value), {})
                if result is not NotImplemented:
                    return
            else:
                found.refuse(f"{name} of a tensor is set")
        original.__set__(x, value)

    return property(get, set_)


def _read_grad(found: Observer, original: Any, x: Tensor) -> Any:
    grad = original.__get__(x)

    def read(x: Tensor) -> Any:
        now = original.__get__(x)
        if (now is None) != (grad is None):
            raise RuntimeError(
                "[compile] a tensor has a gradient where it had none when the function was compiled, or the other way "
                "round"
            )
        return now

    result = found.call("grad", read, (x,), {})
    return grad if result is NotImplemented else result


def _detach(original: Any) -> Callable[..., Any]:
    return _either(original, lambda found, x: found.pure_call("detach", original, (x,)))


def _to(original: Any) -> Callable[..., Any]:
    def seen(found: Observer, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        return found.pure_call(original.__name__, functools.partial(original, **kwargs), (x, *args))

    return _either(original, seen)


def _replacement(name: str, original: Any) -> Any:
    bare = name.strip("_")
    if name.startswith("__") and bare in _BINARY:
        return _binary(original, _BINARY[bare], False)
    if name.startswith("__r") and bare[1:] in _BINARY and bare not in _UNARY:
        return _binary(original, _BINARY[bare[1:]], True)
    if name.startswith("__i") and bare[1:] in _IN_PLACE:
        return _in_place(original, _IN_PLACE[bare[1:]])
    if name.startswith("__") and bare in _COMPARISONS:
        return _binary(original, _COMPARISONS[bare], False)
    if name.startswith("__") and bare in _UNARY:
        operator = getattr(_C, _UNARY[bare])
        return _either(original, lambda _found, x: operator(x))
    if name in ("__divmod__", "__rdivmod__"):
        return _either(original, _divmod(name == "__rdivmod__"))
    if name == "__pos__":
        return _either(original, lambda _found, x: x)
    if name == "__getitem__":
        return _either(original, lambda found, x, key: found.get_item(x, key))
    if name == "__setitem__":
        return _either(original, lambda found, x, key, value: found.set_item(x, key, value))
    if name == "__iter__":
        return _either(original, lambda _found, x: iter([x[i] for i in range(len(x))]))
    if name in ("__bool__", "__int__", "__index__", "item"):
        return _number(original)
    if name == "detach":
        return _detach(original)
    if name in ("to", "cpu", "cuda"):
        return _to(original)
    if name in _STEPS:
        return _either(original, lambda found, *args, **kwargs: found.call(name, original, args, kwargs))
    if type(original).__name__ == "getset_descriptor":
        return _attribute(original, name)
    return _refusing(original, name)


def _divmod(reflected: bool) -> Callable[..., Any]:
    def seen(_found: Observer, x: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, int, float, complex, np.generic)):
            return NotImplemented
        a: Any
        b: Any
        a, b = (other, x) if reflected else (x, other)
        return _C.floor_divide(a, b), _C.remainder(a, b)

    return seen


def _own_names() -> list[str]:
    """Returns the names of a tensor's attributes in C that are neither operators nor known to an observation."""
    operators = {operator["name"] for operator in _C.operators()}
    return [
        name
        for name, value in vars(Tensor).items()
        if name not in _KNOWN
        and not (
            type(value).__name__ == "method_descriptor" and (name in operators or name.removesuffix("_") in operators)
        )
        and type(value).__name__ in ("wrapper_descriptor", "method_descriptor", "getset_descriptor")
    ]


@functools.cache
def _replacements() -> dict[tuple[type, str], tuple[Any, Any]]:
    """Returns, for each attribute that is replaced while a call is observed, its own value and the other one."""
    found: dict[tuple[type, str], tuple[Any, Any]]
    found = {(Tensor, name): (vars(Tensor)[name], _replacement(name, vars(Tensor)[name])) for name in _own_names()}
    # Steps of training are called again as a whole: what they read changes with each.
    pending: list[tuple[type, str]] = [(optim.Optimizer, "step"), (optim.Optimizer, "zero_grad")]
    pending += [(optim.lr.LRScheduler, "step")]
    while pending:
        kind, name = pending.pop()
        subclasses: list[type] = kind.__subclasses__()
        pending += [(subclass, name) for subclass in subclasses]
        if name in vars(kind) and kind.__module__.startswith("lamella."):
            original = vars(kind)[name]
            step = functools.partial(_step, f"{kind.__name__}.{name}", original)
            found[kind, name] = (original, _either(original, step))
    return found


def _step(name: str, original: Any, found: Observer, *args: Any, **kwargs: Any) -> Any:
    if len(args) > 1 or kwargs:
        found.refuse(f"{name} is given a closure")
        return NotImplemented
    found.has_steps = True
    return found.call(name, original, args, kwargs)


class Interception:
    """Shows an observer what this thread does with tensors, while it is entered. One thread at a time."""

    _lock = threading.Lock()

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._recorder: Any = None

    def __enter__(self) -> None:
        self._lock.acquire()
        _current.observer = self._observer
        for (kind, name), (_, seen) in _replacements().items():
            setattr(kind, name, seen)
        self._recorder = _C._set_recorder(self._observer)

    def __exit__(self, *error: Any) -> None:
        _C._set_recorder(self._recorder)
        for (kind, name), (original, _) in _replacements().items():
            setattr(kind, name, original)
        _current.observer = None
        self._lock.release()


def is_observed() -> bool:
    """True while a call on this thread is observed."""
    return getattr(_current, "observer", None) is not None


def is_plain_mode() -> bool:
    """True if operators that this thread calls do nothing but compute, on the tape or off it."""
    return not (lm.graph.is_recording() or lm.is_autocast_enabled())
