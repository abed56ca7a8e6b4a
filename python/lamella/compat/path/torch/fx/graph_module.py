"""Modules that run a graph, by code that is made from it."""

from __future__ import annotations

import copy
import itertools
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lamella as lm
from lamella.nn import Module

from .graph import Graph, PythonCode
from .node import Node, map_arg

_counter = itertools.count()


#: The entry of a module's ``meta`` with attributes that copies keep.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(Module):
    """A module of the attributes of another one, for subclasses that copy themselves.

    Args:
        body: the attributes.
    """

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Puts what a dotted name of a module means under the same name of another one, with modules in between."""
    *path, name = target.split(".")
    for part in path:
        from_module = getattr(from_module, part)
        if getattr(to_module, part, None) is from_module:
            return  # the whole part is there
        if part not in to_module._modules:
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    _assign(to_module, name, getattr(from_module, name))


def _assign(module: Module, name: str, value: Any) -> None:
    if isinstance(value, lm.Tensor) and not isinstance(value, lm.nn.Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _assign_attr(value: Any, module: Module, target: str) -> None:
    """Sets what a dotted name of a module means, with modules in between."""
    *path, name = target.split(".")
    for part in path:
        if part not in module._modules:
            setattr(module, part, Module())
        module = getattr(module, part)
    _assign(module, name, value)


def _compiled(code: PythonCode) -> Callable[..., Any]:
    """Returns the function of a source text; tracebacks show its lines."""
    filename = f"<graph {next(_counter)}>"
    linecache.cache[filename] = (len(code.src), None, code.src.splitlines(keepends=True), filename)
    names = dict(code.globals)
    exec(compile(code.src, filename, "exec"), names)
    function: Callable[..., Any] = names["forward"]
    return function


class GraphModule(Module):
    """A module whose ``forward`` is code that is made from a graph.

    Args:
        root: the module that has what the graph names, or a dict of it by dotted names.
        graph: the graph. After changes, :meth:`recompile` makes new code.
        class_name: the name of the class of this module, of which it is the only one.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Makes a module with a class of its own, as its ``forward`` is its own."""
        own = next(each for each in cls.__mro__ if "_of_one_module" not in vars(each))
        made = type(own.__name__, (own,), {"_of_one_module": True, "__module__": own.__module__})
        return super().__new__(made)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        targets = [str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        else:
            missing = [target for target in targets if target not in root]
            if missing:
                raise RuntimeError(f"[GraphModule] the graph uses '{missing[0]}', which root does not have")
            # Those nearer to the root first, as others go into them.
            for target in sorted(set(targets), key=lambda each: each.count(".")):
                _assign_attr(root[target], self, target)
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {}))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; can be set. A graph that another module owns is copied."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise TypeError(f"[GraphModule] graph is a Graph, not a {type(g).__name__}")
        tracer_cls = g._tracer_cls
        if g.owning_module is not None and g.owning_module is not self:
            g = copy.deepcopy(g)
        g.owning_module = self
        self._graph = g
        self._tracer_cls = tracer_cls
        self.recompile()

    @property
    def code(self) -> str:
        """The code of ``forward``."""
        return str(self._code)

    def recompile(self) -> PythonCode:
        """Makes the code of the graph as it is now, and returns it."""
        made = self._graph.python_code("self")
        self._code = made.src
        own: Any = type(self)
        own.forward = _compiled(made)
        return made

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """Returns, and prints, the module as the source of a class."""
        body = "".join(f"    {line}" for line in self.code.splitlines(keepends=True))
        text = f"class {type(self).__name__}(torch.nn.Module):\n{body}"
        if print_output:
            print(text)
        return text

    # ---- modules below

    def add_submodule(self, target: str, m: Module) -> bool:
        """Adds a module at a dotted name, with modules in between; False where something else stands in the way."""
        *path, name = target.split(".")
        owner: Any = self
        for part in path:
            if not hasattr(owner, part):
                setattr(owner, part, Module())
            owner = getattr(owner, part)
            if not isinstance(owner, Module):
                return False
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Deletes the module at a dotted name; False where there is none."""
        path, _, name = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
        except AttributeError:
            return False
        if name not in owner._modules:
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Deletes the modules that the graph does not call and has no attributes of."""
        used: set[str] = set()
        for node in self._graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:k]) for k in range(1, len(parts) + 1))
            if node.op == "call_module":
                called = self.get_submodule(str(node.target))
                used.update(f"{node.target}.{path}" for path, _ in called.named_modules() if path)
        for path, _ in list(self.named_modules()):
            if path and path not in used:
                self.delete_submodule(path)

    # ---- copies and files

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        Module.__init__(made)
        type(made).__name__ = type(self).__name__
        for name, value in vars(self).items():
            if name != "_graph":
                made.__dict__[name] = copy.deepcopy(value, memo)
        made.graph = copy.deepcopy(self._graph)
        for new, old in zip(made.graph.nodes, self._graph.nodes, strict=True):
            new.meta = copy.copy(old.meta)
        return made

    def __copy__(self) -> Any:
        return GraphModule(self, copy.deepcopy(self._graph), type(self).__name__)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in vars(self).items() if name not in ("_graph", "_code")}
        return _rebuilt, (state, _steps(self._graph), type(self).__name__)

    def to_folder(self, folder: str | Path, module_name: str = "FxModule") -> None:
        """Writes the code as a package with a class of a module, and the tensors that it reads.

        Args:
            folder: the folder, which is made.
            module_name: the name of the class.

        Raises:
            NotImplementedError: the code names what no module path leads to.
        """
        from ..serialization import save

        made = self._graph.python_code("self")
        foreign = [name for name, value in made.globals.items() if getattr(value, "__name__", "") != name]
        if foreign:
            raise NotImplementedError(f"[to_folder] the code uses '{foreign[0]}', which has no path to import it by")
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        save(dict(self._modules), place / "modules.pt")
        save({**self._parameters, **self._buffers}, place / "tensors.pt")
        imports = "".join(f"import {name}\n" for name in sorted({"torch", *made.globals}))
        body = "".join(f"    {line}" for line in made.src.splitlines(keepends=True))
        (place / "module.py").write_text(_FILE.format(imports=imports, name=module_name, body=body), "utf-8")
        (place / "__init__.py").write_text(f"from .module import {module_name}\n", "utf-8")


_FILE = """\
from pathlib import Path

{imports}

class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        here = Path(__file__).parent
        for name, module in torch.load(here / "modules.pt", weights_only=False).items():
            self.add_module(name, module)
        for name, tensor in torch.load(here / "tensors.pt", weights_only=False).items():
            if isinstance(tensor, torch.nn.Parameter):
                setattr(self, name, tensor)
            else:
                self.register_buffer(name, tensor)

{body}"""


class _Reference:
    """Stands for a node among the arguments of pickled steps."""

    def __init__(self, name: str) -> None:
        self.name = name


def _steps(graph: Graph) -> list[tuple[Any, ...]]:
    """Returns the nodes of a graph as plain data: nodes refer to each other, which a long graph would pickle deeply."""

    def refer(node: Node) -> _Reference:
        return _Reference(node.name)

    return [
        (node.op, node.name, node.target, map_arg(node.args, refer), map_arg(node.kwargs, refer), node.type)
        for node in graph.nodes
    ]


def _rebuilt(state: dict[str, Any], steps: list[tuple[Any, ...]], class_name: str) -> GraphModule:
    """Returns a module that was pickled."""
    from .node import map_aggregate

    graph = Graph()
    nodes: dict[str, Node] = {}

    def node_of(a: Any) -> Any:
        return nodes[a.name] if isinstance(a, _Reference) else a

    for op, name, target, args, kwargs, annotation in steps:
        args, kwargs = map_aggregate(args, node_of), map_aggregate(kwargs, node_of)
        nodes[name] = graph.create_node(op, target, args, kwargs, name, annotation)
    made: GraphModule = GraphModule.__new__(GraphModule)
    Module.__init__(made)
    type(made).__name__ = class_name
    made.__dict__.update(state)
    made.graph = graph
    return made
