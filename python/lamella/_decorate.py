"""Functions that run in a mode of their own: of gradients, of autocast, of tracing."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


def decorate(
    function: Callable[..., Any],
    kind: Callable[..., AbstractContextManager[Any]],
    mode: bool | None = None,
    *,
    name: str | None = None,
) -> Callable[..., Any]:
    """Wraps ``function`` so that it runs in ``kind()``, or in ``kind(mode)`` where a mode is given, and only it does.

    ``name`` stands for the kind's own in messages.

    A generator, a coroutine or an asynchronous generator runs in pieces: between them its caller's mode is in force.
    """
    name = name or kind.__name__
    if not callable(function):
        raise TypeError(f"[{name}] expected a function, got {type(function).__name__}")
    scope = kind if mode is None else functools.partial(kind, mode)

    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Any:
            return (yield from _InMode(function(*args, **kwargs), scope))

        return generate
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            return await _InMode(function(*args, **kwargs), scope)

        return run
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def generate_async(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            step = generator.asend(None)
            try:
                while True:
                    try:
                        value = await _InMode(step, scope)
                    except StopAsyncIteration:
                        return
                    try:
                        step = generator.asend((yield value))
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        # An exception that the caller throws in goes to the function, which may catch it and yield
                        # another value.
                        step = generator.athrow(error)
            finally:
                await _InMode(generator.aclose(), scope)

        return generate_async
    if isinstance(function, type):
        raise TypeError(f"[{name}] decorates functions; for a class, decorate its methods")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return function(*args, **kwargs)

    return call


class _InMode:
    """Drives a generator or a coroutine, each of its steps in a mode."""

    def __init__(self, inner: Any, scope: Callable[[], Any]) -> None:
        self.inner = inner
        self.steps = inner if hasattr(inner, "send") else inner.__await__()
        self.scope = scope

    def __iter__(self) -> _InMode:
        return self

    __await__ = __iter__

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        """Runs the next step."""
        with self.scope():
            # Steps of an asynchronous generator are iterators that have send, too.
            return self.steps.send(value)

    def throw(self, *error: Any) -> Any:
        """Runs the next step, which begins with an exception."""
        with self.scope():
            return self.steps.throw(*error)

    def close(self) -> None:
        """Closes the generator or coroutine."""
        with self.scope():
            self.steps.close()
