"""Random numbers as PyTorch's programs ask for them."""

from __future__ import annotations

import functools
import math
from typing import Any

import lamella as lm
from lamella import _C, Tensor

from ._writing import written


def randint(low: Any = 0, high: Any = None, size: Any = None, *, requires_grad: bool = False, **options: Any) -> Tensor:
    """Integers in [low, high); ``randint(high, size)`` starts at 0."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    options.pop("layout", None), options.pop("pin_memory", None)
    out, dtype = options.pop("out", None), options.pop("dtype", None)
    if dtype is None or lm.isdtype(dtype, "integral"):
        made = lm.randint(low, high, tuple(size), dtype=lm.int64 if dtype is None else dtype, **options)
    else:
        made = lm.randint(low, high, tuple(size), **options).astype(dtype)
    made = written(made, out)
    return made.requires_grad_() if requires_grad else made


def randint_like(
    input: Tensor,
    low: int = 0,
    high: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Any = None,
    **memory: Any,
) -> Tensor:
    """Integers in [low, high), or [0, low), in the shape and dtype of a tensor; options of memory change nothing."""
    low, high = (0, low) if high is None else (low, high)
    place = input.device if device is None else device
    made = lm.randint(low, high, tuple(input.shape), device=place, generator=generator)
    return made.astype(input.dtype if dtype is None else dtype)


def randperm(n: int, *, requires_grad: bool = False, **options: Any) -> Tensor:
    """The integers from 0 to ``n - 1`` in an order by chance."""
    options.pop("layout", None), options.pop("pin_memory", None)
    out, dtype = options.pop("out", None), options.pop("dtype", None)
    if dtype is None or lm.isdtype(dtype, "integral"):
        made = lm.randperm(n, dtype=lm.int64 if dtype is None else dtype, **options)
    else:
        made = lm.randperm(n, **options).astype(dtype)
    made = written(made, out)
    return made.requires_grad_() if requires_grad else made


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Tensor | None = None, **options: Any
) -> Tensor:
    """Normal numbers: of numbers in ``size``, of tensors in their shape.

    Raises:
        RuntimeError: a standard deviation is negative.
    """
    if size is not None:
        requires_grad = options.pop("requires_grad", False)
        options.pop("layout", None), options.pop("pin_memory", None)
        made: Tensor = written(lm.normal(tuple(size), mean, std, generator=generator, **options), out)
        return made.requires_grad_() if requires_grad else made
    _refuse_negative(std)
    of_tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    shape = lm.broadcast_shapes(*(x.shape for x in of_tensors))
    drawn = lm.randn(shape, dtype=of_tensors[0].dtype, device=of_tensors[0].device, generator=generator)
    found: Tensor = written(drawn * std + mean, out)
    return found


def _refuse_negative(std: Any) -> None:
    """Raises where a standard deviation is seen to be negative; values that are recorded are not looked at."""
    if not isinstance(std, Tensor):
        negative = std < 0
    elif std.device == "meta" or _C._recorder() is not None:
        return
    else:
        try:
            negative = bool(lm.any(std < 0))
        except RuntimeError:  # under vmap
            return
    if negative:
        raise RuntimeError("[normal] a standard deviation is not below 0")


def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
    """Zeros and ones, drawn with the elements as probabilities, or with ``p``."""
    drawn = lm.bernoulli(input if p is None else lm.full_like(input, p), generator=generator)
    found: Tensor = written(drawn if out is None else drawn.astype(out.dtype), out)  # 0 and 1 fit into any dtype
    return found


_native_random: Any = Tensor.random_
_native_uniform: Any = Tensor.uniform_


def random_(self: Tensor, *bounds: Any, generator: Any = None, **named: Any) -> Any:
    """Implements Tensor.random_(): integers in [from, to), in [0, to) for one number, or all of the dtype."""
    low, high = _bounds("random_", bounds, named, None, None)
    if len(bounds) == 1 and not named:
        low, high = None, low
    if low is None and high is None and self.dtype != lm.bool:
        return _native_random(self, generator=generator)
    low = 0 if low is None else int(low)
    if self.dtype == lm.bool:
        high, place = 2 if high is None else int(high), str(self.device)
        drawn = lm.randint(low, high, tuple(self.shape), device=place, generator=generator)
        return self.copy_(drawn.astype(lm.bool))
    return _native_random(self, low, None if high is None else int(high), generator=generator)


def uniform_(self: Tensor, *bounds: Any, generator: Any = None, **named: Any) -> Any:
    """Implements Tensor.uniform_(): numbers in [from, to)."""
    low, high = _bounds("uniform_", bounds, named, 0.0, 1.0)
    return _native_uniform(self, low, high, generator=generator)


def _bounds(op: str, bounds: tuple[Any, ...], named: dict[str, Any], low: Any, high: Any) -> tuple[Any, Any]:
    """Returns the bounds that were given by place or by PyTorch's words, one of which Python keeps for itself.

    Raises:
        TypeError: there are others.
    """
    twice = bool(bounds) and "from" in named and len(bounds) + len(named) > 1
    if len(bounds) + len(named) > 2 or twice or named.keys() - {"from", "to", "low", "high"}:
        raise TypeError(f"[{op}] takes the bounds 'from' and 'to', not {[*bounds, *named]}")
    low, high = named.get("low", named.get("from", low)), named.get("high", named.get("to", high))
    found = (*bounds, *(low, high)[len(bounds) :])
    return found[0], found[1]


def _standard_gamma(self: Tensor, generator: Any = None) -> Tensor:
    """Draws of gamma distributions with rate 1, whose gradient reaches the concentrations."""
    from lamella.distributions._implicit import standard_gamma  # imported late: it needs numpy

    return standard_gamma(self, tuple(self.shape), generator)


def _standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    """Derivatives of draws of gamma distributions with rate 1 with respect to the concentrations."""
    from lamella.distributions._implicit import gamma_slope  # imported late: it needs numpy

    return gamma_slope(self, output)


def _sample_dirichlet(self: Tensor, generator: Any = None) -> Tensor:
    """Draws of Dirichlet distributions, without a gradient."""
    with lm.no_grad():
        return lm.distributions.Dirichlet(self, validate_args=False).rsample(generator=generator)


@functools.cache
def _half_line() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Returns nodes and weights for integrals over s > 0 of functions that decay exponentially.

    Source: Takahasi and Mori, "Double exponential formulas for numerical integration", 1974: s = exp(v - exp(-v)).
    """
    step = 0.06
    places = [step * k for k in range(-75, 216)]
    nodes = tuple(math.exp(v - math.exp(-v)) for v in places)
    return nodes, tuple(step * (1 + math.exp(-v)) * s for v, s in zip(places, nodes, strict=True))


def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """Derivatives of draws of Dirichlet distributions with respect to their own concentrations, without the sum to 1.

    With ``I`` and ``p``, the distribution and density of ``x`` at ``alpha`` and ``total - alpha``, it is
    ``-(dI/dalpha) / p(x) / (1 - x)``. As dI/dalpha is the integral of ``p(t) (log t - mean)`` from 0 to x, and 0 from 0
    to 1, the side is taken on which the integrand keeps its sign: t = x exp(-s), or 1 - t = (1 - x) exp(-s).
    """
    nodes, weights = (lm.asarray(each, dtype=lm.float64) for each in _half_line())
    one, a, whole = (lm.expand_dims(each.detach().astype(lm.float64), -1) for each in (x, alpha, total))
    b, mean = whole - a, lm.digamma(a) - lm.digamma(whole)
    log_x, log_rest = lm.log(one), lm.log1p(-one)
    low = one * lm.exp(-nodes)
    left = lm.exp((b - 1) * (lm.log1p(-low) - log_rest) - a * nodes) * (mean - log_x + nodes)
    log_high = lm.log1p((one - 1) * lm.exp(-nodes))
    right = lm.exp((a - 1) * (log_high - log_x) - b * nodes) * (log_high - mean)
    made = lm.where(log_x < mean, one / (1 - one) * left, right)
    return lm.sum(made * weights, axis=-1).astype(x.dtype)
