"""``torch.save`` and ``torch.load``, in the format of PyTorch's files: a zip archive of a pickle and the storages.

PyTorch reads what is saved here, and its checkpoints are read here: state dicts, and objects of classes that both
know; those of versions before 1.6, too, which are several pickles with the storages behind them. Plain pickles are read
where their tensors are Lamella's.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, TypeAlias

import lamella as lm
from lamella import Tensor
from lamella._tensor import memory_of
from lamella.compat.front import close_module

from ._attributes import attributes_of
from ._device import device
from ._plain import layout_of as _get_layout  # noqa: F401
from ._storages import (
    DTYPE_OF_STORAGE,
    STORAGES,
    UNTYPED,
    Storage,
    rebuild_from_type,
    rebuild_of_dtype,
    rebuild_parameter,
    rebuild_tensor,
    strides_of,
    written,
)

#: Where tensors go when they are loaded, and what files are: for annotations.
MAP_LOCATION: TypeAlias = Any
FILE_LIKE: TypeAlias = str | os.PathLike[str] | IO[bytes]

_allowed = threading.local()


#: The version of the pickles of files.
DEFAULT_PROTOCOL = 2


class PyTorchFileReader:
    """The records of a file that :func:`save` wrote, by their names without the folder.

    Args:
        name: a path, or a file that is open for reading.
    """

    def __init__(self, name: str | IO[bytes]) -> None:
        self._archive = zipfile.ZipFile(name)
        self._folder = self._archive.namelist()[0].partition("/")[0] + "/"

    def get_all_records(self) -> list[str]:
        """Returns the names of all records."""
        return [each.removeprefix(self._folder) for each in self._archive.namelist()]

    def has_record(self, name: str) -> bool:
        """True if there is a record of a name."""
        return self._folder + name in self._archive.namelist()

    def get_record(self, name: str) -> bytes:
        """Returns the bytes of a record."""
        return self._archive.read(self._folder + name)


def save(
    obj: Any,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object with all its tensors to a file.

    Args:
        obj: anything that can be pickled.
        f: a path, or a file that is open for writing.
        pickle_module: not used.
        pickle_protocol: the pickle's version.
        _use_new_zipfile_serialization: not used: files are archives, as all versions of today read them.
        _disable_byteorder_record: True leaves out what says in which order bytes are.
    """
    storages: dict[Any, tuple[str, Tensor]] = {}
    text = io.BytesIO()
    _Pickler(text, storages, pickle_protocol).dump(obj)
    name = "archive"
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0] or name
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{name}/data.pkl", text.getvalue())
        if not _disable_byteorder_record:
            archive.writestr(f"{name}/byteorder", "little")
        for key, tensor in storages.values():
            archive.writestr(f"{name}/data/{key}", written(tensor))
        archive.writestr(f"{name}/version", "3\n")


_PythonPickler: Any = pickle._Pickler


class _Pickler(_PythonPickler):  # type: ignore[misc]
    """Writes tensors as PyTorch does: by a function that rebuilds them from a storage.

    It is Python's own pickler in Python, which lets dtypes be written by the names that they have in PyTorch.
    """

    def __init__(self, file: IO[bytes], storages: dict[Any, tuple[str, Tensor]], protocol: int) -> None:
        super().__init__(file, max(protocol, 2))
        self.storages = storages

    def persistent_id(self, obj: Any) -> Any:
        """Names a storage; other objects have no such name."""
        if not isinstance(obj, Storage):
            return None
        tensor = obj.tensor
        # The table keeps the tensors alive, so that no other one gets the address of one of them.
        place = tensor.data_ptr() or id(tensor), math.prod(tensor.shape), tensor.dtype.name
        key = self.storages.setdefault(place, (str(len(self.storages)), tensor))[0]
        count, kind = math.prod(tensor.shape), STORAGES.get(tensor.dtype)
        if kind is None:
            return ("storage", UNTYPED, key, str(tensor.device), count * tensor.dtype.itemsize)
        return ("storage", kind, key, str(tensor.device), count)

    def reducer_override(self, obj: Any) -> Any:
        """Rebuilds tensors from storages, in the words of PyTorch's files."""
        if isinstance(obj, lm.DType):
            return obj.name
        if not isinstance(obj, Tensor) or type(obj).__reduce_ex__ is not Tensor.__reduce_ex__:
            return NotImplemented
        hooks: OrderedDict[str, Any] = OrderedDict()
        made = (*_placed(obj), False, hooks)
        if isinstance(obj, lm.nn.Parameter):
            return rebuild_parameter, (_Rebuilt(made), bool(obj.requires_grad), hooks)
        wanted = bool(obj.requires_grad and obj.is_leaf)
        function: Any = rebuild_tensor
        arguments: tuple[Any, ...] = (*made[:4], wanted, hooks)
        if obj.dtype not in STORAGES:
            function, arguments = rebuild_of_dtype, (*arguments, obj.dtype)
        if attributes := attributes_of(obj):
            return rebuild_from_type, (function, Tensor, arguments, attributes)
        return function, arguments

    def save_global(self, obj: Any, name: Any = None) -> None:
        """Writes the name of a class or function; of a dtype and of the type of tensors, that of PyTorch's."""
        if isinstance(obj, lm.DType) or obj is Tensor:
            self.write(pickle.GLOBAL + f"torch\n{name or 'Tensor'}\n".encode())
            self.memoize(obj)
        else:
            super().save_global(obj, name)


def _placed(tensor: Tensor) -> tuple[Storage, int, tuple[int, ...], tuple[int, ...]]:
    """Returns the storage of a tensor, and its offset, sizes and strides there.

    Tensors that show the same memory have one storage, all of that memory, so that they share it when they are read.
    """
    shape, strides, size = tuple(tensor.shape), tuple(tensor.strides), tensor.dtype.itemsize
    place = None if str(tensor.device) == "meta" else memory_of(tensor)
    if place is None or place[1] % size or place[0].bytes.size % size or min(strides, default=0) < 0:
        return Storage(tensor.detach().contiguous()), 0, shape, strides_of(shape)
    memory, offset = place
    whole = lm._C._tensor_in_memory(memory.bytes, tensor.dtype, (memory.bytes.size // size,), (1,), 0)
    return Storage(whole), offset // size, shape, strides


class _Rebuilt:
    """A tensor inside of a parameter, which is written as a tensor."""

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        self.arguments = arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_tensor, self.arguments


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Returns the object of a file that :func:`save` or PyTorch wrote.

    Args:
        f: a path, or a file that is open for reading.
        map_location: where tensors are put: a device, a dict of devices by those in the file, or a function of the
            tensor and its device; by default where they were, or on the CPU where there is no such device.
        pickle_module: not used.
        weights_only: True, the default, refuses classes other than those of tensors, layers and plain data, and those
            of :func:`add_safe_globals`.
        mmap: not used.
        pickle_load_args: ``encoding`` and what else an unpickler takes.

    Raises:
        pickle.UnpicklingError: the file names a class that is refused, or is none of PyTorch's.
    """
    only = True if weights_only is None else weights_only
    opened = open(f, "rb") if isinstance(f, (str, os.PathLike)) else None  # noqa: SIM115 (closed below)
    try:
        return _read(f if opened is None else opened, only, _placer(map_location), pickle_load_args)
    except (pickle.UnpicklingError, RuntimeError, EOFError, MemoryError):
        raise
    except Exception as error:
        if not only:  # an error of the program's own classes
            raise
        # Damaged bytes raise a dozen types, here and in zipfile; all mean the same.
        raise pickle.UnpicklingError(f"[load] the file cannot be read: {error}") from error
    finally:
        if opened is not None:
            opened.close()


def _read(file: Any, only: bool, place: Callable[[Tensor, str], Tensor], options: dict[str, Any]) -> Any:
    """Returns the object of a file in any of the formats."""
    if not zipfile.is_zipfile(file):
        file.seek(0)
        return _load_stream(file, only, place, options)
    with zipfile.ZipFile(file) as archive:
        pickled = next((name for name in archive.namelist() if name.endswith("data.pkl")), None)
        if pickled is None:
            raise pickle.UnpicklingError("[load] the archive is none of PyTorch's: it has no data.pkl")
        folder = pickled.removesuffix("data.pkl")
        read = lambda key, size: archive.read(f"{folder}data/{key}")  # noqa: E731
        text = io.BytesIO(archive.read(pickled))
        return _Unpickler(text, only, read, place, **options).load()


#: The number that files of versions before 1.6 begin with.
_MAGIC = 0x1950A86A20F9469CFC6C


def _load_stream(file: Any, only: bool, place: Callable[[Tensor, str], Tensor], options: dict[str, Any]) -> Any:
    """Returns the object of a pickle, or of a file from before 1.6."""
    first = _Unpickler(file, only, None, place, **options).load()
    if type(first) is not int or first != _MAGIC:
        return first
    for _ in range(2):  # the version of the format, and facts of the machine
        _Unpickler(file, True, None, place).load()
    start = file.tell()
    room = file.seek(0, os.SEEK_END)
    file.seek(start)

    def empty(key: str, size: int) -> bytes:
        """Returns memory for a storage whose elements are read later."""
        if size > room:
            raise pickle.UnpicklingError(f"[load] a storage of {size} bytes is in a file of {room}")
        return bytes(size)

    # The storages stand behind the object that names them: the first reading only tells which there are.
    described = _Unpickler(file, only, empty, lambda x, where: x, **options)
    described.load()
    for key in _Unpickler(file, True, None, place).load():
        count = int.from_bytes(file.read(8), "little")
        storage = described.storages[key]
        values = bytearray(file.read(count * storage.dtype.itemsize))
        described.storages[key] = place(_filled(values, storage.dtype), described.places[key])
    file.seek(start)
    again = _Unpickler(file, only, empty, place, **options)
    again.storages = described.storages
    return again.load()


def _filled(values: Any, dtype: Any) -> Tensor:
    """Returns a storage with these bytes."""
    import numpy as np

    memory = lm.from_numpy(np.frombuffer(values, dtype=np.uint8))
    return lm._C._tensor_in_memory(memory, dtype, (len(values) // dtype.itemsize,), (1,), 0)


def _placer(map_location: Any) -> Callable[[Tensor, str], Tensor]:
    def place(tensor: Tensor, where: str) -> Tensor:
        if callable(map_location):
            found = map_location(tensor, where)
            return tensor if found is None else found
        target = map_location.get(where, where) if isinstance(map_location, dict) else map_location or where
        target = device(target)
        if map_location is None and target.type == "cuda" and not lm.cuda.is_available():
            raise RuntimeError("[load] a tensor was on a GPU, and there is none: pass map_location='cpu'")
        return tensor.to(target)

    return place


#: How the names of dtypes begin that PyTorch has beside Lamella's.
_NUMBERS = ("bits", "complex32", "float4", "float8", "qint", "quint")
#: What may be called while a file is read.
_SAFE_BUILTINS = frozenset(
    [
        "bytearray",
        "bytes",
        "complex",
        "dict",
        "float",
        "frozenset",
        "int",
        "list",
        "long",
        "range",
        "set",
        "slice",
        "str",
        "tuple",
    ]
)
_SAFE = frozenset(
    [
        ("_codecs", "encode"),  # bytes, as old pickles hold them
        ("torch.serialization", "_get_layout"),
        ("torch._utils", "_rebuild_sparse_tensor"),
        ("lamella._tensor", "_rebuild"),
        ("lamella._tensor", "_restore"),
        *(("collections", name) for name in ("OrderedDict", "defaultdict", "deque", "Counter")),
        *(("torch", name) for name in ("Size", "device", "Tensor")),
    ]
)


#: Functions of PyTorch that files name, and what is called in their place.
_REBUILDING: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch._utils", "_rebuild_tensor"): lambda storage, offset, size, stride: rebuild_tensor(
        storage, offset, size, stride, False, None
    ),
    ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v3"): rebuild_of_dtype,
    ("torch._utils", "_rebuild_parameter"): rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): lambda *arguments: rebuild_parameter(*arguments[:3]),
    ("torch._tensor", "_rebuild_from_type_v2"): rebuild_from_type,
}


_PythonUnpickler: Any = pickle._Unpickler


class _Unpickler(_PythonUnpickler):  # type: ignore[misc]
    """Reads tensors as :class:`_Pickler` and PyTorch write them.

    It is Python's own unpickler in Python: the compiled one makes room for as many objects as a damaged number claims.
    """

    def __init__(
        self,
        file: Any,
        weights_only: bool,
        read: Callable[[str, int], bytes] | None,
        place: Callable[[Tensor, str], Tensor],
        **options: Any,
    ) -> None:
        super().__init__(file, **options)
        self.weights_only = weights_only
        self.read_storage = read
        self.place = place
        self.storages: dict[str, Tensor] = {}
        #: Devices of the storages in the file.
        self.places: dict[str, str] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Returns what a name in the file means; see :func:`load` for what is refused."""
        if module in ("torch", "torch.storage") and name in DTYPE_OF_STORAGE:
            return DTYPE_OF_STORAGE[name]
        if (module, name) in _REBUILDING:
            return _REBUILDING[module, name]
        if module == "torch" and isinstance(dtype := getattr(lm, name, None), lm.DType):
            return dtype
        if module == "torch" and name.startswith(_NUMBERS):
            raise pickle.UnpicklingError(f"[load] the file holds a tensor of 'torch.{name}', which is no dtype here")
        if module.startswith("torch.nn.modules."):
            raise pickle.UnpicklingError(
                f"[load] the file holds a whole model that PyTorch has pickled ('{module}.{name}'), with attributes "
                "that layers have there only: make the model, and load a file of its state_dict()"
            )
        if self.weights_only and not _is_safe(module, name):
            raise pickle.UnpicklingError(
                f"[load] the file holds an object of '{module}.{name}', which could do anything: if you trust the "
                "file, pass weights_only=False, or name the class by torch.serialization.add_safe_globals"
            )
        found = super().find_class(module, name)
        if self.weights_only and module.startswith(_NETWORKS) and not _is_part(found):
            raise pickle.UnpicklingError(f"[load] the file names '{module}.{name}', which is no layer")
        return found

    def persistent_load(self, pid: Any) -> Tensor:
        """Returns the memory that a storage of the file names, or the class that one does with its source text."""
        if pid[0] == "module":
            return pid[1]
        kind, dtype, key, where, count, *_ = pid
        if kind != "storage" or self.read_storage is None:
            raise pickle.UnpicklingError(f"[load] the file names {kind!r}, of which nothing is known")
        if key not in self.storages:
            values = bytearray(self.read_storage(key, int(count) * dtype.itemsize))
            self.storages[key] = self.place(_filled(values, dtype), where)
            self.places[key] = where
        return self.storages[key]


#: Modules whose layers, and functions that layers have as attributes, may be named.
_NETWORKS = ("torch.nn", "lamella.nn")


def _is_part(found: Any) -> bool:
    """True for classes and functions of networks, and not for what their modules import."""
    home = getattr(found, "__module__", None) or ""
    return home.startswith(_NETWORKS) and (isinstance(found, type) or "functional" in home)


def _is_safe(module: str, name: str) -> bool:
    if module in ("builtins", "__builtin__"):
        return name in _SAFE_BUILTINS
    if any(item.__module__ == module and item.__qualname__ == name for item in get_safe_globals()):
        return True
    if module.partition(".")[0] == "numpy":
        return name in ("ndarray", "dtype", "scalar", "_reconstruct", "_frombuffer")
    if module == "lamella._C":  # operators, which layers have as attributes
        return name in lm.nn.functional.__all__
    # A name with a dot would lead through a module to all that it imports.
    return (module, name) in _SAFE or (module.startswith(_NETWORKS) and "." not in name)


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Lets :func:`load` make objects of these classes."""
    _allowed.globals = [*get_safe_globals(), *safe_globals]


def get_safe_globals() -> list[Any]:
    """Returns the classes of :func:`add_safe_globals`."""
    return list(getattr(_allowed, "globals", []))


def clear_safe_globals() -> None:
    """Forgets the classes of :func:`add_safe_globals`."""
    _allowed.globals = []


@contextmanager
def _safe_globals(classes: Sequence[Any]) -> Iterator[None]:
    before = get_safe_globals()
    add_safe_globals(classes)
    try:
        yield
    finally:
        _allowed.globals = before


def safe_globals(safe_globals: Sequence[Any]) -> Any:
    """Lets :func:`load` make objects of these classes within a ``with`` block."""
    return _safe_globals(safe_globals)


__getattr__ = close_module(__name__)
