"""Parameters made tensors of one shape, properties computed when first asked for, and small helpers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar, overload

import lamella as lm

from .._C import Generator, Tensor

Shape: TypeAlias = Sequence[int]
#: What a parameter may be given as.
Parameter: TypeAlias = Tensor | float
#: By the name of a parameter, the constraint that it lies in.
ConstraintsByName: TypeAlias = Mapping[str, Any]

LOG_2 = math.log(2.0)
LOG_PI = math.log(math.pi)
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
EULER = 0.57721566490153286061

_T = TypeVar("_T")


def dtype_of_numbers() -> Any:
    """Returns the dtype of parameters that are given as numbers or integers only, float32."""
    return lm.float32


def as_tensors(owner: str, **values: Parameter) -> list[Tensor]:
    """Returns parameters as floating tensors of one dtype.

    Numbers take the dtype and device of the tensors beside them, or are float32 on the CPU. Integers count as float32.

    Raises:
        TypeError: for what is neither a tensor nor a real number.
    """
    tensors = [value for value in values.values() if isinstance(value, Tensor)]
    for name, value in values.items():
        if isinstance(value, Tensor):
            if lm.isdtype(value.dtype, "complex floating"):
                raise TypeError(f"[{owner}] {name}: expected real numbers, got {value.dtype.name}")
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"[{owner}] {name}: expected a Tensor or a number, got {type(value).__name__}")
    dtype = lm.result_type(*tensors) if tensors else dtype_of_numbers()
    if not lm.isdtype(dtype, "real floating"):
        dtype = dtype_of_numbers()
    device = str(tensors[0].device) if tensors else "cpu"
    return [
        (value if value.dtype == dtype else value.astype(dtype))
        if isinstance(value, Tensor)
        else lm.full([], value, dtype=dtype, device=device)
        for value in values.values()
    ]


def common_shape(owner: str, **shapes: Shape) -> tuple[int, ...]:
    """Returns the shape that all of these broadcast to; ValueError where there is none."""
    try:
        return lm.broadcast_shapes(*shapes.values())
    except ValueError:
        told = ", ".join(f"{name}: {list(shape)}" for name, shape in shapes.items())
        raise ValueError(f"[{owner}] the shapes of the parameters do not broadcast ({told})") from None


def broadcast_all(owner: str, **values: Parameter) -> list[Tensor]:
    """Returns parameters as floating tensors of one dtype and of their common shape."""
    given = list(values.values())
    first = given[0]
    if isinstance(first, Tensor) and lm.isdtype(first.dtype, "real floating"):
        # The most common case, by the fewest steps; the very tensors that were given remain leaves.
        dtype, shape = first.dtype, first.shape
        if all(isinstance(value, Tensor) and value.dtype == dtype and value.shape == shape for value in given[1:]):
            return given  # type: ignore[return-value]
    tensors = as_tensors(owner, **values)
    shape = common_shape(owner, **{name: tensor.shape for name, tensor in zip(values, tensors, strict=True)})
    return [expanded(tensor, shape) for tensor in tensors]


def expanded(x: Tensor, shape: Shape) -> Tensor:
    """Returns x broadcast to a shape, and x itself where it has that shape."""
    return x if x.shape == tuple(shape) else lm.broadcast_to(x, tuple(shape))


def exactly_one(owner: str, **values: _T | None) -> tuple[str, _T]:
    """Returns the name and the value of the one argument that is not None; ValueError for none and for several."""
    given = {name: value for name, value in values.items() if value is not None}
    if len(given) != 1:
        names = " and ".join(values) if len(values) == 2 else ", ".join(values)
        raise ValueError(f"[{owner}] expected exactly one of {names}, got {', '.join(given) or 'none of them'}")
    return next(iter(given.items()))


def drawn(kind: Callable[..., Tensor], like: Tensor, shape: Shape, generator: Generator | None) -> Tensor:
    """Returns `kind(shape)`, numbers of a fixed distribution (`lm.rand`, `lm.randn`), in the dtype of a parameter."""
    return kind(tuple(shape), dtype=like.dtype, device=str(like.device), generator=generator)


def open_uniform(like: Tensor, shape: Shape, generator: Generator | None) -> Tensor:
    """Returns uniform numbers in (0, 1), at both ends of which logarithms or quantiles are infinite.

    Numbers are multiples of eps / 2; 0 stands for those below, half as large on the average.
    """
    eps = lm.finfo(like.dtype).eps
    return lm.clip(drawn(lm.rand, like, shape, generator), eps / 4, 1 - eps / 2)


def gumbel(like: Tensor, shape: Shape, generator: Generator | None) -> Tensor:
    """Returns numbers of the standard Gumbel distribution, minus the logarithms of exponential ones."""
    waits = drawn(lm.exponential, like, shape, generator)
    return -lm.log(lm.clip(waits, lm.finfo(like.dtype).eps / 4))


def clipped_probs(probs: Tensor) -> Tensor:
    """Returns probabilities kept off 0 and 1 by the least that the dtype holds, so that their logarithms are finite."""
    limits = lm.finfo(probs.dtype)
    return lm.clip(probs, limits.smallest_normal, 1 - limits.eps / 2)


def sum_rightmost(x: Tensor, count: int) -> Tensor:
    """Returns the sum over the last axes, x itself for a count of 0."""
    return x if count == 0 else lm.sum(x, axis=tuple(range(-count, 0)))


def on_diagonal(x: Tensor) -> Tensor:
    """Returns the diagonal of the matrices in the last two axes."""
    return lm.diagonal(x, offset=0, axis1=-2, axis2=-1)


def with_identity(matrix: Tensor) -> Tensor:
    """Returns the identity of a matrix's size, dtype and device."""
    return lm.eye(matrix.shape[-1], dtype=matrix.dtype, device=str(matrix.device))


class lazy_property(Generic[_T]):  # noqa: N801 (a decorator, as property)
    """A property that is computed when first asked for, and kept.

    It is recorded in any gradient mode, and one that a gradient flows through is not kept: each backward pass walks,
    and frees, a graph of its own.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[_T]: ...
    @overload
    def __get__(self, instance: Any, owner: type) -> _T: ...
    def __get__(self, instance: Any, owner: type) -> _T | lazy_property[_T]:
        if instance is None:
            return self
        with lm.enable_grad():
            value = self._compute(instance)
        if not isinstance(value, Tensor) or value.stop_gradient:
            instance.__dict__[self._name] = value
        return value


def adopt(instance: Any, **values: Parameter) -> tuple[int, ...]:
    """Sets parameters of a distribution of single numbers, broadcast to one shape, and returns that shape."""
    tensors = broadcast_all(type(instance).__name__, **values)
    for name, tensor in zip(values, tensors, strict=True):
        setattr(instance, name, tensor)
    return tensors[0].shape


class ProbsOrLogits:
    """Two forms of the probability of one of two outcomes, of which an instance is given one."""

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of a success."""
        return lm.sigmoid(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        """``log(p / (1 - p))`` of the probability p of a success."""
        return lm.logit(clipped_probs(self.probs))

    @property
    def _param(self) -> Tensor:
        """The form that was given."""
        kept = vars(self)
        return kept[self._given]  # type: ignore[attr-defined, no-any-return]

    @property
    def _form(self) -> str:
        """Name of the form that densities are computed of, the one that was given."""
        return self._given  # type: ignore[attr-defined, no-any-return]

    @property
    def param_shape(self) -> tuple[int, ...]:
        """Shape of the probabilities."""
        return self._param.shape

    def _adopt_probability(
        self, probs: Parameter | None, logits: Parameter | None, **others: Parameter
    ) -> tuple[int, ...]:
        """Sets the form that was given, and other parameters; returns their common shape."""
        forms: dict[str, Parameter | None] = {"probs": probs, "logits": logits}
        value: Parameter
        self._given, value = exactly_one(type(self).__name__, **forms)
        given: dict[str, Parameter] = {self._given: value, **others}
        return adopt(self, **given)
