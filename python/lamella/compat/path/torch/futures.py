"""Results that come later, from another thread or when they are asked for, and functions of them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from lamella.compat.front import close_module

T = TypeVar("T")


class Future(Generic[T]):
    """A result that comes later: somebody sets it, or a function finds it.

    Args:
        devices: not used.
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._came = threading.Condition()
        self._done = False
        self._find: Callable[[], T] | None = None
        self._completed: Callable[[], bool] = lambda: False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], Any]] = []

    @classmethod
    def of(cls, find: Callable[[], T], completed: Callable[[], bool]) -> Future[T]:
        """Returns one whose result a function waits for and returns; another says whether it is there."""
        made: Future[T] = cls()
        made._find, made._completed = find, completed
        return made

    def done(self) -> bool:
        """True once the result or an error is there."""
        return self._done or self._completed()

    def wait(self) -> T:
        """Waits for the result and returns it, or raises the error."""
        self._find_now()
        with self._came:
            self._came.wait_for(lambda: self._done)
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def value(self) -> T:
        """Returns the result, or raises the error.

        Raises:
            RuntimeError: neither is there yet.
        """
        if not self.done():
            raise RuntimeError("[Future] the result is not there yet: call wait()")
        return self.wait()

    def set_result(self, result: T) -> None:
        """Gives the result, and calls what waits for it.

        Raises:
            RuntimeError: a result is there already.
        """
        self._set(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Gives an error in the result's place."""
        if not isinstance(result, BaseException):
            raise TypeError(f"[Future] set_exception takes an exception, not {type(result).__name__}")
        self._set(None, result)

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        """Has ``callback(future)`` called when the result comes, or at once if it is there."""
        with self._came:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Any], Any]) -> Future[Any]:
        """Returns a future with the result of ``callback(future)``, which is called when this one's comes."""

        def find() -> Any:
            self._wait_quietly()
            return callback(self)

        made = Future.of(find, self.done)
        self.add_done_callback(lambda _: made._find_now())
        return made

    def _set(self, value: Any, error: BaseException | None) -> None:
        if self._find is not None:
            raise RuntimeError("[Future] the result is found by a function, and not set")
        self._finish(value, error)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._came:
            if self._done:
                raise RuntimeError("[Future] the result is there already")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._came.notify_all()
        for callback in callbacks:
            callback(self)

    def _find_now(self) -> None:
        """Calls the function that finds the result, if there is one and nobody has."""
        with self._came:
            find, self._find = self._find, None
        if find is None:
            return
        try:
            value = find()
        except BaseException as error:
            self._finish(None, error)
        else:
            self._finish(value, None)

    def _wait_quietly(self) -> None:
        """Waits; an error is raised by those who ask for the result."""
        with contextlib.suppress(Exception):
            self.wait()


def collect_all(futures: Sequence[Future[Any]]) -> Future[Sequence[Future[Any]]]:
    """Returns a future whose result is the list of ``futures``, once all have theirs."""
    left = len(futures)
    lock = threading.Lock()

    def find() -> Sequence[Future[Any]]:
        for one in futures:
            one._wait_quietly()
        return futures

    made = Future.of(find, lambda: all(one.done() for one in futures))

    def count(_: Any) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            made._find_now()

    for one in futures:
        one.add_done_callback(count)
    return made


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Waits for all, and returns their results."""
    return [one.wait() for one in futures]


__getattr__ = close_module(__name__)
