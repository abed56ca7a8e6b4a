"""The documentation as a site: what goes into it, its links, and docstrings as Markdown."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def website() -> Any:
    sys.path.insert(0, str(ROOT))
    return importlib.import_module("docs.website")


@pytest.fixture(scope="module")
def reference() -> Any:
    sys.path.insert(0, str(ROOT))
    return importlib.import_module("docs.reference")


def test_every_page_has_a_place_in_the_contents(website: Any) -> None:
    places = website.pages()
    text = repr(website.navigation(places, [("lamella", "lamella.md")]))
    named = set(re.findall(r"'([\w/.-]+\.md)'", text))
    pages = {place.as_posix() for place in places.values() if place.suffix == ".md"}
    # Records of benchmarks are found from their page.
    assert (
        pages - named == {page for page in pages if page.startswith("benchmarks-results/")}
        and "reference/lamella.md" in named
    )


def test_links_lead_where_the_pages_are(website: Any) -> None:
    places = website.pages()
    source = ROOT / "docs" / "decisions" / "README.md"
    given = (
        "[a](compile.md) [b](../nn.md#layers) [c](../../CONTRIBUTING.md) [d](../../ops/op_info.h) "
        "[e](../../tutorials/02_pylayer/README.md) [f](#here) [g](https://example.org/x)\n"
        "```\n[h](nothing.md)\n```\n"
    )
    assert website.rewritten(given, source, places) == (
        "[a](compile.md) [b](../nn.md#layers) [c](../contributing.md) d "
        "[e](../tutorials/02_pylayer.md) [f](#here) [g](https://example.org/x)\n"
        "```\n[h](nothing.md)\n```\n"
    )


def test_docstrings_become_markdown(reference: Any) -> None:
    text = reference.markdown(
        """Adds :func:`lamella.add` to ``x``, a < b::

            y = x + 1

        Args:
            x: a tensor
                of any shape.
            *args (optional): others.

        Returns:
            The sum.

        Raises:
            ValueError: there is none.
        """
    )
    assert text.splitlines() == [
        "Adds `lamella.add` to `x`, a \\< b:",
        "",
        "```python",
        "y = x + 1",
        "```",
        "",
        "",
        "**Args**",
        "",
        "- `x`: a tensor",
        "  of any shape.",
        "- `*args` (optional): others.",
        "",
        "",
        "**Returns**",
        "",
        "The sum.",
        "",
        "",
        "**Raises**",
        "",
        "- `ValueError`: there is none.",
    ]


def test_the_reference_has_all_operators_and_modules(reference: Any, tmp_path: Path) -> None:
    import lamella as lm

    pages = reference.write(tmp_path)
    text = {page: (tmp_path / page).read_text(encoding="utf-8") for _, page in pages}
    operators = "\n".join(text[page] for page in text if page.startswith("operators-"))
    missing = [info["name"] for info in lm._C.operators() if f"\n## {info['name']}\n" not in operators]
    assert not missing and len(pages) == len(set(page for _, page in pages))
    assert "### Linear\n" in text["lamella-nn.md"] and "### AdamW\n" in text["lamella-optim.md"]
    assert "(self" not in text["lamella-optim-lr.md"] and "'float'" not in text["lamella-optim-lr.md"]
    assert reference.markdown(inspect.getdoc(lm.nn.Linear) or "") in text["lamella-nn.md"]
