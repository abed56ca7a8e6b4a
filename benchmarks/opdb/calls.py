"""Makes a call of ours from a sample of PyTorch's."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

import lamella as lm
from benchmarks.opdb.draws import DRAWS
from benchmarks.opdb.linalg import LINALG
from benchmarks.opdb.names import KEYWORDS, ORDER, RENAMED

#: Keyword arguments without a meaning here.
IGNORED = {"device", "layout", "memory_format", "requires_grad", "pin_memory", "copy", "foreach", "non_blocking"}

Call = Callable[..., Any]


class UntranslatedError(Exception):
    """A call that there is no way to make."""


def tensor_of(value: torch.Tensor) -> lm.Tensor:
    """A copy, of the same strides; it is differentiated if `value` is."""
    if value.device.type != "cpu":
        raise UntranslatedError(f"a tensor on {value.device}")
    plain = value.detach().resolve_conj().resolve_neg()
    result = lm.from_dlpack(plain if plain.dim() and plain.numel() else plain.clone())
    result.stop_gradient = not value.requires_grad
    return result


def translated(value: Any, tensors: dict[int, lm.Tensor]) -> Any:
    """Returns an argument; `tensors` remembers, by id, what each tensor has become."""
    if isinstance(value, torch.Tensor):
        return tensors.setdefault(id(value), tensor_of(value))
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, torch.Size):
        return list(value)
    if isinstance(value, tuple | list):
        return type(value)(translated(part, tensors) for part in value)
    if isinstance(value, dict):
        return {key: translated(part, tensors) for key, part in value.items()}
    return value


@functools.cache
def parameters(function: Call) -> Mapping[str, inspect.Parameter]:
    """Returns the function's parameters by name; none are known of some."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def function_of(name: str, variant: str = "") -> Call | None:
    """Our function for PyTorch's operator `name`; None where there is none."""
    if f"{name} {variant}" in SPECIAL:
        return SPECIAL[f"{name} {variant}"]
    *modules, last = name.split(".")
    if name in SPECIAL:
        return SPECIAL[name]
    if last.startswith("__") and last.endswith("__"):
        return getattr(lm.Tensor, last, None)
    ours = RENAMED.get(last, last)
    if name in _CASTS:
        return _cast(name)
    if modules[:1] == ["linalg"]:
        return getattr(lm.linalg, ours, None)
    places: list[Any] = [lm]
    if modules[:1] == ["fft"]:
        places = [lm.fft]
    for place in [*places, lm.linalg, lm.nn.functional if hasattr(lm.nn, "functional") else lm, lm.Tensor]:
        if hasattr(place, ours):
            return getattr(place, ours)
    return None


def call(name: str, function: Call, given: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """function(given, *args, **kwargs), all of it translated already, with the names that ours have."""
    if name in SPECIAL:
        return function(given, *args, **kwargs)
    known = parameters(function)
    named = {key: value for key, value in kwargs.items() if key not in IGNORED}
    if name in ORDER:
        order = ORDER[name]
        if len(args) > len(order):
            raise UntranslatedError("arguments by position")
        named = {**dict(zip(order, args, strict=False)), **named}
        args = ()
    renamed = {}
    for key, value in named.items():
        if known and key not in known:
            key = next((ours for ours in KEYWORDS.get(key, ()) if ours in known), key)
        renamed[key] = value
    return function(given, *args, **renamed)


_CASTS = {"double": "float64", "float": "float32", "half": "float16", "bfloat16": "bfloat16", "int": "int32",
          "long": "int64", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64",
          "cdouble": "complex128"}  # fmt: skip

DTYPE_NAMES = {"bool", "int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float32", "float64",
               "complex64", "complex128"}  # fmt: skip


def _cast(name: str) -> Call:
    return lambda x, **_: lm.astype(x, _CASTS[name])


def _flagged(extreme: str) -> Call:
    """max or min: of all, of two, or along an axis with the places."""

    def run(x: Any, *args: Any, dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
        if args and isinstance(args[0], lm.Tensor):
            return getattr(lm, extreme + "imum")(x, args[0])
        axis = args[0] if args else dim
        keep = args[1] if len(args) > 1 else keepdim
        if axis is None:
            return getattr(lm, extreme)(x)
        return (
            getattr(lm, extreme)(x, axis=axis, keepdims=keep),
            getattr(lm, "arg" + extreme)(x, axis=axis, keepdims=keep),
        )

    return run


def _median(name: str) -> Call:
    """Returns the median, and the position of the first element that equals it if there is an axis."""

    def run(x: Any, *args: Any, dim: Any = None, keepdim: bool = False) -> Any:
        axis = args[0] if args else dim
        keep = args[1] if len(args) > 1 else keepdim
        value = getattr(lm, name)(x, axis=axis, keepdims=keep)
        if axis is None:
            return value
        same = lm.equal(x, getattr(lm, name)(x, axis=axis, keepdims=True)).astype("int8")
        return value, lm.argmax(same, axis=axis, keepdims=keep)

    return run


def _split(x: Any, size: Any, dim: int = 0) -> Any:
    if isinstance(size, int):
        length = x.shape[dim]
        size = [size] * (length // size) + ([length % size] if length % size else []) if size else [0]
    return lm.split(x, list(size), axis=dim)


def _variance(name: str) -> Call:
    def run(x: Any, *args: Any, dim: Any = None, keepdim: bool = False, unbiased: bool = True,
            correction: Any = None) -> Any:  # fmt: skip
        rest = list(args)
        if rest and isinstance(rest[0], bool):
            unbiased = rest.pop(0)
        axis = rest.pop(0) if rest else dim
        if rest:
            unbiased = rest.pop(0)
        keep = rest.pop(0) if rest else keepdim
        amount = correction if correction is not None else int(unbiased)
        axis = None if axis is None or axis in ([], ()) else axis
        return getattr(lm, name)(x, axis=axis, keepdims=keep, correction=amount)

    return run


def _mean(x: Any, *args: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None, unbiased: Any = None) -> Any:
    rest = [value for value in args if not isinstance(value, bool)]
    flags = [value for value in args if isinstance(value, bool)]
    axis = rest[0] if rest else dim
    axis = None if axis is None or axis in ([], ()) else axis
    more = {} if dtype is None else {"dtype": dtype}
    return lm.mean(x, axis=axis, keepdims=flags[-1] if flags and rest else keepdim, **more)


def _quantile(name: str) -> Call:
    def run(x: Any, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear") -> Any:
        return getattr(lm, name)(x, q, axis=dim, keepdims=keepdim, interpolation=interpolation)

    return run


def _pooled(name: str) -> Call:
    def run(x: Any, *args: Any, return_indices: bool = False, **kwargs: Any) -> Any:
        return getattr(lm, name + "_with_indices" if return_indices else name)(x, *args, **kwargs)

    return run


def _adaptive(name: str) -> Call:
    def run(x: Any, size: Any, return_indices: bool = False) -> Any:
        return getattr(lm, name + "_with_indices" if return_indices else name)(x, size)

    return run


def _div(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return lm.floor_divide(x, y)
    quotient = lm.divide(x, y)
    if rounding_mode is None:
        return quotient
    kind = lm.result_type(x, y)
    return lm.trunc(quotient).astype(kind)


def _alpha(name: str, swapped: bool = False) -> Call:
    def run(x: Any, y: Any, alpha: Any = 1) -> Any:
        a, b = (y, x) if swapped else (x, y)
        return getattr(lm, name)(a, lm.multiply(b, alpha) if alpha != 1 else b)

    return run


def _take_along(x: Any, indices: Any, dim: int | None = None) -> Any:
    if dim is None:
        return lm.take_along_axis(lm.reshape(x, (-1,)), lm.reshape(indices, (-1,)), axis=0)
    return lm.take_along_axis(x, indices, axis=dim)


def _nonzero(x: Any, as_tuple: bool = False) -> Any:
    return lm.nonzero(x) if as_tuple else lm.argwhere(x)


def _flexible_shape(name: str) -> Call:
    def run(x: Any, *shape: Any, **kwargs: Any) -> Any:
        if len(shape) == 1 and isinstance(shape[0], tuple | list):
            shape = tuple(shape[0])
        sizes = [s if isinstance(s, int) else int(s) for s in (kwargs.get("size", shape))]
        if name == "broadcast_to":
            lead = len(sizes) - x.ndim
            sizes = [x.shape[i - lead] if s == -1 else s for i, s in enumerate(sizes)]
        return getattr(lm, name)(x, sizes)

    return run


def _sized_like(x: Any, other: Any) -> Any:
    return lm.reshape(x, other.shape)


def _meshgrid(given: Any, *rest: Any, indexing: str = "ij") -> Any:
    tensors = given if isinstance(given, list | tuple) else [given, *rest]
    return lm.meshgrid(*tensors, indexing=indexing)


def _varied(name: str) -> Call:
    """A function of several tensors, given one by one or in a list."""

    def run(given: Any, *rest: Any) -> Any:
        tensors = list(given) if isinstance(given, list | tuple) else [given, *rest]
        return getattr(lm, name)(*tensors)

    return run


def _each(name: str) -> Call:
    """The function of each of several tensors."""

    def run(given: Any, *rest: Any) -> Any:
        if isinstance(given, list | tuple) or rest:
            return [getattr(lm, name)(x) for x in ([*given] if isinstance(given, list | tuple) else [given, *rest])]
        return getattr(lm, name)(given)

    return run


def _sort(x: Any, *args: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    rest = list(args)
    dim = rest.pop(0) if rest else dim
    descending = rest.pop(0) if rest else descending
    axis = {"axis": dim, "descending": descending}
    return lm.sort(x, **axis), lm.argsort(x, **axis)


def _clamped(low: bool) -> Call:
    return lambda x, bound: lm.clip(x, bound, None) if low else lm.clip(x, None, bound)


def _new(name: str) -> Call:
    def run(x: Any, shape: Any, *args: Any, dtype: Any = None, **_: Any) -> Any:
        return getattr(lm, name)(shape, *args, dtype=dtype or x.dtype)

    return run


def _pair(first: str, second: str) -> Call:
    def run(x: Any, *args: Any, **kwargs: Any) -> Any:
        return SPECIAL[first](x, *args, **kwargs), SPECIAL[second](x, *args, **kwargs)

    return run


def _transposed(name: str) -> Call:
    return lambda x: getattr(x, name)


def _fft(name: str) -> Call:
    def run(x: Any, s: Any = None, dim: Any = None, norm: Any = None, **_: Any) -> Any:
        axes = [dim] if isinstance(dim, int) else dim
        sizes = [s] if isinstance(s, int) else s
        given = {"s": sizes, "axes": axes, "norm": norm}
        return getattr(lm.fft, name)(x, **{key: value for key, value in given.items() if value is not None})

    return run


def _softmax(name: str) -> Call:
    def run(x: Any, dim: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
        return getattr(lm, name)(x, axis=kwargs.get("axis", dim), dtype=dtype)

    return run


def _grid_sampled(x: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    names = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return lm.grid_sample(x, grid, mode=names[0][mode], padding_mode=names[1][padding], align_corners=align_corners)


def _interpolate(x: Any, size: Any = None, scale_factor: Any = None, **kwargs: Any) -> Any:
    return lm.interpolate(x, size, scale_factor, **kwargs)


def _embedding_bag(weight: Any, x: Any, **kwargs: Any) -> Any:
    known = {
        key: value
        for key, value in kwargs.items()
        if key not in ("max_norm", "norm_type", "scale_grad_by_freq", "sparse")
    }
    if kwargs.get("max_norm") is not None or kwargs.get("scale_grad_by_freq"):
        raise UntranslatedError("changes the weight, or its gradient")
    return lm.embedding_bag(x, weight, **known)


def _histogram(x: Any, bins: Any, *, weight: Any = None, range: Any = None, density: bool = False) -> Any:
    return lm.histogram(x, bins, range=range, weights=weight, density=density)


def _histogramdd(x: Any, bins: Any, *, weight: Any = None, range: Any = None, density: bool = False) -> Any:
    return lm.histogramdd(x, bins, range=range, weights=weight, density=density)


def _int32(out_int32: bool, places: Any) -> Any:
    return lm.astype(places, "int32") if out_int32 else places


def _searchsorted(rows: Any, x: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
                  sorter: Any = None) -> Any:  # fmt: skip
    return _int32(out_int32, lm.searchsorted(rows, x, side=side or ("right" if right else "left"), sorter=sorter))


def _triangle(name: str) -> Call:
    def run(rows: int, columns: int, offset: int = 0, *, dtype: str = "int64", **_: Any) -> Any:
        return lm.astype(getattr(lm, name)(rows, columns, k=offset), dtype)

    return run


def _fractional(name: str) -> Call:
    def run(x: Any, size: Any, *, return_indices: bool = False, _random_samples: Any = None, **kwargs: Any) -> Any:
        ours = getattr(lm, name + "_with_indices" if return_indices else name)
        return ours(x, size, random_samples=_random_samples, **kwargs)

    return run


def _triplets(anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None, **kwargs: Any) -> Any:
    distance = distance_function
    if isinstance(distance, torch.nn.PairwiseDistance):
        distance = functools.partial(lm.pairwise_distance, p=distance.norm, eps=distance.eps)
    return lm.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=distance, **kwargs)


def _window(name: str) -> Call:
    def run(length: int, *, dtype: Any = None, **kwargs: Any) -> Any:
        known = {key: value for key, value in kwargs.items() if key not in IGNORED}
        return getattr(lm.signal.windows, name)(length, dtype=dtype, **known)

    return run


def _scattered(x: Any, dim: int, index: Any, src: Any, *, reduce: str | None = None) -> Any:
    if reduce is None:
        return lm.scatter(x, dim, index, src)
    if not isinstance(src, lm.Tensor):
        src = lm.full(index.shape, src, dtype=x.dtype)
    return lm.scatter_reduce(x, dim, index, src, {"add": "sum", "multiply": "prod"}[reduce])


def _converted(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Converts to a dtype, or to that of another tensor."""
    other = next((a.dtype for a in args if isinstance(a, lm.Tensor)), x.dtype)
    return lm.astype(x, next((a for a in args if a in DTYPE_NAMES), kwargs.get("dtype", other)))


def _float_power(x: Any, y: Any) -> Any:
    if not isinstance(x, lm.Tensor):
        raise UntranslatedError("a power of a number")
    return lm.pow(lm.astype(x, "complex128" if "complex" in x.dtype.name else "float64"), y)


def _sliced(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def _flipped(x: Any) -> Any:
    if x.ndim > 2:
        raise UntranslatedError("T of more than two axes")
    return x if x.ndim < 2 else x.T


def _filled(x: Any, value: Any) -> Any:
    return lm.clone(x).fill_(value)


SPECIAL: dict[str, Call] = {
    **LINALG,
    **DRAWS,
    **{name: _transposed(name) for name in ("mT", "mH")}, "H": _transposed("mH"), "T": _transposed("T"),
    **{f"fft.{kind}": _fft(kind) for kind in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn",
                                            "hfft2", "ihfft2", "hfftn", "ihfftn")},
    "softmax": _softmax("softmax"), "log_softmax": _softmax("log_softmax"),
    "nn.functional.softmin": _softmax("softmin"), "nn.functional.upsample_nearest": _interpolate,
    "grid_sampler_2d": _grid_sampled, "grid_sampler_3d": _grid_sampled,
    "equal": lambda x, y: x.shape == y.shape and bool(lm.all(lm.equal(x, y))),
    "polygamma": lambda x, n: lm.polygamma(n, x), "special.polygamma": lambda x, n: lm.polygamma(n, x),
    "nn.functional.embedding": lambda weight, indices, **kwargs: lm.embedding(indices, weight, **kwargs),
    "to": _converted, "scatter": _scattered, "slice": _sliced, "fill": _filled,
    "scalar_tensor": lambda value, *, dtype=None, **_: lm.asarray(value, dtype=dtype),
    "__rdiv__": lambda x, y: lm.divide(y, x),
    "zero_": lambda x: lm.clone(x).zero_(),
    "repeat_interleave": lambda x, repeats, dim=None, **_: lm.repeat(x, repeats, axis=dim),
    "diagonal_scatter": lambda x, src, offset=0, dim1=0, dim2=1: lm.diagonal_scatter(
        x, src, offset=offset, axis1=dim1, axis2=dim2),
    "cdist": lambda x, y, p=2.0, *_, **__: lm.cdist(x, y, p),
    "nn.functional.logsigmoid": lm.log_sigmoid,
    "max": _flagged("max"), "min": _flagged("min"),
    "aminmax": lambda x, dim=None, keepdim=False: (
        lm.min(x, axis=dim, keepdims=keepdim), lm.max(x, axis=dim, keepdims=keepdim)),
    "median": _median("median"), "nanmedian": _median("nanmedian"),
    "split": _split, "split_with_sizes": _split, "split_with_sizes_copy": _split,
    "var": _variance("var"), "std": _variance("std"), "mean": _mean,
    "quantile": _quantile("quantile"), "nanquantile": _quantile("nanquantile"),
    **{f"nn.functional.max_pool{n}d": _pooled(f"max_pool{n}d") for n in (1, 2, 3)},
    **{f"nn.functional.adaptive_max_pool{n}d": _adaptive(f"adaptive_max_pool{n}d") for n in (1, 2, 3)},
    "div": _div, "add": _alpha("add"), "sub": _alpha("subtract"), "rsub": _alpha("subtract", True),
    "nonzero": _nonzero, "take_along_dim": _take_along,
    "expand": _flexible_shape("broadcast_to"), "expand_copy": _flexible_shape("broadcast_to"),
    "repeat": _flexible_shape("tile"), "tile": _flexible_shape("tile"),
    "view": lambda x, *s: lm.reshape(x, s[0] if isinstance(s[0], list | tuple) else s),
    "expand_as": lambda x, y: lm.broadcast_to(x, y.shape), "view_as": _sized_like, "reshape_as": _sized_like,
    "permute": lambda x, *axes, dims=None: lm.permute_dims(
        x, dims if dims is not None else axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes),
    "meshgrid": _meshgrid, "broadcast_tensors": _varied("broadcast_arrays"), "block_diag": _varied("block_diag"),
    "cartesian_prod": _varied("cartesian_prod"), "sort": _sort,
    "atleast_1d": _each("atleast_1d"), "atleast_2d": _each("atleast_2d"), "atleast_3d": _each("atleast_3d"),
    "msort": lambda x: lm.sort(x, axis=0), "clamp_min": _clamped(True), "clamp_max": _clamped(False),
    "new_ones": _new("ones"), "new_zeros": _new("zeros"), "new_full": _new("full"),
    "var_mean": _pair("var", "mean_of"), "std_mean": _pair("std", "mean_of"),
    "mean_of": lambda *args, correction=None, **kwargs: _mean(*args, **kwargs),
    "__getitem__": lambda x, key: x[key],
    "flip": lambda x, *axes, dims=None: lm.flip(
        x, axis=tuple(dims if dims is not None else axes[0] if not isinstance(axes[0], int) else axes)),
    "t": _flipped, "t_copy": _flipped,
    "unfold": lm.sliding_window, "unfold_copy": lm.sliding_window, "nn.functional.unfold": lm.unfold,
    "einsum": lambda given, equation: lm.einsum(equation, *given),
    "where": lambda x, condition, other: lm.where(condition, x, other),
    "sum_to_size": lambda x, *shape: lm.sum_to(x, shape[0] if isinstance(shape[0], list | tuple) else shape),
    "index_put": lambda x, places, values, accumulate=False: lm.index_put(x, places, values, accumulate=accumulate),
    "nn.functional.interpolate": _interpolate, "nn.functional.embedding_bag": _embedding_bag,
    "nn.functional.upsample_bilinear": lambda x, size=None, scale_factor=None: lm.interpolate(
        x, size, scale_factor, mode="bilinear", align_corners=True),
    "histogram": _histogram, "histogramdd": _histogramdd, "searchsorted": _searchsorted,
    "bucketize": lambda x, edges, *, out_int32=False, right=False: _int32(
        out_int32, lm.bucketize(x, edges, right=right)),
    "tril_indices": _triangle("tril_indices"), "triu_indices": _triangle("triu_indices"),
    "constant_pad_nd": lambda x, pad, value=0: lm.pad(x, pad, value=value),
    **{f"nn.functional.fractional_max_pool{n}d": _fractional(f"fractional_max_pool{n}d") for n in (2, 3)},
    "nn.functional.triplet_margin_with_distance_loss": _triplets,
    **{f"signal.windows.{name}": _window(name) for name in lm.signal.windows.__all__},
    "float_power": _float_power,
    "frac": lambda x: lm.subtract(x, lm.trunc(x)),
    "nn.functional.hardshrink": lambda x, lambd=0.5: lm.hardshrink(x, lambd),
    "item": lambda x: x.item(),
    "broadcast_shapes": lambda *shapes: list(lm.broadcast_shapes(*shapes)),
}  # fmt: skip
