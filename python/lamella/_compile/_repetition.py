"""Operators and functions that replays call again, and the exceptions that end them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import lamella as lm
from lamella import _tree
from lamella._C import Tensor
from lamella.graph._recorder import _Operator


class MismatchError(Exception):
    """A replay met another outcome than the observed call's; nothing has changed yet."""


class RefusedError(Exception):
    """The call that is being observed cannot become a part of a graph."""


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Returns the tensors in nested lists and tuples."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def caller(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    tensors: int,
    rebuild: Callable[[Iterator[Tensor]], Any],
    returns: bool,
) -> Callable[[Sequence[Tensor]], list[Tensor]]:
    """Returns what calls a function again with other tensors, in as few steps of Python as can be."""
    plain = not kwargs and tensors == len(args)

    def call_with_tensors_alone(given: Sequence[Tensor]) -> list[Tensor]:
        function(*given)
        return []

    def call_without_tensors(_given: Sequence[Tensor]) -> list[Tensor]:
        function(*args)
        return []

    def call(given: Sequence[Tensor]) -> list[Tensor]:
        positional, named = rebuild(iter(given))
        return _tree.flatten(function(*positional, **named))[0]

    if returns or not (plain or (not kwargs and tensors == 0)):
        return call
    return call_with_tensors_alone if plain else call_without_tensors


def elements_decide_shape(op: _Operator, values: Sequence[Any]) -> bool:
    """True if the shapes of an operator's results depend on elements."""

    def on_meta(value: Any) -> Any:
        if isinstance(value, Tensor):
            return lm.empty_like(value, device="meta")
        return [on_meta(item) for item in value] if isinstance(value, (list, tuple)) else value

    if op.draws or op.name == "lamella::to_device":
        return False
    if not op.results or not any(True for _ in tensors_in(values)):
        return False  # it would do what it is there for, such as printing, or reading the next item of a file
    try:
        with lm.no_grad():
            op.run([on_meta(value) for value in values])
    except (NotImplementedError, ValueError, TypeError, IndexError):
        return False
    except RuntimeError:
        return True
    return False


def is_plain(data: Any) -> bool:
    """True for a number, or nested lists of numbers."""
    if isinstance(data, (list, tuple)):
        return all(map(is_plain, data))
    return isinstance(data, (int, float, complex, np.generic))
