"""Trees: values in nested lists, tuples and dicts, taken apart and put together again."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .._C import Tensor


class Structure(NamedTuple):
    """How the leaves of a tree stand in it. A leaf is whatever is no list, tuple or dict."""

    #: None for a leaf, the type of a list or tuple, a copy of a dict with None for each value.
    container: Any
    keys: tuple[Any, ...]
    children: tuple[Structure, ...]

    def build(self, leaves: Iterable[Any]) -> Any:
        """A tree of this structure with these leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.container is None:
            return next(leaves)
        values = [child._build(leaves) for child in self.children]
        if isinstance(self.container, dict):
            tree = copy.copy(self.container)
            tree.update(zip(self.keys, values, strict=True))
            return tree
        named = hasattr(self.container, "_fields")  # a named tuple takes its values one by one
        return self.container(*values) if named else self.container(values)

    def leaves_of(self, tree: Any) -> list[Any] | None:
        """The leaves of another tree, in this one's order; None where they do not stand in the same places.

        Lists and tuples count as the same, and so do dicts with the same keys in another order.
        """
        leaves: list[Any] = []
        return leaves if self._collect(tree, leaves) else None

    def _collect(self, tree: Any, leaves: list[Any]) -> bool:
        if self.container is None:
            leaves.append(tree)
            return not isinstance(tree, (dict, list, tuple))
        if isinstance(self.container, dict):
            alike = isinstance(tree, dict) and tree.keys() == self.container.keys()
        else:
            alike = isinstance(tree, (list, tuple)) and len(tree) == len(self.keys)
        return alike and all(
            child._collect(tree[key], leaves) for key, child in zip(self.keys, self.children, strict=True)
        )

    def paths(self, prefix: str = "") -> Iterator[str]:
        """What stands behind the tree's name in an expression for each leaf: ``[0]['w']``."""
        if self.container is None:
            yield prefix
        for key, child in zip(self.keys, self.children, strict=True):
            yield from child.paths(f"{prefix}[{key!r}]")


_LEAF = Structure(None, (), ())


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a tree, in order, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Structure:
    if isinstance(tree, dict):
        keys: tuple[Any, ...] = tuple(tree)
        empty = copy.copy(tree)
        empty.update(dict.fromkeys(keys))
        return Structure(empty, keys, tuple(_flatten(tree[key], leaves) for key in keys))
    if isinstance(tree, (list, tuple)):
        return Structure(type(tree), tuple(range(len(tree))), tuple(_flatten(child, leaves) for child in tree))
    leaves.append(tree)
    return _LEAF


class TensorTree:
    """A tree of which the tensors are variable, and everything else stays as it is."""

    def __init__(self, tree: Any) -> None:
        leaves, self.structure = flatten(tree)
        self._places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        self._fixed = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self.tensors: list[Tensor] = [leaves[i] for i in self._places]

    def build(self, tensors: Sequence[Any]) -> Any:
        """The tree with other tensors."""
        leaves = list(self._fixed)
        for place, tensor in zip(self._places, tensors, strict=True):
            leaves[place] = tensor
        return self.structure.build(leaves)

    def paths(self) -> list[str]:
        """The path of each tensor."""
        paths = list(self.structure.paths())
        return [paths[i] for i in self._places]


def flatten_tensors(tree: Any, op: str, what: str) -> tuple[list[Tensor], Structure]:
    """The leaves of a tree of tensors.

    Raises:
        TypeError: a leaf is no tensor, or there is none.
    """
    leaves, structure = flatten(tree)
    for leaf, path in zip(leaves, structure.paths(), strict=True):
        if not isinstance(leaf, Tensor):
            raise TypeError(
                f"[{op}] {what}{path} is {type(leaf).__name__}: expected a Tensor, or lists, tuples and dicts of them"
            )
    if not leaves:
        raise TypeError(f"[{op}] {what} holds no tensor")
    return leaves, structure
