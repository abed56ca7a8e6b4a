"""The documentation as a site: what goes into it, its links, and docstrings as Markdown."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import lamella as lm

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
    pages = reference.write(tmp_path)
    text = {page: (tmp_path / page).read_text(encoding="utf-8") for _, page in pages}
    operators = "\n".join(text[page] for page in text if page.startswith("operators-"))
    missing = [info["name"] for info in lm._C.operators() if f"\n## {info['name']}\n" not in operators]
    assert not missing and len(pages) == len(set(page for _, page in pages))
    assert "### Linear\n" in text["lamella-nn.md"] and "### AdamW\n" in text["lamella-optim.md"]
    assert "(self" not in text["lamella-optim-lr.md"] and "'float'" not in text["lamella-optim-lr.md"]
    assert reference.markdown(inspect.getdoc(lm.nn.Linear) or "") in text["lamella-nn.md"]


def test_every_operator_names_shapes_gradients_errors_and_source(reference: Any, tmp_path: Path) -> None:
    text = "\n".join(reference.operator_pages().values())
    entries = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(lm._C.operators())
    for entry in entries:
        facts = set(re.findall(r"^- (\w+): \S", entry, re.MULTILINE))
        assert facts >= {"Shapes", "Dtypes", "Returns", "Gradients", "Source"}, entry
        assert re.search(r"^- .*: `\w+Error: \[\w+\] .+`$", entry, re.MULTILINE), entry


def test_facts_of_operators_are_what_they_do(reference: Any) -> None:
    facts = reference.operator_facts
    infos = {info["name"]: info for info in lm._C.operators()}
    matmul = facts.example_call(infos["matmul"])
    assert facts.shapes(infos["matmul"], matmul) == "`[2, 3], [3, 4] → [2, 4]`, for example"
    assert facts.gradients(infos["matmul"], matmul) == "`a`, `b`"
    (inner,) = [
        r for r in facts.refusals(infos["matmul"], matmul) if "inner sizes" in r.message and r.given.startswith("`a`")
    ]
    assert inner == ("`a` of shape [2, 6]", "ValueError", "[matmul] inner sizes 6 and 3 differ (a: [2, 6], b: [3, 4])")
    assert facts.gradients(infos["argmax"], facts.example_call(infos["argmax"])) == "none in the example"
    assert facts.shapes(infos["add"], facts.example_call(infos["add"])) == "any that broadcast, to the result's"
