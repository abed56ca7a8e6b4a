"""The base of all transforms, and their inverses."""

from __future__ import annotations

from typing import Any

from ..._C import Tensor
from .. import constraints
from .._support import Shape


class Transform:
    """A map from `domain` to `codomain`, the constraints that its arguments and results lie in.

    ``t(x)`` applies it, ``t.inv`` is the inverse, as a transform. A subclass defines `_call` and, where the map has an
    inverse, `_inverse`; :meth:`log_abs_det_jacobian` where `bijective` is True.

    Args:
        cache_size: 1 keeps the latest pair of argument and result, so that the inverse of a result is the very
            argument, without rounding and at no cost; 0 keeps none.

    Raises:
        ValueError: for another cache size.
    """

    #: True for a map that is one to one on its domain and codomain.
    bijective: bool = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"[{type(self).__name__}] cache_size is 0 or 1, not {cache_size}")
        self._cache_size = cache_size
        self._cached: tuple[Tensor, Tensor] | None = None
        super().__init__()  # that of a class beside this one, such as Module

    def __getstate__(self) -> dict[str, Any]:
        # The cached pair may have a place on the tape, which cannot be copied.
        return {**vars(self), "_cached": None}

    @property
    def event_dim(self) -> int:
        """Number of axes of an event, where domain and codomain agree in it.

        Raises:
            ValueError: where they do not.
        """
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError(f"[{type(self).__name__}] use domain.event_dim or codomain.event_dim: they differ")
        count: int = self.domain.event_dim
        return count

    @property
    def sign(self) -> int | Tensor:
        """1 for an increasing map of single numbers, -1 for a decreasing one.

        Raises:
            NotImplementedError: for maps that are neither.
        """
        raise NotImplementedError(f"[{type(self).__name__}] sign: neither increasing nor decreasing")

    @property
    def inv(self) -> Transform:
        """The inverse, whose inverse is this transform."""
        return InverseTransform(self)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Returns the same map with another size of the cache."""
        if cache_size == self._cache_size:
            return self
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        Transform.__init__(new, cache_size)
        return new

    def __call__(self, x: Tensor) -> Tensor:
        """Returns the map of x, whose rightmost ``domain.event_dim`` axes are an event."""
        if self._cached is not None and self._cached[0] is x:
            return self._cached[1]
        y = self._call(x)
        if self._cache_size:
            self._cached = x, y
        return y

    def _invert(self, y: Tensor) -> Tensor:
        if self._cached is not None and self._cached[1] is y:
            return self._cached[0]
        x = self._inverse(y)
        if self._cache_size:
            self._cached = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"[{type(self).__name__}] _call is a subclass's to define")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"[{type(self).__name__}] there is no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns the logarithm of the absolute determinant of the Jacobian at x, where y is the map of x.

        Raises:
            NotImplementedError: where the map has no such determinant.
        """
        raise NotImplementedError(f"[{type(self).__name__}] there is no determinant")

    def forward_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape of the map of a tensor of this shape."""
        return tuple(shape)

    def inverse_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape of the inverse of a tensor of this shape."""
        return tuple(shape)

    def _check_axes(self, shape: Shape, wanted: int) -> None:
        if len(shape) < wanted:
            raise ValueError(f"[{type(self).__name__}] expected at least {wanted} axes, got the shape {list(shape)}")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class InverseTransform(Transform):
    """The inverse of a transform, which keeps that one's cache.

    Args:
        transform: What to invert.
    """

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._of = transform

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """True for a map that is one to one."""
        return self._of.bijective

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """The codomain of the inverted transform."""
        return self._of.codomain

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        """The domain of the inverted transform."""
        return self._of.domain

    @property
    def sign(self) -> int | Tensor:
        """The sign of the inverted transform."""
        return self._of.sign

    @property
    def inv(self) -> Transform:
        """The transform that this one inverts."""
        return self._of

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Returns the same map with another size of the cache."""
        return self if cache_size == self._cache_size else self._of.with_cache(cache_size).inv

    def __call__(self, x: Tensor) -> Tensor:
        """Returns the inverse of x under the inverted transform."""
        return self._of._invert(x)

    def _invert(self, y: Tensor) -> Tensor:
        return self._of(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns minus the logarithm of the inverted transform."""
        return -self._of.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape of the map of a tensor of this shape."""
        return self._of.inverse_shape(shape)

    def inverse_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape of the inverse of a tensor of this shape."""
        return self._of.forward_shape(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InverseTransform) and self._of == other._of

    def __hash__(self) -> int:
        return hash((InverseTransform, self._of))

    def __repr__(self) -> str:
        return f"{self._of!r}.inv"
