"""Gradients cut to a norm, vectors of parameters, and other forms of weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.nn import utils as _native
from lamella.nn.utils import vector_to_parameters  # noqa: F401


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


def weight_norm(layer: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Makes a weight a length times a direction (Salimans and Kingma 2016): parameters that are trained in its place.

    Returns:
        The layer itself.
    """
    return _native.parametrizations.weight_norm(layer, name, dim)


def remove_weight_norm(layer: Any, name: str = "weight") -> Any:
    """Makes the weight one parameter again."""
    return _native.parametrize.remove_parametrizations(layer, name)


def spectral_norm(
    layer: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a weight by its largest singular value (Miyato et al. 2018); returns the layer."""
    return _native.parametrizations.spectral_norm(layer, name, n_power_iterations, eps, dim)


__getattr__ = close_module(__name__)
