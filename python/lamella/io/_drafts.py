"""Files that appear whole or not at all: written as a draft beside their place, and renamed once they are on the disk.

A draft is locked (flock) by who writes it. One that is not locked was left by a process that is gone: the next file
that is written to the same place removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """Opens a file that replaces ``target``, with its owner and permissions, once it is on the disk."""
    # The name is of a fixed length, as the target's may be as long as names can be.
    prefix = f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}."
    _remove_abandoned(target.parent, prefix)
    draft, file = _locked_draft(target.parent, prefix)
    try:
        with file:
            _pass_on_rights(target, file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
            draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _pass_on_rights(target: Path, descriptor: int) -> None:
    """Gives a new file the owner, as far as the system allows, and the permissions of the one that it replaces."""
    with contextlib.suppress(FileNotFoundError):
        before, new = target.stat(), os.fstat(descriptor)
        if (before.st_uid, before.st_gid) != (new.st_uid, new.st_gid):
            with contextlib.suppress(OSError):
                os.fchown(descriptor, before.st_uid, before.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _locked_draft(folder: Path, prefix: str) -> tuple[Path, BinaryIO]:
    while True:
        draft = folder / f"{prefix}{os.urandom(6).hex()}.part"
        file = draft.open("xb")
        try:
            # Some file systems have no locks; there every draft looks like one that is being written.
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_nlink:
                return draft, file
            file.close()  # another process took it for an abandoned one, before it was locked
        except BaseException:
            file.close()
            draft.unlink(missing_ok=True)
            raise


def _remove_abandoned(folder: Path, prefix: str) -> None:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(".part"):
                # A draft that is locked, gone meanwhile or another user's is left alone.
                with contextlib.suppress(OSError), open(entry.path, "r+b") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)


def _sync_folder(folder: Path) -> None:
    """Has the folder's entries written to the disk, where its file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
