"""PyTorch's older functions of matrices, and switches of its engine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.elements import strided

from ._elements import strided as view_in_memory
from ._reductions import sum_dtype
from ._writing import written
from .return_types import CLASSES


def check_axes(op: str, axes: int, *tensors: Tensor) -> None:
    """Raises RuntimeError where a function that takes one vector or matrix gets another number of axes."""
    for x in tensors:
        if x.ndim != axes:
            raise RuntimeError(f"[{op}] expected tensors of {axes} axes, got one of the shape {list(x.shape)}")


def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of the elements of two vectors, of which the first one is conjugated.

    Raises:
        RuntimeError: one is no vector, or their sizes differ.
    """
    check_axes("vdot", 1, input, other)
    return written(lm.dot(lm.conj(input), other), out)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    Raises:
        RuntimeError: it is no matrix.
    """
    check_axes("trace", 2, input)
    return lm.linalg.trace(input, dtype=sum_dtype(input, None))


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803 (PyTorch's name)
    """The powers of the elements in rows, the highest one first unless ``increasing``; those of integers are int64.

    Raises:
        RuntimeError: ``x`` is no vector.
    """
    check_axes("vander", 1, x)
    powers = lm.linalg.vander(x, N=N)
    if not lm.isdtype(powers.dtype, ("real floating", "complex floating")):
        powers = powers.astype(lm.int64, copy=False)
    return powers if increasing else lm.clone(lm.flip(powers, -1))


def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices, in the order that takes least work.

    Raises:
        RuntimeError: one is no matrix.
    """
    check_axes("chain_matmul", 2, *matrices)
    return lm.linalg.multi_dot(list(matrices))


def qr(input: Tensor, some: bool = True) -> Any:
    """The factors Q and R of a matrix, cut to its smaller size where ``some`` is set."""
    return CLASSES["qr"](lm.linalg.qr(input, mode="reduced" if some else "complete"))


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The singular vectors and values of a matrix; V holds the right ones in columns."""
    u, s, vh = lm.linalg.svd(input, full_matrices=not some)
    if not compute_uv:
        u, vh = lm.zeros_like(u), lm.zeros_like(vh)
    return CLASSES["svd"]((u, s, vh.mH))


def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Any = None) -> tuple[Tensor, ...]:  # noqa: N803
    """About the ``q`` largest singular values, with the singular vectors in columns."""
    u, s, vh = lm.linalg.svd_lowrank(A, q, niter=niter, M=M)
    return u, s, vh.mH


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, ...]:  # noqa: N803
    """About the ``q`` main directions of rows, as singular values and vectors in columns."""
    u, s, vh = lm.linalg.pca_lowrank(A, q, center=center, niter=niter)
    return u, s, vh.mH


def inverse(input: Tensor, *, out: Tensor | None = None) -> Any:
    """The inverses of matrices.

    Raises:
        torch.linalg.LinAlgError: a matrix is singular.
    """
    return _linalg().inv(input, out=out)


def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Any:
    """The triangular factors of positive definite matrices.

    Raises:
        torch.linalg.LinAlgError: a matrix is not positive definite.
    """
    return _linalg().cholesky(input, upper=upper, out=out)


def _linalg() -> Any:
    return import_module("torch.linalg")


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:  # noqa: N803 (PyTorch's name)
    """The factors of a matrix in one, and the pivots; with ``get_infos`` also 0 where it went well."""
    factors, pivots, info = lm.linalg.lu_factor_ex(A, pivot=pivot)
    return (factors, pivots, info) if get_infos else (factors, pivots)


def triangular_solve(
    b: Tensor,
    A: Tensor,  # noqa: N803 (PyTorch's name)
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """The solution x of ``A @ x = b`` for a triangular matrix, and a copy of that matrix."""
    matrix = lm.matrix_transpose(A) if transpose else A
    solved = lm.linalg.solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return CLASSES["triangular_solve"]((solved, A.clone()))


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory at steps of ``stride``; of a tensor on the tape, a copy.

    Raises:
        RuntimeError: the elements are not in the memory; on the tape, they are others than those of ``input``, which
            has to be contiguous in some order of axes.
    """
    found = view_in_memory(input, size, stride, storage_offset)
    return strided(input, size, stride, storage_offset or 0) if found is None else found


def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross products along an axis: where none is named, along the first one of three elements."""
    if dim is None:
        shape = lm.broadcast_shapes(input.shape, other.shape)
        if 3 not in shape:
            raise RuntimeError(
                f"[cross] no axis of the shapes {list(input.shape)} and {list(other.shape)} has 3 elements"
            )
        dim = shape.index(3)
    made = lm.cross(input, other, axis=dim)
    return made if out is None else out.copy_(made)


def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of a part along an axis."""
    return lm.narrow(input, dim, start, length).clone()


def is_inference(input: Tensor) -> bool:
    """True for a tensor that was made in a block of ``inference_mode``."""
    return input.is_inference()


def is_neg(input: Tensor) -> bool:
    """False: negated tensors have memory of their own."""
    return False


def is_conj(input: Tensor) -> bool:
    """False: conjugate tensors have memory of their own."""
    return False


def resolve_conj(input: Tensor) -> Tensor:
    """Returns the tensor itself: conjugate tensors have memory of their own."""
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """Returns the tensor itself: negated tensors have memory of their own."""
    return input


def get_default_device() -> Any:
    """The device on which this thread makes tensors unless one is given."""
    from ._device import device

    return device(lm.get_default_device())


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for operators that give the same bits in each run, which those of Lamella on the CPU do in any case."""
    lm.use_deterministic_algorithms(mode)


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """False: an operator that cannot be deterministic raises."""
    return False


def get_deterministic_debug_mode() -> int:
    """2 where deterministic operators are asked for, else 0."""
    return 2 if lm.are_deterministic_algorithms_enabled() else 0


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Asks for deterministic operators, unless ``debug_mode`` is 0 or "default"."""
    lm.use_deterministic_algorithms(debug_mode not in (0, "default"))


def get_num_interop_threads() -> int:
    """1: operators run one after the other."""
    return 1


def set_num_interop_threads(num: int) -> None:
    """Takes any number: operators run one after the other, each on :func:`torch.get_num_threads` threads."""


def set_flush_denormal(mode: bool) -> bool:
    """False: denormal numbers are computed with."""
    return False


def set_warn_always(b: bool) -> None:
    """Takes either: which warnings repeat is Python's to say (:mod:`warnings`)."""


def is_warn_always_enabled() -> bool:
    """False."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """True: the library has the C++11 ABI."""
    return True
