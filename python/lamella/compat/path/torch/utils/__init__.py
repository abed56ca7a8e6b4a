"""Building extensions, and the devices that these bring."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from lamella import _C
from lamella import utils as _native
from lamella.compat.front import close_module
from lamella.utils import rename_privateuse1_backend  # noqa: F401

from .. import _attributes
from . import _pytree, checkpoint, cpp_extension, deterministic, dlpack, hooks  # noqa: F401

#: The folder under which ``find_package(lamella)`` of CMake finds Lamella; there is no package ``Torch``.
cmake_prefix_path = str(Path(_C.__file__).resolve().parent.parent)


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True,
    for_module: bool = True,
    for_packed_sequence: bool = True,
    for_storage: bool = False,
    unsupported_dtype: Any = None,
) -> None:
    """Gives tensors and modules methods of the devices' name; there are no packed sequences and storages here."""
    _native.generate_methods_for_privateuse1_backend(for_tensor, for_module)


def swap_tensors(t1: Any, t2: Any) -> None:
    """Makes each of two tensors' objects stand for the other tensor, with its gradient and its attributes."""
    _C._exchange_tensors(t1, t2)
    _attributes.exchange(t1, t2)


_missing = close_module(__name__)


def __getattr__(name: str) -> Any:
    if name == "data":  # imported late: it needs numpy, which programs that only call operators do without
        return import_module(f"{__name__}.data")
    return _missing(name)
