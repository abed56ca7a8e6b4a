"""Programs made of functions and layers. A function runs as it is; :func:`save` records what a layer computes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import lamella as lm
from lamella import static
from lamella.compat.errors import line_of
from lamella.compat.front import close_module
from lamella.graph import UnknownValueError
from lamella.graph._again import record_again
from lamella.graph._control_flow import Body
from lamella.graph._inlined import Inlining
from lamella.graph._modules import modules_kept
from lamella.nn._modes import in_evaluation
from lamella.static.files import method_names, state_names

from .nn import Layer

#: What to write where a function that is recorded asks for a value, by the method that was called.
_ADVICE = {
    "bool": "for 'if' write paddle.static.nn.cond(pred, true_fn, false_fn), for 'while' "
    "paddle.static.nn.while_loop(cond, body, loop_vars), for a choice by element paddle.where(pred, x, y)",
    "shape": "give the InputSpec a size in place of None",
}


def to_static(
    function: Any = None,
    input_spec: Any = None,
    build_strategy: Any = None,
    backend: Any = None,
    **options: Any,
) -> Any:
    """Returns a function or a layer itself, which :func:`save` can record; without one, a decorator.

    Args:
        function: the function or layer.
        input_spec: shapes and dtypes of the arguments, for :func:`save`.
        build_strategy: not used.
        backend: not used.
        options: not used.
    """
    if function is None:
        return lambda given: to_static(given, input_spec)
    if input_spec is not None:
        target = function.__dict__ if isinstance(function, Layer) else vars(function)
        target["_input_spec"] = list(input_spec)
    return function


def not_to_static(func: Any = None) -> Any:
    """Returns the function itself."""
    return (lambda given: given) if func is None else func


def ignore_module(modules: Iterable[Any]) -> None:
    """Changes nothing: functions run as they are."""


def enable_to_static(enable_to_static_bool: bool) -> None:
    """Changes nothing: functions run as they are."""


def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """Changes nothing: functions run as they are, and there is nothing to tell."""


def set_code_level(level: int = 100, also_to_stdout: bool = False) -> None:
    """Changes nothing, see :func:`set_verbosity`."""


class TranslatedLayer(Layer):
    """A layer that :func:`load` has read: it runs the program of one that was saved.

    What was trained when it was saved are parameters of the layer, which can be trained further; what was kept beside
    them, such as running statistics and buffers, are parameters that are not trained, as in Paddle.
    """

    def __init__(self, program: Any, feeds: list[str], fetches: list[Any], state: dict[str, bool], owner: Any = None):
        super().__init__()
        self.__dict__.update(_program=program, _feeds=feeds)
        owner = self if owner is None else owner
        captured = program.graph.captured
        for name, trained in state.items():
            own = name.replace(".", "_")
            if own not in owner._parameters:
                owner.add_parameter(own, lm.nn.Parameter(captured[name], stop_gradient=not trained))
            program.graph.replace(name, owner._parameters[own])
        self.__dict__["_held"] = {name: program.value("load", name, static.global_scope()) for name in program.held}
        self.__dict__["_body"] = Body(program.graph, program.graph.inputs, fetches)

    def forward(self, *inputs: Any) -> Any:
        """Returns what the program computes of the inputs: a list, where the layer that was saved gave several results.

        Args:
            inputs: a tensor for each spec; those of lists and dicts may be given in lists and dicts, too.

        Raises:
            ValueError: there are fewer or more than the program takes.
        """
        flat = list(_flat(inputs))
        if len(flat) != len(self._feeds):
            raise ValueError(f"[TranslatedLayer] the program takes {len(self._feeds)} inputs, got {len(flat)}")
        given = {
            name: value if isinstance(value, lm.Tensor) else lm.asarray(value)
            for name, value in zip(self._feeds, flat, strict=True)
        } | self._held
        if lm.graph.is_recording():
            made = record_again(self._body.graph, given, self._body.outputs)
        else:
            made = self._body([given[each.name] for each in self._body.inputs])
        return made[0] if len(made) == 1 else made


def save(layer: Any, path: str, input_spec: Any = None, **configs: Any) -> None:
    """Writes the program of a layer's or a function's results, with its weights, for :func:`load`.

    Args:
        layer: the layer or function; a layer is recorded in evaluation mode. Its methods that have specs of their own
            from :func:`to_static` are written as well.
        path: the files' common beginning.
        input_spec: an ``InputSpec``, or a tensor like it, for each argument; those given to :func:`to_static` by
            default. Lists and dicts may hold them. Anything else is an argument that stays what it is: None, a number.
        configs: not used.

    Raises:
        ValueError: no specs are known.
        RuntimeError: the layer decides something by a tensor's elements or by a size that is not known.
    """
    forward = getattr(layer, "forward", layer)
    specs = input_spec or getattr(layer, "_input_spec", None) or getattr(forward, "_input_spec", None)
    if not specs:
        raise ValueError("[save] input_spec: give the shapes and dtypes of the arguments")
    owner = getattr(layer, "__self__", layer)
    module = owner if isinstance(owner, lm.nn.Module) else None
    methods = _methods(layer) if layer is module else {}
    for name, method in methods.items():
        save(method, f"{path}.{name}")
    dynamic = static.in_dynamic_mode()
    program, startup = static.Program(), static.Program()
    static.enable_static()
    try:
        with (
            static.program_guard(program, startup),
            in_evaluation(module) if module is not None else contextlib.nullcontext(),
        ):
            feeds: list[Any] = []
            arguments = [_argument(spec, feeds) for spec in specs]
            program.graph._recorder.inline_layer = Inlining(program.graph)
            with modules_kept(program.graph, owner):
                fetches = [x for x in _flat(layer(*arguments)) if isinstance(x, lm.Tensor)]
            fetches = [program.graph.capture(x) for x in fetches]
        buffers = module.buffers() if module is not None else ()
        static.save_inference_model(path, feeds, fetches, program=program, buffers=buffers, methods=methods)
    except UnknownValueError as error:
        advice = _ADVICE.get(error.what, "compute with operators of paddle, and leave this out of what is saved")
        raise RuntimeError(
            f"[save] {line_of(error, forward)}: {error}. A layer is called once, to be recorded, and has no values "
            f"then: {advice}"
        ) from error
    finally:
        if dynamic:
            static.disable_static()


def _methods(layer: Any) -> dict[str, Any]:
    """Returns the methods of a layer, but for ``forward``, that :func:`to_static` has given specs."""
    own = {name: getattr(type(layer), name, None) for name in dir(type(layer)) if name != "forward"}
    return {
        name: getattr(layer, name) for name, value in own.items() if "_input_spec" in getattr(value, "__dict__", ())
    }


def _flat(value: Any) -> Iterator[Any]:
    """Yields what lists, tuples and dicts hold, in order, however deep."""
    if isinstance(value, (list, tuple, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _flat(each)
    else:
        yield value


def _argument(spec: Any, feeds: list[Any]) -> Any:
    """Returns an argument for a spec, and adds the variables in it to those that are fed."""
    if isinstance(spec, (list, tuple)):
        return type(spec)([_argument(each, feeds) for each in spec])
    if isinstance(spec, dict):
        return {key: _argument(each, feeds) for key, each in spec.items()}
    if not (hasattr(spec, "shape") and hasattr(spec, "dtype")):
        return spec
    sizes = [-1 if size is None else int(size) for size in spec.shape]
    feeds.append(static.data(getattr(spec, "name", None) or f"x{len(feeds)}", sizes, spec.dtype))
    return feeds[-1]


def load(path: str, **configs: Any) -> TranslatedLayer:
    """Reads a layer that :func:`save` wrote."""
    layer = _read(path)
    for name in method_names(path):
        layer.__dict__[name] = _read(f"{path}.{name}", layer)
    return layer


def _read(path: str, owner: Any = None) -> TranslatedLayer:
    program, feeds, fetches = static.load_inference_model(path, static.Executor())
    return TranslatedLayer(program, feeds, fetches, state_names(path), owner)


__getattr__ = close_module(__name__)
