"""Ways in which modules convert their parameters: always in place here, in the memory that programs hold."""

from __future__ import annotations

_choices = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Says whether conversions of modules make new parameters; here they are always changed in place."""
    _choices["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Returns what :func:`set_overwrite_module_params_on_conversion` was told."""
    return _choices["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Says whether conversions of modules exchange parameters with new ones; here they are always changed in place."""
    _choices["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """Returns what :func:`set_swap_module_params_on_conversion` was told."""
    return _choices["swap"]
