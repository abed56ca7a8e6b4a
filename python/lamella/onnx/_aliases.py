"""Writes in place: which values they change, and which of them ONNX's values, that nothing changes, can stand for."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import lamella as lm
from lamella.graph import Node, Symbol

#: Operators whose results may share memory with their first argument.
VIEWS = frozenset(
    f"lamella::{name}"
    for name in [
        *("index", "reshape", "flatten", "ravel", "unflatten", "squeeze", "expand_dims", "permute_dims", "swapaxes"),
        *("matrix_transpose", "moveaxis", "narrow", "select", "broadcast_to", "broadcast_arrays", "split", "chunk"),
        *("tensor_split", "unstack", "hsplit", "vsplit", "dsplit", "diagonal", "real", "imag", "view_as_real"),
        *("view_as_complex", "sliding_window", "atleast_1d", "atleast_2d", "atleast_3d", "contiguous", "astype"),
        *("cast", "to_device", "positive", "conj", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"),
        *("feature_alpha_dropout", "meshgrid", "rot90", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle"),
        *("einsum", "interpolate", "sum_to", "rnn", "lstm", "gru", "flip", "fliplr", "flipud", "diag"),
        *("dynamic_reshape", "dynamic_broadcast", "dynamic_slice"),
    ]
)

#: Those of them whose other arguments are sizes.
_OF_SIZES = frozenset(f"lamella::dynamic_{name}" for name in ("reshape", "broadcast", "slice"))

#: Those of them whose results always share memory, so that a write to one is a write to the other.
_MOVES = frozenset(
    f"lamella::{name}"
    for name in [
        *("index", "unflatten", "squeeze", "expand_dims", "permute_dims", "swapaxes", "matrix_transpose", "moveaxis"),
        *("narrow", "select", "split", "chunk", "tensor_split", "unstack", "hsplit", "vsplit", "dsplit", "diagonal"),
        *("atleast_1d", "atleast_2d", "atleast_3d", "flip", "fliplr", "flipud", "dynamic_slice"),
    ]
)


def _symbols(value: Any) -> Iterator[Symbol]:
    if isinstance(value, Symbol):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _symbols(item)


def _inputs(node: Node) -> list[str]:
    return [x.name for _, value in node.arguments for x in _symbols(value)]


def _viewed(node: Node) -> list[str]:
    """Returns the names of the arguments whose memory the results of a node may be in."""
    inputs = _inputs(node)
    if node.op not in VIEWS or (node.op == "lamella::index" and len(inputs) > 1):
        return []  # tensors in an index pick elements, which are copied
    return inputs[:1] if node.op in _OF_SIZES else inputs


def schema_of(op: str) -> list[tuple[Any, ...]]:
    """Returns what the registry says of an operator's arguments, by its full name."""
    namespace, _, rest = op.partition("::")
    name, _, overload = rest.partition(".")
    call = getattr(getattr(lm.ops, namespace), name)
    arguments: list[tuple[Any, ...]] = (getattr(call, overload) if overload else call).arguments
    return arguments


@functools.cache
def _written_arguments(op: str) -> list[int]:
    return [i for i, argument in enumerate(schema_of(op)) if argument[5] is not None and argument[5].endswith("!")]


def written(node: Node) -> list[str]:
    """Returns the names of the values that a node writes to."""
    if node.kind != "operator":
        return []
    return [x.name for i in _written_arguments(node.op) for x in _symbols(node.arguments[i][1])]


def moves(node: Node) -> bool:
    """True if a node's results are its first argument's elements, in the memory of that."""
    return node.op in _MOVES and len(_viewed(node)) == 1


class Aliases:
    """Says what the outputs of a graph need, and which values may share memory."""

    def __init__(self, nodes: Sequence[Node], outputs: set[str], captured: set[str]) -> None:
        self._captured = captured
        #: Numbers of the nodes that outputs depend on, by their results or by what they write.
        self.needed: set[int] = set()
        self._last_use: dict[str, int] = dict.fromkeys(outputs, len(nodes))
        #: Numbers of the last nodes that move a value's elements.
        self._last_view: dict[str, int] = {}
        #: Values that may share memory, and those that do.
        self._groups: dict[str, set[str]] = {}
        self._families: dict[str, set[str]] = {}
        for i, node in enumerate(nodes):
            inputs = _inputs(node)
            for name in inputs:
                self._last_use[name] = max(i, self._last_use.get(name, -1))
            results = [x.name for x in node.results if x is not None]
            if viewed := _viewed(node):
                shared = [*viewed, *results]
                _join(self._groups, shared)
                if moves(node):
                    _join(self._families, shared)
                    self._last_view[shared[0]] = i
        wanted = set(outputs)
        for i in range(len(nodes) - 1, -1, -1):
            names = {x.name for x in nodes[i].results if x is not None}
            for name in written(nodes[i]):
                names |= self._groups.get(name, {name})
            if wanted & names:
                self.needed.add(i)
                wanted.update(_inputs(nodes[i]))

    def used_after(self, name: str, i: int) -> bool:
        """True if a value is used behind node ``i``."""
        return self._last_use.get(name, -1) > i

    def viewed_after(self, name: str, i: int) -> bool:
        """True if a node behind node ``i`` makes a view of a value."""
        return self._last_view.get(name, -1) > i

    def check(self, i: int, node: Node) -> None:
        """Raises ValueError where node ``i`` writes to what ONNX's values cannot stand for."""
        for name in written(node):
            group = self._groups.get(name, {name})
            if outside := sorted(group & self._captured):
                raise ValueError(
                    f"[onnx.export] {node.op} ({node.where}) writes to {outside[0]!r}, which is no value of the model "
                    "but a tensor outside of it: an exported model keeps nothing between its runs"
                )
            for other in sorted(group - self._families.get(name, {name})):
                if self.used_after(other, i):
                    raise ValueError(
                        f"[onnx.export] {node.op} ({node.where}) writes to {name!r}, which may share memory with "
                        f"{other!r}, which is used later: write before you reshape, or compute a new tensor instead, "
                        "for example by lm.where"
                    )


def _join(groups: dict[str, set[str]], names: Sequence[str]) -> None:
    joined: set[str] = set().union(*(groups.get(name, {name}) for name in names))
    for name in joined:
        groups[name] = joined
