"""Links from the reference's pages to one another: names in code lead to the entries that describe them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from docs.where_is import ROOT

_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(?<!\[)`([A-Za-z][\w.]*)(?:\(\))?`")
#: Lines that declare a member or tell a fact, and the name of an argument at the start of one.
_DECLARED = re.compile(r"#|\*\*`|- (?:Example|Reference|Source|Returns|Also|Shapes|Gradients|Dtypes): ")
_ITEM = re.compile(r"- `[^`]+`(?: \([^)]*\))?: ")
#: A file of the documentation that a docstring names.
_PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")


def anchor(heading: str) -> str:
    """Returns the anchor that Markdown gives to a heading."""
    plain = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Yields the entries of a page, each with its anchor, which has a number where names differ in case only."""
    taken: set[str] = {anchor(title) for title in re.findall(r"^# (.+)$", text, re.MULTILINE)}
    for heading in re.findall(r"^## (.+)$", _FENCE.sub("", text), re.MULTILINE):
        name, n = anchor(heading), 0
        while (numbered := f"{name}_{n}" if n else name) in taken:
            n += 1
        taken.add(numbered)
        yield heading, numbered


def _guide(match: re.Match[str]) -> str:
    """Returns a link to a page of the documentation, by its title."""
    title = (ROOT / match[0]).read_text("utf-8").partition("\n")[0].removeprefix("# ")
    return f"[{title}](../{match[1]}.md)"


def _paths(text: str) -> Iterator[tuple[str, str]]:
    """Yields the full names that a page declares, each with its anchor."""
    anchors = dict(entries(text))
    for heading, path in re.findall(r"^## (\w+)\n\n```python\n(?:class )?([\w.]+)", text, re.MULTILINE):
        yield path, anchors[heading]


def linked(pages: dict[str, str]) -> dict[str, str]:
    """Returns pages of Markdown with links from names in code to where they are described.

    A name is looked for on its own page, as a full name (`lamella.nn.Linear`, `lm.nn.Linear`, `nn.Linear`), among the
    operators where it is one of them, and, of a method, as that of its class. An argument of the entry is no reference.
    """
    full: dict[str, str] = {}
    operators: dict[str, str] = {}
    for page, text in pages.items():
        for path, place in _paths(text):
            full.setdefault(path, f"{page}#{place}")
        if page.startswith("operators-"):
            operators |= {heading: f"{page}#{place}" for heading, place in entries(text)}
    # Values stand in a list.
    for page, text in pages.items():
        package, listed = page.removesuffix(".md").replace("-", "."), text.partition("\n## Constants\n")[2]
        for name in re.findall(r"^- `(\w+)`", listed, re.MULTILINE):
            full.setdefault(f"{package}.{name}", f"{page}#constants")
    # Names that a page sends elsewhere.
    for page, text in pages.items():
        for name, place in re.findall(r"^- \[`(\w+)`\]\(([^)]+)\): ", text, re.MULTILINE):
            full.setdefault(f"{page.removesuffix('.md').replace('-', '.')}.{name}", place)
    modules = {page.removesuffix(".md").replace("-", "."): page for page in pages if page.startswith("lamella")}
    full |= {f"lamella.{name}": place for name, place in operators.items() if f"lamella.{name}" not in full}
    return {page: _of_page(page, text, full, operators, modules) for page, text in pages.items()}


def _of_page(page: str, text: str, full: dict[str, str], operators: dict[str, str], modules: dict[str, str]) -> str:
    own = {heading: f"#{name}" for heading, name in entries(text)}
    package = page.removesuffix(".md").replace("-", ".")
    parts = package.split(".")
    packages = [".".join(parts[:end]) for end in range(len(parts), 1, -1)] or [package]

    def place(name: str) -> str | None:
        for tried in (name, name.rpartition(".")[0]):
            if tried in own:
                return own[tried]
            path = re.sub(r"^lm\.", "lamella.", tried)
            around = [f"{one}.{path}" for one in packages]
            for whole in (path, *([f"lamella.{path}"] if "." in path else []), *around):
                if whole in full:
                    return full[whole]
            if path in modules and path != package:
                return modules[path]
        return operators.get(name)

    def entry(part: str) -> str:
        heading = re.match(r"## (\w+)", part)
        declared = re.search(r"^```python\n(.*?)^```", part, re.DOTALL | re.MULTILINE)
        arguments = set(re.findall(r"^- `\*{0,2}(\w+)`", part, re.MULTILINE)) | ({heading[1]} if heading else set())
        arguments |= set(re.findall(r"\b(\w+)(?=[:=,)])", declared[1])) if declared else set()

        def link(match: re.Match[str]) -> str:
            found = None if match[1] in arguments else place(match[1])
            return f"[{match[0]}]({found})" if found else match[0]

        def line_of(line: str) -> str:
            if _DECLARED.match(line):
                return line
            item = _ITEM.match(line)
            begin = item.end() if item else 0
            return line[:begin] + _CODE.sub(link, line[begin:])

        pieces = _FENCE.split(part)
        pieces[::2] = ["\n".join(map(line_of, piece.split("\n"))) for piece in pieces[::2]]
        pieces[::2] = [_PAGE.sub(_guide, piece) for piece in pieces[::2]]
        return "".join(pieces)

    return "".join(map(entry, re.split(r"^(?=## )", text, flags=re.MULTILINE)))
