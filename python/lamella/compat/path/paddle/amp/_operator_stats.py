"""Counts of operators by the precision of what they are given."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any

import lamella as lm
from lamella import _C, Tensor
from lamella.graph._recorder import RecorderBase
from lamella.graph._special import BINARY, COMPARISONS, UNARY, exchange_handler

#: Columns of the table: their titles, and the dtypes that count in all but the last one.
_COLUMNS = {" FP16 Calls ": lm.float16, " BF16 Calls ": lm.bfloat16, " FP32 Calls": lm.float32, " Other Calls ": None}


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


class _Counter(RecorderBase):
    """Sees each call of a thread's operators, which runs as usual."""

    def __init__(self) -> None:
        self.counts: dict[str, list[int]] = {}

    def _count(self, name: str, values: Iterable[Any]) -> Any:
        given = next(_tensors(values), None)
        found = [given is not None and given.dtype == each for each in _COLUMNS.values()]
        row = self.counts.setdefault(name, [0] * len(_COLUMNS))
        row[found.index(True) if True in found else -1] += 1
        return NotImplemented

    def operator(self, name: str, in_place: bool, values: Sequence[Any]) -> Any:
        """Counts a built-in operator."""
        return self._count(f"{name}_" if in_place else name, values)

    def special(self, name: str, original: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Counts arithmetic, but where the front's is made of other operators, which are counted themselves."""
        native = _ARITHMETIC.get(name)
        return NotImplemented if native is None or isinstance(original, FunctionType) else self._count(native, args)

    def registered(self, call: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Counts a registered operator."""
        return self._count(str(call.name), [*args, *kwargs.values()])

    def layer(self, layer: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Counts a custom layer."""
        return self._count(layer.__name__, [*args, *kwargs.values()])

    def cpp_layer(self, name: str, *args: Any) -> Any:
        """Counts a custom layer of C++."""
        return self._count(name, args)

    def call(self, name: str, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Counts an operator in OneFlow's dialect."""
        return self._count(name, [*args, *kwargs.values()])


#: Special methods that are operators.
_ARITHMETIC = {
    **{f"__{sign}{short}__": name for short, name in {**BINARY, **COMPARISONS}.items() for sign in ("", "r")},
    **{f"__{short}__": name for short, name in UNARY.items()},
}
#: The counter that counts.
_running: list[_Counter] = []


def enable_operator_stats_collection() -> None:
    """Counts the operators that this thread calls from here on, by the dtype of the first tensor that each is given.

    Those of gradients are not counted. Names are Lamella's.

    Raises:
        RuntimeError: a program is being recorded.
    """
    if _running:
        return
    if _C._recorder() is not None:
        raise RuntimeError("[enable_operator_stats_collection] calls are counted where they run, not in programs")
    counter = _Counter()
    _running.append(counter)
    _C._set_recorder(counter)
    exchange_handler(counter)


def disable_operator_stats_collection() -> None:
    """Ends the count, and prints a table of it."""
    if not _running:
        return
    counter = _running.pop()
    _C._set_recorder(None)
    exchange_handler(None)
    print(f"<{' op list ':-^120}>")
    titles = " | ".join(f"{title:-^17}" for title in _COLUMNS)
    print(f"<{' Op Name ':-^40} | {titles}>")
    for name, row in sorted(counter.counts.items()):
        print(f"  {name:<40}" + "".join(f"|  {count:<17}" for count in row))
    print(f"<{f' op count: {len(counter.counts)} ':-^120}>\n")


@contextlib.contextmanager
def collect_operator_stats() -> Iterator[None]:
    """Counts the operators of a block, and prints a table of them: see :func:`enable_operator_stats_collection`."""
    enable_operator_stats_collection()
    try:
        yield
    finally:
        disable_operator_stats_collection()
