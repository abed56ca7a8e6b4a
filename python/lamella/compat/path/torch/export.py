"""``torch.export``: programs of modules, recorded with examples of their arguments."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lamella import Tensor
from lamella.compat.front import add_paths, close_module
from lamella.nn import Module

from . import serialization


class _Hint(enum.Enum):
    AUTO = 0
    DYNAMIC = 1
    STATIC = 2


class Dim:
    """An axis of any size.

    Args:
        name: its name.
        min: the smallest size, which is noted.
        max: the largest size, which is noted.
    """

    AUTO, DYNAMIC, STATIC = _Hint.AUTO, _Hint.DYNAMIC, _Hint.STATIC

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.__name__, self.min, self.max = name, min, max

    def __repr__(self) -> str:
        return f"Dim('{self.__name__}', min={self.min}, max={self.max})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Returns axes by their names."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class InputKind(enum.Enum):
    """Kind of an input of a graph."""

    USER_INPUT = 1
    PARAMETER = 2
    BUFFER = 3
    CONSTANT_TENSOR = 4


class InputSpec(NamedTuple):
    """An input of a graph: what it is, its name in the graph, and that of the tensor that is passed for it."""

    kind: InputKind
    arg: str
    target: str | None


class ExportGraphSignature:
    """The inputs and outputs of a graph.

    Args:
        input_specs: the inputs.
        user_outputs: names of the results.
    """

    def __init__(self, input_specs: list[InputSpec], user_outputs: list[str]) -> None:
        self.input_specs, self.user_outputs = input_specs, tuple(user_outputs)

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(str(spec.target) for spec in self.input_specs if spec.kind is kind)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def user_inputs(self) -> tuple[str, ...]:
        """Names of the arguments in the graph."""
        return tuple(spec.arg for spec in self.input_specs if spec.kind is InputKind.USER_INPUT)

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """Names of parameters by those of the graph's inputs."""
        return {spec.arg: str(spec.target) for spec in self.input_specs if spec.kind is InputKind.PARAMETER}

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """Names of buffers by those of the graph's inputs."""
        return {spec.arg: str(spec.target) for spec in self.input_specs if spec.kind is InputKind.BUFFER}


class ExportedProgram:
    """A program of a module.

    Args:
        program: what was recorded.
        example_inputs: the arguments that it was recorded with.
        range_constraints: the axes of any size.

    Attributes:
        graph_module: the program as a module of ``torch.fx`` whose first inputs are the parameters and buffers; its
            steps are calls of operators of ``torch.ops.lamella``.
        graph_signature: what the inputs are.
    """

    def __init__(self, program: Any, example_inputs: Any = None, range_constraints: Any = None) -> None:
        from ._programs import as_fx

        self._program = program
        self.example_inputs, self.range_constraints = example_inputs, dict(range_constraints or {})
        lifted, specs = {}, []
        # Also those that no step refers to; one with several names by the first.
        of_module = {id(x): name for name, x in reversed(program.named.items())}
        kinds = {name: InputKind.BUFFER for name in program.named if of_module[id(program.named[name])] == name}
        kinds |= {name: InputKind.PARAMETER for name in kinds if name in program.parameters}
        for name, kind in {**kinds, **dict.fromkeys(program.constants, InputKind.CONSTANT_TENSOR)}.items():
            word = f"{kind.name[0].lower()}_{name}".replace(".", "_")
            lifted[program.key_of(name)] = word
            specs.append(InputSpec(kind, word, name))
        specs += [InputSpec(InputKind.USER_INPUT, name, None) for name in program.inputs]
        self.graph_module = as_fx(program, lifted)
        self.graph_signature = ExportGraphSignature(specs, program.outputs)

    @property
    def graph(self) -> Any:
        """The graph of :attr:`graph_module`."""
        return self.graph_module.graph

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by name."""
        found: dict[str, Tensor] = self._program.state_dict
        return found

    @property
    def constants(self) -> dict[str, Tensor]:
        """Other tensors that the program refers to."""
        found: dict[str, Tensor] = self._program.constants
        return found

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Yields names and parameters."""
        return ((name, x) for name, x in self._program.named.items() if name in self._program.parameters)

    def parameters(self) -> Iterator[Tensor]:
        """Yields the parameters."""
        return (x for _, x in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Yields names and buffers."""
        return ((name, x) for name, x in self._program.named.items() if name not in self._program.parameters)

    def buffers(self) -> Iterator[Tensor]:
        """Yields the buffers."""
        return (x for _, x in self.named_buffers())

    def module(self, check_guards: bool = True) -> Module:
        """Returns a module that runs the program, with the same parameters."""
        from ._loaded import LoadedModule

        made: Module = LoadedModule(self._program)
        return made

    def run_decompositions(self, decomp_table: Any = None, **options: Any) -> ExportedProgram:
        """Returns the program itself: its operators are those that Lamella runs."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Says how a program is called.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("[ExportedProgram] call module() of the program, which returns a module to be called")

    def __str__(self) -> str:
        body = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        return f"ExportedProgram:\n    {body}\nGraph signature: {self.graph_signature.input_specs}\n"


def _axes_of(spec: Any, shapes: Any) -> Iterator[tuple[Any, ...]]:
    """Yields, for each tensor of a structure, pairs of axes and what ``dynamic_shapes`` says of them."""
    kind, held = spec
    if kind == "tensor":
        entries = shapes.items() if isinstance(shapes, Mapping) else enumerate(shapes or ())
        yield tuple((axis, dim) for axis, dim in entries if dim is not None and not isinstance(dim, int))
    elif kind == "dict":
        for key, each in held.items():
            yield from _axes_of(each, (shapes or {}).get(key))
    elif kind in ("list", "tuple"):
        for place, each in enumerate(held):
            yield from _axes_of(each, shapes[place] if shapes else None)


def _by_place(module: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], shapes: Any) -> tuple[Any, Any]:
    """Returns ``dynamic_shapes`` for positional and for named arguments."""
    if not isinstance(shapes, Mapping):
        given = list(shapes or ())
        return given[: len(args)] or None, dict(zip(kwargs, given[len(args) :], strict=False))
    places: list[Any] = []
    for name, parameter in inspect.signature(module.forward).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            places += list(shapes.get(name) or ())
        else:
            places.append(shapes.get(name))
    return (places + [None] * len(args))[: len(args)], dict(shapes)


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    **options: Any,
) -> ExportedProgram:
    """Records what a module does with arguments like those given.

    Args:
        mod: the module.
        args: positional arguments.
        kwargs: named arguments.
        dynamic_shapes: for each argument its axes of any size, by their numbers: ``{"x": {0: Dim("batch")}}``. Those
            that are ``Dim.AUTO`` get the size of the example where the module asks for it.
        strict: not used.
        options: not used.

    Raises:
        TypeError: ``mod`` is no module.
        RuntimeError: the module decides by values, or computes with sizes that are to be any.
    """
    from ._programs import Spec, _flat, record

    if not isinstance(mod, Module):
        raise TypeError(f"[export] mod is a Module, not a {type(mod).__name__}")
    named = dict(kwargs or {})
    structure: Spec = _flat((tuple(args), named), [])
    asked = list(_axes_of(structure, _by_place(mod, tuple(args), named, dynamic_shapes)))

    def recorded(but: tuple[_Hint, ...]) -> Any:
        axes = [
            {axis: (getattr(dim, "min", None), getattr(dim, "max", None)) for axis, dim in each if dim not in but}
            for each in asked
        ]
        return record(mod, tuple(args), named, axes)

    try:
        try:
            program = recorded((_Hint.STATIC,))
        except Exception:
            if not any(dim is _Hint.AUTO for each in asked for _, dim in each):
                raise
            program = recorded((_Hint.STATIC, _Hint.AUTO))
    except Exception as error:
        raise RuntimeError(f"[export] the module cannot be recorded with these arguments: {error}") from error
    limits = {dim.__name__: (dim.min, dim.max) for each in asked for _, dim in each if isinstance(dim, Dim)}
    return ExportedProgram(program, (tuple(args), named), limits)


export_for_training = draft_export = export


def save(ep: ExportedProgram, f: Any, *, extra_files: Mapping[str, Any] | None = None, **options: Any) -> None:
    """Writes a program, which :func:`load` reads without the module's class.

    Args:
        ep: the program.
        f: a path or a file.
        extra_files: texts that are written along.
        options: not used.
    """
    limits = {name: list(bounds) for name, bounds in ep.range_constraints.items()}
    held = {"program": ep._program.plain(), "limits": limits}
    serialization.save({_FILE: held, "extra": dict(extra_files or {})}, f)


_FILE = "torch.export"


def load(f: Any, *, extra_files: dict[str, Any] | None = None, **options: Any) -> ExportedProgram:
    """Reads a program that :func:`save` wrote.

    Args:
        f: a path or a file.
        extra_files: a dict whose values become what was written along by these names.
        options: not used.

    Raises:
        RuntimeError: the file holds no program.
    """
    from ._programs import Program

    data = serialization.load(f, weights_only=False)
    if not isinstance(data, dict) or _FILE not in data:
        raise RuntimeError("[load] the file is none of torch.export.save")
    for name in extra_files or {}:
        if name in data["extra"] and extra_files is not None:
            extra_files[name] = data["extra"][name]
    held = data[_FILE]
    limits = {name: tuple(bounds) for name, bounds in held["limits"].items()}
    return ExportedProgram(Program.from_plain(held["program"]), None, limits)


__getattr__ = close_module(__name__)
_OF_PROGRAMS = "ExportedProgram ExportGraphSignature InputKind InputSpec"
add_paths(
    "torch",
    {
        f"{__name__}.exported_program": {__name__: _OF_PROGRAMS},
        f"{__name__}.graph_signature": {__name__: _OF_PROGRAMS},
        f"{__name__}.dynamic_shapes": {__name__: "Dim dims"},
    },
)
