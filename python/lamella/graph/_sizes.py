"""Sizes that are known only when a graph runs: what a program may compute with them while it is recorded."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from lamella import _C
from lamella._C import Tensor

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


class UnknownSize:
    """A size that is known only when the graph runs: equal to -1 before.

    Sums, differences, products, integer quotients and remainders of it and numbers are such sizes. Shapes, bounds of
    slices and operators of tensors take them; what Python would decide with them is refused.
    """

    __slots__ = ("_made", "source")

    #: Tells fronts, which do not import this module, that shapes take such a size as it is.
    known_later = True

    def __init__(self, made: Callable[[], Tensor], source: tuple[Graph, int, int] | None = None) -> None:
        self._made = made
        #: Graph, number and axis of the value whose size it is; None for one that is computed.
        self.source = source

    @staticmethod
    def of_axis(x: Symbol, axis: int) -> UnknownSize:
        """Returns the size of an axis of a value."""
        # The object may stand for another value later.
        graph, id_ = x._graph, x._id
        return UnknownSize(lambda: graph._symbol(id_)._sizes()[axis], (graph, id_, axis))

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

    def _is(self, other: object, depth: int) -> bool:
        if isinstance(other, int) and other >= 0:
            # The package itself asks which sizes are known to be some number.
            if not sys._getframe(depth).f_code.co_filename.startswith(FOLDER):
                self._refuse()
            return False
        return isinstance(other, UnknownSize) or other == -1

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
        return UnknownSize(lambda: -self.tensor())

    __divmod__ = __rdivmod__ = __abs__ = __round__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = _refuse
    __int__ = __float__ = __index__ = __bool__ = _refuse


def _computed(function: Callable[[Any, Any], Any], reflected: bool, stays: bool) -> Callable[[UnknownSize, Any], Any]:
    """Returns a method; with numbers and sizes it gives a size if that `stays` one, and is refused otherwise."""

    def method(self: UnknownSize, other: Any) -> Any:
        def made() -> Any:
            operands = (self.beside(other), other) if isinstance(other, Tensor) else (self.tensor(), as_operand(other))
            return function(*(reversed(operands) if reflected else operands))

        if isinstance(other, Tensor):
            return made()
        if not isinstance(other, (int, UnknownSize, float)):
            return NotImplemented
        return UnknownSize(made) if stays and not isinstance(other, float) else self._refuse()

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod", "truediv", "pow"):
    for _reflected in (False, True):
        _method = _computed(getattr(operator, _name), _reflected, _name not in ("truediv", "pow"))
        setattr(UnknownSize, f"__{'r' if _reflected else ''}{_name}__", _method)
for _name in ("lt", "le", "gt", "ge"):
    setattr(UnknownSize, f"__{_name}__", _computed(getattr(operator, _name), False, False))


def as_operand(value: Any) -> Any:
    """Returns a number, or the value of the graph that a size known later is."""
    return value.tensor() if isinstance(value, UnknownSize) else value


def as_sizes(value: Any) -> Any:
    """Returns what an operator takes for sizes, with values of a graph among them as sizes that are known later."""
    if isinstance(value, (list, tuple)):
        return [as_sizes(size) for size in value]
    if not isinstance(value, Tensor) or not hasattr(value, "known_later") or not _C.isdtype(value.dtype, "integral"):
        return value
    if value.ndim == 1 and -1 not in value.shape:
        return [UnknownSize(functools.partial(value.__getitem__, i)) for i in range(len(value))]
    return UnknownSize(lambda: value) if value.ndim == 0 else value


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
