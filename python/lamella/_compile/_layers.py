"""Layers as graphs of what their forward and backward compute, in place of calls.

A layer is recorded on symbols, which runs its code once more than the program does. So its code is read first: it must
consist of calls of operators on tensors, and of what it keeps for backward, and nothing else.
"""

from __future__ import annotations

import builtins
import dis
import functools
import math
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import lamella as lm
from lamella import _C
from lamella._C import Tensor
from lamella.graph import Graph, Symbol, recording

#: Instructions that do more than compute, or whose outcome the names of a function do not bound.
_REFUSED = (
    *("STORE_GLOBAL", "DELETE_", "STORE_SUBSCR", "DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF", "MAKE_FUNCTION"),
    *("IMPORT_", "YIELD", "RETURN_GENERATOR", "SETUP_", "PUSH_EXC_INFO", "LOAD_BUILD_CLASS", "BEFORE_WITH"),
)
_BUILTINS = frozenset(["len", "range", "int", "float", "bool", "min", "max", "sum", "abs", "tuple", "list", "zip"])
#: What a layer may ask of its context.
_CONTEXT = frozenset(["save_for_backward", "saved_tensor", "saved_tensors", "needs_input_grad"])
#: Attributes of tensors that tell no size, and those that do.
_ATTRIBUTES = frozenset(["dtype", "ndim", "device", "T", "mT", "detach", "real", "imag"])
_SIZES = frozenset(["shape", "size", "len", "nbytes", "strides"])
_MODULES = frozenset(["nn", "functional", "linalg", "special"])
_CONSTANTS = (int, float, complex, str, bool, type(None), _C.DType)


class _UnfitError(Exception):
    """Why a layer is called."""


class Inlined(NamedTuple):
    """A layer as two graphs; values are numbers of them, -1 for None."""

    forward: Graph
    inputs: list[int]
    result: int
    saved: list[int]
    backward: Graph
    backward_saved: list[int]
    gradient: int
    gradients: list[int]
    #: True if no code has asked for a size.
    any_size: bool


class _Context:
    """Stands for the context of a call that is recorded."""

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs
        self._saved: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self._saved = tensors

    def saved_tensor(self) -> tuple[Any, ...]:
        return self._saved

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return self._saved


@functools.cache
def _operators() -> frozenset[str]:
    """Returns the names of the operators that compute new tensors, of their operands alone."""

    def draws(name: str) -> bool:
        return any(type_.startswith("Generator") for _, type_, *_ in getattr(lm.ops.lamella, name).arguments)

    names = (operator["name"] for operator in _C.operators())
    return frozenset(name for name in names if not name.endswith("_") and not draws(name))


def _check_global(name: str, value: Any) -> None:
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None) or ""
    if isinstance(value, types.ModuleType):
        fits = value is math or module.partition(".")[0] == "lamella"
    elif isinstance(value, _CONSTANTS):
        fits = True
    else:
        fits = (name in _BUILTINS and value is getattr(builtins, name)) or (
            module.startswith("lamella") and name in _operators()
        )
    if not fits:
        raise _UnfitError(f"it reads {name}")


def _check_code(function: Any, stored: set[str]) -> set[str]:
    """Returns the names that a function reads; raises _UnfitError if it may do more than call operators."""
    if not isinstance(function, types.FunctionType):
        raise _UnfitError(f"it is a {type(function).__name__}")
    code = function.__code__
    names: set[str] = set()
    for instruction in dis.get_instructions(code):
        name = str(instruction.argval)
        if any(refused in instruction.opname for refused in _REFUSED):
            raise _UnfitError(f"it does more than call operators ({instruction.opname})")
        if instruction.opname == "STORE_ATTR":
            if hasattr(Tensor, name) or name in _CONTEXT:
                raise _UnfitError(f"it sets {name}")
            stored.add(name)
        elif "GLOBAL" in instruction.opname:
            value = function.__globals__.get(name, getattr(builtins, name, None))
            _check_global(name, value)
            names.add(name)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            known = (
                name in _operators(),
                name in _CONTEXT | _ATTRIBUTES | _SIZES | _MODULES | stored,
                name in vars(math),
                isinstance(getattr(lm, name, None), _C.DType),
            )
            if not any(known):
                raise _UnfitError(f"it asks for {name}")
            names.add(name)
    return names


def is_pure(function: Any, within: frozenset[Any] = frozenset()) -> bool:
    """True if a branch, or a function of a loop, only calls operators on tensors that it is given or refers to.

    Args:
        function: the function.
        within: functions that call it, and are being read.
    """
    if isinstance(function, lm.nn.Module):
        return all(type(module).__module__.startswith("lamella.") for module in function.modules())
    if not isinstance(function, types.FunctionType) or function in within:
        return False
    within |= {function}
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        pending += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        for instruction in dis.get_instructions(code):
            if not _is_pure_instruction(instruction, function, cells, within):
                return False
    return True


def _is_pure_instruction(
    instruction: dis.Instruction, function: types.FunctionType, cells: dict[str, Any], within: frozenset[Any]
) -> bool:
    kind, name = instruction.opname, str(instruction.argval)
    if kind.startswith(("STORE_GLOBAL", "STORE_ATTR", "STORE_SUBSCR", "DELETE_", "IMPORT_")) or "YIELD" in kind:
        return False
    if "GLOBAL" in kind:
        return _is_pure_value(name, function.__globals__.get(name, getattr(builtins, name, None)), within)
    if "DEREF" in kind and name in cells:
        try:
            return kind != "STORE_DEREF" and _is_pure_value(name, cells[name].cell_contents, within)
        except ValueError:  # it is empty
            return False
    if kind in ("LOAD_ATTR", "LOAD_METHOD"):
        known = _operators() | _ATTRIBUTES | _SIZES | _MODULES | {"cond", "while_loop"}
        return name in known or name in vars(math)
    return True


def _is_pure_value(name: str, value: Any, within: frozenset[Any]) -> bool:
    if isinstance(value, Tensor):
        return True
    own = (getattr(value, "__module__", None) or "").startswith("lamella.")
    if isinstance(value, lm.nn.Module) or (isinstance(value, types.FunctionType) and not own):
        return is_pure(value, within)
    try:
        _check_global(name, value)
    except _UnfitError:
        return False
    return True


def _check_layer(layer: type) -> tuple[list[types.FunctionType], set[str]]:
    """Returns a layer's functions and the names that they read."""
    bases = [base for base in layer.__mro__ if base.__module__.partition(".")[0] not in ("lamella", "builtins")]
    for base in bases:
        for name, value in vars(base).items():
            if callable(getattr(value, "__func__", value)) and name not in ("forward", "backward", "jvp", "vmap"):
                raise _UnfitError(f"it has a method {name}")
    functions, stored, names = [], set[str](), set[str]()
    for name in ("forward", "backward"):
        function: Any = getattr(layer, name)
        try:
            names |= _check_code(function, stored)
        except _UnfitError as error:
            raise _UnfitError(f"{name} is no mere graph of operators: {error}") from None
        functions.append(function)
    return functions, names


def inline(layer: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Inlined, list[types.FunctionType]] | str:
    """Returns a call of a layer as graphs, with the functions whose code they are; or says why it is called."""
    try:
        functions, names = _check_layer(layer)
        return _record(functions, names, args, kwargs), functions
    except _UnfitError as error:
        return str(error)
    except Exception as error:
        # Whatever it is: the layer itself is called, and says what it has to.
        return f"it cannot be recorded: {error}"


def _record(
    functions: list[types.FunctionType], names: set[str], args: Sequence[Any], kwargs: dict[str, Any]
) -> Inlined:
    if kwargs or not all(isinstance(x, (Tensor, *_CONSTANTS)) for x in args):
        raise _UnfitError("it is given more than tensors and numbers")
    forward, backward = functions
    at = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
    context = _Context(tuple(isinstance(x, Tensor) and not x.stop_gradient for x in args))
    graph = Graph("forward")
    inputs = [graph.input(f"input{i}", args[i].dtype, args[i].shape) for i in at]
    given = list(args)
    for i, x in zip(at, inputs, strict=True):
        given[i] = x
    with lm.no_grad(), recording(graph):
        result = forward(context, *given)
    _check_graph(graph)
    made = {x._id for node in graph.nodes for x in node.results if x is not None}
    if not isinstance(result, Symbol) or result._id not in made:
        raise _UnfitError("it does not give one tensor that it computes")
    saved = [x for x in context._saved if x is not None]
    if len(saved) != len(context._saved) or not all(isinstance(x, Symbol) for x in saved):
        raise _UnfitError("it saves what is no tensor of the call")
    state = {key: value for key, value in vars(context).items() if key not in ("needs_input_grad", "_saved")}
    if not all(isinstance(value, (*_CONSTANTS, tuple)) for value in state.values()):
        raise _UnfitError("its context has more than numbers")

    reverse = Graph("backward")
    kept = [reverse.input(f"saved{i}", x.dtype, x.shape) for i, x in enumerate(saved)]
    gradient = reverse.input("gradient", result.dtype, result.shape)
    context._saved = tuple(kept)
    with lm.enable_grad(), recording(reverse):
        found = backward(context, gradient)
    _check_graph(reverse)
    grads = list(found) if isinstance(found, (list, tuple)) else [found]
    if len(grads) == len(args) and all(grads[i] is None for i in range(len(args)) if i not in at):
        grads = [grads[i] for i in at]
    if len(grads) != len(at):
        raise _UnfitError("backward gives another number of gradients")
    for x, grad in zip(inputs, grads, strict=True):
        if grad is not None and (not isinstance(grad, Symbol) or (grad.dtype, grad.shape) != (x.dtype, x.shape)):
            raise _UnfitError("backward gives a gradient that does not fit its input")
    return Inlined(
        graph,
        [x._id for x in inputs],
        result._id,
        [x._id for x in saved],
        reverse,
        [x._id for x in kept],
        gradient._id,
        [-1 if grad is None else grad._id for grad in grads],
        names.isdisjoint(_SIZES),
    )


def _check_graph(graph: Graph) -> None:
    """Raises _UnfitError if a graph does more than compute new tensors."""
    for node in graph.nodes:
        if node.kind != "operator" or node.effects:
            raise _UnfitError(f"it calls {node.op}")
        call: Any = lm.ops
        for part in node.op.split("::"):
            call = getattr(call, part.partition(".")[0])
        if any(alias for _, _, alias in call.results):
            raise _UnfitError(f"{node.op} gives a view")
