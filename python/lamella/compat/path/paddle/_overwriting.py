"""Methods that write over their tensor, in the order and with the names of Paddle's arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.methods import own

from ._methods import over

#: Functions whose arguments Paddle has in another order than Lamella's methods or by place, or takes more of.
_REORDERED = frozenset(["index_add", "index_fill", "masked_fill", "scatter", "tril", "triu"])


def methods(written: set[str]) -> Iterator[tuple[str, Callable[..., Tensor]]]:
    """Yields the names of Lamella's methods that write over their tensor, but for those ``written``, each as Paddle's.

    Arguments in Lamella's order go to Lamella's method; those by name to Paddle's function of the name.
    """
    for name in sorted(vars(Tensor)):
        if name.endswith("_") and not name.startswith("_") and name not in written and callable(own(name)):
            yield name, _DRAWN.get(name) or _named(name, own(name))


def _named(name: str, native: Callable[..., Tensor]) -> Callable[..., Tensor]:
    reordered = name[:-1] in _REORDERED

    def method(self: Tensor, *args: Any, **named: Any) -> Tensor:
        if not named and not reordered:
            return native(self, *args)
        natively = sys._getframe(1).f_globals.get("__name__", "").startswith("lamella.")
        function = None if natively else getattr(sys.modules["paddle"], name[:-1], None)
        return native(self, *args, **named) if function is None else over(name, function)(self, *args, **named)

    method.__name__ = name
    method.__doc__ = native.__doc__
    return method


_native_uniform: Any = Tensor.uniform_
_native_exponential: Any = Tensor.exponential_
_native_geometric: Any = Tensor.geometric_
_native_bernoulli: Any = Tensor.bernoulli_
_native_cauchy: Any = Tensor.cauchy_
_native_normal: Any = Tensor.normal_
_native_log_normal: Any = Tensor.log_normal_
_native_copy: Any = Tensor.copy_


def uniform_(x: Tensor, min: float = 0.0, max: float = 1.0, seed: int = 0, name: str | None = None) -> Tensor:
    """Overwrites a tensor with numbers that are uniform in ``[min, max)``; another ``seed`` than 0 is that of them."""
    drawn = {"generator": lm.Generator().manual_seed(seed)} if seed else {}
    made: Tensor = _native_uniform(x, min, max, **drawn)
    return made


def exponential_(x: Tensor, lam: float = 1.0, name: str | None = None) -> Tensor:
    """Overwrites a tensor with exponential numbers of the rate ``lam``."""
    made: Tensor = _native_exponential(x, lam)
    return made


def geometric_(x: Tensor, probs: Any, name: str | None = None) -> Tensor:
    """Overwrites a tensor with the numbers of tries up to a success of probability ``probs``."""
    made: Tensor = _native_geometric(x, probs)
    return made


def bernoulli_(x: Tensor, p: Any = 0.5, name: str | None = None) -> Tensor:
    """Overwrites a tensor with 1 with the probability ``p``, else 0."""
    made: Tensor = _native_bernoulli(x, p)
    return made


def cauchy_(x: Tensor, loc: Any = 0, scale: Any = 1, name: str | None = None) -> Tensor:
    """Overwrites a tensor with numbers of Cauchy's distribution."""
    made: Tensor = _native_cauchy(x, loc, scale)
    return made


def normal_(x: Tensor, mean: Any = 0.0, std: float = 1.0, name: str | None = None) -> Tensor:
    """Overwrites a tensor with normal numbers."""
    made: Tensor = _native_normal(x, mean, std)
    return made


def log_normal_(x: Tensor, mean: float = 1.0, std: float = 2.0, name: str | None = None) -> Tensor:
    """Overwrites a tensor with numbers whose logarithms are normal."""
    made: Tensor = _native_log_normal(x, mean, std)
    return made


def copy_(x: Tensor, other: Tensor, blocking: bool = True) -> Tensor:
    """Overwrites a tensor with the elements of another one, also a leaf that wants a gradient, as Paddle does."""
    with lm.set_grad_enabled(lm.is_grad_enabled() and not (x.is_leaf and x.requires_grad)):
        made: Tensor = _native_copy(x, other)
    return made


def _of_programs(native: Callable[..., Tensor], function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns the method that is Lamella's own to Lamella's modules."""

    def method(self: Tensor, *args: Any, **named: Any) -> Tensor:
        natively = sys._getframe(1).f_globals.get("__name__", "").startswith("lamella.")
        return (native if natively else function)(self, *args, **named)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


_DRAWN: dict[str, Callable[..., Tensor]] = {
    function.__name__: _of_programs(own(function.__name__), function)
    for function in (uniform_, exponential_, geometric_, bernoulli_, cauchy_, normal_, log_normal_, copy_)
}
