"""Functions that make tensors, which may be global: all processes make the whole, and each keeps its part."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch  # type: ignore[import-not-found]

from lamella import distributed


def _placed(name: str) -> Callable[..., Any]:
    """Returns a function of the torch front with the parameters ``placement`` and ``sbp``.

    The front is asked for its function with each call: another default dtype makes it another one.
    """

    @functools.wraps(getattr(torch, name))
    def make(*args: Any, placement: Any = None, sbp: Any = None, **kwargs: Any) -> Any:
        function = getattr(torch, name)
        if placement is None:
            if sbp is not None:
                raise TypeError(f"[{name}] sbp belongs to a placement: give both")
            return function(*args, **kwargs)
        if sbp is None:
            raise TypeError(f"[{name}] a global tensor needs sbp, too")
        wants_gradient = kwargs.pop("requires_grad", False)
        made = distributed.distribute(function(*args, **kwargs), placement, sbp)
        return made.requires_grad_() if wants_gradient else made

    return make


arange, empty, eye, linspace, logspace = map(_placed, ("arange", "empty", "eye", "linspace", "logspace"))
full, full_like, ones, ones_like = map(_placed, ("full", "full_like", "ones", "ones_like"))
rand, randint, randn, randperm, normal = map(_placed, ("rand", "randint", "randn", "randperm", "normal"))
empty_like, rand_like, randn_like = map(_placed, ("empty_like", "rand_like", "randn_like"))
tensor, zeros, zeros_like, hann_window = map(_placed, ("tensor", "zeros", "zeros_like", "hann_window"))
as_tensor, empty_strided = map(_placed, ("as_tensor", "empty_strided"))
_randint_like = _placed("randint_like")


def randint_like(input: torch.Tensor, *bounds: int, dtype: Any = torch.int64, **kwargs: Any) -> torch.Tensor:
    """Returns random integers in the shape of a tensor, in int64 whatever the tensor's dtype is."""
    return _randint_like(input, *bounds, dtype=dtype, **kwargs)  # type: ignore[no-any-return]
