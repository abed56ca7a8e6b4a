"""Times of statements: medians over blocks of runs."""

from __future__ import annotations

import statistics
import textwrap
import time
import timeit
from collections.abc import Callable, Iterable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module


class Measurement:
    """Times of a statement.

    Attributes:
        number_per_run: number of runs of the statement in a block.
        raw_times: seconds of each block.
    """

    def __init__(self, number_per_run: int, raw_times: list[float], label: str) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.title = label

    @property
    def times(self) -> list[float]:
        """Seconds of a run, by block."""
        return [each / self.number_per_run for each in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles of the times; 0 for one block."""
        if len(self.raw_times) < 2:
            return 0.0
        lower, _, upper = statistics.quantiles(self.times, n=4)
        return upper - lower

    def __repr__(self) -> str:
        blocks = f"{len(self.raw_times)} measurements, {self.number_per_run} runs per measurement"
        return f"{self.title}\n  Median: {_shown(self.median)}\n  IQR:    {_shown(self.iqr)}\n  {blocks}"


def _shown(seconds: float) -> str:
    unit, size = next((each for each in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if seconds >= each[1]), ("ns", 1e-9))
    return f"{seconds / size:.2f} {unit}"


class Timer:
    """Times a statement, with one thread unless ``num_threads`` says otherwise.

    Args:
        stmt: the statement.
        setup: runs once before it.
        global_setup: not used, as there are no statements in C++.
        timer: the clock.
        globals: the names that the statement knows.
        label: title of the result.
        sub_label: second part of the title.
        description: third part of the title.
        env: not used.
        num_threads: number of threads of an operator.
        language: "python".

    Raises:
        NotImplementedError: the statement is in another language.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = time.perf_counter,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(language).lower() not in ("python", "py", "language.python"):
            raise NotImplementedError(f"[Timer] language: statements are Python's here, not {language!r}")
        statement = textwrap.dedent(stmt).strip()
        self._timer = timeit.Timer(statement, textwrap.dedent(setup).strip(), timer, dict(globals or {}))
        self._threads = num_threads
        self._title = ": ".join(each for each in (label or statement, sub_label, description) if each)

    def _blocks(self, number: int, enough: Callable[[list[float]], bool]) -> Measurement:
        before = lm.get_num_threads()
        lm.set_num_threads(self._threads)
        try:
            times: list[float] = []
            while not times or not enough(times):
                times.append(self._timer.timeit(number))
        finally:
            lm.set_num_threads(before)
        return Measurement(number, times, self._title)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Returns the time of one block of runs."""
        self._blocks(max(number // 100, 2), lambda times: True)  # warms up
        return self._blocks(number, lambda times: True)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Returns the times of blocks that take ``min_run_time`` seconds together, of a thousandth or more each."""
        number = 1
        while self._blocks(number, lambda times: True).raw_times[0] < min_run_time / 1000:
            number *= 10
        return self._blocks(number, lambda times: sum(times) >= min_run_time)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """Returns the times of as many blocks as it takes for quartiles within a share of the median."""
        found = self.blocked_autorange(min_run_time=min_run_time)

        def enough(times: list[float]) -> bool:
            so_far = Measurement(found.number_per_run, times, self._title)
            return sum(times) >= max_run_time or (len(times) >= 5 and so_far.iqr < threshold * so_far.median)

        return self._blocks(found.number_per_run, enough)


class Compare:
    """A table of measurements.

    Args:
        results: the measurements.
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds measurements."""
        self._results += results

    def trim_significant_figures(self) -> None:
        """Changes nothing: times have two places."""

    def colorize(self, rowwise: bool = False) -> None:
        """Changes nothing: the table has no colors."""

    def __str__(self) -> str:
        width = max((len(each.title) for each in self._results), default=0)
        return "\n".join(f"{each.title.ljust(width)}  {_shown(each.median)}" for each in self._results)

    def print(self) -> None:
        """Prints the table."""
        print(self)


__getattr__ = close_module(__name__)
