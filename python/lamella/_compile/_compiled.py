"""Functions that run as graphs of what they were seen to do."""

from __future__ import annotations

import copy
import functools
import sys
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import lamella as lm
from lamella import _C
from lamella._C import Tensor

from ._calls import Break, Log, Watch, is_library
from ._interception import Interception, is_observed, is_plain_mode
from ._observer import Observer
from ._state import UNWATCHED, Everything, Reading, UnwatchableError

#: Calls that are watched before one is observed, at most.
_MAX_WATCHED = 4
#: Replays of one kind of call, which differ in what they read.
_MAX_REPLAYS = 8
#: Kinds of calls: dtypes, shapes and values of the arguments.
_MAX_KINDS = 32


class CompileWarning(UserWarning):
    """Calls of a compiled function run as they would without compilation."""


def _form(
    value: Any,
    tensors: list[Tensor],
    objects: list[Any],
    lists: list[Any],
    known: Callable[[Any], bool] = lambda value: False,
) -> tuple[Any, ...]:
    """Describes a value with tensors in it: see Form in python/bindings/replay.cc.

    Lists and dictionaries that are `known` are objects, and not made anew.
    """
    kind = type(value)
    if kind in (list, dict) and known(value):
        objects.append(value)
        return ("constant", value)
    # A tensor with attributes of its own is an object like others.
    if isinstance(value, Tensor) and not getattr(value, "__dict__", None):
        tensors.append(value)
        return ("tensor", kind, len(tensors) - 1)
    if kind is list or (
        isinstance(value, tuple) and (kind is tuple or hasattr(kind, "_make") or hasattr(kind, "n_sequence_fields"))
    ):
        items = [_form(item, tensors, objects, lists, known) for item in value]
        if kind is list:
            lists.append(value)
            return ("list", items)
        return ("tuple", kind, items)
    if kind is dict:
        lists.append(value)
        return ("dict", tuple(value), [_form(item, tensors, objects, lists, known) for item in value.values()])
    if kind not in (int, float, complex, str, bytes, bool, type(None)):
        objects.append(value)
    return ("constant", value)


def _key(form: tuple[Any, ...], tensors: list[Tensor] | None) -> Any:
    """Returns what tells kinds of calls apart; without tensors, what does beside them."""
    kind = form[0]
    if kind == "tensor" and tensors is None:
        return form
    if kind == "tensor" and tensors is not None:
        x = tensors[form[-1]]
        return ("tensor", form[1], x.dtype.name, x.device, tuple(x.shape), tuple(x.strides), x.stop_gradient, x.is_leaf)
    if kind == "constant":
        value = form[1]
        simple = isinstance(value, (int, float, complex, str, bytes, bool, type(None)))
        return (type(value).__name__, repr(value) if simple else id(value))
    return (kind, *form[1:-1], tuple(_key(item, tensors) for item in form[-1]))


def _general_key(form: tuple[Any, ...], tensors: list[Tensor]) -> Any:
    """Returns what calls have in common that differ in sizes alone; None if a tensor is not contiguous."""
    if not all(x.is_contiguous() for x in tensors):
        return None
    kinds = tuple((x.dtype.name, x.device, x.ndim, x.stop_gradient, x.is_leaf) for x in tensors)
    return _key(form, None), kinds, lm.is_grad_enabled(), lm.is_inference_mode_enabled()


class _Trace(NamedTuple):
    """A graph that was observed, and what it takes to run it again."""

    graph: lm.graph.Graph
    form: tuple[Any, ...]
    results: tuple[Any, ...]
    fetches: list[int]
    ids: list[int]
    general: Any
    #: Layers that the graph calls, and why it has no graphs in their place.
    called: dict[str, str]

    def replay(
        self, core: Any, inputs: list[Tensor], read: list[Tensor], reading: Reading, *, cuda_graphs: bool
    ) -> Any:
        """Returns a replay of the graph, or of another form of it, for calls with such inputs."""
        return _C._Replay(
            core,
            self.fetches,
            self.graph._functions,
            self.form,
            self.results,
            inputs,
            self.ids,
            read,
            reading.guards,
            reading.paths,
            UNWATCHED,
            cuda_graphs,
        )


class _Kind:
    """Calls with one kind of arguments."""

    def __init__(self, text: str, objects: list[Any]) -> None:
        self.text = text
        # Not held: they may be batches. Another object may have the id of one that is gone.
        self._objects = [_reference(value) for value in objects]
        self.log = Log()
        self.watched = 0
        self.replays = 0
        #: Why calls of this kind run as they are.
        self.breaks: list[Break] = []

    def is_of(self, objects: list[Any]) -> bool:
        """True if these are the objects that the kind's first call was given."""
        return all(made() is value for made, value in zip(self._objects, objects, strict=True))


def _level() -> int:
    """Returns the level of a warning of the calling function that tells the line of the program."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_library(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level


def _reference(value: Any) -> Callable[[], Any]:
    """Returns what gives the object as long as it lives; one that cannot be referred to weakly is held."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


class Compiled:
    """A function that runs as a graph of the operators that it was seen to run; see :func:`lamella.compile`."""

    def __init__(self, function: Callable[..., Any], *, cuda_graphs: bool = False) -> None:
        self._function = function
        self._cuda_graphs = cuda_graphs
        self._name = getattr(function, "__name__", type(function).__name__)
        #: With the trace of each, whose graph owns generators and functions that it refers to.
        self._replays: list[tuple[Any, _Trace]] = []
        self._kinds: dict[Any, _Kind] = {}
        #: Graphs that may do for other sizes, by what their calls have in common.
        self._traces: dict[Any, list[_Trace]] = {}
        for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
            if hasattr(function, attribute):
                self.__dict__[attribute] = getattr(function, attribute)
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<compiled {self._name}>"

    def __getattr__(self, name: str) -> Any:
        if "_function" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._function, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return Compiled(copy.deepcopy(self._function, memo), cuda_graphs=self._cuda_graphs)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(Compiled, cuda_graphs=self._cuda_graphs), (self._function,)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        # As the function itself would: a module that is an attribute of a class is no method.
        binds = owner is not None and hasattr(type(self._function), "__get__")
        return types.MethodType(self, owner) if binds else self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for replay, _ in self._replays:
            result = replay.call(args, kwargs)
            if result is not NotImplemented:
                return result
        return self._run(args, kwargs)

    # Watching and observing

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a call that no replay fits, and learns from it where that can be."""
        if is_observed() or not is_plain_mode() or not Interception.acquire():
            return self._function(*args, **kwargs)
        try:
            tensors: list[Tensor] = []
            objects: list[Any] = []
            lists: list[Any] = []
            try:
                form = ("tuple", tuple, [_form(args, tensors, objects, lists), _form(kwargs, tensors, objects, lists)])
                kind = self._kind_of(form, tensors, objects)
            except RecursionError:  # a list that holds itself
                kind = None
            if kind is None or kind.breaks:
                return self._function(*args, **kwargs)
            if len({id(x) for x in tensors}) < len(tensors):
                return self._give_up(kind, Break("a tensor comes twice among the arguments", ""), args, kwargs)
            if kind.watched == 0:
                return self._watch(kind, tensors, args, kwargs)
            return self._observe(kind, form, tensors, objects, lists, args, kwargs)
        finally:
            Interception.release()

    def _kind_of(self, form: tuple[Any, ...], tensors: list[Tensor], objects: list[Any]) -> _Kind | None:
        key = (_key(form, tensors), lm.is_grad_enabled(), lm.is_inference_mode_enabled())
        kind = self._kinds.get(key)
        if kind is not None and not kind.is_of(objects):
            kind = None
        known = key in self._kinds
        if kind is None and (known or len(self._kinds) < _MAX_KINDS):
            kinds = [f"{x.dtype.name}{list(x.shape)}" for x in tensors]
            kind = self._kinds[key] = _Kind(", ".join(kinds) or "no tensors", objects)
            if not known and len(self._kinds) == _MAX_KINDS:
                self._tell(f"more than {_MAX_KINDS} kinds of calls differ in shapes or values of their arguments")
        return kind

    def _tell(self, reason: Any) -> None:
        warnings.warn(
            f"[compile] calls of {self._name} run as they are: {reason}; lm.compile.explain says more",
            CompileWarning,
            stacklevel=_level(),
        )

    def _give_up(self, kind: _Kind, reason: Break, args: Any, kwargs: Any) -> Any:
        kind.breaks = [reason]
        self._tell(reason)
        return self._function(*args, **kwargs)

    def _after(self, kind: _Kind, log: Log) -> bool:
        """Takes what a call has shown into account; True if there is nothing new and nothing against a replay."""
        kind.watched += 1
        new = kind.log.merge(log)
        if not log.breaks and not new:
            kind.watched = 1
            return True
        if kind.watched >= _MAX_WATCHED:
            kind.breaks = log.breaks or [Break("each call runs other code", "")]
            self._tell(kind.breaks[0])
        return False

    def _watch(self, kind: _Kind, tensors: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a first call, which shows what code there is: what it reads is not known before."""
        watch = Watch(Log())
        with Interception(Observer(self._name, Everything(), watch, tensors)), watch:
            result = self._function(*args, **kwargs)
        self._after(kind, watch.log)
        return result

    def _observe(
        self,
        kind: _Kind,
        form: tuple[Any, ...],
        tensors: list[Tensor],
        objects: list[Any],
        lists: list[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        if kind.replays >= _MAX_REPLAYS:
            change = self._changes(args, kwargs)
            return self._give_up(kind, Break(f"what it reads differs from call to call: {change}", ""), args, kwargs)
        roots = [(self._function, self._name)] + [(x, type(x).__name__) for x in objects]
        try:
            reading = Reading(kind.log, roots)
            given = Reading(Log(), [(x, "an argument") for x in lists])
        except UnwatchableError as error:
            return self._give_up(kind, Break(str(error), ""), args, kwargs)
        except Exception as error:  # an object of the user's whose attributes fail, say
            return self._give_up(kind, Break(f"what it reads cannot be seen: {error!r}", ""), args, kwargs)
        if any(id(x) in reading.tensors for x in tensors):
            return self._give_up(
                kind, Break("an argument is a tensor that the function reads as well", ""), args, kwargs
            )
        watch = Watch(Log())
        observer = Observer(self._name, reading, watch, tensors)
        modes = (lm.is_grad_enabled(), lm.is_inference_mode_enabled(), lm.is_autocast_enabled())
        with Interception(observer), watch:
            result = self._function(*args, **kwargs)
        if modes != (lm.is_grad_enabled(), lm.is_inference_mode_enabled(), lm.is_autocast_enabled()):
            watch.log.breaks.append(Break("it switches recording, inference mode or autocast for what comes after", ""))
        for state in (reading, given):
            changed = state.first_change()
            if changed is not None and not watch.log.breaks:
                watch.log.breaks.append(Break(f"the call changes {changed}", ""))
        if observer.has_steps and reading.of_steppers:
            watch.log.breaks.append(Break(f"{reading.of_steppers[0]} is read, which a step may change", ""))
        if observer.works_after_effects and (kind.log.handles or watch.log.handles):
            watch.log.breaks.append(
                Break("it handles exceptions, and may meet one after something that must not happen twice", "")
            )
        if self._after(kind, watch.log):
            self._add_replay(kind, observer, reading, form, tensors, lists, result)
        return result

    def _add_replay(
        self,
        kind: _Kind,
        observer: Observer,
        reading: Reading,
        form: tuple[Any, ...],
        tensors: list[Tensor],
        lists: list[Any],
        result: Any,
    ) -> None:
        returned: list[Tensor] = []
        objects: list[Any] = []
        made: list[Any] = []
        results = _form(result, returned, objects, made, reading.knows)
        if not {id(x) for x in lists}.isdisjoint(map(id, made)):
            kind.breaks = [Break("it returns a list or dictionary that it was given", "")]
        elif len({id(x) for x in made}) < len(made):
            kind.breaks = [Break("it returns one list or dictionary in two places", "")]
        elif any(not reading.knows(value) for value in objects):
            kind.breaks = [Break("it returns an object that is neither a tensor nor a number", "")]
        elif any(id(x) not in observer._ids and id(x) not in reading.tensors for x in returned):
            kind.breaks = [Break("it returns a tensor whose making was not seen", "")]
        if kind.breaks:
            self._tell(kind.breaks[0])
            return
        trace = _Trace(
            graph=observer.graph,
            form=form,
            results=results,
            fetches=[observer.value_of(x) for x in returned],
            ids=observer.inputs,
            # Python's course may depend on sizes that it has asked for.
            general=None if observer.reads_sizes else _general_key(form, tensors),
            called=observer.called,
        )
        read = [x for key, x in reading.tensors.items() if key not in observer._ids]
        kind.replays += 1
        self._add(trace.replay(trace.graph._core, tensors, read, reading, cuda_graphs=self._cuda_graphs), trace)
        self._generalize(trace, tensors, read, reading)

    def _add(self, replay: Any, trace: _Trace) -> None:
        self._replays = [*self._replays, (replay, trace)]

    def _generalize(self, trace: _Trace, inputs: list[Tensor], read: list[Tensor], reading: Reading) -> None:
        """Adds a replay for other sizes, once a size was seen to vary that nothing but operators has asked for."""
        if trace.general is None:
            return
        for other in self._traces.setdefault(trace.general, []):
            if other.fetches != trace.fetches or other.results != trace.results:
                continue
            graph = trace.graph._core.generalized(other.graph._core)
            if graph is not None:
                self._add(trace.replay(graph, inputs, read, reading, cuda_graphs=self._cuda_graphs), trace)
                return
        self._traces[trace.general].append(trace)

    def _changes(self, args: Any, kwargs: Any) -> str:
        found = []
        for replay, _ in self._replays:
            obstacle = replay.obstacle(args, kwargs)
            if obstacle not in found and obstacle not in ("other arguments", "another kind of tensor"):
                found.append(obstacle)
        return ", ".join(found) or "numbers that decide its course"
