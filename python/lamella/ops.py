"""Registered operators by name: ``lm.ops.my_ops.scale(x, factor=2.0)``.

What is in a namespace is what was registered there, in C++ (``LAMELLA_LIBRARY``) or in Python (:mod:`lamella.library`);
the built-in operators are in ``lm.ops.lamella``. ``dir(lm.ops)`` and ``dir(lm.ops.my_ops)`` list what there is, and an
operator knows its ``schema``, its ``kernels`` and where it was registered::

    lm.ops.load_library("libmy_ops.so")
    lm.ops.my_ops.scale.schema  # "my_ops::scale(Tensor x, float factor=2.0) -> Tensor"
    lm.ops.my_ops.scale.kernels  # {"CPU": "scale.cpp:12"}
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _C

__all__ = ["LibraryError", "Namespace", "load_library"]

if TYPE_CHECKING:
    #: The namespace of built-in operators, found as all others by ``__getattr__``.
    lamella: Any


class Namespace:
    """The operators of one namespace, as attributes."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            found = _C._find_operator(f"{self.__name__}::{name}")
        except RuntimeError as error:
            raise AttributeError(str(error)) from None
        self.__dict__[name] = found  # cached: the next access finds it without a look-up
        return found

    def __dir__(self) -> list[str]:
        return sorted({name.partition("::")[2].partition(".")[0] for name in _C._operator_names(self.__name__)})

    def __repr__(self) -> str:
        return f"<namespace of operators {self.__name__!r}: {', '.join(self.__dir__()) or 'nothing is registered'}>"


class LibraryError(OSError, RuntimeError):
    """A shared library cannot be loaded, or what it registers cannot be registered."""


def load_library(path: str | os.PathLike[str]) -> None:
    """Loads a shared library whose operators register themselves; nothing happens where it is loaded already.

    Raises:
        FileNotFoundError: There is no such file.
        LibraryError: It was built for another ABI version of Lamella (none of its code runs then), it cannot be
            loaded, or something in it cannot be registered; what it registered until then is taken back.
        ValueError, TypeError: A schema, or a kernel's signature, is wrong; likewise.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"[load_library] path is a string or a path, not {type(path).__name__}")
    name = os.fsdecode(path)
    if not os.path.exists(name):
        raise FileNotFoundError(f"[load_library] there is no file {name}")
    try:
        _C._load_library(name)
    except RuntimeError as error:
        if isinstance(error, (ValueError, TypeError)):
            raise
        raise LibraryError(str(error)) from None


def _loaded() -> frozenset[str]:
    return frozenset(_C._loaded_libraries())


def __getattr__(name: str) -> Any:
    if name == "loaded_libraries":
        return _loaded()
    if name.startswith("__"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    namespace = Namespace(name)
    globals()[name] = namespace
    return namespace


def __dir__() -> list[str]:
    return sorted({*_C._operator_namespaces(), "load_library", "loaded_libraries"})
