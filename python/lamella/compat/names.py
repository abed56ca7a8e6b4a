"""The names of a front's modules that tables make, each when it is first asked for."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lamella import Tensor
from lamella.compat.classes import nearest, stand_for
from lamella.compat.dialect import Dialect, Line, make_class, make_function, parse_table, resolve
from lamella.compat.front import close_module


class Names:
    """The names of one module of the front that tables make, each when it is first asked for.

    Args:
        module: the module's name.
        tables: native modules, each with a table of names that it has, and their dialect.
        called: what names are natively where no arrow of a table says so.
    """

    def __init__(
        self, module: str, tables: Sequence[tuple[str, str, Dialect]], called: Mapping[str, str] | None = None
    ) -> None:
        self.module = module
        #: By native class, the name of the class that stands for it.
        self._classes: dict[type, str] = {}
        self._lines: dict[str, tuple[str, Line, Dialect]] = {}
        for home, text, dialect in tables:
            self._lines.update((name, (home, line, dialect)) for name, line in parse_table(text, called).items())

    def stand_for_all(self) -> None:
        """Makes the objects of all native classes objects of those of the table, from now on.

        A class has the adapted ones of its base classes among its own, see :mod:`lamella.compat.classes`.
        """
        for name, (_, line, dialect) in self._lines.items():
            native = self.native(name) if dialect.words else None
            if not isinstance(native, type) or issubclass(native, Tensor):
                continue
            if native not in self._classes or line.target == name:
                self._classes[native] = name
        for native, name in self._classes.items():
            stand_for(native, functools.partial(getattr, sys.modules[self.module], name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __contains__(self, name: object) -> bool:
        return name in self._lines

    def native(self, name: str) -> Any:
        """Returns what is behind a name.

        Raises:
            AttributeError: Lamella has no such thing, in this version.
        """
        home, line, _ = self._lines[name]
        try:
            return resolve(line.target, home)
        except ModuleNotFoundError as error:
            raise AttributeError(str(error)) from None

    def words_differ(self, name: str) -> bool:
        """True if the framework's parameters are not those of the native function of the same name."""
        _, line, dialect = self._lines[name]
        if line.signature is not None or line.target != name:
            return True
        natives = inspect.signature(self.native(name)).parameters
        # Of several operands, programs name those behind the tensor whose method they call.
        named = [each for each in natives.values() if each.kind is inspect.Parameter.POSITIONAL_ONLY][1:]
        return len(named) > 1 or any(each in dialect.peer_words for each in natives)

    def make(self, name: str) -> Any:
        """Returns a function or class with the framework's signature, or what is native and has no signature."""
        home, line, dialect = self._lines[name]
        native = self.native(name)
        if not dialect.words:
            return native
        file = sys.modules[self.module].__file__ or __file__
        if isinstance(native, type):
            if home == "lamella":
                return native
            base = dialect.base() if dialect.base is not None else object
            above = None
            if native in self._classes:
                names = [self._classes[each] for each in nearest(native, self._classes)]
                above = [getattr(sys.modules[self.module], each) for each in names]
            made: Any = make_class(
                native, name, line.signature, dialect, module=self.module, filename=file, base=base, above=above
            )
            layer = vars(native).get("_layer")  # what a lazy layer becomes
            if layer in self._classes:
                made._layer = getattr(sys.modules[self.module], self._classes[layer])
            return made
        if not callable(native):
            return native
        return make_function(native, name, line.signature, dialect, module=self.module, filename=file)


def serve(names: Names, missing: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """Returns the ``__getattr__`` of a module of the front that finds the names of tables.

    Args:
        names: the names.
        missing: what is asked for others; by default, says that the front does not have them.
    """
    absent = close_module(names.module) if missing is None else missing
    module = sys.modules[names.module]

    def __getattr__(name: str) -> Any:  # noqa: N807 (becomes the module's __getattr__)
        if name == "__all__":
            return [each for each in dir(module) if not each.startswith("_") and hasattr(module, each)]
        if name not in names:
            return absent(name)
        try:
            value = names.make(name)
        except AttributeError:
            return absent(name)
        setattr(module, name, value)
        return value

    module.__dir__ = lambda: sorted({*vars(module), *names})  # type: ignore[method-assign]
    return __getattr__
