"""What all tests share: random numbers that depend on no other test."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest


def pytest_collection_finish() -> None:
    """Keeps the collector away from the tests themselves, of which there are millions of objects.

    Checks for leaks collect often.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of the test's own."""
    return np.random.default_rng(20240607)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seeds the default generators, where the test's module has imported them, so that tests may run in any order."""
    if (lm := sys.modules.get("lamella")) is not None:
        lm.seed(20240607)
