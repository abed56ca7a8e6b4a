"""Sparse matrices and tensors: coordinates and values, of which products with dense ones are computed.

They are no tensors of Lamella: what they have is what programs with sparse matrices that do not change, such as the
adjacency of a graph, ask for. Gradients reach dense operands and values. Modules take them as buffers, and files
hold them as PyTorch's do.
"""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.nn.parameter import BUFFERS

from ._device import device as _device
from ._plain import SPARSE_COO, layout_of
from ._size import Size
from ._sparse_functions import OF_VALUES, index_select, of_values, permute, select, sum_along, take_over, unsqueeze


class SparseTensor:
    """Values at coordinates; zeros elsewhere. Values at the same place are added.

    Args:
        indices: ``(axes, count)``, int64.
        values: ``(count,)``, or with more axes, which are dense.
        size: the sizes of all axes.
        coalesced: True where the coordinates are in order, and no two are the same.
    """

    is_sparse = True
    is_sparse_csr: Any = False
    layout = SPARSE_COO

    def __init__(self, indices: lm.Tensor, values: lm.Tensor, size: tuple[int, ...], coalesced: bool = False) -> None:
        self._places, self._entries = indices, values
        self.shape = Size(size)
        self._coalesced = coalesced

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self._entries.dtype

    @property
    def device(self) -> Any:
        """Where the values are."""
        return _device(str(self._entries.device))

    @property
    def is_cuda(self) -> bool:
        """True if the values are on a GPU."""
        return bool(self.device.type == "cuda")

    @property
    def requires_grad(self) -> bool:
        """True if the values want a gradient."""
        return not self._entries.stop_gradient

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def stop_gradient(self) -> bool:
        """True if the values want no gradient."""
        return bool(self._entries.stop_gradient)

    def dim(self) -> int:
        """Returns the number of axes."""
        return len(self.shape)

    def numel(self) -> int:
        """Returns the number of elements, zeros included."""
        return math.prod(self.shape)

    def is_floating_point(self) -> bool:
        """True if the values are real and no integers."""
        return lm.isdtype(self.dtype, "real floating")

    def size(self, dim: int | None = None) -> Any:
        """Returns the sizes, or one of them."""
        return self.shape if dim is None else self.shape[dim]

    def sparse_dim(self) -> int:
        """Returns the number of axes that have coordinates."""
        return int(self._places.shape[0])

    def dense_dim(self) -> int:
        """Returns the number of axes that the values have beside theirs."""
        return self.dim() - self.sparse_dim()

    def _nnz(self) -> int:
        return int(self._places.shape[1])

    def _indices(self) -> lm.Tensor:
        return self._places

    def _values(self) -> lm.Tensor:
        return self._entries

    def is_coalesced(self) -> bool:
        """True where coordinates are in order, and no two are the same."""
        return self._coalesced

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        """Says whether coordinates are in order, and no two are the same, as the caller knows."""
        self._coalesced = coalesced
        return self

    def indices(self) -> lm.Tensor:
        """Returns the coordinates.

        Raises:
            RuntimeError: some may be the same: see :meth:`coalesce`.
        """
        return self._checked("indices")._places

    def values(self) -> lm.Tensor:
        """Returns the values.

        Raises:
            RuntimeError: some may be at the same place: see :meth:`coalesce`.
        """
        return self._checked("values")._entries

    def _checked(self, name: str) -> SparseTensor:
        if not self._coalesced:
            raise RuntimeError(f"[{name}] the tensor is not coalesced: call coalesce() first")
        return self

    def _flat(self) -> lm.Tensor:
        """Returns the coordinates as one number each."""
        sizes = self.shape[: self.sparse_dim()]
        steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
        return lm.sum(self._places * lm.reshape(lm.tensor(steps, dtype=lm.int64), (-1, 1)), axis=0)

    def coalesce(self) -> SparseTensor:
        """Returns a tensor with the values at one place added, in the order of the coordinates."""
        if self._coalesced:
            return self
        found, inverse = lm.unique(self._flat(), return_inverse=True)
        zeros = lm.zeros((found.shape[0], *self._entries.shape[1:]), dtype=self.dtype)
        places = []
        for size in reversed(self.shape[: self.sparse_dim()]):
            places.append(found % size)
            found = found // size
        added = lm.index_add(zeros, 0, inverse, self._entries)
        return SparseTensor(lm.stack(places[::-1]), added, self.shape, True)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> lm.Tensor:
        """Returns the tensor with its zeros."""
        count = math.prod(self.shape[: self.sparse_dim()])
        zeros = lm.zeros((count, *self._entries.shape[1:]), dtype=self.dtype)
        made = lm.reshape(lm.index_add(zeros, 0, self._flat(), self._entries), tuple(self.shape))
        return made if dtype is None else made.astype(dtype)

    def _of(self, values: lm.Tensor) -> SparseTensor:
        return SparseTensor(self._places, values, self.shape, self._coalesced)

    def _to_save(self) -> tuple[lm.Tensor, lm.Tensor]:
        """Returns the places and the values."""
        return self._places, self._entries

    def _from_parts(self, places: lm.Tensor, entries: lm.Tensor) -> SparseTensor:
        """Returns a tensor of this one's sizes and layout with other parts."""
        return SparseTensor._plain(places, entries, self.shape, self._coalesced)._like(self)

    def to(self, *args: Any, **named: Any) -> SparseTensor:
        """Returns the tensor on a device, or in a dtype."""
        entries = self._entries.to(*args, **named)
        return SparseTensor(self._places.to(entries.device), entries, self.shape, self._coalesced)

    def float(self) -> SparseTensor:
        """Returns the tensor in float32."""
        return self.to(lm.float32)

    def double(self) -> SparseTensor:
        """Returns the tensor in float64."""
        return self.to(lm.float64)

    def half(self) -> SparseTensor:
        """Returns the tensor in float16."""
        return self.to(lm.float16)

    def bfloat16(self) -> SparseTensor:
        """Returns the tensor in bfloat16."""
        return self.to(lm.bfloat16)

    def cpu(self) -> SparseTensor:
        """Returns the tensor on the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> SparseTensor:
        """Returns the tensor on a GPU."""
        return self.to("cuda" if device is None else device)

    @classmethod
    def _plain(cls, indices: Any, values: Any, size: tuple[int, ...], coalesced: bool = False) -> SparseTensor:
        """Returns a tensor with coordinates, whatever the layout of this class."""
        return SparseTensor(indices, values, size, coalesced)

    def _like(self, other: SparseTensor) -> SparseTensor:
        """Returns the tensor in the layout of another one."""
        return self if other.layout == self.layout else self.to_sparse(layout=other.layout)

    def to_sparse(self, *args: Any, layout: Any = None) -> SparseTensor:
        """Returns the tensor itself, or in another layout."""
        if layout is None:
            return self
        from ._compressed import compressed

        return compressed(self, layout)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self, dense_dim: int | None = None) -> SparseTensor:
        """Returns the matrix row by row."""
        return self.to_sparse(layout=layout_of("torch.sparse_csr"))

    def to_sparse_csc(self, dense_dim: int | None = None) -> SparseTensor:
        """Returns the matrix column by column."""
        return self.to_sparse(layout=layout_of("torch.sparse_csc"))

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return take_over(func, args, kwargs or {})

    def copy_(self, src: SparseTensor) -> SparseTensor:
        """Takes the places and the values of another tensor, in its own dtype.

        Raises:
            RuntimeError: ``src`` is of another shape, or not sparse.
        """
        if not isinstance(src, SparseTensor) or src.shape != self.shape:
            raise RuntimeError(f"[copy_] expected a sparse tensor of the shape {list(self.shape)}, got {src!r}")
        self._places, self._coalesced = src._places.clone().to(self._places.device), src._coalesced
        self._entries = src._entries.detach().clone().to(self._entries.device).to(self.dtype)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_sparse_tensor, (self.layout, (self._places, self._entries, self.shape, self._coalesced))

    def detach(self) -> SparseTensor:
        """Returns the tensor off the tape."""
        return self._of(self._entries.detach())

    def clone(self) -> SparseTensor:
        """Returns a copy."""
        return self._of(self._entries.clone())

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Has the values want a gradient, which :attr:`grad` is then; the tensor that they were made of does not."""
        if requires_grad and self._entries.stop_gradient:
            self._entries = self._entries.detach()
        self._entries.stop_gradient = not requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """True if the values are a leaf of the graph."""
        return bool(self._entries.is_leaf)

    @property
    def grad(self) -> SparseTensor | None:
        """The gradient of the values, at their places; None where there is none."""
        found = self._entries.grad if self.is_leaf else None
        return None if found is None else self._of(found)

    @grad.setter
    def grad(self, value: SparseTensor | None) -> None:
        self._entries.grad = None if value is None else value._entries

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Returns the tensor with two axes of coordinates exchanged."""
        order = list(range(self.sparse_dim()))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        sizes = [self.shape[axis] for axis in order] + list(self.shape[len(order) :])
        return SparseTensor(self._places[order], self._entries, tuple(sizes))

    def t(self) -> SparseTensor:
        """Returns the matrix transposed."""
        return self.transpose(0, 1)

    def mm(self, other: Any) -> Any:
        """Returns the product with a matrix."""
        return mm(self, other)

    matmul = spmm = __matmul__ = mm

    def sspaddmm(self, mat1: Any, mat2: lm.Tensor, *, beta: Any = 1, alpha: Any = 1) -> SparseTensor:
        """Returns ``beta * self + alpha * (mat1 @ mat2)`` of a sparse ``mat1`` and a dense ``mat2``."""
        return self * beta + mat1.smm(mat2) * alpha

    def smm(self, mat: lm.Tensor) -> SparseTensor:
        """Returns the product with a dense matrix as a sparse one, of those rows that hold something here."""
        rows = self._rows_of_product("smm", mat)
        columns = lm.arange(mat.shape[1])
        places = lm.stack([lm.repeat(rows._places[0], mat.shape[1]), lm.tile(columns, (rows._nnz(),))])
        return SparseTensor._plain(places, lm.reshape(rows._entries, (-1,)), tuple(rows.shape), True)

    def _rows_of_product(self, op: str, mat: lm.Tensor) -> SparseTensor:
        """Returns the product with a dense matrix as a sparse column of dense rows.

        Raises:
            RuntimeError: the sizes do not fit.
        """
        made = mm(self, mat)
        if made.ndim != 2:
            raise RuntimeError(f"[{op}] takes two matrices, got the sizes {list(self.shape)} and {list(mat.shape)}")
        rows = lm.unique(self._places[0])
        return SparseTensor._plain(lm.expand_dims(rows, 0), made[rows], tuple(made.shape), True)

    def __rmatmul__(self, other: lm.Tensor) -> lm.Tensor:
        return mm(self.t(), other.mT).mT

    def __mul__(self, factor: Any) -> SparseTensor:
        if isinstance(factor, SparseTensor):
            return dense_to_sparse(self.to_dense() * factor.to_dense())._like(self)
        if isinstance(factor, lm.Tensor) and factor.ndim:
            whole = self if self.layout != SPARSE_COO else self.coalesce()
            return whole._of(whole._entries * lm.broadcast_to(factor, tuple(self.shape))[tuple(whole._places)])
        return self._of(self._entries * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> SparseTensor:
        return self._of(self._entries / divisor)

    def __neg__(self) -> SparseTensor:
        return self._of(-self._entries)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseTensor):
            return self.to_dense() + other
        places = lm.concat([self._places, other._places], axis=1)
        return SparseTensor(places, lm.concat([self._entries, other._entries]), self.shape)._like(self)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def pow(self, exponent: Any) -> SparseTensor:
        """Returns a power, above 0, of each element."""
        if exponent <= 0:
            raise RuntimeError(f"[pow] zeros stay zeros by exponents above 0, got {exponent}")
        whole = self.coalesce()
        return whole._of(whole._entries**exponent)

    __pow__ = pow

    def __getitem__(self, index: Any) -> Any:
        found: Any = self
        for each in index if isinstance(index, tuple) else (index,):
            if not isinstance(each, int):
                raise NotImplementedError(f"[getitem] sparse tensors are indexed by ints, got {type(each).__name__}")
            found = select(found, 0, each) if isinstance(found, SparseTensor) else found[each]
        return found

    def __len__(self) -> int:
        return int(self.shape[0])

    def index_select(self, dim: int, index: lm.Tensor) -> SparseTensor:
        """Returns the slices along an axis with coordinates that an index names, in its order."""
        return index_select(self, dim, index)  # type: ignore[no-any-return]

    def select(self, dim: int, index: int) -> Any:
        """Returns a slice, which is dense where no axis with coordinates is left."""
        return select(self, dim, index)

    def unsqueeze(self, dim: int) -> SparseTensor:
        """Returns the tensor with an axis of size 1 before another one that has coordinates."""
        return unsqueeze(self, dim)  # type: ignore[no-any-return]

    def sum(self, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        """Returns the sum of all elements, or along axes: sparse, unless no axis with coordinates is left."""
        return sum_along(self if dtype is None else self.to(dtype), dim, keepdim)

    def norm(self, p: Any = 2) -> lm.Tensor:
        """Returns the norm of all elements."""
        return lm.linalg.vector_norm(self.coalesce()._entries, ord=2 if p == "fro" else p)

    def any(self) -> lm.Tensor:
        """Returns whether an element is not 0."""
        return lm.any(self.coalesce()._entries)

    def permute(self, *dims: Any) -> SparseTensor:
        """Returns the tensor with its axes with coordinates in another order."""
        return permute(self, dims[0] if isinstance(dims[0], (list, tuple)) else dims)  # type: ignore[no-any-return]

    def narrow_copy(self, dim: int, start: int, length: int) -> SparseTensor:
        """Returns ``length`` slices along an axis with coordinates from ``start`` on."""
        return index_select(self, dim, lm.arange(start, start + length))  # type: ignore[no-any-return]

    def zero_(self) -> SparseTensor:
        """Leaves all places out."""
        empty = lm.zeros((0, *self._entries.shape[1:]), dtype=self.dtype)
        self._places, self._entries, self._coalesced = self._places[:, :0], empty, True
        return self

    def mul_(self, factor: Any) -> SparseTensor:
        """Multiplies by a number; the tensor that the values were made of stays as it is."""
        self._entries = self._entries * factor
        return self

    def sparse_mask(self, mask: SparseTensor) -> SparseTensor:
        """Returns the elements at the places of another sparse tensor."""
        return masked(self.to_dense(), mask)

    def __repr__(self) -> str:
        deeper = {name: repr(x).replace("\n", "\n" + " " * (len(name) + 8)) for name, x in self._parts().items()}
        listed = ",\n       ".join(f"{name}={text}" for name, text in deeper.items())
        return f"tensor({listed},\n       size={tuple(self.shape)}, nnz={self._nnz()}, layout={self.layout})"

    def _parts(self) -> dict[str, lm.Tensor]:
        return {"indices": self._places, "values": self._entries.detach()}


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """Returns values at coordinates ``(axes, count)``; without a size, as large as these ask for.

    Raises:
        RuntimeError: the coordinates are no matrix, or do not fit the values or the size.
    """
    if values is None:  # an empty one, of a size
        size = indices if size is None else size
        indices, values = lm.zeros((len(size), 0), dtype=lm.int64), lm.zeros((0,))
    places = lm.asarray(indices).astype(lm.int64)
    entries = lm.asarray(values, dtype=dtype, device=None if device is None else str(device))
    if places.ndim != 2 or entries.ndim < 1 or places.shape[1] != entries.shape[0]:
        raise RuntimeError(
            f"[sparse_coo_tensor] indices are (axes, count), values (count, ...); got {list(places.shape)} and "
            f"{list(entries.shape)}"
        )
    if places.size and lm.min(places).item() < 0:
        raise RuntimeError(f"[sparse_coo_tensor] indices count from 0, got {lm.min(places).item()}")
    highest = [int(lm.max(each).item()) + 1 for each in places] if places.shape[1] else [0] * places.shape[0]
    sizes = (*highest, *entries.shape[1:]) if size is None else tuple(map(int, size))
    if len(sizes) != places.shape[0] + entries.ndim - 1 or any(
        most > there for most, there in zip(highest, sizes, strict=False)
    ):
        raise RuntimeError(f"[sparse_coo_tensor] the size {list(sizes)} is too small for the indices and values")
    made = SparseTensor(places, entries.detach() if requires_grad else entries, sizes, bool(is_coalesced))
    return made.requires_grad_() if requires_grad else made


def _rebuild_sparse_tensor(layout: Any, data: Any) -> SparseTensor:
    """Returns the tensor that a file holds."""
    if layout != SPARSE_COO:
        from ._compressed import sparse_compressed_tensor

        return sparse_compressed_tensor(*data, layout=layout)
    indices, values, size, *coalesced = data
    return sparse_coo_tensor(indices, values, size, is_coalesced=bool(coalesced and coalesced[0]))


_rebuild_sparse_tensor.__module__ = "torch._utils"
BUFFERS.append(SparseTensor)


for _name in OF_VALUES:
    setattr(SparseTensor, _name, of_values(_name))


def dense_to_sparse(x: lm.Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """Returns the elements that are not 0, with their places along the first axes, or all."""
    count = x.ndim if sparse_dim is None else sparse_dim
    found = x != 0 if count == x.ndim else lm.any(x != 0, axis=tuple(range(count, x.ndim)))
    places = lm.stack(list(lm.nonzero(found)))
    return SparseTensor(places, x[tuple(places)], tuple(x.shape), True)


def masked(x: lm.Tensor, mask: SparseTensor) -> Any:
    """Returns the elements of a dense tensor at the places of a sparse one, in its layout.

    Raises:
        RuntimeError: the shapes differ.
    """
    if tuple(x.shape) != tuple(mask.shape):
        raise RuntimeError(f"[sparse_mask] the shapes differ: {list(x.shape)} and {list(mask.shape)}")
    whole = mask.coalesce() if mask.layout == SPARSE_COO else mask
    return whole._of(x[tuple(whole._places)])


def sampled_addmm(
    input: SparseTensor, mat1: lm.Tensor, mat2: lm.Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> SparseTensor:
    """Returns ``alpha * (mat1 @ mat2)`` at the places of a sparse matrix, and ``beta`` times that added."""
    rows, columns = input._places
    products = lm.sum(lm.take(mat1, rows, axis=0) * lm.take(mat2.mT, columns, axis=0), axis=1)
    return input._of(beta * input._entries + alpha * products)


def spdiags(diagonals: lm.Tensor, offsets: lm.Tensor, shape: Any, layout: Any = None) -> SparseTensor:
    """Returns a sparse matrix of diagonals, the rows of a matrix: column j of a row is in column j of the result.

    Raises:
        ValueError: there is not a row for each offset, or an offset comes twice.
    """
    rows, steps = lm.reshape(diagonals, (-1, diagonals.shape[-1])), lm.reshape(offsets, (-1,))
    if rows.shape[0] != steps.shape[0] or lm.unique(steps).shape[0] != steps.shape[0]:
        raise ValueError(f"[spdiags] {rows.shape[0]} diagonals want as many different offsets, got {steps.tolist()}")
    columns = lm.broadcast_to(lm.arange(rows.shape[1]), tuple(rows.shape))
    lines = columns - lm.expand_dims(steps, 1)
    there = (lines >= 0) & (lines < shape[0]) & (columns < shape[1])
    made = SparseTensor(lm.stack([lines[there], columns[there]]), rows[there], tuple(shape)).coalesce()
    return made if layout is None else made.to_sparse(layout=layout)


def mm(sparse: Any, dense: Any, reduce: str = "sum") -> Any:
    """Returns the product of a sparse matrix and a dense one, which is dense, or of two sparse ones, which is sparse.

    Args:
        sparse: the first matrix.
        dense: the second one.
        reduce: what becomes of the terms of an element: "sum", "mean", "amax" or "amin"; of none, 0.

    Raises:
        RuntimeError: the sizes do not fit.
        ValueError: there is no such reduction, or not of two sparse matrices.
    """
    if reduce not in ("sum", "mean", "amax", "amin") or (reduce != "sum" and isinstance(dense, SparseTensor)):
        raise ValueError(f"[mm] reduce is sum, mean, amax or amin, the last three with a dense matrix, got {reduce}")
    if not isinstance(sparse, SparseTensor):
        return sparse @ dense
    if sparse.dim() != 2 or sparse.sparse_dim() != 2 or sparse.shape[1] != dense.shape[0]:
        raise RuntimeError(f"[mm] the sizes {list(sparse.shape)} and {list(dense.shape)} do not fit")
    if isinstance(dense, SparseTensor):
        return dense_to_sparse(mm(sparse, dense.to_dense()))._like(sparse)
    column = dense if dense.ndim == 2 else lm.expand_dims(dense, 1)
    rows, columns = sparse._places[0], sparse._places[1]
    terms = lm.expand_dims(sparse._entries, 1) * lm.take(column, columns, axis=0)
    zeros = lm.zeros((sparse.shape[0], column.shape[1]), dtype=terms.dtype)
    if reduce == "sum":
        made = lm.index_add(zeros, 0, rows, terms)
    else:
        made = lm.index_reduce(zeros, 0, rows, terms, reduce, include_self=False)
    return made if dense.ndim == 2 else lm.squeeze(made, 1)


def addmm(mat: lm.Tensor, mat1: SparseTensor, mat2: lm.Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> lm.Tensor:
    """Returns ``beta * mat + alpha * (mat1 @ mat2)``."""
    product: lm.Tensor = mm(mat1, mat2)
    return beta * mat + alpha * product


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Any:
    """Returns the sum of all elements, or along axes: sparse, unless no axis with coordinates is left."""
    return input.sum(dim, dtype=dtype)


def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """Returns the softmax along an axis, of the values that are there: what is left out stays out."""
    return _of_logs(input, dim, dtype, lm.softmax)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """Returns the logarithms of :func:`softmax`."""
    return _of_logs(input, dim, dtype, lm.log_softmax)


def _of_logs(input: SparseTensor, dim: int, dtype: Any, function: Any) -> SparseTensor:
    whole = (input if dtype is None else input.to(dtype)).coalesce()
    there = tuple(whole._places)
    dense = lm.full(tuple(whole.shape), -math.inf, dtype=whole.dtype)
    dense = lm.index_put(dense, there, whole._entries)
    return whole._of(function(dense, axis=dim)[there])


def _typed(dtype: Any) -> Any:
    return lambda *args: sparse_coo_tensor(*args, dtype=dtype)


FloatTensor, DoubleTensor, LongTensor = _typed(lm.float32), _typed(lm.float64), _typed(lm.int64)

__getattr__ = close_module(__name__)
