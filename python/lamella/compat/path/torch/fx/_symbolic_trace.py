"""Tracing: a function is called once with proxies, and what it does with them becomes a graph."""

from __future__ import annotations

import collections
import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import lamella as lm
from lamella.nn import Module

from .._exchange import LOCK
from .._plain import _assert
from ._patching import WRAPPED, functions_ask, modules_ask
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate
from .proxy import ParameterProxy, Proxy, TraceError


class TracerBase:
    """Makes nodes and proxies.

    Attributes:
        graph: the graph that nodes go into.
        root: the module that is traced.
    """

    graph: Graph
    root: Module
    #: True makes buffers of modules steps, too, in place of constants.
    proxy_buffer_attributes = False
    #: True notes in ``node.meta["stack_trace"]`` which line of the program made a node.
    record_stack_traces = False

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Makes a node of the graph."""
        made = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.record_stack_traces:
            made.meta["stack_trace"] = _where()
        return made

    def proxy(self, node: Node) -> Proxy:
        """Returns a proxy of a node."""
        return Proxy(node, self)  # type: ignore[arg-type]

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Makes a node that is given what the proxies among the arguments stand for, and returns its proxy."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """Returns a value as an argument of a node."""
        return map_aggregate(a, lambda each: each.node if isinstance(each, Proxy) else each)

    def to_bool(self, obj: Proxy) -> bool:
        """Called where a proxy decides what is done.

        Raises:
            TraceError: always, unless a subclass knows better.
        """
        raise TraceError(
            f"[trace] what is done depends on '{obj.node.name}', which is not known while the function is traced: "
            "give it by concrete_args, or make the function that asks a leaf by torch.fx.wrap"
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called where a proxy is iterated over.

        Raises:
            TraceError: always, unless a subclass knows better.
        """
        raise TraceError(
            f"[trace] '{obj.node.name}' cannot be iterated over, as its length is not known while the function is "
            "traced: assign it to a number of names, or take its elements by index"
        )

    def keys(self, obj: Proxy) -> Any:
        """Called where the keys of a proxy are asked for.

        Raises:
            TraceError: always, unless a subclass knows better.
        """
        raise TraceError(f"[trace] the keys of '{obj.node.name}' are not known while the function is traced")


class GraphAppendingTracer(TracerBase):
    """Appends what is done with proxies to a graph that is there.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Tracer(TracerBase):
    """Traces functions and modules: subclasses say which modules stay whole, and how calls become nodes.

    Args:
        autowrap_modules: modules of Python whose functions are steps where a proxy is among their arguments.
        autowrap_functions: further functions that are.
        param_shapes_constant: not used: the shapes of parameters are known.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_modules = autowrap_modules
        self._autowrap_functions = autowrap_functions
        #: The modules whose calls are going on, by their paths.
        self.module_stack: collections.OrderedDict[str, type] = collections.OrderedDict()

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """Returns the graph of a module or function.

        Args:
            root: the module or function.
            concrete_args: by name, what arguments are in the graph, which holds for these values only.

        Raises:
            TraceError: what is done depends on values that are not known.
        """
        self.root = root if isinstance(root, Module) else Module()
        function: Any = root.forward if isinstance(root, Module) else root
        self.graph = Graph(tracer_cls=type(self))
        self._tensors: dict[int, tuple[str, Any]] = {}
        self._constants = 0
        for name, tensor in [*self.root.named_buffers(), *self.root.named_parameters()]:
            self._tensors[id(tensor)] = (name, tensor)
        self._paths = {id(module): path for path, module in self.root.named_modules()}
        function, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        names = getattr(_function_of(function), "__globals__", {})
        with LOCK, functions_ask([names], self._autowrap_modules, self._autowrap_functions), modules_ask(self):
            result = function(*args)
            self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: dict[str, Any] | None = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Makes the inputs of the graph, and returns a function of these that does what is traced, and the inputs."""
        known = concrete_args or {}
        given: dict[str, Any] = {}
        signature = inspect.signature(root_fn).parameters
        unknown = known.keys() - signature.keys()
        if unknown:
            raise ValueError(f"[trace] concrete_args has '{min(unknown)}', which is no argument of the function")
        for name, each in signature.items():
            default = () if each.default is inspect.Parameter.empty else (each.default,)
            default = (known[name],) if name in known else default
            given[name] = self.create_proxy("placeholder", f"{_STARS.get(each.kind, '')}{name}", default, {})
            if name in known:
                given[name] = self._known(given[name], known[name])
        return _by_position(root_fn, signature), list(given.values())

    def _known(self, proxy: Proxy, value: Any) -> Any:
        """Returns the value of an argument for which alone the graph holds, which it checks where that is simple."""
        if isinstance(value, (bool, int, float, str)):
            message = f"the graph of '{proxy.node.name}' is the one for {value!r}, and got another value"
            self.create_proxy("call_function", _assert, (proxy == value, message), {})
        return value

    # ---- what subclasses may replace

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """True for modules whose calls are one step: by default the framework's layers, but for containers."""
        own = type(m).__module__.startswith(("torch.nn", "lamella.nn"))
        return own and not isinstance(m, lm.nn.Sequential)

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Makes a node of a call of a module, or calls it so that its own steps become nodes."""
        path = self.path_of_module(m)
        self.module_stack[path] = type(m)
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.popitem()

    def path_of_module(self, mod: Module) -> str:
        """Returns the dotted name of a module below the root.

        Raises:
            NameError: it is not there.
        """
        path = self._paths.get(id(mod))
        if path is None:
            raise NameError(
                f"[trace] a {type(mod).__name__} is called that is no part of the {type(self.root).__name__}: "
                "set it as an attribute"
            )
        return path

    def knows(self, mod: Module) -> bool:
        """True for modules below the root."""
        return id(mod) in self._paths

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Returns what a module gives for the name of a parameter, a buffer or a module: of parameters, a proxy.

        Args:
            attr: the name.
            attr_val: what it means.
            parameter_proxy_cache: the proxies of parameters that were looked up before, by their dotted names.
        """
        shown = isinstance(attr_val, lm.nn.Parameter)
        if not shown and not (self.proxy_buffer_attributes and isinstance(attr_val, lm.Tensor)):
            return attr_val
        path = self._tensors.get(id(attr_val), (None,))[0]
        if path is None:
            return attr_val
        if path not in parameter_proxy_cache:
            node = self.create_node("get_attr", path, (), {})
            parameter_proxy_cache[path] = ParameterProxy(self, node, path, attr_val)
        return parameter_proxy_cache[path]

    def create_arg(self, a: Any) -> Argument:
        """Returns a value as an argument of a node: of tensors, the attribute of the root that holds them."""
        return map_aggregate(a, self._leaf)

    def _leaf(self, a: Any) -> Argument:
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if not isinstance(a, lm.Tensor):
            return a
        if id(a) not in self._tensors:
            while hasattr(self.root, f"_tensor_constant{self._constants}"):
                self._constants += 1
            name = f"_tensor_constant{self._constants}"
            self._tensors[id(a)] = (name, a)
            setattr(self.root, name, a)
        return self.create_node("get_attr", self._tensors[id(a)][0], (), {})


_STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def _function_of(function: Any) -> Any:
    """Returns the function behind decorators and methods."""
    function = inspect.unwrap(function)
    return getattr(function, "__func__", function)


def _by_position(function: Callable[..., Any], signature: Mapping[str, inspect.Parameter]) -> Callable[..., Any]:
    """Returns a function that takes all arguments by position: what ``*args`` and ``**kwargs`` are as one each."""
    named = [name for name, each in signature.items() if each.kind is inspect.Parameter.KEYWORD_ONLY]
    if not any(each.kind in _STARS for each in signature.values()):
        first = len(signature) - len(named)
        return lambda *args: function(*args[:first], **dict(zip(named, args[first:], strict=True)))
    plain = _function_of(function)
    code = plain.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    stars = [each.kind for each in signature.values() if each.kind in _STARS]
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    code = code.replace(co_argcount=count + len(stars), co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=flags)
    made = FunctionType(code, plain.__globals__, plain.__name__, None, plain.__closure__)
    owner = getattr(function, "__self__", None)
    names = [name for name in code.co_varnames[: code.co_argcount] if name in signature]
    order = [list(signature).index(name) for name in names]
    return lambda *args: made(*([] if owner is None else [owner]), *(args[k] for k in order))


def _where() -> str:
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("torch", "lamella"):
        frame = frame.f_back
    return "" if frame is None else f'  File "{frame.f_code.co_filename}", line {frame.f_lineno}'


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Returns a module that does what a module or function does, as a graph that can be looked at and changed.

    Args:
        root: the module or function: it is called once, with proxies.
        concrete_args: by name, what arguments are in the graph, which holds for these values only.

    Raises:
        TraceError: what is done depends on values that are not known.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Makes calls of a function of this module steps of graphs, in place of what the function does.

    Called at the top of a module, with a name of it (``wrap("len")``), or as a decorator of its functions.

    Raises:
        NotImplementedError: called within a function.
        RuntimeError: given neither a name nor a function.
    """
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", None)
    if name is None:
        raise RuntimeError("[wrap] takes the name of a function, or the function")
    frame: Any = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("[wrap] is called at the top of a module")
    WRAPPED.append((frame.f_globals, name))
    return fn_or_name
