"""The table over HTTP."""

from __future__ import annotations

import http.client
import threading
import time

import pytest

from lamella.distributed._store import HttpStore

from .running import is_free


def test_values_are_waited_for() -> None:
    served = HttpStore("127.0.0.1", 0, serve=True)
    other = HttpStore("127.0.0.1", served.port, serve=False)
    odd = bytes(range(256))
    threading.Timer(0.1, lambda: served.set("a key/with?odd&letters", odd)).start()
    assert other.get("a key/with?odd&letters", 10.0) == odd
    other.set("empty", b"")
    assert served.get("empty", 1.0) == b""
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="no process has set 'nothing'"):
        other.get("nothing", 0.2)
    assert time.monotonic() - begin < 10
    with pytest.raises(RuntimeError, match="answers PUT /large with 413"):
        other.set("large", bytes((1 << 20) + 1))
    served.close()
    served.close()
    assert is_free(served.port)
    with pytest.raises(TimeoutError):
        other.get("a key", 0.1)


def test_only_the_address_that_was_told_is_listened_on() -> None:
    served = HttpStore("127.0.0.1", 0, serve=True)
    try:
        connection = http.client.HTTPConnection("127.0.0.2", served.port, timeout=1)
        with pytest.raises(OSError):
            connection.request("GET", "/x")
        with pytest.raises(RuntimeError, match="rank 0 cannot listen on"):
            HttpStore("127.0.0.1", served.port, serve=True)
    finally:
        served.close()
