"""Programs and their parameters in files: safetensors with the program's text beside them. No file holds code."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lamella import io
from lamella.graph import Symbol
from lamella.graph._control_flow import described, parsed
from lamella.nn import Parameter

from .executor import Executor
from .program import Held, Program, paused, program_of
from .scope import global_scope

_PARAMETERS = ".params.safetensors"
_OPTIMIZERS = ".optimizer.safetensors"
_MODEL = ".model.safetensors"
#: Keys of the text beside the tensors of an inference program.
_KEYS = ("lamella.program", "lamella.feeds", "lamella.fetches", "lamella.held")
#: Key of the names of captured tensors that are trained, which files of earlier versions lack.
_TRAINED = "lamella.trained"
#: Key of the branches and loops that nodes run, which files of earlier versions lack.
_FLOWS = "lamella.control_flow"
#: Key of the names of methods whose programs are in files of their own, which files of earlier versions lack.
_METHODS = "lamella.methods"
#: Key of the names of captured parameters and buffers that are not trained.
_FIXED = "lamella.fixed"


def save(program: Program, model_path: str | os.PathLike[str], protocol: int = 4, **configs: Any) -> None:
    """Writes the values of a program's parameters, and what its optimizers remember, that the global scope has.

    Args:
        program: the program.
        model_path: the files are ``model_path + ".params.safetensors"`` and ``model_path + ".optimizer.safetensors"``;
            the second only of a program with an optimizer.
        protocol: not used: nothing is pickled.
        configs: not used.

    Raises:
        RuntimeError: a parameter has no value.
        ValueError: ``model_path`` ends in a separator.
    """
    prefix = _prefix("save", model_path)
    scope = global_scope()
    parameters = program.state_dict("param", scope)
    states = []
    for update in program.updates:
        update.bind(scope)
        states.append(update.optimizer.state_dict())
    io.save(parameters, prefix + _PARAMETERS)
    if states:
        io.save(states, prefix + _OPTIMIZERS)


def load(
    program: Program, model_path: str | os.PathLike[str], executor: Executor | None = None, var_list: Any = None
) -> None:
    """Takes over what :func:`save` wrote, into the global scope; everything is checked before anything changes.

    Args:
        program: the program, or one with the same parameters.
        model_path: as for :func:`save`.
        executor: not used.
        var_list: the parameters that are wanted; all by default.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file lacks a parameter of the program, or has one of another shape.
    """
    prefix = _prefix("load", model_path)
    state = io.load(prefix + _PARAMETERS)
    wanted = [*program.held, *program.graph.captured]
    if var_list is not None:
        wanted = [program.find("load", each).name for each in var_list]
    missing = [name for name in wanted if name not in state]
    if missing:
        raise ValueError(f"[load] {Path(prefix + _PARAMETERS).name} lacks {', '.join(missing)}")
    optimizers = Path(prefix + _OPTIMIZERS)
    states = io.load(optimizers) if program.updates and var_list is None and optimizers.exists() else None
    if states is not None and len(states) != len(program.updates):
        raise ValueError(
            f"[load] {optimizers.name} is of {len(states)} optimizers, the program has {len(program.updates)}"
        )
    program.set_state_dict({name: state[name] for name in wanted})
    with paused():
        for update, remembered in zip(program.updates, states or [], strict=False):
            update.bind(global_scope())
            # A front's state_dict() has the front's names, and its own function to take them over.
            take = getattr(update.optimizer, "set_state_dict", update.optimizer.load_state_dict)
            take(remembered)


def load_program_state(model_path: str | os.PathLike[str], var_list: Any = None) -> dict[str, Any]:
    """Returns the values that :func:`save` wrote, as arrays by name."""
    state = io.load(_prefix("load_program_state", model_path) + _PARAMETERS)
    names = state if var_list is None else [each if isinstance(each, str) else each.name for each in var_list]
    return {name: state[name].numpy() for name in names}


def set_program_state(program: Program, state_dict: Mapping[str, Any]) -> None:
    """Copies values into the global scope, see :meth:`Program.set_state_dict`."""
    program.set_state_dict(state_dict)


def save_inference_model(
    path_prefix: str | os.PathLike[str],
    feed_vars: Any,
    fetch_vars: Any,
    executor: Executor | None = None,
    *,
    program: Program | None = None,
    buffers: Iterable[Any] = (),
    methods: Iterable[str] = (),
    **configs: Any,
) -> None:
    """Writes what computes ``fetch_vars`` from ``feed_vars``, with its parameters, to one file.

    Args:
        path_prefix: the file is ``path_prefix + ".model.safetensors"``.
        feed_vars: variables that are fed.
        fetch_vars: variables that are wanted.
        executor: not used.
        program: the program; by default that of ``fetch_vars``.
        buffers: tensors of a module beside its parameters, which a layer made of the file has in its state.
        methods: names of methods of the module whose programs are in files of their own.
        configs: not used.

    Raises:
        TypeError: ``feed_vars`` or ``fetch_vars`` hold something else than variables.
        ValueError: the results depend on a variable that is not fed, or on a Python function, which no file holds.
        RuntimeError: a parameter has no value.
    """
    prefix = _prefix("save_inference_model", path_prefix)
    feeds, fetches = _variables("feed_vars", feed_vars), _variables("fetch_vars", fetch_vars)
    if not fetches:
        raise ValueError("[save_inference_model] fetch_vars is empty")
    program = program_of("save_inference_model", fetches[0]) if program is None else program
    test = program.clone(for_test=True)
    names = [test.find("save_inference_model", each).name for each in fetches]
    fed = [test.find("save_inference_model", each).name for each in feeds]
    graph = test.graph.prune([test.graph.symbol(name) for name in names]).compact([*fed, *names])
    used = {*names, *fed}
    for node in graph.nodes:
        used |= {each.name for _, value in node.arguments for each in _symbols(value)}
    held = {name: test.held[name].is_parameter for name in test.held if name in used}
    for symbol in graph.inputs:
        if symbol.name in used and symbol.name not in held and symbol.name not in fed:
            raise ValueError(
                f"[save_inference_model] the results depend on '{symbol.name}', which is not among feed_vars"
            )
    scope = global_scope()
    tensors = {name: test.value("save_inference_model", name, scope) for name in held}
    tensors.update(graph.captured)
    text = (graph.text(), json.dumps(fed), json.dumps(names), json.dumps(held))
    try:
        flows = described(graph)
    except ValueError as error:
        raise ValueError(
            f"[save_inference_model] the results depend on {error}, which no file can hold: fetch what it is given, or "
            "use operators in its place"
        ) from None
    kept = {id(each) for each in buffers}
    state = {name: each for name, each in graph.captured.items() if isinstance(each, Parameter) or id(each) in kept}
    trained = [name for name, each in state.items() if isinstance(each, Parameter) and not each.stop_gradient]
    names_of_state = {
        _TRAINED: json.dumps(trained),
        _FIXED: json.dumps([each for each in state if each not in trained]),
        _FLOWS: json.dumps(flows),
        _METHODS: json.dumps(list(methods)),
    }
    io.save(tensors, prefix + _MODEL, {**dict(zip(_KEYS, text, strict=True)), **names_of_state})


def state_names(path_prefix: str | os.PathLike[str]) -> dict[str, bool]:
    """Returns the names of captured parameters and buffers of an inference program, and True for those trained."""
    text = io.metadata(Path(_prefix("state_names", path_prefix) + _MODEL))
    listed = {trained: json.loads(text.get(key, "[]")) for key, trained in ((_TRAINED, True), (_FIXED, False))}
    return {str(name): trained for trained, names in listed.items() for name in names}


def method_names(path_prefix: str | os.PathLike[str]) -> list[str]:
    """Returns the names of methods that were written with an inference program, in files of their own."""
    text = io.metadata(Path(_prefix("method_names", path_prefix) + _MODEL))
    return [str(name) for name in json.loads(text.get(_METHODS, "[]"))]


def load_inference_model(
    path_prefix: str | os.PathLike[str], executor: Executor | None = None, **configs: Any
) -> list[Any]:
    """Reads what :func:`save_inference_model` wrote; its parameters are put into the global scope.

    Args:
        path_prefix: as for :func:`save_inference_model`.
        executor: not used.
        configs: not used.

    Returns:
        The program, the names of what it is fed, and the variables that it gives.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file holds no program, or a damaged one.
    """
    path = Path(_prefix("load_inference_model", path_prefix) + _MODEL)
    tensors, text = io.load(path), io.metadata(path)

    def damaged(what: str) -> ValueError:
        return ValueError(f"[load_inference_model] {path.name}: {what}")

    if not isinstance(tensors, dict) or any(key not in text for key in _KEYS):
        raise damaged("it holds no program")
    try:
        feeds, fetches, held = (json.loads(text[key]) for key in _KEYS[1:])
        names = [*feeds, *fetches, *held]
        if not isinstance(held, dict) or not all(isinstance(name, str) for name in names):
            raise TypeError("names are no text")
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(f"the names of its variables cannot be read: {error}") from error
    captured = {name: tensor for name, tensor in tensors.items() if name not in held}
    try:
        graph = parsed(text[_KEYS[0]], captured, json.loads(text.get(_FLOWS, "{}")))
        found = {symbol.name: symbol for symbol in graph.symbols}
    except (ValueError, TypeError, RuntimeError, RecursionError) as error:
        raise damaged(f"the program cannot be read: {error}") from error
    inputs = {symbol.name for symbol in graph.inputs}
    for name in names:
        if name not in found or (name in held and (name not in tensors or name not in inputs)):
            raise damaged(f"the program has no variable '{name}'")
    program = Program.__new__(Program)
    program.adopt(graph, {name: Held.of(found[name], bool(is_parameter)) for name, is_parameter in held.items()})
    for name in held:
        variable = found[name]
        if tensors[name].dtype != variable.dtype or tuple(tensors[name].shape) != tuple(variable.shape):
            raise damaged(f"'{name}' is another tensor than the program's")
    scope = global_scope()
    for name in held:
        tensors[name].stop_gradient = found[name].stop_gradient
        scope.var(name).value = tensors[name]
    return [program, list(feeds), [found[name] for name in fetches]]


def _prefix(op: str, path: Any) -> str:
    prefix = os.fspath(path)
    if not isinstance(prefix, str):
        raise TypeError(f"[{op}] a path is text, not {type(prefix).__name__}")
    if not prefix or prefix.endswith(os.sep):
        raise ValueError(f"[{op}] '{prefix}' is a folder; the path ends in the name of a model")
    if op.startswith("save"):
        os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
    return prefix


def _variables(name: str, given: Any) -> list[Symbol]:
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    for each in listed:
        if not isinstance(each, Symbol):
            raise TypeError(f"[save_inference_model] {name} holds variables, not {type(each).__name__}")
    return listed


def _symbols(value: Any) -> list[Symbol]:
    return [each for each in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(each, Symbol)]
