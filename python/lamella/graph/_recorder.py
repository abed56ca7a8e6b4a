"""Turns calls of operators on this thread into nodes of a graph."""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import lamella as lm
from lamella import _C, _tree
from lamella._C import DType, Tensor

from ._dynamic import OF_SIZES, cut, filled, is_open, with_numbers
from ._made import Made
from ._sizes import FOLDER, UnknownSize, as_sizes, is_unknown, joined, refuse_unknown, with_kept_sizes
from ._special import FUNCTIONAL, exchange_handler, means_its_own
from ._symbol import SMALL_SIZES, Symbol

if TYPE_CHECKING:
    from ._graph import Graph

_PACKAGE = __name__.partition(".")[0] + "."
_active = threading.local()


def _symbols(value: Any) -> Iterator[Symbol]:
    if isinstance(value, Symbol):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _symbols(item)


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


def _holds(value: Any) -> bool:
    """True for a list with a value of a graph in it, or a size that is known later, however deep."""
    return isinstance(value, (list, tuple)) and any(
        isinstance(item, (Symbol, UnknownSize)) or _holds(item) for item in value
    )


def _stacked(data: Sequence[Any], dtype: Any) -> Tensor:
    """Returns the tensor of a list of lists, tensors and numbers."""
    items = [_stacked(item, None) if _holds(item) else lm.asarray(item) for item in data]
    kind = lm.result_type(*items) if dtype is None else dtype
    return lm.stack([item.astype(kind) for item in items])


def _where() -> str:
    """Returns the line of the user's code that runs: "train.py:12"."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        (frame.f_globals.get("__name__", "") + ".").startswith((_PACKAGE, "contextlib."))
        or frame.f_code.co_filename.startswith(FOLDER)
    ):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


def operator_named(name: str) -> Any:
    """Returns a registered operator by its full name, such as "lamella::add" or "myops::scale.out"."""
    namespace, _, rest = name.partition("::")
    word, _, overload = rest.partition(".")
    call = getattr(getattr(lm.ops, namespace), word)
    return getattr(call, overload) if overload else call


class _Operator:
    """Description of a registered operator for a recorder."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.name: str = call.name + ("." + call.overload if call.overload else "")
        self.names: list[str] = []
        self.positional = 0
        self.draws = False
        self.defaults: list[tuple[bool, Any]] = []
        #: Arguments that are written to, and for each result the argument that it is.
        self.aliases: list[str | None] = []
        self.types: list[str] = []
        for name, type_, has_default, default, keyword_only, alias in call.arguments:
            self.names.append(name)
            self.positional += not keyword_only
            self.draws |= type_.startswith("Generator")
            self.defaults.append((has_default, default))
            self.aliases.append(alias)
            self.types.append(type_)
        self.results: list[tuple[str, str | None]] = [(type_, alias) for _, type_, alias in call.results]

    def run(self, values: Sequence[Any]) -> Any:
        named = dict(zip(self.names[self.positional :], values[self.positional :], strict=True))
        return self.call(*values[: self.positional], **named)

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        values = list(args)
        for name, (has_default, default) in zip(self.names[len(args) :], self.defaults[len(args) :], strict=True):
            if name not in kwargs and not has_default:
                raise TypeError(f"[{self.name}] missing argument {name!r}: {self.call.schema}")
            values.append(kwargs.get(name, default))
        unknown = kwargs.keys() - set(self.names[len(args) :])
        if unknown or len(args) > self.positional:
            raise TypeError(f"[{self.name}] the arguments do not fit: {self.call.schema}")
        return values


class RecorderBase:
    """Base of recorders: the engine hands each method a call, which runs as usual if it returns NotImplemented.

    ``operator``, ``registered``, ``layer`` and ``cpp_layer`` are those of operators and layers; of the calls below most
    recorders want to know nothing.
    """

    def asarray(self, _module: Any, _args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
        """A call of :func:`lamella.asarray`."""
        return NotImplemented

    def tensor(self, _module: Any, _args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
        """A call of :func:`lamella.tensor`."""
        return NotImplemented

    def grad(self, _module: Any, _args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
        """A call of :func:`lamella.grad`."""
        return NotImplemented

    def backward(self, _module: Any, _args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
        """A call of :func:`lamella.autograd.backward`."""
        return NotImplemented

    def call(self, _name: str, _function: Callable[..., Any], _args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
        """A call of a function of tensors that is one step, of an operator in OneFlow's dialect, say."""
        return NotImplemented

    def control_flow(self, _name: str, _function: Callable[..., Any], _args: Sequence[Any]) -> Any:
        """A call of :func:`lamella.cond` or :func:`lamella.while_loop` that depends on elements."""
        return NotImplemented

    def read(self, _x: Tensor, _args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
        """The elements of a tensor are read as a buffer."""
        return NotImplemented


class Recorder(RecorderBase):
    """Hands the calls of a thread to a graph; the methods without underscore are called by the engine."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._operators: dict[str, _Operator] = {}
        #: Takes the calls of custom layers, in place of their nodes, where it is set.
        self.inline_layer: Callable[[Any, Sequence[Any], dict[str, Any]], Any] | None = None
        #: Ids of the buffers of the module that is recorded: what is computed of them is no constant.
        self.buffers: set[int] = set()
        #: Follows the tensors that the program makes, where each run is to make them anew.
        self.made: Made | None = None

    def operator(self, name: str, in_place: bool, values: Sequence[Any]) -> Any:
        """Records a built-in operator, or leaves it to be run now.

        Raises:
            RuntimeError: a number among the arguments is a size that is known only when the graph runs.
        """
        op = self._operator(getattr(lm.ops.lamella, name))
        values = [
            value if type_.startswith("Tensor") else as_sizes(value)
            for value, type_ in itertools.zip_longest(values, op.types, fillvalue="Tensor")
        ]
        if name == "repeat" and isinstance(values[1], Symbol) and all(n == 1 for n in values[1].shape):
            counts = as_sizes(values[1])
            values[1] = counts[0] if isinstance(counts, list) else counts
        if "output_size" in op.names:
            place = op.names.index("output_size")
            values[place] = with_kept_sizes(name, values[0], values[place])
        if any(map(is_unknown, values)):
            found = self._of_unknown_sizes(op, name, in_place, values)
            if found is not NotImplemented:
                return found
        refuse_unknown(values)
        out = values[-1] if len(values) > len(op.names) else None
        if not self._takes(op, values):
            if self.made is None or in_place or out is not None:
                return NotImplemented
            return self.made.run(lambda: op.run(values[: len(op.names)]), values)
        operands = list(values[: len(op.names)])
        target = values[0] if in_place else out
        if in_place and lm.is_grad_enabled():
            # As the operator in place does: gradients must not read the memory that is overwritten.
            before = self._record(self._operator(lm.ops.lamella.clone), [target])
            operands = [before if x is target else x for x in operands]
        result = self._record(op, operands)
        if target is None:
            return result
        self._record(self._operator(lm.ops.lamella.copy_), [target, result])
        return target

    def _tensor_of(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Records a tensor made of a list, if values of the graph or sizes that it determines are in it."""
        if not args or not (isinstance(args[0], UnknownSize) or _holds(args[0])):
            return NotImplemented
        data, *rest = args
        dtype = rest[0] if rest else kwargs.get("dtype")
        with recording(self.graph):
            if any(type(size) is not int and not isinstance(size, UnknownSize) for size in _listed(data)):
                return _stacked(data, dtype)
            made: Any = data.tensor() if isinstance(data, UnknownSize) else joined(data)
            self.graph._told.tell(made._id, data if isinstance(data, UnknownSize) else list(data))
            return made if dtype is None else made.astype(dtype)

    def tensor(self, _module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A call of :func:`lamella.tensor`."""
        found = self._tensor_of(args, kwargs)
        if found is NotImplemented and args and isinstance(args[0], Symbol):
            dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
            with recording(self.graph), lm.no_grad():
                found = lm.clone(args[0]) if dtype is None else args[0].astype(dtype)
        if found is not NotImplemented:
            found.stop_gradient = True
            return found
        if found is NotImplemented and self.made is not None and not any(True for _ in _symbols(args)):
            return self.made.run(lambda: lm.tensor(*args, **kwargs), ())
        return found

    def asarray(self, _module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A call of :func:`lamella.asarray`."""
        return self._tensor_of(args, kwargs)

    def _of_unknown_sizes(self, op: _Operator, name: str, in_place: bool, values: Sequence[Any]) -> Any:
        """Records an operator that is given sizes which are known only when the graph runs, if it can be."""
        given = values[: len(op.names)]
        has_out = any(value is not None for value in values[len(op.names) :])
        with recording(self.graph):
            if name in OF_SIZES and not has_out:
                return OF_SIZES[name](self, *given)
            # Those that fill a shape.
            if op.names[0] == "shape" and op.names[-2:] == ["dtype", "device"] and not (op.draws or has_out):
                return filled(self, name, *given)
            tensors = [value for value in given if isinstance(value, Tensor)]
            numbers = [isinstance(value, UnknownSize) for value in given]
            types = [type_ for value, type_ in zip(given, op.types, strict=True) if is_unknown(value)]
            if tensors and any(numbers) and all(type_.startswith("Tensor") for type_ in types):
                operands = [
                    self.operand(value, tensors[0]) if number else value
                    for value, number in zip(given, numbers, strict=True)
                ]
                return self.operator(name, in_place, [*operands, *values[len(operands) :]])
        return NotImplemented

    def registered(self, call: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Records a registered operator, or leaves it to be run now."""
        if not any(True for _ in _symbols([*args, *kwargs.values()])):
            return NotImplemented
        overloads = call.overloads()
        if len(overloads) > 1:
            call = self._fitting(call, overloads, args, kwargs)
        op = self._operator(call)
        return self._record(op, op.bind(args, kwargs))

    def layer(self, layer: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Records a call of a custom layer, or leaves it to be run now."""
        if not any(isinstance(x, Symbol) for x in _tree.flatten((list(args), kwargs))[0]):
            return NotImplemented
        return (self.inline_layer or self.layer_node)(layer, args, kwargs)

    def layer_node(self, layer: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Records a call of a custom layer as one node."""
        tensors, rebuild = _tree.flatten((list(args), kwargs))

        def apply(given: Sequence[Tensor]) -> Any:
            positional, named = rebuild(iter(given))
            return layer.apply(*positional, **named)

        return self.function(layer.__name__, apply, tensors)

    def cpp_layer(self, name: str, tensors: list[Tensor], run: Callable[[list[Tensor]], list[Tensor]]) -> Any:
        """Records a call of a layer written in C++, or leaves it to be run now."""
        if not any(isinstance(x, Symbol) for x in tensors):
            return NotImplemented
        results = self.function(name, lambda given: run(list(given)), tensors)
        # The layer returns their tensors through C++, from where the objects are found again as long as they live.
        self.graph._held += results
        return results

    def function(self, name: str, function: Callable[[Sequence[Tensor]], Any], inputs: Sequence[Tensor]) -> Any:
        """Records a call of a function of tensors, whose results' shapes those on meta tensors tell."""
        symbols = [self._symbol(x) for x in inputs]
        with lm.no_grad():
            try:
                samples = [function([_sample(x, k) for x in symbols]) for k in range(2)]
                samples += _with_least(lambda: function([_sample(x, 2) for x in symbols]), symbols, samples[0])
            except RuntimeError:
                # The layer reads elements: in numpy, say.
                samples = [function([_small(x, k) for x in symbols]) for k in range(2)]
        tensors, rebuild = _tree.flatten(samples[0])
        others = [_tree.flatten(sample)[0] for sample in samples[1:]]
        types = [_type_of(x, *ys) for x, *ys in zip(tensors, *others, strict=True)]

        def run(given: Sequence[Tensor]) -> list[Tensor]:
            return _tree.flatten(function(given))[0]

        results = self.graph._add_function(name, run, symbols, types, True, _where())
        return rebuild(iter(results))

    def sized(self, x: Symbol, k: int) -> Tensor:
        """Returns a tensor on meta in a symbol's place, whose unknown sizes are those of sample ``k``: 0, 1 or 2."""
        return _sample(self._symbol(x), k)

    def shaped(self, name: str, values: Sequence[Any], shape: Sequence[int]) -> Tensor:
        """Records an operator whose result has the first argument's dtype and a shape, -1 for what runs determine."""
        x = values[0]
        samples = [self.graph._sample(shape, x.dtype, k) for k in range(2)]
        result: Tensor = self._record(self._operator(getattr(lm.ops.lamella, name)), values, samples)
        return result

    def operand(self, value: Any, beside: Tensor) -> Any:
        """Returns an operand of an arithmetic expression with a tensor, or NotImplemented."""
        if isinstance(value, UnknownSize):
            return value.beside(beside)
        if isinstance(value, np.ndarray):
            return lm.asarray(value, device="cpu")
        return value if isinstance(value, (Tensor, int, float, complex, np.generic)) else NotImplemented

    def get_item(self, x: Tensor, key: Any) -> Tensor:
        """Records ``x[key]``."""
        key, whole = with_numbers(key), x
        if is_open(key):
            with recording(self.graph):
                x, key = cut(self, x, key)
        text, tensors = _index_text(key)
        result: Any = self._record(self._operator(lm.ops.lamella.index), [x, text, tensors])
        if x is whole and isinstance(x, Symbol):
            self.graph._told.subscript(x, key, result)
        return cast(Tensor, result)

    def set_item(self, x: Tensor, key: Any, value: Any) -> None:
        """Records ``x[key] = value``."""
        key = with_numbers(key)
        if is_open(key):
            with recording(self.graph):
                x, key = cut(self, x, key)
        text, tensors = _index_text(key)
        given = value if isinstance(value, Tensor) else lm.asarray(value, dtype=x.dtype)
        # As many values as a mask has elements: samples of each would disagree.
        of_mask = any(t.dtype == lm.bool for t in tensors) and any(map(is_unknown, given.shape))
        samples = [_sample(self._symbol(x), k) for k in range(2)] if of_mask else None
        self._record(self._operator(lm.ops.lamella.set_index_), [x, text, tensors, given], samples)

    def special(self, name: str, original: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Records what Python does with a tensor that is no symbol: arithmetic and subscripts are operators."""
        # The recorder itself computes, or what a front's method calls is to be recorded.
        if _C._recorder() is None or not means_its_own(name, original):
            return NotImplemented
        if name in FUNCTIONAL and not kwargs:
            return FUNCTIONAL[name](*args)
        if name in ("__getitem__", "__setitem__"):
            args = [args[0], with_numbers(args[1]), *args[2:]]
            if self._takes_any(args) or is_open(args[1]):
                return (self.get_item if name == "__getitem__" else self.set_item)(*args)
            if name == "__getitem__" and self.made is not None:
                return self.made.run(lambda: original(*args), args)
        if self.made is not None and name in ("detach", "to", "cpu", "cuda"):
            return self.made.run(lambda: original(*args, **kwargs), args)
        return NotImplemented

    def _operator(self, call: Any) -> _Operator:
        key = call.name + "." + call.overload
        if key not in self._operators:
            self._operators[key] = _Operator(call)
        return self._operators[key]

    def _fitting(self, call: Any, overloads: Sequence[str], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Returns the overload that takes the arguments, as a call on meta tensors tells."""
        errors = []
        for name in overloads:
            one = getattr(call, name)
            op = self._operator(one)
            try:
                with lm.no_grad():
                    op.run([_sampled(value, 0) for value in op.bind(args, kwargs)])
            except TypeError as error:
                errors.append(str(error))
            else:
                return one
        raise TypeError(f"[{call.name}] the arguments fit none of its overloads:\n  " + "\n  ".join(errors))

    def _takes(self, op: _Operator, values: Sequence[Any]) -> bool:
        """True if a call belongs into the graph: it takes a symbol or a parameter, or draws random numbers."""
        return op.draws or self._takes_any(values)

    def _takes_any(self, values: Sequence[Any]) -> bool:
        if any(True for _ in _symbols(values)):
            return True
        flat = [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]
        return any(
            isinstance(x, Tensor) and (not x.stop_gradient or id(x) in self.buffers or self.graph._holds(x))
            for x in flat
        )

    def _symbol(self, x: Tensor) -> Symbol:
        if not isinstance(x, Symbol):
            copied = None if self.made is None else self.made.copies.get(id(x))
            return self.graph.capture(x) if copied is None else cast(Symbol, copied)
        if x._graph is not self.graph:
            raise ValueError(
                f"{x.name!r} is a value of the graph {x._graph.name!r}, and cannot be used in {self.graph.name!r}"
            )
        return x

    def _infer(self, op: _Operator, arguments: Sequence[Any]) -> list[Any]:
        """Returns the operator's results for two sample sizes, of which shapes and dtypes count."""
        # The calls on samples are none of the graph's, although tensors that it has captured are among them.
        previous = _C._set_recorder(None)
        try:
            return self._sample_results(op, arguments)
        finally:
            _C._set_recorder(previous)

    def _sample_results(self, op: _Operator, arguments: Sequence[Any]) -> list[Any]:
        if op.name == "lamella::to_device":
            return [_sampled(arguments[0], k) for k in range(2)]
        with lm.no_grad():
            try:
                samples = [op.run([_sampled(value, k) for value in arguments]) for k in range(2)]
                least = [_sampled(value, 2) for value in arguments]
                return samples + _with_least(lambda: op.run(least), list(_symbols(arguments)), samples[0])
            except NotImplementedError as error:
                error.add_note(f"[{op.name}] a graph finds the shapes of results by a kernel for Meta")
                raise
            except RuntimeError:
                if op.draws:
                    raise
            # Sizes depend on elements: small samples have some, and captured tensors their own.
            return [op.run([_small(value, k) for value in arguments]) for k in range(2)]

    def _reference(self, value: Any, type_: str) -> Any:
        """Returns an argument with symbols in place of its tensors."""
        if type_.startswith("Tensor[]") and isinstance(value, (int, float)):
            value = [value]
        if type_.startswith("Tensor[]") and isinstance(value, (list, tuple)):
            return [None if item is None else self._symbol(_tensor(item)) for item in value]
        if isinstance(value, Tensor):
            return self._symbol(value)
        return self._symbol(lm.asarray(value, device="cpu")) if isinstance(value, np.ndarray) else value

    def _copy(self, x: Tensor) -> Tensor:
        copied: Tensor = self._record(self._operator(lm.ops.lamella.clone), [x])
        return copied

    def of_each_run(self, x: Tensor) -> Symbol:
        """Returns the value of a tensor for what may write into it; each run makes anew what the program has made."""
        return self._symbol(x if self.made is None or isinstance(x, Symbol) else self.made.anew(x, self._copy))

    def _record(self, op: _Operator, values: Sequence[Any], samples: list[Any] | None = None) -> Any:
        if self.made is not None:
            for value, alias, name in zip(values, op.aliases, op.names, strict=True):
                # Norms move running statistics, which their schemas do not tell.
                writes = (alias or "").endswith("!") or name in ("running_mean", "running_var")
                if writes and isinstance(value, Tensor) and not isinstance(value, Symbol):
                    self.made.written(value, self._copy)
        arguments = [self._reference(value, type_) for value, type_ in zip(values, op.types, strict=True)]
        try:
            samples = self._infer(op, arguments) if samples is None else samples
        except Exception as error:
            given = [f"{x.name!r} {x.dtype.name}{list(x.shape)}" for x in _symbols(arguments)]
            error.add_note(
                f"in {op.name!r} of {', '.join(given)} ({_where()}) of the graph {self.graph.name!r}; "
                f"sizes that are known later are tried as {' and '.join(map(str, self.graph._sample_sizes[:2]))}"
            )
            raise
        if len(op.results) == 1:
            samples = [[sample] for sample in samples]
        elif not op.results:
            samples = [[], []]
        types: list[tuple[DType, tuple[int, ...]]] = []
        sizes: list[int] = []
        for first, *others in zip(*samples, strict=True):
            if isinstance(first, Tensor):
                types.append(_type_of(first, *others))
                sizes.append(-1)
            elif isinstance(first, (list, tuple)) and all(len(first) == len(other) for other in others):
                types += [_type_of(x, *ys) for x, *ys in zip(first, *others, strict=True)]
                sizes.append(len(first))
            else:
                raise TypeError(f"[{op.name}] gives {type(first).__name__}, and a graph has tensors only as results")
        results = self.graph._add_operator(op.name, arguments, types, sizes, _where())
        self._tell(op, values, results)
        return self._results(op, values, samples[0], sizes, results)

    def _tell(self, op: _Operator, values: Sequence[Any], results: Sequence[Symbol]) -> None:
        """Notes what is known of the elements of a node's result, or what is no longer known as it has written."""
        written = [x for x, alias in zip(values, op.aliases, strict=True) if (alias or "").endswith("!")]
        if any(isinstance(x, Symbol) and _C.isdtype(x.dtype, "integral") for x in written):
            graph: Graph | None = self.graph
            while graph is not None:
                graph._told.forget()
                graph = graph._outer
        elif not written and len(results) == 1:
            self.graph._told.computed(op.name, values, results[0])

    def _results(
        self, op: _Operator, values: Sequence[Any], sample: Any, sizes: list[int], symbols: list[Symbol]
    ) -> Any:
        if not op.results:
            return None
        remaining = iter(symbols)
        results: list[Any] = []
        for (_, alias), size in zip(op.results, sizes, strict=True):
            if size < 0:
                symbol = next(remaining)
                # What is written to stays the object that was given.
                written = alias is not None and alias.endswith("!")
                results.append(values[op.aliases.index(alias)] if written else symbol)
            else:
                results.append([next(remaining) for _ in range(size)])
        if len(results) == 1:
            return results[0] if sizes[0] < 0 else type(sample[0])(results[0])
        return type(sample)._make(results) if hasattr(type(sample), "_make") else tuple(results)


def _sample(x: Symbol, k: int) -> Tensor:
    described = x._graph._described(x._id)
    return x._graph._sample(described.shape, described.dtype, k) if -1 in described.shape else Tensor.__new__(Tensor, x)


def _sampled(value: Any, k: int) -> Any:
    """Returns an argument with meta tensors in place of its symbols."""
    if isinstance(value, Symbol):
        return _sample(value, k)
    if isinstance(value, list):
        return [_sampled(item, k) for item in value]
    if isinstance(value, Tensor):
        return lm.empty_like(value, device="meta")
    return value


def _tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else lm.asarray(value)


def _small(value: Any, k: int) -> Any:
    """Returns an argument with small tensors in place of its symbols, whose elements differ between the samples."""
    if isinstance(value, list):
        return [_small(item, k) for item in value]
    if not isinstance(value, Symbol):
        return value
    captured = value._graph._described(value._id).captured
    if captured is not None:
        return captured.clone()
    shape = [SMALL_SIZES[k] if size == -1 else size for size in value.shape]
    if k == 1:
        return lm.zeros(shape, dtype=value.dtype)
    count = lm.arange(math.prod(shape)).reshape(shape)
    if value.dtype.name.startswith(("float", "bfloat", "complex")):
        return (0.25 + count / (2 * max(1, math.prod(shape)))).astype(value.dtype)
    return (count % 2 if value.dtype != lm.bool else count >= 0).astype(value.dtype)


def _type_of(x: Tensor, *others: Tensor) -> tuple[DType, tuple[int, ...]]:
    shapes = zip(x.shape, *(y.shape for y in others), strict=True)
    return x.dtype, tuple(sizes[0] if len(set(sizes)) == 1 else -1 for sizes in shapes)


def _with_least(run: Callable[[], Any], symbols: Sequence[Symbol], sample: Any) -> list[Any]:
    """Returns what a function makes of sample 2 of these values, in a list.

    It tells which sizes are the smaller of a number and an unknown size. Nothing where no size is unknown, or where the
    function refuses sizes of 1.
    """
    if not any(-1 in x._graph._described(x._id).shape for x in symbols):
        return []
    try:
        made = run()
    except Exception:  # whatever it refuses them with
        return []
    return [made] if _ranks(made) == _ranks(sample) else []


def _ranks(results: Any) -> list[int]:
    return [len(x.shape) for x in _tree.flatten(results)[0]]


def _index_text(key: Any) -> tuple[str, list[Tensor]]:
    """Returns an index in the notation of ``lamella::index``, and its tensors."""
    tensors: list[Tensor] = []

    def text(item: Any) -> str:
        if item is Ellipsis:
            return "..."
        if item is None:
            return "None"
        if isinstance(item, slice):
            parts = ["" if part is None else str(part.__index__()) for part in (item.start, item.stop, item.step)]
            return f"{parts[0]}:{parts[1]}" + (f":{parts[2]}" if parts[2] else "")
        if isinstance(item, (Tensor, list, tuple, np.ndarray, bool)):
            tensors.append(item if isinstance(item, Tensor) else lm.asarray(item))
            return "%"
        return str(item.__index__())

    items = [text(item) for item in (key if isinstance(key, tuple) else (key,))]
    return ", ".join(items), tensors


def start_recording(graph: Graph) -> None:
    """Makes calls of operators on this thread nodes of ``graph``, as :func:`recording` does, until it is stopped."""
    stack = _active.__dict__.setdefault("stack", [])
    stack.append((_C._set_recorder(graph._recorder), exchange_handler(graph._recorder)))


def stop_recording() -> None:
    """Ends the innermost :func:`start_recording` of this thread."""
    stack = _active.__dict__.setdefault("stack", [])
    if not stack:
        raise RuntimeError("[stop_recording] nothing is recorded on this thread")
    recorder, handler = stack.pop()
    _C._set_recorder(recorder)
    exchange_handler(handler)


@contextlib.contextmanager
def recording(graph: Graph) -> Iterator[Graph]:
    """Makes calls of operators on this thread nodes of ``graph``.

    Calls become nodes where a symbol, a parameter or a tensor that the graph has captured is among their arguments, or
    where they draw random numbers; others are made at once.
    """
    start_recording(graph)
    try:
        yield graph
    finally:
        stop_recording()


@contextlib.contextmanager
def not_recording() -> Iterator[None]:
    """Makes calls of operators on this thread compute at once, whatever is recorded around them."""
    previous, handler = _C._set_recorder(None), exchange_handler(None)
    try:
        yield
    finally:
        _C._set_recorder(previous)
        exchange_handler(handler)


def recorded_graph() -> Graph | None:
    """Returns the graph of which calls of operators on this thread become nodes, or None."""
    recorder = _C._recorder()
    return recorder.graph if isinstance(recorder, Recorder) else None


def is_recording() -> bool:
    """True if calls of operators on this thread become nodes of a graph."""
    return bool(_active.__dict__.get("stack"))
