"""Takes the calls of operators and layers that are given global tensors, and computes them on every process's parts.

While global tensors live on a thread, the thread has a recorder (Note [Capture] in ``python/bindings/capture.h``),
which sees every call of an operator, whoever registered it. Without them nothing is asked.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import _C, _tree
from lamella import sbp as sbps
from lamella._C import Tensor
from lamella.graph._recorder import RecorderBase

from . import _carrier, _choice, rules
from ._choice import Choice
from ._drawing import check_seeds, generator_of, is_drawing
from ._presence import busy, installed, suspended
from .global_tensor import GlobalTensor, adjoint, seed_of, settled
from .making import whole_shape
from .mesh import placement
from .redistribute import Signature, links_of, local_range, local_shape, redistribute
from .rules import Call, Pieces, Rule


def _is_global(x: Any) -> bool:
    return isinstance(x, GlobalTensor)


def _any_global(values: Sequence[Any]) -> bool:
    for value in values:
        if isinstance(value, GlobalTensor):
            return True
        if isinstance(value, (list, tuple)) and _any_global(value):
            return True
    return False


class _Builtin:
    """An operator of the list, by name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.call = _C._find_operator(f"lamella::{name}")
        arguments = self.call.arguments
        variadic = bool(arguments) and arguments[0][1].startswith("Tensor[]")
        self.function = self.call if variadic else getattr(_C, name, None) or getattr(Tensor, name)
        self.names: list[str] = [one[0] for one in arguments]
        self.positional = sum(not one[4] for one in arguments)
        self.writes = any(one[5] is not None and one[5].endswith("!") for one in arguments)
        self.draws = any(one[1].startswith("Generator") for one in arguments)

    def run(self, arguments: dict[str, Any]) -> Any:
        """Calls the operator."""
        values = list(arguments.values())
        names = self.names[self.positional :]
        return self.function(*values[: self.positional], **dict(zip(names, values[self.positional :], strict=True)))


_builtin = functools.cache(_Builtin)


_choices: dict[Any, Choice] = {}
#: Number of decisions that are remembered; a program has one for each call with other shapes.
_MAX_CHOICES = 20000


def _frozen(value: Any) -> Any:
    """Returns what stands for an argument in a key; TypeError for one that cannot."""
    if isinstance(value, Tensor):
        return tuple(value.shape), value.dtype.name
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return tuple((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, slice):
        return "slice", value.start, value.stop, value.step
    hash(value)
    return type(value), value


def _mesh_of(tensors: Sequence[Tensor], name: str) -> placement:
    """Returns the placement of a call's tensors.

    Raises:
        ValueError: there are two.
        RuntimeError: A tensor on the tape is not global.
    """
    mesh: placement | None = None
    for x in tensors:
        if isinstance(x, GlobalTensor):
            if mesh is not None and x._placement != mesh:
                raise ValueError(f"[{name}] the tensors lie over different processes: {mesh!r} and {x._placement!r}")
            mesh = x._placement
        elif not x.stop_gradient:
            raise RuntimeError(
                f"[{name}] a tensor that wants a gradient is not global, and others are: call to_global() on it"
            )
    if mesh is None:
        raise ValueError(f"[{name}] there is no global tensor")
    return mesh


def _decide(
    call: Call, rule: Rule | None, given: list[tuple[Signature, ...]], mesh: placement, in_place: bool, is_builtin: bool
) -> Choice:
    """Chooses the signatures of a call."""
    whole = (sbps.broadcast,) * mesh.ndim
    everywhere = tuple(whole for _ in given)
    shapes: tuple[tuple[int, ...], ...] | None = None
    found: Any = None
    # Some shapes depend on elements, and some layers read them: then there are no results on meta.
    with contextlib.suppress(RuntimeError, NotImplementedError):
        shapes = tuple(tuple(x.shape) for x in call.results())
    if shapes is not None or not is_builtin:
        found = None if rule is None else rule(call)
    if found is None:
        if any(one[0] != whole for one in given):
            raise RuntimeError(_choice.without_rule(call, [one[0] for one in given], mesh))
        return Choice(everywhere, (whole,) * len(shapes or ()), shapes, (), None)
    spec = _choice.spec_of(found, call, shapes, call.name)
    itemsizes = [x.itemsize for x in call.tensors]
    inputs, outputs = _choice.choose(spec, call, shapes, given, mesh, itemsizes, in_place)
    return Choice(
        tuple(zip(*inputs, strict=True)),
        tuple(zip(*outputs, strict=True)),
        shapes,
        tuple(spec.shapes.items()),
        spec.run,
    )


def _perform(
    name: str,
    arguments: dict[str, Any],
    run: Callable[[dict[str, Any]], Any],
    rule: Callable[[], Rule | None],
    *,
    in_place: bool = False,
    draws: bool = False,
    context: Any = None,
    results: Callable[[list[Tensor]], list[Tensor]] | None = None,
    cached: bool = True,
    builtin: bool = True,
) -> Any:
    """Computes a call on global tensors.

    Args:
        name: the operator's or layer's name.
        arguments: its arguments by name.
        run: calls it with others.
        rule: returns its rule.
        in_place: True if the first tensor is written to.
        draws: True if it takes a generator.
        context: what the rule needs beside the arguments.
        results: returns the results on ``meta`` where a call on ``meta`` does not.
        cached: True if name and arguments tell all that the choice depends on.
        builtin: False for operators and layers of users, whose rule counts also where no shapes are known beforehand.
    """
    given, spec = _tree.flatten(arguments)
    mesh = _mesh_of(given, name)
    whole = (sbps.broadcast,) * mesh.ndim
    counted = getattr(_carrier.current(), "computed", None)
    if counted is not None:
        # A plan's tensors are on meta, and those that the model makes come there.
        given = [
            x if x.device == "meta" or isinstance(x, GlobalTensor) else lm.empty_like(x, device="meta") for x in given
        ]
    layouts = [x._layouts() if isinstance(x, GlobalTensor) else {whole: x} for x in given]
    signatures = [tuple(one) for one in layouts]
    key: Any = None
    choice: Choice | None = None
    if cached:
        try:
            key = name, _frozen(arguments), tuple(signatures), mesh, links_of(mesh), in_place
            choice = _choices.get(key)
        except TypeError:
            key = None
    if in_place and isinstance(given[0], GlobalTensor) and given[0]._is_severed:
        raise RuntimeError(
            f"[{name}] this slice of a global tensor holds elements that were sent here first, so that the write would "
            "be lost: write into the tensor itself, by x[...] = value, or into a clone() of the slice"
        )
    call: Call | None = None
    if choice is None or choice.run is not None:
        metas = [lm.empty(list(x.shape), dtype=x.dtype, device="meta") for x in given]
        call = Call(name, _tree.rebuild(spec, metas), run, context)
        if results is not None:
            call.describe(results)
    if choice is None:
        assert call is not None
        choice = _decide(call, rule(), signatures, mesh, in_place, builtin)
        if key is not None:
            if len(_choices) >= _MAX_CHOICES:
                _choices.clear()
            _choices[key] = choice
    locals_ = [
        x._under(target, own) if isinstance(x, GlobalTensor) else redistribute(x, x.shape, mesh, whole, target)
        for x, own, target in zip(given, layouts, choice.inputs, strict=True)
    ]
    at = mesh.coordinate()
    changed: dict[str, Any] = {}
    if choice.shapes is not None:
        for parameter, i in choice.shape_parameters:
            changed[parameter] = list(local_shape(choice.shapes[i], mesh, choice.outputs[i], at))
    if draws:
        if counted is None and arguments.get("generator") is None:
            check_seeds(mesh, name)
        changed["generator"] = generator_of(choice, mesh, arguments.get("generator"))
    if call is not None and choice.run is not None and choice.shapes is not None:
        given_shapes = call.shapes
        ranges = [local_range(shape, mesh, one, at) for shape, one in zip(given_shapes, choice.inputs, strict=True)]
        own = [local_shape(shape, mesh, one, at) for shape, one in zip(choice.shapes, choice.outputs, strict=True)]
        returned = choice.run(call, Pieces(locals_, ranges, given_shapes, own))
    else:
        returned = run({**_tree.rebuild(spec, locals_), **changed})
    if counted is not None:
        counted(name, locals_, _tree.flatten(returned)[0])
    if in_place:
        return _written(name, given[0], locals_[0], choice.inputs[0])
    parts, rebuild = _tree.flatten(returned)
    outputs = choice.outputs or (whole,) * len(parts)
    if call is not None and choice.shapes is not None:
        _choice.check_parts(name, parts, choice, mesh, at)
    shapes = choice.shapes or [whole_shape(x, mesh, one, name) for x, one in zip(parts, outputs, strict=True)]
    made = [GlobalTensor._of(x, shape, mesh, one) for x, shape, one in zip(parts, shapes, outputs, strict=True)]
    for x, local in zip(given, locals_, strict=True):
        if isinstance(x, GlobalTensor):
            _note_views(x, local, made)
    return _tree.rebuild(rebuild, made)


def _note_views(x: GlobalTensor, local: Tensor, made: Sequence[GlobalTensor]) -> None:
    """Notes which results of an operator lie in the memory of the part that one of its operands had."""
    if local.device == "meta" or local.size == 0:
        return
    first = local.data_ptr()
    last = (
        first + sum(step * (size - 1) for step, size in zip(local.strides, local.shape, strict=True)) * local.itemsize
    )
    for one in made:
        if one._local.size and first <= one._local.data_ptr() <= last:
            x._is_shared = one._is_shared = True
            one._is_severed = one._is_severed or x._is_severed or local is not x._local


def _written(name: str, x: Tensor, local: Tensor, signature: Signature) -> Tensor:
    """Returns a tensor that was written to, which may lie otherwise now.

    Raises:
        RuntimeError: it is a leaf that wants a gradient, whose parts stay where they are, or shares its memory with
            another tensor, which would not see the write.
    """
    if isinstance(x, GlobalTensor) and x._sbp != signature:
        if x._is_shared:
            raise RuntimeError(
                f"[{name}] the tensor would lie otherwise after the write, and shares its memory with a slice or view, "
                "which would not see it: write into a clone() of it"
            )
        if x.is_leaf and not x.stop_gradient:
            raise RuntimeError(
                "[to_global] a leaf that wants a gradient cannot be written to in this way: it is partial"
            )
        x._local, x._sbp, x._laid = local, signature, {}
    return x


class Dispatcher(RecorderBase):
    """Sees the calls of a thread; its methods are called by the engine."""

    def operator(self, name: str, in_place: bool, values: Sequence[Any]) -> Any:
        """Computes a built-in operator on global tensors, or leaves it as it is."""
        if not _any_global(values):
            return NotImplemented
        op = _builtin(name)
        out = values[-1] if len(values) > len(op.names) else None
        arguments = dict(zip(op.names, values, strict=False))
        with busy():
            result = self._built_in(op, arguments)
            target = values[0] if in_place else out
            if target is None:
                return result
            if not isinstance(target, GlobalTensor):
                raise RuntimeError(f"[{name}] a result on global tensors is not written into one that is not global")
            copy = _builtin("copy_")
            return self._built_in(copy, dict(zip(copy.names, [target, result], strict=True)))

    def _built_in(self, op: _Builtin, arguments: dict[str, Any]) -> Any:
        compose = rules.composition_of(op.name)
        if compose is not None:
            with installed():
                result = compose(**arguments)
            if result is not NotImplemented:
                return result
        return _perform(
            *(op.name, arguments, op.run, lambda: rules.find(op.name)),
            in_place=op.writes,
            draws=op.draws and is_drawing(arguments),
        )

    def registered(self, call: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Computes an operator that is registered by a schema."""
        if not _any_global([*args, *kwargs.values()]):
            return NotImplemented
        name = call.name.removeprefix("lamella::")
        if name != call.name:
            op = _builtin(name)
            given = dict(zip(op.names, args, strict=False)) | kwargs
            defaults = {one[0]: one[3] for one in op.call.arguments}
            with busy():
                return self._built_in(op, {key: given.get(key, defaults[key]) for key in op.names})
        if len(call.overloads()) > 1:
            raise RuntimeError(f"[{name}] has overloads, of which global tensors cannot choose: call one by its name")
        names = [one[0] for one in call.arguments]
        defaults = {one[0]: one[3] for one in call.arguments if one[2]}
        arguments = {key: defaults[key] for key in defaults} | dict(zip(names, args, strict=False)) | kwargs
        arguments = {key: arguments[key] for key in names if key in arguments}
        positional = {one[0] for one in call.arguments if not one[4]}

        def run(values: dict[str, Any]) -> Any:
            return call(
                *(value for key, value in values.items() if key in positional),
                **{key: value for key, value in values.items() if key not in positional},
            )

        with busy():
            return _perform(name, arguments, run, lambda: rules.find(name), builtin=False)

    def layer(self, layer: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Computes a custom layer, whose rule is its static method ``sbp``."""
        if not any(map(_is_global, _tree.flatten((list(args), kwargs))[0])):
            return NotImplemented
        arguments = {"args": list(args), "kwargs": dict(kwargs)}
        with contextlib.suppress(TypeError, ValueError):
            bound = inspect.signature(layer.forward).bind(None, *args, **kwargs)
            if len(bound.args) == len(args) + 1:
                names = list(bound.signature.parameters)[1 : len(args) + 1]
                if len(names) == len(args):
                    arguments = dict(zip(names, args, strict=True)) | kwargs
        count = len(args)

        def run(values: dict[str, Any]) -> Any:
            if "args" in values and "kwargs" in values:
                return layer.apply(*values["args"], **values["kwargs"])
            listed = list(values.values())
            return layer.apply(*listed[:count], **dict(list(values.items())[count:]))

        rule: Rule | None = getattr(layer, "sbp", None)
        with busy():
            return _perform(layer.__name__, arguments, run, lambda: rule, cached=False, builtin=False)

    def cpp_layer(self, name: str, tensors: list[Tensor], run: Callable[[list[Tensor]], list[Tensor]]) -> Any:
        """Computes a layer written in C++, whose rule is registered by its name."""
        if not any(map(_is_global, tensors)):
            return NotImplemented
        with busy():
            results = _perform(
                name,
                {"tensors": tensors},
                lambda values: run(values["tensors"]),
                lambda: rules.find(name),
                cached=False,
                builtin=False,
            )
        # The layer returns their tensors through C++, from where the objects are found again as long as they live.
        self._held = list(results)
        return results

    def call(self, name: str, function: Callable[..., Any], args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
        """Computes an operator in OneFlow's dialect, whose rule is its ``SetGetSbpFn``."""
        use = getattr(getattr(function, "__self__", None), "_use", None)
        if use is None or not any(map(_is_global, args)):
            return NotImplemented
        from .rules import user_ops

        with busy():
            return _perform(
                name,
                {"tensors": list(args)},
                lambda values: function(*values["tensors"]),
                lambda: user_ops.signatures,
                context=use,
                results=lambda tensors: user_ops.results(use, tensors),
                cached=False,
                builtin=False,
            )

    def backward(self, _module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs a backward pass from global tensors on every process's parts."""
        given = dict(zip(("tensors", "grad_tensors", "retain_graph", "create_graph", "inputs"), args, strict=False))
        given |= kwargs
        tensors, gradients = _listed(given["tensors"]), given.get("grad_tensors")
        if not any(map(_is_global, tensors)):
            return NotImplemented
        seeds = _listed(gradients) if gradients is not None else [None] * len(tensors)
        with busy():
            given["grad_tensors"] = [
                seed_of(x, dy) if isinstance(x, GlobalTensor) else dy for x, dy in zip(tensors, seeds, strict=True)
            ]
            given["tensors"] = [_own(x) for x in tensors]
            if given.get("inputs") is not None:
                given["inputs"] = [_own(x) for x in _listed(given["inputs"])]
            return lm.autograd.backward(**given)

    def grad(self, _module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Computes gradients of global tensors, with the signatures of what they are gradients of."""
        names = ("outputs", "inputs", "grad_outputs")
        given = dict(zip(names, args, strict=False)) | kwargs
        outputs, inputs = _listed(given["outputs"]), _listed(given["inputs"])
        if not any(map(_is_global, [*outputs, *inputs])):
            return NotImplemented
        seeds = _listed(given["grad_outputs"]) if given.get("grad_outputs") is not None else [None] * len(outputs)
        with busy():
            given["grad_outputs"] = [
                seed_of(x, dy) if isinstance(x, GlobalTensor) else dy for x, dy in zip(outputs, seeds, strict=True)
            ]
            given["outputs"], given["inputs"] = [_own(x) for x in outputs], [_own(x) for x in inputs]
            found = _listed(lm.grad(**given))
            made: list[Any] = []
            for x, dy in zip(inputs, found, strict=True):
                if not isinstance(x, GlobalTensor) or dy is None:
                    made.append(dy)
                    continue
                target = settled(x._sbp)
                source = target if x.is_leaf and hasattr(x, "_hook") else adjoint(x._sbp)
                own = redistribute(dy, x.shape, x._placement, source, target)
                made.append(GlobalTensor._of(own, x.shape, x._placement, target))
            return tuple(made)

    def asarray(self, _module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Returns a global tensor as it is, in another dtype where one is asked for."""
        if not args or not isinstance(args[0], GlobalTensor):
            return NotImplemented
        dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
        x = args[0]
        with installed():
            if dtype is not None and x.dtype != dtype:
                return lm.astype(x, dtype)
            return lm.clone(x) if kwargs.get("copy") else x

    def lower(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Returns a function of parts that makes global tensors of them and calls another, and this process's parts.

        A checkpoint keeps the arguments of its function and hands them over again: it keeps the parts.
        """
        given, spec = _tree.flatten((args, kwargs))
        if not any(map(_is_global, given)):
            return function, args, kwargs
        places = [
            (type(x), tuple(x.shape), x._placement, x._sbp) if isinstance(x, GlobalTensor) else None for x in given
        ]

        def call(*parts: Tensor) -> Any:
            with installed():
                whole = [
                    x if place is None else place[0]._of(x, *place[1:]) for x, place in zip(parts, places, strict=True)
                ]
                own_args, own_kwargs = _tree.rebuild(spec, whole)
                return function(*own_args, **own_kwargs)

        return call, tuple(map(_own, given)), {}

    def get_item(self, x: Tensor, key: Any) -> Any:
        """Returns elements of a global tensor."""
        with suspended():
            return _perform("getitem", {"x": x, "key": key}, _read, lambda: rules.find("getitem"))

    def set_item(self, x: Tensor, key: Any, value: Any) -> None:
        """Writes into a global tensor.

        Raises:
            RuntimeError: it is cut along an axis that the key does not take whole.
        """
        arguments = {"x": x, "key": key, "value": value}
        with suspended():
            _perform("setitem", arguments, _write, lambda: rules.find("setitem"), in_place=True)


def _read(arguments: dict[str, Any]) -> Any:
    return arguments["x"][arguments["key"]]


def _write(arguments: dict[str, Any]) -> Any:
    arguments["x"][arguments["key"]] = arguments["value"]
    return arguments["x"]


def _own(x: Any) -> Any:
    return x._local if isinstance(x, GlobalTensor) else x


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, Tensor) else list(value)
