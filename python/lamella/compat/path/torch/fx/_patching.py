"""What calls make nodes while a function is traced: functions of tensors, wrapped functions, and modules.

Functions ask their arguments for proxies only while something is traced, so that programs pay nothing for it. They are
the same objects then, with another body: tables of passes (``node.target is torch.relu``) and names by which programs
have imported them hold at all times.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lamella.nn import Module
from lamella.nn.module import quicken

from .node import map_aggregate
from .proxy import Proxy

if TYPE_CHECKING:
    from ._symbolic_trace import Tracer

#: Modules whose functions take tensors.
_HOMES = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
#: Functions of these that answer for a proxy as for any other object.
_PLAIN = frozenset({"compile", "is_tensor", "load", "save", "typename", "vmap"})
_NOTHING = object()

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
        return proxy.tracer.create_proxy("call_function", target, args, kwargs)

    return answer


@functools.cache
def _code_of_answer(cells: int) -> types.CodeType:
    """Returns code that calls the argument ``_answer``, for functions with a number of cells, which it does not read."""
    names = [f"cell{k}" for k in range(cells)]
    read = "".join(f"        if 0: {name}\n" for name in names)
    made = "".join(f"    {name} = None\n" for name in names)
    source = f"def make():\n{made}    def call(*args, _answer, **kwargs):\n{read}        return _answer(*args, **kwargs)\n"
    namespace: dict[str, Any] = {}
    exec(source + "    return call\n", namespace)
    code: types.CodeType = namespace["make"]().__code__
    return code


class _Patches:
    """Entries of dicts and bodies of functions that are exchanged for a while."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def put(self, table: dict[str, Any], name: str, value: Any) -> None:
        """Exchanges an entry of a dict."""
        kept = table.get(name, _NOTHING)
        table[name] = value
        self._undo.append(lambda: table.__delitem__(name) if kept is _NOTHING else table.__setitem__(name, kept))

    def ask(self, function: types.FunctionType) -> None:
        """Gives a function a body that asks for proxies."""
        kept = function.__code__, function.__defaults__, function.__kwdefaults__
        body = types.FunctionType(kept[0], function.__globals__, function.__name__, kept[1], function.__closure__)
        body.__kwdefaults__ = kept[2]
        function.__code__ = _code_of_answer(len(function.__closure__ or ()))
        function.__defaults__ = None
        function.__kwdefaults__ = {"_answer": _asking(function, body)}

        def undo() -> None:
            function.__code__, function.__defaults__, function.__kwdefaults__ = kept

        self._undo.append(undo)

    def ask_at(self, table: dict[str, Any], name: str) -> None:
        """Has what a name means ask for proxies; functions of Python's own do so under that name only."""
        function = table[name] if name in table else getattr(builtins, name)
        if isinstance(function, types.FunctionType):
            self.ask(function)
        else:
            self.put(table, name, _asking(function, function))

    def undo(self) -> None:
        """Makes everything what it was."""
        for undo in reversed(self._undo):
            undo()


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
        wanted: dict[int, Any] = {id(each): each for each in functions}
        for home in map(importlib.import_module, _HOMES):
            wanted.update((id(each), each) for name, each in vars(home).items() if _takes_tensors(name, each))
            _ask_later(patches, home)
        for function in wanted.values():
            if isinstance(function, types.FunctionType):
                patches.ask(function)
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


def _takes_tensors(name: str, value: Any) -> bool:
    return isinstance(value, types.FunctionType) and not name.startswith("__") and name not in _PLAIN


def _ask_later(patches: _Patches, module: types.ModuleType) -> None:
    """Has functions ask that are made when somebody looks them up."""
    find = vars(module).get("__getattr__")
    if find is None:
        return

    def __getattr__(name: str) -> Any:  # noqa: N807 (becomes the module's __getattr__)
        value = find(name)
        if _takes_tensors(name, value):
            patches.ask(value)
        return value

    patches.put(vars(module), "__getattr__", __getattr__)


@contextlib.contextmanager
def modules_ask(tracer: Tracer) -> Iterator[None]:
    """Hands calls of modules to a tracer, and shows their parameters as proxies, while the block runs."""
    patches = _Patches()
    try:
        for path, module in tracer.root.named_modules():
            _show_proxies(patches, tracer, path, module)
        with _calls_are_nodes(tracer):
            yield
    finally:
        patches.undo()


def _show_proxies(patches: _Patches, tracer: Tracer, path: str, module: Module) -> None:
    """Puts proxies in the places of a module's parameters, and of its buffers where the tracer wants that."""
    for table in [module._parameters, *([module._buffers] if tracer.proxy_buffer_attributes else [])]:
        for name, tensor in table.items():
            if tensor is not None:
                patches.put(table, name, tracer.proxy_of_tensor(f"{path}.{name}" if path else name, tensor))


@contextlib.contextmanager
def _calls_are_nodes(tracer: Tracer) -> Iterator[None]:
    """Hands calls of modules to the tracer."""
    native: Any = Module.__call__

    def call(self: Module, *args: Any, **kwargs: Any) -> Any:
        if first_proxy(args, kwargs) is None and not tracer.knows(self):
            return native(self, *args, **kwargs)  # a module that was made on the way and computes a constant
        return tracer.call_module(self, functools.partial(native, self), args, kwargs)

    method: Any = Module
    defined = next(each for each in Module.__mro__ if "__call__" in vars(each))
    method.__call__ = call
    try:
        yield
    finally:
        if defined is Module:
            method.__call__ = native
        else:
            del method.__call__
        for kind in _with_subclasses(Module):
            quicken(kind)


def _with_subclasses(kind: type) -> list[Any]:
    found: list[Any] = []
    pending: list[type] = [kind]
    while pending:
        found.append(pending.pop())
        pending += found[-1].__subclasses__()
    return found
