"""Trees: values in nested lists, tuples, dicts and dataclasses, taken apart and put together again.

The one place that knows what a container is and how one like it is made. :func:`parts_of` and :func:`shell_of` say so;
:func:`flatten` takes the tensors out of a tree, :func:`leaves_of` everything that is no container.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from ._C import Tensor

#: Makes a container of the items that belong in it.
Shell: TypeAlias = Callable[[Iterable[Any]], Any]
#: Makes a value of the tensors that it takes from an iterator.
Spec: TypeAlias = Callable[[Iterator[Tensor]], Any]


def parts_of(value: Any, *, records: bool = True) -> tuple[Sequence[Any], list[Any]] | None:
    """Returns the keys and the items of a container; None for anything else.

    Keys are those of a dict, the places in a list or tuple, the names of a dataclass's fields. With ``records=False`` a
    dataclass is no container.
    """
    if isinstance(value, (list, tuple)):
        return range(len(value)), [*value]
    if isinstance(value, dict):
        return [*value], [*value.values()]
    if records and hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        import dataclasses  # imported late: slow to import, and rarely needed

        names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
        return names, [getattr(value, name) for name in names]
    return None


def shell_of(value: Any, keys: Sequence[Any]) -> Shell:
    """Returns what makes containers like `value`, of its type and with its attributes; it holds none of the items.

    The ``__init__`` of a dataclass and the ``__new__`` of a named tuple are not called again.
    """
    if isinstance(value, tuple):
        kind = type(value)
        # Struct sequences of C refuse tuple.__new__.
        return kind if hasattr(kind, "n_sequence_fields") else lambda items: tuple.__new__(kind, items)
    shell = copy.copy(value)
    if isinstance(value, list):
        shell.clear()
        return lambda items: _extended(shell, items)
    if isinstance(value, dict):
        shell.clear()
        return lambda items: _updated(shell, keys, items)
    for name in keys:
        object.__setattr__(shell, name, None)
    return lambda items: _with_fields(shell, keys, items)


def _extended(shell: list[Any], items: Iterable[Any]) -> list[Any]:
    made = copy.copy(shell)
    made.extend(items)
    return made


def _updated(shell: dict[Any, Any], keys: Sequence[Any], items: Iterable[Any]) -> dict[Any, Any]:
    made = copy.copy(shell)
    for key, item in zip(keys, items, strict=True):
        made[key] = item
    return made


def _with_fields(shell: Any, names: Sequence[str], items: Iterable[Any]) -> Any:
    made = copy.copy(shell)
    for name, item in zip(names, items, strict=True):
        object.__setattr__(made, name, item)
    return made


def flatten(value: Any) -> tuple[list[Tensor], Spec]:
    """Returns the tensors in ``value``, in order, and what :func:`rebuild` makes the rest of it from.

    The latter holds no tensor that the former has. RecursionError for containers that hold themselves.
    """
    tensors: list[Tensor] = []
    return tensors, _describe(value, tensors)


def rebuild(spec: Spec, tensors: Sequence[Tensor]) -> Any:
    """Returns a value like the one that was flattened, with other tensors, in new containers where they hold any."""
    return spec(iter(tensors))


def _next(tensors: Iterator[Tensor]) -> Any:
    return next(tensors)


def _describe(value: Any, tensors: list[Tensor]) -> Spec:
    if isinstance(value, Tensor):
        tensors.append(value)
        return _next
    found = len(tensors)
    if (parts := parts_of(value)) is not None:
        keys, items = parts
        specs = [_describe(item, tensors) for item in items]
        if len(tensors) != found:
            shell = shell_of(value, keys)
            return lambda tensors: shell([spec(tensors) for spec in specs])
    return lambda tensors: value


class Structure(NamedTuple):
    """Structure of a tree: how its leaves are nested. A leaf is anything but a list, tuple or dict."""

    #: Makes the container of its items; None for a leaf.
    shell: Shell | None
    keys: Sequence[Any]
    children: tuple[Structure, ...]
    #: True if the items have names, as those of a dict.
    named: bool = False

    def build(self, leaves: Iterable[Any]) -> Any:
        """Returns a tree of this structure with these leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.shell is None:
            return next(leaves)
        return self.shell([child._build(leaves) for child in self.children])

    def leaves_of(self, tree: Any) -> list[Any] | None:
        """Returns the leaves of another tree, in this one's order; None where they do not stand in the same places.

        Lists and tuples count as the same, and so do dicts with the same keys in another order.
        """
        leaves: list[Any] = []
        return leaves if self._collect(tree, leaves) else None

    def _collect(self, tree: Any, leaves: list[Any]) -> bool:
        parts = parts_of(tree, records=False)
        if self.shell is None or parts is None:
            leaves.append(tree)
            return self.shell is None and parts is None
        keys, items = parts
        if isinstance(tree, dict) != self.named or len(keys) != len(self.keys):
            return False
        found = dict(zip(keys, items, strict=True))
        return all(
            key in found and child._collect(found[key], leaves)
            for key, child in zip(self.keys, self.children, strict=True)
        )

    def paths(self, prefix: str = "") -> Iterator[str]:
        """Returns, for each leaf, the text that follows the tree's name in an expression: ``[0]['w']``."""
        if self.shell is None:
            yield prefix
        for key, child in zip(self.keys, self.children, strict=True):
            yield from child.paths(f"{prefix}[{key!r}]")


_LEAF = Structure(None, (), ())


def leaves_of(tree: Any) -> tuple[list[Any], Structure]:
    """Returns the leaves of a tree, in order, and its structure."""
    leaves: list[Any] = []
    return leaves, _structure_of(tree, leaves)


def _structure_of(tree: Any, leaves: list[Any]) -> Structure:
    parts = parts_of(tree, records=False)
    if parts is None:
        leaves.append(tree)
        return _LEAF
    keys, items = parts
    children = tuple(_structure_of(item, leaves) for item in items)
    return Structure(shell_of(tree, keys), keys, children, isinstance(tree, dict))


def tensor_leaves_of(tree: Any, op: str, what: str) -> tuple[list[Tensor], Structure]:
    """Returns the leaves of a tree of tensors, and its structure.

    Raises:
        TypeError: a leaf is no tensor, or there is none.
    """
    leaves, structure = leaves_of(tree)
    for leaf, path in zip(leaves, structure.paths(), strict=True):
        if not isinstance(leaf, Tensor):
            raise TypeError(
                f"[{op}] {what}{path} is {type(leaf).__name__}: expected a Tensor, or lists, tuples and dicts of them"
            )
    if not leaves:
        raise TypeError(f"[{op}] {what} holds no tensor")
    refuse_global(op, leaves)
    return leaves, structure


def refuse_global(op: str, tensors: Iterable[Tensor]) -> None:
    """Raises RuntimeError where a tensor lies over several processes (:mod:`lamella.distributed`)."""
    if any(getattr(x, "is_global", False) for x in tensors):
        raise RuntimeError(
            f"[{op}] takes no global tensors: call it on what every process has (to_local()), or call backward()"
        )


class TensorTree:
    """Tree whose tensors are variable, and whose other leaves stay as they are."""

    def __init__(self, tree: Any) -> None:
        leaves, self.structure = leaves_of(tree)
        self._places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        self._fixed = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self.tensors: list[Tensor] = [leaves[i] for i in self._places]

    def build(self, tensors: Iterable[Any]) -> Any:
        """Returns the tree with other tensors."""
        leaves = list(self._fixed)
        for place, tensor in zip(self._places, tensors, strict=True):
            leaves[place] = tensor
        return self.structure.build(leaves)

    def paths(self) -> list[str]:
        """Returns the path of each tensor."""
        paths = list(self.structure.paths())
        return [paths[i] for i in self._places]
