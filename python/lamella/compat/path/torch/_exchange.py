"""Functions of tensors with another body for a while, such as one that asks what to do with a call.

They stay the same objects: names by which programs have imported them, and tables of them, hold at all times, and
programs that exchange none pay nothing.
"""

from __future__ import annotations

import functools
import importlib
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

#: Modules whose functions take tensors.
HOMES = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
#: Functions of these that are none of tensors.
_PLAIN = frozenset({"compile", "is_tensor", "load", "save", "typename", "vmap"})
_NOTHING = object()

#: Held while bodies are exchanged for a block, so that those of other threads are given back in order.
LOCK = threading.RLock()


def takes_tensors(name: str, value: Any) -> bool:
    """True for functions of the front, which are written in Python."""
    own = isinstance(value, types.FunctionType) and (value.__module__ or "").startswith("torch")
    return own and not name.startswith("__") and name not in _PLAIN


def functions_of(homes: tuple[str, ...] = HOMES) -> Iterator[types.FunctionType]:
    """Yields the functions that modules have made so far, each once."""
    found = {
        id(each): each
        for home in homes
        for name, each in vars(importlib.import_module(home)).items()
        if takes_tensors(name, each)
    }
    yield from found.values()


@functools.cache
def _code_of_answer(cells: int) -> types.CodeType:
    """Returns code that calls the argument ``_answer``, for functions with a number of cells; it reads none."""
    names = [f"cell{k}" for k in range(cells)]
    read = "".join(f"        if 0: {name}\n" for name in names)
    made = "".join(f"    {name} = None\n" for name in names)
    source = (
        f"def make():\n{made}    def call(*args, _answer, **kwargs):\n{read}        return _answer(*args, **kwargs)\n"
    )
    namespace: dict[str, Any] = {}
    exec(source + "    return call\n", namespace)
    code: types.CodeType = namespace["make"]().__code__
    return code


class Exchanges:
    """Entries of dicts and bodies of functions that are exchanged for a while."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def put(self, table: dict[str, Any], name: str, value: Any) -> None:
        """Exchanges an entry of a dict."""
        kept = table.get(name, _NOTHING)
        table[name] = value
        self._undo.append(lambda: table.__delitem__(name) if kept is _NOTHING else table.__setitem__(name, kept))

    def replace(
        self,
        function: types.FunctionType,
        answer: Callable[[types.FunctionType, Callable[..., Any]], Callable[..., Any]],
    ) -> None:
        """Gives a function another body: what ``answer(function, body)`` returns, where ``body`` does what it did."""
        kept = function.__code__, function.__defaults__, function.__kwdefaults__
        body = types.FunctionType(kept[0], function.__globals__, function.__name__, kept[1], function.__closure__)
        body.__kwdefaults__ = kept[2]
        # Another thread may call the function between any two lines: either code finds the defaults that it needs.
        function.__kwdefaults__ = {**(kept[2] or {}), "_answer": answer(function, body)}
        function.__code__ = _code_of_answer(len(function.__closure__ or ()))
        shown = not hasattr(function, "__wrapped__")
        if shown:
            function.__wrapped__ = body  # type: ignore[attr-defined]  # for those who ask for the signature

        def undo() -> None:
            if shown:
                del function.__wrapped__  # type: ignore[attr-defined]
            function.__code__ = kept[0]
            function.__kwdefaults__ = kept[2]

        self._undo.append(undo)

    def replace_later(self, home: str, answer: Callable[[types.FunctionType, Callable[..., Any]], Any]) -> None:
        """Does so with the functions that a module makes when somebody looks them up."""
        table = vars(importlib.import_module(home))
        find = table.get("__getattr__")
        if find is None:
            return

        def __getattr__(name: str) -> Any:  # noqa: N807 (becomes the module's __getattr__)
            value = find(name)
            if takes_tensors(name, value):
                self.replace(value, answer)
            return value

        self.put(table, "__getattr__", __getattr__)

    def undo(self) -> None:
        """Makes everything what it was."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
