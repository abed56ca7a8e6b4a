"""The softmax over many classes, of which most are rare, as a layer with a loss."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import lamella as lm

from .containers import ModuleList, Sequential
from .layers import Linear
from .module import Module


class AdaptiveLogSoftmaxResult(NamedTuple):
    """Log-probabilities of the targets, and the mean of their negatives."""

    output: lm.Tensor
    loss: lm.Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-softmax over classes in the order of their frequency, rare ones in clusters with smaller projections.

    Source: Grave et al. 2017, "Efficient softmax approximation for GPUs".

    Args:
        in_features: size of the vectors.
        n_classes: the number of classes, of which the most frequent has number 0.
        cutoffs: where clusters begin, ascending: the classes below ``cutoffs[0]`` have no cluster.
        div_value: how much smaller the vectors of each cluster are than those of the one before.
        head_bias: True gives the first projection a bias.
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        head: the projection to the first classes and to one number for each cluster, :class:`Linear`.
        tail: for each cluster two projections, :class:`Sequential`.

    Raises:
        ValueError: the cutoffs do not ascend between 1 and ``n_classes - 1``.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        bounds = [0, *cutoffs, n_classes]
        if len(bounds) < 3 or any(not isinstance(b, int) or a >= b for a, b in itertools.pairwise(bounds)):
            raise ValueError(
                f"[AdaptiveLogSoftmaxWithLoss] cutoffs are ascending ints between 1 and {n_classes - 1}, not "
                f"{list(cutoffs)}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = bounds[1:]
        self.div_value = div_value
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        clusters = len(bounds) - 2
        self.head = Linear(in_features, bounds[1] + clusters, bias=head_bias, **place)
        self.tail = ModuleList()
        for i in range(clusters):
            size = self._size(i)
            first = Linear(in_features, size, bias=False, **place)
            self.tail.append(Sequential(first, Linear(size, bounds[i + 2] - bounds[i + 1], bias=False, **place)))

    def _size(self, cluster: int) -> int:
        """Returns the size of the vectors of a cluster."""
        return max(int(self.in_features // self.div_value ** (cluster + 1)), 1)

    def reset_parameters(self) -> None:
        """Draws new starting values."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> AdaptiveLogSoftmaxResult:
        """Computes the log-probabilities of the targets, of which only those clusters are computed that have any.

        Args:
            input: ``(n, in_features)`` or ``(in_features,)``.
            target: the classes, ``(n,)`` or 0-d, integers.

        Raises:
            ValueError: the shapes do not fit.
            IndexError: a target is no class.
        """
        if (input.ndim, target.ndim) not in ((2, 1), (1, 0)) or input.shape[:-1] != target.shape:
            raise ValueError(
                "[AdaptiveLogSoftmaxWithLoss] input is (n, in_features) and target (n,), or without n, got the shapes "
                f"{list(input.shape)} and {list(target.shape)}"
            )
        x, classes = lm.reshape(input, (-1, self.in_features)), lm.reshape(target, (-1,))
        if bool(((classes < 0) | (classes >= self.n_classes)).any()):
            raise IndexError(f"[AdaptiveLogSoftmaxWithLoss] a target is none of {self.n_classes} classes")
        head = lm.log_softmax(self.head(x), axis=-1)
        first = self.cutoffs[0]
        column = lm.minimum(classes, lm.full((), first - 1, dtype=classes.dtype, device=classes.device))
        for i, start in enumerate(self.cutoffs[:-1]):
            column = lm.where(classes >= start, first + i, column)
        output = lm.squeeze(lm.take_along_axis(head, lm.expand_dims(column, 1), axis=1), 1)
        for i, (start, stop) in enumerate(itertools.pairwise(self.cutoffs)):
            (rows,) = lm.nonzero((classes >= start) & (classes < stop))
            if rows.size:
                cluster = lm.log_softmax(self.tail[i](lm.take(x, rows, axis=0)), axis=-1)
                within = lm.expand_dims(lm.take(classes, rows, axis=0) - start, 1)
                found = lm.squeeze(lm.take_along_axis(cluster, within, axis=1), 1)
                output = lm.index_add(output, 0, rows, found)
        output = lm.reshape(output, target.shape)
        return AdaptiveLogSoftmaxResult(output, -lm.mean(output))

    def log_prob(self, input: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, in_features)`` to the log-probabilities of all classes, ``(n, n_classes)``."""
        head = lm.log_softmax(self.head(input), axis=-1)
        first = self.cutoffs[0]
        parts = [head[..., :first]]
        for i, cluster in enumerate(self.tail):
            parts.append(lm.log_softmax(cluster(input), axis=-1) + head[..., first + i : first + i + 1])
        return lm.concat(parts, axis=-1)

    def predict(self, input: lm.Tensor) -> lm.Tensor:
        """Maps ``(n, in_features)`` to the most probable classes, ``(n,)``."""
        return lm.argmax(self.log_prob(input), axis=-1)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"{self.in_features}, {self.n_classes}, cutoffs={self.cutoffs[:-1]}, div_value={self.div_value}"
