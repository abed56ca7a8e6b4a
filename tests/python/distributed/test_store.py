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
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match=f"rank 0 does not answer at 127.0.0.1:{served.port} in time"):
        HttpStore("127.0.0.1", served.port, serve=False, seconds=0.2).set("a key", b"")
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize("host", ["localhost", "::1"])
def test_the_host_may_be_a_name_or_an_address_of_ipv6(host: str) -> None:
    try:
        served = HttpStore(host, 0, serve=True)
    except RuntimeError as error:
        pytest.skip(str(error))
    HttpStore(host, served.port, serve=False).set("key", b"value")
    assert served.get("key", 10.0) == b"value"
    served.close()


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
