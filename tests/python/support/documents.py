"""The specification documents whose listings are run. They are not part of the repository.

They are looked for in the folder that LAMELLA_SEED_DOCUMENTS names, or else beside the checkout (../shared/seeds). The
tool that extracts listings lies beside them, in ../tools.
"""

import os
import re
from pathlib import Path

import pytest

SEEDS = Path(os.environ.get("LAMELLA_SEED_DOCUMENTS") or Path(__file__).resolve().parents[4] / "shared" / "seeds")
TOOL = SEEDS.parent / "tools" / "seed-listings"

_MISSING = "the specification documents are neither in LAMELLA_SEED_DOCUMENTS nor beside the checkout (../shared/seeds)"
needs_tool = pytest.mark.skipif(not (SEEDS.is_dir() and TOOL.exists()), reason=_MISSING)


def document(number):
    """The path of the document with that number, or None."""
    return next(iter(sorted(SEEDS.glob(f"{number}_*.txt"))), None) if SEEDS.is_dir() else None


def needs_documents(*numbers):
    return pytest.mark.skipif(any(document(number) is None for number in numbers), reason=_MISSING)


def fenced(number):
    """The fenced blocks of a document, counted from 0."""
    text = document(number).read_text("utf-8")
    return [match[1] for match in re.finditer(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
