"""Sums of a profile as a table."""

from __future__ import annotations

from typing import NamedTuple

from .._html import table


class Row(NamedTuple):
    """Sums over calls that have something in common. Times are seconds, and leave out the calls within a call."""

    name: str
    #: Number of calls.
    calls: int
    #: ``forward`` and ``backward`` together.
    own: float
    forward: float
    #: Time of gradients.
    backward: float


class Table(list[Row]):
    """Rows that print as a table, and are one in notebooks.

    Attributes:
        by: What the rows are: "operator", "layer" or "line".
        row_count: Number of rows there are, of which the list may hold the first ones.
        duration: Seconds of the whole profile.
    """

    def __init__(self, by: str, rows: list[Row], row_count: int, duration: float) -> None:
        super().__init__(rows)
        self.by = by
        self.row_count = row_count
        self.duration = duration

    def _cells(self) -> list[tuple[str, ...]]:
        head: tuple[str, ...] = (self.by, "calls", "own time", "share", "forward", "backward")
        return [head] + [
            (
                # A scope may have any name.
                row.name.encode("unicode_escape").decode() if not row.name.isprintable() else row.name,
                str(row.calls),
                _time(row.own),
                f"{row.own / self.duration:.1%}" if self.duration else "",
                _time(row.forward),
                _time(row.backward),
            )
            for row in self
        ]

    def _note(self) -> str:
        more = self.row_count - len(self)
        left_out = f", {more} more rows" if more else ""
        return (
            f"{_time(self.duration)} in all, {_time(self.duration - sum(row.own for row in self))} elsewhere{left_out}"
        )

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = [
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in cells
        ]
        return "\n".join([*(line.rstrip() for line in lines), self._note()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return table(self._cells(), ["left", *("right" for _ in self._cells()[0][1:])], self._note())


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"
    return ""
