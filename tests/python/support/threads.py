"""Work on several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def run_on_threads(*work: Callable[[], Any]) -> None:
    """Runs each function on a thread of its own, waits for all, and raises the first exception, if there was one."""
    errors: list[BaseException] = []

    def guarded(function: Callable[[], Any]) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
