"""Mapping functions that are written for one example over a batch of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from .._C import (
    Tensor,
    _hidden_axes,
    _hide_axis,
    _is_mapped,
    _show_axis,
    _vmap_enter,
    _vmap_leave,
    concat,
    restore_rng_states,
    rng_states,
)
from .._names import explain_arguments_of
from .._tree import parts_of, refuse_global, shell_of

__all__ = ["VmapInfo", "vmap"]

#: Axis of an argument: a number, None, or nested lists, tuples and dicts of these.
Axes: TypeAlias = Any
Randomness: TypeAlias = Literal["error", "different", "same"]
#: Replaces a leaf, given the value, its axis, and an object whose str() names it in messages.
_Leaf: TypeAlias = Callable[[Any, Any, object], Any]


def _axes_of_parts(keys: Sequence[Any], axes: Axes, path: object, what: str) -> list[Axes]:
    """Returns the axes for the parts of a container: one for all, or one for each."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(keys)
    own = parts_of(axes)
    if own is None:
        raise TypeError(f"[vmap] {what} holds ints, None, and containers of these, not {type(axes).__name__}")
    found = dict(zip(*own, strict=True))
    if set(found) != set(keys):
        raise ValueError(
            f"[vmap] {what} for {path} has {len(found)} entries ({list(found)}), {path} has {len(keys)} ({list(keys)})"
        )
    return [found[key] for key in keys]


def _map(value: Any, axes: Axes, path: object, what: str, leaf: _Leaf) -> Any:
    """Returns the nested containers with ``leaf(value, axis, path)`` in place of whatever is no container."""
    parts = parts_of(value)
    if parts is None:
        if axes is not None and (isinstance(axes, bool) or not isinstance(axes, int)):
            raise TypeError(f"[vmap] {what} for {path} must be an int or None, got {type(axes).__name__}")
        return leaf(value, axes, path)
    keys, items = parts
    own = _axes_of_parts(keys, axes, path, what)
    mapped = [_map(item, axis, _Part(path, key), what, leaf) for key, item, axis in zip(keys, items, own, strict=True)]
    return shell_of(value, keys)(mapped)


class _Part:
    """Name of a part of a container, made only when a message needs it."""

    __slots__ = ("key", "whole")

    def __init__(self, whole: object, key: Any) -> None:
        self.whole = whole
        self.key = key

    def __str__(self) -> str:
        return f"{self.whole}[{self.key!r}]"


class _Argument:
    """Name of a positional argument, read from the function's signature only when a message needs it."""

    __slots__ = ("func", "place")

    def __init__(self, func: Callable[..., Any], place: int) -> None:
        self.func = func
        self.place = place

    def __str__(self) -> str:
        import inspect  # slow to import, and seldom needed

        try:
            parameters = list(inspect.signature(self.func).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        for i, parameter in enumerate(parameters):
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                return f"{parameter.name}[{self.place - i}]"
            if parameter.kind not in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
                break
            if i == self.place:
                return parameter.name
        return f"argument {self.place}"


class _Call:
    """Arguments of one call of a mapped function, and the axes they are mapped over."""

    def __init__(self, func: Callable[..., Any], in_axes: Axes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if in_axes is None or (isinstance(in_axes, int) and not isinstance(in_axes, bool)):
            in_axes = (in_axes,) * len(args)
        if not isinstance(in_axes, list | tuple):
            raise TypeError(
                f"[vmap] in_axes must be an int, None or a tuple with an entry for each argument, got "
                f"{type(in_axes).__name__}"
            )
        if len(in_axes) != len(args):
            raise ValueError(f"[vmap] in_axes has {len(in_axes)} entries, and {len(args)} positional arguments came")
        self.args = args
        self.kwargs = kwargs
        self.axes = tuple(in_axes)
        self.names = [_Argument(func, i) for i in range(len(args))]
        #: Size of the mapped axes, and the first argument that has it.
        self.size: int | None = None
        self.first: object = None
        self._map_args(self._look)
        if self.size is None:
            raise ValueError("[vmap] no argument is mapped over: at least one tensor needs an axis in in_axes")

    def _map_args(self, leaf: _Leaf) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args = tuple(
            _map(arg, axes, name, "in_axes", leaf)
            for arg, axes, name in zip(self.args, self.axes, self.names, strict=True)
        )
        kwargs = {
            name: _map(arg, 0, name, "in_axes", lambda value, axis, path: self._keyword(value, axis, path, leaf))
            for name, arg in self.kwargs.items()
        }
        return args, kwargs

    @staticmethod
    def _keyword(value: Any, axis: Any, path: object, leaf: _Leaf) -> Any:
        return leaf(value, axis, path) if isinstance(value, Tensor) else value

    def _look(self, value: Any, axis: Any, path: object) -> Any:
        """Checks one argument and its axis."""
        if axis is None:
            return value
        if not isinstance(value, Tensor):
            raise ValueError(
                f"[vmap] {path} is no tensor but {type(value).__name__}, and in_axes maps over axis {axis} of it: "
                "give it None there"
            )
        if not -value.ndim <= axis < value.ndim:
            raise IndexError(f"[vmap] in_axes maps over axis {axis} of {path}, whose shape is {list(value.shape)}")
        size = value.shape[axis]
        if self.size is None:
            self.size, self.first = size, path
        elif size != self.size:
            raise ValueError(
                f"[vmap] the mapped axes must have one size: {self.first} has {self.size} along its own, {path} has "
                f"{size} along axis {axis}"
            )
        return value

    def hidden(self, level: int, begin: int, end: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments with the mapped axes hidden, of the examples from `begin` to `end`."""
        whole = begin == 0 and end == self.size

        def hide(value: Any, axis: Any, path: object) -> Any:
            if axis is None:
                return value
            if not whole:
                value = value[(slice(None),) * (axis % value.ndim) + (slice(begin, end),)]
            refuse_global("vmap", (value,))
            return _hide_axis(value, axis, level)

        return self._map_args(hide)


def _shown(result: Any, out_axes: Axes, level: int, size: int) -> Any:
    """Returns a result with the mapped axes where `out_axes` wants them."""

    def show(value: Any, axis: Any, path: object) -> Any:
        if not isinstance(value, Tensor):
            raise TypeError(f"[vmap] the function may return tensors only, {path} is {type(value).__name__}")
        if axis is None:
            if any(own == level for own, _ in _hidden_axes(value)):
                raise ValueError(f"[vmap] {path} differs from example to example: it needs an axis in out_axes")
            return value
        if not -value.ndim - 1 <= axis <= value.ndim:
            raise IndexError(
                f"[vmap] out_axes puts the mapped axis of {path} at {axis}; with it, it has {value.ndim + 1} axes"
            )
        return _show_axis(value, axis, level, size)

    return _map(result, out_axes, "the result", "out_axes", show)


def _leaves(result: Any, out_axes: Axes) -> list[Tensor]:
    """Returns the tensors of a result, in order."""
    found: list[Tensor] = []
    _map(result, out_axes, "the result", "out_axes", lambda value, axis, path: found.append(value))
    return found


def _joined(parts: list[Any], out_axes: Axes) -> Any:
    """Returns the results of all chunks as one."""
    leaves = [iter(_leaves(part, out_axes)) for part in parts]

    def join(value: Any, axis: Any, path: object) -> Any:
        pieces = [next(each) for each in leaves]
        return value if axis is None else concat(pieces, axis=axis)

    return _map(parts[0], out_axes, "the result", "out_axes", join)


@explain_arguments_of
def vmap(
    func: Callable[..., Any],
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    randomness: Randomness = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Returns a function that computes `func`, which is written for one example, for each of a batch.

    ``vmap(func)(xs)`` is ``stack([func(x) for x in xs])`` in one call, whose operators work on all examples at once.
    Inside of `func` a tensor shows the shape of one example. The call is recorded as any other, and can be mapped or
    differentiated in turn; gradients that `func` takes are those of each example::

        per_example = vmap(lambda x, y: lm.autograd.grad(loss(x, y), weights), in_axes=(0, 0))

    `in_axes` says which axis of the arguments is mapped over: an int for all positional arguments, or a tuple with an
    entry for each, which is an int, None for an argument that is the same for all examples, or a container of these
    where the argument is a list, tuple or dict. Tensors among keyword arguments are mapped over axis 0. `out_axes` says
    in the same way where the mapped axis stands in the results; None gives a result that does not differ once.

    `randomness` is what random operators do: raise an error, give ``"different"`` numbers to each example, or the
    ``"same"``. With a `chunk_size`, so many examples are computed at a time, which needs less memory.

    `func` can only do what all examples can do at once: it must not read values (``item()``, ``if x > 0``, numpy) or
    write one value for each example into a tensor that is not mapped over: both are RuntimeErrors.

    The mapped function raises ValueError where no argument is mapped over, sizes differ, or axes do not fit the
    arguments; IndexError for an axis out of range; TypeError where `func` returns something else than tensors.
    """
    if not callable(func):
        raise TypeError(f"[vmap] expected a function, got {type(func).__name__}")
    if randomness not in ("error", "different", "same"):
        raise ValueError(f"[vmap] randomness must be 'error', 'different' or 'same', got {randomness!r}")
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ValueError(f"[vmap] chunk_size must be a positive int or None, got {chunk_size!r}")

    def run(call: _Call, begin: int, end: int) -> Any:
        level = _vmap_enter(end - begin, randomness)
        try:
            args, kwargs = call.hidden(level, begin, end)
            return _shown(func(*args, **kwargs), out_axes, level, end - begin)
        finally:
            _vmap_leave(level)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        call = _Call(func, in_axes, args, kwargs)
        assert call.size is not None
        if chunk_size is None or call.size <= chunk_size:
            return run(call, 0, call.size)
        states = rng_states() if randomness == "same" else None
        parts = []
        for begin in range(0, call.size, chunk_size):
            if states is not None:
                restore_rng_states(states)
            parts.append(run(call, begin, min(begin + chunk_size, call.size)))
        return _joined(parts, out_axes)

    return mapped


class VmapInfo(NamedTuple):
    """Arguments of vmap, as a layer's own ``vmap`` is told them."""

    #: Size of the mapped axis.
    batch_size: int
    #: vmap's argument `randomness`.
    randomness: Randomness


def call_rule(
    layer: type,
    function: Callable[..., Any],
    level: int,
    size: int,
    randomness: Randomness,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Calls a layer's own ``vmap(info, in_dims, *args)`` with the axis of `level` shown as axis 0.

    It returns the output and, for each tensor of it, where the mapped axis stands.
    """
    name = layer.__name__
    if getattr(layer, "generate_vmap_rule", False):
        raise RuntimeError(f"[{name}] has generate_vmap_rule=True, and a vmap of its own: only one of them can count")

    def is_mapped(value: Any) -> bool:
        return isinstance(value, Tensor) and _is_mapped(value, level)

    def show(value: Any, axis: Any, path: object) -> Any:
        return _show_axis(value, 0, level, size) if is_mapped(value) else value

    def axis_of(value: Any, axis: Any, path: object) -> Any:
        return 0 if is_mapped(value) else None

    shown = _map(args, None, "args", "in_dims", show)
    shown_keywords = _map(kwargs, None, "kwargs", "in_dims", show)
    dims = _map(args, None, "args", "in_dims", axis_of) + tuple(
        _map(kwargs, None, "kwargs", "in_dims", axis_of).values()
    )
    result = function(VmapInfo(size, randomness), dims, *shown, **shown_keywords)
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"[{name}] vmap must return (output, out_dims), got {type(result).__name__}")
    output, out_dims = result

    def hide(value: Any, axis: Any, path: object) -> Any:
        if axis is None or not isinstance(value, Tensor):
            return value
        if not -value.ndim <= axis < value.ndim or value.shape[axis] != size:
            raise ValueError(
                f"[{name}] out_dims of vmap has {axis} for {path}, whose shape is {list(value.shape)}: that is no axis "
                f"of size {size}"
            )
        return _hide_axis(value, axis, level)

    return _map(output, out_dims, "the output", "out_dims", hide)
