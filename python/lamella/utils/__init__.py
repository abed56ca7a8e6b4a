"""Tools around Lamella: progress bars, TensorBoard (:mod:`lamella.utils.tensorboard`), building extensions.

What is shown in TensorBoard is written with the package tensorboardX, see docs/seeing.md. Extensions are built by
:mod:`lamella.utils.cpp_extension`; the other names here, but :func:`progress`, are for devices that they bring.
"""

from __future__ import annotations

from .. import _lazy
from ..progress import progress
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
    "progress",
    "register_device_module",
    "rename_privateuse1_backend",
]

__getattr__, _ = _lazy.loader(__name__, {"cpp_extension": [], "tensorboard": []})
