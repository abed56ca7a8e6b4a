"""Variables in files, in the layout of OneFlow: a folder for each, with its elements as they lie in memory."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import lamella as lm
from lamella.compat.front import close_module

from ._session import get_all_variables

__getattr__ = close_module(__name__)

_META, _ELEMENTS, _DONE = "meta", "out", "snapshot_done"
#: Names of dtypes in files.
_KINDS = {
    "kFloat16": "float16",
    "kFloat": "float32",
    "kDouble": "float64",
    "kInt8": "int8",
    "kInt32": "int32",
    "kInt64": "int64",
    "kUInt8": "uint8",
}


class FileBackendVariableBlob:
    """A variable in a folder.

    Attributes:
        shape: its sizes.
        file_path: the file of its elements.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: the files do not fit together.
    """

    def __init__(self, var_dir: str | os.PathLike[str]) -> None:
        folder = Path(var_dir)
        self.file_path = str(folder / _ELEMENTS)
        text = (folder / _META).read_text("utf-8", errors="replace")
        kind = re.search(r"data_type\s*:\s*(\w+)", text)
        if kind is None or kind[1] not in _KINDS:
            raise ValueError(f"[checkpoint] {folder / _META} names no dtype that is known: {text[:80]!r}")
        self.shape = tuple(int(size) for size in re.findall(r"\bdim\s*:\s*(\d+)", text))
        self._dtype = np.dtype(_KINDS[kind[1]])
        size, wanted = os.path.getsize(self.file_path), math.prod(self.shape) * self._dtype.itemsize
        if size != wanted:
            raise ValueError(
                f"[checkpoint] {self.file_path} has {size} bytes; {self._dtype} of shape {self.shape} has {wanted}"
            )

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return lm.DType(self._dtype.name)

    def numpy(self) -> npt.NDArray[Any]:
        """Returns the elements as an array."""
        return np.fromfile(self.file_path, self._dtype).reshape(self.shape)

    def __repr__(self) -> str:
        return f"FileBackendVariableBlob({self.file_path!r}, shape={self.shape}, dtype={self._dtype})"


def get(path: str | os.PathLike[str]) -> dict[str, FileBackendVariableBlob] | FileBackendVariableBlob:
    """Returns the variables that :func:`save` wrote to a folder, by name; ``load_variables`` takes them.

    Of the folder of a single variable, that one is returned.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: a variable's files do not fit together.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"[checkpoint.get] there is no folder '{folder}'")
    if (folder / _ELEMENTS).is_file():
        return FileBackendVariableBlob(folder)
    found = sorted(each.parent for each in folder.rglob(_ELEMENTS) if each.is_file())
    return {each.relative_to(folder).as_posix(): FileBackendVariableBlob(each) for each in found}


def save(path: str | os.PathLike[str], var_dict: Mapping[str, Any] | None = None) -> None:
    """Writes variables to a folder, which must be empty or new.

    Args:
        path: the folder.
        var_dict: the variables by name; all by default, with what optimizers remember.

    Raises:
        FileExistsError: there is something at ``path`` already.
        TypeError: a value is no array, or of a dtype that the files have no name for.
        ValueError: a name leads out of the folder.
    """
    folder = Path(path)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise FileExistsError(f"[checkpoint.save] '{folder}' is there already, and not an empty folder")
    arrays = {}
    for name, value in (get_all_variables() if var_dict is None else var_dict).items():
        if not hasattr(value, "dtype"):
            raise TypeError(f"[checkpoint.save] '{name}': expected an array, got {type(value).__name__}")
        array = np.ascontiguousarray(value.numpy() if hasattr(value, "numpy") else value)
        # A contiguous copy of a scalar has an axis.
        array = array.reshape(tuple(value.shape))
        if array.dtype.name not in _KINDS.values():
            raise TypeError(f"[checkpoint.save] '{name}': the files have no name for the dtype {array.dtype}")
        parts = Path(name).parts
        if not parts or Path(name).is_absolute() or ".." in parts:
            raise ValueError(f"[checkpoint.save] the name {name!r} is no path within a folder")
        arrays[name] = array
    was_there = folder.is_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            own = folder / name
            own.mkdir(parents=True, exist_ok=True)
            array.tofile(own / _ELEMENTS)
            kind = next(kind for kind, dtype in _KINDS.items() if dtype == array.dtype.name)
            sizes = "".join(f"  dim: {size}\n" for size in array.shape)
            (own / _META).write_text(f"shape {{\n{sizes}}}\ndata_type: {kind}\n", "utf-8")
        (folder / _DONE).touch()
    except BaseException:
        for each in list(folder.iterdir()) if folder.is_dir() else []:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        if not was_there and folder.is_dir():
            folder.rmdir()
        raise
