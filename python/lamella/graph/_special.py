"""Lets recorders see what Python does with tensors beside calling operators: arithmetic, subscripts, attributes.

While a thread has a handler, the class of tensors has other special methods and attributes, which ask whether their own
thread is such a one; afterwards it has its own again. So nothing is slower while nobody records.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from lamella import _C
from lamella._C import Tensor, asarray

from .._attributes import Handler, local, replaced, watched

BINARY = {
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
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
#: Methods in place that go by another name than the operator.
IN_PLACE = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}
UNARY = {"neg": "negative", "abs": "abs", "invert": "bitwise_invert"}

#: Attributes that tell dtype, rank and the like, which recorders know.
KNOWN = frozenset(
    [
        *("__new__", "__init__", "__hash__", "__doc__", "__module__", "__array_priority__", "__array_namespace__"),
        *("ndim", "itemsize", "dtype", "device", "is_leaf", "is_inference"),
    ]
)
#: Those that tell sizes.
SIZES = frozenset(["__len__", "get shape", "get strides", "get size", "get nbytes", "is_contiguous"])

#: Attributes that are operators.
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "T": lambda x: _C.permute_dims(x, tuple(reversed(range(x.ndim)))),
    "mT": lambda x: _C.matrix_transpose(x),
    "H": lambda x: _C.conj(_C.permute_dims(x, tuple(reversed(range(x.ndim))))),
    "mH": lambda x: _C.matrix_transpose(_C.conj(x)),
    "real": lambda x: _C.real(x),
    "imag": lambda x: _C.imag(x),
}

_NUMBERS = (Tensor, int, float, complex, np.generic)


def _binary(name: str, reflected: bool) -> Callable[..., Any]:
    operator = getattr(_C, name)

    def call(x: Tensor, other: Any, *modulus: Any) -> Any:
        other = asarray(other, device="cpu") if isinstance(other, np.ndarray) else other
        if modulus or not isinstance(other, _NUMBERS):
            return NotImplemented
        return operator(other, x) if reflected else operator(x, other)

    return call


def _in_place(name: str) -> Callable[..., Any]:
    def call(x: Tensor, other: Any, *modulus: Any) -> Any:
        other = asarray(other, device="cpu") if isinstance(other, np.ndarray) else other
        if modulus or not isinstance(other, _NUMBERS):
            return NotImplemented
        return getattr(x, name + "_")(other)

    return call


def _divmod(reflected: bool) -> Callable[..., Any]:
    quotient, remainder = _binary("floor_divide", reflected), _binary("remainder", reflected)

    def call(x: Tensor, other: Any) -> Any:
        parts = quotient(x, other), remainder(x, other)
        return NotImplemented if NotImplemented in parts else parts

    return call


def _functional() -> dict[str, Callable[..., Any]]:
    made: dict[str, Callable[..., Any]] = {
        "__divmod__": _divmod(False),
        "__rdivmod__": _divmod(True),
        "__pos__": lambda x: x,
        "__iter__": lambda x: iter([x[i] for i in range(len(x))]),
    }
    for short, name in BINARY.items():
        made[f"__{short}__"] = _binary(name, False)
        made[f"__r{short}__"] = _binary(name, True)
        if short != "matmul":
            made[f"__i{short}__"] = _in_place(IN_PLACE.get(short, name))
    for short, name in COMPARISONS.items():
        made[f"__{short}__"] = _binary(name, False)
    for short, name in UNARY.items():
        made[f"__{short}__"] = getattr(_C, name)
    return made | {"get " + name: view for name, view in VIEWS.items()}


#: Special methods, and reads of attributes, as calls of operators; a call may return NotImplemented.
FUNCTIONAL = _functional()

_lock = threading.Lock()
_count = 0


def _own() -> dict[str, Any]:
    """Returns a tensor's attributes in C that are neither operators nor known to recorders."""
    operators = {operator["name"] for operator in _C.operators()}

    def is_own(name: str, value: Any) -> bool:
        kind = type(value).__name__
        operator = kind == "method_descriptor" and (name in operators or name.removesuffix("_") in operators)
        return (
            name not in KNOWN
            and not operator
            and kind in ("wrapper_descriptor", "method_descriptor", "getset_descriptor")
        )

    return {name: value for name, value in {**vars(Tensor), **replaced}.items() if is_own(name, value)}


#: The attributes that are replaced while somebody looks, as they were when this module was imported.
ORIGINALS = _own()
#: What they were when they were replaced: fronts have methods of their own.
_replaced: dict[str, Any] = {}


def means_its_own(name: str, original: Any) -> bool:
    """False for a method that a front has put in the place of one in C: what that one calls is seen in its turn."""
    return ORIGINALS.get(name, original) is original


def _replace() -> None:
    for name in ORIGINALS:
        _replaced[name] = vars(Tensor)[name]
        setattr(Tensor, name, watched(name, _replaced[name]))


def _put_back() -> None:
    for name, original in _replaced.items():
        # A front that was loaded meanwhile has put its own there.
        if vars(Tensor)[name] is watched(name, original):
            setattr(Tensor, name, original)
    _replaced.clear()
    kinds: list[type] = [Tensor]
    for kind in kinds:
        _C._mend_slots(kind)
        kinds += type.__subclasses__(kind)


def exchange_handler(handler: Handler | None) -> Handler | None:
    """Makes another handler this thread's, or takes it away; returns the one before."""
    global _count
    before: Handler | None = getattr(local, "handler", None)
    with _lock:
        change = (handler is not None) - (before is not None)
        _count += change
        if change > 0 and _count == 1:
            _replace()
        elif change < 0 and _count == 0:
            _put_back()
    local.handler = handler
    return before
