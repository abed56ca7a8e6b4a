"""Lines that :class:`paddle.Model` prints while it trains, evaluates and predicts."""

from __future__ import annotations

import time

#: Printed once before training.
EXPLAINED = (
    "The loss value printed in the log is the current step, and the metric is the average value of previous steps."
)


class Progress:
    """Prints a line after each ``every`` steps, and after the last one.

    Args:
        verbose: 0 prints nothing.
        steps: number of steps, None where it is not known.
        every: number of steps between lines.
    """

    def __init__(self, verbose: int, steps: int | None, every: int = 1) -> None:
        self.verbose, self.steps, self.every = verbose, steps, every
        self.begun = time.perf_counter()

    def say(self, text: str) -> None:
        """Prints a line of its own."""
        if self.verbose:
            print(text, flush=True)

    def step(self, done: int, text: str) -> None:
        """Prints where ``done`` steps have led, if that is due."""
        if not self.verbose or (done % self.every and done != self.steps):
            return
        of_all = "" if self.steps is None else f"/{self.steps}"
        seconds = (time.perf_counter() - self.begun) / done
        scale, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "us")
        self.say(" - ".join(filter(None, [f"step {done}{of_all}", text, f"{seconds * scale:.0f}{unit}/step"])))
