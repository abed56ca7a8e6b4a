"""Sparse tensors: values at places, and zeros elsewhere."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import Tensor

from .._generators import Size
from .._printing import text_of_parts


class SparseTensor:
    """Values at places, of which those of matrices may be listed by rows ("CSR"). It is no tensor of Lamella.

    Gradients pass the values. Those of what :func:`sparse_coo_tensor` makes are leaves.

    Args:
        places: ``(axes, count)``, int64.
        entries: ``(count,)``, or with further axes, which are dense.
        shape: the sizes of all axes.
        by_rows: True for the form that lists places by rows.
        coalesced: True where the places are in order, and no two are the same.
    """

    def __init__(
        self, places: Tensor, entries: Tensor, shape: Any, *, by_rows: bool = False, coalesced: bool = False
    ) -> None:
        self._places, self._entries, self._by_rows = places, entries, by_rows
        self.shape = Size(shape)
        self._coalesced = coalesced or by_rows

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self._entries.dtype

    @property
    def place(self) -> Any:
        """Where the values are."""
        entries: Any = self._entries  # tensors have a place in this process only
        return entries.place

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def stop_gradient(self) -> bool:
        """True if the values want no gradient."""
        return bool(self._entries.stop_gradient)

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        self._entries.stop_gradient = value

    @property
    def grad(self) -> SparseTensor | None:
        """The gradient of the values, at their places."""
        found = self._entries.grad
        return None if found is None else self.with_values(found)

    def dim(self) -> int:
        """Returns the number of axes."""
        return len(self.shape)

    def sparse_dim(self) -> int:
        """Returns the number of axes that places have."""
        return int(self._places.shape[0])

    def dense_dim(self) -> int:
        """Returns the number of axes that values have beside theirs."""
        return self.ndim - self.sparse_dim()

    def nnz(self) -> int:
        """Returns the number of values."""
        return int(self._places.shape[1])

    def is_sparse(self) -> bool:
        """True."""
        return True

    def is_dense(self) -> bool:
        """False."""
        return False

    def is_sparse_coo(self) -> bool:
        """True if the places are listed by their coordinates."""
        return not self._by_rows

    def is_sparse_csr(self) -> bool:
        """True if the places are listed by rows."""
        return self._by_rows

    def is_coalesced(self) -> bool:
        """True where the places are in order, and no two are the same."""
        return self._coalesced

    def is_same_shape(self, y: Any) -> bool:
        """True if another tensor has these sizes."""
        return list(self.shape) == list(y.shape)

    def values(self) -> Tensor:
        """Returns the values."""
        return self._entries

    def indices(self) -> Tensor:
        """Returns the places, ``(axes, count)``.

        Raises:
            ValueError: they are listed by rows.
        """
        if self._by_rows:
            raise ValueError("[indices] the tensor lists its places by rows: see crows() and cols()")
        return self._places

    def crows(self) -> Tensor:
        """Returns, for each row, how many values the rows before it have, and their number at the end of a matrix.

        Raises:
            ValueError: places are listed by their coordinates.
        """
        self._ask_rows("crows")
        rows, matrices = self.shape[-2], math.prod(self.shape[:-2])
        flat = self.flat_places()[0] // self.shape[-1]
        counts = lm.index_add(lm.zeros((matrices * rows,), dtype=lm.int64), 0, flat, lm.ones_like(flat))
        ends = lm.cumsum(lm.reshape(counts, (matrices, rows)), 1)
        return lm.reshape(lm.concat([lm.zeros((matrices, 1), dtype=lm.int64), ends], axis=1), (-1,))

    def cols(self) -> Tensor:
        """Returns the columns of the values.

        Raises:
            ValueError: places are listed by their coordinates.
        """
        self._ask_rows("cols")
        return self._places[-1]

    def _ask_rows(self, name: str) -> None:
        if not self._by_rows:
            raise ValueError(f"[{name}] the tensor lists its places by coordinates: see indices()")

    def flat_places(self) -> tuple[Tensor, int]:
        """Returns the places as one number each, and how many places there are."""
        sizes = self.shape[: self.sparse_dim()]
        steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
        weights = lm.reshape(lm.tensor(steps, dtype=lm.int64), (-1, 1))
        return lm.sum(self._places.astype(lm.int64) * weights, axis=0), math.prod(sizes)

    def with_values(self, values: Tensor) -> SparseTensor:
        """Returns other values at the same places."""
        return SparseTensor(self._places, values, self.shape, by_rows=self._by_rows, coalesced=self._coalesced)

    def to_dense(self) -> Tensor:
        """Returns the tensor with its zeros; values at one place are added."""
        flat, count = self.flat_places()
        logical = lm.isdtype(self.dtype, "bool")
        entries = self._entries.astype(lm.int64) if logical else self._entries
        zeros = lm.zeros((count, *tuple(entries.shape)[1:]), dtype=entries.dtype)
        made = lm.reshape(lm.index_add(zeros, 0, flat, entries), tuple(self.shape))
        return made.astype("bool") if logical else made

    def coalesce(self) -> SparseTensor:
        """Returns the tensor with its places in order, and the values at one place added."""
        if self._coalesced:
            return self
        found, inverse = lm.unique(self.flat_places()[0], return_inverse=True)
        zeros = lm.zeros((found.shape[0], *tuple(self._entries.shape)[1:]), dtype=self.dtype)
        added = lm.index_add(zeros, 0, inverse, self._entries)
        return SparseTensor(unflat(found, self.shape[: self.sparse_dim()]), added, self.shape, coalesced=True)

    def to_sparse_coo(self, sparse_dim: int | None = None) -> SparseTensor:
        """Returns the tensor with places by coordinates."""
        return SparseTensor(self._places, self._entries, self.shape, coalesced=self._coalesced)

    def to_sparse_csr(self) -> SparseTensor:
        """Returns matrices with places by rows.

        Raises:
            ValueError: it is no matrix, and none of several.
        """
        if self.ndim not in (2, 3) or self.dense_dim():
            raise ValueError(f"[to_sparse_csr] expected 2 axes, or 3, that are sparse, got the shape {self.shape}")
        whole = self.coalesce()
        return SparseTensor(whole._places, whole._entries, self.shape, by_rows=True)

    def in_form_of(self, other: SparseTensor) -> SparseTensor:
        """Returns the tensor with places by rows, or by coordinates, as another one has them."""
        return self.to_sparse_csr() if other._by_rows else self.to_sparse_coo()

    def numpy(self) -> Any:
        """Returns the tensor with its zeros as an array."""
        return self.to_dense().numpy()

    def astype(self, dtype: Any) -> SparseTensor:
        """Returns the tensor with values of a dtype."""
        return self.with_values(self._entries.astype(dtype))

    def detach(self) -> SparseTensor:
        """Returns the tensor off the tape."""
        return self.with_values(self._entries.detach())

    def clone(self) -> SparseTensor:
        """Returns a copy."""
        return self.with_values(self._entries.clone())

    def __neg__(self) -> SparseTensor:
        return self.with_values(-self._entries)

    def __repr__(self) -> str:
        parts = {"crows": self.crows(), "cols": self.cols()} if self._by_rows else {"indices": self._places}
        head = f"shape={list(self.shape)}, dtype={self.dtype}, place={self.place}, stop_gradient={self.stop_gradient}"
        return text_of_parts(head, parts | {"values": self._entries})


def unflat(flat: Tensor, sizes: Any) -> Tensor:
    """Returns places, ``(axes, count)``, from their numbers."""
    rows = []
    for size in reversed(list(sizes)):
        rows.append(flat % size)
        flat = flat // size
    return lm.stack(rows[::-1])


def of_dense(x: Tensor, sparse_dim: int) -> SparseTensor:
    """Returns the elements that are not 0 with their places: those of the first axes."""
    if not 1 <= sparse_dim <= x.ndim:
        raise ValueError(f"[to_sparse_coo] sparse_dim is from 1 to {x.ndim}, not {sparse_dim}")
    behind = tuple(range(sparse_dim, x.ndim))
    there = x.detach() != 0
    places = lm.stack(list(lm.nonzero(lm.any(there, axis=behind) if behind else there)))
    return SparseTensor(places, x[tuple(places)], tuple(x.shape), coalesced=True)
