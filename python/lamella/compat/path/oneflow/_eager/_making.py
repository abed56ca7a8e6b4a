"""Functions that make tensors, which may be global: all processes make the whole, and each keeps its part."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from lamella import distributed


def _placed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function with the parameters ``placement`` and ``sbp``."""

    @functools.wraps(function)
    def make(*args: Any, placement: Any = None, sbp: Any = None, **kwargs: Any) -> Any:
        if placement is None:
            if sbp is not None:
                raise TypeError(f"[{function.__name__}] sbp belongs to a placement: give both")
            return function(*args, **kwargs)
        if sbp is None:
            raise TypeError(f"[{function.__name__}] a global tensor needs sbp, too")
        wants_gradient = kwargs.pop("requires_grad", False)
        made = distributed.distribute(function(*args, **kwargs), placement, sbp)
        return made.requires_grad_() if wants_gradient else made

    return make


def _randint_like(input: torch.Tensor, *bounds: int, dtype: Any = torch.int64, **kwargs: Any) -> torch.Tensor:
    """Returns random integers in the shape of a tensor, in int64 whatever the tensor's dtype is."""
    return torch.randint_like(input, *bounds, dtype=dtype, **kwargs)


arange, empty, eye, linspace = map(_placed, (torch.arange, torch.empty, torch.eye, torch.linspace))
full, full_like, ones, ones_like = map(_placed, (torch.full, torch.full_like, torch.ones, torch.ones_like))
rand, randint, randn, randperm = map(_placed, (torch.rand, torch.randint, torch.randn, torch.randperm))
empty_like, rand_like, randn_like = map(_placed, (torch.empty_like, torch.rand_like, torch.randn_like))
tensor, zeros, zeros_like = map(_placed, (torch.tensor, torch.zeros, torch.zeros_like))
randint_like = _placed(_randint_like)
