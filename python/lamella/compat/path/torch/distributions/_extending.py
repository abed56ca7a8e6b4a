"""Methods that subclasses of distributions, transforms and constraints call on their base classes."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import lamella as lm
from lamella import distributions as native
from lamella.compat.dialect import by_other_names
from lamella.distributions import constraints, kl, transforms
from lamella.distributions.multivariate_normal import mahalanobis, precision_to_scale_tril
from lamella.distributions.transforms.transform import InverseTransform

from .._default_dtype import get_default_dtype
from .._size import Size

_batch_mahalanobis, _precision_to_scale_tril = mahalanobis, precision_to_scale_tril


def _expand(method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns expand() that fills an instance where it is given one, as subclasses of the class do."""

    @functools.wraps(method)
    def expand(self: native.Distribution, batch_shape: Any, _instance: Any = None) -> Any:
        made = method(self, tuple(batch_shape))
        if _instance is None:
            return made
        vars(_instance).update(vars(made))
        return _instance

    return expand


def _get_checked_instance(self: Any, cls: type, _instance: Any = None) -> Any:
    """Returns an instance without parameters, for expand() of a class with a constructor of its own to fill."""
    if _instance is not None:
        return _instance
    if type(self).__init__ is not cls.__init__:  # type: ignore[misc]
        raise NotImplementedError(
            f"[{type(self).__name__}] expand is to be defined by a subclass of {cls.__name__} with its own __init__"
        )
    return object.__new__(type(self))


def _validate_sample(self: Any, value: Any) -> None:
    """Raises ``ValueError`` for a value of another shape, or outside of the support."""
    self._check_shape(value)
    support = self.support
    if support is not None and not lm.all(support.check(value)):
        raise ValueError(f"[{type(self).__name__}] value: expected values of {support!r}")


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Registers a divergence for two classes, also those that distributions derive from beside their base class."""

    def register(function: Any) -> Any:
        kl._REGISTERED[type_p, type_q] = function
        kl._found.cache_clear()
        return function

    return register


def _clipped_sigmoid(x: Any) -> Any:
    """Returns the sigmoid, kept off 0 and 1 by the least that the dtype holds."""
    limits = lm.finfo(x.dtype)
    return lm.clip(lm.sigmoid(x), limits.smallest_normal, 1 - limits.eps)


def _cached_pair(self: Any) -> tuple[Any, Any]:
    return (None, None) if self._cached is None else self._cached


def _set_cached_pair(self: Any, pair: tuple[Any, Any]) -> None:
    self._cached = None if pair[0] is None and pair[1] is None else pair


def _kinds(base: type) -> Iterator[type]:
    yield base
    below: list[type] = type.__subclasses__(base)
    for each in below:
        yield from _kinds(each)


_base: Any = native.Distribution
_native_extended: Any = _base._extended_shape
_base.batch_shape = property(lambda self: Size(self._batch_shape), doc="Shape of the parameters.")
_base.event_shape = property(lambda self: Size(self._event_shape), doc="Shape of one draw.")
_base._extended_shape = lambda self, sample_shape=(): Size(_native_extended(self, sample_shape))
_base._get_checked_instance = _get_checked_instance
_base._validate_sample = _validate_sample
for _kind in set(_kinds(_base)):
    for _name in ("sample", "rsample"):
        if _name in vars(_kind):
            setattr(_kind, _name, by_other_names(vars(_kind)[_name], {"shape": "sample_shape"}))
    if "expand" in vars(_kind):
        _kind.expand = _expand(vars(_kind)["expand"])  # type: ignore[attr-defined]

_support: Any = importlib.import_module("lamella.distributions._support")
_support.dtype_of_numbers = get_default_dtype
for _part in (transforms.CatTransform, transforms.StackTransform):
    _any: Any = _part
    _any.__init__ = by_other_names(_part.__init__, {"axis": "dim"})
    _any.dim = property(lambda self: self.axis, doc="The axis.")

_inverse: Any = InverseTransform
_inverse._inv = property(lambda self: self.inv, doc="The transform that this one inverts.")
_transforms: Any = transforms
_transforms._InverseTransform = InverseTransform
_transforms._clipped_sigmoid = _clipped_sigmoid
_transform: Any = native.Transform
_transform._inv_call = _transform._invert
_transform._cached_x_y = property(_cached_pair, _set_cached_pair, doc="The latest pair of argument and result.")
_kl: Any = kl
_kl._KL_REGISTRY = kl._REGISTERED
_kl.register_kl = register_kl
_package: Any = native
_package.register_kl = register_kl
_constraints: Any = constraints
_constraints._DependentProperty = constraints.dependent_property
_constraints._IndependentConstraint = constraints.independent
