"""Results that may not be there yet; what is to be made of them is made when it is waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from lamella.compat.front import close_module

T = TypeVar("T")


class Future(Generic[T]):
    """A result that a program sets, or that is waited for.

    Functions given to :meth:`then` and :meth:`add_done_callback` run when the result is set, or asked for.
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._find: Callable[[], T] | None = None
        self._completed: Callable[[], bool] = lambda: False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._is_done = False
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    @classmethod
    def of(cls, find: Callable[[], T], completed: Callable[[], bool]) -> Future[T]:
        """Returns one whose result a function waits for; another says whether it is there."""
        made: Future[T] = cls()
        made._find, made._completed = find, completed
        return made

    def done(self) -> bool:
        """True if the result is there."""
        return self._is_done or self._completed()

    def wait(self) -> T:
        """Returns the result, or raises the error that stands for it.

        Raises:
            RuntimeError: nobody has set a result.
        """
        if not self._is_done:
            if self._find is None:
                raise RuntimeError("[Future] wait: nobody has set a result, and nobody else could meanwhile")
            try:
                self._settle(self._find(), None)
            except BaseException as error:
                self._settle(None, error)
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def value(self) -> T:
        """Returns the result, as :meth:`wait` does."""
        return self.wait()

    def set_result(self, result: T) -> None:
        """Sets the result.

        Raises:
            RuntimeError: there is one.
        """
        if self._is_done or self._find is not None:
            raise RuntimeError("[Future] set_result: there is a result already")
        self._settle(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Sets an error, which :meth:`wait` raises."""
        if not isinstance(result, BaseException):
            raise TypeError(f"[Future] set_exception takes an exception, not {type(result).__name__}")
        self._settle(None, result)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """Returns a future of what a function makes of this one when it is done."""

        def find() -> Any:
            self._await_quietly()
            return callback(self)

        made = Future.of(find, self.done)
        self.add_done_callback(lambda _: made._await_quietly())
        return made

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Has a function called with this future when it is done."""
        if self._is_done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def _settle(self, value: T | None, error: BaseException | None) -> None:
        self._value, self._error, self._is_done = value, error, True
        waiting, self._callbacks = self._callbacks, []
        for callback in waiting:
            callback(self)

    def _await_quietly(self) -> None:
        """Waits; an error is raised by those who ask for the result."""
        try:
            self.wait()
        except Exception:
            if not self._is_done:
                raise


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """Returns a future of the futures themselves, when all of them are done."""
    listed = list(futures)

    def find() -> list[Future[Any]]:
        for one in listed:
            one._await_quietly()
        return listed

    return Future.of(find, lambda: all(one.done() for one in listed))


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Returns the results of futures."""
    return [one.wait() for one in futures]


__getattr__ = close_module(__name__)
