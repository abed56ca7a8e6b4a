"""Datasets of what lies on the disk: folders of images, lines of text, Arrow tables."""

from __future__ import annotations

import importlib
import mmap
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._fetch import Indices
from .collate import tensor_of
from .datasets import Dataset

_IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")


class ImageFolder(Dataset[tuple[Any, int]]):
    """Images in one folder per class: sample ``i`` is ``(image, class)``. Needs Pillow.

    An image is read when its sample is asked for, as RGB, and given as an array of uint8 of shape (3, height, width).

    Args:
        root: the folder of the classes' folders, which are gone through with all folders in them. Classes are numbered
            in the order of their names, and so are images within a class.
        transform: gets the ``PIL.Image`` (RGB) and returns the sample's image, in place of the array.
        target_transform: gets the class's number and returns the sample's target.
        extensions: endings of the files that are images, in lower case.

    Attributes:
        classes: the classes' names.
        class_to_idx: the number of each class.
        samples: path and class's number of each sample.

    Raises:
        FileNotFoundError: there is no such folder, no class in it, or a class without images.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        extensions: Sequence[str] = _IMAGES,
    ) -> None:
        self.root = Path(root)
        self.transform = transform
        self.target_transform = target_transform
        self.classes = sorted(entry.name for entry in os.scandir(self.root) if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"[ImageFolder] '{self.root}' holds no folders, one of which is a class")
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        endings = tuple(extensions)
        self.samples: list[tuple[str, int]] = []
        for number, name in enumerate(self.classes):
            found = [
                os.path.join(folder, file)
                for folder, _, files in os.walk(self.root / name, followlinks=True)
                for file in files
                if file.lower().endswith(endings)
            ]
            if not found:
                raise FileNotFoundError(
                    f"[ImageFolder] the class '{name}' has no images, which end in {', '.join(endings)}"
                )
            self.samples += [(path, number) for path in sorted(found)]
        self.targets = [number for _, number in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        from PIL import Image

        path, target = self.samples[index]
        with Image.open(path) as file:
            image = file.convert("RGB")
        given = self.transform(image) if self.transform else np.ascontiguousarray(np.moveaxis(np.asarray(image), 2, 0))
        return given, self.target_transform(target) if self.target_transform else target


class TextLines(Dataset[Any]):
    """Lines of a text file: sample ``i`` is line ``i``, without its end.

    The file is mapped, and where its lines begin is found once; so a file larger than memory will do.

    Args:
        path: the file.
        transform: gets a line and returns the sample.
        encoding: how the file is encoded; a superset of ASCII such as UTF-8, in which a line ends with a byte 10.

    Raises:
        FileNotFoundError: there is no such file.
        UnicodeDecodeError: a line that is asked for is not in the encoding.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        transform: Callable[[str], Any] | None = None,
        encoding: str = "utf-8",
    ) -> None:
        self.path = Path(path)
        self.transform = transform
        self.encoding = encoding
        self._text = self._mapped()
        self._begins = self._find_lines()

    def __len__(self) -> int:
        return len(self._begins) - 1

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(f"[TextLines] index {index} is out of range for {len(self)} lines")
        index %= len(self)
        raw = self._text[self._begins[index] : self._begins[index + 1]]
        line = raw.removesuffix(b"\n").removesuffix(b"\r").decode(self.encoding)
        return self.transform(line) if self.transform else line

    def _mapped(self) -> Any:
        with self.path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:  # which cannot be mapped
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _find_lines(self) -> np.ndarray:
        """Returns where each line begins, and the end of the file."""
        size, step = len(self._text), 1 << 24
        parts = [np.zeros(1, np.int64)]
        for begin in range(0, size, step):
            part = np.frombuffer(self._text[begin : begin + step], np.uint8)
            parts.append(np.flatnonzero(part == 10) + (begin + 1))
        begins = np.concatenate(parts)
        return begins if begins[-1] == size else np.append(begins, size)

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state without the mapping, which another process makes for itself."""
        return {name: value for name, value in self.__dict__.items() if name != "_text"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._text = self._mapped()


class ArrowDataset(Dataset[dict[str, Any]]):
    """Rows of a ``pyarrow.Table``: a sample is a dict of the columns' values. Needs pyarrow.

    A batch is one take of the table: columns of numbers and bools become tensors, all others lists. A loader makes one
    of a table by itself.

    Args:
        table: the table.
        columns: names of those to read; all if None.

    Raises:
        KeyError: there is no such column.
        ValueError: a column of numbers has nulls where it is read.
    """

    def __init__(self, table: Any, columns: Sequence[str] | None = None) -> None:
        self.table = table if columns is None else table.select(list(columns))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"[ArrowDataset] index {index} is out of range for {len(self)} rows")
        row: dict[str, Any] = self.table.slice(index % len(self), 1).to_pylist()[0]
        return row

    def __getbatch__(self, indices: Indices) -> Any:
        if isinstance(indices, range) and indices.step == 1:
            rows = self.table.slice(indices.start, len(indices))
        else:
            rows = self.table.take(np.asarray(indices, np.int64))
        return {name: self._values(name, rows.column(name)) for name in rows.column_names}

    def _values(self, name: str, column: Any) -> Any:
        kinds = importlib.import_module("pyarrow.types")
        if not (kinds.is_integer(column.type) or kinds.is_floating(column.type) or kinds.is_boolean(column.type)):
            return column.to_pylist()
        if column.null_count:
            raise ValueError(f"[ArrowDataset] the column '{name}' has nulls, which a tensor cannot hold: fill them")
        return tensor_of(column.to_numpy())
