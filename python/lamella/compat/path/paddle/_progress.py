"""Lines and bars that :class:`paddle.Model` prints while it trains, evaluates and predicts."""

from __future__ import annotations

import sys
import time

#: Printed once before training.
EXPLAINED = (
    "The loss value printed in the log is the current step, and the metric is the average value of previous steps."
)
#: Characters of a bar.
_WIDTH = 30


class Progress:
    """Prints where steps have led: as one line that moves (``verbose=1``), or a line each time (2 and more).

    Args:
        verbose: 0 prints nothing.
        steps: number of steps, None where it is not known.
    """

    def __init__(self, verbose: int, steps: int | None) -> None:
        self.verbose, self.steps = verbose, steps
        self.begun = time.perf_counter()
        #: Characters of the line that moves.
        self._shown = 0

    def say(self, text: str) -> None:
        """Prints a line of its own."""
        if self.verbose:
            print(text, flush=True)

    def update(self, done: int, text: str) -> None:
        """Prints where ``done`` steps have led."""
        if not self.verbose:
            return
        seconds = (time.perf_counter() - self.begun) / max(done, 1)
        parts = [self._place(done), text]
        if self.verbose == 1 and self.steps is not None and done < self.steps:
            parts.append(f"ETA: {_clock(seconds * (self.steps - done))}")
        scale, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "us")
        line = " - ".join(filter(None, [*parts, f"{seconds * scale:.0f}{unit}/step"]))
        if self.verbose == 1:
            self._move(line, done)
        else:
            self.say(line)

    def _place(self, done: int) -> str:
        """Returns the number of the step, with a bar where the line moves."""
        if self.steps is None:
            return f"step {done:3d}"
        place = f"step {done:{len(str(self.steps))}d}/{self.steps}"
        if self.verbose != 1:
            return place
        filled = _WIDTH * done // self.steps if self.steps else _WIDTH
        head = ">" if filled > 0 and done < self.steps else ""
        return f"{place} [{('=' * (filled - len(head)) + head).ljust(_WIDTH, '.')}]"

    def _move(self, line: str, done: int) -> None:
        """Puts a line in the place of the one before, which it covers."""
        sys.stdout.write("\b" * self._shown + "\r" + line.ljust(self._shown))
        self._shown = len(line)
        if done == self.steps:
            sys.stdout.write("\n")
        sys.stdout.flush()


def _clock(seconds: float) -> str:
    """Returns a time to wait, in hours and minutes where there are some."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}" if minutes else f"{rest}s"
