"""The value of a graph, which operators take in place of a tensor while the graph is recorded."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from lamella import _C
from lamella._C import DType, Tensor

from ._sizes import UnknownSize, UnknownValueError
from ._special import BINARY, COMPARISONS, IN_PLACE, UNARY

if TYPE_CHECKING:
    from ._graph import Graph

#: Sizes that stand for -1 while shapes are inferred, by the number of axes of the value in the graph that has most such
#: axes, and for more: the elements are counted in 63 bits. A size that differs between the two is unknown; they have
#: many divisors, so that an axis can be split or halved often.
SAMPLE_SIZES = (*[(20160, 40320)] * 3, *[(960, 1440)] * 3, (60, 120))
#: The same for operators whose results' shapes depend on elements, for which samples have memory.
SMALL_SIZES = (12, 24)


class Symbol(Tensor):
    """A value of a graph: an input, a captured tensor, or the result of a node.

    It has the methods and operators of a tensor, each of which adds a node to its graph. Its elements are known when
    the graph runs, and asking for them before raises an error that names it. Sizes that are known only then are -1 in
    :attr:`shape`.
    """

    # A symbol is a tensor on `meta` that has the first of the sample sizes.
    _graph: Graph
    _id: int
    #: Tells fronts, which do not import this module, that the elements are.
    known_later = True

    @staticmethod
    def _make(graph: Graph, id_: int, sample: Tensor) -> Symbol:
        symbol: Symbol = Tensor.__new__(Symbol, sample)
        symbol._graph, symbol._id = graph, id_
        return symbol

    @property
    def graph(self) -> Graph:
        """The graph that the value belongs to."""
        return self._graph

    @property
    def name(self) -> str:
        """The name of the value, unique in its graph; can be set."""
        return str(self._graph._described(self._id).name)

    @name.setter
    def name(self, name: str) -> None:
        self._graph._core.rename(self._id, name)

    @property
    def shape(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The sizes of the axes; -1 for one that is known only when the graph runs, by which nothing is decided."""
        sizes = enumerate(self._graph._described(self._id).shape)
        return tuple(UnknownSize.of_axis(self, axis) if size < 0 else size for axis, size in sizes)

    def _sizes(self) -> Tensor:
        result: Tensor = _recorded(self, _C.shape_of, self)
        return result

    @property
    def size(self) -> Any:  # type: ignore[override]
        """The number of elements; -1 where it is known only when the graph runs, by which nothing is decided."""
        count = self._count()
        # A front has the attribute of its framework, which is called, in place of the number.
        front = vars(Tensor)["size"]
        return front.of(self, count) if hasattr(front, "of") else count

    def _count(self) -> Any:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> Any:  # type: ignore[override]
        """The bytes of the elements; -1 where their number is known only when the graph runs, as for :attr:`size`."""
        return self._count() * self.dtype.itemsize

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        """The type of the elements."""
        return self._graph._described(self._id).dtype

    @property
    def device(self) -> str:  # type: ignore[override]
        """The device on which the graph computes the value."""
        return "cpu"

    @property
    def stop_gradient(self) -> bool:
        """True if no gradient flows back through the value; can be set."""
        return self._graph._stops(self._id)

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        self._graph._core.set_stop_gradient(self._id, bool(stop))

    @property
    def is_leaf(self) -> bool:  # type: ignore[override]
        """False for the result of a node that gradients flow through."""
        return self.stop_gradient or self._graph._described(self._id).origin != "result"

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        """The opposite of :attr:`stop_gradient`."""
        return not self.stop_gradient

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.stop_gradient = not wanted

    def _become(self, other: Tensor) -> None:
        """Makes this object stand for another value of the graph, or for a tensor that it captures."""
        made = other if isinstance(other, Symbol) else self._graph.capture(other)
        _C._exchange_tensors(self, Tensor.__new__(Symbol, made))
        if self._graph._symbols.get(self._id) is self:
            del self._graph._symbols[self._id]
        self._graph, self._id = made._graph, made._id

    def _refuse(self, what: str) -> NoReturn:
        raise UnknownValueError(
            what,
            f"{self.name!r} is a value of the graph {self._graph.name!r}, which has elements only when the graph runs: "
            "fetch it, or compute with operators",
        )

    def __repr__(self) -> str:
        return f"Symbol({self.name!r}, shape={list(self.shape)}, dtype={self.dtype.name})"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("[len] a 0-d tensor has no length")
        if isinstance(self.shape[0], UnknownSize):
            self._refuse("len")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __pos__(self) -> Tensor:
        return self

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __getitem__(self, key: Any) -> Tensor:
        return _recording_graph(self)._recorder.get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _recording_graph(self)._recorder.set_item(self, key, value)

    def detach(self) -> Tensor:
        """Returns the value with its gradient cut off, in the same memory."""
        result: Any = self[...]
        result.stop_gradient = True
        return result

    def cpu(self) -> Tensor:
        """Returns the value itself."""
        return self

    def astype(self, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Tensor:
        """Returns the value in another dtype; it is on the device on which the graph runs."""
        result: Tensor = _recorded(self, _C.astype, self, dtype, copy=copy)
        return result

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Returns the value in another dtype; it is on the device on which the graph runs."""
        front = vars(Tensor)["to"]  # takes what tensors of its framework take
        result: Tensor = (front if hasattr(front, "takes_values") else Symbol._moved)(self, *args, **kwargs)
        return result

    def _moved(
        self, target: Any = None, *, dtype: Any = None, device: Any = None, non_blocking: bool = False
    ) -> Tensor:
        if target is not None and (not isinstance(target, str) or hasattr(_C, target)):
            dtype = target
        result: Tensor = self if dtype is None else _recorded(self, _C.astype, self, dtype, copy=False)
        return result

    @property
    def T(self) -> Tensor:  # type: ignore[override]  # noqa: N802 (numpy's name)
        """The value with its axes in reverse order."""
        result: Tensor = _recorded(self, _C.permute_dims, self, tuple(reversed(range(self.ndim))))
        return result

    @property
    def mT(self) -> Tensor:  # type: ignore[override]  # noqa: N802 (the array API's name)
        """The value with its last two axes exchanged."""
        result: Tensor = _recorded(self, _C.matrix_transpose, self)
        return result

    @property  # type: ignore[misc]
    def real(self) -> Tensor:
        """The real part."""
        result: Tensor = _recorded(self, _C.real, self)
        return result

    @property  # type: ignore[misc]
    def imag(self) -> Tensor:
        """The imaginary part."""
        result: Tensor = _recorded(self, _C.imag, self)
        return result


def _recording_graph(symbol: Symbol) -> Graph:
    """Returns the graph that takes a symbol's calls: its own, or a part of it that is recorded now."""
    from ._recorder import recorded_graph

    innermost = graph = recorded_graph()
    while graph is not None and graph is not symbol._graph:
        graph = graph._outer
    return symbol._graph if graph is None or innermost is None else innermost


def _recorded(symbol: Symbol, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls an operator as a node of the symbol's graph, whether or not that is being recorded."""
    from ._recorder import recording

    with recording(_recording_graph(symbol)):
        return function(*args, **kwargs)


def _method(name: str) -> Callable[..., Any]:
    @functools.wraps(getattr(Tensor, name))
    def method(self: Symbol, *args: Any, **kwargs: Any) -> Any:
        # Looked up now, as a front may have been loaded since.
        return _recorded(self, getattr(Tensor, name), self, *args, **kwargs)

    return method


def _without_value(name: str) -> Callable[..., Any]:
    what = name.strip("_")

    def method(self: Symbol, *_args: Any, **_kwargs: Any) -> Any:
        self._refuse(what)

    method.__name__ = name
    return method


def _number_method(name: str, reflected: bool) -> Callable[..., Any]:
    function = getattr(_C, name)

    def method(self: Symbol, other: Any) -> Any:
        operand = self._graph._recorder.operand(other, self)
        if operand is NotImplemented:
            return NotImplemented
        return _recorded(self, function, *((operand, self) if reflected else (self, operand)))

    return method


def _in_place_method(name: str) -> Callable[..., Any]:
    def method(self: Symbol, other: Any) -> Any:
        operand = self._graph._recorder.operand(other, self)
        return NotImplemented if operand is NotImplemented else getattr(self, name + "_")(operand)

    return method


_VALUES = [
    *("__bool__", "__float__", "__int__", "__index__", "__complex__", "__array__", "__dlpack__", "__dlpack_device__"),
    *("item", "numpy", "tolist", "data_ptr", "backward", "register_hook", "register_post_accumulate_grad_hook"),
    *("retain_grad", "clear_grad", "cuda", "detach_"),
]


def _install() -> None:
    for operator in _C.operators():
        for name in (operator["name"], operator["name"] + "_"):
            if hasattr(Tensor, name) and name not in Symbol.__dict__:
                setattr(Symbol, name, _method(name))
    for name in _VALUES:
        setattr(Symbol, name, _without_value(name))
    for short, name in BINARY.items():
        setattr(Symbol, f"__{short}__", _number_method(name, False))
        setattr(Symbol, f"__r{short}__", _number_method(name, True))
        if short != "matmul":
            in_place = IN_PLACE.get(short, name)
            setattr(Symbol, f"__i{short}__", _in_place_method(in_place))
    for short, name in COMPARISONS.items():
        setattr(Symbol, f"__{short}__", _number_method(name, False))
    for short, name in UNARY.items():
        setattr(Symbol, f"__{short}__", _method(name))


_install()
