"""Loads what was built, also where another version of it is loaded in the process.

pybind11 finds a module by its name again where one of that name was initialized before, so that a second version gets a
name of its own: that of a package, before the name which its initialization function has. Static initializers register
operators: those of a new version take the place of those that the others registered for the same namespace.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from lamella import _C, ops


@dataclass
class _Versions:
    """Modules that were loaded under one name."""

    #: Modules by the paths of their files; None for a library that is no module.
    modules: dict[str, ModuleType | None] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)


_loaded: dict[str, _Versions] = {}
# Reentrant, as a module's initialization may load others.
_lock = threading.RLock()


def load(name: str, built: Path, is_python_module: bool) -> ModuleType | None:
    """Loads a library, or returns what it was loaded as; its operators are in effect then.

    Raises:
        ImportError: it cannot be loaded.
        OSError, RuntimeError, ValueError, TypeError: what it registers cannot be registered; what was in effect before
            stays.
    """
    path = os.path.realpath(built)
    with _lock:
        known = _loaded.setdefault(name, _Versions())
        is_loaded = False
        _C._begin_version([other for other in known.modules if other != path])
        try:
            module = None
            if path in known.modules:
                module = known.modules[path]
            elif is_python_module:
                module = _imported(name, path, known)
            else:
                ops.load_library(path)
            # What gave way to another version, and what an import could not register: it raises here.
            _C._register_again(path)
            known.modules[path] = module
            is_loaded = True
        finally:
            _C._end_version(path, is_loaded)
        return module


def _imported(name: str, path: str, known: _Versions) -> ModuleType:
    number = next(known.numbers)
    full = name if number == 0 and name not in sys.modules else f"{name}_v{number}.{name}"
    spec = importlib.util.spec_from_file_location(full, path)
    assert spec is not None and spec.loader is not None
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        if advice := _advice(name, str(error), bool(known.modules)):
            raise ImportError(f"[cpp_extension] {error}: {advice}", name=name, path=path) from None
        raise
    return module


def _advice(name: str, message: str, has_others: bool) -> str:
    if f"PyInit_{name}" in message:
        return (
            "a module has a PYBIND11_MODULE(LAMELLA_EXTENSION_NAME, m); a library that only registers operators is "
            "loaded with is_python_module=False"
        )
    if has_others and "is already registered" in message:
        return (
            "another version of the module is loaded and has the class, too; add py::module_local() to its py::class_, "
            "so that each has its own, or load the new one under another name"
        )
    return ""
