"""Calls that make nodes while a function is traced: of functions of tensors, wrapped functions, and modules.

Functions ask their arguments for proxies only while something is traced, and are the same objects then
(``torch._exchange``), so that passes find them in their tables: ``node.target is torch.relu``.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lamella.nn import Module
from lamella.nn.module import quicken

from .._exchange import HOMES, Exchanges, functions_of
from .._taking_over import handed_on
from .node import map_aggregate
from .proxy import Proxy

if TYPE_CHECKING:
    from ._symbolic_trace import Tracer

#: Functions that :func:`torch.fx.wrap` has named: the globals of their module, and the name.
WRAPPED: list[tuple[dict[str, Any], str]] = []


def first_proxy(*arguments: Any) -> Proxy | None:
    """Returns the first proxy among arguments and what is in them, or None."""
    found: list[Proxy] = []
    map_aggregate(arguments, lambda each: found.append(each) if isinstance(each, Proxy) else None)
    return found[0] if found else None


def _asking(target: Callable[..., Any], body: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that makes a node with a target of a call with a proxy, and runs a body otherwise."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        proxy = first_proxy(args, kwargs)
        if proxy is None:
            return body(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", target, *handed_on(target, args, kwargs, body))

    return answer


class _Patches(Exchanges):
    """Functions that ask for proxies for a while."""

    def ask_at(self, table: dict[str, Any], name: str) -> None:
        """Has what a name means ask for proxies; functions of Python's own do so under that name only."""
        function = table[name] if name in table else getattr(builtins, name)
        if isinstance(function, types.FunctionType):
            self.replace(function, _asking)
        else:
            self.put(table, name, _asking(function, function))


@contextlib.contextmanager
def functions_ask(
    tables: Iterable[dict[str, Any]] = (),
    modules: Iterable[types.ModuleType] = (),
    functions: Iterable[Callable[..., Any]] = (),
) -> Iterator[None]:
    """Has functions of tensors, and wrapped ones, make nodes of calls with proxies while the block runs.

    Args:
        tables: global names, under which functions of Python's own may be.
        modules: modules whose functions do so, too.
        functions: further such functions.
    """
    patches = _Patches()
    try:
        wanted: dict[int, Any] = {id(each): each for each in [*functions, *functions_of()]}
        for home in HOMES:
            patches.replace_later(home, _asking)
        for function in wanted.values():
            if isinstance(function, types.FunctionType):
                patches.replace(function, _asking)
        plain = {id(each): each for module in modules for each in vars(module).values()}
        plain.update((key, each) for key, each in wanted.items() if not isinstance(each, types.FunctionType))
        for table in [*tables, *map(vars, modules)]:
            for name, value in list(table.items()):
                if id(value) in plain and isinstance(value, types.BuiltinFunctionType):
                    patches.ask_at(table, name)
        for table, name in WRAPPED:
            patches.ask_at(table, name)
        yield
    finally:
        patches.undo()


@contextlib.contextmanager
def modules_ask(tracer: Tracer) -> Iterator[None]:
    """Hands this thread's calls of modules, and the parameters that it looks up, to a tracer while the block runs."""
    thread = threading.get_ident()
    native_call: Any = Module.__call__
    native_getattr: Any = Module.__getattr__
    known: dict[str, Proxy] = {}

    def call(self: Module, *args: Any, **kwargs: Any) -> Any:
        foreign = threading.get_ident() != thread
        if foreign or (first_proxy(args, kwargs) is None and not tracer.knows(self)):
            return native_call(self, *args, **kwargs)  # such as a module that was made on the way to a constant
        return tracer.call_module(self, functools.partial(native_call, self), args, kwargs)

    def get(self: Module, name: str) -> Any:
        value = native_getattr(self, name)
        return value if threading.get_ident() != thread else tracer.getattr(name, value, known)

    kind: Any = Module
    inherited = "__call__" not in vars(Module)
    kind.__call__, kind.__getattr__ = call, get
    try:
        yield
    finally:
        kind.__getattr__ = native_getattr
        if inherited:
            del kind.__call__
        else:
            kind.__call__ = native_call
        for each in _with_subclasses(Module):
            quicken(each)


def _with_subclasses(kind: type) -> list[Any]:
    found: list[Any] = []
    pending: list[type] = [kind]
    while pending:
        found.append(pending.pop())
        pending += found[-1].__subclasses__()
    return found
