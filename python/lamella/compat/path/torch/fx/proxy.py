"""Proxies: what a function is given while it is traced."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from .node import Node, map_aggregate

if TYPE_CHECKING:
    from ._symbolic_trace import TracerBase


class TraceError(ValueError):
    """A function depends on something that is not known while it is traced."""


class Proxy:
    """Stands for the value of a node while a function is traced: what is done with it makes further nodes.

    Args:
        node: the node.
        tracer: the tracer that makes further nodes.
    """

    node: Node
    tracer: TracerBase

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        if tracer is None:
            from ._symbolic_trace import GraphAppendingTracer

            tracer = GraphAppendingTracer(node.graph)
        self.node = node
        self.tracer = tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k.startswith("__") and k.endswith("__"):  # what Python and copy() ask every object for
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Makes a node of a call of the value."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        count = _unpacked_by(sys._getframe(1))
        if count is None:
            return self.tracer.iter(self)
        part: Any = self
        return (part[k] for k in range(count))

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Raises an error, as ``**proxy`` asks for keys that are not known.

        Raises:
            TraceError: always.
        """
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            f"[len] the length of '{self.node.name}' is not known while the function is traced: "
            "torch.fx.wrap('len') makes calls of len steps of the graph"
        )

    def __index__(self) -> NoReturn:
        raise TypeError(
            f"[index] '{self.node.name}' is no number while the function is traced: it is known when it runs"
        )

    def __hash__(self) -> int:
        return id(self)

    def __copy__(self) -> Proxy:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        return self

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Makes a node of a call of a function that a proxy is given to."""
        kwargs = kwargs or {}
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda each: found.append(each) if isinstance(each, Proxy) else None)
        return found[0].tracer.create_proxy("call_function", orig_method, tuple(args), dict(kwargs))


class Attribute(Proxy):
    """An attribute of a proxy: a step of its own where its value is used, the name of a method where it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node, made when it is first asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Makes a node of a call of the method."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter of a module that is traced; its shape is known.

    Args:
        tracer: the tracer.
        node: its node.
        name: the dotted name of the parameter.
        param: the parameter.
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.name = name
        self.param = param

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return int(self.param.ndim)

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self.param.dtype

    @property
    def device(self) -> Any:
        """Where it is."""
        return self.param.device

    def size(self, *dim: int) -> Any:
        """Returns its shape, or the size of one axis."""
        return self.param.size(*dim)

    def dim(self) -> int:
        """Returns the number of its axes."""
        return int(self.param.ndim)

    def numel(self) -> int:
        """Returns the number of its elements."""
        return int(self.param.numel())


def _unpacked_by(frame: Any) -> int | None:
    """Returns the number of names to which the line that runs in a frame assigns what it iterates over, or None."""
    for each in dis.get_instructions(frame.f_code):
        if each.offset == frame.f_lasti:
            return each.argval if each.opname == "UNPACK_SEQUENCE" else None
    return None


_BINARY = "add sub mul floordiv truediv mod pow matmul lshift rshift and_ or_ xor"
_OTHERS = "eq ne lt le gt ge getitem neg pos invert"


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Proxy, *args: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (self, *args), {})

    return method


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    return method


for _name in f"{_BINARY} {_OTHERS}".split():
    setattr(Proxy, f"__{_name.rstrip('_')}__", _method(getattr(operator, _name)))
for _name in _BINARY.split():
    setattr(Proxy, f"__r{_name.rstrip('_')}__", _reflected(getattr(operator, _name)))
setattr(Proxy, "__abs__", lambda self: self.tracer.create_proxy("call_function", abs, (self,), {}))  # noqa: B010


def __getattr__(name: str) -> Any:
    """Returns the tracers, which PyTorch defines here, from the module that needs this one."""
    if name not in ("GraphAppendingTracer", "TracerBase"):
        raise AttributeError(f"Lamella's torch front does not have 'torch.fx.proxy.{name}'")
    from . import _symbolic_trace

    return getattr(_symbolic_trace, name)
