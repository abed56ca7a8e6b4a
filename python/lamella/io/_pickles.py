"""A reader of pickles that calls nothing: opcodes are carried out here, and names stand for what a table makes of them.

The opcodes are those of Python's documentation of ``pickletools``. Classes and functions that a pickle names are never
looked up: :class:`Name` stands in their place, and a call of one is an entry of the reader's table, or an error.
"""

from __future__ import annotations

import pickletools
import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

_MARK = object()
_MAX_STACK = 10_000_000
_REPR = reprlib.Repr()
_REPR.maxlevel = 2


def short(value: Any) -> str:
    """Returns the beginning of a value's text, which may be longer than memory."""
    return _REPR.repr(value)


class Name(NamedTuple):
    """Name of a class or a function."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class Buildable:
    """Base of objects that a pickle makes first and gives their state afterwards."""

    def build(self, state: Any) -> Any:
        """Returns what stands in the object's place."""
        raise NotImplementedError(f"[{type(self).__name__}] the object defines no build")


class RefusedError(ValueError):
    """A pickle asks for what is neither plain data nor in the table; the text says what."""


class Bounded:
    """File of which no more is asked for than it can hold: a reader makes room for what a damaged length claims."""

    def __init__(self, file: Any, room: int) -> None:
        self._file = file
        self._room = room
        self.readline = file.readline
        self.tell = file.tell

    def read(self, count: int) -> bytes:
        """Returns up to ``count`` bytes."""
        data: bytes = self._file.read(min(count, self._room))
        return data


class Machine:
    """Carries out one pickle.

    Args:
        calls: what a call of a name gives, by the name's text.
        constants: what a name itself stands for, by its text; any other name is only good for being called.
        persistent: makes the object of a persistent id.
    """

    def __init__(
        self,
        calls: Mapping[str, Callable[..., Any]],
        constants: Mapping[str, Any],
        persistent: Callable[[Any], Any],
    ) -> None:
        self._calls = calls
        self._constants = constants
        self._persistent = persistent
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        # Objects that are built anew leave their old selves in the memo.
        self._built: dict[int, tuple[Any, Any]] = {}

    def run(self, file: Any, room: int) -> Any:
        """Reads a pickle up to its end and returns its value. The file is of ``room`` bytes.

        Raises:
            RefusedError: for what is not in the tables.
            Exception: of many types, where the pickle is damaged.
        """
        stream: Any = Bounded(file, room)
        for opcode, argument, _ in pickletools.genops(stream):
            if opcode.name == "STOP":
                return self._pop()
            self._step(opcode.name, argument)
            if len(self._stack) > _MAX_STACK:
                break
        raise ValueError("the pickle does not end")

    def _step(self, opcode: str, argument: Any) -> None:
        stack = self._stack
        match opcode:
            case "PROTO" | "FRAME":
                pass
            case "MARK":
                stack.append(_MARK)
            case "NONE":
                stack.append(None)
            case "NEWTRUE" | "NEWFALSE":
                stack.append(opcode == "NEWTRUE")
            case _ if opcode in _VALUES:
                stack.append(argument)
            case "EMPTY_LIST" | "EMPTY_DICT" | "EMPTY_SET" | "EMPTY_TUPLE":
                stack.append(_EMPTY[opcode]())
            case "LIST" | "TUPLE":
                stack.append(_EMPTY[opcode](self._marked()))
            case "FROZENSET":
                stack.append(frozenset(keys_of(self._marked())))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                count = int(opcode[-1])
                items = tuple(self._pop() for _ in range(count))
                stack.append(items[::-1])
            case "DICT":
                stack.append(_pairs(self._marked()))
            case "APPEND":
                value = self._pop()
                _of(stack[-1], list).append(value)
            case "APPENDS":
                values = self._marked()
                _of(stack[-1], list).extend(values)
            case "ADDITEMS":
                values = self._marked()
                _of(stack[-1], set).update(keys_of(values))
            case "SETITEM":
                value, key = self._pop(), self._pop()
                _of(stack[-1], dict).update(_pairs([key, value]))
            case "SETITEMS":
                pairs = _pairs(self._marked())
                _of(stack[-1], dict).update(pairs)
            case "POP":
                stack.pop()
            case "POP_MARK":
                self._marked()
            case "DUP":
                stack.append(stack[-1])
            case "PUT" | "BINPUT" | "LONG_BINPUT":
                self._memo[argument] = stack[-1]
            case "MEMOIZE":
                self._memo[len(self._memo)] = stack[-1]
            case "GET" | "BINGET" | "LONG_BINGET":
                value = self._memo[argument]
                stack.append(self._built.get(id(value), (None, value))[1])
            case "GLOBAL":
                self._push_name(*argument.split(" ", 1))
            case "STACK_GLOBAL":
                name, module = self._pop(), self._pop()
                self._push_name(_of(module, str), _of(name, str))
            case "REDUCE" | "NEWOBJ":
                arguments, function = self._pop(), self._pop()
                stack.append(self._call(function, _of(arguments, tuple)))
            case "BUILD":
                state, value = self._pop(), self._pop()
                stack.append(self._build(value, state))
            case "BINPERSID":
                stack.append(self._persistent(self._pop()))
            case _:
                raise RefusedError(f"the opcode {opcode}")

    def _pop(self) -> Any:
        value = self._stack.pop()
        if value is _MARK:
            raise ValueError("a mark stands where a value is due")
        return value

    def _marked(self) -> list[Any]:
        """Takes all values above the last mark, and the mark."""
        stack = self._stack
        place = len(stack) - 1
        while stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise ValueError("there is no mark")
        values = stack[place + 1 :]
        del stack[place:]
        return values

    def _push_name(self, module: str, name: str) -> None:
        known = Name(module, name)
        text = str(known)
        if text in self._constants:
            self._stack.append(self._constants[text])
        elif text in self._calls:
            self._stack.append(known)
        else:
            raise RefusedError(text[:120])

    def _call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        if not isinstance(function, Name):
            raise RefusedError(f"a call of {type(function).__name__}")
        return self._calls[str(function)](*arguments)

    def _build(self, value: Any, state: Any) -> Any:
        if isinstance(value, Buildable):
            made = value.build(state)
            self._built[id(value)] = (value, made)
            return made
        if isinstance(value, dict):
            return value  # attributes of an ordered dictionary, which say nothing of its items
        raise RefusedError(f"a state for {type(value).__name__}")


def _of(value: Any, kind: type) -> Any:
    # A NamedTuple is a tuple too, and a name is no value.
    if not isinstance(value, kind) or isinstance(value, Name):
        raise ValueError(f"{type(value).__name__} stands where {kind.__name__} is due")
    return value


def _pairs(values: list[Any]) -> dict[Any, Any]:
    return dict(zip(keys_of(values[::2]), values[1::2], strict=True))


def keys_of(values: Iterable[Any]) -> list[Any]:
    """Returns what is to be keys of a dict, or items of a set.

    Tuples may hold no tuples: the hash of a deep one ends the process, and that of one whose parts are the same again
    and again takes for ever.

    Raises:
        ValueError: for something else than numbers, text, bytes, None, and tuples of them.
    """
    keys = list(values)
    for key in keys:
        parts = key if isinstance(key, tuple) else (key,)
        if not all(part is None or isinstance(part, _SCALARS) for part in parts):
            raise ValueError(f"{short(key)} as a key")
    return keys


_EMPTY: dict[str, Callable[..., Any]] = {
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
    "EMPTY_TUPLE": tuple,
    "LIST": list,
    "TUPLE": tuple,
}
_SCALARS = (bool, int, float, complex, str, bytes, frozenset, np.generic)
#: Opcodes whose argument is the value.
_VALUES = frozenset(
    opcode.name
    for opcode in pickletools.opcodes
    if opcode.arg is not None
    and len(opcode.stack_after) == 1
    and not opcode.stack_before
    and opcode.stack_after[0].obtype in (int, float, bytes, bytearray, str, (int, bool), (bytes, str))
)
