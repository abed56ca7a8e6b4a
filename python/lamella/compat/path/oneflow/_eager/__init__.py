"""Names of OneFlow's eager interface that mean something else in the torch front, or that it does not have.

The package has the front's paths below it: ``oneflow.nn.MSELoss`` is ``oneflow._eager.nn.MSELoss``, and
``oneflow.nn.Linear``, which is not here, ``torch.nn.Linear``.
"""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch  # type: ignore[import-not-found]
import torch.nn.functional as F  # type: ignore[import-not-found]  # noqa: N812 (its usual name)
from torch.nn.functional import (  # type: ignore[import-not-found]
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    gelu,
    mish,
    pad,
    silu,
    softplus,
    softshrink,
    softsign,
)

from lamella.compat import regions

from .. import comm
from . import _tensor
from ._indexing import (
    batch_gather,
    broadcast_like,
    gather_nd,
    in_top_k,
    roc_auc_score,
    scatter_nd,
    slice,
    slice_update,
    tensor_scatter_nd_update,
)
from ._making import (
    arange,
    as_tensor,
    empty,
    empty_like,
    empty_strided,
    eye,
    full,
    full_like,
    hann_window,
    linspace,
    logspace,
    normal,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    tensor,
    zeros,
    zeros_like,
)
from .nn.functional import deform_conv2d, quick_gelu, square_relu

nms = regions.nms

#: OneFlow's int has 32 bits, as C's.
char = torch.int8


def Generator(device: Any = "auto") -> torch.Generator:  # noqa: N802 (OneFlow's name)
    """Returns a generator of random numbers; one of any device is the CPU's."""
    return torch.Generator(device="cpu" if device == "auto" else device)


def cast(x: torch.Tensor, dtype: Any) -> torch.Tensor:
    """Returns the elements in another dtype."""
    return x.to(dtype)


def expand(input: torch.Tensor, *sizes: int | Sequence[int]) -> torch.Tensor:
    """Returns the tensor with axes of size 1 repeated; -1 keeps a size."""
    return input.expand(*sizes)


def repeat(input: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """Returns the tensor repeated along each axis."""
    return input.repeat(*sizes)


def view(input: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Returns the elements in another shape."""
    return input.view(*shape)


def contiguous(input: torch.Tensor) -> torch.Tensor:
    """Returns the tensor with its elements in the order of its axes."""
    return input.contiguous()


def norm(input: torch.Tensor, p: Any = None, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> torch.Tensor:
    """Returns a norm: of a matrix as :func:`torch.linalg.norm` has it, where torch's flattens."""
    return torch.linalg.norm(input, None if p == "fro" and input.ndim != 2 else p, dim, keepdim, dtype=dtype)


def unique(
    input: torch.Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dtype: Any = torch.int32,
) -> Any:
    """Returns the elements without repetitions; where they are found and how often is told in ``dtype``."""
    found = torch.unique(input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    if not isinstance(found, tuple):
        return found
    return (found[0], *(each.to(dtype) for each in found[1:]))


def masked_fill(input: torch.Tensor, mask: torch.Tensor, value: Any) -> torch.Tensor:
    """Returns the elements, and ``value`` where the mask is true or not 0."""
    return torch.masked_fill(input, mask.to(torch.bool), value)


def masked_select(input: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Returns the elements where the mask is true or not 0."""
    return torch.masked_select(input, mask.to(torch.bool))


def where(condition: torch.Tensor, x: Any = None, y: Any = None) -> Any:
    """Returns elements of ``x`` where the condition is true or not 0, and of ``y`` elsewhere."""
    condition = condition.to(torch.bool)
    return torch.where(condition) if x is None else torch.where(condition, x, y)


def roi_align(
    x: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_h: int,
    pooled_w: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """Returns regions as cells of means of interpolated points."""
    return regions.roi_align(x, rois, spatial_scale, pooled_h, pooled_w, sampling_ratio, aligned)


def to_global(input: torch.Tensor, placement: Any = None, sbp: Any = None, **kwargs: Any) -> torch.Tensor:
    """Makes a global tensor of what each process has; see the method."""
    return input.to_global(placement, sbp, **kwargs)


local_to_global = global_to_global = to_global


def to_local(input: torch.Tensor) -> torch.Tensor:
    """Returns the process's part of a global tensor."""
    return input.to_local()
