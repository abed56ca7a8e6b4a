"""Tests of operators are found as their sources are: tests/python/ops/FAMILY/test_STEM.py, ops/FAMILY/STEM.h."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "python" / "ops"


def sources(family):
    """The stems of what a family is made of: its operators, their kernels, and what Python adds to them."""
    folders = [ROOT / "ops" / family, ROOT / "ops" / "cpu", ROOT / "ops" / "cuda", ROOT / "python" / "lamella" / family]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".h", ".cc", ".cu", ".py")]
    stems = {path.stem.lstrip("_") for path in files}
    return stems | {stem.removeprefix(f"{family}_") for stem in stems}


@pytest.mark.parametrize("family", sorted(path.name for path in TESTS.iterdir() if (path / "__init__.py").exists()))
def test_every_test_of_a_family_has_the_name_of_a_source(family):
    assert (ROOT / "ops" / family).is_dir()
    tests = {path.stem.removeprefix("test_") for path in (TESTS / family).glob("test_*.py")}
    assert tests and tests <= sources(family)
