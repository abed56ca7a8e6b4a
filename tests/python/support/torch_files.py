"""Writes files as ``torch.save`` does, in both of its formats, by classes that stand in for PyTorch's."""

from __future__ import annotations

import collections
import contextlib
import io
import pickle
import struct
import sys
import types
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

#: Names of PyTorch's storages, by the dtype of numpy that has the same bytes.
STORAGES = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}


def _module(name: str, **names: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    for key, value in names.items():
        if isinstance(value, (type, types.FunctionType)):
            value.__module__, value.__qualname__, value.__name__ = name, key, key
        setattr(module, key, value)
    return module


class DType:
    """Stands for a dtype, which is pickled by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> str:
        return self.name


class Size(tuple):
    """Stands for ``torch.Size``."""

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)


def _function() -> Any:
    def function(*arguments: Any) -> None:
        raise AssertionError("a file was run")

    return function


_TYPES = {name: type(name, (), {}) for name in [*STORAGES.values(), "UntypedStorage"]}
TORCH = _module("torch", Size=Size, Tensor=type("Tensor", (), {}), device=_function(), **_TYPES)
for _name in ("float32", "bfloat16", "uint16"):
    dtype = DType(_name)
    dtype.__module__ = "torch"
    setattr(TORCH, _name, dtype)
_FUNCTIONS = (
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_sparse_tensor",
)
UTILS = _module("torch._utils", **{name: _function() for name in _FUNCTIONS})
TENSORS = _module("torch._tensor", _rebuild_from_type_v2=_function())
PARAMETERS = _module("torch.nn.parameter", Parameter=type("Parameter", (), {}))
MODULES = {module.__name__: module for module in (TORCH, UTILS, TENSORS, PARAMETERS, _module("torch.nn"))}


class Storage:
    """Numbers in a row, of a dtype's name."""

    def __init__(self, array: Any, dtype: str | None = None) -> None:
        self.array = np.ascontiguousarray(array).reshape(-1)
        self.dtype = dtype or str(self.array.dtype)


class Tensor:
    """A view of a storage."""

    def __init__(self, storage: Storage, shape: Any, strides: Any, offset: int = 0, call: str = "v2") -> None:
        self.storage, self.shape, self.strides, self.offset, self.call = storage, shape, strides, offset, call

    def __reduce__(self) -> Any:
        place = (self.storage, self.offset, tuple(self.shape), tuple(self.strides))
        if self.call == "v1":
            return UTILS._rebuild_tensor, place
        if self.call == "v3":
            return UTILS._rebuild_tensor_v3, (*place, False, collections.OrderedDict(), TORCH.uint16, None)
        return UTILS._rebuild_tensor_v2, (*place, False, collections.OrderedDict())


def tensor(array: Any, call: str = "v2") -> Tensor:
    """A contiguous tensor with a storage of its own."""
    array = np.asarray(array)
    strides = [stride // array.itemsize for stride in np.ascontiguousarray(array).strides] if array.ndim else []
    return Tensor(Storage(array, "untyped" if call == "v3" else None), array.shape, strides, call=call)


class Called:
    """Anything that is pickled as the call of a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> Any:
        return self.function, self.arguments


@contextlib.contextmanager
def _torch() -> Iterator[None]:
    before = {name: sys.modules.get(name) for name in MODULES}
    sys.modules.update(MODULES)
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module


def _pickled(value: Any, protocol: int, legacy: bool) -> tuple[bytes, dict[str, Storage]]:
    storages: dict[int, tuple[str, Storage]] = {}

    class Pickler(pickle.Pickler):
        def persistent_id(self, item: Any) -> Any:
            if not isinstance(item, Storage):
                return None
            key, _ = storages.setdefault(id(item), (str(len(storages)), item))
            kind = getattr(TORCH, STORAGES.get(item.dtype, "UntypedStorage"))
            count = item.array.nbytes if item.dtype == "untyped" else len(item.array)
            return ("storage", kind, key, "cpu", count, *([None] if legacy else []))

    file = io.BytesIO()
    with _torch():
        Pickler(file, protocol).dump(value)
    return file.getvalue(), dict(storages.values())


def zipped(value: Any, *, protocol: int = 2, order: str | None = "little", compressed: bool = False) -> bytes:
    """The bytes of a file in the zip format."""
    pickled, storages = _pickled(value, protocol, False)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled)
        if order:
            archive.writestr("archive/byteorder", order)
        for key, storage in storages.items():
            array = storage.array.byteswap() if order == "big" else storage.array
            archive.writestr(f"archive/data/{key}", array.tobytes())
        archive.writestr("archive/version", "3\n")
    return file.getvalue()


def legacy(value: Any, *, order: str = "little") -> bytes:
    """The bytes of a file in the format before it."""
    pickled, storages = _pickled(value, 2, True)
    system = {"protocol_version": 1001, "little_endian": order == "little", "type_sizes": {"int": 4}}
    parts = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, system)]
    parts += [pickled, pickle.dumps(sorted(storages), 2)]
    for key in sorted(storages):
        array = storages[key].array
        parts.append(struct.pack("<q" if order == "little" else ">q", len(array)))
        parts.append((array.byteswap() if order == "big" else array).tobytes())
    return b"".join(parts)
