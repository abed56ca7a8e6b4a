"""Names of a package that load their module when they are first asked for: ``import lamella`` stays quick."""

from __future__ import annotations

import importlib
import opcode
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from ._names import of_module, of_path

#: The instruction of ``from package import name``.
_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]


def _is_imported(frame: FrameType) -> bool:
    """True where the frame imports a name: the interpreter drops the text of an AttributeError then."""
    return 0 <= frame.f_lasti < len(code := frame.f_code.co_code) and code[frame.f_lasti] == _IMPORT_FROM


class Missing:
    """The last finder of modules: says what to write for those of other frameworks that are no modules here."""

    @staticmethod
    def find_spec(fullname: str, path: object = None, target: object = None) -> None:
        """Raises ModuleNotFoundError for a module of another framework that is looked for in ``lamella``."""
        package, _, rest = fullname.partition(".")
        if package == "lamella" and (sentence := of_path(rest)):
            raise ModuleNotFoundError(f"No module named '{fullname}': {sentence}", name=fullname)


def loader(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], frozenset[str]]:
    """Returns a package's ``__getattr__``, and the names that it finds.

    Args:
        package: The package's own name.
        homes: By the module that has them, relative to the package, the names that the package shows of it. A module
            without names is shown itself.

    The function raises MemoryError, with the name that was asked for, where there is no room for the module.
    """
    places = {name: home for home, names in homes.items() for name in names or [home]}

    def load(name: str) -> Any:
        if name not in places:
            sentence = of_module(name, package.removeprefix("lamella").lstrip("."))
            if sentence and _is_imported(sys._getframe(1)):
                # An AttributeError would become an ImportError without the sentence.
                raise ImportError(f"cannot import name '{name}' from '{package}': {sentence}", name=package)
            # With a name and no module, Python adds no guess of its own to the sentence.
            raise AttributeError(
                f"module '{package}' has no attribute '{name}'" + (f": {sentence}" if sentence else ""),
                **({"name": name} if sentence else {}),
            )
        try:
            home = importlib.import_module(f"{package}.{places[name]}")
        except MemoryError as error:
            raise MemoryError(f"[import] there is no memory to load {package}.{name}. {error}".rstrip()) from error
        value = getattr(home, name) if homes[places[name]] else home
        setattr(sys.modules[package], name, value)
        return value

    return load, frozenset(places)
