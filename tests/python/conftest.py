"""What all tests share: random numbers that depend on no other test."""

from __future__ import annotations

import sys

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of the test's own."""
    return np.random.default_rng(20240607)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seeds the default generators, where the test's module has imported them, so that tests may run in any order."""
    if (lm := sys.modules.get("lamella")) is not None:
        lm.seed(20240607)
