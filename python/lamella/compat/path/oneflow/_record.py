"""Records of jobs: the programs that their functions became, and which one is being made on this thread."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from threading import local
from typing import Any

import lamella as lm
from lamella import _C, static
from lamella.graph import Symbol

#: Numbers of records, by the job's name.
_numbers: dict[str, int] = {}


class Record:
    """A job as a program: what its function did with symbols.

    Attributes:
        job: the job's name.
        trains: True for a job of the type "train".
        main: the program.
        startup: puts starting values of new variables into the session's scope.
        scope: has the values of the session's variables.
        default_dtype: dtype of variables that are made without one.
        device: of the job: that of the first placement.
    """

    def __init__(self, job: str, trains: bool, scope: static.Scope, default_dtype: Any, device: str | None) -> None:
        self.job = job
        self.trains = trains
        self.main = static.Program(f"job {job}")
        self.startup = static.Program(f"start of job {job}")
        self.startup.initialized |= set(scope.local_var_names())
        self.scope = scope
        self.default_dtype = default_dtype
        self.device = device
        self._devices = {device} if device else set()
        #: Losses with their optimizers' gradients: the steps are added at the end, after all that reads variables.
        self.losses: list[Symbol] = []
        self._steps: list[tuple[Any, list[Any]]] = []
        self._watched: list[tuple[Symbol, Callable[[lm.Tensor], None]]] = []
        number = _numbers[job] = _numbers.get(job, -1) + 1
        self._prefix = f"{job}{f'_{number}' if number else ''}/"
        self._uses: dict[str, int] = {}
        #: Terms of gradients, by the variable.
        self.regularizers: dict[str, Any] = {}
        # Kernels of user operators keep their states for as long as the record lives.
        finalizer = weakref.finalize(self, _C._user_op_drop_states, self._prefix)
        finalizer.atexit = False

    def place(self, device: str) -> None:
        """Takes note of a placement; the first decides where the job runs."""
        self.device = self.device or device
        self._devices.add(device)

    @property
    def is_mixed(self) -> bool:
        """True if parts of the job run on different devices."""
        return len(self._devices) > 1

    def use_name(self, name: str) -> str:
        """Returns a name of a use of an operator that is unique, so that each use has a state of its own."""
        count = self._uses[name] = self._uses.get(name, -1) + 1
        return f"{self._prefix}{name}{f'_{count}' if count else ''}"

    def free(self, name: str) -> None:
        """Gives a value that has the name of a new variable another one."""
        graph = self.main.graph
        if name not in graph or name in self.main.held:
            return
        number = 0
        while f"{name}_{number}" in graph:
            number += 1
        graph.symbol(name).name = f"{name}_{number}"

    def minimize(self, optimizer: Any, loss: Symbol, pairs: list[Any]) -> None:
        """Takes note of a step of an optimizer along gradients."""
        self.losses.append(loss)
        self._steps.append((optimizer, pairs))

    def share_steps(self, other: Record) -> None:
        """Makes the optimizers those of another record of the job: they remember the same, and count together."""
        for (own, _), (theirs, _) in zip(self._steps, other._steps, strict=True):
            own.state, own.train_step = theirs.state, theirs.train_step

    def watch_diff(self, blob: Symbol, handler: Callable[[lm.Tensor], None]) -> None:
        """Takes note of a gradient that a function is to be called with."""
        self._watched.append((blob, handler))

    def finish(self, fetches: list[lm.Tensor]) -> list[lm.Tensor]:
        """Adds what comes after the function: watched gradients, then the steps of optimizers.

        Returns:
            The fetches, as they are before the steps.
        """
        if self._watched and not self.losses:
            raise ValueError(f"[watch_diff] the job '{self.job}' minimizes no loss, so that there are no gradients")
        if self._watched:
            blobs = [blob for blob, _ in self._watched]
            # A loss of many elements begins with ones: parameters' gradients are divided by their number, these not.
            found = static.gradients(self.losses, blobs)
            for (blob, handler), gradient in zip(self._watched, found, strict=True):
                if gradient is None:
                    raise ValueError(f"[watch_diff] no loss of the job '{self.job}' depends on '{blob.name}'")
                self.main.graph.function("watch_diff", handler, [gradient], [])
        if self._steps:
            with lm.no_grad():
                fetches = [lm._C.clone(each) if isinstance(each, Symbol) else each for each in fetches]
        for optimizer, pairs in self._steps:
            static.apply_gradients(optimizer, pairs, self.startup)
        return fetches


class Recorded(local):
    """The record of the job that a thread records, which compiled functions watch."""

    record: Record | None = None


recorded = Recorded()


def current() -> Record | None:
    """Returns the record of the job that this thread records, or None."""
    return recorded.record


def needed(op: str) -> Record:
    """Returns the record of the job that this thread records.

    Raises:
        RuntimeError: there is none.
    """
    record = recorded.record
    if record is None:
        raise RuntimeError(f"[{op}] belongs into the function of a job (@flow.global_function()), and none is recorded")
    return record
