"""Errors of Lamella's compiled part that are of the classes which PyTorch raises, too.

PyTorch's operators raise ``RuntimeError`` for most mistakes: shapes that do not fit, dtypes, values. Lamella says
``ValueError``, ``TypeError`` or ``IndexError``. Programs that catch either get what they wait for.
"""

from __future__ import annotations

import sys
from typing import Any

import lamella as lm
from lamella._C import _raise_errors_as


class _ValueError(ValueError, RuntimeError):
    """A value that an operator cannot take, such as a shape."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, ("value", self.args), self.__dict__ or None


class _TypeError(TypeError, NotImplementedError):
    """An argument of a type or dtype that an operator cannot take, or that it has no kernel for in PyTorch."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, ("type", self.args), self.__dict__ or None


class _IndexError(IndexError, RuntimeError):
    """An index or an axis that is out of range."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, ("index", self.args), self.__dict__ or None


class OutOfMemoryError(MemoryError, RuntimeError):
    """Memory that is not to be had; its text ends with what programs look for in PyTorch's."""

    def __init__(self, *args: Any) -> None:
        if len(args) == 1 and isinstance(args[0], str):
            text = args[0]
            words = "CUDA out of memory." if "cuda" in text else "DefaultCPUAllocator: can't allocate memory"
            args = (text if words in text else f"{text} ({words})",)
        super().__init__(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, ("memory", self.args), self.__dict__ or None


_CLASSES: dict[str, type[Exception]] = {
    "value": _ValueError,
    "type": _TypeError,
    "index": _IndexError,
    "memory": OutOfMemoryError,
}


def _again(kind: str, args: tuple[Any, ...]) -> Exception:
    """Returns an error that was pickled, whose class goes by the name of another."""
    return _CLASSES[kind](*args)


# Tracebacks say what PyTorch's do.
for _class, _name in ((_ValueError, "RuntimeError"), (_TypeError, "TypeError"), (_IndexError, "IndexError")):
    _class.__name__ = _class.__qualname__ = _name
    _class.__module__ = "builtins"


def as_runtime_error(error: ValueError) -> Exception:
    """Returns an error of Lamella's Python code as one that is a ``RuntimeError``, too, with its notes."""
    made = _ValueError(*error.args)
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made


def line_of(error: BaseException, function: Any) -> str:
    """Returns the last line of the user's code in an error's traceback: "train.py:12"; by default the function's."""
    code = getattr(function, "__code__", None)
    found = f"{code.co_filename}:{code.co_firstlineno}" if code is not None else type(function).__name__
    package = lm.__file__.rpartition("/")[0]
    at = error.__traceback__
    while at is not None:
        name = at.tb_frame.f_code.co_filename
        if not name.startswith((package, sys.base_prefix + "/lib/python")) and "/site-packages/" not in name:
            found = f"{name}:{at.tb_lineno}"
        at = at.tb_next
    return found.rpartition("/")[2]


def raise_runtime_errors() -> None:
    """Makes what the compiled part raises in this process a ``RuntimeError``, besides what it is natively."""
    _raise_errors_as(_ValueError, _TypeError, _IndexError, OutOfMemoryError)
