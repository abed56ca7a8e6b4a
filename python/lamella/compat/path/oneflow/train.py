"""Checkpoints in the older style."""

from __future__ import annotations

import os

from lamella.compat.front import close_module

from . import checkpoint
from ._session import current, load_variables

__getattr__ = close_module(__name__)


class CheckPoint:
    """Starting values and files of all variables."""

    def init(self) -> None:
        """Gives all variables their starting values, if they have none yet."""
        current().start()

    def load(self, path: str | os.PathLike[str]) -> None:
        """Overwrites the variables by those of a folder.

        Raises:
            FileNotFoundError: there is no such folder.
            ValueError: the folder is that of a single variable, or a variable has another shape.
        """
        found = checkpoint.get(path)
        if not isinstance(found, dict):
            raise ValueError(f"[CheckPoint.load] '{path}' is the folder of a single variable, not of a checkpoint")
        load_variables(found)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all variables to a folder, see ``flow.checkpoint.save``."""
        checkpoint.save(path)
