"""Trees of containers: dicts, lists, tuples, named tuples, deques, and what programs register; all else is a leaf."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from lamella.compat.front import close_module

from ..return_types import CLASSES
from ._tree_paths import (  # noqa: F401
    GetAttrKey,
    MappingKey,
    SequenceKey,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    key_get,
    keys_of,
    keystr,
)

PyTree = Any
Context = Any
#: The keys that lead to a leaf.
KeyPath = tuple[Any, ...]
#: Takes a container apart, into its children and what makes it again; and makes it of these.
_Flatten = Callable[[Any], tuple[list[Any], Any]]
_Unflatten = Callable[[Iterable[Any], Any], Any]


class NodeDef(NamedTuple):
    """Functions that take containers of a class apart, and make them again."""

    flatten_fn: _Flatten
    unflatten_fn: _Unflatten


_PAIRS: dict[Any, tuple[_Flatten, _Unflatten]] = {
    list: (lambda x: (x, None), lambda children, _: list(children)),
    tuple: (lambda x: (list(x), None), lambda children, _: tuple(children)),
    dict: (_dict_flatten, _dict_unflatten),
    OrderedDict: (
        _dict_flatten,
        lambda children, keys: OrderedDict(zip(keys, children, strict=True)),
    ),
    defaultdict: (
        lambda x: (list(x.values()), (x.default_factory, list(x))),
        lambda children, made: defaultdict(made[0], zip(made[1], children, strict=True)),
    ),
    deque: (lambda x: (list(x), x.maxlen), lambda children, maxlen: deque(children, maxlen)),
    namedtuple: (lambda x: (list(x), type(x)), lambda children, kind: kind(*children)),
}
_list_flatten, _list_unflatten = _PAIRS[list]
_tuple_flatten, _tuple_unflatten = _PAIRS[tuple]
_ordereddict_flatten, _ordereddict_unflatten = _PAIRS[OrderedDict]
_defaultdict_flatten, _defaultdict_unflatten = _PAIRS[defaultdict]
_deque_flatten, _deque_unflatten = _PAIRS[deque]
_namedtuple_flatten, _namedtuple_unflatten = _PAIRS[namedtuple]
#: The containers; the function ``namedtuple`` stands for the classes that it makes.
SUPPORTED_NODES = {kind: NodeDef(*pair) for kind, pair in _PAIRS.items()}


def _node_of(kind: type[Any]) -> NodeDef:
    """Returns the functions for results of several tensors."""
    return NodeDef(lambda x: (list(x), None), lambda children, _: kind(children))


SUPPORTED_NODES.update((each, _node_of(each)) for each in CLASSES.values())


#: By class, the functions that return pairs of keys and children, and what makes the container again.
_WITH_KEYS: dict[type, Callable[[Any], Any]] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: _Flatten,
    unflatten_fn: _Unflatten,
    *,
    flatten_with_keys_fn: Callable[[Any], Any] | None = None,
    **named: Any,
) -> None:
    """Makes objects of a class containers.

    Args:
        cls: the class.
        flatten_fn: returns the children of an object, and what makes it again.
        unflatten_fn: makes an object of children and that.
        flatten_with_keys_fn: returns pairs of keys and children, and what makes it again.
        **named: names for files, which are not used.
    """
    SUPPORTED_NODES[cls] = NodeDef(flatten_fn, unflatten_fn)
    if flatten_with_keys_fn is not None:
        _WITH_KEYS[cls] = flatten_with_keys_fn


_register_pytree_node = register_pytree_node


def _get_node_type(tree: Any) -> Any:
    """Returns the class of a tree, under which its kind of containers is known."""
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and issubclass(kind, tuple) and hasattr(kind, "_fields") else kind


def _kind(tree: Any, is_leaf: Callable[[Any], bool] | None) -> NodeDef | None:
    if is_leaf is not None and is_leaf(tree):
        return None
    return SUPPORTED_NODES.get(_get_node_type(tree))


@dataclasses.dataclass
class TreeSpec:
    """The form of a tree: its container, what makes it again, and the forms of its children."""

    type: Any
    context: Any
    children_specs: list[TreeSpec]

    @property
    def num_leaves(self) -> int:
        """Returns the number of leaves."""
        return 1 if self.type is None else sum(each.num_leaves for each in self.children_specs)

    @property
    def num_nodes(self) -> int:
        """Returns the number of containers and leaves."""
        return 1 + sum(each.num_nodes for each in self.children_specs)

    @property
    def num_children(self) -> int:
        """Returns the number of what the outermost container holds."""
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """True for the form of a leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Returns a tree of the form, as :func:`tree_unflatten` does."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """Returns what stands in a tree where this form has its leaves, and may go on below them.

        Raises:
            ValueError: a container is of another kind, or holds other keys or another number of children.
        """
        if self.type is None:
            return [tree]
        parts = zip(_children_in(tree, self), self.children_specs, strict=True)
        return [found for child, spec in parts for found in spec.flatten_up_to(child)]


#: Kinds of dicts, which stand for each other: their children are found by their keys.
_DICTS = (dict, OrderedDict, defaultdict)


def _children_in(tree: Any, spec: TreeSpec) -> list[Any]:
    """Returns the children of a container in the order of a form, which it has to fit."""
    if spec.type in _DICTS and type(tree) in _DICTS:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(keys) != set(tree):
            raise ValueError(f"[tree_map] a dict has the keys {list(tree)}, the first tree has {list(keys)} there")
        return [tree[key] for key in keys]
    if type(tree) is not spec.type:
        raise ValueError(f"[tree_map] got a {type(tree).__name__} where the first tree has a {spec.type.__name__}")
    found, context = SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)
    children = list(found)
    if len(children) != spec.num_children:
        raise ValueError(
            f"[tree_map] a {spec.type.__name__} holds {len(children)} children, the first tree has "
            f"{spec.num_children} there"
        )
    if spec.type is not deque and context != spec.context:
        raise ValueError(
            f"[tree_map] a {spec.type.__name__} is made again by {context}, that of the first tree by {spec.context}"
        )
    return children


class LeafSpec(TreeSpec):
    """The form of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Returns the leaves of a tree, and its form; ``is_leaf`` says of containers that they are leaves."""
    kind = _kind(tree, is_leaf)
    if kind is None:
        return [tree], LeafSpec()
    children, context = kind[0](tree)
    leaves: list[Any] = []
    specs = []
    for child in children:
        found, spec = tree_flatten(child, is_leaf)
        leaves += found
        specs.append(spec)
    return leaves, TreeSpec(type(tree), context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Returns a tree of a form.

    Raises:
        ValueError: the form has another number of leaves.
    """
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(f"[tree_unflatten] the tree has {treespec.num_leaves} leaves, {len(given)} are given")
    return _made(iter(given), treespec)


def _made(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    known = SUPPORTED_NODES.get(spec.type) or SUPPORTED_NODES[namedtuple]
    make = known.unflatten_fn
    return make([_made(leaves, child) for child in spec.children_specs], spec.context)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Returns the leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Returns the form of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """Returns a tree of the function of each leaf, and of what stands at its place in other trees.

    Raises:
        ValueError: another tree does not have the form of the first one down to its leaves.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(each) for each in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """Calls a function with each leaf, and the leaves at its place in other trees; returns the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_iter(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> Iterable[Any]:
    """Yields the leaves of a tree."""
    return iter(tree_leaves(tree, is_leaf))


def tree_leaves_with_path(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None, _at: KeyPath = ()
) -> list[tuple[KeyPath, Any]]:
    """Returns the leaves of a tree, each behind the keys that lead to it."""
    kind = _kind(tree, is_leaf)
    if kind is None:
        return [(_at, tree)]
    children = list(kind[0](tree)[0])
    keys = keys_of(tree, len(children), _WITH_KEYS.get(type(tree)))
    found = (tree_leaves_with_path(x, is_leaf, (*_at, key)) for key, x in zip(keys, children, strict=True))
    return [pair for pairs in found for pair in pairs]


def tree_flatten_with_path(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Returns the leaves of a tree, each behind the keys that lead to it, and its form."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """Returns a tree of the function of each leaf behind its keys, and of what stands at its place in other trees."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(each) for each in rests]
    return tree_unflatten([func(*pair, *rest) for pair, *rest in zip(found, *others, strict=True)], spec)


def _only(kind: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    def call(leaf: Any) -> Any:
        fits = isinstance(leaf, kind) if isinstance(kind, (type, tuple)) else kind(leaf)
        return func(leaf) if fits else leaf

    return call


def tree_map_only(
    type_or_types_or_pred: Any, func: Callable[..., Any], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """Returns a tree of the function of the leaves of a type, or of which a function is true; others stay."""
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """True if a function is true of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """True if a function is true of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


__getattr__ = close_module(__name__)
