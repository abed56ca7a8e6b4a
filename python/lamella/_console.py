"""Ends of the package's commands: a sentence where the output cannot be written, or where they are interrupted."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Callable


def _drop_output() -> None:
    """Lets the rest of standard output's buffer go nowhere: the interpreter tries to write it once more at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # none, or no file
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def ended(name: str, command: Callable[[], int]) -> int:
    """Runs a command and returns its exit status: its own, 1 for a failure, or 130 where it was interrupted.

    A reader of its output that ended early, such as ``head``, is no failure.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that has no "µ" gets an escape for it.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = command()
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        _drop_output()
        return 0
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except OSError as error:
        _drop_output()
        where = f"{str(error.filename)!r}: " if error.filename is not None else ""
        print(f"{name}: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except MemoryError as error:
        print(f"{name}: there is not enough memory{f': {error}' * bool(str(error))}", file=sys.stderr)
        return 1
