"""Nodes: the steps of a :class:`~torch.fx.Graph`."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

#: What a node calls: a function, or the name of a method, an attribute or an input.
Target = Callable[..., Any] | str
#: What a node is given: numbers, text, dtypes, other nodes, and lists, tuples, dicts and slices of these.
Argument = Any

#: What the steps of a graph may be.
OPS = frozenset(["placeholder", "get_attr", "call_function", "call_method", "call_module", "output"])

#: Functions that are kept where nobody uses their results.
_WITH_EFFECTS: set[Callable[..., Any]] = {print, setattr}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps calls of a function in graphs where nobody uses their results; returns the function."""
    _WITH_EFFECTS.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Any], Any]) -> Argument:
    """Returns an argument with ``fn`` of each leaf of its lists, tuples, dicts and slices in the leaf's place."""
    if isinstance(a, tuple):
        parts = [map_aggregate(each, fn) for each in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict((name, map_aggregate(each, fn)) for name, each in a.items())
    if isinstance(a, slice):
        return slice(*(map_aggregate(each, fn) for each in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Any]) -> Argument:
    """Returns an argument with ``fn`` of each node in the node's place."""
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


class Node:
    """One step of a graph: an input, an attribute, a call, or the output.

    Attributes:
        graph: the graph that it stands in.
        name: its name, unique in the graph: that of the variable that holds its value in the generated code.
        op: "placeholder" (an input), "get_attr" (a tensor of the module), "call_function", "call_method" (of its first
            argument), "call_module" or "output".
        target: the function of a "call_function", else a name: of the input, of the method, or the dotted one of the
            attribute or module.
        users: the nodes that are given its value, in the order in which they came; the values are None.
        type: what annotations say of its value, or None.
        meta: what passes note about it, such as "tensor_meta" of :class:`torch.fx.passes.shape_prop.ShapeProp`.
    """

    def __init__(
        self, graph: Graph, name: str, op: str, target: Target, args: Any, kwargs: Any, return_type: Any = None
    ) -> None:
        if op not in OPS:
            raise ValueError(f"[Node] op is one of {', '.join(sorted(OPS))}, not {op!r}")
        if (op == "call_function") != callable(target):
            raise ValueError(f"[Node] target of a {op} is a {'function' if op == 'call_function' else 'name'}")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.users: dict[Node, None] = {}
        self.type = return_type
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._set(tuple(args), dict(kwargs))

    # ---- arguments

    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments by position; can be set."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._set(tuple(args), self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name; can be set."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._set(self._args, dict(kwargs))

    def _set(self, args: Any, kwargs: Any) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = map_arg(args, use)
        self._kwargs = map_arg(kwargs, use)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose values it is given, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replaces one argument that is given by position."""
        self.args = (*self._args[:idx], arg, *self._args[idx + 1 :])

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Puts an argument in front of the one at a position."""
        if not 0 <= idx <= len(self._args):
            raise IndexError(f"[insert_arg] idx is 0 to {len(self._args)}, not {idx}")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replaces one argument that is given by name, or adds it."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Gives the call another node wherever it was given ``old_input``."""

        def new(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self._args, new), map_arg(self._kwargs, new))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Gives all users another node in this one's place.

        Args:
            replace_with: the other node.
            delete_user_cb: returns False for users that keep this node.
            propagate_meta: True lets the other node have this one's :attr:`meta`.

        Returns:
            The users that got the other node.
        """
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # ---- the place in the graph

    @property
    def prev(self) -> Node:
        """The node before it."""
        return self._prev

    @property
    def next(self) -> Node:
        """The node behind it."""
        return self._next

    def prepend(self, x: Node) -> None:
        """Moves a node of the same graph in front of this one."""
        if x.graph is not self.graph:
            raise RuntimeError(f"[prepend] {x.name} is a node of another graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Moves a node of the same graph behind this one."""
        if self._next is not x:
            self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    def __lt__(self, other: Node) -> bool:
        """True if the node stands before another one of its graph."""
        order = {node: place for place, node in enumerate(self.graph.nodes)}
        return order[self] < order[other]

    # ---- what it is

    def is_impure(self, impure_random: bool = True) -> bool:
        """True if it stays where nobody uses its value: inputs, the output, what checks, prints or writes."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            writes = name.endswith("_") and not name.endswith("__")
            return self.target in _WITH_EFFECTS or name in ("_assert", "setitem") or writes
        if self.op == "call_method":
            name = str(self.target)
            return (name.endswith("_") and not name.endswith("__")) or name == "__setitem__"
        return self.op == "call_module" and bool(getattr(self._module(), "is_impure", False))

    def _module(self) -> Any:
        owner = self.graph.owning_module
        try:
            return None if owner is None else owner.get_submodule(str(self.target))
        except AttributeError:
            return None

    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that made the node, where the tracer noted them."""
        return self.meta.get("stack_trace")

    def format_node(self, placeholder_names: list[str] | None = None) -> str:
        """Returns the node as a line of text; names of inputs go into ``placeholder_names``."""
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(self.name)
            default = f"(default={self.args[0]!r})" if self.args else ""
            return f"%{self.name} : [num_users={len(self.users)}] = placeholder[target={self.target}]{default}"
        if self.op == "output":
            return f"return {_text(self.args[0] if self.args else None)}"
        line = f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={name_of(self.target)}]"
        return line if self.op == "get_attr" else f"{line}(args = {_text(self.args)}, kwargs = {_text(self.kwargs)})"

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return id(self)


def _text(a: Argument) -> str:
    class Shown:
        def __init__(self, node: Node) -> None:
            self.text = f"%{node.name}"

        def __repr__(self) -> str:
            return self.text

    return repr(map_arg(a, Shown))


def name_of(target: Target) -> str:
    """Returns the name of what a node calls, behind that of its module: ``torch.nn.functional.relu``."""
    if isinstance(target, str):
        return target
    name = getattr(target, "__name__", None)
    if name is None:
        return type(target).__name__
    if getattr(builtins, name, None) is target:
        return name
    if isinstance(target, types.MethodDescriptorType):
        return f"torch.Tensor.{name}"
    module = getattr(target, "__module__", None) or ""
    return f"{module.replace('_operator', 'operator')}.{getattr(target, '__qualname__', name)}".lstrip(".")
