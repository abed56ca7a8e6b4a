"""Control flow that depends on elements: branches and loops, eagerly and as nodes of graphs."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import lamella as lm
from lamella import _C, _tree
from lamella._C import Tensor

from ._graph import Graph, Shape
from ._recorder import Recorder, _where, recording
from ._sizes import plain_sizes
from ._symbol import Symbol


class _Types(NamedTuple):
    """Dtype and shape of a value; -1 for sizes that are not known."""

    dtype: Any
    shape: Shape

    def __str__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}"

    def joined(self, other: _Types) -> _Types | None:
        """Returns what a value is that is one or the other; None if they differ."""
        if self.dtype != other.dtype or len(self.shape) != len(other.shape):
            return None
        pairs = list(zip(self.shape, other.shape, strict=True))
        if any(a != b and -1 not in (a, b) for a, b in pairs):
            return None
        return _Types(self.dtype, tuple(a if a == b else -1 for a, b in pairs))


def _types_of(x: Tensor) -> _Types:
    return _Types(x.dtype, plain_sizes(x.shape))


def _leaves(op: str, what: str, tree: Any) -> tuple[list[Tensor], _tree.Structure]:
    """Returns the leaves of a tree as tensors, numbers among them too, and its structure."""
    leaves, structure = _tree.leaves_of(tree)
    for i, (leaf, path) in enumerate(zip(leaves, structure.paths(), strict=True)):
        if isinstance(leaf, (bool, int, float, complex)):
            leaves[i] = lm.asarray(leaf)
        elif not isinstance(leaf, Tensor):
            raise TypeError(f"[{op}] {what}{path} is {type(leaf).__name__}: expected a Tensor or a number")
    return leaves, structure


def _tuple_of(op: str, name: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"[{op}] {name} is a tuple or a list, not {type(value).__name__}")
    return tuple(value)


def _check_functions(op: str, **functions: Any) -> None:
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"[{op}] {name} is a function, not {type(function).__name__}")


def _check_scalar(op: str, what: str, x: Any) -> None:
    if not isinstance(x, (bool, int, float, Tensor)):
        raise TypeError(f"[{op}] {what} is a bool or a tensor of one element, not {type(x).__name__}")
    if isinstance(x, Tensor) and any(size != 1 for size in x.shape):
        raise ValueError(f"[{op}] {what} is one element, and has the shape {list(x.shape)}")


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """Returns ``true_fn(*operands)`` where ``pred`` holds, ``false_fn(*operands)`` otherwise.

    As a part of a graph, a static program or an exported model it is a node with both branches, of which each run
    takes one. Gradients flow through the branch that was taken. Under :func:`lamella.vmap`, where ``pred`` differs
    from example to example, both branches are computed for all examples, and each gets the results of its own.

    Args:
        pred: a bool, or a tensor of one element.
        true_fn: takes the operands, and returns a tensor or a tree of tensors and numbers; numbers become tensors.
        false_fn: the same; in a graph both must give the same structure, dtypes and shapes.
        operands: the arguments of the branches. Tensors of their surroundings are seen as well.

    Raises:
        TypeError: ``pred`` or a result is neither a tensor nor a number, or a branch is no function.
        ValueError: ``pred`` has more than one element; or, in a graph, the branches give different structures, dtypes
            or shapes, which the message names; so for examples of a batch.
    """
    _check_functions("cond", true_fn=true_fn, false_fn=false_fn)
    _check_scalar("cond", "pred", pred)
    operands = _tuple_of("cond", "operands", operands)
    if _differs(pred):
        return _cond_by_example(pred, true_fn, false_fn, operands)
    if isinstance(pred, Symbol):
        return _record_cond(pred, true_fn, false_fn, operands)
    if isinstance(pred, Tensor) and isinstance(recorder := _C._recorder(), lm.graph._recorder.RecorderBase):
        found = recorder.control_flow("cond", _cond_of_views, (pred, true_fn, false_fn, operands))
        if found is not NotImplemented:
            return found
    leaves, structure = _leaves("cond", "the result", (true_fn if pred else false_fn)(*operands))
    return structure.build(leaves)


def _differs(x: Any) -> bool:
    """True if a value differs from example to example of a batch."""
    return isinstance(x, Tensor) and bool(_C._hidden_axes(x))


def _chosen(wanted: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Returns a for the examples that want it, b for the others; both have one dtype and shape."""
    return lm.where(lm.reshape(wanted, []) != 0, a, b)


def _cond_by_example(
    pred: Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...]
) -> Any:
    """Computes both branches for all examples of a batch and gives each the results of its own."""
    leaves, structure = _leaves("cond", "the result of true_fn", true_fn(*operands))
    found = structure.leaves_of(false_fn(*operands))
    if found is None:
        raise ValueError("[cond] true_fn and false_fn return different structures")
    others, _ = _leaves("cond", "the result of false_fn", found)
    for a, b, path in zip(leaves, others, structure.paths(), strict=True):
        if _types_of(a) != _types_of(b):
            raise ValueError(
                f"[cond] the result{path} of true_fn is {_types_of(a)}, and that of false_fn {_types_of(b)}: pred "
                "differs from example to example, whose results have one dtype and shape"
            )
    return structure.build([_chosen(pred, a, b) for a, b in zip(leaves, others, strict=True)])


def _any_example(x: Tensor) -> bool:
    """True if a tensor of one element is true for an example of a batch."""
    for level, size in reversed(_C._hidden_axes(x)):
        x = _C._show_axis(x, 0, level, size)
    return bool(lm.any(x))


def _views(result: Any) -> Any:
    """Returns a result without tensors that its surroundings have: a step's results are its own."""
    leaves, structure = _tree.leaves_of(result)
    return structure.build([lm.reshape(x, list(x.shape)) for x in leaves])


def _cond_of_views(*args: Any) -> Any:
    return _views(cond(*args))


def _loop_of_views(*args: Any) -> Any:
    return _views(while_loop(*args))


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carry: Sequence[Any]) -> Any:
    """Replaces ``carry`` by ``body_fn(*carry)`` as long as ``cond_fn(*carry)`` holds, and returns it.

    As a part of a graph, a static program or an exported model it is a node. Gradients flow back through the
    iterations, each of which is recorded. Under :func:`lamella.vmap`, where the condition differs from example to
    example, it goes on until it holds for none, and the carry of an example stays what it was when its own ended.

    Args:
        cond_fn: takes the parts of the carry, and returns a bool or a tensor of one element.
        body_fn: takes the parts of the carry, and returns as many: a tuple or a list, or one value where there is one.
            Structure, dtypes and shapes stay what they were.
        carry: a tuple or a list of tensors, trees of tensors, and numbers, which become tensors.

    Returns:
        The carry at the end, a tuple or a list as it was given.

    Raises:
        TypeError: the carry is neither, or has what is neither a tensor nor a number.
        ValueError: ``body_fn`` returns another structure, dtype or shape, which the message names; or the condition has
            more than one element.
    """
    _check_functions("while_loop", cond_fn=cond_fn, body_fn=body_fn)
    if not _tuple_of("while_loop", "carry", carry):
        raise ValueError("[while_loop] carry is empty: the condition would never change")
    leaves, structure = _leaves("while_loop", "carry", carry)
    graph = next((x._graph for x in leaves if isinstance(x, Symbol)), None)
    if graph is None and isinstance(recorder := _C._recorder(), Recorder):
        graph = recorder.graph
    if graph is not None:
        return _record_loop(graph, cond_fn, body_fn, leaves, structure)
    if isinstance(recorder := _C._recorder(), lm.graph._recorder.RecorderBase):
        found = recorder.control_flow("while_loop", _loop_of_views, (cond_fn, body_fn, structure.build(leaves)))
        if found is not NotImplemented:
            return found
    running: Tensor | None = None  # of the examples of a batch, those whose loop has not ended
    while True:
        wanted = cond_fn(*structure.build(leaves))
        _check_scalar("while_loop", "the condition", wanted)
        if running is not None or _differs(wanted):
            wanted = lm.reshape(lm.asarray(wanted), []) != 0
            running = wanted if running is None else lm.logical_and(running, wanted)
        if not (wanted if running is None else _any_example(running)):
            return structure.build(leaves)
        made = _next_carry(leaves, structure, body_fn(*structure.build(leaves)))
        leaves = made if running is None else [_chosen(running, a, b) for a, b in zip(made, leaves, strict=True)]


def _next_carry(leaves: list[Tensor], structure: _tree.Structure, returned: Any) -> list[Tensor]:
    """Returns the leaves of what the body of a loop has returned, which are what the carry's were."""
    if len(structure.children) == 1 and not (isinstance(returned, (list, tuple)) and len(returned) == 1):
        returned = (returned,)
    found = structure.leaves_of(returned)
    if found is None:
        raise ValueError("[while_loop] body_fn returns another structure than that of carry")
    made, _ = _leaves("while_loop", "the result of body_fn", found)
    for x, before, path in zip(made, leaves, structure.paths(), strict=True):
        joined = _types_of(before).joined(_types_of(x))
        if joined is None or joined.shape != tuple(before.shape):
            raise ValueError(
                f"[while_loop] carry{path} is {_types_of(before)}, and body_fn makes it {_types_of(x)}: dtype and "
                "shape of the carry stay what they are"
            )
    return made


# As nodes of graphs


class _BodyRecorder(Recorder):
    """Records a branch or the body of a loop: what it uses of its surroundings becomes an input of it."""

    def __init__(self, graph: Graph, outer: Graph) -> None:
        super().__init__(graph)
        self._outer = outer._recorder
        #: Values of the graph around it, and the inputs that stand for them.
        self.taken: dict[int, tuple[Symbol, Symbol]] = {}

    def _symbol(self, x: Tensor) -> Symbol:
        if isinstance(x, Symbol) and x._graph is self.graph:
            return x
        outer = self._outer._symbol(x)
        if outer._id not in self.taken:
            inner = self.graph.input(f"outer_{outer.name}", outer.dtype, outer.shape)
            inner.stop_gradient = outer.stop_gradient
            self.taken[outer._id] = (outer, inner)
        return self.taken[outer._id][1]


class Body:
    """A branch, or a function of a loop, as a graph.

    Attributes:
        graph: what it computes.
        inputs: the graph's values for the arguments, and for what was taken of the surroundings.
        outputs: its results.
    """

    def __init__(self, graph: Graph, inputs: list[Symbol], outputs: list[Symbol]) -> None:
        self.graph = graph
        self.inputs = inputs
        self.outputs = outputs

    def __call__(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        ids = [x._id for x in self.inputs]
        results: list[Tensor] = self.graph._core.call(
            ids, list(tensors), [x._id for x in self.outputs], self.graph._functions
        )
        return results

    @property
    def effects(self) -> bool:
        """True if it does more than compute its results: it writes, draws random numbers, or calls such functions."""
        return bool(self.graph._generators) or any(node.effects for node in self.graph.nodes)

    def inference(self) -> Body:
        """Returns the body of a graph for inference."""
        graph = self.graph.inference()
        symbols = [[graph._symbol(x._id) for x in values] for values in (self.inputs, self.outputs)]
        return Body(graph, *symbols)


class ControlFlow:
    """A node's function that runs one of two branches, or a loop.

    Attributes:
        kind: "cond" or "while_loop".
        bodies: the branches for true and false; the condition and the body of a loop.
        takes: for each body, the positions of its inputs among the tensors that the node takes.
        count: number of the carry's parts.
    """

    def __init__(self, kind: str, bodies: list[Body], takes: list[list[int]], count: int) -> None:
        self.kind = kind
        self.bodies = bodies
        self.takes = takes
        self.count = count

    def _run(self, k: int, tensors: Sequence[Tensor]) -> list[Tensor]:
        return self.bodies[k]([tensors[i] for i in self.takes[k]])

    def __call__(self, given: Sequence[Tensor]) -> list[Tensor]:
        tensors = list(given)
        if self.kind == "cond":
            return self._run(0 if bool(tensors[0]) else 1, tensors)
        while bool(self._run(0, tensors)[0]):
            tensors[: self.count] = self._run(1, tensors)
        return tensors[: self.count]

    def inference(self) -> ControlFlow:
        """Returns the same with the bodies of graphs for inference."""
        return ControlFlow(self.kind, [body.inference() for body in self.bodies], self.takes, self.count)


def _record_body(
    outer: Graph, op: str, name: str, function: Callable[[list[Symbol]], Any], tensors: Sequence[Tensor]
) -> tuple[Graph, list[Symbol], Any]:
    """Records a function of a list of tensors; returns its graph, the inputs that stand for these, and its result."""
    graph = Graph(f"{outer.name}.{name}")
    graph._outer = outer
    recorder = _BodyRecorder(graph, outer)
    graph._recorder = recorder
    inputs = [graph.input(f"argument{i}", x.dtype, x.shape) for i, x in enumerate(tensors)]
    for x, given in zip(inputs, tensors, strict=True):
        x.stop_gradient = given.stop_gradient
    with recording(graph):
        try:
            result = function(inputs)
        except Exception as error:
            error.add_note(f"[{op}] while {name} was recorded for the graph {outer.name!r}")
            raise
    return graph, inputs, result


def _finished(graph: Graph, inputs: list[Symbol], leaves: Sequence[Tensor]) -> tuple[Body, list[Symbol]]:
    """Returns the body, and the values of the surroundings that it takes after its arguments."""
    recorder: Any = graph._recorder
    outputs: list[Symbol] = []
    with recording(graph):
        for x in leaves:
            symbol = recorder._symbol(x)
            # A result that is an input, or is there twice, is a value of its own.
            outputs.append(recorder._symbol(lm.clone(symbol)) if _is_input(graph, symbol) else symbol)
    taken = [outer for outer, _ in recorder.taken.values()]
    inner = [inner for _, inner in recorder.taken.values()]
    return Body(graph, inputs + inner, outputs), taken


def _is_input(graph: Graph, x: Symbol) -> bool:
    return graph._described(x._id).origin != "result"


def _positions(tensors: list[Symbol], wanted: Sequence[Symbol]) -> list[int]:
    """Returns the places of values in a list, to which those that are not there are added."""
    places = []
    for x in wanted:
        at = next((i for i, y in enumerate(tensors) if y._id == x._id), -1)
        if at < 0:
            at = len(tensors)
            tensors.append(x)
        places.append(at)
    return places


def _graph_of(x: Symbol) -> Graph:
    """Returns the graph to which calls belong now: the innermost that is recorded within the symbol's."""
    recorder = _C._recorder()
    return recorder.graph if isinstance(recorder, Recorder) else x._graph


def _branch(
    name: str, branch: Callable[..., Any], rebuild: _tree.Spec, inputs: list[Symbol]
) -> tuple[list[Tensor], _tree.Structure, Any]:
    result = branch(*rebuild(iter(inputs)))
    return *_leaves("cond", f"the result of {name}", result), result


def _loop_part(
    name: str, function: Callable[..., Any], structure: _tree.Structure, inputs: list[Symbol]
) -> list[Tensor]:
    returned = function(*structure.build(inputs))
    if name == "body_fn":
        return _next_carry(list(inputs), structure, returned)
    _check_scalar("while_loop", "the condition", returned)
    return [returned if isinstance(returned, Tensor) else lm.asarray(returned)]


def _record_cond(
    pred: Symbol, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...]
) -> Any:
    outer = _graph_of(pred)
    to = outer._recorder._symbol
    given, rebuild = _tree.flatten(list(operands))
    recorded = []
    for name, branch in (("true_fn", true_fn), ("false_fn", false_fn)):
        run = functools.partial(_branch, name, branch, rebuild)
        graph, inputs, (leaves, structure, result) = _record_body(outer, "cond", name, run, given)
        recorded.append((graph, inputs, leaves, structure, result))
    (_, _, leaves, structure, _), (_, _, others, _, other) = recorded
    if structure.leaves_of(other) is None:
        raise ValueError("[cond] true_fn and false_fn return different structures")
    types = []
    for x, y, path in zip(leaves, others, structure.paths(), strict=True):
        joined = _types_of(x).joined(_types_of(y))
        if joined is None:
            raise ValueError(
                f"[cond] the branches differ: true_fn gives {_types_of(x)} as result{path}, and false_fn {_types_of(y)}"
            )
        types.append(joined)
    tensors = [to(pred)]
    bodies, takes = [], []
    for graph, inputs, values, _, _ in recorded:
        body, taken = _finished(graph, inputs, values)
        bodies.append(body)
        takes.append(_positions(tensors, [*map(to, given), *taken]))
    return structure.build(_add(outer, ControlFlow("cond", bodies, takes, 0), tensors, types))


def _record_loop(
    outer: Graph,
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carry: Sequence[Tensor],
    structure: _tree.Structure,
) -> Any:
    recorder = _C._recorder()
    outer = recorder.graph if isinstance(recorder, Recorder) else outer
    tensors = [outer._recorder.of_each_run(x) for x in carry]
    count = len(tensors)
    others: list[Symbol] = []
    bodies, takes = [], []
    for name, function in (("cond_fn", cond_fn), ("body_fn", body_fn)):
        run = functools.partial(_loop_part, name, function, structure)
        graph, inputs, leaves = _record_body(outer, "while_loop", name, run, tensors)
        body, taken = _finished(graph, inputs, leaves)
        bodies.append(body)
        takes.append([*range(count), *(count + i for i in _positions(others, taken))])
    types = [_types_of(x) for x in carry]
    return structure.build(_add(outer, ControlFlow("while_loop", bodies, takes, count), [*tensors, *others], types))


def _add(outer: Graph, flow: ControlFlow, tensors: Sequence[Symbol], types: Sequence[_Types]) -> Iterator[Symbol]:
    effects = any(body.effects for body in flow.bodies)
    count = sum(isinstance(function, ControlFlow) and function.kind == flow.kind for function in outer._functions)
    name = f"{flow.kind}_{count}" if count else flow.kind
    return iter(outer._add_function(name, flow, tensors, list(types), effects, _where()))


def control_flow_of(graph: Graph, name: str) -> ControlFlow | None:
    """Returns the branches or the loop that a function node of that name runs; None for other functions."""
    found = [function for function, own in zip(graph._functions, graph._function_names, strict=True) if own == name]
    return found[0] if found and isinstance(found[0], ControlFlow) else None


# As text


def described(graph: Graph) -> dict[str, Any]:
    """Returns the branches and loops that a graph's nodes run, by the nodes' names, as what JSON can hold.

    Raises:
        ValueError: a node calls another function in Python, or the graph of a branch refers to a tensor.
    """
    found: dict[str, Any] = {}
    for node in graph.nodes:
        if node.kind != "function":
            continue
        flow = control_flow_of(graph, node.op)
        if flow is None:
            raise ValueError(f"the Python function '{node.op}' ({node.where})")
        bodies = []
        for body in flow.bodies:
            if body.graph.captured:
                raise ValueError(f"tensors that a part of '{node.op}' ({node.where}) refers to")
            names = {key: [x.name for x in getattr(body, key)] for key in ("inputs", "outputs")}
            bodies.append({"text": body.graph.text(), **names, "control_flow": described(body.graph)})
        found[node.op] = {"kind": flow.kind, "takes": flow.takes, "count": flow.count, "bodies": bodies}
    return found


def parsed(text: str, captured: dict[str, Tensor], flows: Any) -> Graph:
    """Returns the graph of a text, and of the branches and loops in it as :func:`described` gives them.

    Raises:
        ValueError: the text, or what describes a branch or a loop, is wrong.
    """
    if not isinstance(flows, dict):
        raise ValueError("what describes branches and loops is no mapping")
    made = {name: _flow(name, flow) for name, flow in flows.items()}
    graph = Graph.parse(text, captured, made)
    # Nodes find their branches by the functions themselves.
    for i, name in enumerate(graph._function_names):
        graph._functions[i] = cast(Any, made[name])
    graph.verify()
    for node in graph.nodes:
        if node.kind == "function":
            flow, given = made[node.op], node.arguments[0][1]
            results = flow.count or len(flow.bodies[0].outputs)
            if len(node.results) != results or any(i >= len(given) for take in flow.takes for i in take):
                raise ValueError(f"'{node.op}' takes or gives another number of values than its parts")
    return graph


def _flow(name: str, flow: Any) -> ControlFlow:
    bodies, takes = [], []
    try:
        kind, count = flow["kind"], flow["count"]
        for described_body, take in zip(flow["bodies"], flow["takes"], strict=True):
            graph = parsed(described_body["text"], {}, described_body["control_flow"])
            inputs, outputs = ([graph.symbol(x) for x in described_body[key]] for key in ("inputs", "outputs"))
            bodies.append(Body(graph, inputs, outputs))
            takes.append([operator.index(i) for i in take])
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"'{name}' is no branch and no loop: {error}") from error
    results = [len(body.outputs) for body in bodies]
    fits = all(len(body.inputs) == len(take) and min([0, *take]) == 0 for body, take in zip(bodies, takes, strict=True))
    wanted = {"cond": (0, results[:1] * 2), "while_loop": (count, [1, count])}
    if not fits or wanted.get(kind) != (count, results):
        raise ValueError(f"'{name}' is no branch and no loop: its parts do not fit")
    return ControlFlow(kind, bodies, takes, count)
