"""Results that come later, and functions of them that are called then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from lamella.compat.front import close_module

T = TypeVar("T")


class Future(Generic[T]):
    """A result that comes later, from another thread perhaps.

    Args:
        devices: not used.
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._came = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], Any]] = []

    def done(self) -> bool:
        """True once the result or an error is there."""
        return self._done

    def wait(self) -> Any:
        """Waits for the result and returns it, or raises the error."""
        with self._came:
            self._came.wait_for(self.done)
        return self.value()

    def value(self) -> Any:
        """Returns the result, or raises the error.

        Raises:
            RuntimeError: neither is there yet.
        """
        if not self._done:
            raise RuntimeError("[Future] the result is not there yet: call wait()")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Gives the result, and calls what waits for it.

        Raises:
            RuntimeError: a result is there already.
        """
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Gives an error in the result's place."""
        if not isinstance(result, BaseException):
            raise TypeError(f"[Future] set_exception takes an exception, not a {type(result).__name__}")
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._came:
            if self._done:
                raise RuntimeError("[Future] the result is there already")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._came.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        """Has ``callback(future)`` called when the result comes, or at once if it is there."""
        with self._came:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Any], Any]) -> Future[Any]:
        """Returns a future with the result of ``callback(future)``, which is called when this one's comes."""
        made: Future[Any] = Future()

        def call(future: Any) -> None:
            try:
                result = callback(future)
            except Exception as error:
                made.set_exception(error)
            else:
                made.set_result(result)

        self.add_done_callback(call)
        return made


def collect_all(futures: Sequence[Future[Any]]) -> Future[Any]:
    """Returns a future whose result is the list of ``futures``, once all have theirs."""
    made: Future[Any] = Future()
    left = len(futures)
    lock = threading.Lock()

    def count(_future: Any) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            made.set_result(futures)

    if not futures:
        made.set_result(futures)
    for each in futures:
        each.add_done_callback(count)
    return made


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Waits for all, and returns their results."""
    return [each.wait() for each in futures]


__getattr__ = close_module(__name__)
