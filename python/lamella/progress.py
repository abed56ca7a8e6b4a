"""A progress bar for loops that take a while."""

from __future__ import annotations

import html
import math
import sys
import time
import weakref
from collections.abc import Iterable, Iterator, Sized
from types import TracebackType
from typing import Any, Generic, Self, TextIO, TypeVar

T = TypeVar("T")


class Progress(Generic[T]):
    """Shows how far a loop is; see :func:`progress`."""

    def __init__(
        self,
        iterable: Iterable[T] | None,
        total: int | None,
        description: str,
        unit: str,
        file: TextIO | None,
        interval: float | None,
        disable: bool,
    ) -> None:
        if total is None and isinstance(iterable, Sized):
            total = len(iterable)
        if total is not None and total < 0:
            raise ValueError(f"[progress] total is negative: {total}")
        self.iterable = iterable
        self.total = total
        self.description = description
        self.unit = unit
        self.file = file if file is not None else sys.stderr
        self.disable = disable or self.file is None
        self.count = 0
        self._terminal = not self.disable and self.file.isatty()
        self._display = _notebook() if file is None and not self.disable and not self._terminal else None
        self._cell: Any = None
        redrawn = self._terminal or self._display is not None
        # A line is redrawn in place on a terminal; elsewhere every line stays, so that there are few.
        self._interval = interval if interval is not None else (0.1 if redrawn else 10.0)
        self._figures: dict[str, str] = {}
        self._start = self._shown = time.monotonic()
        self._drawn = 0
        self._stale = True
        self._closed = False

    def __iter__(self) -> Iterator[T]:
        if self.iterable is None:
            raise TypeError("[progress] nothing to iterate over: it was made without an iterable")
        self._around()
        try:
            for item in self.iterable:
                yield item
                self.update()
        finally:
            self.close()

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("[progress] the length is not known")
        return self.total

    def __enter__(self) -> Self:
        self._around()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def update(self, steps: int = 1) -> None:
        """Counts ``steps`` more; only needed without an iterable."""
        self.count += steps
        self._stale = True
        if not self.disable and time.monotonic() - self._shown >= self._interval:
            self._show()

    def set(self, **figures: Any) -> None:
        """Sets figures to show behind the bar: ``bar.set(loss=0.25, accuracy="97.5 %")``."""
        self._stale = True
        for name, value in figures.items():
            number = isinstance(value, float) or hasattr(value, "item")
            self._figures[name] = f"{float(value):.4g}" if number else str(value)

    def write(self, line: str) -> None:
        """Prints a line that stays, above the bar."""
        if self.disable:
            return
        if self._display is not None:
            print(line)
            return
        self._erase()
        self.file.write(line + "\n")
        if self._terminal:
            self._show()

    def close(self) -> None:
        """Shows the last state and ends the line. May be called twice."""
        if self._closed:
            return
        around = self._around()
        if not self.disable:
            if self._stale:
                self._show()
            self._leave(around)
            self.file.flush()
        self._closed = True

    def __str__(self) -> str:
        return self._line(0)

    def _repr_html_(self) -> str:
        state = f" value='{min(self.count, self.total)}' max='{self.total}'" if self.total else ""
        line = "".join(bar._place() for bar in self._around()) + self._line(0)
        return f"<progress{state} style='width: 16em'></progress> <code>{html.escape(line)}</code>"

    def _around(self) -> list[Progress[Any]]:
        """Returns the bars of loops around this one that are shown in the same place, the outermost first.

        The first call says that this one's loop begins.
        """
        if self._closed or (not self._terminal and self._display is None):
            return []
        bars = [bar for bar in (reference() for reference in _shown) if bar is not None]
        _shown[:] = [weakref.ref(bar) for bar in bars]
        same = [bar for bar in bars if bar.file is self.file and bar._display == self._display]
        if self not in same:
            _shown.append(weakref.ref(self))
            return same
        return same[: same.index(self)]

    def _leave(self, around: list[Progress[Any]]) -> None:
        """Ends the line; a bar within another's loop gives the place back."""
        _shown[:] = [reference for reference in _shown if reference() is not self]
        if around:
            self._erase()
            around[-1]._show()
        elif self._terminal:
            self.file.write("\n")

    def _show(self) -> None:
        self._shown = time.monotonic()
        self._stale = False
        if self._display is not None:
            first = (*self._around(), self)[0]
            if first._cell is None:
                first._cell = self._display(self, display_id=True)
            else:
                first._cell.update(self)
            return
        if self._terminal:
            import shutil

            width = shutil.get_terminal_size().columns - 1
            line = self._line(width)[:width]
            self.file.write("\r" + line + " " * (self._drawn - len(line)))
            self._drawn = len(line)
        else:
            self.file.write(self._line(0) + "\n")
        self.file.flush()

    def _erase(self) -> None:
        if self._terminal and self._drawn:
            self.file.write("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def _place(self) -> str:
        """Returns what stands before the bar of a loop within this one's."""
        done = f"{self.count}/{self.total}" if self.total else f"{self.count} {self.unit}"
        return f"{self.description} {done} > " if self.description else f"{done} > "

    def _line(self, width: int) -> str:
        """Returns the line; with a bar that fills what ``width`` leaves, where it leaves enough for one."""
        elapsed = max(time.monotonic() - self._start, 1e-9)
        rate = self.count / elapsed
        head = f"{self.description}: " if self.description else ""
        if width:
            head = "".join(bar._place() for bar in self._around()) + head
        parts = []
        if self.count:
            parts.append(f"{rate:,.0f} {self.unit}/s" if rate >= 1000 else f"{rate:.3g} {self.unit}/s")
        if self.total:
            done = min(self.count / self.total, 1.0)
            middle = f"{done:4.0%} {self.count}/{self.total}"
            if self.count < self.total and rate > 0:
                parts.append(f"{_clock((self.total - self.count) / rate)} left")
            else:
                parts.append(_clock(elapsed))
        else:
            done = None
            middle = f"{self.count} {self.unit}"
            parts.append(_clock(elapsed))
        parts += [f"{name} {value}" for name, value in self._figures.items()]
        tail = f"{middle}  " + "  ".join(parts)
        room = min(width - len(head) - len(tail) - 3, 40)
        if done is None or room < 8:
            return head + tail
        full = math.floor(done * room)
        return f"{head}[{'=' * full}{' ' * (room - full)}] {tail}"


def progress(
    iterable: Iterable[T] | None = None,
    *,
    total: int | None = None,
    description: str = "",
    unit: str = "it",
    file: TextIO | None = None,
    interval: float | None = None,
    disable: bool = False,
) -> Progress[T]:
    """Shows the progress of a loop on standard error: a bar, the rate, the time left, and figures of your own.

    On a terminal one line is redrawn in place, in a notebook a bar below the cell; a loop within the loop is shown in
    the same place. Elsewhere (a log file, CI) a plain line is printed now and then.

    Args:
        iterable: what to loop over, such as a range or a :class:`lamella.data.DataLoader`; without it call ``update()``
            yourself.
        total: the number of steps, where ``len(iterable)`` does not tell.
        description: stands at the start of the line.
        unit: the name of one step.
        file: where to print instead of standard error.
        interval: seconds between two prints: 0.1 on a terminal and 10 elsewhere by default.
        disable: prints nothing.

    Example::

        bar = progress(range(100), description="training")
        for epoch in bar:
            bar.set(loss=train_one_epoch())
    """
    return Progress(iterable, total, description, unit, file, interval, disable)


#: Bars on terminals and in notebooks that are not closed, the outermost first.
_shown: list[weakref.ref[Progress[Any]]] = []


def _notebook() -> Any:
    """Returns the function by which a notebook shows things; None where this is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipython is None or getattr(shell, "kernel", None) is None:
        return None
    from importlib import import_module

    return import_module("IPython.display").display


def _clock(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
