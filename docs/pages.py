"""Makes the parts of pages that derive from something else, and prints the documentation of one operator.

    python docs/pages.py            write the pages anew
    python docs/pages.py --check    fail where a page is not what would be written
    python docs/pages.py softmax    print what softmax is, also linalg.svd or nn.functional.relu

A page marks the part that is made by the lines ``<!-- table -->`` and ``<!-- end -->``. `./dev doc` calls this.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def _accuracy() -> str:
    table: Callable[[], str] = importlib.import_module("tests.python.ops.accuracy_bounds").table
    return table()


def _where_is() -> str:
    table: Callable[[], str] = importlib.import_module("docs.where_is").table
    return table()


class Decision(NamedTuple):
    """The head of a page of docs/decisions."""

    title: str
    date: str
    status: str
    consequence: str


def head_of(page: Path) -> Decision:
    """Returns the head of a decision's page; ValueError where a part of it is missing."""
    text = page.read_text("utf-8")
    parts = {"title": re.match(r"# (.+)\n\n- \*\*Date", text)}
    for name in ("Date", "Status", "Consequence"):
        parts[name.lower()] = re.search(rf"^- \*\*{name}:\*\* (.+(?:\n  .+)*)$", text, re.MULTILINE)
    if missing := [name for name, match in parts.items() if match is None]:
        raise ValueError(f"{page.name} must begin with title, date, status and consequence: no {missing[0]}")
    return Decision(**{name: " ".join(match[1].split()) for name, match in parts.items() if match})


def _decisions() -> str:
    pages = [page for page in (ROOT / "docs" / "decisions").glob("*.md") if page.name != "README.md"]
    heads = sorted((head_of(page), page.name) for page in pages)
    rows = [f"| [{head.title}]({name}) | {head.date} | {head.status} | {head.consequence} |" for head, name in heads]
    return "\n".join(["| decision | date | status | consequence |", "|---|---|---|---|", *rows])


#: By the page's name, what makes its part.
PAGES: dict[str, Callable[[], str]] = {
    "accuracy.md": _accuracy,
    "decisions/README.md": _decisions,
    "where-is.md": _where_is,
}


def made(page: Path, part: str) -> str:
    """Returns a page's text with its part made anew; ValueError for a page without the marks."""
    head, begin, rest = page.read_text("utf-8").partition("<!-- table -->\n")
    _, end, tail = rest.partition("<!-- end -->")
    if not begin or not end:
        raise ValueError(f"{page.name} has no part between <!-- table --> and <!-- end -->")
    return f"{head}{begin}{part}\n{end}{tail}"


def outdated() -> dict[Path, str]:
    """Returns the pages whose parts differ, with the text that they should have."""
    texts = {ROOT / "docs" / name: made(ROOT / "docs" / name, make()) for name, make in PAGES.items()}
    return {page: text for page, text in texts.items() if page.read_text("utf-8") != text}


def _found(name: str) -> Any:
    found: Any = importlib.import_module("lamella")
    for part in name.removeprefix("lm.").removeprefix("lamella.").split("."):
        found = getattr(found, part)
    return found


def _names() -> list[str]:
    lm = importlib.import_module("lamella")
    rooms = {"": lm, "linalg.": lm.linalg, "fft.": lm.fft}
    return [f"{room}{name}" for room, module in rooms.items() for name in module.__all__]


def describe(name: str) -> str:
    """Returns the signature and the documentation of an operator; AttributeError where there is none."""
    found = _found(name)
    signature = getattr(found, "__text_signature__", None)
    if signature is None and callable(found):
        signature = str(inspect.signature(found)).replace("'", "")  # annotations are texts
    text = f"lm.{name.removeprefix('lm.').removeprefix('lamella.')}{signature or ''}\n\n{inspect.getdoc(found) or ''}"
    infos = importlib.import_module("lamella")._C.operators()
    info = next((info for info in infos if info["name"] == getattr(found, "__name__", "")), None)
    if info is None:
        return text
    facts = importlib.import_module("docs.operator_facts")
    call = facts.example_call(info)
    refused = [f"  {error.given}: {error.error}: {error.message}" for error in facts.refusals(info, call)]
    lines = [
        f"Shapes: {facts.shapes(info, call)}.",
        f"Gradients: {facts.gradients(info, call)}.",
        "Raises, for example:",
    ]
    return "\n".join([text, "", *lines, *refused])


def main(arguments: Sequence[str]) -> int:
    """Runs the command. Returns its exit status: 1 if a page is outdated, 2 if there is no such operator."""
    if arguments and arguments[0] != "--check":
        try:
            print("\n\n".join(describe(name) for name in arguments))
        except AttributeError as error:
            near = [name for wanted in arguments for name in difflib.get_close_matches(wanted, _names())]
            print(f"{error}" + (f"; did you mean {', '.join(near)}?" if near else ""), file=sys.stderr)
            return 2
        return 0
    pages = outdated()
    for page, text in pages.items():
        if not arguments:
            page.write_text(text, "utf-8")
        print(f"{page.relative_to(ROOT)} {'is outdated: ./dev doc' if arguments else 'written'}")
    return 1 if pages and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
