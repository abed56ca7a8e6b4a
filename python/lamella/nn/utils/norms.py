"""Weight normalization and spectral normalization by their first names; see :mod:`.parametrizations`."""

from __future__ import annotations

from ..module import Module
from . import parametrizations, parametrize


def weight_norm(module: Module, name: str = "weight", axis: int | None = 0) -> Module:
    """Splits a weight in length and direction: :func:`.parametrizations.weight_norm`."""
    return parametrizations.weight_norm(module, name, axis)


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Makes a weight that :func:`weight_norm` has split a plain parameter again, with the value that it has."""
    return parametrize.remove_parametrizations(module, name)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, axis: int | None = None
) -> Module:
    """Divides a weight by its largest singular value: :func:`.parametrizations.spectral_norm`."""
    return parametrizations.spectral_norm(module, name, n_power_iterations, eps, axis)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Makes a weight that :func:`spectral_norm` divides a plain parameter again, with the value that it has."""
    return parametrize.remove_parametrizations(module, name)
