"""Python code of graphs."""

from __future__ import annotations

import builtins
import enum
import keyword
import math
import operator
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import lamella as lm

from .node import Argument, Node, map_aggregate, name_of

if TYPE_CHECKING:
    from .graph import Graph

_OPERATORS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "truediv": "{} / {}",
    "floordiv": "{} // {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "matmul": "{} @ {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "gt": "{} > {}",
    "ge": "{} >= {}",
    "getitem": "{}[{}]",
    "neg": "-{}",
    "pos": "+{}",
    "invert": "~{}",
}
#: How calls of functions of the module ``operator`` are written, by the functions.
_FORMS = {getattr(operator, name): form for name, form in _OPERATORS.items()}


class PythonCode(NamedTuple):
    """The code of a graph, and what its global names mean."""

    src: str
    globals: dict[str, Any]


class Namespace:
    """Names that are unique, and none of Python's own.

    Names end in ``_1``, ``_2`` and so on where they would be there twice.
    """

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._last: dict[str, int] = {}

    def new(self, wanted: str) -> str:
        """Returns a name like the one wanted, which nothing has yet."""
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        if not name or name[0].isdigit():
            name = f"_{name}"
        stem, _, number = name.rpartition("_")
        if stem and number.isdigit() and name in self._used:
            name = stem
        base = name
        while name in self._used or keyword.iskeyword(name) or hasattr(builtins, name) or name in ("self", "torch"):
            self._last[base] = self._last.get(base, 0) + 1
            name = f"{base}_{self._last[base]}"
        self._used.add(name)
        return name


class _Text:
    """Source text, which is its own ``repr``."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Writer:
    """Writes the code of a graph.

    Args:
        graph: the graph.
        root_module: the name of the module in the code: "self".
    """

    def __init__(self, graph: Graph, root_module: str) -> None:
        self.graph = graph
        self.root = root_module
        self.globals: dict[str, Any] = {}
        self._names = {node.name for node in graph.nodes}

    def code(self) -> PythonCode:
        """Returns the function ``forward`` as source text, and its global names."""
        last_uses = self._last_uses()
        parameters, lines = [self.root], []
        for node in self.graph.nodes:
            if node.op == "placeholder":
                parameters.append(self._parameter(node))
                stars = str(node.target).lstrip("*")
                text = "" if stars == node.name else f"{node.name} = {stars}"
            else:
                text = self._line(node)
            done = [each.name for each in last_uses.get(node, ())]
            if done and node.op != "output":
                text += (";  " if text else "") + " = ".join([*done, "None"])
            if text:
                lines.append(f"    {text}\n")
        head = f"def forward({', '.join(parameters)}):\n"
        return PythonCode(head + ("".join(lines) or "    pass\n"), self.globals)

    def _last_uses(self) -> dict[Node, list[Node]]:
        """Returns, by node, the values that nobody needs after it: the code gives them up there."""
        found: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for node in reversed(self.graph.nodes):
            if node.op == "placeholder":
                continue
            for each in node.all_input_nodes:
                if each not in seen:
                    seen.add(each)
                    found.setdefault(node, []).append(each)
            if not node.users and node.op != "output":
                found.setdefault(node, []).append(node)
        return found

    def _parameter(self, node: Node) -> str:
        name = str(node.target)
        return f"{name} = {self.text(node.args[0])}" if node.args else name

    def _line(self, node: Node) -> str:
        if node.op == "output":
            return f"return {self.text(node.args[0] if node.args else None)}"
        return f"{node.name} = {self._expression(node)}"

    def _expression(self, node: Node) -> str:
        args = list(node.args)
        if node.op == "get_attr":
            return self._attribute(str(node.target))
        if node.op == "call_module":
            return f"{self._attribute(str(node.target))}({self._arguments(args, node.kwargs)})"
        if node.op == "call_method":
            owner = self.text(args[0])
            return f"{owner}.{node.target}({self._arguments(args[1:], node.kwargs)})"
        form = _FORMS.get(node.target) if not isinstance(node.target, str) else None
        if form is not None and form.count("{}") == len(args) and not node.kwargs:
            return form.format(*(self._operand(each) for each in args))
        if node.target is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{self._operand(args[0])}.{args[1]}"
        return f"{self._function(node.target)}({self._arguments(args, node.kwargs)})"

    def _attribute(self, target: str) -> str:
        """Returns the expression of a dotted name, whose parts may be numbers."""
        text = self.root
        for part in target.split("."):
            usual = part.isidentifier() and not keyword.iskeyword(part)
            text = f"{text}.{part}" if usual else f"getattr({text}, {part!r})"
        return text

    def _arguments(self, args: list[Argument], kwargs: dict[str, Argument]) -> str:
        given = [self.text(each) for each in args]
        return ", ".join([*given, *(f"{name} = {self.text(each)}" for name, each in kwargs.items())])

    def _operand(self, a: Argument) -> str:
        text = self.text(a)
        return f"({text})" if isinstance(a, (int, float, complex)) and text.startswith("-") else text

    def text(self, a: Argument) -> str:
        """Returns an argument as source text."""
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return f"{self._global(type(a).__name__, type(a))}({', '.join(map(self.text, a))})"
        return repr(map_aggregate(a, self._leaf))

    def _leaf(self, a: Any) -> _Text:
        if isinstance(a, Node):
            return _Text(a.name)
        if isinstance(a, float) and not math.isfinite(a):
            return _Text(f"float('{a}')")
        if a is None or a is Ellipsis or type(a) in (bool, int, float, complex, str, bytes):
            return _Text("..." if a is Ellipsis else repr(a))
        if isinstance(a, lm.DType):
            self.globals["torch"] = sys.modules["torch"]
            return _Text(f"torch.{a.name}")
        if isinstance(a, type) or (callable(a) and not isinstance(a, enum.Enum)):
            return _Text(self._function(a))
        return _Text(self._global(type(a).__name__.lower(), a))

    def _function(self, target: Any) -> str:
        """Returns an expression for a function or class: by its path where that leads to it, else by a global name."""
        name = getattr(target, "__name__", "")
        if name and getattr(builtins, name, None) is target:
            return str(name)
        for path in _paths(target):
            if _at(path) is target:
                module = path.partition(".")[0]
                if module not in self._names:
                    self.globals[module] = sys.modules[module]
                    return path
        return self._global(getattr(target, "__name__", type(target).__name__), target)

    def _global(self, hint: str, value: Any) -> str:
        """Returns the global name of a value."""
        for name, each in self.globals.items():
            if each is value:
                return name
        name = self.graph._namespace.new(hint)
        self.globals[name] = value
        return name


def _paths(target: Any) -> list[str]:
    """Returns the dotted names at which a function or class may be found."""
    path = name_of(target)
    # Functions of the front that are written in modules of its own are shown by the package.
    shown = [f"{home}.{path.rpartition('.')[2]}" for home in ("torch", "torch.nn.functional")]
    if not path.startswith(("torch.", "lamella.")):
        return [path]
    return [*shown, path] if "._" in path else [path, *shown]


def _at(path: str) -> Any:
    """Returns what is at a dotted name below a loaded module, or None."""
    first, *parts = path.split(".")
    value: Any = sys.modules.get(first)
    for part in parts:
        value = value.__dict__.get(part) if value is not None and hasattr(value, "__dict__") else None
    return value
