"""Functions of ``torch`` that take sparse tensors: joining them, choosing of them, and arithmetic on their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import Tensor

#: Functions of one operand that leave zeros zeros, so that only the values change.
OF_VALUES = (
    *("abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor", "log1p"),
    *("neg", "rad2deg", "relu", "round", "sgn", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)


def of_values(name: str) -> Callable[..., Any]:
    """Returns the function of a sparse tensor that computes a function of each of its values."""
    native = getattr(lm, {"neg": "negative", "sgn": "sign"}.get(name, name))

    def function(self: Any) -> Any:
        whole = self.coalesce()
        return whole._of(native(whole._entries))

    function.__name__ = name
    function.__doc__ = f"Returns ``{name}`` of each element; zeros stay zeros."
    return function


def cat(tensors: Sequence[Any], dim: int = 0, *, axis: int | None = None) -> Any:
    """Sparse tensors one after the other along an axis.

    Raises:
        RuntimeError: they differ in their numbers of axes, or in sizes along others, or some are not sparse.
    """
    from .sparse import SparseTensor  # which has these functions as methods

    first = tensors[0]
    if not all(isinstance(x, SparseTensor) and x.layout == first.layout for x in tensors):
        raise RuntimeError("[cat] sparse tensors are joined with sparse ones of one layout: to_sparse() makes them so")
    place = _axis("cat", dim if axis is None else axis, first.dim())
    others = [(*x.shape[:place], *x.shape[place + 1 :]) for x in tensors]
    if any(each != others[0] for each in others) or any(x.sparse_dim() != first.sparse_dim() for x in tensors):
        raise RuntimeError(f"[cat] sizes differ beside axis {place}: {', '.join(str(list(x.shape)) for x in tensors)}")
    if place >= first.sparse_dim():
        raise RuntimeError(f"[cat] axis {place} is dense: axes with coordinates come before it")
    begin, places = 0, []
    for x in tensors:
        moved = lm.zeros((x.sparse_dim(), 1), dtype=lm.int64)
        moved[place] = begin
        places.append(x._places + moved)
        begin += x.shape[place]
    size = (*first.shape[:place], begin, *first.shape[place + 1 :])
    return SparseTensor(lm.concat(places, axis=1), lm.concat([x._entries for x in tensors]), size)._like(first)


def _axis(op: str, dim: int, count: int) -> int:
    if not -count <= dim < count:
        raise IndexError(f"[{op}] axis {dim} of a tensor of {count} axes")
    return dim % count


def unsqueeze(self: Any, dim: int) -> Any:
    """Returns a sparse tensor with an axis of size 1 before another one that has coordinates."""
    place = _axis("unsqueeze", dim, self.dim() + 1)
    if place > self.sparse_dim():
        raise RuntimeError(f"[unsqueeze] axis {place} would be dense: put it among those with coordinates")
    row = lm.zeros((1, self._nnz()), dtype=lm.int64)
    places = lm.concat([self._places[:place], row, self._places[place:]])
    return type(self)._plain(places, self._entries, (*self.shape[:place], 1, *self.shape[place:]), self._coalesced)


def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Sparse tensors of one shape along a new axis."""
    return cat([unsqueeze(x, dim) for x in tensors], dim)


def index_select(self: Any, dim: int, index: Tensor) -> Any:
    """Returns the slices along an axis with coordinates that an index names, in its order."""
    place = _axis("index_select", dim, self.sparse_dim())
    order = lm.argsort(self._places[place], stable=True)
    there = self._places[place][order]
    first, last = (lm.searchsorted(there, index, side=side) for side in ("left", "right"))
    counts = last - first
    target = lm.repeat(lm.arange(index.shape[0]), counts)
    begins = lm.repeat(first - (lm.cumsum(counts, axis=0) - counts), counts)
    chosen = order[begins + lm.arange(target.shape[0])]
    places = lm.concat([self._places[:place][:, chosen], target[None], self._places[place + 1 :][:, chosen]])
    size = (*self.shape[:place], index.shape[0], *self.shape[place + 1 :])
    return type(self)._plain(places, self._entries[chosen], size)


def select(self: Any, dim: int, index: int) -> Any:
    """Returns a slice, which is dense where no axis with coordinates is left."""
    place = _axis("select", dim, self.sparse_dim())
    count = self.shape[place]
    if not -count <= index < count:
        raise IndexError(f"[select] index {index} of an axis of {count}")
    chosen = lm.nonzero(self._places[place] == index % count)[0]
    entries = self._entries[chosen]
    if self.sparse_dim() == 1:
        return lm.sum(entries, axis=0)
    places = lm.concat([self._places[:place], self._places[place + 1 :]])[:, chosen]
    return type(self)._plain(places, entries, (*self.shape[:place], *self.shape[place + 1 :]), self._coalesced)


def permute(self: Any, dims: Sequence[int]) -> Any:
    """Returns a sparse tensor with its axes in another order, in which those with coordinates stay the first."""
    order = [_axis("permute", each, self.dim()) for each in dims]
    count = self.sparse_dim()
    if sorted(order) != list(range(self.dim())) or sorted(order[:count]) != list(range(count)):
        raise RuntimeError(f"[permute] dims names each axis once, the {count} with coordinates first, got {list(dims)}")
    entries = lm.permute_dims(self._entries, (0, *(axis - count + 1 for axis in order[count:])))
    return type(self)._plain(self._places[order[:count]], entries, tuple(self.shape[axis] for axis in order))


def sum_along(self: Any, dim: Any, keepdim: bool) -> Any:
    """Returns the sum of a sparse tensor along axes, or of all elements.

    It is sparse, in the tensor's layout where the axes are kept, unless no axis with coordinates is left.
    """
    if dim is None:
        return lm.sum(self._entries)
    along = {_axis("sum", each, self.dim()) for each in (dim if isinstance(dim, (list, tuple)) else (dim,))}
    count = self.sparse_dim()
    entries = lm.sum(self._entries, axis=tuple(axis - count + 1 for axis in along if axis >= count), keepdims=keepdim)
    size = tuple(1 if axis in along else n for axis, n in enumerate(self.shape) if keepdim or axis not in along)
    left = [axis for axis in range(count) if axis not in along]
    if not left and not keepdim:
        return lm.sum(entries, axis=0)
    kept = [self._places[k] * (k not in along) for k in range(count) if keepdim or k not in along]
    made = type(self)._plain(lm.stack(kept), entries, size, self._coalesced and len(left) == count)
    return made._like(self) if keepdim else made


def _addmm(input: Tensor, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    product: Tensor = alpha * (mat1 @ mat2)
    return beta * input + product


def _add(input: Any, other: Any, *, alpha: float = 1) -> Any:
    return input + (other if alpha == 1 else other * alpha)


def _sub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    return input + other * -alpha


def _zeros_like(input: Any, *, dtype: Any = None, **memory: Any) -> Any:
    empty = lm.zeros((0, *input._entries.shape[1:]), dtype=input.dtype if dtype is None else dtype)
    plain = type(input)._plain(lm.zeros((input.sparse_dim(), 0), dtype=lm.int64), empty, tuple(input.shape), True)
    return plain._like(input)


#: What functions of ``torch`` do that get a sparse tensor, by their names.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: of_values(name) for name in OF_VALUES},
    **dict.fromkeys(("cat", "concat", "concatenate"), cat),
    "stack": stack,
    "hstack": lambda tensors: cat(tensors, 1 if tensors[0].dim() > 1 else 0),
    "vstack": lambda tensors: cat([unsqueeze(x, 0) if x.dim() == 1 else x for x in tensors]),
    "add": _add,
    "sub": _sub,
    "mul": lambda input, other: input * other,
    "div": lambda input, other: input / other,
    "sum": lambda input, dim=None, keepdim=False, **options: input.sum(dim, keepdim, **options),
    "norm": lambda input, p=2: input.norm(p),
    "any": lambda input: input.any(),
    "isnan": lambda input: input.coalesce()._of(lm.isnan(input.coalesce()._entries)),
    "permute": permute,
    "mv": lambda input, vec: input @ vec,
    "addmm": _addmm,
    "bmm": lambda input, mat2: lm.matmul(input.to_dense(), mat2),
    "transpose": lambda input, dim0, dim1: input.transpose(dim0, dim1),
    "t": lambda input: input.t(),
    "unsqueeze": unsqueeze,
    "index_select": index_select,
    "select": select,
    "clone": lambda input, **memory: input.clone(),
    **dict.fromkeys(("zeros_like", "empty_like"), _zeros_like),
}


def take_over(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns what a function of ``torch`` makes of arguments among which are sparse tensors, or NotImplemented."""
    found = FUNCTIONS.get(getattr(function, "__name__", ""))
    return NotImplemented if found is None else found(*args, **kwargs)
