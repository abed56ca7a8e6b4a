"""The safetensors format: a JSON header, and the tensors' bytes behind it.

Source: github.com/huggingface/safetensors, README, "Format".
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import lamella as lm

from ._structure import TREE, utf8

# The format's names; it has none for complex128.
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
DIGEST = "lamella.sha256"  # name of the checksum, among the text
_NO_DIGEST = "0" * 64  # stands in the digest's place while it is computed


def text_of(metadata: Mapping[str, str] | None, tree: Any) -> dict[str, str]:
    """Returns the text of a file: the user's, and the description of the structure if there is one."""
    text = dict(metadata or {})
    for key, value in text.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"[save] metadata is text by name, {key!r} is {type(value).__name__}")
        if key in (TREE, DIGEST):
            raise ValueError(f"[save] the name '{key}' is Lamella's own")
    if tree is not None:
        text[TREE] = json.dumps(tree)
    return text


def writer(tensors: dict[str, lm.Tensor], text: dict[str, str], checked: bool = False) -> Callable[[BinaryIO], None]:
    """Returns what writes a file of these tensors and this text.

    With ``checked`` the text has a SHA-256 of the file, in whose place there are zeros while it is computed.
    """
    for name, tensor in tensors.items():
        utf8(name)
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
    if checked:
        text = {DIGEST: _NO_DIGEST, **text}
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
    if checked:
        digest = hashlib.sha256(encoded)
        for _, tensor in stored:
            digest.update(memory(tensor))
        encoded = encoded.replace(_NO_DIGEST.encode(), digest.hexdigest().encode(), 1)

    def write(file: BinaryIO) -> None:
        file.write(len(encoded).to_bytes(8, "little"))
        file.write(encoded)
        for _, tensor in stored:
            file.write(memory(tensor))

    return write


def check(path: Path) -> None:
    """Compares a file with the checksum in it.

    Raises:
        ValueError: the file is damaged, or has no checksum.
    """
    with path.open("rb") as file:
        _, text, start = read_header(file, path)
        if len(text.get(DIGEST, "")) != len(_NO_DIGEST):
            raise ValueError(f"[load] {path.name}: the file has no checksum")
        file.seek(8)
        found = hashlib.sha256(file.read(start - 8).replace(text[DIGEST].encode(), _NO_DIGEST.encode(), 1))
        while part := file.read(1 << 20):
            found.update(part)
    if found.hexdigest() != text[DIGEST]:
        raise ValueError(f"[load] {path.name}: the file is not as it was written, its checksum differs")


def read(path: Path) -> tuple[dict[str, lm.Tensor], dict[str, str]]:
    """Returns the tensors and the text of a file; see :func:`lamella.io.load` for what it raises."""
    with path.open("rb") as file:
        entries, text, start = read_header(file, path)
        return {name: read_tensor(file, name, entry, start, path) for name, entry in entries.items()}, text


def read_tensor(file: BinaryIO, name: str, entry: Entry, start: int, path: Path) -> lm.Tensor:
    """Returns one tensor of a file, whose entry and beginning of the data :func:`read_header` gave."""
    dtype, shape, offset = entry
    try:
        tensor = lm.empty(shape, dtype=dtype, device="cpu")
    except (RuntimeError, ValueError, OverflowError) as error:
        raise ValueError(f"[load] {path.name}: no room for '{name}' of shape {list(shape)}") from error
    file.seek(start + offset)
    view = memory(tensor)
    if file.readinto(view) != len(view):  # type: ignore[attr-defined]
        raise ValueError(f"[load] {path.name}: the file ends within '{name}'")
    if dtype == "bool" and bytes(view).translate(None, b"\0\1"):
        raise ValueError(f"[load] {path.name}: '{name}' is bool and holds a byte that is neither 0 nor 1")
    return tensor


Entry = tuple[str, tuple[int, ...], int]


def read_header(file: BinaryIO, path: Path) -> tuple[dict[str, Entry], dict[str, str], int]:
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


def memory(tensor: lm.Tensor) -> memoryview:
    """Returns the bytes of a contiguous CPU tensor of any dtype, bfloat16 included; valid while the tensor lives."""
    size = _nbytes(tensor)
    if size == 0:
        return memoryview(bytearray())
    return memoryview((ctypes.c_char * size).from_address(tensor.data_ptr())).cast("B")
