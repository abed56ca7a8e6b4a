"""Modules that a program is recorded of: what they hold afterwards, and what the program does with their buffers."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lamella import _C, _tree
from lamella._C import Tensor

from ._symbol import Symbol

if TYPE_CHECKING:
    from ._graph import Graph

#: Tables of a module, which have its tensors and parts.
_TABLES = ("_parameters", "_buffers", "_modules")


def _shown(value: Any) -> bool:
    """True if values of a graph are among what an attribute holds."""
    kind = type(value)
    if issubclass(kind, Tensor):
        return isinstance(value, Symbol)
    return kind in (list, tuple, dict) and any(isinstance(x, Symbol) for x in _tree.flatten(value)[0])


def _contents(value: Any) -> Any:
    """Returns a copy of a list or a dict, and other values as they are."""
    return value.copy() if type(value) in (list, dict) else value


@contextlib.contextmanager
def modules_kept(graph: Graph, owner: Any) -> Iterator[None]:
    """Gives a module back what it holds, when a program has been recorded of it.

    A buffer in whose place the program puts another tensor, ``self.count = self.count + 1``, is written to instead by
    each run. What else the program puts into attributes is left out, with a warning.

    Args:
        graph: what is recorded.
        owner: the module; anything else has nothing to keep.

    Raises:
        RuntimeError: a buffer gets a tensor of another shape or dtype.
    """
    modules = dict(owner.named_modules()) if hasattr(owner, "named_modules") else {}
    before = [
        (
            path,
            module,
            {name: (value, _contents(value)) for name, value in vars(module).items() if name not in _TABLES},
            {table: dict(vars(module)[table]) for table in _TABLES},
        )
        for path, module in modules.items()
    ]
    recorder = graph._recorder
    recorder.buffers = {id(x) for *_, tables in before for x in tables["_buffers"].values() if x is not None}
    try:
        yield
        for path, module, _, tables in before:
            for name, new in module._buffers.items():
                old = tables["_buffers"].get(name)
                if new is not old and isinstance(new, Symbol):
                    _write(graph, f"{path}.{name}" if path else name, old, new)
    finally:
        recorder.buffers = set()
        for path, module, attributes, tables in before:
            for table, held in tables.items():
                vars(module)[table].clear()
                vars(module)[table].update(held)
            for name, value in list(vars(module).items()):
                if name not in _TABLES and _shown(value):
                    _restore(module, f"{path}.{name}" if path else name, name, attributes)


def _write(graph: Graph, name: str, old: Tensor | None, new: Symbol) -> None:
    if old is None or old.dtype != new.dtype or tuple(old.shape) != tuple(new.shape):
        kept = "nothing" if old is None else f"{old.dtype.name}{list(old.shape)}"
        raise RuntimeError(
            f"[graph] the buffer {name!r} holds {kept} and is set to {new.dtype.name}{list(new.shape)}: a program "
            "writes into its buffers, which keep their shapes and dtypes"
        )
    previous = _C._set_recorder(graph._recorder)
    try:
        graph.write(old, new)
    finally:
        _C._set_recorder(previous)


def _restore(module: Any, path: str, name: str, attributes: dict[str, tuple[Any, Any]]) -> None:
    warnings.warn(
        f"[graph] {path!r} is set to a value that is known only when the program runs: the attribute keeps what it "
        "held, as a program sets no attributes; return the value, or make it a buffer",
        stacklevel=5,
    )
    if name not in attributes:
        del vars(module)[name]
        return
    value, contents = attributes[name]
    if type(value) in (list, dict):
        value.clear()
        (value.extend if isinstance(value, list) else value.update)(contents)
    vars(module)[name] = value
