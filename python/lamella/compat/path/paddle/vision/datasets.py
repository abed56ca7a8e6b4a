"""Images in folders; data sets that have to be fetched from the network are not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lamella.compat.front import close_module

from ..io import Dataset

_IMAGES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def _load(path: str) -> Any:
    from . import get_image_backend, image_load

    made = image_load(path)
    return made.convert("RGB") if get_image_backend() == "pil" else made


def _files(folder: str, extensions: Sequence[str]) -> Iterator[str]:
    """Yields the files below a folder that end in one of some words, in the order of their paths."""
    for above, _, names in sorted(os.walk(folder, followlinks=True)):
        yield from (os.path.join(above, name) for name in sorted(names) if name.lower().endswith(tuple(extensions)))


class _Folder(Dataset):  # type: ignore[misc]
    def __init__(
        self,
        root: str,
        loader: Callable[..., Any] | None = None,
        extensions: Sequence[str] | None = None,
        transform: Callable[..., Any] | None = None,
        is_valid_file: Callable[..., Any] | None = None,
    ) -> None:
        self.root, self.transform = root, transform
        self.extensions = _IMAGES if extensions is None else extensions
        self.loader = loader or _load
        #: Dtype of the default loader's elements.
        self.dtype = "float32"

    def _none(self, what: str) -> RuntimeError:
        kinds = ", ".join(self.extensions)
        return RuntimeError(f"[{type(self).__name__}] found no {what} in {self.root}; files end in {kinds}")

    def _read(self, path: str) -> Any:
        made = self.loader(path)
        return made if self.transform is None else self.transform(made)


class DatasetFolder(_Folder):
    """Samples in folders, each of which is a class: pairs of what a file holds and the class's number.

    Args:
        root: the folder that holds those of the classes.
        loader: reads a file; images by default.
        extensions: ends of the files' names; those of images by default.
        transform: maps what was read.
        is_valid_file: not used, as ``extensions`` say which files count.

    Raises:
        RuntimeError: there are no such files.
    """

    def __init__(
        self,
        root: str,
        loader: Callable[..., Any] | None = None,
        extensions: Sequence[str] | None = None,
        transform: Callable[..., Any] | None = None,
        is_valid_file: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, loader, extensions, transform, is_valid_file)
        self.classes = sorted(each.name for each in os.scandir(root) if each.is_dir())
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self.samples = [
            (path, number)
            for name, number in self.class_to_idx.items()
            for path in _files(os.path.join(root, name), self.extensions)
        ]
        if not self.samples:
            raise self._none("files of classes")
        self.targets = [number for _, number in self.samples]

    def __getitem__(self, index: int) -> tuple[Any, int]:
        path, number = self.samples[index]
        return self._read(path), number

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(_Folder):
    """Samples in a folder and those below it: lists of what a file holds, see :class:`DatasetFolder`."""

    def __init__(
        self,
        root: str,
        loader: Callable[..., Any] | None = None,
        extensions: Sequence[str] | None = None,
        transform: Callable[..., Any] | None = None,
        is_valid_file: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, loader, extensions, transform, is_valid_file)
        self.samples = list(_files(root, self.extensions))
        if not self.samples:
            raise self._none("files")

    def __getitem__(self, index: int) -> list[Any]:
        return [self._read(self.samples[index])]

    def __len__(self) -> int:
        return len(self.samples)


__getattr__ = close_module(__name__)
