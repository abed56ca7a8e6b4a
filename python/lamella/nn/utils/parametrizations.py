"""Parametrizations of weights, see :mod:`lamella.nn.utils.parametrize`."""

from __future__ import annotations

from typing import Any, ClassVar

import lamella as lm

from ..module import Module
from . import parametrize


def weight_norm(module: Module, name: str = "weight", axis: int | None = 0) -> Module:
    """Makes a weight the product of its length, ``original0``, and its direction, ``original1``.

    Source: Salimans and Kingma 2016, "Weight normalization".

    Args:
        module: the module.
        name: its parameter.
        axis: the axis along which each slice has a length of its own; None for one length of the whole tensor.

    Returns:
        The module.
    """
    return parametrize.register_parametrization(module, name, _WeightNorm(axis), unsafe=True)


class _WeightNorm(Module):
    #: Suffixes of the weight's name under which PyTorch's `nn.utils.weight_norm` saves what is here called otherwise.
    suffixes: ClassVar[dict[str, str]] = {"original0": "_g", "original1": "_v"}

    def __init__(self, axis: int | None) -> None:
        super().__init__()
        self.axis = axis

    def _lengths(self, v: lm.Tensor) -> lm.Tensor:
        axes = None if self.axis is None else [i for i in range(v.ndim) if i != self.axis % v.ndim]
        lengths: lm.Tensor = lm.linalg.vector_norm(v, axis=axes, keepdims=self.axis is not None)
        return lengths

    def forward(self, g: lm.Tensor, v: lm.Tensor) -> lm.Tensor:
        return v * (g / self._lengths(v))

    def right_inverse(self, weight: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
        return self._lengths(weight), weight


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, axis: int | None = None
) -> Module:
    """Divides a weight by its largest singular value, as power iterations estimate it.

    In training each use of the weight makes some iterations, from where the last ones ended.

    Source: Miyato et al. 2018, "Spectral normalization for generative adversarial networks".

    Args:
        module: the module.
        name: its parameter, which counts as a matrix of one axis and all others.
        n_power_iterations: iterations for each use in training.
        eps: the least that a norm counts as.
        axis: the axis of the matrix's rows; by default 1 for transposed convolutions and 0 for others.

    Returns:
        The module.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, lm.Tensor):
        raise ValueError(f"[spectral_norm] {type(module).__name__} has no parameter or buffer '{name}'")
    if axis is None:
        axis = 1 if getattr(module, "_transposed", False) else 0
    parametrization = _SpectralNorm(weight, n_power_iterations, axis, eps)
    return parametrize.register_parametrization(module, name, parametrization)


class _SpectralNorm(Module):
    _warm_up = 15
    #: As for `_WeightNorm`.
    suffixes: ClassVar[dict[str, str]] = {"original": "_orig", "0._u": "_u", "0._v": "_v"}

    def __init__(self, weight: lm.Tensor, n_power_iterations: int, axis: int, eps: float) -> None:
        super().__init__()
        if not isinstance(n_power_iterations, int) or n_power_iterations < 1:
            raise ValueError(f"[spectral_norm] n_power_iterations is an int of at least 1, not {n_power_iterations!r}")
        if not -weight.ndim <= axis < weight.ndim:
            raise IndexError(f"[spectral_norm] axis {axis} is none of a weight with {weight.ndim} axes")
        self.n_power_iterations = n_power_iterations
        self.axis = axis
        self.eps = eps
        if weight.ndim > 1:
            with lm.no_grad():
                matrix = self._matrix(weight)
                for key, size in (("_u", matrix.shape[0]), ("_v", matrix.shape[1])):
                    drawn = lm.normal((size,), dtype=weight.dtype, device=weight.device)
                    self.register_buffer(key, lm.normalize(drawn, axis=0, eps=eps))
                self._iterate(matrix, self._warm_up)

    def _matrix(self, weight: lm.Tensor) -> lm.Tensor:
        rows = lm.moveaxis(weight, self.axis, 0)
        return lm.reshape(rows, (rows.shape[0], -1))

    def _iterate(self, matrix: lm.Tensor, times: int) -> None:
        with lm.no_grad():
            for _ in range(times):
                self._u.copy_(lm.normalize(matrix @ self._v, axis=0, eps=self.eps))
                self._v.copy_(lm.normalize(matrix.T @ self._u, axis=0, eps=self.eps))

    def forward(self, weight: lm.Tensor) -> lm.Tensor:
        if weight.ndim == 1:
            return lm.normalize(weight, axis=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        # Copies, as the next use overwrites the vectors before the gradients of this one may have been computed.
        u, v = self._u.clone(), self._v.clone()
        return weight / lm.vecdot(u, matrix @ v)

    def right_inverse(self, value: lm.Tensor) -> lm.Tensor:
        return value


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Makes a matrix one with orthonormal rows or columns, whichever are fewer.

    A tensor with more than two axes holds matrices in its last two.

    Source: Lezcano-Casado and Martinez-Rubio 2019, "Cheap orthogonal constraints in neural networks" (the exponential
    and Cayley's map of skew-symmetric matrices); Lezcano-Casado 2019, "Trivializations for gradient-based optimization
    on manifolds"; Householder 1958, "Unitary triangularization of a nonsymmetric matrix".

    Args:
        module: the module.
        name: its parameter.
        orthogonal_map: "matrix_exp", "cayley" or "householder"; by default the first for square and complex matrices
            and the last for others.
        use_trivialization: True starts from the matrix that is there, made orthonormal, and trains a factor that starts
            as the identity. Without it, only "householder" can be set to a value, and the others start anywhere.

    Returns:
        The module.

    Raises:
        ValueError: the weight has fewer than two axes, or there is no such map.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, lm.Tensor):
        raise ValueError(f"[orthogonal] {type(module).__name__} has no parameter or buffer '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"[orthogonal] the weight has at least two axes, not the shape {list(weight.shape)}")
    square = weight.shape[-1] == weight.shape[-2]
    is_complex = bool(lm.isdtype(weight.dtype, "complex floating"))
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if square or is_complex else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f"[orthogonal] orthogonal_map is 'matrix_exp', 'cayley' or 'householder', not {orthogonal_map!r}"
        )
    if orthogonal_map == "householder" and is_complex:
        raise ValueError("[orthogonal] 'householder' takes real matrices: use 'matrix_exp' or 'cayley'")
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, parametrization)


class _Orthogonal(Module):
    def __init__(self, weight: lm.Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.orthogonal_map = orthogonal_map
        tall = weight if weight.shape[-2] >= weight.shape[-1] else weight.mT
        n = tall.shape[-2]
        identity = lm.eye(n, dtype=weight.dtype, device=weight.device)
        base = lm.clone(lm.broadcast_to(identity, (*tall.shape[:-2], n, n))) if use_trivialization else None
        self.register_buffer("base", base)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        wide = x.shape[-2] < x.shape[-1]
        tall = x.mT if wide else x
        q = self._reflections(tall) if self.orthogonal_map == "householder" else self._rotation(tall)
        if self.base is not None:
            q = self.base @ q
        return q.mT if wide else q

    def _reflections(self, x: lm.Tensor) -> lm.Tensor:
        """Returns the product of Householder's reflections, whose vectors stand below the diagonal, and its signs."""
        below = lm.tril(x, k=-1)
        tau = 2.0 / (1.0 + lm.sum(below * below, axis=-2))
        signs = lm.where(lm.linalg.diagonal(x).detach() < 0, -1.0, 1.0).astype(x.dtype)
        return lm.linalg.householder_product(below, tau) * lm.expand_dims(signs, -2)

    def _rotation(self, x: lm.Tensor) -> lm.Tensor:
        n, k = x.shape[-2:]
        below = lm.tril(x)
        if k < n:
            below = lm.pad(below, (0, n - k))
        skew = below - below.mH
        if self.orthogonal_map == "matrix_exp":
            q = lm.linalg.matrix_exp(skew)
        else:
            identity = lm.eye(n, dtype=x.dtype, device=x.device)
            q = lm.linalg.solve(identity - skew / 2, identity + skew / 2)
        return q[..., :k]

    def right_inverse(self, value: lm.Tensor) -> lm.Tensor:
        wide = value.shape[-2] < value.shape[-1]
        tall = value.mT if wide else value
        n, k = tall.shape[-2:]
        if self.base is not None:
            full = (
                lm.concat(
                    [
                        tall,
                        lm.normal((*tall.shape[:-1], n - k), dtype=_real(tall), device=tall.device).astype(tall.dtype),
                    ],
                    axis=-1,
                )
                if k < n
                else tall
            )
            self.base.copy_(_orthonormal(full))
            start = -lm.eye(n, k, dtype=value.dtype, device=value.device)
            x = lm.clone(lm.broadcast_to(start, tall.shape))
        elif self.orthogonal_map == "householder":
            packed, tau = lm.linalg.geqrf(_orthonormal(tall))
            # R of an orthonormal matrix has ones or minus ones on its diagonal; a reflection that is none changes it.
            diagonal = lm.linalg.diagonal(packed)
            signs = lm.where(tau == 0, -lm.sign(diagonal), lm.sign(diagonal))
            x = lm.tril(packed, k=-1) + lm.eye(n, k, dtype=value.dtype, device=value.device) * lm.expand_dims(signs, -2)
        else:
            # Any start will do: the map reaches every rotation, but its inverse is not computed.
            x = tall
        return x.mT if wide else x


def _real(x: lm.Tensor) -> Any:
    return lm.float64 if x.dtype in (lm.float64, lm.complex128) else lm.float32


def _orthonormal(x: lm.Tensor) -> lm.Tensor:
    """Returns the orthonormal factor of a tall matrix whose triangular one has a positive diagonal."""
    q, r = lm.linalg.qr(x)
    diagonal = lm.linalg.diagonal(r)
    size = lm.abs(diagonal)
    phase = lm.where(size == 0, 1.0, diagonal / lm.where(size == 0, 1.0, size))
    return q * lm.expand_dims(phase, -2)
