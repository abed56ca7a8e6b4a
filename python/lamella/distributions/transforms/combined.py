"""Transforms made of others, of shapes, and of distributions."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import lamella as lm

from ..._C import Tensor
from .. import constraints
from .._support import Shape, sum_rightmost
from ..distribution import Distribution
from .transform import Transform


class ComposeTransform(Transform):
    """Several maps, one after the other; none of them is the identity.

    Args:
        parts: Transforms, the first of which is applied first.
        cache_size: See :class:`Transform`; every part has one of that size then.
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) if cache_size else part for part in parts]

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Returns the same map with another size of the cache."""
        if cache_size == self._cache_size:
            return self
        return ComposeTransform([part.with_cache(cache_size) for part in self.parts], cache_size)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """True where all parts are one to one."""
        return all(part.bijective for part in self.parts)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """The domain of the first part, with as many axes of an event as the parts behind it need."""
        if not self.parts:
            return constraints.real
        needed = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            needed = max(needed + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        domain = self.parts[0].domain
        return domain if needed == domain.event_dim else constraints.independent(domain, needed - domain.event_dim)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        """The codomain of the last part, with as many axes of an event as the parts before it give."""
        if not self.parts:
            return constraints.real
        given = self.parts[0].domain.event_dim
        for part in self.parts:
            given = max(given + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        codomain = self.parts[-1].codomain
        return (
            codomain if given == codomain.event_dim else constraints.independent(codomain, given - codomain.event_dim)
        )

    @property
    def sign(self) -> int | Tensor:
        """The product of the signs of all parts."""
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Transform:
        """The inverses of the parts, in the opposite order."""
        return _ComposedInverse(self)

    def _call(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._invert(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns the sum of those of the parts, each summed over what is an event of the whole."""
        if not self.parts:
            return lm.zeros_like(x)
        event_dim = self.domain.event_dim
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        terms = []
        for part, before, after in zip(self.parts, points[:-1], points[1:], strict=True):
            terms.append(sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape that the last part gives."""
        return functools.reduce(lambda at, part: part.forward_shape(at), self.parts, tuple(shape))

    def inverse_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape that the first part is given."""
        return functools.reduce(lambda at, part: part.inverse_shape(at), reversed(self.parts), tuple(shape))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((ComposeTransform, *self.parts))

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts})"


class _ComposedInverse(ComposeTransform):
    """The inverse of a composition, as a composition of inverses."""

    def __init__(self, of: ComposeTransform) -> None:
        super().__init__([part.inv for part in reversed(of.parts)])
        self._cache_size = of._cache_size
        self._of = of

    @property
    def inv(self) -> Transform:
        """The composition that this one inverts."""
        return self._of


class IndependentTransform(Transform):
    """A map of which further axes count as part of an event: determinants are summed over them.

    Args:
        base_transform: The map.
        reinterpreted_batch_ndims: Number of axes, to the left of those of an event, that become part of it.
        cache_size: See :class:`Transform`.
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size) if cache_size else base_transform
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """True where the map is one to one."""
        return self.base_transform.bijective

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """The map's domain, with further axes."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        """The map's codomain, with further axes."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def sign(self) -> int | Tensor:
        """The map's sign."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        self._check_axes(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        self._check_axes(y.shape, self.codomain.event_dim)
        return self.base_transform._invert(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns that of the map, summed over the further axes."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape that the map gives."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape that the map is given."""
        return self.base_transform.inverse_shape(shape)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, IndependentTransform)
            and self.base_transform == other.base_transform
            and self.reinterpreted_batch_ndims == other.reinterpreted_batch_ndims
        )

    def __hash__(self) -> int:
        return hash((IndependentTransform, self.base_transform, self.reinterpreted_batch_ndims))

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Another shape of an event, with the same elements in the same order.

    Args:
        in_shape: The shape of an event.
        out_shape: The shape that it gets.
        cache_size: See :class:`Transform`.

    Raises:
        ValueError: where the shapes have different numbers of elements.
    """

    bijective = True

    def __init__(self, in_shape: Shape, out_shape: Shape, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(
                f"[ReshapeTransform] the shapes {list(in_shape)} and {list(out_shape)} have different numbers of "
                "elements"
            )

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """Real numbers of the shape `in_shape`."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        """Real numbers of the shape `out_shape`."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return lm.reshape(x, self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return lm.reshape(y, self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns zeros."""
        return lm.zeros(x.shape[: x.ndim - len(self.in_shape)], dtype=x.dtype, device=str(x.device))

    def forward_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape with `out_shape` in place of `in_shape` at its end."""
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape with `in_shape` in place of `out_shape` at its end."""
        return self._replaced(shape, self.out_shape, self.in_shape)

    def _replaced(self, shape: Shape, old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
        at = len(shape) - len(old)
        if at < 0 or tuple(shape[at:]) != old:
            raise ValueError(f"[ReshapeTransform] expected a shape that ends in {list(old)}, got {list(shape)}")
        return (*shape[:at], *new)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ReshapeTransform)
            and self.in_shape == other.in_shape
            and self.out_shape == other.out_shape
        )

    def __hash__(self) -> int:
        return hash((ReshapeTransform, self.in_shape, self.out_shape))

    def __repr__(self) -> str:
        return f"ReshapeTransform({list(self.in_shape)}, {list(self.out_shape)})"


class _PartsTransform(Transform):
    """Maps of the parts of a tensor along an axis."""

    def __init__(self, tseq: Sequence[Transform], axis: int, cache_size: int) -> None:
        super().__init__(cache_size)
        self.transforms = [part.with_cache(cache_size) if cache_size else part for part in tseq]
        self.axis = axis

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _joined(self, parts: Sequence[Tensor]) -> Tensor:
        raise NotImplementedError

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """True where all maps are one to one."""
        return all(part.bijective for part in self.transforms)

    def _call(self, x: Tensor) -> Tensor:
        return self._joined([part(xs) for part, xs in zip(self.transforms, self._split(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._joined([part._invert(ys) for part, ys in zip(self.transforms, self._split(y), strict=True)])


class StackTransform(_PartsTransform):
    """A map of its own for each slice along an axis.

    Args:
        tseq: A transform for each slice.
        axis: The axis, one to the left of the events.
        cache_size: See :class:`Transform`.
    """

    def __init__(self, tseq: Sequence[Transform], axis: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, axis, cache_size)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        if x.shape[self.axis] != len(self.transforms):
            raise ValueError(
                f"[StackTransform] expected length {len(self.transforms)} along axis {self.axis}, got the shape "
                f"{list(x.shape)}"
            )
        return lm.unstack(x, axis=self.axis)

    def _joined(self, parts: Sequence[Tensor]) -> Tensor:
        return lm.stack(parts, axis=self.axis)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns those of the slices, stacked."""
        parts = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return self._joined([part.log_abs_det_jacobian(xs, ys) for part, xs, ys in parts])

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """The domains of the slices."""
        return constraints.stack([part.domain for part in self.transforms], self.axis)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        """The codomains of the slices."""
        return constraints.stack([part.codomain for part in self.transforms], self.axis)


class CatTransform(_PartsTransform):
    """A map of its own for each of several parts along an axis.

    Args:
        tseq: A transform for each part.
        axis: The axis that is cut into parts.
        lengths: The length of each part, 1 by default.
        cache_size: See :class:`Transform`.

    Raises:
        ValueError: for another number of lengths than of transforms.
    """

    def __init__(
        self, tseq: Sequence[Transform], axis: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, axis, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(
                f"[CatTransform] expected a length for each of {len(self.transforms)} transforms, "
                f"got {len(self.lengths)}"
            )

    @property
    def event_dim(self) -> int:
        """The largest number of axes of an event of any part."""
        return max(part.event_dim for part in self.transforms)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        if x.shape[self.axis] != sum(self.lengths):
            raise ValueError(
                f"[CatTransform] expected length {sum(self.lengths)} along axis {self.axis}, "
                f"got the shape {list(x.shape)}"
            )
        return lm.split(x, self.lengths, axis=self.axis)

    def _joined(self, parts: Sequence[Tensor]) -> Tensor:
        return lm.concat(parts, axis=self.axis)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns those of the parts, summed over the axes of the largest event: joined, or added along an event."""
        terms = []
        for part, xs, ys in zip(self.transforms, self._split(x), self._split(y), strict=True):
            term = part.log_abs_det_jacobian(xs, ys)
            terms.append(sum_rightmost(term, self.event_dim - part.event_dim))
        axis = self.axis if self.axis < 0 else self.axis - x.ndim
        axis += self.event_dim
        return lm.concat(terms, axis=axis) if axis < 0 else functools.reduce(operator.add, terms)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """The domains of the parts."""
        return constraints.cat([part.domain for part in self.transforms], self.axis, self.lengths)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        """The codomains of the parts."""
        return constraints.cat([part.codomain for part in self.transforms], self.axis, self.lengths)


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution of single numbers, which makes its draws uniform.

    Args:
        distribution: One with `cdf` and, for the inverse, `icdf`.
        cache_size: See :class:`Transform`.
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns the distribution's ``log_prob(x)``."""
        return self.distribution.log_prob(x)
