"""What the tests of this folder share."""

import inspect
import sys

import pytest

from support.memory import without_collector


@pytest.fixture
def at():
    """A function that gives "file:line" of the line of the calling test that ends in the comment "# mark"."""

    def find(mark):
        code = sys._getframe(1).f_code
        lines, first = inspect.getsourcelines(code)
        for i, line in enumerate(lines):
            if line.rstrip().endswith(f"# {mark}"):
                return f"{code.co_filename}:{first + i}"
        raise LookupError(mark)

    return find


@pytest.fixture
def quiet_collector():
    """For tests that compare how much memory is taken: garbage of other tests must not be freed meanwhile."""
    with without_collector():
        yield
