"""The session: the variables that jobs share by name, and the jobs themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import lamella as lm
from lamella import static
from lamella.graph import not_recording

from ._record import Record


class _Job(Protocol):
    def start(self) -> None:
        """Records the job, where it was not."""


class Blob(lm.Tensor):
    """A value that a job or the session gives: a tensor, with the methods of OneFlow's blobs."""

    def ndarray(self) -> Any:
        """Returns the elements as a numpy array."""
        return self.numpy()

    def numpy_list(self) -> list[Any]:
        """Returns a list of one array, that of the one device."""
        return [self.numpy()]

    ndarray_list = numpy_list

    @staticmethod
    def of(x: lm.Tensor) -> Blob:
        """Returns a tensor as a blob."""
        blob: Blob = lm.Tensor.__new__(Blob, x)
        return blob


class Session:
    """Variables by name, in a scope, and the jobs that use them.

    Attributes:
        scope: the values.
        jobs: by name, in the order in which they were defined.
        records: what was recorded of them, in the order in which it was.
    """

    def __init__(self) -> None:
        self.scope = static.Scope()
        self.jobs: dict[str, _Job] = {}
        self.records: list[Record] = []

    def start(self) -> None:
        """Records all jobs, so that all variables are there."""
        for job in list(self.jobs.values()):
            job.start()

    def variables(self) -> Iterator[tuple[str, lm.Tensor]]:
        """Yields the variables, and what optimizers remember: ``w-momentum`` of a variable ``w``."""
        taken = set()
        seen: set[int] = set()
        for name in self.scope.local_var_names():
            value = self.scope.var(name).value
            if value is not None:
                taken.add(name)
                yield name, value
        for record in self.records:
            for update in record.main.updates:
                update.bind(self.scope)
                for name, value in update.optimizer.remembered(record.job, update.groups):
                    # Several jobs may train one variable, each with an optimizer of its own.
                    unique = name if name not in taken else f"{record.job}-{name}"
                    if unique not in taken and id(value) not in seen:
                        taken.add(unique)
                        seen.add(id(value))
                        yield unique, value


_current = [Session()]


def current() -> Session:
    """Returns the session that is in force."""
    return _current[0]


def clear_default_session() -> None:
    """Ends the session: its variables are forgotten, and its jobs have to be defined again."""
    _current[0] = Session()


def sync_default_session() -> None:
    """Nothing to do: a call of a job has ended when it returns."""


def get_all_variables() -> dict[str, Blob]:
    """Returns copies of all variables of all jobs, by name, with what optimizers remember of them."""
    session = current()
    session.start()
    with not_recording(), lm.no_grad():
        return {name: Blob.of(value.detach().clone()) for name, value in session.variables()}


def load_variables(value_dict: Mapping[str, Any], ignore_mismatch: bool = True) -> None:
    """Overwrites variables by name; nothing changes where there is an error.

    Args:
        value_dict: arrays, tensors or what ``checkpoint.get`` returns.
        ignore_mismatch: False makes a name that no variable has an error.

    Raises:
        TypeError: ``value_dict`` is no dict, a value is no array, or has another dtype than the variable.
        ValueError: a value has another shape than the variable.
        RuntimeError: there is no variable of a name, and ``ignore_mismatch`` is False.
    """
    if not isinstance(value_dict, Mapping):
        raise TypeError(f"[load_variables] expected a dict of values by name, got {type(value_dict).__name__}")
    session = current()
    session.start()
    variables = dict(session.variables())
    unknown = [name for name in value_dict if name not in variables]
    if unknown and not ignore_mismatch:
        raise RuntimeError(f"[load_variables] no job has a variable {', '.join(map(repr, unknown))}")
    fitting = []
    with not_recording(), lm.no_grad():
        for name, given in value_dict.items():
            if name not in variables:
                continue
            target = variables[name]
            if not hasattr(given, "numpy") and not hasattr(given, "dtype"):
                raise TypeError(f"[load_variables] '{name}': expected an array, got {type(given).__name__}")
            value = given.detach() if isinstance(given, lm.Tensor) else lm.asarray(_array(given))
            if tuple(value.shape) != tuple(target.shape):
                raise ValueError(
                    f"[load_variables] '{name}': expected shape {tuple(target.shape)}, got {tuple(value.shape)}"
                )
            if value.dtype != target.dtype:
                raise TypeError(f"[load_variables] '{name}': expected dtype {target.dtype}, got {value.dtype}")
            fitting.append((target, value.to_device(target.device)))
        for target, value in fitting:
            target.copy_(value)


def _array(given: Any) -> Any:
    return given.numpy() if hasattr(given, "numpy") else given
