"""Jobs: functions of numpy arrays that are recorded once, as static programs, and run with each call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

import lamella as lm
from lamella import static
from lamella.graph import UnknownValueError

from . import _record, _results, _session, scope
from ._record import Record, line_of

#: What to do where a job's function asks for a value, by the method that was called.
_ADVICE = {
    "backward": "flow.optimizer.SGD(...).minimize(loss) adds gradients and a step, flow.watch_diff(x, handler) hands a "
    "gradient out",
    "shape": "a ListNumpy.Placeholder has sizes that each call decides on: take a Numpy.Placeholder for fixed ones",
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
    (or when variables are asked for): what it computes is recorded. Each call of the job runs the record.

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
    made = Job(function, trains, config)
    _session.current().jobs[made.name] = made

    @functools.wraps(function)
    def job(*args: Any, **kwargs: Any) -> Any:
        return made(*args, **kwargs)

    return job


class Job:
    """A function, and its record in the session that is in force.

    Attributes:
        name: the function's name.
    """

    def __init__(self, function: Callable[..., Any], trains: bool, config: FunctionConfig) -> None:
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
        self._session: _session.Session | None = None
        self._record: Record | None = None
        self._fetches: list[lm.Tensor] = []
        self._make: _results.Maker = lambda found: None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the job with arrays for its arguments."""
        feed = self._feed(args, kwargs)
        record = self.record()
        executor = static.Executor(record.device)
        found = executor.run(record.main, feed=feed, fetch_list=self._fetches, scope=record.scope)
        return self._make(iter(found))

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
            feed.update((name, each) for (name, _), each in zip(_results.leaves(argument, tree), found, strict=True))
        return feed

    def record(self) -> Record:
        """Returns the record in the session that is in force; the function is called where there is none."""
        session = _session.current()
        if self._record is None or self._session is not session:
            if _record.current() is not None:
                raise RuntimeError(
                    f"[{self.name}] the job is called while another one is recorded: call its function's parts instead"
                )
            try:
                record, self._fetches, self._make = self._recorded(session)
            except BaseException:
                # Its error is known now: it does not keep the session from starting.
                if session.jobs.get(self.name) is self:
                    del session.jobs[self.name]
                raise
            session.records.append(record)
            self._session, self._record = session, record
        return self._record

    def _recorded(self, session: _session.Session) -> tuple[Record, list[lm.Tensor], _results.Maker]:
        record = Record(self.name, self._trains, session.scope, self._config._dtype, scope.current_device())
        token = _record._current.set(record)
        try:
            with (
                scope.outermost(),
                static.program_guard(record.main, record.startup),
                lm.enable_grad() if self._trains else lm.no_grad(),
            ):
                values = {}
                for argument, tree in self._arguments.items():
                    symbols = [
                        static.data(name, list(each.recorded_shape), each.tensor_dtype)
                        for name, each in _results.leaves(argument, tree)
                    ]
                    values[argument] = _results.filled(tree, iter(symbols))
                bound = inspect.BoundArguments(self._signature, values)  # type: ignore[arg-type]  # a dict will do
                fetches, make = _results.result(
                    self.name, self._function(*bound.args, **bound.kwargs), self._signature.return_annotation
                )
                fetches = record.finish(fetches)
        except UnknownValueError as error:
            self._refuse(error)
        except Exception as error:
            error.add_note(f"in the job '{self.name}' ({line_of(error, self._function)}), while it was recorded")
            raise
        finally:
            _record._current.reset(token)
        static.Executor(record.device).run(record.startup, scope=session.scope)
        return record, fetches, make

    def _refuse(self, error: UnknownValueError) -> NoReturn:
        advice = _ADVICE.get(error.what, "return the value and read what the job gives, or flow.watch(x, handler)")
        raise RuntimeError(
            f"[{self.name}] {line_of(error, self._function)}: {error}. The function of a job is called once, to be "
            f"recorded, and has no values then: {advice}"
        ) from error
