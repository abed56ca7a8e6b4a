"""Tables of values that processes share, by PyTorch's names: through them processes meet, and agree on numbers."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, MutableMapping, Sequence
from datetime import timedelta
from typing import Any

from lamella.distributed import DistributedError
from lamella.distributed._store import HttpStore, Table, change

#: Raised by operations where another process failed; the base of the others.
DistError = DistributedError
DistBackendError = DistributedError


class DistStoreError(DistributedError):
    """A value did not come in time."""


class DistNetworkError(DistributedError):
    """The process that serves a table cannot be reached."""


_DEFAULT = timedelta(seconds=300)


class Store:
    """A table of values, by keys that are texts. Values are bytes; texts are stored in UTF-8.

    Args:
        timeout: for how long :meth:`get` and :meth:`wait` wait.
    """

    def __init__(self, timeout: timedelta = _DEFAULT) -> None:
        self.timeout = timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets for how long :meth:`get` and :meth:`wait` wait."""
        self.timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Stores a value."""
        self._change("set", key, _bytes(value))

    def get(self, key: str) -> bytes:
        """Returns a value, waiting for it.

        Raises:
            DistStoreError: there is none within the timeout.
        """
        return self._awaited(key, self.timeout)

    def add(self, key: str, amount: int) -> int:
        """Adds to a number, which is 0 at first. Returns the sum."""
        return int(self._change("add", key, b"%d" % amount))

    def append(self, key: str, value: str | bytes) -> None:
        """Appends to a value."""
        self._change("append", key, _bytes(value))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Stores a value where the present one is as expected, or there is none and none (``""``) is expected.

        Returns:
            The value that counts then; the expected one where there is none.
        """
        expected = _bytes(expected_value)
        return self._change("compare", key, b"%d " % len(expected) + expected + _bytes(desired_value))

    def check(self, keys: Sequence[str]) -> bool:
        """Returns whether all of the keys are there."""
        return all(self._change("has", key) == b"1" for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Waits until all of the keys are there.

        Raises:
            DistStoreError: they are not within the time.
        """
        end = time.monotonic() + (timeout or self.timeout).total_seconds()
        for key in keys:
            self._awaited(key, timedelta(seconds=max(end - time.monotonic(), 0.0)))

    def delete_key(self, key: str) -> bool:
        """Removes a key. Returns whether it was there."""
        return self._change("delete", key) == b"1"

    def num_keys(self) -> int:
        """Returns the number of keys."""
        return int(self._change("count", ""))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Returns several values, waiting for them."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Stores several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Returns True: values can be appended to, and several be stored or read."""
        return True

    def _awaited(self, key: str, limit: timedelta) -> bytes:
        found = self._read(key, limit.total_seconds())
        if found is None:
            name, seconds = type(self).__name__, limit.total_seconds()
            raise DistStoreError(f"[{name}] no process has set '{key}' within {seconds:.1f} s")
        return found

    def _change(self, what: str, key: str, given: bytes = b"") -> bytes:
        """Changes the table as :func:`lamella.distributed._store.change` does."""
        raise NotImplementedError(f"[{type(self).__name__}] a Store of one's own has set and get")

    def _read(self, key: str, seconds: float) -> bytes | None:
        """Returns a value, waiting for it; None where there is none in time."""
        raise NotImplementedError(f"[{type(self).__name__}] a Store of one's own has set and get")


class HashStore(Store):
    """A table of this process, for its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()

    def _change(self, what: str, key: str, given: bytes = b"") -> bytes:
        return self._table.change(what, key, given)

    def _read(self, key: str, seconds: float) -> bytes | None:
        return self._table.read(key, seconds)


class TCPStore(Store):
    """A table that one process serves, at the address that it is told and no other.

    Args:
        host_name: name or address of the machine that serves.
        port: the port there; 0, on the process that serves, takes a free one.
        world_size: number of processes, for which the one that serves waits; None for any.
        is_master: True on the process that serves, as long as its object lives.
        timeout: for how long :meth:`get` and :meth:`wait` wait, and for the server to come up.
        wait_for_workers: False to wait for no others.
        multi_tenant: True to use the table that another object of this process serves there.
        master_listen_fd: None.
        use_libuv: accepted; nothing changes.

    Raises:
        DistNetworkError: the address cannot be listened on, or nobody answers.
        DistStoreError: the other processes have not come in time.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = _DEFAULT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__(timeout)
        if master_listen_fd is not None:
            raise ValueError("[TCPStore] master_listen_fd: give host_name and port")
        seconds = timeout.total_seconds()
        try:
            self._http = HttpStore(host_name, port, serve=is_master, seconds=seconds)
        except RuntimeError as error:
            if not multi_tenant:
                raise DistNetworkError(str(error)) from error
            self._http = HttpStore(host_name, port, serve=False, seconds=seconds)
        if world_size is not None and wait_for_workers:
            come = self.add("init/", 1)
            deadline = time.monotonic() + seconds
            while is_master and come < world_size:
                if time.monotonic() > deadline:
                    raise DistStoreError(f"[TCPStore] {come} of {world_size} processes have come within {seconds} s")
                time.sleep(0.01)
                come = self.add("init/", 0)

    @property
    def host(self) -> str:
        """Name or address of the machine that serves."""
        return self._http.host

    @property
    def port(self) -> int:
        """The port there."""
        return self._http.port

    def __del__(self) -> None:
        if "_http" in self.__dict__ and not sys.is_finalizing():  # no thread runs any more then
            self._http.close()

    def __repr__(self) -> str:
        return f"TCPStore('{self.host}', {self.port})"

    def _change(self, what: str, key: str, given: bytes = b"") -> bytes:
        try:
            return self._http.change(what, key, given)
        except TimeoutError as error:
            raise DistNetworkError(str(error)) from error

    def _read(self, key: str, seconds: float) -> bytes | None:
        try:
            return self._http.get(key, max(seconds, 0.01))
        except TimeoutError:
            return None


class FileStore(Store):
    """A table in a file that all processes see.

    Args:
        file_name: the file, made if it does not exist.
        world_size: number of processes, of which the last one that leaves removes the file; -1 keeps it.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = os.path.abspath(file_name)
        self._world_size = world_size
        with self._rows() as rows:
            change(rows, "add", _LEAVERS, b"0")

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.Error, OSError, AttributeError):
            with self._rows() as rows:
                left = int(change(rows, "add", _LEAVERS, b"1"))
            if left == self._world_size:
                os.unlink(self.path)

    def num_keys(self) -> int:
        """Returns the number of keys."""
        with self._rows() as rows:
            return len(rows) - 1

    def _change(self, what: str, key: str, given: bytes = b"") -> bytes:
        with self._rows() as rows:
            return change(rows, what, key, given)

    def _read(self, key: str, seconds: float) -> bytes | None:
        deadline = time.monotonic() + seconds
        while True:
            with self._rows() as rows:
                found = rows.get(key)
            if found is not None or time.monotonic() >= deadline:
                return found
            time.sleep(0.01)

    @contextlib.contextmanager
    def _rows(self) -> Iterator[_Rows]:
        """Has the table, for this process alone."""
        connection = sqlite3.connect(self.path, timeout=self.timeout.total_seconds(), isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("CREATE TABLE IF NOT EXISTS pairs (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
            yield _Rows(connection)
            connection.execute("COMMIT")
        finally:
            connection.close()


#: Key of the file's own: how many processes have left.
_LEAVERS = "\0left"


class _Rows(MutableMapping[str, bytes]):
    """A table of a database, as a mapping."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute

    def __getitem__(self, key: str) -> bytes:
        row = self._run("SELECT value FROM pairs WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        found: bytes = row[0]
        return found

    def __setitem__(self, key: str, value: bytes) -> None:
        self._run("INSERT OR REPLACE INTO pairs VALUES (?, ?)", (key, value))

    def __delitem__(self, key: str) -> None:
        if not self._run("DELETE FROM pairs WHERE key = ?", (key,)).rowcount:
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter([key for (key,) in self._run("SELECT key FROM pairs")])

    def __len__(self) -> int:
        found: int = self._run("SELECT COUNT(*) FROM pairs").fetchone()[0]
        return found


class PrefixStore(Store):
    """Another table, in which each key begins with a prefix.

    Args:
        prefix: what stands, with a slash, before each key.
        store: the other table.
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__(store.timeout)
        self.underlying_store = store
        self._prefix = prefix

    def _change(self, what: str, key: str, given: bytes = b"") -> bytes:
        return self.underlying_store._change(what, f"{self._prefix}/{key}", given)

    def _read(self, key: str, seconds: float) -> bytes | None:
        return self.underlying_store._read(f"{self._prefix}/{key}", seconds)

    def num_keys(self) -> int:
        """Returns the number of all keys of the other table."""
        return self.underlying_store.num_keys()


class MeetingPoint:
    """A store, as :func:`lamella.distributed.init_process_group` takes it."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def set(self, key: str, value: bytes) -> None:
        """Stores a value."""
        self._store.set(f"default_pg/{key}", value)

    def get(self, key: str, seconds: float) -> bytes:
        """Returns a value as soon as it is there; TimeoutError after these seconds."""
        key = f"default_pg/{key}"
        try:
            self._store.wait([key], timedelta(seconds=seconds))
        except RuntimeError as error:
            raise TimeoutError(str(error)) from error
        found: bytes = self._store.get(key)
        return found


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
