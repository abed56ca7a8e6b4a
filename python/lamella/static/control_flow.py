"""Branches and loops of static programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import _tree


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
    return_names: Any = None,
) -> Any:
    """Returns what ``true_fn()`` gives where ``pred`` holds in a run, and what ``false_fn()`` gives otherwise.

    Both give variables of the same structure, dtypes and shapes, which gradients flow through, or both None: see
    :func:`lamella.cond`. Without a program it calls one of them.

    Args:
        pred: a variable of one element.
        true_fn: takes no arguments; None for nothing.
        false_fn: the same.
        name: not used.
        return_names: not used.

    Raises:
        TypeError: a branch is no function.
        ValueError: the branches give different structures, dtypes or shapes.
    """
    for argument, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if function is not None and not callable(function):
            raise TypeError(f"[cond] {argument} is a function or None, not {type(function).__name__}")

    def of(function: Callable[[], Any] | None) -> Any:
        result = None if function is None else function()
        return () if result is None else result

    result = lm.cond(pred, lambda: of(true_fn), lambda: of(false_fn))
    return None if isinstance(result, tuple) and not _tree.leaves_of(result)[0] else result


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    is_test: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Replaces ``loop_vars`` by ``body(*loop_vars)`` as long as ``cond(*loop_vars)`` holds in a run.

    Gradients flow back through the iterations: see :func:`lamella.while_loop`.

    Args:
        cond: takes the variables, and returns a variable of one element.
        body: takes the variables, and returns as many of the same dtypes and shapes.
        loop_vars: a list or tuple of variables, or lists of variables.
        is_test: not used.
        name: not used.

    Returns:
        A list of the variables after the last iteration.

    Raises:
        TypeError: ``loop_vars`` is no list or tuple, or ``cond`` or ``body`` is no function.
        ValueError: ``body`` gives another structure, dtype or shape; or ``loop_vars`` is empty.
    """
    return list(lm.while_loop(cond, body, loop_vars))
