"""Tables of vectors that are looked up by number."""

from __future__ import annotations

from typing import Any, Self

import lamella as lm

from . import init
from .module import Module
from .parameter import Parameter


def _with_gradient_divided(x: lm.Tensor, by: lm.Tensor) -> lm.Tensor:
    values = x.detach()
    return values + (x - values) / by


def scaled_by_frequency(rows: lm.Tensor, x: lm.Tensor, count: int) -> lm.Tensor:
    """Returns rows whose gradients are divided by the number of times that ``x`` names them.

    Args:
        rows: what was looked up, ``(*x.shape, size)``.
        x: integers, ``[0, count)``.
        count: rows of the table.
    """
    if rows.stop_gradient or not lm.is_grad_enabled():
        return rows
    times = lm.bincount(lm.reshape(x, (-1,)), minlength=count)[x].astype(rows.dtype)
    return _with_gradient_divided(rows, lm.expand_dims(times, -1))


def table_by_frequency(table: lm.Tensor, x: lm.Tensor) -> lm.Tensor:
    """Returns a table of rows whose gradients are divided by the number of times that ``x`` names them.

    Args:
        table: ``(count, size)``.
        x: integers of any shape, ``[0, count)``.
    """
    if table.stop_gradient or not lm.is_grad_enabled():
        return table
    times = lm.clip(lm.bincount(lm.reshape(x, (-1,)), minlength=table.shape[0]), 1).astype(table.dtype)
    return _with_gradient_divided(table, lm.expand_dims(times, -1))


class _Table(Module):
    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        device: str | None,
        dtype: Any,
    ) -> None:
        super().__init__()
        if num_embeddings < 0 or embedding_dim < 0:
            raise ValueError(f"[{type(self).__name__}] sizes are negative: {num_embeddings}, {embedding_dim}")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(f"[{type(self).__name__}] padding_idx {padding_idx} is none of {num_embeddings} rows")
        if max_norm is not None and not max_norm > 0:
            raise ValueError(f"[{type(self).__name__}] max_norm is a number above 0, not {max_norm}")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx if padding_idx is None or padding_idx >= 0 else num_embeddings + padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.weight = Parameter(lm.zeros((num_embeddings, embedding_dim), dtype=dtype, device=device))
        self.reset_parameters()

    def _limited(self, x: lm.Tensor) -> lm.Tensor:
        """Returns the table, in which the rows that ``x`` names are no longer than ``max_norm``."""
        if self.max_norm is not None and x.size:
            with lm.no_grad():
                rows = lm.unique_values(x).astype("int64")
                limited = lm.renorm(lm.take(self.weight, rows, axis=0), self.norm_type, 0, self.max_norm)
                self.weight.index_copy_(0, rows, limited)
        return self.weight

    def reset_parameters(self) -> None:
        """Draws new starting values, of the standard normal distribution; row ``padding_idx`` is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with lm.no_grad():
                self.weight[self.padding_idx] = 0

    @classmethod
    def from_pretrained(cls, table: lm.Tensor, freeze: bool = True, **settings: Any) -> Self:
        """Makes a layer with the values of ``table``, of shape ``(num_embeddings, embedding_dim)``.

        Args:
            table: the rows, which are copied.
            freeze: False lets them be trained.
            settings: further arguments of the class.

        Raises:
            ValueError: the table has not two axes.
        """
        if table.ndim != 2:
            raise ValueError(f"[{cls.__name__}] a table has two axes, not the shape {table.shape}")
        make: Any = cls
        made: Self = make(*table.shape, device="meta", dtype=table.dtype, **settings)
        made.weight = Parameter(table, stop_gradient=freeze)
        return made

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text if self.max_norm is None else f"{text}, max_norm={self.max_norm}, norm_type={self.norm_type}"


class Embedding(_Table):
    """A table of vectors: integers in, their rows out. See :func:`lamella.embedding`.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: size of a row.
        padding_idx: a row that starts as 0 and gets no gradient.
        max_norm: rows that are longer are scaled down to it, in the table itself, when they are looked up.
        norm_type: the exponent of the norm.
        device: of the table.
        dtype: of the table.
        scale_grad_by_freq: True divides the gradient of a row by the number of times that it was looked up.

    Attributes:
        weight: the table, of shape ``(num_embeddings, embedding_dim)``; it starts standard normal.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        device: str | None = None,
        dtype: Any = None,
        scale_grad_by_freq: bool = False,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, device, dtype)
        self.scale_grad_by_freq = scale_grad_by_freq

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Maps integers of any shape to their rows, along a new last axis."""
        rows = lm.embedding(x, self._limited(x), self.padding_idx)
        return scaled_by_frequency(rows, x, self.num_embeddings) if self.scale_grad_by_freq else rows


class EmbeddingBag(_Table):
    """Sums, means or maxima of the rows in bags of integers. See :func:`lamella.embedding_bag`.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: size of a row.
        mode: "sum", "mean" or "max".
        padding_idx: a row that starts as 0, gets no gradient and does not count.
        device: of the table.
        dtype: of the table.
        include_last_offset: whether the last of the offsets, where there are any, is where the last bag ends.
        max_norm: rows that are longer are scaled down to it, in the table itself, when they are looked up.
        norm_type: the exponent of the norm.
        scale_grad_by_freq: True divides the gradient of a row by the number of times that it was looked up.

    Raises:
        ValueError: another mode, or ``scale_grad_by_freq`` with "max", where a row's gradient is that of its largest
            elements.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        mode: str = "mean",
        padding_idx: int | None = None,
        device: str | None = None,
        dtype: Any = None,
        include_last_offset: bool = False,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
    ) -> None:
        if mode not in ("sum", "mean", "max"):
            raise ValueError(f"[EmbeddingBag] mode is 'sum', 'mean' or 'max', not {mode!r}")
        if mode == "max" and scale_grad_by_freq:
            raise ValueError("[EmbeddingBag] scale_grad_by_freq goes with mode 'sum' or 'mean', not 'max'")
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, device, dtype)
        self.mode = mode
        self.scale_grad_by_freq = scale_grad_by_freq
        self.include_last_offset = include_last_offset

    def forward(
        self, x: lm.Tensor, offsets: lm.Tensor | None = None, per_sample_weights: lm.Tensor | None = None
    ) -> lm.Tensor:
        """Maps ``(bags, size)``, or one axis with ``offsets``, to ``(bags, embedding_dim)``."""
        table = self._limited(x)
        return lm.embedding_bag(
            x,
            table_by_frequency(table, x) if self.scale_grad_by_freq else table,
            offsets,
            self.mode,
            per_sample_weights,
            self.padding_idx,
            include_last_offset=self.include_last_offset and offsets is not None,
        )

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"{super().extra_repr()}, mode={self.mode!r}"
