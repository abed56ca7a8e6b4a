"""Folders that hold an operator: its declaration in C++, its kernel and its wrapper in Python."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from lamella.ops import load_library
from lamella.user_op import _build
from lamella.user_op._numpy import register_numpy_kernel

__all__ = ["CustomOpModule", "custom_op_module"]

#: Matches the declarations in a C++ file, and the operator's name in each.
_DECLARATION = re.compile(r'\bREGISTER_USER_OP\s*\(\s*"([^"]+)"\s*\)')

#: Of each operator with kernels in Python, the file that has them.
_computed_by: dict[str, Path] = {}


class CustomOpModule:
    """A folder ``<name>`` with the files ``<name>_cpp_def.cpp``, ``<name>_py_api.py`` and ``<name>_py_kernel.py``.

    Each method but the last names a part that is to be used, and :meth:`build_load` does the work:
    ``module.py_api().cpp_def().py_kernel().build_load()``. A kernel's functions are named after the operators: of the
    operator ``<name>_forward`` it is ``forward``, and ``backward`` of ``<name>_backward``.
    """

    def __init__(self, op_type_name: str, module_dir: str | os.PathLike[str]) -> None:
        if not isinstance(op_type_name, str):
            raise TypeError(f"[custom_op_module] op_type_name is a string, not {type(op_type_name).__name__}")
        self._name = op_type_name
        self._folder = Path(module_dir) / op_type_name
        if not self._folder.is_dir():
            raise FileNotFoundError(f"[custom_op_module] there is no folder {self._folder}")
        self._sources: list[Path] = []
        self._api_file: Path | None = None
        self._kernel_file: Path | None = None
        self._api: ModuleType | None = None

    def _file(self, ending: str) -> Path:
        path = self._folder / f"{self._name}_{ending}"
        if not path.is_file():
            raise FileNotFoundError(f"[custom_op_module] {self._name}: there is no file {path}")
        return path

    def py_api(self) -> Self:
        """Wants ``<name>_py_api.py``, whose functions are found in :attr:`api`."""
        self._api_file = self._file("py_api.py")
        return self

    def cpp_def(self) -> Self:
        """Wants ``<name>_cpp_def.cpp``, which declares the operators."""
        self._sources.append(self._file("cpp_def.cpp"))
        return self

    def py_kernel(self) -> Self:
        """Wants ``<name>_py_kernel.py``, whose functions compute the operators."""
        self._kernel_file = self._file("py_kernel.py")
        return self

    def cpp_kernel(self) -> Self:
        """Wants ``<name>_cpp_kernel.cpp``, kernels in C++."""
        self._sources.append(self._file("cpp_kernel.cpp"))
        return self

    def build_load(self) -> Self:
        """Compiles what is C++, loads it, and imports what is Python.

        The library is kept by the content of its sources; several processes may do this at once.

        Raises:
            RuntimeError: the compiler, or what it made, failed.
            ValueError: the kernel's file computes none of the operators, or another folder's computes one of them.
        """
        if self._sources:
            load_library(_build.library(self._name, self._sources))
        if self._kernel_file is not None:
            self._register_kernels(self._kernel_file, _import(f"{self._name}_py_kernel", self._kernel_file))
        if self._api_file is not None:
            self._api = _import(f"{self._name}_py_api", self._api_file)
        return self

    @property
    def api(self) -> ModuleType:
        """The module ``<name>_py_api``.

        Raises:
            RuntimeError: it was not asked for, or ``build_load`` was not called.
        """
        if self._api is None:
            raise RuntimeError(f"[custom_op_module] {self._name}: call py_api() and build_load() before api is used")
        return self._api

    def _register_kernels(self, file: Path, kernels: ModuleType) -> None:
        declared = [op for source in self._sources for op in _DECLARATION.findall(source.read_text("utf-8"))]
        operators = declared or [f"{self._name}_forward", f"{self._name}_backward"]
        found = 0
        own = file.resolve()
        for op in operators:
            if _computed_by.get(op, own) != own:
                raise ValueError(
                    f"[custom_op_module] the operator '{op}' of {file} is computed by "
                    f"{_computed_by[op]} already: a process has one operator of a name, so give this one another"
                )
        for op in operators:
            for function in (op.removeprefix(f"{self._name}_"), op):
                kernel: Callable[..., Any] | None = getattr(kernels, function, None)
                if callable(kernel):
                    register_numpy_kernel(op, kernel)
                    _computed_by[op] = own
                    found += 1
                    break
        if not found:
            raise ValueError(
                f"[custom_op_module] {file} has no function for any of the operators {operators}: "
                f"'forward' computes '{self._name}_forward'"
            )


def _import(name: str, path: Path) -> ModuleType:
    """Returns the module in a file, anew."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # the file exists and is Python's
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def custom_op_module(op_type_name: str, module_dir: str | os.PathLike[str]) -> CustomOpModule:
    """Returns an operator in a folder: see :class:`CustomOpModule`.

    Args:
        op_type_name: the name of the folder, with which its files' names begin.
        module_dir: where the folder is.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    return CustomOpModule(op_type_name, module_dir)
