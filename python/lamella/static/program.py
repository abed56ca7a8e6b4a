"""Programs: operators that are recorded once and run by an :class:`Executor`, and what is recorded into."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import lamella as lm
from lamella import graph as graphs
from lamella.graph import Symbol
from lamella.graph._made import Made

from . import unique_name
from .scope import Scope, check_scope, global_scope, running_device, running_scope
from .spec import checked_dtype, checked_shape

#: Takes the tensor of a parameter.
Mark: TypeAlias = Callable[[lm.Tensor], None]

#: A value of a program: a tensor without values, on which everything that a tensor has is recorded.
Variable = Symbol


class Fed(NamedTuple):
    """A variable that every run is fed, and how it looks."""

    symbol: Symbol
    dtype: Any
    shape: tuple[int, ...]

    @staticmethod
    def of(symbol: Symbol) -> Fed:
        """Returns the entry of a variable."""
        return Fed(symbol, symbol.dtype, tuple(symbol.shape))


class Held(NamedTuple):
    """A variable whose value lies in a scope, from run to run, and how it looks."""

    symbol: Symbol
    is_parameter: bool
    dtype: Any
    shape: tuple[int, ...]
    #: Gives the variable, and its tensor in a scope, that which optimizers read of them.
    mark: Mark | None

    @staticmethod
    def of(symbol: Symbol, is_parameter: bool, mark: Mark | None = None) -> Held:
        """Returns the entry of a variable, which is marked."""
        if mark is not None:
            mark(symbol)
        return Held(symbol, is_parameter, symbol.dtype, tuple(symbol.shape), mark)


class Program:
    """A record of operators.

    While a program is recorded (see :func:`program_guard` and :func:`enable_static`), an operator that is called with
    one of its variables computes nothing and becomes a node of the program.

    Args:
        name: what messages call the program; a new name by default.

    Attributes:
        graph: the record itself, see :class:`lamella.graph.Graph`.
        random_seed: seed of the program's own random numbers; 0 for those of the process.
    """

    def __init__(self, name: str | None = None) -> None:
        self.adopt(graphs.Graph(unique_name.generate("program") if name is None else name), {})

    def adopt(self, graph: graphs.Graph, held: dict[str, Held]) -> None:
        """Makes this the program of a graph, of which ``held`` are the variables that a scope has."""
        self.graph = graph
        graph._recorder.made = Made()
        self.random_seed = 0
        self._held = held
        self._data = {symbol.name: Fed.of(symbol) for symbol in graph.inputs if symbol.name not in held}
        self._blocks = [Block(self)]
        #: Number of values when the program was looked through, and whether an operator wrote then.
        self._seen_writes = (-1, False)
        #: Names of the variables that were declared as ones through which no gradient flows.
        self.stopped: set[str] = set()
        #: Names of the variables that were declared and that nothing computes yet.
        self.undefined: set[str] = set()
        #: The updates of optimizers, in order.
        self.updates: list[Any] = []
        #: Names of the variables that get their starting values from this program.
        self.initialized: set[str] = set()
        #: True for a program that prepares a scope.
        self.prepares = False
        _programs[id(graph)] = self

    # ---- blocks and variables

    @property
    def blocks(self) -> list[Block]:
        """The blocks; there is one."""
        return self._blocks

    @property
    def num_blocks(self) -> int:
        """Number of blocks: 1."""
        return len(self._blocks)

    def global_block(self) -> Block:
        """Returns the block of the program's variables."""
        return self._blocks[0]

    def current_block(self) -> Block:
        """Returns the block that is recorded into."""
        return self._blocks[0]

    def block(self, index: int) -> Block:
        """Returns a block by its number."""
        return self._blocks[index]

    def list_vars(self) -> Iterator[Symbol]:
        """Yields all variables."""
        return iter(self.graph.symbols)

    def all_parameters(self) -> list[Symbol]:
        """Returns the variables that are trained: those the program made, and parameters of modules that it uses."""
        made = [held.symbol for held in self._held.values() if held.is_parameter]
        used = [
            self.graph.symbol(name)
            for name, tensor in self.graph.captured.items()
            if isinstance(tensor, lm.nn.Parameter)
        ]
        return made + used

    @property
    def held(self) -> Mapping[str, Held]:
        """The variables, by name, whose values lie in a scope."""
        return self._held

    @property
    def fed(self) -> Mapping[str, Fed]:
        """The variables, by name, that every run is fed."""
        return self._data

    def add_data(self, name: str, dtype: Any, shape: tuple[int, ...]) -> Symbol:
        """Returns a new variable that every run is fed; ValueError where the name is taken."""
        symbol = self.graph.input(name, dtype, shape)
        self._data[name] = Fed.of(symbol)
        return symbol

    def look_again(self) -> None:
        """Takes note of the names that the program's user has given to variables since they were made."""
        self._data = {each.symbol.name: each for each in self._data.values()}
        self._held = {each.symbol.name: each for each in self._held.values()}

    def writes(self) -> bool:
        """True if an operator of the program writes into a tensor."""
        count = self.graph._core.value_count()
        if self._seen_writes[0] != count:
            self._seen_writes = count, any(node.effects and node.kind == "operator" for node in self.graph.nodes)
        return self._seen_writes[1]

    def hold(
        self,
        name: str,
        dtype: Any,
        shape: Sequence[int],
        *,
        trainable: bool,
        is_parameter: bool,
        mark: Mark | None = None,
    ) -> Symbol:
        """Returns a new variable whose value lies in a scope, or that of this name which looks the same.

        Raises:
            ValueError: the name is that of another variable.
        """
        known = self._held.get(name)
        if known is not None:
            if known.symbol.dtype != dtype or tuple(known.symbol.shape) != tuple(shape):
                raise ValueError(
                    f"[create_parameter] '{name}' is {_look(known.symbol)} already, not {dtype}{list(shape)}"
                )
            return known.symbol
        if -1 in shape:
            raise ValueError(f"[create_parameter] '{name}' has shape {list(shape)}: its sizes have to be known")
        symbol = self.graph.input(name, dtype, tuple(shape))
        symbol.stop_gradient = not trainable
        self._held[name] = Held.of(symbol, is_parameter, mark)
        return symbol

    def add_function(
        self,
        name: str,
        function: Callable[..., Any],
        inputs: Sequence[lm.Tensor],
        outputs: Sequence[Symbol],
        differentiable: bool = False,
    ) -> None:
        """Adds a node that calls a function of tensors; variables that were declared become its results.

        Raises:
            ValueError: a variable is one of another program.
        """
        for each in [*inputs, *outputs]:
            if isinstance(each, Symbol):
                self.check_own("py_func", each)
        results = self.graph.function(
            name, function, list(inputs), [(each.dtype, tuple(each.shape)) for each in outputs]
        )
        for declared, result in zip(outputs, results, strict=True):
            result.stop_gradient = not differentiable or declared.name in self.stopped
            self.undefined.discard(declared.name)
            self.graph.define(declared, result)

    def add_initializer(
        self, name: str, dtype: Any, shape: tuple[int, ...], fill: Callable[..., Any], trainable: bool
    ) -> None:
        """Adds a node that gives a variable of the scope its starting value: ``fill`` overwrites a tensor."""

        def initialize() -> None:
            value = lm.zeros(shape, dtype=dtype, device=running_device())
            with lm.no_grad():
                fill(value)
            value.stop_gradient = not trainable
            variable = running_scope().var(name)
            held = variable.value
            if held is None or (tuple(held.shape), held.dtype, held.device) != (shape, dtype, value.device):
                variable.value = value
            else:
                variable.get_tensor().set(value)

        self.initialized.add(name)
        self.add_startup(f"initialize {name}", initialize)

    def add_startup(self, name: str, function: Callable[[], None]) -> None:
        """Adds a node that prepares a scope."""
        self.graph.function(name, function, [], [])
        self.prepares = True

    def add_module_initializer(self, parameter: lm.nn.Parameter, fill: Callable[..., Any]) -> None:
        """Adds a node that gives a module's parameter its starting value, and puts it into the scope by its name."""

        def initialize() -> None:
            with lm.no_grad():
                fill(parameter)
            running_scope().var(parameter.name).value = parameter

        self.add_startup(f"initialize {parameter.name}", initialize)

    def check_own(self, op: str, variable: Symbol) -> None:
        """Raises ValueError for a variable of another program."""
        if variable.graph is not self.graph:
            other = _programs.get(id(variable.graph))
            whose = "of another program" if other is not None else "of no program"
            raise ValueError(
                f"[{op}] the variable '{variable.name}' is {whose}: build with variables of this one "
                f"('{self.graph.name}'), whose values another one gets by feed and fetch_list"
            )

    def find(self, op: str, wanted: Any) -> Symbol:
        """Returns the variable that a name, or a variable of this or of a cloned program, stands for.

        Raises:
            TypeError: ``wanted`` is neither text nor a variable.
            ValueError: there is no variable of that name.
        """
        if isinstance(wanted, Symbol):
            if wanted.graph is self.graph:
                return wanted
            wanted = wanted.name
        if not isinstance(wanted, str):
            raise TypeError(f"[{op}] a variable is named by a str or is a Variable, not {type(wanted).__name__}")
        try:
            return self.graph.symbol(wanted)
        except (KeyError, ValueError):
            near = [symbol.name for symbol in self.graph.symbols if symbol.name.startswith(wanted[:3])][:5]
            hint = f"; there are {', '.join(near)}" if near else ""
            raise ValueError(f"[{op}] the program has no variable '{wanted}'{hint}") from None

    # ---- copies

    def clone(self, for_test: bool = False) -> Program:
        """Returns a copy with variables of the same names, which find their values in the same scope.

        Args:
            for_test: leaves gradients and updates out, turns dropout off, and lets normalizations use their running
                statistics. What is added to this program later is not in the copy.
        """
        copy = Program.__new__(Program)
        graph = self.graph.inference() if for_test else self.graph.clone()
        copy.adopt(
            graph,
            {name: Held.of(graph.symbol(name), held.is_parameter, held.mark) for name, held in self._held.items()},
        )
        copy.random_seed = self.random_seed
        if not for_test:
            copy.updates = list(self.updates)
        copy.undefined, copy.stopped = set(self.undefined), set(self.stopped)
        copy.initialized = set(self.initialized)
        copy.prepares = self.prepares
        return copy

    # ---- values

    def state_dict(self, mode: str = "all", scope: Scope | None = None) -> dict[str, lm.Tensor]:
        """Returns the values of parameters and of other variables that a scope keeps, by name.

        Args:
            mode: "param" leaves out what optimizers remember, "opt" everything else; "all" has both.
            scope: where the values are; the global scope by default.

        Raises:
            ValueError: another mode.
            RuntimeError: a variable has no value, as the start-up program was not run.
        """
        if mode not in ("all", "param", "opt"):
            raise ValueError(f"[state_dict] mode is 'all', 'param' or 'opt', not {mode!r}")
        scope = global_scope() if scope is None else check_scope("state_dict", scope)
        state: dict[str, lm.Tensor] = {}
        if mode != "opt":
            for name in self._held:
                state[name] = self.value("state_dict", name, scope).detach()
            for name, tensor in self.graph.captured.items():
                state[name] = tensor.detach()
        if mode != "param":
            for update in self.updates:
                state.update(update.state_by_name(scope))
        return state

    def set_state_dict(self, state_dict: Mapping[str, Any], scope: Scope | None = None) -> None:
        """Copies values into the scope by name. Names that the program lacks are passed over.

        Raises:
            ValueError: a shape is another; nothing has changed then.
        """
        scope = global_scope() if scope is None else check_scope("set_state_dict", scope)
        with paused(), lm.no_grad():
            self._set_state(state_dict, scope)

    def _set_state(self, state_dict: Mapping[str, Any], scope: Scope) -> None:
        captured = self.graph.captured
        fitting = []
        for name, values in state_dict.items():
            target = captured.get(name)
            if target is None and name in self._held:
                target = self._held[name].symbol
            if target is None:
                continue
            values = values.detach() if isinstance(values, lm.Tensor) else lm.asarray(values)
            if tuple(values.shape) != tuple(target.shape):
                raise ValueError(
                    f"[set_state_dict] '{name}' has shape {list(values.shape)} in the state, "
                    f"{list(target.shape)} in the program"
                )
            fitting.append((name, target, values.astype(target.dtype)))
        for name, target, values in fitting:
            if not isinstance(target, Symbol):
                target.copy_(values)
            elif (held := scope.var(name)).value is None:
                held.value = values.clone()
                held.value.stop_gradient = target.stop_gradient
            else:
                held.get_tensor().set(values)

    def value(self, op: str, name: str, scope: Scope) -> lm.Tensor:
        """Returns the value in ``scope`` of a variable that is held there.

        Raises:
            RuntimeError: it has none.
            ValueError: it has one of another dtype or shape.
        """
        variable = scope.find_var(name)
        if variable is None or variable.value is None:
            raise RuntimeError(
                f"[{op}] the variable '{name}' has no value in this scope: run the start-up program first, "
                "Executor.run(default_startup_program())"
            )
        value, held = variable.value, self._held[name]
        if value.dtype != held.dtype or tuple(value.shape) != held.shape:
            raise ValueError(f"[{op}] the variable '{name}' is {_look(held)}, in the scope {_look(value)}")
        return value

    # ---- printing

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        """Returns the text form, a line for each node."""
        return self.graph.text()

    def __str__(self) -> str:
        return self.graph.text()

    def __repr__(self) -> str:
        return f"Program('{self.graph.name}', {len(self.graph.nodes)} nodes, {len(self._held)} variables in scopes)"


class Block:
    """The variables and nodes of a program."""

    def __init__(self, program: Program) -> None:
        self._program = weakref.ref(program)

    @property
    def program(self) -> Program:
        """The program whose block this is."""
        program = self._program()
        if program is None:
            raise RuntimeError("[Block] the program of the block is gone")
        return program

    idx = 0

    @property
    def vars(self) -> dict[str, Symbol]:
        """The variables by name."""
        return {symbol.name: symbol for symbol in self.program.graph.symbols}

    @property
    def ops(self) -> list[Any]:
        """The nodes in the order in which they run."""
        return self.program.graph.nodes

    def var(self, name: str) -> Symbol:
        """Returns the variable of that name; ValueError if there is none."""
        return self.program.find("Block.var", name)

    def has_var(self, name: str) -> bool:
        """True if there is a variable of that name."""
        return name in self.vars

    def all_parameters(self) -> list[Symbol]:
        """Returns the variables that are trained."""
        return self.program.all_parameters()

    def create_var(
        self,
        name: str | None = None,
        dtype: Any = "float32",
        shape: Any = (),
        persistable: bool = False,
        stop_gradient: bool = False,
        type: Any = None,
    ) -> Symbol:
        """Declares a variable, which an operator such as ``py_func`` computes later.

        Args:
            name: the variable's name; a new one by default.
            dtype: its dtype.
            shape: its sizes, -1 for one that is known when the program runs.
            persistable: True for a variable that is computed by none and keeps its value in the scope.
            stop_gradient: True lets no gradient through.
            type: not used.

        Raises:
            ValueError: there is a variable of that name which looks different.
        """
        if name is None:
            name = unique_name.generate("_generated_var")
        dtype, sizes = checked_dtype("create_var", dtype, name), checked_shape("create_var", shape, name)
        if persistable:
            return self.program.hold(name, dtype, sizes, trainable=not stop_gradient, is_parameter=False)
        known = self.vars.get(name)
        if known is not None:
            if known.dtype != dtype or tuple(known.shape) != sizes:
                raise ValueError(f"[create_var] '{name}' is {_look(known)} already, not {dtype}{list(sizes)}")
            return known
        self.program.undefined.add(name)
        if stop_gradient:
            self.program.stopped.add(name)
        return self.program.graph.declare(name, dtype, sizes)

    def create_parameter(self, shape: Any, dtype: Any = "float32", **options: Any) -> Symbol:
        """Returns a new parameter, see :func:`create_parameter`."""
        from .parameters import create_parameter

        with program_guard(self.program):
            return create_parameter(shape, dtype, **options)

    def __repr__(self) -> str:
        return f"Block({self.idx} of {self.program!r})"


_programs: weakref.WeakValueDictionary[int, Program] = weakref.WeakValueDictionary()


class _Mode(threading.local):
    """Programs that this thread records into: those of guards, and whether it records outside of them."""

    def __init__(self) -> None:
        self.guards: list[tuple[Program, Program]] = []
        self.static = False
        self.paused = 0
        self.recording = False


_mode = _Mode()
_defaults: list[Program] = []


def default_main_program() -> Program:
    """Returns the program that is recorded into: that of :func:`program_guard`, or the process's own."""
    return _mode.guards[-1][0] if _mode.guards else _own()[0]


def default_startup_program() -> Program:
    """Returns the program that sets starting values of parameters, beside the main one."""
    return _mode.guards[-1][1] if _mode.guards else _own()[1]


def _own() -> list[Program]:
    if not _defaults:
        _defaults.extend([Program(), Program()])
    return _defaults


def _sync() -> None:
    """Makes the thread record into the program that is in force, or into none."""
    if _mode.recording:
        graphs.stop_recording()
        _mode.recording = False
    if (_mode.static or _mode.guards) and not _mode.paused:
        graphs.start_recording(default_main_program().graph)
        _mode.recording = True


def enable_static() -> None:
    """Records from now on: operators on variables become nodes of :func:`default_main_program`. Of this thread only."""
    _mode.static = True
    _sync()


def disable_static(place: Any = None) -> None:
    """Computes at once from now on, as Lamella does at first. ``place`` is not used."""
    _mode.static = False
    _sync()


def in_dynamic_mode() -> bool:
    """True if operators compute at once, False while a program is recorded."""
    return recording_program() is None


def recording_program() -> Program | None:
    """Returns the program that this thread records into, or None."""
    return default_main_program() if _mode.recording else None


@contextlib.contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Records into ``main_program`` until the end of the block.

    Args:
        main_program: takes the operators.
        startup_program: takes what sets starting values; by default that which was in force.

    Raises:
        TypeError: an argument is no Program.
    """
    for name, program in (("main_program", main_program), ("startup_program", startup_program)):
        if not isinstance(program, Program) and not (program is None and name == "startup_program"):
            raise TypeError(f"[program_guard] {name} is a Program, not {type(program).__name__}")
    startup = default_startup_program() if startup_program is None else startup_program
    _mode.guards.append((main_program, startup))
    _sync()
    try:
        yield
    finally:
        _mode.guards.pop()
        _sync()


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Computes at once until the end of the block, whatever is recorded around it."""
    _mode.paused += 1
    _sync()
    try:
        yield
    finally:
        _mode.paused -= 1
        _sync()


def program_of(op: str, variable: Any) -> Program:
    """Returns the program of a variable.

    Raises:
        TypeError: it is no variable.
        ValueError: its program is gone.
    """
    if not isinstance(variable, Symbol):
        raise TypeError(f"[{op}] expected a variable of a program, not {type(variable).__name__}")
    program = _programs.get(id(variable.graph))
    if program is None:
        raise ValueError(f"[{op}] the variable '{variable.name}' is of no program, or of one that is gone")
    return program


def need_recording(op: str) -> Program:
    """Returns the program that is recorded; RuntimeError if none is."""
    program = recording_program()
    if program is None:
        raise RuntimeError(f"[{op}] no program is recorded: call enable_static(), or work within a program_guard")
    return program


def data(name: str, shape: Any, dtype: Any = "float32", lod_level: int = 0) -> Symbol:
    """Returns a variable that every run is fed.

    Args:
        name: by which it is fed.
        shape: its sizes, -1 or None for one that each run decides on.
        dtype: its dtype.
        lod_level: must be 0.

    Raises:
        RuntimeError: no program is recorded.
        TypeError: name, shape or dtype are no such.
        ValueError: there is another variable of that name.
    """
    program = need_recording("data")
    if not isinstance(name, str):
        raise TypeError(f"[data] name is a str, not {type(name).__name__}")
    if lod_level:
        raise NotImplementedError("[data] lod_level is not supported: pad sequences to one length")
    kind, sizes = checked_dtype("data", dtype, name), checked_shape("data", shape, name)
    return program.add_data(name, kind, sizes)


def _look(variable: Any) -> str:
    return f"{variable.dtype}{list(variable.shape)}"
