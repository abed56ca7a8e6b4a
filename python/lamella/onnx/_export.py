"""Recording a model and writing its graph as ONNX."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np

import lamella as lm
from lamella import Tensor, _tree
from lamella.graph import Graph, Symbol, recording
from lamella.graph._inlined import inlined
from lamella.graph._made import Made
from lamella.graph._modules import modules_kept
from lamella.nn._modes import in_evaluation

from . import converters as _families  # noqa: F401 (registers them)
from ._builder import Builder
from ._conversion import Calls, Conversion
from ._model import assemble, check_model, replace_file, take_out, write
from ._package import onnx
from ._registry import converters

#: The oldest and the newest operator set that converters are written for.
OLDEST_OPSET, NEWEST_OPSET = 17, 23
#: The size that the format of files, protobuf, allows.
_LARGEST = 2**31 - 2**20

DynamicAxes = Mapping[str, Mapping[int, str] | Sequence[int]]


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike[str] | IO[bytes] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_axes: DynamicAxes | None = None,
    opset_version: int = 17,
    custom_opsets: Mapping[str, int] | None = None,
    external_data: bool = False,
    check: bool = True,
) -> onnx.ModelProto:
    """Writes what a model computes as an ONNX model.

    The model is called once, with symbols in place of tensors, under ``no_grad``; a module and all that it contains is
    in eval mode meanwhile. The control flow of Python is that of this call.

    Args:
        model: a module; a function of tensors; or a :class:`lamella.graph.Graph`.
        args: the arguments of the call, a tuple, or one tensor. Tensors and numpy arrays, also those in lists, tuples
            and dicts, become inputs of the model; other arguments are part of it. For a graph: the values that the
            model returns, as symbols or names.
        f: where the model is written: a path, which is replaced when all is written, or a binary file; None only
            returns it.
        kwargs: further arguments of the call.
        input_names: names of the inputs; by default those of the parameters of the function.
        output_names: names of the outputs; by default ``output``, or ``output_0`` and so on.
        dynamic_axes: for names of inputs, the axes whose sizes the model's user chooses: ``{"x": {0: "batch"}}``, or
            ``{"x": [0]}`` without names. Axes of one name have one size. Names of outputs give names to their axes.
        opset_version: the version of ONNX's operators, 17 or newer.
        custom_opsets: versions of the operator sets of custom operators, by namespace. An operator of such a namespace
            that has no converter becomes a node of this operator set, with its arguments as attributes.
        external_data: True stores the contents of large tensors in a file beside ``f``, named like it with ``.data``
            behind; for models of more than 2 GB.
        check: False leaves out ``onnx.checker``.

    Returns:
        The model.

    Raises:
        ValueError: an argument is wrong, ONNX has no way to write an operator, or the model is larger than 2 GB.
        NotImplementedError: an operator has no converter; the message names it, the line that called it, and the
            remedy.
    """
    _check_opset(opset_version)
    path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else None
    if external_data and path is None:
        raise ValueError("[onnx.export] external_data=True stores tensors beside the model: pass the path of that")
    custom = dict(custom_opsets or {})
    axes = _axes(dynamic_axes)
    layers: Calls = {}
    dims: dict[str, list[int | str | None]] = {}
    if isinstance(model, Graph):
        graph, symbols = model, _fetched(model, args)
        name = graph.name
    else:
        if not callable(model):
            raise TypeError(f"[onnx.export] exports a module, a function or a graph, not {type(model).__name__}")
        name = type(model).__name__ if isinstance(model, lm.nn.Module) else getattr(model, "__name__", "function")
        graph = Graph(name)
        recorder = _LayerRecorder(graph)
        symbols, dims = _record(graph, recorder, model, args, dict(kwargs or {}), input_names, axes)
        layers = recorder.calls
    names = _output_names(symbols, output_names)
    inputs = {x.name for x in graph.inputs}
    if unknown := sorted(axes.keys() - inputs - set(names)):
        raise ValueError(
            f"[onnx.export] dynamic_axes names {unknown[0]!r}, which is no input or output: {sorted(inputs)}"
        )
    builder = Builder(opset_version, custom)
    results = Conversion(graph, builder, layers, dims).run(symbols)
    size = sum(len(stored.raw_data) for stored in builder.initializers.values())
    if size > _LARGEST and not external_data:
        raise ValueError(
            f"[onnx.export] the model has {size / 2**30:.1f} GiB, and an ONNX file may have 2: store the parameters "
            "beside it, by external_data=True"
        )
    proto = assemble(name, graph, builder, symbols, results, names, axes)
    if external_data and path is not None:
        contents = take_out(proto, os.path.basename(path) + ".data")
    if check:
        check_model(proto)
    if external_data and path is not None:
        replace_file(path + ".data", contents)
    if f is not None:
        write(proto, f)
    return proto


def supported_operators() -> list[str]:
    """Returns the full names of the operators that have a converter."""
    return sorted(key for key in converters if isinstance(key, str))


def _check_opset(version: Any) -> None:
    if not isinstance(version, int) or isinstance(version, bool):
        raise TypeError(f"[onnx.export] opset_version is an int, not {version!r}")
    newest = min(NEWEST_OPSET, onnx.defs.onnx_opset_version())
    if not OLDEST_OPSET <= version <= newest:
        raise ValueError(f"[onnx.export] opset_version must be from {OLDEST_OPSET} to {newest}, got {version}")


def _axes(dynamic_axes: DynamicAxes | None) -> dict[str, dict[int, str | None]]:
    axes: dict[str, dict[int, str | None]] = {}
    for name, wanted in (dynamic_axes or {}).items():
        named: dict[int, str | None] = {}
        named.update(wanted if isinstance(wanted, Mapping) else dict.fromkeys(wanted))
        for axis, label in named.items():
            if not isinstance(axis, int) or not isinstance(label, (str, type(None))):
                raise TypeError(f"[onnx.export] dynamic_axes[{name!r}] is {{axis: name}} or a list of axes: {wanted!r}")
        axes[name] = named
    return axes


def _fetched(graph: Graph, fetches: Any) -> list[Symbol]:
    wanted = list(fetches) if isinstance(fetches, (list, tuple)) else [fetches]
    if not wanted or not all(isinstance(x, (str, Symbol)) for x in wanted):
        raise ValueError("[onnx.export] for a graph, args are the values to return, as symbols or names")
    return [graph.symbol(x) if isinstance(x, str) else x for x in wanted]


class _LayerRecorder:
    """Records calls of custom layers: their forward, or one node where the layer has a converter."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        #: By the name of a node's first result: layer and arguments.
        self.calls: Calls = {}

    def __call__(self, layer: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if layer in converters:
            results = self.graph._recorder.layer_node(layer, args, kwargs)
            first: Any = _tree.flatten(results)[0][0]
            self.calls[first.name] = (layer, args, kwargs)
            return results
        try:
            return inlined(self.graph, layer, args, kwargs)
        except Exception as error:
            error.add_note(
                f"[onnx.export] the forward of {layer.__name__} is exported as the operators that it calls; a layer "
                f"that computes otherwise needs a converter: @lm.onnx.register_converter({layer.__name__})"
            )
            raise


def _record(
    graph: Graph,
    recorder: _LayerRecorder,
    model: Callable[..., Any],
    args: Any,
    kwargs: dict[str, Any],
    input_names: Sequence[str] | None,
    axes: dict[str, dict[int, str | None]],
) -> tuple[list[Symbol], dict[str, list[int | str | None]]]:
    """Calls the model on symbols, and returns its results and the dimensions of the inputs."""
    positional = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    names: list[str] = []
    tensors: list[Tensor] = []
    for path, x in _leaves(model, positional, kwargs):
        names.append(path)
        tensors.append(x)
    if input_names is not None:
        if len(input_names) != len(names):
            raise ValueError(f"[onnx.export] got {len(input_names)} input_names for {len(names)} inputs: {names}")
        names = list(input_names)
    dims: dict[str, list[int | str | None]] = {}
    symbols = []
    for name, x in zip(names, tensors, strict=True):
        sizes: list[int | str | None] = list(x.shape)
        for axis, label in axes.get(name, {}).items():
            if not -x.ndim <= axis < x.ndim:
                raise ValueError(f"[onnx.export] dynamic_axes: {name!r} has {x.ndim} axes, and no axis {axis}")
            sizes[axis] = label
        dims[name] = sizes
        symbols.append(graph.input(name, x.dtype, [d if isinstance(d, int) else -1 for d in sizes]))
        for axis, size in enumerate(sizes):
            if not isinstance(size, int):
                graph.tell_size(symbols[-1], axis, example=x.shape[axis])
    given = iter(symbols)
    call_args, call_kwargs = _replaced((positional, kwargs), given)
    graph.follows_examples = True
    with _eval_mode(model) as module:
        if module is not None:
            for name, x in [*module.named_parameters(), *module.named_buffers()]:
                graph.capture(x, name if name not in graph else None)
        graph._recorder.inline_layer = recorder
        graph._recorder.made = Made()
        with lm.no_grad(), recording(graph), modules_kept(graph, module):
            results = model(*call_args, **call_kwargs)
    outputs, _ = _tree.flatten(results)
    if not outputs:
        raise ValueError(f"[onnx.export] the model returns no tensor: {type(results).__name__}")
    found = [graph._recorder._symbol(x) for x in outputs]
    graph._recorder.made = None  # which holds what the model has made
    return found, dims


@contextlib.contextmanager
def _eval_mode(model: Any) -> Iterator[lm.nn.Module | None]:
    if not isinstance(model, lm.nn.Module):
        yield None
        return
    with in_evaluation(model):
        yield model


def _leaves(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Returns the tensors among the arguments, and a name for each."""
    function = model.forward if isinstance(model, lm.nn.Module) else model
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    def walk(path: str, value: Any) -> Iterator[tuple[str, Tensor]]:
        if isinstance(value, (Tensor, np.ndarray)):
            yield path, lm.asarray(value)
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                yield from walk(f"{path}_{i}", item)
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from walk(f"{path}_{key}", item)

    for i, value in enumerate(args):
        yield from walk(plain[i] if i < len(plain) else f"input_{i}", value)
    for name, value in kwargs.items():
        yield from walk(name, value)


def _replaced(value: Any, given: Iterator[Symbol]) -> Any:
    """Returns arguments with symbols in place of tensors, in the order of `_leaves`."""
    if isinstance(value, (Tensor, np.ndarray)):
        return next(given)
    if isinstance(value, (list, tuple)):
        items = [_replaced(item, given) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: _replaced(item, given) for key, item in value.items()}
    return value


def _output_names(symbols: Sequence[Symbol], given: Sequence[str] | None) -> list[str]:
    if given is None:
        return ["output"] if len(symbols) == 1 else [f"output_{i}" for i in range(len(symbols))]
    if len(given) != len(symbols):
        raise ValueError(f"[onnx.export] got {len(given)} output_names for {len(symbols)} outputs")
    if len(set(given)) != len(given):
        raise ValueError(f"[onnx.export] output_names has a name twice: {list(given)}")
    return list(given)
