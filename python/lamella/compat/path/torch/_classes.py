"""``torch.classes``: classes that extensions in C++ would register; there are none here."""

from __future__ import annotations

from typing import Any, NoReturn

import lamella as lm


class _Namespace:
    """The classes of one namespace."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"Tried to instantiate class '{self._name}.{name}', but it does not exist: Lamella has no torch::class_; "
            "bind the class with pybind11"
        )


class _Classes:
    """The classes of all namespaces."""

    def __getattr__(self, name: str) -> _Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        made = vars(self)[name] = _Namespace(name)
        return made

    @property
    def loaded_libraries(self) -> frozenset[str]:
        """The paths of the libraries that were loaded."""
        return frozenset(lm.ops.loaded_libraries)

    def load_library(self, path: Any) -> None:
        """Loads a library, whose operators register themselves."""
        lm.ops.load_library(path)


classes = _Classes()
