"""Warnings of common mistakes, which name the line of the program."""

from __future__ import annotations

import sys
import warnings

import lamella as lm

#: The folder of the package, whose own lines no warning names.
_FOLDER = lm.__file__.rpartition("/")[0] + "/"


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the innermost line that is not Lamella's."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_FOLDER, "<")):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def is_called_by_program() -> bool:
    """True in a function that a program calls, and not Lamella's own code."""
    return not sys._getframe(2).f_code.co_filename.startswith(_FOLDER)
