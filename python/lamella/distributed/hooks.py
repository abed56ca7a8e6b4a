"""Hooks of :class:`DistributedDataParallel` that take the mean of gradients over processes, and send less for it.

::

    model = dist.DistributedDataParallel(net)
    model.register_comm_hook(dist.hooks.compressed("bfloat16"))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .. import _C
from .._C import Tensor
from .._C import _Work as Work
from ..linalg import qr
from ._buckets import CommHook, GradientBucket
from ._collectives import all_reduce

__all__ = ["CommHook", "GradientBucket", "PowerSGD", "compressed", "mean"]


def mean(bucket: GradientBucket) -> Work:
    """Takes the mean as without a hook, for hooks that do something before or after."""
    return _C._distributed_start("all_reduce", bucket.tensor, op="mean", group=bucket.group.name)


class _Then:
    """Applies a function to the result of something that was started."""

    def __init__(self, started: Any, function: Callable[[Tensor], Tensor]) -> None:
        self._started, self._function = started, function

    def wait(self) -> Tensor:
        """Returns the result."""
        return self._function(self._started.wait())


def compressed(dtype: Any, hook: CommHook = mean) -> CommHook:
    """Returns a hook that sends gradients in another dtype, and gives their mean in their own.

    Args:
        dtype: Such as ``"bfloat16"``, or ``"float16"``, whose largest number is 65504. Sums are made in float32.
        hook: Takes the mean of what is sent.

    Raises:
        TypeError: The dtype is no floating one.
    """
    sent = _C.zeros([0], dtype=dtype).dtype
    if not _C.isdtype(sent, "real floating"):
        raise TypeError(f"[compressed] dtype is a floating one, not {sent.name}")

    def run(bucket: GradientBucket) -> Any:
        own = bucket.tensor.dtype
        started = hook(replace(bucket, tensor=bucket.tensor.astype(sent)))
        if isinstance(started, Tensor):
            return started.astype(own)
        return _Then(started, lambda x: x.astype(own))

    return run


class PowerSGD:
    """A hook that sends, of each gradient as a matrix, two factors of low rank.

    With a matrix M of gradients and what the last step has left out, E: P is an orthonormal basis of the mean of
    ``(M + E) Q``, Q the mean of ``(M + E)' P``, and the mean is taken to be ``P Q'``, of which E is what ``M + E``
    lacks.
    Q serves the next step again. (Vogels et al., "PowerSGD: Practical Low-Rank Gradient Compression for Distributed
    Optimization", 2019, algorithm 1.) Gradients of one axis, and those of which the factors would be no smaller, are
    sent as they are. Where the gradients' mean has at most that rank, it is exact. Each model has a hook of its own.

    Args:
        rank: The rank of the factors, at least 1.
        start: Number of backward passes before the first one of which factors are sent.
        error_feedback: True to add what a step has left out to the next one's gradients.
        warm_start: True to begin with the last step's Q; False draws each anew.
        min_compression: Gradients are sent as they are unless this many times the factors' elements are fewer.
        seed: Of the first Q, the same on all processes.

    Raises:
        ValueError: A number is out of its range.
    """

    def __init__(
        self,
        rank: int = 1,
        *,
        start: int = 0,
        error_feedback: bool = True,
        warm_start: bool = True,
        min_compression: float = 1.0,
        seed: int = 0,
    ) -> None:
        if type(rank) is not int or rank < 1:
            raise ValueError(f"[PowerSGD] rank is an int of at least 1, not {rank!r}")
        if type(start) is not int or start < 0:
            raise ValueError(f"[PowerSGD] start is an int of at least 0, not {start!r}")
        if not min_compression > 0:
            raise ValueError(f"[PowerSGD] min_compression is a number of more than 0, not {min_compression!r}")
        self.rank = rank
        self.start = start
        self.error_feedback = error_feedback
        self.warm_start = warm_start
        self.min_compression = min_compression
        self.passes = 0
        self._draws = _C.Generator(seed=seed)
        #: By bucket: what was left out, and Q of each matrix.
        self._errors: dict[int, Tensor] = {}
        self._bases: dict[int, list[Tensor]] = {}

    def __call__(self, bucket: GradientBucket) -> Any:
        """Returns the mean of a bucket's gradients, or what gives it."""
        passes, self.passes = self.passes, self.passes + bucket.is_last
        if passes < self.start:
            return mean(bucket)
        x = bucket.tensor
        if self.error_feedback and bucket.index in self._errors:
            x = x + self._errors[bucket.index]
        gradients = replace(bucket, tensor=x).gradients()
        matrices = [g.reshape([g.shape[0], -1]) if self._pays(g) else None for g in gradients]
        group = bucket.group.name
        rest = [g.reshape([-1]) for g, m in zip(gradients, matrices, strict=True) if m is None]
        sent = _C._distributed_start("all_reduce", _C.concat(rest), op="mean", group=group) if rest else None
        used = [m for m in matrices if m is not None]
        approximate = iter(self._approximated(used, bucket))
        told = iter([] if sent is None else sent.wait().split([part.size for part in rest]))
        found = [next(told if m is None else approximate).reshape([-1]) for m in matrices]
        if self.error_feedback:
            self._errors[bucket.index] = _C.concat(
                [
                    _C.zeros_like(part) if m is None else (m.reshape([-1]) - part)
                    for part, m in zip(found, matrices, strict=True)
                ]
            )
        return _C.concat(found)

    def _pays(self, gradient: Tensor) -> bool:
        if gradient.ndim < 2 or not gradient.size or gradient.dtype.name not in ("float32", "float64"):
            return False
        n, m = gradient.shape[0], math.prod(gradient.shape[1:])
        return min(n, m, self.rank) * (n + m) * self.min_compression < n * m

    def _approximated(self, matrices: list[Tensor], bucket: GradientBucket) -> list[Tensor]:
        """Returns matrices of low rank near the means."""
        if not matrices:
            return []
        group = bucket.group.name
        bases = self._bases.get(bucket.index)
        if bases is None or not self.warm_start:
            bases = [self._drawn(m) for m in matrices]
        columns = _reduced([m @ q for m, q in zip(matrices, bases, strict=True)], group)
        left = [qr(p.cpu()).Q.to(p.device) for p in columns]  # few columns, and LAPACK is on the CPU
        right = _reduced([m.mT @ p for m, p in zip(matrices, left, strict=True)], group)
        self._bases[bucket.index] = right
        return [p @ q.mT for p, q in zip(left, right, strict=True)]

    def _drawn(self, matrix: Tensor) -> Tensor:
        shape = [matrix.shape[1], min(*matrix.shape, self.rank)]
        return _C.randn(shape, dtype=matrix.dtype, generator=self._draws).to(matrix.device)


def _reduced(parts: list[Tensor], group: str) -> list[Tensor]:
    """Returns the means of tensors over the processes, in one message."""
    flat = all_reduce(_C.concat([part.reshape([-1]) for part in parts]), "mean", group=group)
    return [piece.reshape(part.shape) for piece, part in zip(flat.split([p.size for p in parts]), parts, strict=True)]
