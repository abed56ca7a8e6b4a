"""The base of all distributions."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._deviance import exact_difference
from ._support import Shape, expanded, lazy_property


class Distribution:
    """A distribution of events, or a batch of such distributions with parameters of their own.

    A sample has the shape ``[*sample_shape, *batch_shape, *event_shape]``. The tensors that an instance holds begin
    with the batch shape, but for those named in `_unbatched`; :meth:`expand` relies on that.

    Args:
        batch_shape: The shape of the parameters, less the axes of an event.
        event_shape: The shape of one draw.
        validate_args: Checks parameters here, and values where they are evaluated. None stands for the default, see
            :meth:`set_default_validate_args`. Checks read numbers, and so wait for a device.

    Raises:
        ValueError: where a parameter is not in its constraint.
    """

    #: By the name of a parameter, the set that it lies in.
    arg_constraints: ClassVar[Mapping[str, Any]] = {}
    #: The set of possible events; a property where it depends on the parameters.
    support: Any = None
    #: True where :meth:`rsample` is there, whose results have gradients by the parameters.
    has_rsample: bool = False
    #: True where :meth:`enumerate_support` is there.
    has_enumerate_support: bool = False

    _validate_args: bool = __debug__
    _unbatched: ClassVar[frozenset[str]] = frozenset()
    # True in a float64 stand-in for narrower parameters and values, products of which are not rounded.
    _exact_products: bool = False

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Says whether distributions made from now on check their arguments. At first they do, but under ``python -O``.

        Raises:
            TypeError: for what is not a bool.
        """
        if not isinstance(value, bool):
            raise TypeError(f"[set_default_validate_args] expected a bool, got {type(value).__name__}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None) -> None:
        self._batch_shape = tuple(batch_shape)
        self._event_shape = tuple(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()  # that of a class beside this one

    def _check_parameters(self) -> None:
        held = vars(self._holder())
        for name, constraint in self.arg_constraints.items():
            value = held.get(name)
            # Parameters that are computed of others are theirs to get right.
            if value is None or constraints.is_dependent(constraint):
                continue
            if not lm.all(constraint.check(value)):
                raise ValueError(
                    f"[{type(self).__name__}] {name}: expected values of {constraint!r}, got {_shown(value)}; "
                    "validate_args=False leaves this check out"
                )

    def _holder(self) -> Distribution:
        """Returns the distribution whose attributes the parameters are: this one, or the one that it is made of."""
        return self

    def _given_parameters(self) -> dict[str, Tensor]:
        """Returns the parameters that were given, without those that were computed of others."""
        holder = self._holder()
        held, kind = vars(holder), type(holder)
        computed = {name for name in held if isinstance(getattr(kind, name, None), lazy_property)}
        computed.discard(held.get("_given", ""))
        names = [name for name in self.arg_constraints if name not in computed]
        return {name: held[name] for name in names if isinstance(held.get(name), Tensor)}

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the distributions that are in this one."""
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one draw."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean, of shape ``[*batch_shape, *event_shape]``."""
        raise self._has_no("mean")

    @property
    def mode(self) -> Tensor:
        """The event of the greatest probability, or density."""
        raise self._has_no("mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element of an event."""
        raise self._has_no("variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each element of an event."""
        return lm.sqrt(self.variance)

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws, through which no gradient flows.

        Args:
            shape: How many, ``[*shape, *batch_shape, *event_shape]`` is the result's shape.
            generator: What to draw from, the default generator of the parameters' device without it.
        """
        with lm.no_grad():
            return draws_of(self.rsample, shape, generator)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by the parameters, where `has_rsample` is True; see :meth:`sample`.

        Raises:
            NotImplementedError: where the draws are no differentiable function of the parameters.
        """
        raise NotImplementedError(
            f"[{type(self).__name__}] rsample: draws are no differentiable function of the parameters; use sample, and "
            "log_prob for a gradient"
        )

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability, or of the density, of each event.

        Args:
            value: Events, of a shape that broadcasts with ``[*batch_shape, *event_shape]``.

        Raises:
            ValueError: with `validate_args`, for another shape and for events outside of the support.
        """
        raise self._has_no("log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of events up to `value`."""
        raise self._has_no("cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantile of each probability, the inverse of :meth:`cdf`."""
        raise self._has_no("icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Returns all events along a new first axis; `expand` repeats them for each distribution of the batch.

        Raises:
            NotImplementedError: where there are infinitely many, or different ones in a batch.
        """
        raise NotImplementedError(f"[{type(self).__name__}] enumerate_support: the events cannot be enumerated")

    def entropy(self) -> Tensor:
        """Returns the entropy in nats, of shape ``batch_shape``."""
        raise self._has_no("entropy")

    def perplexity(self) -> Tensor:
        """Returns exp(entropy), of shape ``batch_shape``."""
        return lm.exp(self.entropy())

    def expand(self, batch_shape: Shape) -> Self:
        """Returns the distribution with its parameters broadcast to a larger batch shape, without copying them.

        Raises:
            ValueError: where the batch shape does not broadcast to it.
        """
        shape = tuple(batch_shape)
        self._check_expand(shape)
        new = object.__new__(type(self))
        for name, value in vars(self).items():
            vars(new)[name] = value if name in self._unbatched else self._expanded(value, shape)
        new._batch_shape = shape
        return new

    def _check_expand(self, shape: tuple[int, ...]) -> None:
        fits = False
        with contextlib.suppress(ValueError):
            fits = lm.broadcast_shapes(self._batch_shape, shape) == shape
        if not fits:
            raise ValueError(
                f"[{type(self).__name__}] the batch shape {list(self._batch_shape)} cannot be expanded to {list(shape)}"
            )

    def _expanded(self, value: Any, shape: tuple[int, ...]) -> Any:
        count = len(self._batch_shape)
        if isinstance(value, Tensor):
            return expanded(value, shape + value.shape[count:])
        if isinstance(value, Distribution):
            return value.expand(shape + value.batch_shape[count:])
        return value

    def _in_double(self) -> Self:
        """Returns the distribution with its parameters in float64."""
        new = object.__new__(type(self))
        for name, value in vars(self).items():
            wide = isinstance(value, Tensor) and lm.isdtype(value.dtype, "real floating")
            vars(new)[name] = value.astype("float64") if wide else value
        return new

    def _excess(self, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        """Returns ``a b - c`` of exact products, which those of narrower numbers are in float64."""
        return a * b - c if self._exact_products else exact_difference(a, b, c)

    def _extended_shape(self, sample_shape: Shape = ()) -> tuple[int, ...]:
        """Returns the shape of draws."""
        if not isinstance(sample_shape, Sequence):
            kind = type(sample_shape).__name__
            raise TypeError(f"[{type(self).__name__}] shape: expected a sequence of lengths, got {kind}")
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def _checked(self, value: Tensor) -> Tensor:
        """Returns a value, integers in the parameters' dtype; raises for what is no event, where that is validated."""
        if not isinstance(value, Tensor):
            raise TypeError(f"[{type(self).__name__}] value: expected a Tensor, got {type(value).__name__}")
        if self._validate_args:
            self._check_shape(value)
            support = self.support
            if support is not None and not lm.all(support.check(value)):
                raise ValueError(f"[{type(self).__name__}] value: expected values of {support!r}, got {_shown(value)}")
        # Functions of integers are float32, which may be less than the parameters are.
        return value if lm.isdtype(value.dtype, "real floating") else value.astype(parameter_of(self).dtype)

    def _check_probability(self, value: Tensor) -> None:
        """Raises, where arguments are validated, for what is no probability."""
        if self._validate_args and not lm.all((value >= 0) & (value <= 1)):
            raise ValueError(f"[{type(self).__name__}] icdf: expected probabilities in [0, 1], got {_shown(value)}")

    def _check_shape(self, value: Tensor) -> None:
        count = len(self._event_shape)
        shape = self._batch_shape + self._event_shape
        fits = value.shape[value.ndim - count :] == self._event_shape
        if fits:
            try:
                lm.broadcast_shapes(value.shape, shape)
            except ValueError:
                fits = False
        if not fits:
            raise ValueError(
                f"[{type(self).__name__}] value: the shape {list(value.shape)} does not broadcast with the batch shape "
                f"{list(self._batch_shape)} and the event shape {list(self._event_shape)}"
            )

    def _has_no(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"[{type(self).__name__}] {what} has no closed form here")

    def __repr__(self) -> str:
        parts = [
            f"{name}: {value.item() if value.size == 1 else list(value.shape)}"
            for name, value in self._given_parameters().items()
        ]
        return f"{type(self).__name__}({', '.join(parts)})"


def draws_of(method: Callable[..., Tensor], shape: Shape, generator: Generator | None) -> Tensor:
    """Returns draws of another distribution; one whose class was written elsewhere may take no generator."""
    return method(shape) if generator is None else method(shape, generator=generator)


def quantiles_in_double(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Makes ``icdf`` check its probabilities and compute in float64, as :func:`in_double` does of densities."""

    @functools.wraps(method)
    def call(self: Distribution, value: Tensor) -> Tensor:
        self._check_probability(value)
        dtype = lm.result_type(parameter_of(self), value)
        return method(self._in_double(), value.astype("float64")).astype(dtype)

    return call


def in_double(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Makes a method compute in float64, and gives its result the dtype of the parameters and the value.

    Densities that are quotients of gamma functions are small differences of large logarithms: in float32 nothing
    would be left of them for counts and concentrations in the millions.
    """

    @functools.wraps(method)
    def call(self: Distribution, *values: Tensor) -> Tensor:
        values = tuple(self._checked(value) for value in values)
        dtype = lm.result_type(parameter_of(self), *values)
        if dtype == lm.float64 and parameter_of(self).dtype == dtype:
            return method(self, *values)
        wide = self._in_double()
        vars(wide)["_exact_products"] = dtype != lm.float64
        return method(wide, *(value.astype("float64") for value in values)).astype(dtype)

    return call


def parameter_of(distribution: Distribution) -> Tensor:
    """Returns a tensor that the distribution holds, or the one that it is made of."""
    held = vars(distribution).values()
    for value in held:
        if isinstance(value, Tensor):
            return value
    return parameter_of(next(value for value in held if isinstance(value, Distribution)))


def _shown(value: Tensor) -> str:
    """Returns few numbers as they are, and the shape of many."""
    return str(value.tolist()) if value.size <= 8 else f"a tensor of shape {list(value.shape)}"
