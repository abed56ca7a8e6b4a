"""Profiles of the steps that a schedule chooses, which PyTorch's and Paddle's profilers have in common."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, ClassVar, Self

from lamella import profiler as _native


def place_in_turn(step: int, out: int, ready: int, recorded: int, repeat: int, skip_first: int) -> int:
    """Returns what turns of steps do with a step: 0 to leave it out, 1 to get ready, 2 to record, 3 for the last.

    Args:
        step: number of the step, from 0 on.
        out: number of steps of a turn that are left out.
        ready: number of steps after them that are left out, too.
        recorded: number of steps that are recorded then.
        repeat: number of turns; 0 for as many as there are steps.
        skip_first: number of steps before the first turn.
    """
    turn, place = divmod(step - skip_first, out + ready + recorded)
    if turn < 0 or (repeat and turn >= repeat) or place < out:
        return 0
    if place < out + ready:
        return 1
    return 2 if place < out + ready + recorded - 1 else 3


class SteppedProfile:
    """Records a ``with`` block, or the steps of it that a schedule chooses.

    Args:
        schedule: returns what is done with a step; by default all are recorded.
        ready: called with the profile when steps have been recorded.
    """

    #: What a schedule returns for steps to record, and for the last of a turn.
    _record: ClassVar[enum.Enum]
    _last: ClassVar[enum.Enum]

    def __init__(self, schedule: Callable[[int], Any] | None, ready: Callable[[Any], Any] | None) -> None:
        self.step_num = 0
        self._schedule = schedule or (lambda step: self._record)
        self._ready = ready
        self._running: Any = None
        self._measured: Any = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begins with the first step."""
        self._begin()

    def stop(self) -> None:
        """Ends; what was recorded last is given to ``on_trace_ready``."""
        self._end()

    def step(self) -> None:
        """Goes on to the next step."""
        action = self._schedule(self.step_num)
        self.step_num += 1
        if action is self._last:
            self._end()
        self._begin()

    def _begin(self) -> None:
        if self._running is None and self._schedule(self.step_num) in (self._record, self._last):
            self._running = _native.profile()
            self._running.__enter__()

    def _end(self) -> None:
        measured, self._running = self._running, None
        if measured is None:
            return
        measured.__exit__(None, None, None)
        self._measured = measured
        if self._ready is not None:
            self._ready(self)

    def _found(self) -> Any:
        if self._measured is None:
            name = type(self).__name__
            raise RuntimeError(f"[{name}] nothing was recorded: the block has not ended, or the schedule chose no step")
        return self._measured
