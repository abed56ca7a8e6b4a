"""Functions of networks. Those with forms of their own are written out; the others are lines of a table."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.tables.torch_nn import FUNCTIONAL as _TABLE
from lamella.nn.embedding import scaled_by_frequency, table_by_frequency

from .. import _words
from .._node_names import COMPOSED, noting
from .._plain import threshold as _threshold
from .._warnings import warn
from ._attention import multi_head_attention_forward  # noqa: F401
from ._losses import RULES
from ._parts import _canonical_mask, _mha_shape_check, _none_or_dtype  # noqa: F401


def _pool(name: str) -> Callable[..., Any]:
    native, with_indices = getattr(lm, name), getattr(lm, f"{name}_with_indices")

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        function = with_indices if return_indices else native
        return function(input, kernel_size, stride, padding, dilation, ceil_mode)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = native.__doc__
    return pool


def _adaptive_pool(name: str) -> Callable[..., Any]:
    native, with_indices = getattr(lm, name), getattr(lm, f"{name}_with_indices")

    def pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        return (with_indices if return_indices else native)(input, output_size)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = native.__doc__
    return pool


max_pool1d, max_pool2d, max_pool3d = map(_pool, ("max_pool1d", "max_pool2d", "max_pool3d"))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(
    _adaptive_pool, ("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
)


def _fractional_pool(name: str) -> Callable[..., Any]:
    native, with_indices = getattr(lm, name), getattr(lm, f"{name}_with_indices")

    def pool(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:
        function = with_indices if return_indices else native
        return function(input, kernel_size, output_size, output_ratio, random_samples=_random_samples)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = native.__doc__
    return pool


fractional_max_pool2d, fractional_max_pool3d = map(_fractional_pool, ("fractional_max_pool2d", "fractional_max_pool3d"))


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` that integers name; where ``max_norm`` is given, rows are shortened in ``weight``."""
    _check_padding("embedding", padding_idx, weight)
    _shorten(input, weight, max_norm, norm_type)
    rows = lm.embedding(input, weight, padding_idx)
    return scaled_by_frequency(rows, input, weight.shape[0]) if scale_grad_by_freq else rows


def _check_padding(name: str, padding_idx: int | None, weight: Tensor) -> None:
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AssertionError(f"[{name}] padding_idx {padding_idx} is none of {rows} rows")


def _shorten(input: Tensor, weight: Tensor, max_norm: float | None, norm_type: float) -> None:
    """Shortens the rows of a table that are named, in its memory."""
    if max_norm is not None and input.size:
        with lm.no_grad():
            named = lm.unique_values(input).astype("int64")
            weight.index_copy_(0, named, lm.renorm(lm.take(weight, named, axis=0), norm_type, 0, max_norm))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drops whole channels: of images, or elements of a matrix of channels, as older programs have them."""
    function = lm.dropout if input.ndim == 2 else lm.dropout2d
    return input.copy_(function(input.clone(), p, training)) if inplace else function(input, p, training)


def _warn_of_older(name: str) -> None:
    warn(f"[{name}] is an older name: call interpolate")


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Tensor:
    """Older name of :func:`interpolate`."""
    _warn_of_older("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Older name of :func:`interpolate` that takes the nearest element."""
    _warn_of_older("upsample_nearest")
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Older name of :func:`interpolate` by straight lines between corners."""
    _warn_of_older("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


def _lp_pool(axes: int) -> Callable[..., Tensor]:
    name = f"lp_pool{axes}d"
    native, means, largest = getattr(lm, name), getattr(lm, f"avg_pool{axes}d"), getattr(lm, f"max_pool{axes}d")

    def pool(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
        if norm_type == -math.inf:
            return -largest(-lm.abs(input), kernel_size, stride, 0, 1, ceil_mode)
        if not ceil_mode or norm_type == math.inf:
            made: Tensor = native(input, norm_type, kernel_size, stride, ceil_mode)
            return made
        # Windows that reach over the end count as whole ones, which are filled with their means.
        sizes = (kernel_size,) * axes if isinstance(kernel_size, int) else tuple(kernel_size)
        found = means(input**norm_type, kernel_size, stride, 0, True)
        norms: Tensor = (lm.sign(found) * lm.relu(lm.abs(found)) * math.prod(sizes)) ** (1.0 / norm_type)
        return norms

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = native.__doc__
    return pool


lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, (1, 2, 3))


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Minus the logarithm of the normal density with variance ``var``, a tensor or a number."""
    if not isinstance(var, Tensor):
        var = lm.full(tuple(input.shape), float(var), dtype=input.dtype, device=input.device)
    return lm.gaussian_nll_loss(input, target, var, full, eps, reduction)


_find = _words.serve(_words.Names(__name__, [("lamella.nn.functional", _TABLE, _words.FUNCTIONS)]))


_native_embedding_bag, _native_interpolate, _native_prelu = map(_find, ("embedding_bag", "interpolate", "prelu"))
_native_hardtanh = _find("hardtanh")
_native_affine_grid, _native_grid_sample = map(_find, ("affine_grid", "grid_sample"))


def _corners(name: str, align_corners: bool | None) -> bool:
    """Returns where corners lie: by default at the edges of elements, which older programs do not expect."""
    if align_corners is None:
        warn(f"[{name}] align_corners is not given, and is False, where older versions meant True: name it")
    return bool(align_corners)


@functools.wraps(_native_affine_grid)
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Places from which affine maps take the elements of images of a size."""
    made: Tensor = _native_affine_grid(theta, size, _corners("affine_grid", align_corners))
    return made


@functools.wraps(_native_grid_sample)
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Elements of images at places of a grid."""
    corners = _corners("grid_sample", align_corners)
    made: Tensor = _native_grid_sample(input, grid, mode, padding_mode, corners)
    return made


@functools.wraps(_native_hardtanh)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Brings elements into ``[min_val, max_val]``; integers stay such, and the bounds become such."""
    if min_val > max_val:
        raise ValueError(f"[hardtanh] min_val is at most max_val, got {min_val} and {max_val}")
    if isinstance(input, Tensor) and lm.isdtype(input.dtype, "integral"):
        made = lm.clip(input, int(min_val), int(max_val))
        return input.copy_(made) if inplace else made
    bounded: Tensor = _native_hardtanh(input, min_val, max_val, inplace)
    return bounded


@functools.wraps(_native_embedding_bag)
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of the rows of ``weight`` in bags of integers; ``max_norm`` is as in :func:`embedding`."""
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"[embedding_bag] per_sample_weights go with mode 'sum' only, not {mode!r}")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("[embedding_bag] scale_grad_by_freq goes with mode 'sum' or 'mean', not 'max'")
    if isinstance(input, Tensor):
        if input.ndim == 2 and offsets is not None:
            raise ValueError("[embedding_bag] offsets are for an input of one axis; of two axes, rows are the bags")
        if input.ndim == 1 and offsets is None:
            raise ValueError("[embedding_bag] an input of one axis needs offsets, where its bags begin")
        _check_padding("embedding_bag", padding_idx, weight)
        _shorten(input, weight, max_norm, norm_type)
    made: Tensor = _native_embedding_bag(
        input,
        table_by_frequency(weight, input) if scale_grad_by_freq else weight,
        offsets,
        mode=mode,
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset and offsets is not None,  # rows are bags whatever it says
        padding_idx=padding_idx,
    )
    return made


#: Modes of :func:`interpolate` that tell where corners lie.
_WITH_CORNERS = ("linear", "bilinear", "bicubic", "trilinear")


@functools.wraps(_native_interpolate)
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Other sizes of the last axes; ``align_corners`` is for modes that interpolate between elements."""
    if align_corners is not None and mode not in _WITH_CORNERS:
        raise ValueError(
            f"[interpolate] align_corners is for the modes {', '.join(_WITH_CORNERS)}, not for {mode!r}: leave it out"
        )
    for name, given in (("size", size), ("scale_factor", scale_factor)):
        if isinstance(given, (list, tuple)) and len(given) != input.ndim - 2:
            raise ValueError(
                f"[interpolate] {name} is a number, or one for each of the {input.ndim - 2} axes behind the channels, "
                f"not {given}"
            )
    made: Tensor = _native_interpolate(
        input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
    )
    return made


@functools.wraps(_native_prelu)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Slopes below 0: one, or one for each channel, which lie along axis 1."""
    if isinstance(input, Tensor) and input.ndim < 2 and weight.ndim == 1 and weight.shape[0] != 1:
        raise RuntimeError(
            f"[prelu] weight has {weight.shape[0]} elements, expected 1 for an input of {input.ndim} axes, "
            "which has no channels"
        )
    made: Tensor = _native_prelu(input, weight)
    return made


for _name, _rule in RULES.items():
    _made = _rule(_name, _find(_name))
    globals()[_name] = noting(_name, _made) if _name in COMPOSED else _made


def _axis_of(name: str, input: Tensor, dim: int | None, level: int) -> int:
    """Returns the axis of a softmax: where a program names none, the one that PyTorch takes, and a warning says so."""
    if dim is not None:
        return dim
    chosen = 0 if input.ndim in (0, 1, 3) else 1
    warnings.warn(
        f"{name} is computed along dim {chosen} of {input.ndim}, as none is named: name one", stacklevel=level
    )
    return chosen


def _with_axis(name: str) -> Callable[..., Tensor]:
    native: Callable[..., Tensor] = _find(name)

    @functools.wraps(native)
    def function(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
        return native(input, _axis_of(name, input, dim, _stacklevel), _stacklevel, dtype)

    return function


softmax, log_softmax, softmin = map(_with_axis, ("softmax", "log_softmax", "softmin"))


def threshold(input: Tensor, threshold: Any, value: Any, inplace: bool = False) -> Tensor:
    """See :func:`torch.threshold`; where ``inplace`` is set, in the memory of ``input``."""
    return input.copy_(_threshold(input.clone(), threshold, value)) if inplace else _threshold(input, threshold, value)


__getattr__ = _find

# The in-place functions of PyTorch are Lamella's, too, or write a result over their argument.
_IN_PLACE = ["celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "rrelu_", "selu_", "threshold_"]


def _in_place(name: str) -> Callable[..., Tensor]:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        made: Tensor = getattr(lm.nn.functional, name.removesuffix("_"))(input.clone(), *args, **kwargs)
        return input.copy_(made)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name.removesuffix('_')}(), written over its argument."
    return function


for _name in _IN_PLACE:
    globals()[_name] = _in_place(_name)
relu_ = lm.relu_
