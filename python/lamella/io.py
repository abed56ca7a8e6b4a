"""Saving and loading tensors: ``.safetensors`` and ``.npz``.

Both formats hold named arrays and no code, so loading a file from a stranger runs nothing. A state that is more than
a mapping of names to tensors, an optimizer's say, keeps its structure: its tensors are stored under dotted names and
the rest as JSON beside them.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import lamella as lm

# The format's names; it has none for complex128. Source: github.com/huggingface/safetensors, README, "Format".
_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
}
_DTYPES = {short: name for name, short in _NAMES.items()}
_MAX_HEADER = 100_000_000  # the format's own limit
_TREE = "lamella.tree"
_MAX_DEPTH = 100
_MAX_MEMBER = 65535 - len(".npy")  # bytes of a name, by the zip format


def save(state: Any, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Writes ``state`` to ``path``; the ending chooses the format.

    The file appears whole or not at all: it is written under another name and then renamed.

    Args:
        state: a mapping of names to tensors, or nested mappings, lists and tuples of tensors, numbers, strings,
            bools and None. Arrays count as tensors.
        path: ends in ``.safetensors`` or ``.npz``.
        metadata: text to keep in the file (``.safetensors`` only); :func:`metadata` reads it.

    Raises:
        TypeError: ``state`` holds something else, or a dtype that the format lacks.
        ValueError: another ending, a tensor on the ``meta`` device, two entries whose dotted names are the same, a name
            that the format cannot hold (in an ``.npz`` file one with a NUL, or both ``"a"`` and ``"a.npy"``).
        MemoryError: there is no memory for the file's parts.
    """
    with _named_memory_errors("save", path):
        target = Path(os.path.realpath(path))
        kind = _kind("save", target)
        tensors, tree = _flatten(state)
        if kind == ".safetensors":
            write: Callable[[BinaryIO], None] = _safetensors_writer(tensors, _text(metadata, tree))
        elif metadata:
            raise ValueError("[save] an .npz file holds no metadata")
        else:
            write = _npz_writer(tensors, tree)
        with _replacing(target) as file:
            write(file)


def load(path: str | os.PathLike[str]) -> Any:
    """Reads what :func:`save`, or another program, wrote to ``path``.

    Returns:
        The state with its structure; of a file by another program, a dictionary of names to tensors. The tensors are
        on the CPU.

    Raises:
        ValueError: the file is damaged; the message names the tensor.
        FileNotFoundError: there is no such file.
        MemoryError: there is no memory for the tensors.
    """
    with _named_memory_errors("load", path):
        target = Path(path)
        if _kind("load", target) == ".safetensors":
            tensors, text = _read_safetensors(target)
            return _unflatten(tensors, text[_TREE], target) if _TREE in text else tensors
        return _read_npz(target)


def metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Returns the text that a ``.safetensors`` file keeps beside its tensors."""
    with Path(path).open("rb") as file:
        text = _read_header(file, Path(path))[1]
    text.pop(_TREE, None)
    return text


@contextlib.contextmanager
def _named_memory_errors(op: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Gives the interpreter's own MemoryErrors, and those of other libraries, a text that names the call."""
    try:
        yield
    except MemoryError as error:
        if str(error).startswith("["):
            raise
        raise MemoryError(
            f"[{op}] there is no memory for the parts of '{os.fspath(path)}'. {error}".rstrip()
        ) from error


def _kind(op: str, path: Path) -> str:
    if path.suffix not in (".safetensors", ".npz"):
        raise ValueError(f"[{op}] '{path.name}' ends neither in .safetensors nor in .npz")
    return path.suffix


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """Opens a file that replaces ``target`` once it is complete and on the disk."""
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}.part")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


# ---- structure


def _flatten(state: Any) -> tuple[dict[str, lm.Tensor], Any]:
    """Returns the tensors by dotted name, and a description of the rest (None if there are only names)."""
    tensors: dict[str, lm.Tensor] = {}

    def put(name: str, value: Any) -> str:
        if name in tensors:
            raise ValueError(f"[save] two entries are called '{name}'")
        tensor = value if isinstance(value, lm.Tensor) else lm.asarray(value)
        if str(tensor.device).startswith("meta"):
            raise ValueError(f"[save] '{name}' is on the meta device and has no values")
        tensors[name] = tensor.detach().cpu().contiguous()
        return name

    def describe(value: Any, name: str, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError(f"[save] '{name[:60]}' is nested more than {_MAX_DEPTH} deep, or holds itself")
        if _is_array(value):
            return {"tensor": put(name, value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return {"value": value}
        if isinstance(value, Mapping):
            pairs = []
            for key, item in value.items():
                if not isinstance(key, (str, int)) or isinstance(key, bool):
                    raise TypeError(f"[save] a key is a str or an int, not {type(key).__name__} (in '{name}')")
                pairs.append([key, describe(item, f"{name}.{key}" if name else str(key), depth + 1)])
            return {"dict": pairs}
        if isinstance(value, (list, tuple)):
            items = [
                describe(item, f"{name}.{index}" if name else str(index), depth + 1) for index, item in enumerate(value)
            ]
            return {"tuple" if isinstance(value, tuple) else "list": items}
        raise TypeError(f"[save] '{name}' is {type(value).__name__}, which is neither a tensor nor plain data")

    if isinstance(state, Mapping) and all(isinstance(k, str) and _is_array(v) for k, v in state.items()):
        for key, value in state.items():
            put(key, value)
        return tensors, None
    return tensors, describe(state, "", 0)


def _is_array(value: Any) -> bool:
    return isinstance(value, lm.Tensor) or (hasattr(value, "__array__") and hasattr(value, "dtype"))


def _unflatten(tensors: dict[str, lm.Tensor], text: str, path: Path) -> Any:
    def rebuild(node: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH or not isinstance(node, dict) or len(node) != 1:
            raise ValueError
        [(kind, value)] = node.items()
        match kind, value:
            case "tensor", str():
                return tensors[value]
            case "value", None | bool() | int() | float() | str():
                return value
            case "dict", list():
                pairs = {key: rebuild(item, depth + 1) for key, item in value if isinstance(key, (str, int))}
                if len(pairs) != len(value):
                    raise ValueError
                return pairs
            case "list", list():
                return [rebuild(item, depth + 1) for item in value]
            case "tuple", list():
                return tuple(rebuild(item, depth + 1) for item in value)
        raise ValueError

    try:
        return rebuild(json.loads(text), 0)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"[load] {path.name}: the description of the state's structure is damaged") from error


# ---- safetensors


def _text(metadata: Mapping[str, str] | None, tree: Any) -> dict[str, str]:
    text = dict(metadata or {})
    for key, value in text.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"[save] metadata is text by name, {key!r} is {type(value).__name__}")
        if key == _TREE:
            raise ValueError(f"[save] the name '{_TREE}' is Lamella's own")
    if tree is not None:
        text[_TREE] = json.dumps(tree)
    return text


def _safetensors_writer(tensors: dict[str, lm.Tensor], text: dict[str, str]) -> Callable[[BinaryIO], None]:
    for name, tensor in tensors.items():
        _encoded(name)
        if name == "__metadata__":
            raise ValueError("[save] the name '__metadata__' is the format's own")
        if tensor.dtype.name not in _NAMES:
            raise TypeError(f"[save] '{name}' is {tensor.dtype.name}, which .safetensors lacks (.npz may have it)")
    # Wide dtypes come first, so that every tensor is aligned to its own item.
    stored = sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize)
    offsets: dict[str, list[int]] = {}
    end = 0
    for name, tensor in stored:
        offsets[name] = [end, end + _nbytes(tensor)]
        end = offsets[name][1]
    header: dict[str, Any] = {"__metadata__": text} if text else {}
    for name, tensor in tensors.items():
        header[name] = {
            "dtype": _NAMES[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": offsets[name],
        }
    encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    if len(encoded) > _MAX_HEADER:
        raise ValueError(f"[save] the header takes {len(encoded)} bytes, the format allows {_MAX_HEADER}")

    def write(file: BinaryIO) -> None:
        file.write(len(encoded).to_bytes(8, "little"))
        file.write(encoded)
        for _, tensor in stored:
            file.write(_memory(tensor))

    return write


def _read_safetensors(path: Path) -> tuple[dict[str, lm.Tensor], dict[str, str]]:
    with path.open("rb") as file:
        entries, text, start = _read_header(file, path)
        tensors = {}
        for name, (dtype, shape, offset) in entries.items():
            try:
                tensor = lm.empty(shape, dtype=dtype)
            except (RuntimeError, ValueError, OverflowError) as error:
                raise ValueError(f"[load] {path.name}: no room for '{name}' of shape {list(shape)}") from error
            file.seek(start + offset)
            view = _memory(tensor)
            if file.readinto(view) != len(view):  # type: ignore[attr-defined]
                raise ValueError(f"[load] {path.name}: the file ends within '{name}'")
            if dtype == "bool" and bytes(view).translate(None, b"\0\1"):
                raise ValueError(f"[load] {path.name}: '{name}' is bool and holds a byte that is neither 0 nor 1")
            tensors[name] = tensor
    return tensors, text


Entry = tuple[str, tuple[int, ...], int]


def _read_header(file: BinaryIO, path: Path) -> tuple[dict[str, Entry], dict[str, str], int]:
    """Dtype, shape and offset of every tensor, the metadata, and where the data begins; everything is checked."""

    def damaged(what: str) -> ValueError:
        return ValueError(f"[load] {path.name}: {what}")

    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(_MAX_HEADER, size - 8):
        raise damaged(f"not a safetensors file: a header of {length} bytes in a file of {size}")
    raw = file.read(length)
    if not raw.startswith(b"{"):
        raise damaged("not a safetensors file: the header does not begin with '{'")
    try:
        header = json.loads(raw.decode(), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise damaged(f"the header cannot be read: {error}") from error
    text = header.pop("__metadata__", {})
    if not isinstance(text, dict) or not all(isinstance(value, str) for value in text.values()):
        raise damaged("'__metadata__' is not text by name")
    room = size - 8 - length
    entries: dict[str, Entry] = {}
    spans = []
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise damaged(f"the entry of '{name}' does not hold dtype, shape and data_offsets")
        short, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(short, str) or short not in _DTYPES:
            raise damaged(f"'{name}' has the unknown dtype {short!r}")
        if not _are_sizes(shape):
            raise damaged(f"'{name}' has the shape {str(shape)[:80]}")
        if not _are_sizes(offsets) or len(offsets) != 2 or not offsets[0] <= offsets[1] <= room:
            raise damaged(f"'{name}' lies at {str(offsets)[:80]} in {room} bytes of data")
        dtype = _DTYPES[short]
        needed = math.prod(shape) * _itemsize(dtype)
        if needed != offsets[1] - offsets[0]:
            raise damaged(
                f"'{name}' takes {needed} bytes by its shape {shape} and dtype {short}, "
                f"{offsets[1] - offsets[0]} by its offsets"
            )
        entries[name] = (dtype, tuple(shape), offsets[0])
        spans.append((offsets[0], offsets[1], name))
    end, before = 0, ""
    for first, last, name in sorted(spans):
        if first < end:
            raise damaged(f"'{name}' overlaps '{before}'")
        if first > end:
            raise damaged(f"there are {first - end} bytes of no tensor before '{name}'")
        end, before = last, name
    if end != room:
        raise damaged(f"there are {room - end} bytes of no tensor at the end")
    return entries, text, 8 + length


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"'{next(name for name in names if names.count(name) > 1)}' stands there twice")
    return table


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < 2**63 for n in value)


def _itemsize(dtype: str) -> int:
    return int(getattr(lm, dtype).itemsize)


def _nbytes(tensor: lm.Tensor) -> int:
    return math.prod(tensor.shape) * int(tensor.dtype.itemsize)


def _memory(tensor: lm.Tensor) -> memoryview:
    """Returns the bytes of a contiguous CPU tensor of any dtype, bfloat16 included; valid while the tensor lives."""
    size = _nbytes(tensor)
    if size == 0:
        return memoryview(bytearray())
    return memoryview((ctypes.c_char * size).from_address(tensor.data_ptr())).cast("B")


# ---- npz


def _npz_writer(tensors: dict[str, lm.Tensor], tree: Any) -> Callable[[BinaryIO], None]:
    import zipfile

    import numpy as np

    arrays = {}
    for name, tensor in tensors.items():
        if name == _TREE:
            raise ValueError(f"[save] the name '{_TREE}' is Lamella's own")
        if tensor.dtype == lm.bfloat16:
            raise TypeError(f"[save] '{name}' is bfloat16, which .npz lacks (.safetensors has it)")
        arrays[name] = tensor.numpy()
    if tree is not None:
        arrays[_TREE] = np.array(json.dumps(tree))
    for name in arrays:
        _check_member(name)
        # numpy looks a name up among the members before it looks for the member that ends in .npy.
        if name.endswith(".npy") and name.removesuffix(".npy") in arrays:
            raise ValueError(
                f"[save] '{name.removesuffix('.npy')}' and '{name}' are one name to what reads .npz files: rename one "
                "of them (.safetensors can hold both)"
            )

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                with archive.open(name + ".npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    return write


def _check_member(name: str) -> None:
    """Refuses what a member of a zip file cannot be called: it would come back under another name, or not at all."""
    if "\0" in name:
        raise ValueError(f"[save] the name {name!r} holds a NUL, at which a name in an .npz file ends: rename it")
    if len(_encoded(name)) > _MAX_MEMBER:
        raise ValueError(f"[save] the name '{name[:60]}...' is longer than the {_MAX_MEMBER} bytes that .npz allows")


def _encoded(name: str) -> bytes:
    try:
        return name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"[save] the name {name!r} is no text that UTF-8 can hold: {error.reason}") from error


def _read_npz(path: Path) -> Any:
    import zipfile

    import numpy as np

    name = ""
    with path.open("rb") as file:
        try:
            # Each member is read by its own name: numpy's look-up takes "a.npy" for the member of that name, which is
            # the array "a".
            with zipfile.ZipFile(file) as archive:
                arrays: dict[str, Any] = {}
                for member in archive.namelist():
                    name = member.removesuffix(".npy")
                    if name == member:
                        raise ValueError("not an array")
                    if name in arrays:
                        raise ValueError("it stands there twice")
                    try:
                        with archive.open(member) as stream:
                            arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
                    except MemoryError as error:
                        claimed = (
                            math.prod(getattr(error, "shape", ())) * getattr(error, "dtype", np.dtype("b")).itemsize
                        )
                        if claimed > archive.getinfo(member).file_size:
                            raise ValueError(str(error)) from error  # damaged: it has no such elements
                        raise
                name = ""
        except MemoryError:
            raise
        # numpy, zipfile and zlib raise a dozen types on damaged bytes; all mean the same here.
        except Exception as error:
            where = f"'{name}' in it " if name else ""
            raise ValueError(f"[load] {path.name}: {where}cannot be read: {error}") from error
    tree = arrays.pop(_TREE, None)
    tensors = {}
    for name, array in arrays.items():
        try:
            tensors[name] = lm.asarray(array, copy=True)
        except (TypeError, ValueError) as error:
            raise ValueError(f"[load] {path.name}: '{name}' is of dtype {array.dtype}, which is no tensor's") from error
    if tree is None:
        return tensors
    return _unflatten(tensors, str(tree), path)
