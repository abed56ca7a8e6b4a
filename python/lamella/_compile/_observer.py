"""Observes the operators that run during a call, and makes a graph of them."""

from __future__ import annotations

import functools
import gc
import math
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lamella as lm
from lamella import _tree
from lamella._C import Tensor
from lamella.graph import Graph
from lamella.graph._recorder import RecorderBase, _index_text, _Operator

from ._calls import Break, Log, Watch, where
from ._layers import Inlined, inline, is_pure
from ._repetition import MismatchError, RefusedError, caller, elements_decide_shape, is_plain, tensors_in
from ._state import Everything, Reading, UnwatchableError

_MAX_REACHED = 5_000


def _pairs(targets: Any, seeds: Any) -> list[tuple[Tensor, Tensor | None]]:
    """Returns tensors with the gradients that a pass begins with; nothing where they are no tensors, or do not fit."""
    targets = list(targets) if isinstance(targets, (list, tuple)) else [targets]
    seeds = list(seeds) if isinstance(seeds, (list, tuple)) else [seeds] * (len(targets) if seeds is None else 1)
    fits = len(targets) == len(seeds) and all(isinstance(x, Tensor) for x in targets)
    return (
        list(zip(targets, seeds, strict=True))
        if fits and all(x is None or isinstance(x, Tensor) for x in seeds)
        else []
    )


class Observer(RecorderBase):
    """Lets every call run as it would, and adds it to a graph.

    It is a recorder as the engine knows them: the methods that the engine calls either run a call and return its
    result, or return NotImplemented, and the call runs unseen, which is only right where that is noted as a break.

    Attributes:
        graph: what was observed.
        breaks: why the graph cannot stand for the call; empty if it can.
    """

    def __init__(self, name: str, reading: Reading | Everything, watch: Watch, arguments: Sequence[Tensor]) -> None:
        self.graph = Graph(name)
        self.breaks: list[Break] = watch.log.breaks
        self._watch = watch
        self._core = self.graph._core
        self._reading = reading
        self._operators: dict[str, _Operator] = {}
        #: Number of the value that each tensor is. Tensors are held, so that their ids stay theirs.
        self._ids: dict[int, int] = {}
        self._held: list[Tensor] = []
        self._produced: set[int] = set()
        self.inputs: list[int] = []
        #: True once something has happened that must not happen twice.
        self.has_effects = False
        #: True once something else has happened after that.
        self.works_after_effects = False
        #: True if Python has asked for a size, so that what it did may depend on it.
        self.reads_sizes = False
        #: True once an optimizer or a schedule has made a step.
        self.has_steps = False
        #: Layers that replays call, and why they are no graphs.
        self.called: dict[str, str] = {}
        self._modes = self._mode()
        for i, x in enumerate(arguments):
            id_ = self._core.add_input(f"argument{i}", x.dtype, list(x.shape))
            self._core.set_stop_gradient(id_, False)
            self._know(x, id_)
            self.inputs.append(id_)

    # What is known of tensors

    def _know(self, x: Tensor, id_: int) -> None:
        if id(x) not in self._ids:
            self._held.append(x)
            self._ids[id(x)] = id_

    def _produce(self, x: Tensor, id_: int) -> None:
        self._know(x, id_)
        self._produced.add(id(x))

    def value_of(self, x: Tensor) -> int:
        """Returns the number of the value that a tensor is."""
        id_ = self._ids.get(id(x))
        if id_ is not None:
            return id_
        if id(x) not in self._reading.tensors:
            raise RefusedError("a tensor is used whose making was not seen")
        id_ = self._core.add_captured(x, getattr(x, "name", None) or "")
        self._know(x, id_)
        return id_

    def _mode(self) -> tuple[bool, bool]:
        return lm.is_inference_mode_enabled(), lm.is_autocast_enabled()

    def _prepare(self) -> None:
        if self._mode() != self._modes:
            raise RefusedError("inference mode or autocast is entered or left")
        self._core.set_no_grad(not lm.is_grad_enabled())

    def refuse(self, reason: str) -> None:
        """Notes that what happens now keeps the call from being replayed."""
        self._watch.log.add_break(reason, sys._getframe(1))

    def _observed(self, observe: Callable[[], Any]) -> Any:
        """Returns the result of an observation; NotImplemented where there can be none."""
        if self.breaks or self._watch.paused:
            return NotImplemented
        self._watch.paused += 1
        try:
            return observe()
        except RefusedError as refused:
            self.refuse(str(refused))
            return NotImplemented
        finally:
            self._watch.paused -= 1

    # Operators

    def _operator(self, call: Any) -> _Operator:
        key = call.name + "." + call.overload
        if key not in self._operators:
            self._operators[key] = _Operator(call)
        return self._operators[key]

    def _reference(self, value: Any, type_: str) -> Any:
        """Returns an argument with the numbers of values in place of tensors, and whether it has any."""
        if isinstance(value, Tensor):
            return self.value_of(value), True
        if isinstance(value, lm.random.Generator) and not self._reading.knows(value):
            raise RefusedError("random numbers come from a generator that the call has made")
        if isinstance(value, np.ndarray):
            return self.value_of(self._constant(lm.asarray(value, device="cpu"), value)), True
        if type_.startswith("Tensor[]") and value is not None:
            items = value if isinstance(value, (list, tuple)) else [value]
            if not all(item is None or isinstance(item, Tensor) for item in items):
                raise RefusedError("numbers stand among tensors of a list")
            return [-1 if item is None else self.value_of(item) for item in items], True
        if isinstance(value, (list, tuple)) and any(True for _ in tensors_in(value)):
            raise RefusedError("a tensor stands where a number is expected")
        return value, False

    def _run(self, op: _Operator, values: Sequence[Any]) -> Any:
        """Runs an operator and adds it to the graph."""
        self._prepare()
        arguments, references = [], []
        try:
            for value, type_ in zip(values, op.types, strict=True):
                argument, is_reference = self._reference(value, type_)
                arguments.append(argument)
                references.append(is_reference)
            if elements_decide_shape(op, values):
                raise RefusedError(f"the size of {op.name.rpartition(':')[2]}'s result depends on elements")
            given = [x for x in tensors_in(values) if not x.is_inference()]
            versions = [x.inplace_version for x in given]
            result = op.run(values)
        except RefusedError:
            raise
        except Exception as error:
            # The call itself will raise what its user expects.
            raise RefusedError(f"{op.name} raises {type(error).__name__}") from None
        writes = any((alias or "").endswith("!") for alias in op.aliases)
        # Such as the running statistics of batch_norm.
        hidden = not writes and versions != [x.inplace_version for x in given]
        self.works_after_effects |= self.has_effects
        self.has_effects |= op.draws or writes or hidden
        self.graph._generators += [value for value in values if isinstance(value, lm.random.Generator)]
        self._after_running(lambda: self._add_operator(op, arguments, references, result, hidden))
        return result

    def _after_running(self, note: Callable[[], object]) -> None:
        """Adds what has run to the graph. It must not run again, so that nothing that fails here ends the call."""
        try:
            note()
        except Exception as error:
            self.refuse(str(error) if isinstance(error, RefusedError) else f"a call cannot be observed: {error!r}")

    def _add_operator(
        self, op: _Operator, arguments: list[Any], references: list[bool], result: Any, hidden: bool
    ) -> None:
        results = [result] if len(op.results) == 1 else list(result or ())
        sizes: list[int] = []
        tensors: list[Tensor] = []
        for one in results:
            items = [one] if isinstance(one, Tensor) else one
            if not isinstance(items, (list, tuple)) or not all(isinstance(item, Tensor) for item in items):
                raise RefusedError(f"{op.name} gives {type(one).__name__}, which is no tensor")
            sizes.append(-1 if isinstance(one, Tensor) else len(items))
            tensors += items
        types_ = [(x.dtype, tuple(x.shape)) for x in tensors]
        ids = self._core.add_operator(op.name, arguments, references, types_, sizes, where(sys._getframe(1)))
        if hidden:
            self._core.mark_effects()
        elif not op.name.startswith("lamella::"):
            self._core.mark_required()  # a kernel of the program's may have a state, so that each call counts
        for x, id_ in zip(tensors, ids, strict=True):
            self._produce(x, id_)

    def operator(self, name: str, in_place: bool, values: Sequence[Any]) -> Any:
        """Observes a built-in operator."""

        def observe() -> Any:
            op = self._operator(getattr(lm.ops.lamella, name))
            out = values[-1] if len(values) > len(op.names) else None
            if out is not None and op.draws:
                raise RefusedError(f"{name} draws random numbers into out")
            operands = list(values[: len(op.names)])
            target = values[0] if in_place else out
            if (
                in_place
                and lm.is_grad_enabled()
                and any(isinstance(x, Tensor) and not x.stop_gradient for x in operands)
            ):
                # As the operator in place does: gradients must not read the memory that is overwritten.
                before = self._run(self._operator(lm.ops.lamella.clone), [target])
                operands = [before if x is target else x for x in operands]
            result = self._run(op, operands)
            if target is None:
                return result
            self._run(self._operator(lm.ops.lamella.copy_), [target, result])
            return target

        return self._observed(observe)

    def registered(self, call: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Observes a registered operator."""

        def observe() -> Any:
            if len(call.overloads()) > 1:
                raise RefusedError(f"{call.name} is called without the name of one of its overloads")
            op = self._operator(call)
            return self._run(op, op.bind(args, kwargs))

        return self._observed(observe)

    def get_item(self, x: Tensor, key: Any) -> Any:
        """Observes ``x[key]``."""

        def observe() -> Any:
            text, tensors = self._index(key)
            return self._run(self._operator(lm.ops.lamella.index), [x, text, tensors])

        return self._observed(observe)

    def set_item(self, x: Tensor, key: Any, value: Any) -> Any:
        """Observes ``x[key] = value``."""

        def observe() -> Any:
            text, tensors = self._index(key)
            given = value if isinstance(value, Tensor) else self._constant(lm.asarray(value, dtype=x.dtype), value)
            self._run(self._operator(lm.ops.lamella.set_index_), [x, text, tensors, given])
            return None

        return self._observed(observe)

    def _index(self, key: Any) -> tuple[str, list[Tensor]]:
        text, tensors = _index_text(key)
        for item in key if isinstance(key, tuple) else (key,):
            if isinstance(item, np.ndarray):
                self._expect_known(item)
        for x in tensors:
            if id(x) not in self._ids and id(x) not in self._reading.tensors:
                self._constant(x, None)
        return text, tensors

    # Tensors from numbers

    def _expect_known(self, array: np.ndarray) -> None:
        if not self._reading.knows(array):
            raise RefusedError(
                "an array of numpy that the call has made becomes a tensor: it may be another in another call"
            )

    def _constant(self, x: Tensor, data: Any) -> Tensor:
        """Makes a tensor that was made of Python's numbers a value: a copy of what it is now."""
        if isinstance(data, np.ndarray):
            self._expect_known(data)
        kept = self._core.add_captured(x.detach().clone(), "")
        self._prepare()
        clone = self._operator(lm.ops.lamella.clone)
        arguments = [kept] + [default for _, default in clone.defaults[1:]]
        references = [True] + [False] * (len(arguments) - 1)
        types_ = [(x.dtype, tuple(x.shape))]
        [id_] = self._core.add_operator(clone.name, arguments, references, types_, [-1], where(sys._getframe(1)))
        self._produce(x, id_)
        return x

    def _made(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        def observe() -> Any:
            data = args[0] if args else next(iter(kwargs.values()))
            if isinstance(data, Tensor):
                return self._function(function.__name__, function, args, kwargs, effects=False)
            if not isinstance(data, np.ndarray) and not is_plain(data):
                raise RefusedError(
                    f"a tensor is made of {type(data).__name__}, whose elements may be others in another call"
                )
            x = function(*args, **kwargs)
            if x.stop_gradient:
                self._after_running(functools.partial(self._constant, x, data))
            else:
                self.refuse("a tensor is made that wants a gradient")
            return x

        return self._observed(observe)

    def asarray(self, _module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Observes :func:`lamella.asarray`."""
        return self._made(lm.asarray, args, kwargs)

    def tensor(self, _module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Observes :func:`lamella.tensor`."""
        return self._made(lm.tensor, args, kwargs)

    # Functions

    def _holds_produced(self, value: Any) -> bool:
        """True if a tensor that this call has made can be reached from an object."""
        seen: set[int] = set()
        pending = [value]
        while pending:
            item = pending.pop()
            if id(item) in seen or isinstance(item, (type, types.ModuleType)) or self._reading.knows(item):
                continue
            seen.add(id(item))
            if isinstance(item, Tensor):
                if id(item) in self._produced or id(item) in self._ids:
                    return True
                continue
            if len(seen) > _MAX_REACHED:
                return True
            if isinstance(item, types.FunctionType):
                pending += [item.__closure__, item.__defaults__, item.__kwdefaults__]
            else:
                pending += gc.get_referents(item)
        return False

    def _new_objects(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Reading:
        """Returns the state of what the call has made and hands to a function."""
        log = Log()
        log.dynamic = True

        def is_known(value: Any) -> bool:
            return isinstance(value, Tensor) or self._reading.knows(value)

        try:
            return Reading(log, [(value, "an argument") for value in (*args, *kwargs.values())], is_known)
        except UnwatchableError as error:
            raise RefusedError(str(error)) from None

    def _function(
        self,
        name: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        *,
        effects: bool = True,
        begin: Sequence[tuple[Tensor, Tensor | None]] = (),
        accumulates: bool = False,
        commutes: bool = False,
    ) -> Any:
        """Runs a function and adds it to the graph as one node, which calls it again.

        `begin` has the targets of a function that computes gradients, and for each the gradient that it begins with;
        `accumulates` says that it only adds them to the ``grad`` of leaves. One that `commutes` may run before
        operators that come before it.
        """
        self._prepare()
        tensors, rebuild = _tree.flatten((list(args), kwargs))
        for leaf in _tree.leaves_of((list(args), kwargs))[0]:
            if not isinstance(leaf, Tensor) and self._holds_produced(leaf):
                raise RefusedError(f"{name} is given an object that holds a tensor of this call")
        ids = [self.value_of(x) for x in tensors]
        given = self._new_objects(args, kwargs)
        result = function(*args, **kwargs)

        def note() -> None:
            changed = given.first_change()
            if changed is not None:
                raise RefusedError(f"{name} changes {changed}")
            returned = _tree.flatten(result)[0]
            if not all(isinstance(leaf, (Tensor, int, float, str, type(None))) for leaf in _tree.leaves_of(result)[0]):
                raise RefusedError(f"{name} gives an object that is no tensor")
            run = caller(function, args, kwargs, len(tensors), rebuild, bool(returned))
            self._add_function(name, run, ids, returned, effects)
            if begin:
                place = {id(x): i for i, x in enumerate(tensors)}
                seeds = [-1 if seed is None else place[id(seed)] for _, seed in begin]
                self._core.mark_pass([place[id(target)] for target, _ in begin], seeds, accumulates)
            if commutes:
                self._core.mark_commuting()

        self._after_running(note)
        return result

    def _add_function(
        self,
        name: str,
        run: Callable[[Sequence[Tensor]], Any],
        ids: list[int],
        results: Sequence[Tensor],
        effects: bool,
    ) -> None:
        self.works_after_effects |= self.has_effects
        self.has_effects |= effects
        types_ = [(x.dtype, tuple(x.shape)) for x in results]
        at = len(self.graph._functions)
        made = self._core.add_function(name, at, ids, types_, effects, where(sys._getframe(1)))
        self.graph._functions.append(run)
        self.graph._function_names.append(name)
        for x, id_ in zip(results, made, strict=True):
            self._produce(x, id_)

    def call(
        self,
        name: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        *,
        commutes: bool = False,
    ) -> Any:
        """Observes a function that replays call as a whole."""

        def observe() -> Any:
            is_dynamic = getattr(getattr(function, "__self__", None), "_is_dynamic", None)  # of a user operator's use
            if is_dynamic is not None and is_dynamic(args):
                raise RefusedError(f"the size of {name}'s result depends on elements")
            return self._function(name, function, args, kwargs, commutes=commutes)

        return self._observed(observe)

    def control_flow(self, name: str, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Observes a branch or a loop as one step, where its functions compute from what they are given alone.

        Otherwise the code that runs is that of the call, which is watched.
        """
        functions = [value for value in args if callable(value) and not isinstance(value, Tensor)]
        self._watch.paused += 1
        try:
            fits = all(map(is_pure, functions)) and not any(map(self._holds_produced, functions))
        finally:
            self._watch.paused -= 1
        return self.call(name, function, args, {}) if fits else NotImplemented

    def pure_call(self, name: str, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Observes a function that only computes from its arguments."""
        return self._observed(lambda: self._function(name, function, args, {}, effects=False))

    def layer(self, layer: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Observes a call of a custom layer: as graphs of its operators where it has no more, or as a function."""

        def observe() -> Any:
            found = inline(layer, args, kwargs)
            if isinstance(found, str):
                self.called[layer.__name__] = found
                return self._function(layer.__name__, layer.apply, args, kwargs)
            inlined, functions = found
            self._watch.log.add_layer(functions)
            self._prepare()
            ids = [self.value_of(x) for x in args if isinstance(x, Tensor)]
            self.works_after_effects |= self.has_effects
            result = layer.apply(*args)
            self._after_running(lambda: self._add_layer(layer.__name__, inlined, ids, result))
            return result

        return self._observed(observe)

    def _add_layer(self, name: str, inlined: Inlined, ids: list[int], result: Any) -> None:
        forward, *parts, any_size = inlined
        cores = [part._core if isinstance(part, Graph) else part for part in (forward, *parts)]
        types_ = [(result.dtype, tuple(result.shape))]
        [id_] = self._core.add_layer(name, *cores, any_size, ids, types_, where(sys._getframe(1)))
        self.reads_sizes |= not any_size
        self._produce(result, id_)

    def cpp_layer(self, name: str, tensors: list[Tensor], run: Callable[[list[Tensor]], list[Tensor]]) -> Any:
        """Observes a call of a layer written in C++."""

        def observe() -> Any:
            self._prepare()
            ids = [self.value_of(x) for x in tensors]
            results = run(tensors)
            self._after_running(lambda: self._add_function(name, lambda given: run(list(given)), ids, results, True))
            self._watch.cpp_layers += 1
            return results

        return self._observed(observe)

    def gradients(
        self,
        name: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        seeds: tuple[int, str],
    ) -> Any:
        """Observes a function that computes gradients of its first argument.

        `seeds` is the position and the name of the parameter for the gradients to begin with.
        """
        position, keyword = seeds
        first = args[position] if len(args) > position else kwargs.get(keyword)
        begin = _pairs(args[0], first) if args and not kwargs.get("is_grads_batched") else []
        plain = name == "backward" and len(args) <= 2 and kwargs.keys() <= {keyword}
        return self._observed(
            lambda: self._function(name, function, args, kwargs, begin=begin, accumulates=plain and bool(begin))
        )

    def grad(self, _module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Observes :func:`lamella.grad`."""
        return self.gradients("grad", lm.grad, args, kwargs, (2, "grad_outputs"))

    def backward(self, _module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Observes :func:`lamella.autograd.backward`."""
        return self.gradients("backward", lm.autograd.backward, args, kwargs, (1, "grad_tensors"))

    # What Python reads of tensors

    def read(self, _x: Any, _args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
        """Notes that the elements of a tensor are read as a buffer."""
        if not self._watch.paused:
            self.refuse("the elements of a tensor are read (numpy, memoryview)")
        return NotImplemented

    def decide(self, x: Tensor, convert: Callable[[Tensor], Any]) -> Any:
        """Observes that Python's course depends on a number of a tensor: a replay checks that it is the same."""

        def observe() -> Any:
            if self.has_effects:
                raise RefusedError("Python reads a number of a tensor after something that must not happen twice")
            self._prepare()
            id_ = self.value_of(x)
            outcome = convert(x)
            if isinstance(outcome, float) and not math.isfinite(outcome):
                raise RefusedError("Python reads a number of a tensor")

            def check(given: Sequence[Tensor]) -> list[Tensor]:
                if convert(given[0]) != outcome:
                    raise MismatchError
                return []

            self._add_function("decide", check, [id_], [], False)
            self._core.mark_required()
            return outcome

        return self._observed(observe)

    def check(self, name: str, function: Callable[[Tensor], Any], x: Tensor) -> Any:
        """Observes a function of a tensor that changes nothing, and ends a replay that is not to go on."""

        def observe() -> Any:
            result = self._function(name, function, (x,), {}, effects=False)
            if not self.breaks:
                self._core.mark_required()
            return result

        return self._observed(observe)
