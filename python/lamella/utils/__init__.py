"""Tools around Lamella: building extensions (:mod:`lamella.utils.cpp_extension`), and devices of extensions."""

from __future__ import annotations

from ._devices import (
    device_module,
    generate_methods_for_privateuse1_backend,
    privateuse1_backend_name,
    register_device_module,
    rename_privateuse1_backend,
)

__all__ = [
    "device_module",
    "generate_methods_for_privateuse1_backend",
    "privateuse1_backend_name",
    "register_device_module",
    "rename_privateuse1_backend",
]
