"""Sparse matrices whose rows, or columns, lie one after the other: CSR and CSC."""

from __future__ import annotations

from typing import Any

import lamella as lm

from ._plain import layout, layout_of
from .sparse import SparseTensor

SPARSE_CSR, SPARSE_CSC = layout_of("torch.sparse_csr"), layout_of("torch.sparse_csc")


class CompressedTensor(SparseTensor):
    """Values of a matrix, row by row, or column by column.

    Args:
        ends: where each row (of CSC: column) begins among the values, with where the last one ends; int64.
        along: the column (of CSC: row) of each value.
        values: the values.
        size: the two sizes.
        kind: the layout.
    """

    is_sparse = False

    def __init__(self, ends: lm.Tensor, along: lm.Tensor, values: lm.Tensor, size: Any, kind: layout) -> None:
        lines = lm.repeat(lm.arange(ends.shape[0] - 1), ends[1:] - ends[:-1])
        super().__init__(lm.stack([lines, along] if kind == SPARSE_CSR else [along, lines]), values, size)
        self._ends, self._along, self.layout = ends, along, kind

    @property
    def is_sparse_csr(self) -> bool:
        """True if rows lie one after the other."""
        return self.layout == SPARSE_CSR

    def _of_kind(self, name: str, kind: layout, found: lm.Tensor) -> lm.Tensor:
        if self.layout != kind:
            raise RuntimeError(f"[{name}] a tensor of the layout {kind} has them, this one is {self.layout}")
        return found

    def crow_indices(self) -> lm.Tensor:
        """Returns where each row begins, and where the last one ends."""
        return self._of_kind("crow_indices", SPARSE_CSR, self._ends)

    def col_indices(self) -> lm.Tensor:
        """Returns the column of each value."""
        return self._of_kind("col_indices", SPARSE_CSR, self._along)

    def ccol_indices(self) -> lm.Tensor:
        """Returns where each column begins, and where the last one ends."""
        return self._of_kind("ccol_indices", SPARSE_CSC, self._ends)

    def row_indices(self) -> lm.Tensor:
        """Returns the row of each value."""
        return self._of_kind("row_indices", SPARSE_CSC, self._along)

    def indices(self) -> lm.Tensor:
        """Raises RuntimeError: coordinates are what :meth:`to_sparse_coo` has."""
        raise RuntimeError(f"[indices] a tensor of the layout {self.layout} has none: call to_sparse_coo() first")

    def values(self) -> lm.Tensor:
        """Returns the values."""
        return self._entries

    def coalesce(self) -> SparseTensor:
        """Raises RuntimeError: coordinates are what :meth:`to_sparse_coo` has."""
        raise RuntimeError(f"[coalesce] a tensor of the layout {self.layout} is not: call to_sparse_coo() first")

    def _of(self, values: lm.Tensor) -> CompressedTensor:
        return CompressedTensor(self._ends, self._along, values, self.shape, self.layout)

    def to(self, *args: Any, **named: Any) -> CompressedTensor:
        """Returns the matrix on a device, or in a dtype."""
        entries = self._entries.to(*args, **named)
        ends, along = self._ends.to(entries.device), self._along.to(entries.device)
        return CompressedTensor(ends, along, entries, self.shape, self.layout)

    def to_sparse(self, *args: Any, layout: Any = None) -> SparseTensor:
        """Returns the matrix with coordinates, or in another layout."""
        found = SparseTensor(self._places, self._entries, self.shape).coalesce()
        return found if layout is None else compressed(found, layout)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self, dense_dim: int | None = None) -> SparseTensor:
        """Returns the matrix row by row."""
        return compressed(self, SPARSE_CSR)

    def to_sparse_csc(self, dense_dim: int | None = None) -> SparseTensor:
        """Returns the matrix column by column."""
        return compressed(self, SPARSE_CSC)

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Returns the matrix with its axes exchanged: its rows are columns of the result."""
        if dim0 % 2 == dim1 % 2:
            return self
        other = SPARSE_CSC if self.layout == SPARSE_CSR else SPARSE_CSR
        return CompressedTensor(self._ends, self._along, self._entries, tuple(self.shape[::-1]), other)

    def copy_(self, src: SparseTensor) -> SparseTensor:
        """Takes the places and the values of a matrix of this layout, in its own dtype."""
        if not isinstance(src, CompressedTensor) or src.layout != self.layout:
            raise RuntimeError(f"[copy_] expected a matrix of the layout {self.layout}, got one of {src.layout}")
        super().copy_(src)
        self._ends, self._along = src._ends.clone(), src._along.clone()
        return self

    def __getitem__(self, index: int) -> Any:
        return self.to_sparse()[index]

    def __reduce__(self) -> tuple[Any, ...]:
        from .sparse import _rebuild_sparse_tensor

        return _rebuild_sparse_tensor, (self.layout, (self._ends, self._along, self._entries, self.shape))

    def _parts(self) -> dict[str, lm.Tensor]:
        names = ("crow_indices", "col_indices") if self.layout == SPARSE_CSR else ("ccol_indices", "row_indices")
        return {names[0]: self._ends, names[1]: self._along, "values": self._entries.detach()}


def compressed(x: Any, kind: Any) -> SparseTensor:
    """Returns a matrix, dense or sparse, in a layout.

    Raises:
        RuntimeError: it has another number of axes than two, or the layout is one of blocks.
    """
    found = x.to_sparse()
    if kind not in (SPARSE_CSR, SPARSE_CSC):
        if kind == found.layout:
            return found  # type: ignore[no-any-return]
        raise RuntimeError(
            f"[to_sparse] there are the layouts {found.layout}, {SPARSE_CSR} and {SPARSE_CSC}: not {kind}"
        )
    if found.dim() != 2 or found.sparse_dim() != 2:
        raise RuntimeError(f"[to_sparse] the layout {kind} is for matrices, this tensor has the sizes {list(x.shape)}")
    whole = (found if kind == SPARSE_CSR else found.t()).coalesce()
    lines, along = whole._places[0], whole._places[1]
    ends = lm.searchsorted(lines, lm.arange(whole.shape[0] + 1))
    return CompressedTensor(ends, along, whole._entries, tuple(found.shape), kind)


def made(
    ends: Any,
    places: Any,
    values: Any,
    size: Any = None,
    *,
    kind: layout,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CompressedTensor:
    """Returns a matrix of a layout; without a size, as large as the places ask for.

    Raises:
        RuntimeError: the parts do not fit each other or the size.
    """
    begins, along = (lm.asarray(x).astype(lm.int64) for x in (ends, places))
    entries = lm.asarray(values, dtype=dtype, device=None if device is None else str(device))
    if (begins.ndim, along.ndim, entries.ndim) != (1, 1, 1) or not begins.size or along.shape != entries.shape:
        raise RuntimeError(
            f"[{kind}] expected a row of ends, and as many places as values; got "
            f"{', '.join(str(list(x.shape)) for x in (begins, along, entries))}"
        )
    falls = bool(lm.any(begins[1:] < begins[:-1]))
    if int(begins[0]) != 0 or int(begins[-1]) != along.shape[0] or falls:
        raise RuntimeError(
            f"[{kind}] ends rise from 0 to the number of values, {along.shape[0]}: got {begins.tolist()}"
        )
    lowest, most = (int(lm.min(along)), int(lm.max(along)) + 1) if along.size else (0, 0)
    sizes = (begins.shape[0] - 1, most)
    given = sizes if size is None else tuple(map(int, size)) if kind == SPARSE_CSR else tuple(map(int, size))[::-1]
    if lowest < 0 or len(given) != 2 or given[0] != sizes[0] or most > given[1]:
        raise RuntimeError(
            f"[{kind}] the size {list(given)} does not fit {sizes[0]} lines with places up to {most - 1}"
        )
    entries = entries.detach() if requires_grad else entries
    found = CompressedTensor(begins, along, entries, given if kind == SPARSE_CSR else given[::-1], kind)
    return found.requires_grad_() if requires_grad else found  # type: ignore[return-value]


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any
) -> CompressedTensor:
    """Returns a matrix of values in the rows that begin at ``crow_indices``, in columns by ``col_indices``."""
    return made(crow_indices, col_indices, values, size, kind=SPARSE_CSR, **options)


def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any
) -> CompressedTensor:
    """Returns a matrix of values in the columns that begin at ``ccol_indices``, in rows by ``row_indices``."""
    return made(ccol_indices, row_indices, values, size, kind=SPARSE_CSC, **options)


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, layout: Any, **options: Any
) -> CompressedTensor:
    """Returns a matrix of one of the layouts of rows or columns."""
    if layout not in (SPARSE_CSR, SPARSE_CSC):
        raise RuntimeError(f"[sparse_compressed_tensor] there are {SPARSE_CSR} and {SPARSE_CSC}, not {layout}")
    return made(compressed_indices, plain_indices, values, size, kind=layout, **options)


def _convert_indices_from_coo_to_csr(input: lm.Tensor, size: int, *, out_int32: bool = False) -> lm.Tensor:
    """Returns where each of ``size`` rows begins among rising rows of values, with where the last one ends."""
    ends = lm.searchsorted(input, lm.arange(size + 1, dtype=input.dtype))
    return ends.astype(lm.int32 if out_int32 else lm.int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: lm.Tensor, col_indices: lm.Tensor, *, out_int32: bool = False, transpose: bool = False
) -> lm.Tensor:
    """Returns the row and the column of each value of a matrix in CSR; with ``transpose``, columns come first."""
    counts = crow_indices[1:] - crow_indices[:-1]
    rows = lm.repeat(lm.arange(counts.shape[0], dtype=crow_indices.dtype), counts)
    pair = lm.stack([col_indices, rows] if transpose else [rows, col_indices])
    return pair.astype(lm.int32 if out_int32 else lm.int64)
