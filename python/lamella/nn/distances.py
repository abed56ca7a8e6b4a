"""Distances and similarities as layers. Each stands for the function of :mod:`lamella` that it names."""

from __future__ import annotations

import lamella as lm

from .module import Module


class PairwiseDistance(Module):
    """:func:`lamella.pairwise_distance`: the norm of the difference of two tensors along the last axis.

    Args:
        p: the norm's exponent.
        eps: added to each difference, so that the derivative exists where both are the same.
        keepdims: True keeps the last axis with size 1.
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False) -> None:
        super().__init__()
        self.p = p
        self.eps = eps
        self.keepdims = keepdims

    def forward(self, x1: lm.Tensor, x2: lm.Tensor) -> lm.Tensor:
        """Maps two tensors of shape ``(n, size)``, or ``(size,)``, to ``(n,)``, or a 0-d tensor."""
        return lm.pairwise_distance(x1, x2, self.p, self.eps, self.keepdims)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"p={self.p}, eps={self.eps}, keepdims={self.keepdims}"


class CosineSimilarity(Module):
    """:func:`lamella.cosine_similarity`: the cosine of the angle between two tensors along an axis.

    Args:
        axis: the axis.
        eps: the least that a norm counts as.
    """

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.axis = axis
        self.eps = eps

    def forward(self, x1: lm.Tensor, x2: lm.Tensor) -> lm.Tensor:
        """Returns a tensor without the axis, of the shape to which both broadcast."""
        return lm.cosine_similarity(x1, x2, self.axis, self.eps)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"axis={self.axis}, eps={self.eps}"
