"""Gradients cut to a norm, vectors of parameters, and other forms of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.nn import utils as _native
from lamella.nn.utils import vector_to_parameters  # noqa: F401
from lamella.static.program import paused


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> lm.Tensor:
    """Scales gradients so that their norm together is at most ``max_norm``; returns the norm before."""
    return _native.clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Cuts each element of gradients to ``[-clip_value, clip_value]``."""
    _native.clip_grad_value_(parameters, clip_value)


def parameters_to_vector(parameters: Iterable[lm.Tensor], name: Any = None) -> lm.Tensor:
    """Returns all parameters as one vector."""
    return _native.parameters_to_vector(parameters)


class _WeightNorm:
    """Computes a weight from its length and its direction before each call of the layer."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, dim
        self.handle: Any = None

    def length(self, v: lm.Tensor) -> lm.Tensor:
        """Returns the norm of each slice along ``dim``, or that of all elements."""
        axes = None if self.dim is None else tuple(axis for axis in range(v.ndim) if axis != self.dim)
        return lm.sqrt(lm.sum(lm.square(v), axis=axes) + 1e-12)

    def product(self, v: lm.Tensor, g: lm.Tensor) -> lm.Tensor:
        """Returns the weight of the direction of ``v`` and the length ``g``."""
        ratio = g / self.length(v)
        if self.dim is not None:
            ratio = lm.reshape(ratio, tuple(-1 if axis == self.dim else 1 for axis in range(v.ndim)))
        return v * ratio

    def __call__(self, layer: Any, inputs: Any) -> None:
        setattr(layer, self.name, self.product(getattr(layer, f"{self.name}_v"), getattr(layer, f"{self.name}_g")))


def _norms(layer: Any) -> dict[str, _WeightNorm]:
    """Returns what :func:`weight_norm` has put on a layer, by the weights' names."""
    found: dict[str, _WeightNorm] = layer.__dict__.setdefault("_weight_norms", {})
    return found


def _parameter(layer: Any, like: lm.Tensor, made: Callable[[], lm.Tensor]) -> Any:
    """Returns a parameter whose starting value is what ``made`` returns, now and whenever a start-up program runs."""
    return layer.create_parameter(tuple(like.shape), lambda parameter: parameter.copy_(made()), like.dtype)


def weight_norm(layer: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Makes a weight a length times a direction (Salimans and Kingma 2016): parameters that are trained in its place.

    Args:
        layer: the layer, which gets the parameters ``weight_v`` and ``weight_g``.
        name: the weight's.
        dim: the axis along which each slice has a length; the whole weight has one for None and -1.

    Returns:
        The layer itself.

    Raises:
        RuntimeError: the weight is one of these already.
        ValueError: the layer has no parameter of the name, or the parameter no such axis.
    """
    if name in _norms(layer):
        raise RuntimeError(f"[weight_norm] {name} of {type(layer).__name__} is a length times a direction already")
    weight = layer._parameters.get(name)
    if weight is None:
        raise ValueError(f"[weight_norm] {type(layer).__name__} has no parameter {name!r}")
    if dim is not None and not -weight.ndim <= dim < weight.ndim:
        raise ValueError(f"[weight_norm] dim is an axis of {weight.ndim}, or None, not {dim}")
    norm = _WeightNorm(name, None if dim in (None, -1) else dim % weight.ndim)
    delattr(layer, name)
    with paused():
        length = norm.length(weight.detach())
    layer.add_parameter(f"{name}_v", _parameter(layer, weight, lambda: weight))
    layer.add_parameter(f"{name}_g", _parameter(layer, length, lambda: norm.length(weight)))
    norm(layer, None)
    norm.handle = layer.register_forward_pre_hook(norm)
    _norms(layer)[name] = norm
    return layer


def remove_weight_norm(layer: Any, name: str = "weight") -> Any:
    """Makes the weight one parameter again; returns the layer.

    Raises:
        ValueError: it is no length times a direction.
    """
    norm = _norms(layer).pop(name, None)
    if norm is None:
        raise ValueError(f"[remove_weight_norm] {name} of {type(layer).__name__} has no weight_norm")
    norm.handle.remove()
    v, g = getattr(layer, f"{name}_v"), getattr(layer, f"{name}_g")
    weight = _parameter(layer, v, lambda: norm.product(v, g))
    for each in (name, f"{name}_v", f"{name}_g"):
        delattr(layer, each)
    layer.add_parameter(name, weight)
    return layer


class _SpectralNorm:
    """Divides a weight by its largest singular value before each call of the layer, which is measured in training."""

    def __init__(self, name: str, steps: int, eps: float, dim: int) -> None:
        self.name, self.steps, self.eps, self.dim = name, steps, eps, dim

    def matrix(self, weight: lm.Tensor) -> lm.Tensor:
        """Returns the weight with a row for each place of ``dim``."""
        return lm.reshape(lm.moveaxis(weight, self.dim, 0), (weight.shape[self.dim], -1))

    def __call__(self, layer: Any, inputs: Any) -> None:
        weight, u, v = (getattr(layer, f"{self.name}_{word}") for word in ("orig", "u", "v"))
        matrix = self.matrix(weight)
        with lm.no_grad():
            for _ in range(self.steps if layer.training else 0):
                v.copy_(_unit(lm.matmul(u, matrix), self.eps))
                u.copy_(_unit(lm.matmul(matrix, v), self.eps))
            left, right = u.clone(), v.clone()
        setattr(layer, self.name, weight / lm.sum(left * lm.matmul(matrix, right)))


def _unit(x: lm.Tensor, eps: float) -> lm.Tensor:
    """Returns a vector of length 1 in the direction of ``x``."""
    return x / lm.maximum(lm.sqrt(lm.sum(lm.square(x))), lm.full((), eps, dtype=x.dtype, device=x.device))


def spectral_norm(
    layer: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a weight by its largest singular value (Miyato et al. 2018).

    Args:
        layer: the layer, which gets the parameter ``weight_orig``, and the buffers ``weight_u`` and ``weight_v``.
        name: the weight's.
        n_power_iterations: steps by which each call in training measures the value.
        eps: least length of the vectors of these steps.
        dim: the axis of the rows of the weight as a matrix; by default 1 of linear and transposed layers, and else 0.

    Returns:
        The layer itself.

    Raises:
        RuntimeError: the weight is divided already.
        ValueError: the layer has no parameter of the name, or there are no steps.
    """
    if f"{name}_orig" in layer._parameters:
        raise RuntimeError(f"[spectral_norm] {name} of {type(layer).__name__} is divided already")
    weight = layer._parameters.get(name)
    if weight is None:
        raise ValueError(f"[spectral_norm] {type(layer).__name__} has no parameter {name!r}")
    if n_power_iterations <= 0:
        raise ValueError(f"[spectral_norm] n_power_iterations is above 0, not {n_power_iterations}")
    if dim is None:
        from . import (
            Conv1DTranspose,
            Conv2DTranspose,
            Conv3DTranspose,
            Linear,
        )  # they are made of this module's package

        turned = Linear, Conv1DTranspose, Conv2DTranspose, Conv3DTranspose
        dim = 1 if isinstance(layer, turned) else 0
    norm = _SpectralNorm(name, n_power_iterations, eps, dim)
    sizes = norm.matrix(weight.detach()).shape
    delattr(layer, name)
    layer.add_parameter(f"{name}_orig", weight)
    setattr(layer, name, weight * 1.0)
    with paused():
        for word, size in zip("uv", sizes, strict=True):
            drawn = lm.randn((size,), dtype=weight.dtype, device=weight.device)
            layer.register_buffer(f"{name}_{word}", _unit(drawn, eps))
    layer.register_forward_pre_hook(norm)
    return layer


__getattr__ = close_module(__name__)
