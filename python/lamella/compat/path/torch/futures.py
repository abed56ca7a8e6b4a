"""Results that come later."""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Any

from lamella.compat.front import close_module


class Future(concurrent.futures.Future[Any]):
    """A result that another thread sets; see :class:`concurrent.futures.Future`."""

    def __init__(self, *, devices: Any = None) -> None:
        super().__init__()

    def wait(self) -> Any:
        """Waits for the result, and returns it."""
        return self.result()

    def value(self) -> Any:
        """Returns the result, which is there already."""
        return self.result(timeout=0)

    def then(self, callback: Any) -> Future:
        """Returns the result of a function of this object, which is called when its own result is there."""
        made = Future()

        def call(done: Any) -> None:
            try:
                made.set_result(callback(done))
            except Exception as error:
                made.set_exception(error)

        self.add_done_callback(call)
        return made


def collect_all(futures: list[Future]) -> Future:
    """Returns a result that is there when those of a list are: the list."""
    made = Future()
    left = len(futures)
    lock = threading.Lock()

    def count(_: Any) -> None:
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


def wait_all(futures: list[Future]) -> list[Any]:
    """Waits for the results of a list, and returns them."""
    return [each.wait() for each in futures]


__getattr__ = close_module(__name__)
