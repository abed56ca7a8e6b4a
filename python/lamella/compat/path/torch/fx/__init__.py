"""Functions and modules as graphs that programs look at and change: :func:`symbolic_trace` and what it returns.

A function is called once with proxies, which note what is done with them (``_symbolic_trace``, ``proxy``). Its graph
(``graph``, ``node``) is run by code that is made from it (``graph_module``), or node by node (``interpreter``).
"""

# ruff: noqa: F401 (the names are the module's surface)

from importlib import import_module

from lamella.compat.front import close_module

from . import graph_module, immutable_collections, interpreter, node, passes, proxy, subgraph_rewriter
from ._symbolic_trace import Tracer, symbolic_trace, wrap
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

_missing = close_module(__name__)


def __getattr__(name: str) -> object:
    if name == "experimental":
        return import_module(f"{__name__}.{name}")
    return _missing(name)
