"""Sizes that are known only when a graph runs: what a program may compute with them while it is recorded."""

from __future__ import annotations

import functools
import operator
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from lamella import _C
from lamella._C import Tensor

from ._known import ANY, Known, combined
from ._told import sizes_in

if TYPE_CHECKING:
    from ._graph import Graph
    from ._symbol import Symbol

#: The folder of the package, in which fronts of other frameworks have modules of other names.
FOLDER = __file__.rpartition("/graph/")[0] + "/"


class UnknownValueError(RuntimeError):
    """Something was asked of a graph's value that is known only when the graph runs.

    Attributes:
        what: the method that was called: "numpy", "bool", "shape".
    """

    def __init__(self, what: str, message: str) -> None:
        super().__init__(f"[{what}] {message}")
        self.what = what


def _known(value: UnknownSize | int) -> Known:
    return value.known if isinstance(value, UnknownSize) else Known(value, value, value)


class UnknownSize:
    """A size that is known only when the graph runs: equal to -1 before.

    Sums, differences, products, integer quotients and remainders of it and numbers are such sizes. Shapes, bounds of
    slices and operators of tensors take them. What Python decides with them, ``if n > 3``, follows from what is known
    of the graph's inputs, or from their examples where the graph follows these, and is refused otherwise.
    """

    __slots__ = ("_made", "graph", "known", "source")

    #: Tells fronts, which do not import this module, that shapes take such a size as it is.
    known_later = True

    def __init__(self, graph: Graph, made: Callable[[], Tensor], known: Known, source: tuple[int, int] | None = None):
        self.graph, self._made, self.known = graph, made, known
        #: Number and axis of the value whose size it is; None for one that is computed.
        self.source = source

    @staticmethod
    def of_axis(x: Symbol, axis: int) -> UnknownSize:
        """Returns the size of an axis of a value."""
        # The object may stand for another value later.
        graph, id_ = x._graph, x._id
        known = graph._known_sizes.get((id_, axis), Known())
        return UnknownSize(graph, lambda: graph._symbol(id_)._sizes()[axis], known, (id_, axis))

    def is_same_axis(self, other: UnknownSize) -> bool:
        """True for the size of the same axis of the same value."""
        return other is self or (self.graph is other.graph and self.source is not None and self.source == other.source)

    def tensor(self) -> Tensor:
        """Adds the size to the graph, as a value without axes."""
        return self._made()

    def beside(self, x: Tensor) -> Tensor:
        """Adds the size to the graph as an operand of a tensor, in its dtype, as a number is."""
        dtype = _C.int64 if x.dtype == _C.bool else x.dtype
        result: Tensor = _C.astype(self.tensor(), dtype, copy=False)
        return result

    def _refuse(self, *_args: Any) -> NoReturn:
        raise UnknownValueError(
            "shape",
            "this size is known only when the graph runs, and is -1 before: nothing is decided with it. Shapes, slices "
            "and operators take it as it is (reshape(x, [n, -1]), x[:n // 2]); otherwise give the input a size",
        )

    def decided(self, name: str, other: UnknownSize | int, depth: int = 3) -> bool:
        """Returns whether the size compares so with another one or a number.

        Args:
            name: the operator's name.
            other: the other one.
            depth: the number of calls between the program and the warning.

        Raises:
            RuntimeError: only runs tell.
        """
        known = self.known.decides(name, _known(other))
        if known is not None:
            return known
        one, two = self.known.example, _known(other).example
        if not self.graph.follows_examples or one is None or two is None:
            self._refuse()
        result = bool(getattr(operator, name)(one, two))
        warnings.warn(
            f"[graph] the program decides by a size of its example ({one} {_SIGNS[name]} {two} is {result}): what is "
            "recorded is wrong for sizes that decide otherwise",
            stacklevel=depth,
        )
        return result

    def _is(self, other: object, depth: int) -> bool:
        # The package itself asks which sizes are known to be some number.
        inside = sys._getframe(depth).f_code.co_filename.startswith(FOLDER)
        if isinstance(other, int) and other >= 0:
            return self.known.decides("eq", _known(other)) is True if inside else self.decided("eq", other, depth + 2)
        if not isinstance(other, UnknownSize):
            return other == -1
        if inside or self.is_same_axis(other):
            return True
        if self.known.example is None or other.known.example is None:
            return True  # only the result of an operator can tell, which runs check
        pair = (self.source, other.source)
        if self.graph.equal_axes is not None and None not in pair and self.known.example == other.known.example:
            self.graph.equal_axes.append(pair)
            return True
        return self.decided("eq", other, depth + 2)

    def __eq__(self, other: object) -> Any:
        return other == self.beside(other) if isinstance(other, Tensor) else self._is(other, 2)

    def __ne__(self, other: object) -> Any:
        return other != self.beside(other) if isinstance(other, Tensor) else not self._is(other, 2)

    def __hash__(self) -> int:
        return hash(-1)

    def __repr__(self) -> str:
        return "-1"

    def __pos__(self) -> UnknownSize:
        return self

    def __neg__(self) -> UnknownSize:
        return UnknownSize(self.graph, lambda: -self.tensor(), combined("sub", Known(0, 0, 0), self.known))

    def __bool__(self) -> bool:
        return self.decided("ne", 0)

    __divmod__ = __rdivmod__ = __abs__ = __round__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = _refuse
    __int__ = __float__ = __index__ = _refuse


#: Operators that compare, as Python writes them.
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
#: Operators of sizes that give sizes.
_OF_SIZES = ("add", "sub", "mul", "floordiv", "mod")


def _method(name: str, reflected: bool) -> Callable[[UnknownSize, Any], Any]:
    function = getattr(operator, name)

    def method(self: UnknownSize, other: Any) -> Any:
        def made() -> Any:
            operands = (self.beside(other), other) if isinstance(other, Tensor) else (self.tensor(), as_operand(other))
            return function(*(reversed(operands) if reflected else operands))

        if isinstance(other, Tensor):
            return made()
        if not isinstance(other, (int, UnknownSize)):
            return self._refuse() if isinstance(other, float) else NotImplemented
        if name in _SIGNS:
            return self.decided(name, other)
        if name not in _OF_SIZES:
            return self._refuse()
        known = (self.known, _known(other))
        return UnknownSize(self.graph, made, combined(name, *(reversed(known) if reflected else known)))

    return method


for _name in (*_OF_SIZES, "truediv", "pow"):
    setattr(UnknownSize, f"__{_name}__", _method(_name, False))
    setattr(UnknownSize, f"__r{_name}__", _method(_name, True))
for _name in ("lt", "le", "gt", "ge"):
    setattr(UnknownSize, f"__{_name}__", _method(_name, False))


def as_operand(value: Any) -> Any:
    """Returns a number, or the value of the graph that a size known later is."""
    return value.tensor() if isinstance(value, UnknownSize) else value


def as_sizes(value: Any) -> Any:
    """Returns what an operator takes for sizes, with values of a graph among them as sizes that are known later.

    Values that were made of shapes give the sizes that are known as numbers.
    """
    if isinstance(value, (list, tuple)):
        return [as_sizes(size) for size in value]
    if not isinstance(value, Tensor) or not hasattr(value, "graph") or not _C.isdtype(value.dtype, "integral"):
        return value
    told = sizes_in(value)
    if told is not None:
        return told
    if value.ndim == 1 and -1 not in value.shape:
        items = [functools.partial(value.__getitem__, i) for i in range(len(value))]
        return [UnknownSize(value.graph, item, ANY) for item in items]
    return UnknownSize(value.graph, lambda: value, ANY) if value.ndim == 0 else value


def is_unknown(value: Any) -> bool:
    """True for a size that is known only when the graph runs, and for shapes with one."""
    return isinstance(value, UnknownSize) or (
        isinstance(value, (list, tuple)) and any(isinstance(size, UnknownSize) for size in value)
    )


def plain_sizes(shape: Iterable[Any]) -> tuple[int, ...]:
    """Returns a shape as numbers, -1 for sizes that are known only when the graph runs."""
    return tuple(-1 if isinstance(size, UnknownSize) else int(size) for size in shape)


def refuse_unknown(values: Iterable[Any]) -> None:
    """Raises RuntimeError if one of the values is a size that is known only when the graph runs."""
    for value in values:
        if type(value) is UnknownSize:
            value._refuse()


def with_kept_sizes(op: str, x: Tensor, output_size: Any) -> Any:
    """Returns the sizes of a pool's result, with those of x in place of each None.

    Raises:
        UnknownValueError: a size of x that is asked for is known only when the graph runs.
    """
    if not isinstance(output_size, (list, tuple)) or None not in output_size or x.ndim < len(output_size):
        return output_size
    own = list(x.shape)[-len(output_size) :]
    sizes = [n if size is None else size for n, size in zip(own, output_size, strict=True)]
    if is_unknown(sizes):
        raise UnknownValueError(
            op,
            "output_size keeps the size of an axis by None, which is known only when the graph runs: give the input a "
            "size along this axis",
        )
    return sizes


def joined(shape: Iterable[Any]) -> Tensor:
    """Adds a shape to the graph, as a vector: of numbers, and of sizes that are known later."""
    sizes = list(shape)
    tensors = [as_operand(size) for size in sizes if isinstance(size, UnknownSize)]
    result: Tensor = _C.dynamic_shape(tensors, [-2 if isinstance(size, UnknownSize) else size for size in sizes])
    return result
