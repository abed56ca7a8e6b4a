"""The length of the vector (x, y), element by element."""

import lamella as lm

from . import _C


def hypot(x: lm.Tensor, y: lm.Tensor) -> lm.Tensor:
    """sqrt(x*x + y*y), for float32 tensors of one shape."""
    return _C.hypot(x, y)
