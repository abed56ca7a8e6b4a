"""Functions of Ascend's plugin that models call where they find it, composed of Lamella's."""

from __future__ import annotations

import lamella as lm
from lamella import Tensor


def npu_geglu(self: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Tensor, Tensor]:
    """One half of a tensor times the GELU of the other (N. Shazeer, "GLU Variants Improve Transformer", 2020).

    Args:
        self: the tensor, of an even size along ``dim``.
        dim: the axis that is cut into halves.
        approximate: 1 for the approximation of GELU by tanh, 0 for GELU itself.
        activate_left: True for the GELU of the first half, False for that of the second one.

    Returns:
        The product, and the GELU.
    """
    halves = lm.split(self, 2, axis=dim)
    kept, activated = halves if not activate_left else reversed(halves)
    gelu = lm.gelu(activated, approximate="tanh" if approximate else "none")
    return kept * gelu, gelu


def npu_rms_norm(self: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, Tensor]:
    """A tensor over the root of its mean square along the axes of ``gamma``, times ``gamma``.

    (B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization", 2019.)

    Returns:
        The result, and the reciprocal of the root, in float32.
    """
    axes = tuple(range(self.ndim - gamma.ndim, self.ndim))
    scale = lm.rsqrt(lm.mean(self.astype("float32") ** 2, axis=axes, keepdims=True) + epsilon)
    return (self * scale).astype(self.dtype) * gamma, scale
