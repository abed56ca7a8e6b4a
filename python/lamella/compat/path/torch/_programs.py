"""Programs recorded of functions and modules: what ``torch.jit.trace`` and ``torch.export`` run, show and write."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.graph import Graph, Symbol, recording
from lamella.graph._inlined import Inlining
from lamella.graph._made import Made
from lamella.graph._modules import modules_kept
from lamella.graph._recorder import operator_named
from lamella.nn import Module, Parameter

#: The entry by which a file says that it holds a program.
KIND = "lamella program"
Spec = tuple[str, Any]
Limits = Mapping[int, tuple[int | None, int | None]]


def _flat(value: Any, tensors: list[Any]) -> Spec:
    """Returns the structure of a value as plain data; its tensors are added to a list."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return "tensor", len(tensors) - 1
    if isinstance(value, Mapping):
        return "dict", {key: _flat(each, tensors) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return "list" if isinstance(value, list) else "tuple", [_flat(each, tensors) for each in value]
    if value is None or isinstance(value, (bool, int, float, complex, str, lm.DType)):
        return "value", value
    raise TypeError(f"[record] programs take and return tensors, numbers, text, lists, tuples and dicts, not {value!r}")


def _made(spec: Spec, tensors: Sequence[Any]) -> Any:
    """Returns the value of a structure, with other tensors."""
    kind, held = spec
    if kind == "tensor":
        return tensors[held]
    if kind == "dict":
        return {key: _made(each, tensors) for key, each in held.items()}
    if kind in ("list", "tuple"):
        made = [_made(each, tensors) for each in held]
        return made if kind == "list" else tuple(made)
    return held


class Program:
    """A recorded program.

    Args:
        graph: its steps.
        inputs: names of the values that it is given.
        outputs: names of the values that it returns.
        takes: the structure of the arguments, a tuple of positional ones and a dict of named ones.
        returns: the structure of the result.
        parameters: names of the tensors that are parameters.
        named: parameters and buffers of the module by name, also those that the program does not refer to, and one that
            has several names by each.
        transient: names of those that are not saved.
        limits: for inputs, the least and the largest size of axes by their numbers; None for no limit.
        equal: pairs of inputs' axes that have one size: numbers of the input and the axis, for each of both.
        inlined: names of custom layers whose forward's operators are steps, without their backward.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: list[str],
        outputs: list[str],
        takes: Spec,
        returns: Spec,
        parameters: Iterable[str] = (),
        named: Mapping[str, Tensor] | None = None,
        transient: Iterable[str] = (),
        limits: Mapping[str, Limits] | None = None,
        equal: Iterable[Sequence[Sequence[int]]] = (),
        inlined: Iterable[str] = (),
    ) -> None:
        self.graph, self.inputs, self.outputs = graph, inputs, outputs
        self.takes, self.returns, self.parameters = takes, returns, set(parameters)
        self.named, self.transient, self.limits = dict(named or {}), set(transient), dict(limits or {})
        self.equal, self.inlined = list(equal), list(inlined)
        self._told = not self.inlined
        #: The tensors that the program refers to, by name.
        self.state: dict[str, Tensor] = dict(graph.captured)
        self._steps: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Raises:
            ValueError: the arguments are others than those that it was recorded with, or of other shapes.
            RuntimeError: a size is beyond its limits.
        """
        given: list[Tensor] = []
        spec = _flat((args, kwargs), given)
        if spec != self.takes:
            raise ValueError(
                f"[{self.graph.name}] the program takes {len(self.inputs)} tensors and the other arguments that it "
                f"was recorded with, not {len(given)} tensors in this form"
            )
        for name, x in zip(self.inputs, given, strict=True):
            for axis, (low, high) in self.limits.get(name, {}).items():
                if not (low or 0) <= x.shape[axis] <= (math.inf if high is None else high):
                    raise RuntimeError(
                        f"[{self.graph.name}] axis {axis} of the input '{name}' has size {x.shape[axis]}, and the "
                        f"program was recorded for sizes from {low or 0} to {'any' if high is None else high}"
                    )
        for (k, axis), (other, other_axis) in self.equal:
            if given[k].shape[axis] != given[other].shape[other_axis]:
                raise RuntimeError(
                    f"[{self.graph.name}] the program was recorded for one size of axis {axis} of "
                    f"'{self.inputs[k]}' and of axis {other_axis} of '{self.inputs[other]}'"
                )
        if lm.is_grad_enabled() and any(x.requires_grad for x in (*given, *self.state.values())):
            if not self._told:
                self._told = True
                warnings.warn(
                    f"[{self.graph.name}] gradients through {', '.join(self.inlined)} are those of the operators of "
                    "forward: a recorded program does not have the backward of custom functions",
                    stacklevel=2,
                )
            return self.steps(*given)  # runs of graphs are off the tape
        return _made(self.returns, self.graph.run(dict(zip(self.inputs, given, strict=True)), self.outputs))

    @property
    def steps(self) -> Any:
        """The program as a module of ``torch.fx``, which is given its tensors one after the other."""
        if self._steps is None:
            self._steps = as_fx(self)
        return self._steps

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and persistent buffers by name."""
        return {name: x for name, x in self.named.items() if name not in self.transient}

    @property
    def constants(self) -> dict[str, Tensor]:
        """The other tensors that the program refers to."""
        own = {id(x) for x in self.named.values()}
        return {name: x for name, x in self.state.items() if id(x) not in own}

    def key_of(self, name: str) -> str:
        """Returns the name in the steps of a tensor that the program refers to, or of a parameter or buffer."""
        x = self.named.get(name)
        return next((key for key, held in self.state.items() if held is x), name)

    def plain(self) -> dict[str, Any]:
        """Returns the program as plain data, which files hold.

        Raises:
            RuntimeError: a step is a function of Python's.
        """
        for step in self.graph.nodes:
            if step.kind != "operator":
                raise RuntimeError(
                    f"[{self.graph.name}] the step '{step.op}' ({step.where}) is a {step.kind}, which no file can hold"
                )
        keys = {id(tensor): name for name, tensor in self.state.items()}
        others = {keys.setdefault(id(x), name): x.detach() for name, x in self.named.items() if id(x) not in keys}
        return {
            KIND: 1,
            "named": {name: keys[id(x)] for name, x in self.named.items()},
            "others": others,
            "transient": sorted(self.transient),
            "equal": self.equal,
            "inlined": self.inlined,
            "limits": {name: dict(limits) for name, limits in self.limits.items()},
            "text": self.graph.text(),
            "state": {name: tensor.detach() for name, tensor in self.state.items()},
            "inputs": self.inputs,
            "outputs": self.outputs,
            "takes": self.takes,
            "returns": self.returns,
            "parameters": sorted(self.parameters),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what a copy or a file is made of: plain data."""
        return Program.from_plain, (self.plain(),)

    @staticmethod
    def from_plain(data: Mapping[str, Any]) -> Program:
        """Returns the program that :meth:`plain` made data of."""
        parameters = set(data["parameters"])
        held = {name: Parameter(x) if name in parameters else x for name, x in (data["state"] | data["others"]).items()}
        graph = Graph.parse(data["text"], {name: held[name] for name in data["state"]})
        named = {name: held[key] for name, key in data["named"].items()}
        steps = (data["inputs"], data["outputs"], data["takes"], data["returns"])
        return Program(
            graph, *steps, parameters, named, data["transient"], data["limits"], data["equal"], data["inlined"]
        )


def _module_of(function: Any) -> Module | None:
    """Returns a module itself, and that of which a function is a method."""
    owner = function if isinstance(function, Module) else getattr(function, "__self__", None)
    return owner if isinstance(owner, Module) else None


def named_state(function: Any) -> dict[str, Tensor]:
    """Returns the parameters and buffers of a module by all their names; nothing of a function."""
    owner = _module_of(function)
    if owner is None:
        return {}
    found = {**_named(owner, "parameters"), **_named(owner, "buffers")}
    # In the order of what is saved, and what is not behind it.
    return {name: found[name] for name in (*(n for n in owner.state_dict() if n in found), *found)}


def _named(owner: Module, what: str) -> dict[str, Tensor]:
    return dict(getattr(owner, f"named_{what}")(remove_duplicate=False))


def record(
    function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], open_axes: Sequence[Limits] = ()
) -> Program:
    """Records what a function does with arguments like those given.

    Args:
        function: the function or module.
        args: positional arguments.
        kwargs: named arguments.
        open_axes: for each of the tensors among them, its axes of any size within limits; the others have the size
            that they have.

    Raises:
        TypeError: an argument or a result is neither a tensor nor plain data.
        ValueError, RuntimeError: the function decides by values, or computes with the sizes of open axes.
    """
    examples: list[Tensor] = []
    takes = _flat((tuple(args), dict(kwargs)), examples)
    module = _module_of(function)
    graph = Graph(getattr(function, "__name__", type(function).__name__))
    inputs = []
    for k, example in enumerate(examples):
        free = open_axes[k] if k < len(open_axes) else {}
        shape = [-1 if axis in free else size for axis, size in enumerate(example.shape)]
        inputs.append(graph.input(f"x{k}" if len(examples) > 1 else "x", example.dtype, shape))
        for axis, (low, high) in free.items():
            graph.tell_size(inputs[-1], axis, low or 0, math.inf if high is None else high, example.shape[axis])
    graph.equal_axes = []
    given_args, given_kwargs = _made(takes, inputs)
    found: list[Any] = []
    layers = Inlining(graph)
    graph._recorder.made, graph._recorder.inline_layer = Made(), layers
    with recording(graph), modules_kept(graph, module):
        returns = _flat(function(*given_args, **given_kwargs), found)
    outputs = [graph._recorder._symbol(x) for x in found]
    graph._recorder.made = None  # which holds what the function has made
    named = named_state(module)
    names: dict[int, str] = {}
    for name, tensor in named.items():
        names.setdefault(id(tensor), name)
    for name, tensor in graph.captured.items():
        wanted = names.get(id(tensor))
        if wanted is not None and wanted not in graph:
            graph.symbol(name).name = wanted
    parameters = [name for name, x in {**graph.captured, **named}.items() if isinstance(x, Parameter)]
    transient = named.keys() - (module.state_dict().keys() if module is not None else ())
    spec = ([x.name for x in inputs], [x.name for x in outputs], takes, returns)
    limits = {x.name: free for x, free in zip(inputs, open_axes, strict=False)}
    places = {x._id: k for k, x in enumerate(inputs)}
    equal = [[(places[id_], axis) for id_, axis in pair] for pair in graph.equal_axes]
    return Program(graph, *spec, parameters, named, transient, limits, equal, layers.names)


def record_widely(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Program:
    """Records with the first axes of all tensors of any size, where that can be done, otherwise of those they have."""
    tensors: list[Tensor] = []
    _flat((args, dict(kwargs)), tensors)
    if any(x.ndim for x in tensors):
        try:
            return record(function, args, kwargs, [{0: (None, None)} if x.ndim else {} for x in tensors])
        except Exception:  # the function asks for a size, in one of many ways
            pass
    return record(function, args, kwargs)


def as_fx(program: Program, lifted: Mapping[str, str] | None = None) -> Any:
    """Returns the program as a module of ``torch.fx``: each operator is a call of it in ``torch.ops``.

    Args:
        program: the program.
        lifted: names of inputs by those of tensors that are inputs, before the others; by default none are, and the
            tensors are attributes.

    Raises:
        NotImplementedError: a step is a function of Python's, or a gradient.
    """
    from . import fx

    graph = fx.Graph()
    nodes: dict[str, Any] = {}
    for name, word in (lifted or {}).items():
        nodes[name] = graph.placeholder(word)
    for name in program.inputs:
        nodes[name] = graph.placeholder(name)
    for name in program.state if lifted is None else ():
        nodes[name] = graph.get_attr(name)

    def of(value: Any) -> Any:
        if isinstance(value, Symbol):
            return nodes[value.name]
        return [of(each) for each in value] if isinstance(value, list) else value

    for step in program.graph.nodes:
        if step.kind != "operator":
            raise NotImplementedError(f"[fx] the step '{step.op}' is a {step.kind}, which is no operator")
        _add(graph, nodes, step, of)
    result = _made(program.returns, [nodes[name] for name in program.outputs])
    graph.output(result)
    made = fx.GraphModule(program.state if lifted is None else {}, graph, program.graph.name)
    made.train(False)
    return made


def without_gradient(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls an operator off the tape, as a program does that has recorded it under ``no_grad``."""
    with lm.no_grad():
        return function(*args, **kwargs)


def _add(graph: Any, nodes: dict[str, Any], step: Any, of: Any) -> None:
    """Adds a step of a program to a graph of ``torch.fx``, and its results to ``nodes``."""
    call = operator_named(step.op)
    args, kwargs, values, skipped = [], {}, dict(step.arguments), False
    for argument, _type, has_default, default, keyword_only, _alias in call.arguments:
        value = values[argument]
        if has_default and not isinstance(value, Tensor) and value == default:
            skipped = True  # those behind it go by their names
        elif keyword_only or skipped:
            kwargs[argument] = of(value)
        else:
            args.append(of(value))
    if step.no_grad:
        made = graph.call_function(without_gradient, (call, *args), kwargs)
    else:
        made = graph.call_function(call, tuple(args), kwargs)
    made.meta["where"] = step.where
    if len(step.list_sizes) == 1 and step.list_sizes[0] < 0:
        if step.results[0] is not None:
            nodes[step.results[0].name] = made
        return
    place = 0
    for k, count in enumerate(step.list_sizes):
        holder = made if len(step.list_sizes) == 1 else graph.call_function(operator.getitem, (made, k))
        if count < 0:
            if step.results[place] is not None:
                nodes[step.results[place].name] = holder
            place += 1
            continue
        for item in range(count):
            if step.results[place] is not None:
                nodes[step.results[place].name] = graph.call_function(operator.getitem, (holder, item))
            place += 1
