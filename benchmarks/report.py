"""The table, for people (text and Markdown), and the record, for programs (JSON)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.figures import Spread, ratios, spread
from benchmarks.workloads import WORKLOADS, Workload

#: Seconds or bytes of each round, by workload and framework; in both tables, only what succeeded.
Figures = Mapping[str, Mapping[str, Sequence[float]]]
Workloads = Mapping[str, Workload]


def format_seconds(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds / 1e-9)} ns"


def format_bytes(size: float) -> str:
    """Three digits and MiB."""
    return f"{_three_digits(size / 2**20)} MiB"


def format_figure(figure: float, workload: Workload) -> str:
    """Seconds or bytes, by what the workload measures."""
    return format_bytes(figure) if workload.kind == "memory" else format_seconds(figure)


def _three_digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _figure_cell(figures: Sequence[float], workload: Workload) -> str:
    lower, median, upper = (x / workload.ops for x in spread(figures))
    return f"{format_figure(median, workload)} [{_bounds(lower, median, upper)}]"


def _bounds(lower: float, median: float, upper: float) -> str:
    """Returns the quartiles as percentages of the median, which compare across rows."""
    return f"{(lower / median - 1) * 100:+.0f}% {(upper / median - 1) * 100:+.0f}%"


def _ratio_cell(ratio: Spread) -> str:
    return f"{ratio.median:.3f} [{ratio.lower:.3f} {ratio.upper:.3f}]"


def worst_first(figures: Figures, frameworks: Sequence[str], workloads: Workloads = WORKLOADS) -> Figures:
    """Ordered by how far the first framework's time exceeds its goal; what failed comes first."""
    first, second = frameworks[:2]

    def excess(name: str) -> float:
        both = figures[name]
        if first not in both or second not in both:
            return float("inf")
        return spread(ratios(both[first], both[second])).median / (workloads[name].goal or 1.0)

    return {name: figures[name] for name in sorted(figures, key=excess, reverse=True)}


def rows(
    figures: Figures, frameworks: Sequence[str], workloads: Workloads = WORKLOADS, *, minima: bool = False
) -> list[list[str]]:
    """Returns the cells, header first: medians with quartiles, and ratios of the first framework to the others.

    With `minima`, each ratio is followed by that of the shortest times, which a busy machine disturbs least.
    """
    first, *others = frameworks
    with_goals = first.startswith("lamella") and "torch" in others
    header = ["work", *frameworks]
    for other in others:
        header += [f"{first} / {other}", *(["of minima"] if minima else [])]
    header += ["goal"] if with_goals else []
    table = [header]
    for name, by_framework in figures.items():
        workload = workloads[name]
        row = [workload.title]
        for framework in frameworks:
            missing = "failed" if workload.is_for(framework) else ""
            row.append(_figure_cell(by_framework[framework], workload) if framework in by_framework else missing)
        for other in others:
            both = first in by_framework and other in by_framework
            row.append(_ratio_cell(spread(ratios(by_framework[first], by_framework[other]))) if both else "")
            if minima:
                row.append(f"{min(by_framework[first]) / min(by_framework[other]):.3f}" if both else "")
        if with_goals:
            row.append(_goal_cell(workload))
        table.append(row)
    return table


def _goal_cell(workload: Workload) -> str:
    if workload.goal is None:
        return ""
    return f"{workload.goal:g}" if workload.against == "torch" else f"{workload.goal:g} of {workload.against}"


def text_table(table: Sequence[Sequence[str]]) -> str:
    """Columns padded to one width, names to the left and figures to the right."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = []
    for row in table:
        figures = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *figures]).rstrip())
    lines.insert(1, "-" * max(len(line) for line in lines))
    return "\n".join(lines)


def markdown_table(table: Sequence[Sequence[str]]) -> str:
    """Returns the table in Markdown, where `Function<T>` is no tag."""
    lines = ["| " + " | ".join(cell.replace("<", "&lt;") for cell in row) + " |" for row in table]
    lines.insert(1, "|" + "|".join("---" if i == 0 else "---:" for i in range(len(table[0]))) + "|")
    return "\n".join(lines)


def _threads(record: Mapping[str, Any]) -> str:
    of_what = ", CPU time" if record.get("clock") == "cpu" else ""
    return f"{record['threads']} threads each{of_what}"


def _more_rounds(record: Mapping[str, Any]) -> str:
    more = record.get("rounds_near_goals", record["rounds"])
    return (
        f"Cases near their goal, or above it, were timed again with {more} rounds. " if more > record["rounds"] else ""
    )


def markdown_page(record: Mapping[str, Any], table: Sequence[Sequence[str]], suite: str = "") -> str:
    """Returns a page with the machine, the versions and the table of a record; the title names the suite, if any."""
    machine = record["machine"]
    frameworks = record["frameworks"]
    versions = ", ".join(
        f"{name} {about['version']}" + (f" (Python {about['python']})" if "python" in about else "")
        for name, about in frameworks.items()
    )
    caches = ", ".join(f"{level} {size}" for level, size in machine["caches"].items())
    load = record["load"]
    parts = [
        f"# {record['date']}, {machine['cpu']}" + (f": {suite}" if suite else ""),
        f"{machine['cores']} cores{' of a virtual machine' if machine['virtual'] else ''}, {caches}, "
        f"{machine['memory_gib']} GiB; {' '.join(machine['flags'])}; {machine['system']}, Linux {machine['kernel']}.",
        f"{versions}; {_threads(record)}; {record['rounds']} rounds of {record['batch_seconds']:g} s. "
        f"{_more_rounds(record)}Other processes took {load['others']:.1%} of the cores meanwhile, other machines "
        f"{load['stolen']:.1%}."
        + (
            " The timed steps came before them, by the real-time class of the scheduler." if record.get("first") else ""
        ),
        "Medians, with the quartiles in brackets; ratios are taken round by round.",
        markdown_table(table),
    ]
    if record["failures"]:
        parts.append("Failed:\n\n" + "\n".join(f"- {line}" for line in record["failures"]))
    return "\n\n".join(parts) + "\n"


def file_stem(date: str, cpu: str) -> str:
    """`2025-03-01-amd-epyc-9354`: letters, digits and dashes."""
    name = re.sub(r"\((r|tm)\)|\bcpu\b|@.*|\b\d+-core processor\b|\bprocessor\b", " ", cpu.lower())
    return f"{date}-{re.sub(r'[^a-z0-9]+', '-', name).strip('-')}"
