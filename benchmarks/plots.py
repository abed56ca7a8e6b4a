"""Draws a record: `python -m benchmarks.plots FILE.json ...` makes FILE.svg, one row for each workload.

A bar is the ratio of Lamella's figure to another framework's (median, with the quartiles as a line), on a logarithmic
axis; a tick marks the goal. Wants matplotlib, which .venv has.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import Spread, ratios, spread
from benchmarks.native import NATIVE
from benchmarks.workloads import WORKLOADS

_COLORS = {"torch": "#c44e20", "paddle": "#3465a4"}


class Row(NamedTuple):
    """One workload of the plot."""

    title: str
    goal: float | None
    #: Ratios to the other frameworks, by name.
    ratios: dict[str, Spread]


def rows(record: Mapping[str, Any], native: bool) -> list[Row]:
    """Returns the workloads to draw: those that Lamella and another framework have figures for."""
    table = NATIVE if native else WORKLOADS
    found = []
    for name, figures in {**record["seconds"], **record.get("bytes", {})}.items():
        ours = figures.get("lamella", [])
        others = {
            framework: spread(ratios(ours, theirs))
            for framework, theirs in figures.items()
            if framework in _COLORS and ours and theirs
        }
        if name in table and others:
            found.append(Row(table[name].title, table[name].goal, others))
    return found


def draw(drawn: Sequence[Row], title: str, path: Path) -> None:
    """Writes the plot."""
    import matplotlib

    matplotlib.use("svg")
    # Fixed settings, so that a record always gives the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "lamella", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    frameworks = [name for name in _COLORS if any(name in row.ratios for row in drawn)]
    figure, axes = pyplot.subplots(figsize=(10, 1.2 + 0.42 * len(drawn)), layout="constrained")
    height = 0.8 / len(frameworks)
    for number, framework in enumerate(frameworks):
        places = [
            i + (number - (len(frameworks) - 1) / 2) * height for i, row in enumerate(drawn) if framework in row.ratios
        ]
        spreads = [row.ratios[framework] for row in drawn if framework in row.ratios]
        medians = [one.median for one in spreads]
        whiskers = [[one.median - one.lower for one in spreads], [one.upper - one.median for one in spreads]]
        label = f"Lamella / {framework}"
        axes.barh(places, medians, height * 0.9, xerr=whiskers, color=_COLORS[framework], label=label, ecolor="#222222")
    for i, row in enumerate(drawn):
        if row.goal is not None:
            axes.plot(
                [row.goal, row.goal], [i - 0.45, i + 0.45], color="black", linewidth=2, label="goal" if i == 0 else None
            )
    axes.axvline(1.0, color="#888888", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(min(0.01, *(one.lower / 1.5 for row in drawn for one in row.ratios.values())), 2)
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks(range(len(drawn)), [row.title for row in drawn])
    axes.set_ylim(len(drawn) - 0.4, -0.6)
    axes.set_xlabel("ratio (less is better)")
    figure.suptitle(title)  # over the whole figure, as the rows' names leave the axes too narrow for it
    figure.legend(loc="outside lower center", ncols=3)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def plot(path: Path) -> Path:
    """Draws a record's file beside it; ValueError where there is nothing to compare."""
    record = json.loads(path.read_text())
    drawn = rows(record, native=path.stem.endswith("-cpp"))
    if not drawn:
        raise ValueError(f"{path} has no figures of Lamella beside another framework's")
    versions = ", ".join(f"{name} {about['version']}" for name, about in record["frameworks"].items())
    result = path.with_suffix(".svg")
    draw(drawn, f"{record['date']}, {record['machine']['cpu']}, {versions}", result)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit status."""
    paths = sys.argv[1:] if arguments is None else arguments
    if not paths:
        print("usage: python -m benchmarks.plots FILE.json ...", file=sys.stderr)
        return 2
    for path in paths:
        print(plot(Path(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
