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
empty_like = _placed("empty_like")
tensor, zeros, zeros_like, hann_window = map(_placed, ("tensor", "zeros", "zeros_like", "hann_window"))
as_tensor, empty_strided = map(_placed, ("as_tensor", "empty_strided"))


def _like(input: torch.Tensor, options: dict[str, Any]) -> dict[str, Any]:
    """Returns options by which a tensor gets the dtype and the device of another, unless they say otherwise."""
    if options.get("placement") is None:
        options.setdefault("device", input.device)
    return {"dtype": input.dtype, **options}


def rand_like(input: torch.Tensor, **options: Any) -> torch.Tensor:
    """Returns uniform random numbers in the shape of a tensor; options as those of ``rand``."""
    return rand(tuple(input.shape), **_like(input, options))  # type: ignore[no-any-return]


def randn_like(input: torch.Tensor, **options: Any) -> torch.Tensor:
    """Returns normal random numbers in the shape of a tensor; options as those of ``randn``."""
    return randn(tuple(input.shape), **_like(input, options))  # type: ignore[no-any-return]


def randint_like(input: torch.Tensor, low: int = 0, high: int | None = None, **options: Any) -> torch.Tensor:
    """Returns random integers in the shape of a tensor, in int64 whatever the tensor's dtype is."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape), **_like(input, {"dtype": torch.int64, **options}))  # type: ignore[no-any-return]
