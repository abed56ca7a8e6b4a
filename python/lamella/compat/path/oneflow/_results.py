"""Arguments and results of jobs, as annotations say."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any

import lamella as lm

from ._session import Blob
from .typing import Bundle, Callback, ListNumpy, Numpy, Placeholder

#: Makes a result of the arrays that a run gives, in order.
Maker = Callable[[Iterator[Any]], Any]


class Future:
    """Result of a job without an annotation of its result; it is computed already."""

    def __init__(self, result: Any) -> None:
        self._result = result

    def get(self) -> Any:
        """Returns the value, or a list, tuple or dict of them."""
        return self._result

    def async_get(self, callback: Callable[[Any], Any]) -> None:
        """Calls a function with the result."""
        callback(self._result)


def placeholders(job: str, argument: str, written: Any) -> Any:
    """Returns the placeholders of an argument: one, or a tuple, list or dict of them.

    Raises:
        TypeError: the annotation has none.
    """
    if isinstance(written, Placeholder):
        return written
    kind, parts = typing.get_origin(written), typing.get_args(written)
    if kind in (tuple, list):
        written = kind(parts)
    if isinstance(written, (tuple, list)) and written:
        return type(written)(placeholders(job, f"{argument}[{k}]", each) for k, each in enumerate(written))
    if isinstance(written, dict) and written:
        return {key: placeholders(job, f"{argument}[{key!r}]", each) for key, each in written.items()}
    raise TypeError(
        f"[{job}] argument '{argument}' needs an annotation such as Numpy.Placeholder((5,), dtype=flow.float32)"
    )


def leaves(argument: str, tree: Any) -> Iterator[tuple[str, Placeholder]]:
    """Yields the placeholders of an argument, each with its name."""
    if isinstance(tree, Placeholder):
        yield argument, tree
    else:
        for key, each in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(f"{argument}[{key!r}]", each)


def filled(tree: Any, values: Iterator[Any]) -> Any:
    """Returns an argument with values in the places of its placeholders."""
    if isinstance(tree, Placeholder):
        return next(values)
    if isinstance(tree, dict):
        return {key: filled(each, values) for key, each in tree.items()}
    return type(tree)(filled(each, values) for each in tree)


def arrays(job: str, argument: str, tree: Any, value: Any) -> Iterator[Any]:
    """Yields the arrays of an argument of a call, checked.

    Raises:
        TypeError: a value is no such array, or not of the form of the argument.
        ValueError: an array has another shape, or there is another number of them.
    """
    if isinstance(tree, Placeholder):
        tree.check(value, job, argument)
        yield tree.array(value)
        return
    if not isinstance(value, type(tree)):
        raise TypeError(f"[{job}] argument '{argument}': expected a {type(tree).__name__}, got {type(value).__name__}")
    if len(value) != len(tree) or (isinstance(tree, dict) and set(tree) != set(value)):
        of = f"{', '.join(map(repr, tree))}" if isinstance(tree, dict) else f"{len(tree)} values"
        got = f"{', '.join(map(repr, value))}" if isinstance(tree, dict) else len(value)
        raise ValueError(f"[{job}] argument '{argument}': expected {of}, got {got}")
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        yield from arrays(job, f"{argument}[{key!r}]", tree[key], value[key])


def result(job: str, returned: Any, wanted: Any) -> tuple[list[lm.Tensor], Maker]:
    """Returns the values that a job's function returned, and what makes the job's result of their arrays.

    Raises:
        TypeError: the function returned something else than its annotation says.
    """
    if typing.get_origin(wanted) is Callback:
        fetches, make = result(job, returned, typing.get_args(wanted)[0])
        return fetches, lambda found: _called_with(make(found))
    if wanted in (None, type(None)):
        return [], lambda found: None
    fetches = []
    if wanted is inspect.Signature.empty:
        make = _made(job, list(returned) if isinstance(returned, tuple) else returned, Bundle[Blob], fetches)
        return fetches, lambda found: Future(make(found))
    return fetches, _made(job, returned, wanted, fetches)


def _called_with(value: Any) -> Callable[[Callable[[Any], Any]], Any]:
    return lambda callback: callback(value)


def _made(job: str, returned: Any, wanted: Any, fetches: list[lm.Tensor]) -> Maker:
    """Adds the values to ``fetches``, and returns what makes the result of their arrays."""
    kind, parts = typing.get_origin(wanted), typing.get_args(wanted)
    if kind is Bundle:
        if isinstance(returned, (tuple, list)):
            makers = [_made(job, each, wanted, fetches) for each in returned]
            return _sequence(type(returned), makers)
        if isinstance(returned, dict):
            return _mapping({key: _made(job, each, wanted, fetches) for key, each in returned.items()})
        return _made(job, returned, parts[0], fetches)
    if wanted in (Numpy, ListNumpy, Blob):
        if not isinstance(returned, lm.Tensor):
            says = "nothing" if wanted is Blob else wanted.__name__
            raise TypeError(
                f"[{job}] returns {type(returned).__name__}, and its annotation says {says}: return a value of the job"
            )
        fetches.append(returned)
        if wanted is Blob:
            return lambda found: Blob.of(lm.asarray(next(found)))
        return (lambda found: next(found)) if wanted is Numpy else (lambda found: [next(found)])
    if kind is tuple and len(parts) == 2 and parts[1] is Ellipsis and isinstance(returned, tuple):
        parts = parts[:1] * len(returned)
    if kind is tuple and isinstance(returned, (tuple, list)) and len(parts) == len(returned):
        return _sequence(tuple, [_made(job, x, part, fetches) for x, part in zip(returned, parts, strict=True)])
    if kind is list and isinstance(returned, (tuple, list)) and len(parts) == 1:
        return _sequence(list, [_made(job, x, parts[0], fetches) for x in returned])
    if kind is dict and isinstance(returned, dict) and len(parts) == 2:
        return _mapping({key: _made(job, x, parts[1], fetches) for key, x in returned.items()})
    count = f" of {len(returned)}" if isinstance(returned, (tuple, list)) else ""
    raise TypeError(f"[{job}] returns {type(returned).__name__}{count}, and its annotation says {wanted}")


def _sequence(kind: Any, makers: list[Maker]) -> Maker:
    return lambda found: kind(make(found) for make in makers)


def _mapping(makers: dict[Any, Maker]) -> Maker:
    return lambda found: {key: make(found) for key, make in makers.items()}
