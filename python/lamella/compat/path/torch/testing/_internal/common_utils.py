"""Test cases that compare tensors."""

from __future__ import annotations

import unittest
from typing import Any

from lamella._tree import flatten
from lamella.compat.front import close_module

from .. import assert_close

IS_WINDOWS = IS_MACOS = TEST_WITH_ROCM = False


class TestCase(unittest.TestCase):
    """Compares tensors, and lists of them, by :func:`torch.testing.assert_close`."""

    def assertEqual(  # noqa: N802 (unittest's name)
        self, first: Any, second: Any, msg: str | None = None, *, rtol: float | None = None, atol: float | None = None
    ) -> None:
        """AssertionError where the two differ by more than the tolerances of their dtype."""
        if flatten([first, second])[0]:
            assert_close(first, second, rtol=rtol, atol=atol, equal_nan=True, msg=msg)
        elif rtol is not None or atol is not None:
            self.assertLessEqual(abs(first - second), (atol or 0) + (rtol or 0) * abs(second), msg)
        else:
            super().assertEqual(first, second, msg)


def run_tests() -> None:
    """Runs the tests of the program."""
    unittest.main()


__getattr__ = close_module(__name__)
