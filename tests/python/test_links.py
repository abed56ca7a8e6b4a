"""Links of the pages lead somewhere: to a file of this repository and, where they name one, to a heading in it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(path for folder in ("docs", "tutorials", "benchmarks") for path in (ROOT / folder).rglob("*.md")),
]


def anchors(page):
    """The names by which headings are linked to: letters, digits and hyphens, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in PAGES if ".envs" not in page.parts])
def test_links_lead_somewhere(page):
    path = ROOT / page
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert not dead
