"""Tables of values: over HTTP, through which processes on several machines find one another, and of one process."""

from __future__ import annotations

import http.client
import http.server
import socket
import sys
import threading
import time
import urllib.parse
from collections.abc import MutableMapping
from typing import Any

#: Values are addresses of processes; more is refused.
_MOST_BYTES = 1 << 20
#: Seconds for which the server lets a request wait at most, and the header that says how many this one wants.
_PATIENCE = 5.0
_WAIT = "X-Wait"
#: The header that names a change of :func:`change`.
_CHANGE = "X-Change"


def change(values: MutableMapping[str, bytes], what: str, key: str, given: bytes) -> bytes:
    """Changes a table, and returns what is asked for.

    Args:
        values: The table.
        what: ``"set"``; ``"add"`` (a number to that of the key, 0 at first; returns the sum); ``"append"``;
            ``"compare"`` (where the value is the expected one, or there is none and none is expected, sets another one;
            returns the value that counts then); ``"delete"``, ``"has"`` (return ``b"1"`` or ``b"0"``); ``"count"``.
        key: The key.
        given: The value, the number, or the length of the expected value, a space, that value and the new one.

    Raises:
        ValueError: There is no such change, or the value is no number.
    """
    own = values.get(key)
    if what == "set":
        values[key] = given
    elif what == "append":
        values[key] = (own or b"") + given
    elif what == "add":
        values[key] = str(int(own or b"0") + int(given)).encode()
        return values[key]
    elif what == "compare":
        size, _, rest = given.partition(b" ")
        expected, new = rest[: int(size)], rest[int(size) :]
        if own == expected or (own is None and not expected):
            values[key] = own = new
        return expected if own is None else own
    elif what == "delete":
        return str(int(values.pop(key, None) is not None)).encode()
    elif what == "has":
        return str(int(own is not None)).encode()
    elif what == "count":
        return str(len(values)).encode()
    else:
        raise ValueError(f"[Store] there is no change {what!r}")
    return b""


class Table:
    """Values of one process, for all of its threads."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def change(self, what: str, key: str, given: bytes = b"") -> bytes:
        """Changes the table as :func:`change` does."""
        with self._changed:
            found = change(self._values, what, key, given)
            self._changed.notify_all()
        return found

    def read(self, key: str, seconds: float) -> bytes | None:
        """Returns a value, waiting for it; None where there is none in time."""
        with self._changed:
            self._changed.wait_for(lambda: key in self._values, timeout=seconds)
            return self._values.get(key)


class _Handler(http.server.BaseHTTPRequestHandler):
    """PUT /key stores the body; GET /key returns it, waiting a while until it is there; POST /key changes it."""

    server: _Server
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        if (value := self._body()) is not None:
            self.server.table.change("set", self.path, value)
            self._answer(204)

    def do_POST(self) -> None:
        if (value := self._body()) is not None:
            try:
                self._answer(200, self.server.table.change(self.headers.get(_CHANGE, ""), self.path, value))
            except ValueError:
                self._answer(400)

    def do_GET(self) -> None:
        value = self.server.table.read(self.path, min(float(self.headers.get(_WAIT, "0")), _PATIENCE))
        self._answer(404 if value is None else 200, value or b"")

    def _body(self) -> bytes | None:
        """Returns what was sent; None where it is too much, after saying so."""
        size = int(self.headers.get("Content-Length", "0"))
        if not 0 <= size <= _MOST_BYTES:
            self._answer(413)
            return None
        return self.rfile.read(size)

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the requests are the library's own."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, port: int) -> None:
        self.table = Table()
        self.address_family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        super().__init__(address[:2], _Handler)  # type: ignore[arg-type]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a process that has given up waiting, and prints other errors."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class HttpStore:
    """The table, as one process sees it: rank 0 serves it, on the address that it is told and no other.

    Args:
        host: Name or address of the machine of rank 0.
        port: The port there; 0 takes a free one, and :attr:`port` says which.
        serve: True on rank 0.
        seconds: Time for the server to come up.

    Raises:
        RuntimeError: The server cannot listen there.
    """

    def __init__(self, host: str, port: int, *, serve: bool, seconds: float = 30.0) -> None:
        self.host = host
        self.port = port
        self._up_by = time.monotonic() + seconds
        self._refusal: Exception | None = None
        self._server: _Server | None = None
        if serve:
            try:
                self._server = _Server(host, port)
            except OSError as error:
                raise RuntimeError(
                    f"[init_process_group] rank 0 cannot listen on {host}:{port} for the other processes: {error}"
                ) from error
            self.port = self._server.server_address[1]
            threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def set(self, key: str, value: bytes) -> None:
        """Stores a value under a key, waiting for the server to come up.

        Raises:
            TimeoutError: It has not, within the time for it.
        """
        if self._request("PUT", key, value, max(self._up_by, time.monotonic() + 1.0)) is None:
            raise TimeoutError(
                f"[init_process_group] rank 0 does not answer at {self.host}:{self.port} in time ({self._refusal})"
            )

    def change(self, what: str, key: str, given: bytes = b"") -> bytes:
        """Changes the table as :func:`change` does, waiting for the server to come up.

        Raises:
            TimeoutError: It has not, within the time for it.
            RuntimeError: The value is too large, or not one for this change.
        """
        found = self._request("POST", key, given, max(self._up_by, time.monotonic() + 1.0), what)
        if found is None:
            raise TimeoutError(f"[Store] {self.host}:{self.port} does not answer in time ({self._refusal})")
        return found

    def get(self, key: str, seconds: float) -> bytes:
        """Returns the value of a key as soon as a process has set it.

        Raises:
            TimeoutError: None has, within these seconds.
        """
        value = self._request("GET", key, b"", time.monotonic() + seconds)
        if value is None:
            raise TimeoutError(
                f"[init_process_group] no process has set {key!r} at {self.host}:{self.port} in time"
                + (f" ({self._refusal})" if self._refusal else "")
            )
        return value

    def close(self) -> None:
        """Stops the server, if this process runs it."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _request(self, method: str, key: str, body: bytes, deadline: float, what: str = "") -> bytes | None:
        """Returns the answer; None where there is none before the deadline."""
        path = "/" + urllib.parse.quote(key, safe="")
        self._refusal = None
        while (left := deadline - time.monotonic()) > 0:
            wait = min(left, _PATIENCE)
            connection = http.client.HTTPConnection(self.host, self.port, timeout=wait + 1.0)
            try:
                connection.request(method, path, body, {_WAIT: f"{wait:.3f}", _CHANGE: what})
                answer = connection.getresponse()
                value = answer.read()
                if answer.status in (200, 204):
                    return value
                if answer.status != 404:
                    raise RuntimeError(
                        f"[init_process_group] the store at {self.host}:{self.port} answers {method} {path} with "
                        f"{answer.status} {answer.reason}"
                    )
            except (OSError, http.client.HTTPException) as error:  # rank 0 has not come up
                self._refusal = error
                time.sleep(min(0.05, max(left, 0.0)))
            finally:
                connection.close()
        return None
