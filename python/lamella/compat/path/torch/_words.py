"""PyTorch's words for parameters, and the modules that are made of tables."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from lamella._names import FUNCTIONS as FUNCTION_NAMES
from lamella.compat.dialect import Dialect, Line, make_class, make_function, parse_table, resolve
from lamella.compat.front import close_module

#: PyTorch's words by what they are called natively: the first word counts where there are several.
WORDS: dict[str, tuple[str, ...]] = {
    "input": ("x", "a", "x1"),
    "other": ("b", "x2"),
    "dim": ("axis", "axes"),
    "dims": ("axes", "axis"),
    "keepdim": ("keepdims",),
    "size": ("shape",),
    "end": ("stop",),
    "steps": ("num",),
    "diagonal": ("k",),
    "offset": ("k",),
    "dim0": ("axis1",),
    "dim1": ("axis1", "axis2"),
    "dim2": ("axis2",),
    "start_dim": ("start_axis",),
    "end_dim": ("stop_axis",),
    "tensors": ("arrays",),
    "rcond": ("rtol",),
    "a": ("low",),
    "b": ("high",),
    "T_max": ("t_max",),
    "T_0": ("t_0",),
    "T_mult": ("t_mult",),
    "shifts": ("shift",),
    "train": ("training",),
    "LU_data": ("lu",),
    "LU": ("lu",),
    "LU_pivots": ("pivots",),
    "LD": ("ld",),
    "B": ("b",),
}


def _reduction(size_average: bool | None, reduce: bool | None) -> str:
    """Returns the word for what older programs say by two bools."""
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _place(module: Any, device: Any, dtype: Any) -> None:
    if device is not None:
        module.to(device)
    if dtype is not None:
        module.to(dtype)


_OLD_REDUCTION = {
    "size_average": "if size_average is not None or reduce is not None: reduction = _reduction(size_average, reduce)"
}
_HELPERS = {"_reduction": _reduction, "_place": _place}
_MEMORY = frozenset({"layout", "pin_memory", "memory_format", "_stacklevel", "sparse_grad", "cudnn_enabled"})

#: Functions: what is made may want a gradient, and may be asked for memory of a kind.
FUNCTIONS = Dialect(
    WORDS,
    ignored=_MEMORY | {"size_average", "reduce", "assume_unique", "output_size", "compute_mode", "foreach", "sparse"},
    before=_OLD_REDUCTION,
    after={"requires_grad": "_marked({result}, requires_grad)"},
    helpers={**_HELPERS, "_marked": lambda x, requires_grad: x.requires_grad_() if requires_grad else x},
    extra={"requires_grad": "device", "layout": "device", "pin_memory": "device"},
)
#: Layers: they are made on a device and in a dtype.
LAYERS = Dialect(
    WORDS,
    ignored=frozenset({"size_average", "reduce", "sparse"}),
    before=_OLD_REDUCTION,
    after={"device": "_place(self, device, None)", "dtype": "_place(self, None, dtype)"},
    helpers=_HELPERS,
    extra={"device": "", "dtype": "", "size_average": "reduction", "reduce": "reduction"},
)


def _in_place() -> type:
    from .nn._module import InPlace

    return InPlace


#: Layers that may write over their input.
LAYERS_IN_PLACE = replace(
    LAYERS,
    after={**LAYERS.after, "inplace": "self.inplace = bool(inplace)"},
    extra={"inplace": "", **LAYERS.extra},
    own=frozenset({"inplace"}),
    base=_in_place,
)
#: Optimizers: which kernel computes a step is not theirs to say here.
OPTIMIZERS = Dialect(
    WORDS,
    ignored=frozenset({"foreach", "capturable", "differentiable", "fused"}),
    extra={"foreach": "", "capturable": "", "differentiable": "", "fused": ""},
)
SCHEDULERS = Dialect(WORDS, ignored=frozenset({"verbose"}), extra={"verbose": ""})
#: Loading: what serves the copies to a GPU changes nothing here.
LOADING = Dialect(
    WORDS,
    ignored=frozenset({"pin_memory", "pin_memory_device", "prefetch_factor", "persistent_workers", "in_order"}),
    extra={"pin_memory": "batch_size", "pin_memory_device": "batch_size"},
)
#: Names that are Lamella's as they are.
PLAIN = Dialect({})


class Names:
    """The names of one module of the front that tables make, each when it is first asked for.

    Args:
        module: the module's name.
        tables: native modules, each with a table of names that it has, and their dialect.
    """

    def __init__(self, module: str, tables: Sequence[tuple[str, str, Dialect]]) -> None:
        self.module = module
        self._lines: dict[str, tuple[str, Line, Dialect]] = {}
        for home, text, dialect in tables:
            called = FUNCTION_NAMES if home == "lamella" else None
            self._lines.update((name, (home, line, dialect)) for name, line in parse_table(text, called).items())

    def __iter__(self) -> Any:
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
        """True if PyTorch's parameters are not those of the native function of the same name."""
        _, line, dialect = self._lines[name]
        if line.signature is not None or line.target != name:
            return True
        return any(each in dialect.peer_words for each in inspect.signature(self.native(name)).parameters)

    def make(self, name: str) -> Any:
        """Returns a function or class with PyTorch's signature, or the native thing where the words are the same."""
        home, line, dialect = self._lines[name]
        native = self.native(name)
        if dialect is PLAIN:
            return native
        file = sys.modules[self.module].__file__ or __file__
        if isinstance(native, type):
            if home == "lamella":
                return native
            base = dialect.base() if dialect.base is not None else object
            return make_class(native, name, line.signature, dialect, module=self.module, filename=file, base=base)
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
