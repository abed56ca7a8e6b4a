"""A graph of operators: building, running, reading and writing."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import lamella as lm
from lamella import _C
from lamella._C import DType, Tensor
from lamella.autograd._inspect import Drawing

from ._cpp import save_cpp
from ._known import Known
from ._recorder import Recorder, _where
from ._sizes import plain_sizes
from ._symbol import SAMPLE_SIZES, Symbol
from ._told import Told

Shape = tuple[int, ...]


class _Described(NamedTuple):
    name: str
    dtype: DType
    shape: Shape
    origin: str
    stop_gradient: bool
    captured: Tensor | None


class Node(NamedTuple):
    """A step of a graph."""

    #: "operator", "function" or "gradients".
    kind: str
    #: Full name of the operator, or name of the function.
    op: str
    #: Name and value of each argument, with symbols for values of the graph and None for a generator; a function has
    #: one argument, a list of symbols.
    arguments: list[tuple[str, Any]]
    results: list[Symbol | None]
    #: For each of an operator's results: number of tensors in a list, or -1 for a single tensor.
    list_sizes: list[int]
    #: True if the node does more than compute its results.
    effects: bool
    #: True if the node runs with recording off.
    no_grad: bool
    #: Line of the program that made the node.
    where: str


class _Lists:
    """A function as nodes call it: it takes a list of tensors, and returns one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, given: Sequence[Tensor]) -> list[Any]:
        returned = self.function(*given)
        if isinstance(returned, Tensor):
            return [returned]
        return [] if returned is None else list(returned)

    def inference(self) -> _Lists:
        """Returns the function in a graph for inference: what its method of this name gives, or itself."""
        own = getattr(self.function, "inference", None)
        return self if own is None else _Lists(own())


class Graph:
    """A list of operators on values, recorded once and run often.

    Args:
        name: stands in messages.
    """

    def __init__(self, name: str = "graph", *, _core: Any = None) -> None:
        self._core: Any = _C._Graph(name) if _core is None else _core
        self._functions: list[Callable[[Sequence[Tensor]], list[Tensor | None]]] = []
        self._function_names: list[str] = []
        self._generators: list[lm.random.Generator] = []
        self._symbols: weakref.WeakValueDictionary[int, Symbol] = weakref.WeakValueDictionary()
        self._held: list[Symbol] = []
        self._recorder = Recorder(self)
        #: True decides ``if n > 3`` by the sizes of examples, with a warning, where the inputs' limits do not.
        self.follows_examples = False
        #: Pairs of inputs' axes, by number of the value and axis, that a program has taken to have one size, as their
        #: examples have; None where runs do not check that.
        self.equal_axes: list[Any] | None = None
        self._known_sizes: dict[tuple[int, int], Known] = {}
        #: The sizes that are the elements of values.
        self._told = Told()
        #: The number of unknown sizes of the value that has most.
        self._most_open = 0
        #: The graph around it, of a branch or of the body of a loop.
        self._outer: Graph | None = None

    @property
    def name(self) -> str:
        """The name of the graph."""
        return str(self._core.name)

    def __repr__(self) -> str:
        return f"<graph {self.name!r} of {len(self._core.nodes())} nodes>"

    def _repr_svg_(self) -> str | None:
        return str(self.draw()) if self.nodes else None

    # Values

    def _described(self, id_: int) -> _Described:
        return _Described(*self._core.value(id_))

    def _stops(self, id_: int) -> bool:
        described = self._described(id_)
        if described.captured is not None and not described.stop_gradient:
            return described.captured.stop_gradient
        return described.stop_gradient

    def _holds(self, x: Tensor) -> bool:
        return bool(self._core.find_captured(x) >= 0)

    @property
    def _sample_sizes(self) -> tuple[int, int, int]:
        return (*SAMPLE_SIZES[min(self._most_open, len(SAMPLE_SIZES) - 1)], 1)

    def _sample(self, shape: Sequence[int], dtype: DType, k: int) -> Tensor:
        """Returns a tensor on meta whose unknown sizes, -1, are those of sample ``k``: 0, 1 or 2."""
        self._most_open = max(self._most_open, sum(size < 0 for size in shape))
        return lm.empty([self._sample_sizes[k] if n < 0 else n for n in shape], dtype=dtype, device="meta")

    def _symbol(self, id_: int) -> Symbol:
        symbol = self._symbols.get(id_)
        if symbol is None:
            described = self._described(id_)
            symbol = Symbol._make(self, id_, self._sample(described.shape, described.dtype, 0))
            self._symbols[id_] = symbol
        return symbol

    def _optional(self, id_: int) -> Symbol | None:
        return None if id_ < 0 else self._symbol(id_)

    def input(self, name: str, dtype: Any, shape: Sequence[int]) -> Symbol:
        """Adds a tensor that every run is given.

        Args:
            name: its name, which a run's feeds use.
            dtype: its dtype.
            shape: its sizes, -1 for one that each run determines.

        Raises:
            ValueError: the name is taken, or a size is below -1.
        """
        return self._symbol(self._core.add_input(name, dtype, list(plain_sizes(shape))))

    def tell_size(
        self, x: Symbol, axis: int, low: float = 0, high: float = math.inf, example: int | None = None
    ) -> None:
        """Tells of an input's size that a run determines which numbers it is between, both included.

        What a program decides with it then need not wait for a run. Runs do not check it.

        Args:
            x: the input.
            axis: its axis, counted from the front.
            low: the smallest number.
            high: the largest number.
            example: one of them, which counts where the graph follows its examples.
        """
        self._known_sizes[x._id, axis] = Known(low, high, example)

    def declare(self, name: str, dtype: Any, shape: Sequence[int]) -> Symbol:
        """Adds a value that is computed later: a node's result becomes it by :meth:`define`.

        Raises:
            ValueError: the name is taken, or a size is below -1.
        """
        return self._symbol(self._core.declare(name, dtype, list(plain_sizes(shape))))

    def define(self, declared: Symbol, computed: Symbol) -> None:
        """Makes a symbol stand for another value from now on, which takes its name."""
        for symbol in (declared, computed):
            self._recorder._symbol(symbol)
        self._core.define(declared._id, computed._id)
        declared._id = computed._id
        self._symbols[computed._id] = declared

    def capture(self, tensor: Tensor, name: str | None = None) -> Symbol:
        """Adds a tensor that the graph refers to: every run sees the contents that it has then.

        Tensors that meet symbols in an operator are captured by themselves.

        Raises:
            ValueError: the tensor is on ``meta``, or the result of a recorded operation.
        """
        if isinstance(tensor, Symbol):
            return self._recorder._symbol(tensor)
        if tensor.device == "meta":
            raise ValueError(
                f"[capture] a tensor on 'meta' has no contents: {tensor!r}; it may be the result of a call on a symbol "
                "outside of recording(graph)"
            )
        if not tensor.is_leaf:
            raise ValueError(
                f"[capture] a tensor of shape {list(tensor.shape)} is the result of a recorded operation, whose "
                "history is no part of the graph: compute it while the graph is recorded, or capture its detach()"
            )
        return self._symbol(self._core.add_captured(tensor, name or getattr(tensor, "name", None) or ""))

    def meta(self, x: Symbol, sample: int) -> Tensor:
        """Returns a tensor on ``meta`` that looks like a symbol, with one of three numbers for unknown sizes.

        A size that differs between what is computed of samples 0, 1 and 2 is known only when the graph runs. Those of
        sample 2 are 1, which many functions refuse, and which tells that a result has no more than some number of rows.
        """
        return self._recorder.sized(x, sample)

    def symbol(self, name: str) -> Symbol:
        """Returns the value of that name; KeyError if there is none."""
        id_ = self._core.find(name)
        if id_ < 0:
            raise KeyError(f"there is no value {name!r} in the graph {self.name!r}")
        return self._symbol(id_)

    def __contains__(self, name: str) -> bool:
        return bool(self._core.find(name) >= 0)

    @property
    def symbols(self) -> list[Symbol]:
        """All values, in the order in which they were added."""
        return [self._symbol(i) for i in range(self._core.value_count())]

    @property
    def inputs(self) -> list[Symbol]:
        """The tensors that every run is given."""
        return [x for x in self.symbols if self._described(x._id).origin == "input"]

    @property
    def captured(self) -> dict[str, Tensor]:
        """The captured tensors by name."""
        described = [self._described(i) for i in range(self._core.value_count())]
        return {value.name: value.captured for value in described if value.captured is not None}

    def replace(self, name: str, tensor: Tensor) -> None:
        """Puts another tensor, of the same dtype and shape, in the place of a captured one."""
        self._core.replace_captured(self.symbol(name)._id, tensor)

    # Nodes

    def _prepare(self) -> None:
        if lm.is_autocast_enabled():
            raise NotImplementedError(
                "[graph] autocast has no effect when a graph runs: call astype() where the graph is to compute in "
                "another dtype"
            )
        self._core.set_no_grad(not lm.is_grad_enabled())

    def _add_operator(
        self, op: str, arguments: Sequence[Any], types: list[tuple[DType, Shape]], sizes: list[int], where: str
    ) -> list[Symbol]:
        # The engine refers to generators and does not own them.
        self._generators += [argument for argument in arguments if isinstance(argument, lm.random.Generator)]
        values: list[Any] = []
        references: list[bool] = []
        for argument in arguments:
            symbols = isinstance(argument, list) and any(isinstance(item, Symbol) for item in argument)
            references.append(symbols or isinstance(argument, Symbol))
            if symbols:
                values.append([-1 if item is None else item._id for item in argument])
            else:
                values.append(argument._id if isinstance(argument, Symbol) else argument)
        self._prepare()
        return [self._symbol(i) for i in self._core.add_operator(op, values, references, types, sizes, where)]

    def _add_function(
        self,
        name: str,
        function: Callable[[Sequence[Tensor]], list[Any]],
        inputs: Sequence[Symbol],
        types: Sequence[tuple[DType, Shape]],
        effects: bool,
        where: str,
    ) -> list[Symbol]:
        self._prepare()
        ids = self._core.add_function(name, len(self._functions), [x._id for x in inputs], list(types), effects, where)
        self._functions.append(function)
        self._function_names.append(name)
        return [self._symbol(i) for i in ids]

    def function(
        self,
        name: str,
        function: Callable[..., Any],
        inputs: Sequence[Tensor],
        results: Sequence[tuple[Any, Sequence[int]]],
        *,
        effects: bool = True,
    ) -> list[Symbol]:
        """Adds a call of ``function(*tensors)`` whenever the graph runs.

        Args:
            name: the node's name.
            function: takes a tensor for each input, and returns a tensor, a sequence of tensors (None for no tensor),
                or None where there are no results. What it computes is on the tape, where the graph has gradients.
            inputs: symbols, or tensors, which are captured.
            results: dtype and shape of each result, checked in every run.
            effects: False says that the function only computes its results, so that it may be left out.
        """
        types = [(dtype, plain_sizes(shape)) for dtype, shape in results]
        symbols = [self._recorder._symbol(x) for x in inputs]
        return self._add_function(name, _Lists(function), symbols, types, effects, _where())

    def call(self, name: str, function: Callable[[Sequence[Tensor]], Any], inputs: Sequence[Tensor]) -> Any:
        """Adds a call of ``function(tensors)`` whenever the graph runs, like a custom layer's.

        The shapes of its results are found by calls with tensors on ``meta``, or with small samples where it reads
        elements.

        Returns:
            What the function returns, a tensor or a tree of tensors, with symbols in their places.
        """
        return self._recorder.function(name, function, inputs)

    def write(self, target: Tensor, value: Tensor) -> None:
        """Adds a write of ``value`` into a captured tensor."""
        with lm.no_grad():
            self._recorder._record(self._recorder._operator(lm.ops.lamella.copy_), [target, value])

    def gradients(
        self,
        targets: Tensor | Sequence[Tensor],
        inputs: Tensor | Sequence[Tensor],
        target_gradients: Sequence[Tensor | None] | None = None,
    ) -> list[Symbol | None]:
        """Adds the gradients of the sum of ``targets`` with respect to ``inputs``.

        Returns:
            One symbol for each input, None for one that no target depends on.
        """
        to = self._recorder._symbol
        target_list = [to(x) for x in ([targets] if isinstance(targets, Tensor) else targets)]
        input_list = [to(x) for x in ([inputs] if isinstance(inputs, Tensor) else inputs)]
        begin = [-1 if x is None else to(x)._id for x in target_gradients or []]
        self._prepare()
        ids = [[x._id for x in symbols] for symbols in (target_list, input_list)]
        if self._functions:
            self._add_reached(ids, begin)
        return [self._optional(i) for i in self._core.add_gradients(*ids, begin, _where())]

    def _add_reached(self, ids: list[list[int]], begin: list[int]) -> None:
        """Adds an input to the targets, with zeros as its gradient, if there is one that targets depend on.

        In a run the branch that is taken, a loop that ends at once or a function in Python may depend on no input: the
        gradients are zeros then.
        """
        targets, inputs = ids
        found = self._core.clone().add_gradients(targets, inputs, begin, "")
        reached = [self._symbol(i) for i, gradient in zip(inputs, found, strict=True) if gradient >= 0]
        if not reached:
            return
        least = min(reached, key=lambda x: math.prod(abs(n) for n in plain_sizes(x.shape)))
        with lm.no_grad():
            zeros = self._recorder._record(self._recorder._operator(lm.ops.lamella.zeros_like), [least, None, None])
        begin[:] = [*(begin or [-1] * len(targets)), zeros._id]
        targets.append(least._id)
        self._prepare()

    @property
    def nodes(self) -> list[Node]:
        """The nodes, in the order in which they run."""

        def value(described: tuple[Any, ...]) -> Any:
            if described[0] == "value":
                return self._optional(described[1])
            if described[0] == "values":
                return [self._optional(i) for i in described[1]]
            return described[1]

        return [
            Node(kind, op, [(name, value(x)) for name, x in arguments], [self._optional(i) for i in results], *rest)
            for kind, op, arguments, results, *rest in self._core.nodes()
        ]

    # Running

    def run(
        self,
        feeds: Mapping[str, Tensor] | None = None,
        fetches: Sequence[Symbol | str] = (),
        *,
        prune: bool = False,
        fuse: bool = True,
        wait: bool = False,
    ) -> list[Tensor]:
        """Runs the graph.

        Args:
            feeds: a tensor for each input, by name.
            fetches: the values to return, as symbols or names.
            prune: run only what the fetches need, and nodes with effects.
            fuse: join elementwise operators, so that what lies between them is not written to memory. Results keep
                their bits; gradients are the same to the rounding of their sums.
            wait: have all joined operators compiled now, and return when they are, so that later runs are fast; see
                :func:`set_native`.

        Returns:
            The fetched values.

        Raises:
            ValueError: an input is not fed, or has another shape; a feed has no input.
            TypeError: an input has another dtype.
            KeyError: there is no value of a fetched name.
        """
        feeds = feeds if isinstance(feeds, dict) else dict(feeds or {})
        symbols = [self.symbol(x) if isinstance(x, str) else self._recorder._symbol(x) for x in fetches]
        previous = _C._set_recorder(None)
        try:
            results: list[Tensor] = self._core.run(feeds, [x._id for x in symbols], prune, fuse, wait, self._functions)
        finally:
            _C._set_recorder(previous)
        return results

    # Forms

    def _like(self, core: Any) -> Graph:
        graph = Graph(_core=core)
        graph._functions, graph._function_names = list(self._functions), list(self._function_names)
        graph._generators = list(self._generators)
        return graph

    def clone(self) -> Graph:
        """Returns a copy, with the same captured tensors."""
        return self._like(self._core.clone())

    def prune(self, fetches: Sequence[Symbol | str]) -> Graph:
        """Returns a copy that has only what the fetches need."""
        ids = [self._core.find(x) if isinstance(x, str) else x._id for x in fetches]
        return self._like(self._core.pruned(ids))

    def fused(self, fetches: Sequence[Symbol | str]) -> Graph:
        """Returns a copy in which elementwise operators are joined, as they are in runs with these fetches."""
        ids = [self._core.find(x) if isinstance(x, str) else x._id for x in fetches]
        return self._like(self._core.fused(ids))

    def compact(self, kept: Sequence[Symbol | str] = ()) -> Graph:
        """Returns a copy that lacks the inputs and captured tensors that no node uses, but for those of ``kept``."""
        ids = [self._core.find(x) if isinstance(x, str) else x._id for x in kept]
        return self._like(self._core.compacted(ids))

    def inference(self) -> Graph:
        """Returns a copy without gradients and what is computed from them, in which dropout and the like are off."""
        graph = self._like(self._core.for_inference())
        graph._functions = [
            function.inference() if hasattr(function, "inference") else function for function in self._functions
        ]
        return graph

    def text(self) -> str:
        """Returns the graph as text, which :meth:`parse` reads."""
        return str(self._core.text())

    __str__ = text

    @staticmethod
    def parse(
        text: str,
        captured: Mapping[str, Tensor] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Graph:
        """Reads a graph's text.

        Args:
            text: what :meth:`text` returned.
            captured: the captured tensors by name.
            functions: the functions that nodes call, by name.

        Raises:
            ValueError: the text is wrong, which the message shows, or names a tensor or a function that is not given.
        """
        names = list(functions or {})
        graph = Graph(_core=_C._Graph.parse(text, dict(captured or {}), names))
        for name, function in (functions or {}).items():
            graph._functions.append(_Lists(function))
            graph._function_names.append(name)
        return graph

    def save_cpp(self, folder: str | os.PathLike[str], fetches: Sequence[Symbol | str]) -> None:
        """Writes what computes the fetches as a C++ program, which needs nothing but Lamella's library.

        The folder gets ``main.cc``, ``CMakeLists.txt`` and the captured tensors, as files that numpy reads. The program
        takes its inputs from such files, and writes a file for each fetch::

            cmake -B build -DCMAKE_PREFIX_PATH=$(python -m lamella.sysconfig --cmakedir) && cmake --build build
            build/program x=x.npy --weights weights --to results

        Gradients are left out, and dropout and the like are off.

        Raises:
            ValueError: a node calls a function in Python, such as a ``PyLayer``.
        """
        save_cpp(self, folder, fetches)

    def verify(self) -> None:
        """Raises ValueError, naming node and value, unless each value is computed once, before its use."""
        self._core.verify()

    def draw(self, path: str | os.PathLike[str] | None = None, *, max_nodes: int = 200) -> Drawing:
        """Draws the graph as an SVG, which notebooks show as a picture.

        Each node has its name, what it computes and the line of the program that made it, and stands below what it
        reads.

        Args:
            path: a file that the drawing is written to as well.
            max_nodes: number of nodes that are drawn; how many more there are is told.

        Raises:
            ValueError: ``max_nodes`` is below 1.
        """
        drawing = Drawing(self._core.draw(max_nodes), "svg")
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(drawing)
        return drawing

    def dot(self) -> str:
        """Returns the graph in the language of Graphviz."""
        lines = [f'digraph "{self.name}" {{', "  node [shape=box, fontname=Helvetica];"]

        def quote(text: str) -> str:
            return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

        for symbol in self.symbols:
            if self._described(symbol._id).origin != "result":
                label = f"{symbol.name}\n{symbol.dtype.name}{list(symbol.shape)}"
                lines.append(f"  v{symbol._id} [shape=ellipse, label={quote(label)}];")
        for i, node in enumerate(self.nodes):
            lines.append(f"  n{i} [label={quote(node.op)}];")
            for _, argument in node.arguments:
                for x in argument if isinstance(argument, list) else [argument]:
                    if isinstance(x, Symbol):
                        lines.append(f"  v{x._id} -> n{i};")
            for result in node.results:
                if result is not None:
                    lines.append(f"  v{result._id} [label={quote(result.name)}, shape=plaintext];")
                    lines.append(f"  n{i} -> v{result._id};")
        return "\n".join([*lines, "}"])
