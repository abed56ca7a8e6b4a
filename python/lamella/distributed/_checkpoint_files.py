"""Files of a checkpoint that several processes write: a part of each, and an index that says where each tensor lies.

A checkpoint is a folder ``checkpoint-STEP``. It counts from the moment when ``index.json`` is there, which names the
files of its own attempt: an attempt that fails leaves the one before it whole.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from .. import _C
from .._C import Tensor
from ..io import _safetensors
from ..io._drafts import replacing
from ..io._structure import TREE, flatten, unflatten
from ._parts import Box, Part, assemble

_NAME = re.compile(r"checkpoint-(\d+)")
_INDEX = "index.json"
#: Beginning of the names of tensors that are one process's own, such as a loader's state.
_OWN = "own"


@dataclass(frozen=True)
class Piece:
    """A part of a tensor in one of the files, under the tensor's name."""

    file: int
    box: Box


@dataclass(frozen=True)
class Entry:
    """A tensor of a checkpoint."""

    dtype: str
    shape: tuple[int, ...]
    pieces: tuple[Piece, ...]

    @property
    def whole(self) -> Box:
        """The box of all its elements."""
        return Box(self.shape, self.shape, (0,) * len(self.shape), self.shape)


@dataclass
class Index:
    """Contents of a checkpoint: its files, kinds of parts by their names, and tensors."""

    step: int
    files: list[str]
    kinds: dict[str, str]
    tensors: dict[str, Entry]

    def text(self) -> str:
        """Returns the index as JSON."""
        tensors = {
            name: {
                "dtype": entry.dtype,
                "shape": list(entry.shape),
                "pieces": [
                    [one.file, list(one.box.space), list(one.box.starts), list(one.box.sizes)] for one in entry.pieces
                ],
            }
            for name, entry in self.tensors.items()
        }
        return json.dumps({"step": self.step, "files": self.files, "kinds": self.kinds, "tensors": tensors})

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Reads the index of a checkpoint.

        Raises:
            ValueError: It is damaged, or names files elsewhere.
        """
        try:
            found = json.loads((folder / _INDEX).read_text())
            tensors = {}
            for name, entry in found["tensors"].items():
                shape = tuple(entry["shape"])
                pieces = [
                    Piece(int(file), Box(shape, tuple(space), tuple(starts), tuple(sizes)))
                    for file, space, starts, sizes in entry["pieces"]
                ]
                tensors[name] = Entry(str(entry["dtype"]), shape, tuple(pieces))
            index = cls(int(found["step"]), list(found["files"]), dict(found["kinds"]), tensors)
            if any(file != os.path.basename(file) for file in index.files):
                raise ValueError("a file lies elsewhere")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"[load_checkpoint] {folder.name}: the index cannot be read: {error}") from error
        return index


def planned(described: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Entry], list[list[str]]]:
    """Returns who writes what: parts that several processes have are written by one, in turn.

    Args:
        described: For each process, by name, what :func:`description` says of its parts.

    Returns:
        The tensors, and for each process the names of those of which it writes its part.
    """
    holders: dict[str, dict[Box, list[int]]] = {}
    dtypes: dict[str, str] = {}
    for rank, parts in enumerate(described):
        for name, (dtype, *box) in parts.items():
            dtypes.setdefault(name, dtype)
            holders.setdefault(name, {}).setdefault(Box(*(tuple(one) for one in box)), []).append(rank)
    tensors: dict[str, Entry] = {}
    writes: list[list[str]] = [[] for _ in described]
    turn = 0
    for name, boxes in holders.items():
        pieces = []
        full = [box for box in boxes if 0 not in box.sizes] or list(boxes)[:1]
        for box in full:
            rank = boxes[box][turn % len(boxes[box])]
            turn += len(boxes[box]) > 1
            pieces.append(Piece(rank, box))
            writes[rank].append(name)
        tensors[name] = Entry(dtypes[name], full[0].shape, tuple(pieces))
    return tensors, writes


def description(part: Part) -> list[Any]:
    """Returns a part's dtype and box, as plain data."""
    box = part.box
    return [part.values.dtype.name, list(box.shape), list(box.space), list(box.starts), list(box.sizes)]


def write_part(folder: Path, file: str, parts: Mapping[str, Tensor], own: Mapping[str, Any]) -> None:
    """Writes a process's file: its parts of tensors, and values of its own."""
    tensors, tree = flatten({_OWN: own})
    for name, values in parts.items():
        tensors[name] = values.detach().cpu().contiguous()
    write = _safetensors.writer(tensors, _safetensors.text_of(None, tree), checked=True)
    with replacing(folder / file) as stream:
        write(stream)


def write_index(folder: Path, index: Index) -> None:
    """Writes the index, with which the checkpoint counts, and removes files that it does not name."""
    with replacing(folder / _INDEX) as stream:
        stream.write(index.text().encode())
    for path in folder.iterdir():
        if path.name not in (*index.files, _INDEX) and not path.name.startswith("."):
            path.unlink(missing_ok=True)


def folder_of(folder: Path, step: int) -> Path:
    """Returns the folder of a step's checkpoint."""
    return folder / f"checkpoint-{step:09d}"


def complete(folder: Path) -> list[tuple[int, Path]]:
    """Returns the steps and folders of the checkpoints that are complete, the newest first."""
    if not folder.is_dir():
        return []
    found = [(int(match[1]), path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    return sorted(((step, path) for step, path in found if (path / _INDEX).is_file()), reverse=True)


def remove_but(folder: Path, kept: Sequence[Path]) -> None:
    """Removes all checkpoints but some, also attempts that were not completed."""
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name) and path.is_dir() and path not in kept:
            (path / _INDEX).unlink(missing_ok=True)  # from here on it does not count
            shutil.rmtree(path, ignore_errors=True)


class Reader:
    """The tensors of a checkpoint, of which pieces are read as they are asked for.

    Args:
        folder: The checkpoint.
        index: Its index.
    """

    def __init__(self, folder: Path, index: Index) -> None:
        self.folder = folder
        self.index = index
        self._headers: dict[int, tuple[dict[str, Any], dict[str, str], int]] = {}

    def check(self, files: Sequence[int]) -> None:
        """Compares files with the checksums in them.

        Raises:
            ValueError: One is damaged, or is missing.
        """
        for number in files:
            path = self.folder / self.index.files[number]
            if not path.is_file():
                raise ValueError(f"[load_checkpoint] {self.folder.name} lacks the file '{path.name}'")
            _safetensors.check(path)

    def own(self, number: int) -> dict[str, Any]:
        """Returns the values of a process's own."""
        path = self.folder / self.index.files[number]
        with path.open("rb") as stream:
            entries, text, start = self._header(number, stream)
            wanted = {name: entry for name, entry in entries.items() if name.startswith(f"{_OWN}.")}
            tensors = {
                name: _safetensors.read_tensor(stream, name, entry, start, path) for name, entry in wanted.items()
            }
        found: dict[str, Any] = unflatten(tensors, text.get(TREE, ""), path)[_OWN]
        return found

    def read(self, name: str, box: Box | None = None) -> Tensor:
        """Returns the elements of a tensor that are in a box; all of them if None.

        Raises:
            ValueError: The files lack some.
        """
        entry = self.index.tensors[name]
        wanted = entry.whole if box is None else box
        if 0 in wanted.sizes:
            return _C.zeros(wanted.sizes, dtype=entry.dtype)
        needed = [one for one in entry.pieces if one.box.space != wanted.space or one.box.shared(wanted) is not None]
        return assemble([(one.box, self._piece(name, one)) for one in needed], wanted, name)

    def _piece(self, name: str, piece: Piece) -> Tensor:
        path = self.folder / self.index.files[piece.file]
        with path.open("rb") as stream:
            entries, _, start = self._header(piece.file, stream)
            if name not in entries or entries[name][1] != piece.box.sizes:
                raise ValueError(f"[load_checkpoint] {path.name} has no part of '{name}' of shape {piece.box.sizes}")
            return _safetensors.read_tensor(stream, name, entries[name], start, path)

    def _header(self, number: int, stream: BinaryIO) -> tuple[dict[str, Any], dict[str, str], int]:
        if number not in self._headers:
            self._headers[number] = _safetensors.read_header(stream, self.folder / self.index.files[number])
        return self._headers[number]
