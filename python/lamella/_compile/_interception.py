"""Shows an observer what Python does with tensors beside calling operators, and which steps of training it makes."""

from __future__ import annotations

import functools
import math
import operator
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import _C, optim
from lamella._C import Tensor
from lamella.graph._special import FUNCTIONAL, ORIGINALS, SIZES, exchange_handler, means_its_own

from ._observer import MismatchError, Observer

_current = threading.local()

_SUBSCRIPTS = frozenset(["__getitem__", "__setitem__"])
#: Methods that replays call again, each as one step.
_STEPS = frozenset(["clear_grad", "retain_grad", "requires_grad_", "detach_"])


def observer() -> Observer | None:
    """Returns the observer of this thread, if it has one that is not busy."""
    found: Observer | None = getattr(_current, "observer", None)
    return None if found is None or found._watch.paused else found


def _read_grad(found: Observer, original: Callable[..., Any], x: Tensor) -> Any:
    grad = original(x)

    late = found.has_effects

    def read(x: Tensor) -> Any:
        now = original(x)
        if (now is None) == (grad is None):
            return now
        if not late:
            raise MismatchError
        raise RuntimeError(
            "[compile] a tensor has a gradient where it had none when the function was compiled, or the other way round"
        )

    result = found.check("grad", read, x)
    return grad if result is NotImplemented else result


def _with_numbers(key: Any) -> Any:
    """Returns a key whose slices have numbers in the place of tensors, which are read and decide what is taken."""

    def plain(item: Any) -> Any:
        if not isinstance(item, slice):
            return item
        bounds = (item.start, item.stop, item.step)
        if not any(isinstance(bound, Tensor) for bound in bounds):
            return item
        return slice(*[operator.index(bound) if isinstance(bound, Tensor) else bound for bound in bounds])

    return tuple(map(plain, key)) if isinstance(key, tuple) else plain(key)


class _Eyes:
    """Hands an observer what a thread does with tensors."""

    def special(self, name: str, original: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Shows a call to the observer, which makes it, or leaves it to be made and may note a break."""
        found = observer()
        if found is None:
            return NotImplemented
        if name in SIZES:
            found.reads_sizes = True
            return NotImplemented
        if (name in FUNCTIONAL or name in _SUBSCRIPTS) and not means_its_own(name, original):
            return NotImplemented
        if name in FUNCTIONAL:
            return FUNCTIONAL[name](*args)
        if name == "__getitem__":
            return found.get_item(args[0], _with_numbers(args[1]))
        if name == "__setitem__":
            return found.set_item(args[0], _with_numbers(args[1]), *args[2:])
        if name in ("__bool__", "__int__", "__index__", "item"):
            x = args[0]
            if (
                math.prod(ORIGINALS["shape"].__get__(x)) == 1
                and (name == "__bool__" or "float" not in x.dtype.name)
                and x.device != "meta"
            ):
                return found.decide(x, original)
            found.refuse("Python reads a number of a tensor")
            return NotImplemented
        if name == "detach":
            return found.pure_call(name, original, args)
        if name in ("to", "cpu", "cuda"):
            return found.pure_call(name, functools.partial(original, **kwargs), args)
        if name == "backward":
            return found.gradients(name, original, args, kwargs, (1, "grad"))
        if name in _STEPS:
            return found.call(name, original, args, kwargs)
        return self._attribute(found, name, original, args)

    def _attribute(self, found: Observer, name: str, original: Callable[..., Any], args: Any) -> Any:
        verb, _, attribute = name.partition(" ")
        if name == "get grad":
            return _read_grad(found, original, *args)
        if attribute in ("grad", "stop_gradient", "requires_grad"):
            return NotImplemented if verb == "get" else found.call(name, original, args, {})
        found.refuse(f"{attribute or name} is asked of a tensor")
        return NotImplemented


def _noticed(original: Any, step: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that calls `step(observer, ...)` while this thread is observed, `original` otherwise."""

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        found = observer()
        result = NotImplemented if found is None else step(found, *args, **kwargs)
        return original(*args, **kwargs) if result is NotImplemented else result

    return method


def _step(name: str, original: Any, found: Observer, *args: Any, **kwargs: Any) -> Any:
    constant = (type(None), bool, lm.nn.Module)
    given = [value for value in (*args[1:], *kwargs.values()) if not isinstance(value, constant)]
    if given:
        found.refuse(f"{name} is given {'a closure' if callable(given[0]) else 'a value that may change'}")
        return NotImplemented
    found.has_steps = True
    # Dropping gradients touches no elements; setting them to zero does.
    drops = name == "Optimizer.zero_grad" and all((*args[1:], *kwargs.values()))
    return found.call(name, original, args, kwargs, commutes=drops)


@functools.cache
def _steps() -> dict[tuple[type, str], tuple[Any, Any]]:
    """Returns, for each method that is a step of training, itself and what stands in its place.

    Replays call steps as a whole, as what they read changes with each.
    """
    found: dict[tuple[type, str], tuple[Any, Any]] = {}
    pending: list[tuple[type, str]] = [(optim.Optimizer, "step"), (optim.Optimizer, "zero_grad")]
    pending += [(optim.lr.LRScheduler, "step"), (optim.swa_utils.AveragedModel, "update_parameters")]
    while pending:
        kind, name = pending.pop()
        subclasses: list[type] = kind.__subclasses__()
        pending += [(subclass, name) for subclass in subclasses]
        if name in vars(kind) and kind.__module__.startswith("lamella."):
            original = vars(kind)[name]
            step = functools.partial(_step, f"{kind.__name__}.{name}", original)
            found[kind, name] = (original, _noticed(original, step))
    return found


class Interception:
    """Shows an observer what this thread does, while it is entered. One thread at a time, which has acquired it."""

    _lock = threading.Lock()

    @classmethod
    def acquire(cls) -> bool:
        """Takes the right to observe; False where it is taken, or where a profiler has the place of a watch.

        Nobody waits for it: a call that is observed may itself wait for what another thread computes.
        """
        profile = sys.getprofile()
        return (profile is None or isinstance(profile, types.FunctionType)) and cls._lock.acquire(blocking=False)

    @classmethod
    def release(cls) -> None:
        """Gives the right back."""
        cls._lock.release()

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._recorder: Any = None
        self._handler: Any = None

    def __enter__(self) -> None:
        _current.observer = self._observer
        for (kind, name), (_, seen) in _steps().items():
            setattr(kind, name, seen)
        self._handler = exchange_handler(_Eyes())
        self._recorder = _C._set_recorder(self._observer)

    def __exit__(self, *error: Any) -> None:
        _C._set_recorder(self._recorder)
        exchange_handler(self._handler)
        for (kind, name), (original, _) in _steps().items():
            setattr(kind, name, original)
        _current.observer = None


def is_observed() -> bool:
    """True while a call on this thread is observed."""
    return getattr(_current, "observer", None) is not None


def is_plain_mode() -> bool:
    """True if operators that this thread calls do nothing but compute, on the tape or off it."""
    return not (lm.graph.is_recording() or lm.is_autocast_enabled() or _C._recorder() is not None)
