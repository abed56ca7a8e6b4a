"""Gradients within programs, and the updates of optimizers."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella import graph as graphs
from lamella.graph import Symbol

from .program import Mark, Program, default_startup_program, program_of
from .scope import Scope, ScopeVariable, current_run, running_scope
from .unique_name import node_name

#: What the name of a gradient has behind that of its variable.
SUFFIX = "@GRAD"


def append_backward(
    loss: Symbol, parameter_list: Any = None, no_grad_set: Any = None, callbacks: Any = None
) -> list[tuple[Symbol, Symbol]]:
    """Adds the gradients of a loss with respect to parameters to the loss's program.

    Args:
        loss: a variable of one element.
        parameter_list: parameters or their names; all that are trained by default.
        no_grad_set: variables or names that gradients do not flow through.
        callbacks: must be None.

    Returns:
        Each parameter that the loss depends on, with its gradient, which is called ``w@GRAD`` for a parameter ``w``.

    Raises:
        TypeError: ``loss`` is no variable.
        ValueError: the loss has more than one element, or depends on no parameter that wants a gradient.
    """
    program = program_of("append_backward", loss)
    if callbacks is not None:
        raise NotImplementedError("[append_backward] callbacks are not supported")
    if any(size != 1 for size in loss.shape):
        raise ValueError(
            f"[append_backward] the loss '{loss.name}' has shape {list(loss.shape)}; a loss has one element: take its "
            "mean"
        )
    stopped = _stopped(program, "append_backward", no_grad_set)
    if parameter_list is None:
        parameters = [each for each in program.all_parameters() if not each.stop_gradient]
    else:
        parameters = [program.find("append_backward", each) for each in _listed(parameter_list)]
    parameters = [each for each in parameters if each.name not in stopped]
    found = program.graph.gradients([loss], parameters) if parameters else []
    pairs = [(p, _named(program, p, g)) for p, g in zip(parameters, found, strict=True) if g is not None]
    if not pairs:
        raise ValueError(f"[append_backward] the loss '{loss.name}' depends on no parameter that wants a gradient")
    return pairs


def gradients(targets: Any, inputs: Any, target_gradients: Any = None, no_grad_set: Any = None) -> list[Symbol | None]:
    """Adds the gradients of ``targets``, summed, with respect to ``inputs`` to their program.

    Args:
        targets: a variable or a list of them.
        inputs: a variable or a list of them.
        target_gradients: the gradient to begin with for each target; None for ones.
        no_grad_set: variables or names that gradients do not flow through.

    Returns:
        A gradient for each input, called ``x@GRAD`` for an input ``x``; None where no target depends on it.

    Raises:
        TypeError: a target or an input is no variable.
        ValueError: the number or a shape of ``target_gradients`` is another than that of the targets.
    """
    wanted = [*_listed(targets)]
    if not wanted:
        raise ValueError("[gradients] targets is empty")
    program = program_of("gradients", wanted[0])
    for each in wanted:
        program.find("gradients", each)
    sources = [program.find("gradients", each) for each in _listed(inputs)]
    begin = None if target_gradients is None else _listed(target_gradients)
    if begin is not None:
        if len(begin) != len(wanted):
            raise ValueError(f"[gradients] {len(begin)} target_gradients for {len(wanted)} targets")
        for target, each in zip(wanted, begin, strict=True):
            if each is not None and len(each.shape) != len(target.shape):
                raise ValueError(
                    f"[gradients] the gradient to begin with for '{target.name}' has shape {list(each.shape)}, the "
                    f"target {list(target.shape)}"
                )
    _stopped(program, "gradients", no_grad_set)
    with graphs.recording(program.graph), lm.no_grad():
        begin = [
            lm.ones_like(target) if each is None and any(size != 1 for size in target.shape) else each
            for target, each in zip(wanted, begin or [None] * len(wanted), strict=True)
        ]
    found = program.graph.gradients(wanted, sources, begin)
    return [None if g is None else _named(program, x, g) for x, g in zip(sources, found, strict=True)]


class Update:
    """A step of an optimizer within a program.

    The optimizer makes the step itself: its parameters are those of the scope in which the program runs, and what it
    remembers of them is kept for each scope.
    """

    def __init__(self, optimizer: Any, program: Program, pairs: list[tuple[Symbol, Symbol]]) -> None:
        self.optimizer = optimizer
        #: The parameters of the groups: a name that is looked up in the scope, or the tensor of a module.
        self.groups: list[list[str | lm.Tensor]] = [
            [_where(program, parameter) for parameter in group["params"]] for group in optimizer.param_groups
        ]
        self.targets = [_where(program, parameter) for parameter, _ in pairs]
        self.scope: weakref.ref[Scope] | None = None
        #: What gives a variable's tensor that which optimizers read of it.
        self.marks: dict[str, Mark] = {name: held.mark for name, held in program.held.items() if held.mark is not None}
        #: The variables of the scope with the tensors that they had when the optimizer was bound to it.
        self._bound: list[tuple[ScopeVariable, lm.Tensor]] = []
        self._tensors: list[lm.Tensor] = []
        #: Parameters of the optimizer that the loss does not depend on.
        self._idle: list[lm.Tensor] = []

    def bind(self, scope: Scope) -> None:
        """Makes the parameters of ``scope`` those of the optimizer, with what it remembers of them."""
        before = None if self.scope is None else self.scope()
        if before is scope and all(variable.value is tensor for variable, tensor in self._bound):
            return
        if before is not scope:
            if before is not None:
                before.states[self] = self.optimizer.state
            if self.scope is not None:
                self.optimizer.state = scope.states.get(self, {})
            self.scope = weakref.ref(scope)
        state = self.optimizer.state
        for group, places in zip(self.optimizer.param_groups, self.groups, strict=True):
            tensors = [_tensor(place, scope) for place in places]
            for place, tensor in zip(places, tensors, strict=True):
                if isinstance(place, str) and place in self.marks:
                    self.marks[place](tensor)
            for old, new in zip(group["params"], tensors, strict=True):
                if old is not new and id(old) in state:
                    # A state that was loaded before the first run is that of the variables.
                    state[id(new)] = state.pop(id(old))
            group["params"] = tensors
        self._tensors = [_tensor(place, scope) for place in self.targets]
        own = {id(tensor) for tensor in self._tensors}
        self._idle = [p for group in self.optimizer.param_groups for p in group["params"] if id(p) not in own]
        names = {place for places in [*self.groups, self.targets] for place in places if isinstance(place, str)}
        self._bound = [(variable, variable.value) for variable in map(scope.var, names) if variable.value is not None]

    def forget(self) -> None:
        """Drops what the optimizer remembers in the scope of the run: the parameters start anew."""
        scope = running_scope()
        scope.states.pop(self, None)
        if self.scope is not None and self.scope() is scope:
            self.optimizer.state = {}
        if all(not isinstance(place, str) or place in scope for places in self.groups for place in places):
            self.bind(scope)

    def __call__(self, *tensors: lm.Tensor) -> None:
        """Makes a step with these gradients, and the steps before it: they wait until all gradients are there.

        A parameter may be needed for a later gradient with the value that it had.
        """
        run = current_run()
        run.steps.append((self, tensors))
        if self is run.last_update:
            for update, given in run.steps:
                update.step(run.scope, given)

    def step(self, scope: Scope, tensors: Sequence[lm.Tensor]) -> None:
        """Makes a step with these parameters and gradients; a module's own gradients are as before afterwards."""
        self.bind(scope)
        targets = self._tensors
        kept = [(target, target.grad) for target in [*targets, *self._idle]]
        try:
            for idle in self._idle:
                idle.grad = None
            for target, gradient in zip(targets, tensors[len(targets) :], strict=True):
                target.grad = gradient
            self.optimizer.step()
        finally:
            for target, before in kept:
                target.grad = before

    def state_by_name(self, scope: Scope) -> dict[str, lm.Tensor]:
        """Returns the tensors that the optimizer remembers in ``scope``, as ``w.exp_avg`` for a parameter ``w``."""
        self.bind(scope)
        found: dict[str, lm.Tensor] = {}
        for group, places in zip(self.optimizer.param_groups, self.groups, strict=True):
            for number, (parameter, place) in enumerate(zip(group["params"], places, strict=True)):
                name = place if isinstance(place, str) else f"parameter_{number}"
                for key, value in self.optimizer.state.get(id(parameter), {}).items():
                    if not isinstance(value, lm.Tensor):
                        value = lm.tensor(value, dtype="float64" if isinstance(value, float) else None)
                    found[f"{name}.{key}"] = value
        return found


def minimize(
    optimizer: Any,
    loss: Symbol,
    startup_program: Program | None = None,
    parameters: Any = None,
    no_grad_set: Any = None,
) -> tuple[list[Any], list[tuple[Symbol, Symbol]]]:
    """Adds the gradients of a loss, and a step of ``optimizer`` along them, to the loss's program.

    Args:
        optimizer: makes the step. Its parameters are tensors of modules that the program uses or variables of the
            program; one without any takes all that are trained.
        loss: a variable of one element.
        startup_program: forgets, when it is run, what the optimizer remembers; by default that which is in force.
        parameters: the parameters, or their names, that are updated; all of the optimizer's by default.
        no_grad_set: variables or names that gradients do not flow through.

    Returns:
        An empty list, and each parameter with its gradient.

    Raises:
        TypeError: ``loss`` is no variable of a program.
        ValueError: the loss has more than one element, or depends on none of the parameters.
    """
    op = f"{type(optimizer).__name__}.minimize"
    program = program_of(op, loss)
    if _is_empty(optimizer):
        chosen = program.all_parameters() if parameters is None else [program.find(op, p) for p in _listed(parameters)]
        optimizer.take([_parameter(program, each) for each in chosen if not each.stop_gradient])
    used = [_symbol(op, program, each) for group in optimizer.param_groups for each in group["params"]]
    wanted = None if parameters is None else {program.find(op, each).name for each in _listed(parameters)}
    pairs = append_backward(
        loss,
        [
            each
            for each in used
            if each is not None and not each.stop_gradient and (wanted is None or each.name in wanted)
        ],
        no_grad_set,
    )
    apply_gradients(optimizer, pairs, startup_program)
    return [], pairs


def apply_gradients(
    optimizer: Any, pairs: Sequence[tuple[Symbol, Symbol]], startup_program: Program | None = None
) -> None:
    """Adds a step of ``optimizer`` along gradients, which :func:`append_backward` has added, to their program.

    Raises:
        ValueError: there are no gradients, or a parameter is none of the optimizer's.
    """
    op = f"{type(optimizer).__name__}.apply_gradients"
    if not pairs:
        raise ValueError(f"[{op}] there are no gradients")
    program = program_of(op, pairs[0][1])
    if _is_empty(optimizer):
        optimizer.take([_parameter(program, program.find(op, parameter)) for parameter, _ in pairs])
    own = [_symbol(op, program, each) for group in optimizer.param_groups for each in group["params"]]
    names = {each.name for each in own if each is not None}
    for parameter, _ in pairs:
        if program.find(op, parameter).name not in names:
            raise ValueError(f"[{op}] '{parameter.name}' is no parameter of the optimizer")
    update = Update(optimizer, program, list(pairs))
    name = node_name(type(optimizer).__name__)
    program.graph.function(name, update, [*(p for p, _ in pairs), *(g for _, g in pairs)], [])
    program.updates.append(update)
    startup = default_startup_program() if startup_program is None else startup_program
    startup.add_startup(f"start {name}", update.forget)


def _is_empty(optimizer: Any) -> bool:
    """True for an optimizer that was made without parameters."""
    groups = optimizer.param_groups
    return len(groups) == 1 and not groups[0]["params"]


def _parameter(program: Program, variable: Symbol) -> lm.Tensor:
    """Returns the tensor of a module that a variable stands for, or the variable, whose value lies in a scope."""
    return program.graph.captured.get(variable.name, variable)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]


def _stopped(program: Program, op: str, no_grad_set: Any) -> set[str]:
    """Lets no gradient through the variables of ``no_grad_set`` that the program computes; returns all their names."""
    if no_grad_set is None:
        return set()
    variables = [program.find(op, each) for each in _listed(no_grad_set)]
    for each in variables:
        if each.name not in program.held:
            each.stop_gradient = True
    return {each.name for each in variables}


def _named(program: Program, variable: Symbol, gradient: Symbol) -> Symbol:
    """Names a gradient after its variable; the second of a variable is called ``x@GRAD_1``."""
    base = name = variable.name + SUFFIX
    number = 0
    while name in program.graph:
        number += 1
        name = f"{base}_{number}"
    gradient.name = name
    return gradient


def _symbol(op: str, program: Program, parameter: Any) -> Symbol | None:
    """Returns the variable of a parameter of an optimizer; None for a tensor that the program does not use."""
    if isinstance(parameter, (Symbol, str)):
        if isinstance(parameter, Symbol):
            program.check_own(op, parameter)
        return program.find(op, parameter)
    for name, tensor in program.graph.captured.items():
        if tensor is parameter:
            return program.graph.symbol(name)
    return None


def _where(program: Program, parameter: Any) -> str | lm.Tensor:
    """Returns the name under which a scope has the parameter, or the tensor itself that the program refers to."""
    if not isinstance(parameter, Symbol):
        return parameter
    return parameter.name if parameter.name in program.held else program.graph.captured[parameter.name]


def _tensor(place: str | lm.Tensor, scope: Scope) -> lm.Tensor:
    if not isinstance(place, str):
        return place
    variable = scope.find_var(place)
    if variable is None or variable.value is None:
        raise RuntimeError(f"[minimize] the parameter '{place}' has no value in this scope: run the start-up program")
    return variable.value
