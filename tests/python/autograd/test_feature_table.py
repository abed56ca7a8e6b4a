"""Every row of docs/autograd/pytorch-features.md is true: its example runs, and asserts what it shows.

A feature that is not there fails its row.
"""

import ast
import html
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs/autograd/pytorch-features.md"
HEADER = ["PyTorch", "Lamella", "What differs", "Example"]


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def rows():
    """The table rows of the page, as (section, cells)."""
    section, found = "", []
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("|") and not re.fullmatch(r"[|\-: ]+", line) and cells(line) != HEADER:
            found.append((section, cells(line)))
    return found


def example(row):
    """The lines of a row's example, each of which stands in backquotes, between <br>."""
    lines = row[-1].split("<br>")
    assert all(re.fullmatch(r"`[^`]+`", line) for line in lines), row[0]
    return "\n".join(html.unescape(line[1:-1]).replace("\\|", "|") for line in lines)


ROWS = rows()
PREAMBLE = re.search(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[1]


def test_the_page_is_read():
    assert len(ROWS) > 70
    assert all(len(row) == len(HEADER) and row[0] and row[1] for _, row in ROWS)
    assert len({(section, row[0]) for section, row in ROWS}) == len(ROWS), "a feature is listed twice"


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{section}: {row[0]}".replace("`", "")) for section, row in ROWS]
)
def test_example_runs(row):
    source = example(row)
    assert 1 <= len(source.splitlines()) <= 5
    # Not in an except clause, which need not be reached.
    assert any(isinstance(statement, ast.Assert) for statement in ast.parse(source).body), "it asserts nothing"
    names = {}
    exec(compile(PREAMBLE, str(PAGE), "exec"), names)
    exec(compile(source, row[0], "exec"), names)
