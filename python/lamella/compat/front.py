"""Shared code of the fronts of other frameworks: paths of modules, and errors for names that they lack."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

#: For each path of a module, its names and the module of the front (or of Lamella) that defines each. Of ``*`` it has
#: whatever else that module has.
Paths = Mapping[str, Mapping[str, str]]


class _Missing(importlib.abc.MetaPathFinder):
    """Stands last on ``sys.meta_path`` and explains why a module of a front was not found."""

    def __init__(self, front: str, reasons: Mapping[str, str], beside: Sequence[str] = ()) -> None:
        self.front = front
        self.reasons = reasons
        self.beside = beside

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Finds a module below the front that a package beside it has; other modules are not its business.

        Raises:
            ImportError: none has it.
        """
        if not name.startswith(self.front + "."):
            return None
        if homes := [home for home in self.homes(name) if _is_module(home)]:
            return importlib.machinery.ModuleSpec(name, _FromBeside(self, homes), is_package=True)
        raise ImportError(self.sentence(name), name=name)

    def homes(self, name: str) -> list[str]:
        """Returns what a dotted name is called in the packages beside the front; none for those that are missing."""
        if any(name == each or name.startswith(f"{each}.") for each in (*self.reasons, *self.beside)):
            return []
        return [beside + name.removeprefix(self.front) for beside in self.beside]

    def taken(self, name: str) -> Any:
        """Returns the value of a dotted name of the packages beside the front, or :data:`_NOTHING`."""
        if not self.beside:
            return _NOTHING
        above, _, last = name.rpartition(".")
        folders = list(getattr(sys.modules[above], "__path__", ()))
        if not last.startswith("__") and importlib.machinery.PathFinder.find_spec(name, folders) is not None:
            # `from . import name` asks for the attribute first.
            return importlib.import_module(name)
        for home in self.homes(name):
            above, _, last = home.rpartition(".")
            if last.startswith("__") or not _is_module(above):
                continue
            value = getattr(importlib.import_module(above), last, _NOTHING)
            if isinstance(value, ModuleType) and value.__name__ == home:
                return importlib.import_module(name)
            if value is not _NOTHING:
                return value
        return _NOTHING

    def sentence(self, name: str) -> str:
        """Says that the front lacks ``name`` and, where that is known, why."""
        reason = self.reasons.get(name)
        return f"Lamella's {self.front} front does not have '{name}'" + (f": {reason}" if reason else "")


def _is_module(name: str) -> bool:
    if name not in sys.modules:
        try:
            importlib.import_module(name)
        except ImportError:
            return False
    return True


class _FromBeside(importlib.abc.Loader):
    """Makes a module of a front whose names are those of modules beside it."""

    def __init__(self, finder: _Missing, homes: list[str]) -> None:
        self.finder = finder
        self.homes = homes

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Returns the module, without names."""
        return ModuleType(spec.name, f"Names of {', '.join(self.homes)}.")

    def exec_module(self, module: ModuleType) -> None:
        """Makes names those of the homes when they are asked for."""
        own: Any = module
        own.__getattr__ = _getattr(self.finder, module.__name__)
        show_all(module.__name__, lambda: {name for home in self.homes for name in dir(importlib.import_module(home))})


def close(front: str, reasons: Mapping[str, str] | None = None, beside: Sequence[str] = ()) -> Callable[[str], Any]:
    """Makes every name that the package ``front`` lacks say so when it is imported.

    Args:
        front: the package's name.
        reasons: by dotted name, why it is missing.
        beside: packages that have the other names of the front, the first of which counts; they are imported when one
            of these names is asked for.

    Returns:
        The package's ``__getattr__``, which says the same where a missing name is looked up as an attribute.
    """
    finder = _Missing(front, reasons or {}, beside)
    sys.meta_path.append(finder)
    return _getattr(finder, front)


def close_module(module: str) -> Callable[[str], Any]:
    """Returns the ``__getattr__`` of a module of a front that :func:`close` has closed.

    Modules below it are imported when they are asked for.
    """
    front = module.partition(".")[0]
    finder = next(f for f in sys.meta_path if isinstance(f, _Missing) and f.front == front)
    # `from module import name` reports the missing name only if the module could have submodules.
    paths = _names_of(sys.modules[module]).setdefault("__path__", [])
    missing = _getattr(finder, module)

    def __getattr__(name: str) -> Any:  # noqa: N807 (becomes the module's __getattr__)
        full = f"{module}.{name}"
        if not name.startswith("__") and importlib.machinery.PathFinder.find_spec(full, paths) is not None:
            return importlib.import_module(full)
        return missing(name)

    return __getattr__


#: Stands for a name that a front does not have.
_NOTHING = object()

#: What a module has been given so far.
_names_of: Any = vars(ModuleType)["__dict__"].__get__


class Shown(ModuleType):
    """A module whose dict has all its names: those that are made when they are asked for are made for it.

    Programs go through ``vars(torch.nn.modules.activation)``, and look into ``torch.nn.__dict__``.
    """

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All names of the module."""
        names: dict[str, Any] = _names_of(self)
        if not names.get("_is_filled"):
            names["_is_filled"] = True
            for name in names["_later"]():
                if name not in names and (value := getattr(self, name, None)) is not None:
                    names[name] = value
        return names

    def __dir__(self) -> list[str]:
        names = _names_of(self)
        return sorted({*names, *names["_later"]()})


def show_all(module: str, later: Callable[[], Iterable[str]]) -> None:
    """Makes the dict of a module have the names that its ``__getattr__`` makes; ``later`` returns them."""
    shown: Any = sys.modules[module]
    shown._later = later
    shown.__class__ = Shown


class _Path(Shown):
    """Module of the framework whose names are defined elsewhere in the front; they are looked up when asked for."""

    def __init__(self, name: str, homes: Mapping[str, str], missing: Callable[[str], Any]) -> None:
        super().__init__(name, f"A path of {name.partition('.')[0]}'s: its names are those of {', '.join(homes)}.")
        self.__path__: list[str] = []
        self._homes = {each: home for home, names in homes.items() for each in names.split() if each != "*"}
        self._others = [home for home, names in homes.items() if "*" in names.split()]
        self._later = self._listed
        self._missing = missing

    def _listed(self) -> list[str]:
        homes = map(importlib.import_module, self._others)
        public = [name for home in homes for name in dir(home) if not name.startswith("_")]
        return list(dict.fromkeys([*self._homes, *public]))

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [each for each in self._listed() if getattr(self, each, None) is not None]
        own = _names_of(self)
        home = own.get("_homes", {}).get(name)
        others = () if name.startswith("_") else own.get("_others", ())
        for each in others if home is None else (home,):
            found = importlib.import_module(each)
            if home is not None or hasattr(found, name):
                value = getattr(found, name)
                break
        else:
            return self._missing(name)
        setattr(self, name, value)
        return value


def add_paths(front: str, paths: Paths) -> None:
    """Makes modules of a framework that only other paths to the front's names are.

    They are in ``sys.modules`` from now on, and attributes of the modules above them, unless these have something else
    of the name: ``torch.autograd.gradcheck`` is a function, and a module to ``import``. Called when the front's own
    modules are loaded.
    """
    finder = next(f for f in sys.meta_path if isinstance(f, _Missing) and f.front == front)
    for path, homes in paths.items():
        if path in sys.modules:
            raise RuntimeError(f"[add_paths] {path} is a module of the front already")
        above, _, name = path.rpartition(".")
        module = sys.modules[path] = _Path(path, homes, _getattr(finder, path))
        if name not in dir(sys.modules[above]):  # those that tables make later, too
            setattr(sys.modules[above], name, module)


def callable_path(function: Callable[..., Any]) -> type[ModuleType]:
    """Returns the type of a path of :func:`add_paths` that is a module and is called as a function."""
    return type("_CallablePath", (_Path,), {"__call__": staticmethod(function)})


def _getattr(finder: _Missing, module: str) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:  # noqa: N807 (becomes the module's __getattr__)
        value = finder.taken(f"{module}.{name}")
        if value is _NOTHING:
            raise AttributeError(finder.sentence(f"{module}.{name}"))
        setattr(sys.modules[module], name, value)
        return value

    return __getattr__


def variables_are_new() -> None:
    """Makes ``x += y`` of a variable of a program a new variable from now on; ``x`` is as before."""
    from lamella.graph import Symbol

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
        setattr(Symbol, f"__i{name}__", getattr(Symbol, f"__{name}__"))
