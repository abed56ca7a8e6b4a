"""Files that ``torch.save`` wrote, read without PyTorch and without running what is in them.

Source of both formats: PyTorch's documentation, "Serialization semantics", and the files themselves. Since 1.6 a file
is a zip archive: ``data.pkl`` is the object, whose tensors refer by persistent ids to storages, the members
``data/KEY``. Before, it is a row of pickles (a magic number, a version, the system that wrote, the object, the keys of
its storages), behind which the bytes of the storages follow.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import lamella as lm
from lamella import _C
from lamella._names import explain_arguments_of

from . import named_memory_errors
from ._pickles import Buildable, Machine, Name, RefusedError, keys_of, short
from ._safetensors import memory

_MAX_AXES = 64
_MAGIC = 0x1950A86A20F9469CFC6C
_STORAGES = {
    "BoolStorage": "bool",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "UntypedStorage": "uint8",
}
#: Numbers of PyTorch's that Lamella has, under the names of both.
_DTYPES = (
    *("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


@explain_arguments_of
def load_torch(path: str | os.PathLike[str]) -> Any:
    """Reads a file that ``torch.save`` wrote, in the zip format or in the one before it. PyTorch is not needed.

    Nothing that the file names is imported or called. It may hold tensors and parameters, numbers, text, bytes, lists,
    tuples, sets, dictionaries (ordered ones come as ``dict``), and numpy's scalars and arrays. Tensors that shared
    memory share it again, and all are on the CPU and want no gradient.

    Args:
        path: the file, usually ``.pt``, ``.pth`` or ``.bin``.

    Returns:
        What was saved: of ``torch.save(model.state_dict(), ...)`` a dictionary for :meth:`Module.load_state_dict`.

    Raises:
        ValueError: the file is damaged, or holds something else; the message names it. A model that was saved whole
            holds its classes: save its ``state_dict()``.
        FileNotFoundError: there is no such file.
        MemoryError: there is no memory for the tensors.
    """
    target = Path(path)
    with named_memory_errors("load_torch", path), target.open("rb") as file:
        try:
            is_zip = file.read(4) == b"PK\x03\x04"
            file.seek(0)
            return _whole(_Zip(file).read() if is_zip else _Legacy(file).read())
        except RefusedError as error:
            raise ValueError(
                f"[load_torch] {target.name}: it holds {error}, which is neither a tensor nor plain data; of a model, "
                "save the state_dict()"
            ) from error
        except MemoryError:
            raise
        # Damaged bytes raise a dozen types, here and in zipfile; all mean the same.
        except Exception as error:
            raise ValueError(
                f"[load_torch] {target.name}: cannot be read: it is damaged, or no file of torch.save "
                f"({type(error).__name__}: {error})"
            ) from error


class _Storage:
    """Memory that tensors lie in."""

    def __init__(self, dtype: str, count: int, room: int) -> None:
        self.itemsize = int(getattr(lm, dtype).itemsize)
        self.dtype = dtype
        self.nbytes = count * self.itemsize
        if not 0 <= self.nbytes <= room:
            raise ValueError(f"a storage of {self.nbytes} bytes in a file of {room}")
        self.bytes = lm.empty([self.nbytes], dtype="uint8", device="cpu")
        #: True if tensors hold values that were computed of the storage's.
        self.is_copied = False

    def fill(self, file: Any, foreign_order: bool) -> None:
        """Reads the bytes, and turns them around where the writer's order was another one."""
        view = memory(self.bytes)
        if file.readinto(view) != len(view):
            raise ValueError("the file ends within a storage")
        if foreign_order:
            part = self.itemsize // 2 if self.dtype.startswith("complex") else self.itemsize
            np.frombuffer(view, f"u{part}").byteswap(inplace=True)
        if self.dtype == "bool" and np.frombuffer(view, np.uint8).max(initial=0) > 1:
            raise ValueError("a storage of bools holds a byte that is neither 0 nor 1")

    def tensor(self, dtype: str, offset: Any, shape: Any, strides: Any) -> lm.Tensor:
        """Returns a tensor in the storage; offset and strides count elements."""
        numbers = [offset, *shape, *strides]
        fitting = all(type(number) is int and 0 <= number < 2**62 for number in numbers)
        if not fitting or len(shape) != len(strides) or len(shape) > _MAX_AXES:
            raise ValueError(f"a tensor of shape {short(shape)} and strides {short(strides)}")
        if math.prod(shape) == 0:
            return lm.empty(list(shape), dtype=dtype, device="cpu")
        return _C._tensor_in_memory(
            self.bytes, dtype, list(shape), list(strides), offset * int(getattr(lm, dtype).itemsize)
        )


class _Array(Buildable):
    """Array of numpy, whose shape, dtype and bytes come as its state."""

    def build(self, state: Any) -> Any:
        _, shape, dtype, fortran, data = state
        if not isinstance(dtype, np.dtype) or dtype.hasobject or not isinstance(data, bytes):
            raise RefusedError("an array of objects")
        return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C").copy()


class _DType(Buildable):
    """Dtype of numpy, whose byte order comes as its state."""

    def __init__(self, code: Any, *_: Any) -> None:
        if not isinstance(code, str) or np.dtype(code).kind not in "biufcSU":
            raise RefusedError(f"a numpy dtype {short(code)}")
        self._dtype = np.dtype(code)

    def build(self, state: Any) -> Any:
        return self._dtype.newbyteorder(state[1] if state[1] in ("<", ">") else "=")


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Any) -> Any:
    if not isinstance(data, (bytes, bytearray)) or order not in ("C", "F"):
        raise RefusedError("an array of objects")
    return _Array().build((1, shape, dtype, order == "F", bytes(data)))


def _scalar(dtype: Any, data: Any) -> Any:
    if not isinstance(dtype, np.dtype) or dtype.hasobject or not isinstance(data, bytes):
        raise RefusedError("a numpy scalar of objects")
    return np.frombuffer(data, dtype, 1)[0]


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise RefusedError(f"text in the encoding {short(encoding)}")
    return text.encode("latin1")


def _tensor(
    storage: Any, offset: Any, shape: Any, strides: Any, _grad: Any = False, _hooks: Any = None, marks: Any = None
) -> lm.Tensor:
    return _marked(storage, storage.tensor(storage.dtype, offset, shape, strides), marks)


def _tensor_of_dtype(
    storage: Any, offset: Any, shape: Any, strides: Any, _grad: Any, _hooks: Any, dtype: Any, marks: Any = None
) -> lm.Tensor:
    return _marked(storage, storage.tensor(dtype.name, offset, shape, strides), marks)


def _marked(storage: Any, tensor: lm.Tensor, marks: Any) -> lm.Tensor:
    """Returns a tensor that is the conjugate or the negative of what its storage holds, where marks say so."""
    for mark, function in (("conj", lm.conj), ("neg", lm.negative)):
        if isinstance(marks, dict) and marks.get(mark):
            storage.is_copied = True
            tensor = function(tensor)
    return tensor


def _parameter(tensor: Any, *_: Any) -> lm.Tensor:
    if not isinstance(tensor, lm.Tensor):
        raise ValueError("a parameter that is no tensor")
    return tensor


def _of_type(function: Any, _type: Any, arguments: Any, _state: Any) -> Any:
    """Returns a tensor of a subclass, or with attributes, as a plain one."""
    return _CALLS[str(function)](*arguments) if isinstance(function, Name) else None


def _device(kind: Any, index: Any = None) -> str:
    if not isinstance(kind, str) or not isinstance(index, (int, type(None))):
        raise ValueError("a device without a name")
    return kind if index is None else f"{kind}:{index}"


def _whole(value: Any) -> Any:
    """Returns what a file holds, unless a storage is in it, which is memory without a shape."""
    left, seen = [value], set()
    while left:
        each = left.pop()
        if isinstance(each, _Storage):
            raise RefusedError("a storage without a tensor")
        # A list may stand in many places, or in itself.
        if isinstance(each, (dict, list, tuple)) and id(each) not in seen:
            seen.add(id(each))
            left += each.values() if isinstance(each, dict) else each
    return value


def _dict(*pairs: Any) -> dict[Any, Any]:
    items = [(key, value) for key, value in pairs[0]] if pairs else []
    return dict(zip(keys_of(key for key, _ in items), (value for _, value in items), strict=True))


def _complex(real: Any, imaginary: Any) -> complex:
    return complex(float(real), float(imaginary))


_CALLS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_of_dtype,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._tensor._rebuild_from_type_v2": _of_type,
    "torch.Size": lambda sizes=(): tuple(sizes),
    "torch.device": _device,
    "collections.OrderedDict": _dict,
    "collections.Counter": lambda items=(): dict(items),
    "collections.defaultdict": lambda *_: {},
    "builtins.dict": _dict,
    "builtins.set": lambda items=(): set(keys_of(items)),
    "__builtin__.set": lambda items=(): set(keys_of(items)),
    "builtins.frozenset": lambda items=(): frozenset(keys_of(items)),
    "__builtin__.frozenset": lambda items=(): frozenset(keys_of(items)),
    "builtins.complex": _complex,
    "__builtin__.complex": _complex,
    "_codecs.encode": _encode,
    "__builtin__.bytes": lambda: b"",
    "numpy.dtype": _DType,
    **{f"{home}.scalar": _scalar for home in ("numpy.core.multiarray", "numpy._core.multiarray")},
    **{f"{home}._frombuffer": _from_buffer for home in ("numpy.core.numeric", "numpy._core.numeric")},
    **{f"{home}._reconstruct": lambda *_: _Array() for home in ("numpy.core.multiarray", "numpy._core.multiarray")},
    # Only named, as the type that is to be made: never called.
    **dict.fromkeys(
        (
            *("numpy.ndarray", "torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"),
            # What a defaultdict makes of missing keys.
            *(
                f"{home}.{name}"
                for home in ("builtins", "__builtin__")
                for name in ("int", "long", "float", "list", "str")
            ),
        ),
        lambda *_: _refuse_call("a bare type"),
    ),
}


def _refuse_call(what: str) -> Any:
    raise RefusedError(f"a call of {what}")


_CONSTANTS: dict[str, Any] = {
    **{f"torch.{name}": getattr(lm, name) for name in _DTYPES},
    **{f"torch.{name}": Name("torch", name) for name in _STORAGES},
    **{f"torch.storage.{name}": Name("torch", name) for name in _STORAGES},
}


def _storage_type(kind: Any) -> str:
    if not isinstance(kind, Name) or kind.name not in _STORAGES:
        raise RefusedError(f"a storage of type {short(kind)}")
    return _STORAGES[kind.name]


class _Zip:
    """The format since PyTorch 1.6."""

    def __init__(self, file: BinaryIO) -> None:
        import zipfile

        self._room = os.fstat(file.fileno()).st_size
        self._archive = zipfile.ZipFile(file)
        members = self._archive.infolist()
        # torch.save stores members as they are; what unpacks to more than the file's size was not made by it.
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("a member of the archive is compressed")
        if sum(member.file_size for member in members) > self._room:
            raise ValueError("the members of the archive are larger than the file")
        objects = [m.filename for m in members if m.filename.count("/") == 1 and m.filename.endswith("/data.pkl")]
        if len(objects) != 1:
            raise ValueError(f"the archive has {len(objects)} members data.pkl, not one")
        self._home = objects[0].removesuffix("data.pkl")
        names = {member.filename for member in members}
        if f"{self._home}constants.pkl" in names:
            raise RefusedError("a TorchScript program")
        order = self._archive.read(f"{self._home}byteorder") if f"{self._home}byteorder" in names else b"little"
        if order not in (b"little", b"big"):
            raise ValueError(f"the byte order is {order[:20]!r}")
        self._foreign_order = order.decode() != sys.byteorder
        self._storages: dict[str, _Storage] = {}

    def read(self) -> Any:
        """Returns the object."""
        with self._archive.open(f"{self._home}data.pkl") as file:
            return Machine(_CALLS, _CONSTANTS, self._storage).run(file, self._room)

    def _storage(self, reference: Any) -> _Storage:
        tag, kind, key, _, count = reference
        if tag != "storage" or not isinstance(key, str) or type(count) is not int:
            raise ValueError("a persistent id is of no storage")
        if key not in self._storages:
            storage = _Storage(_storage_type(kind), count, self._room)
            member = self._archive.getinfo(f"{self._home}data/{key}")
            if member.file_size != storage.nbytes:
                raise ValueError(f"the storage {key} has {member.file_size} bytes, its tensors {storage.nbytes}")
            with self._archive.open(member) as file:
                storage.fill(file, self._foreign_order)
            self._storages[key] = storage
        return self._storages[key]


class _Legacy:
    """The format before PyTorch 1.6."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._room = os.fstat(file.fileno()).st_size
        self._storages: dict[str, _Storage] = {}

    def read(self) -> Any:
        """Returns the object."""
        if self._pickle() != _MAGIC:
            raise ValueError("not a file of torch.save")
        version = self._pickle()
        if version != 1001:
            raise ValueError(f"the format has the unknown version {short(version)}")
        system = self._pickle()
        order = "little" if system.get("little_endian", True) else "big"
        start = self._file.tell()
        value = Machine(_CALLS, _CONSTANTS, self._storage).run(self._file, self._room)
        missing = dict(self._storages)
        for key in self._pickle():
            storage = missing.pop(key)
            count = int.from_bytes(self._file.read(8), "little" if order == "little" else "big")
            if count * storage.itemsize != storage.nbytes:
                raise ValueError(f"the storage {key} has {count} elements, its tensors another number")
            storage.fill(self._file, order != sys.byteorder)
        if missing:
            raise ValueError(f"the storage {next(iter(missing))} is missing")
        if any(storage.is_copied for storage in self._storages.values()):
            # Values were computed before the storages, which stand behind the object, were there.
            self._file.seek(start)
            value = Machine(_CALLS, _CONSTANTS, self._storage).run(self._file, self._room)
        return value

    def _pickle(self) -> Any:
        """Reads a pickle of plain data."""
        return Machine({}, {}, lambda _: _refuse_call("a persistent id")).run(self._file, self._room)

    def _storage(self, reference: Any) -> _Storage:
        tag, kind, key, _, count, view = reference
        if tag != "storage" or view is not None or not isinstance(key, str) or type(count) is not int:
            raise ValueError("a persistent id is of no storage, or of a part of one")
        if key not in self._storages:
            room = self._room - sum(storage.nbytes for storage in self._storages.values())
            self._storages[key] = _Storage(_storage_type(kind), count, room)
        return self._storages[key]
