"""Makes the documentation's site in build/site, from the pages of the repository and the reference: `./dev site`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]
SITE = ROOT / "build" / "site"
#: A link of Markdown that leads to a file.
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s#]+)(#[^)\s]*)?\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


def pages() -> dict[Path, Path]:
    """Returns where each page and picture of the repository goes in the site."""
    places = {ROOT / "docs" / "index.md": Path("index.md")}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        places.setdefault(path, path.relative_to(ROOT / "docs"))
    for path in sorted((ROOT / "tutorials").glob("*/README.md")):
        places[path] = Path("tutorials") / f"{path.parent.name}.md"
    for path in sorted((ROOT / "tutorials").glob("*/*.png")):
        places[path] = Path("tutorials") / path.parent.name / path.name
    for path in sorted((ROOT / "docs" / "drawings").iterdir()):
        places[path] = Path("drawings") / path.name
    for pattern in ("*.md", "*.svg"):
        for path in sorted((ROOT / "benchmarks" / "results").glob(pattern)):
            places[path] = Path("benchmarks-results") / path.name
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        # The site has a first page of its own.
        places[ROOT / name] = Path("about.md" if name == "README.md" else name.lower())
    return places


def rewritten(text: str, source: Path, places: dict[Path, Path]) -> str:
    """Returns a page's text with links to where the pages are in the site, and without those to other files."""
    here = places[source].parent

    def target(link: str) -> str | None:
        path = Path(os.path.normpath(source.parent / link))
        if path.is_dir() and (path / "README.md") in places:
            path = path / "README.md"
        return None if path not in places else os.path.relpath(places[path], here)

    def link(match: re.Match[str]) -> str:
        words, to, anchor = match[1], match[2], match[3] or ""
        if re.match(r"\w+:", to):
            return match[0]
        found = target(to)
        return f"[{words}]({found}{anchor})" if found else words

    def picture(match: re.Match[str]) -> str:
        found = target(match[2])
        # On a phone, a picture is small: it leads to itself.
        return f"[![{match[1]}]({found})]({found})" if found else match[1]

    # Code keeps its brackets.
    parts = re.split(r"(```.*?```)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("```") else PICTURE.sub(picture, LINK.sub(link, part)) for part in parts)


def head(text: str, place: Path) -> str:
    """Returns what the site has to know of a page, as the page's first lines."""
    from docs import reference

    # Pages for users come first in a search.
    if place.parent.name in ("decisions", "benchmarks-results") or place.name == "changelog.md":
        return reference.searched(0.2)
    # Lines of code are too long for a column: docs/theme/main.html puts each below its row.
    return "---\nexamples_below: true\n---\n\n" if "| Example |\n" in text else ""


def _links_of(text: str) -> Iterator[str]:
    for match in LINK.finditer(text):
        yield match[2]


def navigation(places: dict[Path, Path], reference: list[tuple[str, str]]) -> list[Any]:
    """Returns the site's contents, in the order of docs/index.md."""
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    sections: dict[str, list[str]] = {}
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        found = [Path(os.path.normpath(ROOT / "docs" / link)) for link in _links_of(section)]
        sections[section.partition("\n")[0]] = [places[path].as_posix() for path in found if path in places]
    *guide, tutorials, builders = sections.items()
    # Names are short enough for a line of the contents without the package's.
    listed = [
        {title.removeprefix("Operators: ").removeprefix("lamella."): f"reference/{page}"} for title, page in reference
    ]
    operators = [entry for entry, (title, _) in zip(listed, reference, strict=True) if title.startswith("Operators: ")]
    modules = [entry for entry in listed if entry not in operators]
    decisions = [page.as_posix() for page in places.values() if page.parent == Path("decisions")]
    return [
        {"Start": ["index.md", {"About": "about.md"}]},
        {"Guide": [{title: pages} for title, pages in guide]},
        {"Tutorials": tutorials[1]},
        {"Reference": [{"Operators": operators}, {"Modules": modules}]},
        {
            "Internals": [page for page in builders[1] if page not in decisions]
            + [{"Decisions": decisions}, "changelog.md"]
        },
    ]


def settings(contents: list[Any]) -> dict[str, Any]:
    """Returns the settings of MkDocs."""
    palette = [
        {
            "media": f"(prefers-color-scheme: {scheme})",
            "scheme": name,
            "primary": "indigo",
            "toggle": {"icon": icon, "name": f"Switch to {other} mode"},
        }
        for scheme, name, icon, other in (
            ("light", "default", "material/weather-night", "dark"),
            ("dark", "slate", "material/weather-sunny", "light"),
        )
    ]
    features = [
        "navigation.tabs",
        "navigation.top",
        "navigation.indexes",
        "content.code.copy",
        "search.highlight",
        "toc.follow",
    ]
    return {
        "site_name": "Lamella",
        "docs_dir": str(SITE / "pages"),
        "site_dir": str(SITE / "html"),
        # Links lead to files, so that the site can be read from a folder.
        "use_directory_urls": False,
        "theme": {
            "name": "material",
            "custom_dir": str(ROOT / "docs" / "theme"),
            "font": False,
            "palette": palette,
            "features": features,
        },
        # A dotted name is found by each of its parts.
        "plugins": [{"search": {"separator": r"[\s\-,:()\[\]\"'`/]+|\.(?!\d)|&[lg]t;"}}],
        "markdown_extensions": [
            "tables",
            "sane_lists",
            {"toc": {"permalink": True}},
            {"pymdownx.highlight": {"anchor_linenums": False}},
            "pymdownx.superfences",
        ],
        "validation": {"omitted_files": "ignore", "anchors": "warn", "absolute_links": "warn"},
        "nav": contents,
    }


def main() -> int:
    """Writes the pages and has MkDocs make the site; a broken link is an error."""
    from docs import reference

    shutil.rmtree(SITE, ignore_errors=True)
    places = pages()
    for source, place in places.items():
        target = SITE / "pages" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            text = rewritten(source.read_text("utf-8"), source, places)
            target.write_text(head(text, place) + text, encoding="utf-8")
        else:
            shutil.copyfile(source, target)
    contents = navigation(places, reference.write(SITE / "pages" / "reference"))
    # JSON is YAML.
    (SITE / "mkdocs.yml").write_text(json.dumps(settings(contents), indent=1), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(SITE / "mkdocs.yml")]
    status = subprocess.run(command, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}).returncode
    if status == 0:
        # Read from a folder, pages may load scripts only.
        index = SITE / "html" / "search" / "search_index.json"
        index.with_suffix(".js").write_text(f"var __index = {index.read_text('utf-8')}", encoding="utf-8")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
