"""Context that kernels for tensors on "meta" ask about results whose sizes depend on data."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["DynamicOutputShapeError", "FakeContext", "get_ctx"]

# Larger than the sizes of tests, so that a size which was made up is known again.
_FIRST = 1_000_003


class DynamicOutputShapeError(NotImplementedError):
    """A result's size depends on data, which tensors on "meta" do not have."""


class _MadeUp(threading.local):
    """The sizes that were made up on this thread, with their bounds; None where nobody compares them."""

    sizes: dict[int, tuple[int, int | None]] | None = None


_made_up = _MadeUp()


class FakeContext:
    """Context that :func:`get_ctx` returns."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Returns a size that depends on data, from ``min`` to ``max``, for the shape of a result on "meta".

        Raises:
            DynamicOutputShapeError: nobody asked for made-up sizes, as :func:`lamella.library.opcheck` does.
            ValueError: ``min`` is below 0.
        """
        if min < 0:
            raise ValueError(f"[new_dynamic_size] min is 0 or more, got {min}")
        sizes = _made_up.sizes
        if sizes is None:
            raise DynamicOutputShapeError(
                "[new_dynamic_size] the result's size depends on the tensors' elements, and tensors on meta have none"
            )
        size = _FIRST + 2 * len(sizes)
        sizes[size] = (min, max)
        return size


def get_ctx() -> FakeContext:
    """Returns what a kernel for "meta" asks for sizes that depend on data."""
    return FakeContext()


@contextlib.contextmanager
def made_up_sizes() -> Iterator[dict[int, tuple[int, int | None]]]:
    """A block in which sizes that depend on data are made up: gives them, with their bounds."""
    before, _made_up.sizes = _made_up.sizes, {}
    try:
        yield _made_up.sizes
    finally:
        _made_up.sizes = before
