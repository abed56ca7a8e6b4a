"""Jobs: functions of numpy arrays that are recorded once, as static programs, and run with each call."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import lamella as lm
from lamella import static
from lamella.compat.errors import line_of
from lamella.graph import UnknownValueError

from . import _record, _results, _session, scope
from ._record import Record
from .typing import Placeholder

#: What to do where a job's function asks for a value, by the method that was called.
_ADVICE = {
    "backward": "flow.optimizer.SGD(...).minimize(loss) adds gradients and a step, flow.watch_diff(x, handler) hands a "
    "gradient out",
    "shape": "make no decision that depends on this size",
}


class FunctionConfig:
    """Settings of a job. ``default_data_type`` is the dtype of its variables; the others are accepted without effect.

    Raises:
        AttributeError: ``train``, whose settings are those of ``flow.optimizer``.
    """

    def __init__(self) -> None:
        self._dtype: Any = lm.float32

    def default_data_type(self, value: Any) -> None:
        """Sets the dtype of variables that are made without one."""
        self._dtype = value

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "train":
            raise AttributeError(
                "[FunctionConfig] Lamella's oneflow front has no 'train': say @flow.global_function(type=\"train\"), "
                "and in the job flow.optimizer.SGD(...).minimize(loss)"
            )
        return lambda *args, **kwargs: None


def function_config() -> FunctionConfig:
    """Returns a :class:`FunctionConfig` under its older name."""
    return FunctionConfig()


def global_function(
    type: str | Callable[..., Any] | FunctionConfig = "predict", function_config: FunctionConfig | None = None
) -> Callable[..., Any]:
    """Makes a function a job: ``@global_function()`` or ``@global_function(type="train")``.

    The function is called once, with symbols in the places of its arguments, when the job is called for the first time
    (or when variables are asked for): what it computes is recorded. Each call of the job runs the record. Where the
    function does something with a size of a list's arrays, it is recorded once for each shape.

    Each argument is annotated with a ``typing.Numpy.Placeholder`` or ``typing.ListNumpy.Placeholder``, or a tuple, list
    or dict of them; the result with ``typing.Numpy`` or ``typing.ListNumpy``, a tuple, list or dict of them, or a
    ``typing.Callback`` of that. Without an annotation a job gives an object whose ``get()`` has the result.

    Raises:
        TypeError: an argument has no annotation; in a call, an array of another dtype.
        ValueError: the type is neither "predict" nor "train"; in a call, an array of another shape.
        RuntimeError: in a call, the function asks for a value while it is recorded.
    """
    if isinstance(type, FunctionConfig):
        function_config, type = type, "predict"
    if callable(type):
        return _job(type, False, FunctionConfig())
    if type not in ("predict", "train"):
        raise ValueError(f"[global_function] type: expected 'predict' or 'train', got {type!r}")
    if function_config is not None and not isinstance(function_config, FunctionConfig):
        raise TypeError(f"[global_function] function_config: expected a FunctionConfig, got {function_config!r}")
    return functools.partial(_job, trains=type == "train", config=function_config or FunctionConfig())


def _job(function: Callable[..., Any], trains: bool, config: FunctionConfig) -> Callable[..., Any]:
    made = Job(function, trains, config, _session.current())

    @functools.wraps(function)
    def job(*args: Any, **kwargs: Any) -> Any:
        return made(*args, **kwargs)

    return job


def _input(argument: str) -> str:
    """Returns the name of an argument in the program, where variables have names of their own."""
    return f"argument {argument}"


class _Recording(NamedTuple):
    """A job as it was recorded: the values to fetch, and what makes the job's result of them."""

    record: Record
    fetches: list[lm.Tensor]
    make: _results.Maker


#: Held while a job is recorded.
_lock = threading.RLock()


class Job:
    """A function, and what was recorded of it in the session in which it was defined.

    Attributes:
        name: the function's name.
    """

    def __init__(
        self, function: Callable[..., Any], trains: bool, config: FunctionConfig, session: _session.Session
    ) -> None:
        self.name = function.__name__
        self._function = function
        self._trains = trains
        self._config = config
        self._signature = inspect.signature(function, eval_str=True)
        self._arguments = {}
        for name, parameter in self._signature.parameters.items():
            # In the older style, the defaults are the placeholders.
            older = parameter.annotation is inspect.Parameter.empty
            written = parameter.default if older else parameter.annotation
            self._arguments[name] = _results.placeholders(self.name, name, written)
        self._session = session
        session.jobs[self.name] = self
        #: By the shapes of the arguments, () for all.
        self._recordings: dict[tuple[tuple[int, ...], ...], _Recording] = {}
        self._by_shape = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the job with arrays for its arguments."""
        if _record.current() is not None:
            raise RuntimeError(
                f"[{self.name}] the job is called while another one is recorded: share a function that is no job"
            )
        if self._session is not _session.current():
            raise RuntimeError(
                f"[{self.name}] clear_default_session() has ended the session of the job: define the job behind it"
            )
        feed = self._feed(args, kwargs)
        recording = self._recording(tuple(each.shape for each in feed.values()))
        record = recording.record
        executor = static.Executor(record.device)
        try:
            found = executor.run(record.main, feed=feed, fetch_list=recording.fetches, scope=record.scope)
        except Exception as error:
            error.add_note(f"in the job '{self.name}'")
            raise
        return recording.make(iter(found))

    def _feed(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """Returns the arrays of a call by the names of the inputs, checked."""
        try:
            given = self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            wanted = ", ".join(self._arguments) or "none"
            raise TypeError(f"[{self.name}] {error}; its arguments are {wanted}") from None
        feed: dict[str, Any] = {}
        for argument, tree in self._arguments.items():
            if argument not in given:
                raise TypeError(f"[{self.name}] missing argument '{argument}'")
            found = _results.arrays(self.name, argument, tree, given[argument])
            feed.update(
                (_input(name), each) for (name, _), each in zip(_results.leaves(argument, tree), found, strict=True)
            )
        return feed

    def start(self) -> None:
        """Records the job, where it was not."""
        if not self._recordings:
            self._recording(tuple(each.shape for each in self._placeholders()))

    def _placeholders(self) -> list[Placeholder]:
        return [each for argument, tree in self._arguments.items() for _, each in _results.leaves(argument, tree)]

    def _recording(self, shapes: tuple[tuple[int, ...], ...]) -> _Recording:
        """Returns what was recorded for arguments of these shapes.

        The sizes of lists of arrays are left open at first. A function that does something with such a size is recorded
        for each shape, with the steps of its optimizers in common.
        """
        session = self._session
        with _lock:
            key = shapes if self._by_shape else ()
            if key not in self._recordings:
                before = set(session.scope.local_var_names())
                try:
                    made = self._made(shapes)
                except BaseException:
                    session.scope.erase([each for each in session.scope.local_var_names() if each not in before])
                    # Its error is known now: it does not keep the session from starting.
                    if session.jobs.get(self.name) is self:
                        del session.jobs[self.name]
                    raise
                if self._recordings:
                    made.record.share_steps(next(iter(self._recordings.values())).record)
                session.records.append(made.record)
                self._recordings[shapes if self._by_shape else ()] = made
                return made
            return self._recordings[key]

    def _made(self, shapes: tuple[tuple[int, ...], ...]) -> _Recording:
        if not self._by_shape:
            open_shapes = tuple(each.recorded_shape for each in self._placeholders())
            try:
                return self._recorded(open_shapes)
            except UnknownValueError as error:
                if error.what != "shape" or open_shapes == shapes:
                    self._refuse(error)
                self._by_shape = True
        try:
            return self._recorded(shapes)
        except UnknownValueError as error:
            self._refuse(error)

    def _recorded(self, shapes: Sequence[tuple[int, ...]]) -> _Recording:
        record = Record(self.name, self._trains, self._session.scope, self._config._dtype, scope.current_device())
        outer, _record.recorded.record = _record.recorded.record, record
        try:
            with (
                scope.outermost(),
                static.program_guard(record.main, record.startup),
                lm.enable_grad() if self._trains else lm.no_grad(),
            ):
                values = {}
                remaining = iter(shapes)
                for argument, tree in self._arguments.items():
                    symbols = [
                        static.data(_input(name), list(next(remaining)), each.tensor_dtype)
                        for name, each in _results.leaves(argument, tree)
                    ]
                    values[argument] = _results.filled(tree, iter(symbols))
                bound = inspect.BoundArguments(self._signature, values)  # type: ignore[arg-type]  # a dict will do
                fetches, make = _results.result(
                    self.name, self._function(*bound.args, **bound.kwargs), self._signature.return_annotation
                )
                fetches = record.finish(fetches)
        except UnknownValueError:
            raise
        except Exception as error:
            error.add_note(f"in the job '{self.name}' ({line_of(error, self._function)}), while it was recorded")
            raise
        finally:
            _record.recorded.record = outer
        static.Executor(record.device).run(record.startup, scope=record.scope)
        return _Recording(record, fetches, make)

    def _refuse(self, error: UnknownValueError) -> NoReturn:
        advice = _ADVICE.get(error.what, "return the value and read what the job gives, or flow.watch(x, handler)")
        raise RuntimeError(
            f"[{self.name}] {line_of(error, self._function)}: {error}. The function of a job is called once, to be "
            f"recorded, and has no values then: {advice}"
        ) from error
